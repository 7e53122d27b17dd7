//! Kotlin: types, functions, properties, and imports.

use super::idle;
use super::outline::{ImportKind, ImportedName, SymbolKind};
use super::walk::{Found, Place, has_word, span};
use crate::tree::Node;

/// Annotations of tests, as in Java.
const TESTS: &[&str] = &["ParameterizedTest", "RepeatedTest", "Test"];

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let nested = Place { nested: true, ..place };
    let symbol = match kind {
        "class_declaration" if has_word(node, "interface") => SymbolKind::Interface,
        "class_declaration" if node.named_children().any(|child| child.word() == "enum_class_body") => {
            SymbolKind::Enum
        }
        "class_declaration" | "companion_object" | "object_declaration" => SymbolKind::Class,
        "function_declaration" if place.nested => SymbolKind::Method,
        "function_declaration" => SymbolKind::Function,
        "type_alias" => SymbolKind::Type,
        "package_header" => {
            if let Some(name) = node.named_child(0) {
                found.symbol(SymbolKind::Module, node, name, true, place);
            }
            return place;
        }
        "property_declaration" => {
            property(found, node, place);
            return nested;
        }
        "import" => {
            import(found, node, place);
            return place;
        }
        "anonymous_function" | "lambda_literal" | "object_literal" => return nested,
        _ => return place,
    };
    let name = node.field("name").or_else(|| node.field("type"));
    if let Some(name) = name {
        found.symbol(symbol, node, name, is_public(found, node), place);
    }
    if kind == "function_declaration" && annotations(node).any(|each| is_test(found.text(each))) {
        idle::note_test(found, node, None);
    }
    nested
}

/// Returns the annotations of a definition.
pub(super) fn annotations<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let modifiers = node.named_children().filter(|child| child.word() == "modifiers");
    modifiers.flat_map(|node| node.named_children()).filter(|child| child.word() == "annotation")
}

fn is_test(annotation: &str) -> bool {
    let name = annotation.trim_start_matches('@').split('(').next().unwrap_or_default();
    TESTS.contains(&name.rsplit('.').next().unwrap_or(name))
}

/// Returns whether a definition is for others: that it is not, is said.
fn is_public(found: &Found<'_>, node: Node<'_>) -> bool {
    let modifiers = node.named_children().find(|child| child.word() == "modifiers");
    let mut each = modifiers.into_iter().flat_map(|node| node.named_children());
    !each.any(|modifier| matches!(found.text(modifier), "internal" | "private" | "protected"))
}

fn property(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let exported = is_public(found, node);
    let kind = if place.nested { SymbolKind::Field } else { SymbolKind::Variable };
    for child in node.named_children() {
        let declarations: Vec<Node<'_>> = match child.word() {
            "variable_declaration" => vec![child],
            "multi_variable_declaration" => child.named_children().collect(),
            _ => continue,
        };
        for name in
            declarations.into_iter().filter_map(|declared| declared.named_children().find(is_identifier))
        {
            found.symbol(kind, node, name, exported, place);
        }
    }
}

fn is_identifier(node: &Node<'_>) -> bool {
    node.word() == "identifier"
}

fn import(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(path) = node.named_children().find(|child| child.word() == "qualified_identifier") else {
        return;
    };
    let star = has_word(node, "*");
    let last = path.named_children().last().filter(|last| !star && *last != path);
    let mut module = span(path);
    if let Some(last) = last {
        module.end = last.start_byte().saturating_sub(1).max(module.start);
    }
    let text = module.of(found.text).to_owned();
    let mut import = found.import(ImportKind::Static, node, text, module, place);
    import.star = star;
    let alias = node.named_children().filter(is_identifier).last();
    import.names.extend(last.map(|last| ImportedName {
        name: found.text(last).to_owned(),
        alias: alias.map(|alias| found.text(alias).to_owned()),
        span: span(last),
    }));
    found.outline.imports.push(import);
}
