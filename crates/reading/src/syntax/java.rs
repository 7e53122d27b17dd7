//! Java: types, their members, and imports.

use super::idle;
use super::outline::{ImportKind, ImportedName, SymbolKind};
use super::walk::{Found, Place, has_word, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let symbol = match kind {
        "class_declaration" | "record_declaration" => SymbolKind::Class,
        "interface_declaration" | "annotation_type_declaration" => SymbolKind::Interface,
        "enum_declaration" => SymbolKind::Enum,
        "method_declaration" | "constructor_declaration" => SymbolKind::Method,
        "field_declaration" | "constant_declaration" => SymbolKind::Field,
        "import_declaration" => {
            import(found, node, place);
            return place;
        }
        "block" | "lambda_expression" => return Place { nested: true, ..place },
        _ => return place,
    };
    let modifiers = node.named_children().find(|child| child.word() == "modifiers");
    let exported = modifiers.is_some_and(|modifiers| has_word(modifiers, "public"));
    let test = modifiers.into_iter().flat_map(|node| node.named_children()).any(|annotation| {
        matches!(found.field_text(annotation, "name"), "Test" | "ParameterizedTest" | "RepeatedTest")
    });
    if test {
        // An empty test is how a context is seen to load.
        idle::note_test(found, node, None);
    }
    let named = if symbol == SymbolKind::Field { node.field("declarator") } else { Some(node) };
    if let Some(name) = named.and_then(|named| named.field("name")) {
        found.symbol(symbol, node, name, exported, place);
    }
    Place { nested: true, ..place }
}

fn import(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let star = node.named_children().any(|child| child.word() == "asterisk");
    let Some(path) = node.named_children().find(|child| child.word().ends_with("identifier")) else { return };
    let (module, name) = match (star, path.field("scope"), path.field("name")) {
        (false, Some(scope), Some(name)) => (scope, Some(name)),
        _ => (path, None),
    };
    let mut import =
        found.import(ImportKind::Static, node, found.text(module).to_owned(), span(module), place);
    import.star = star;
    import.names.extend(name.map(|name| ImportedName {
        name: found.text(name).to_owned(),
        alias: None,
        span: span(name),
    }));
    found.outline.imports.push(import);
}
