//! PHP: types, their members, functions and constants, what `use` names, the files a file requires, and tests.

use super::idle;
use super::outline::{ImportKind, ImportedName, Span, SymbolKind};
use super::walk::{Found, Place, has_word, span};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let nested = Place { nested: true, ..place };
    let symbol = match kind {
        "class_declaration" => SymbolKind::Class,
        "enum_declaration" => SymbolKind::Enum,
        "interface_declaration" => SymbolKind::Interface,
        "trait_declaration" => SymbolKind::Trait,
        "function_definition" => SymbolKind::Function,
        "method_declaration" => {
            note_test(found, node);
            SymbolKind::Method
        }
        "namespace_definition" => {
            if let Some(name) = node.field("name") {
                found.symbol(SymbolKind::Module, node, name, true, place);
            }
            return place;
        }
        "const_declaration" | "property_declaration" => {
            members(found, node, place);
            return nested;
        }
        "namespace_use_declaration" => {
            uses(found, node, place);
            return place;
        }
        "include_expression" | "include_once_expression" => {
            required(found, node, Place { guarded: true, ..place });
            return place;
        }
        "require_expression" | "require_once_expression" => {
            required(found, node, place);
            return place;
        }
        "anonymous_class" | "anonymous_function" | "arrow_function" => return nested,
        "conditional_expression"
        | "for_statement"
        | "foreach_statement"
        | "if_statement"
        | "match_expression"
        | "switch_statement"
        | "while_statement" => {
            return Place { conditional: true, ..place };
        }
        // `is_file($file) && require $file`.
        "binary_expression" => return Place { conditional: true, ..place },
        "error_suppression_expression" | "try_statement" => {
            return Place { conditional: true, guarded: true, ..place };
        }
        _ => return place,
    };
    if let Some(name) = node.field("name") {
        found.symbol(symbol, node, name, is_public(found, node), place);
    }
    nested
}

fn is_public(found: &Found<'_>, node: Node<'_>) -> bool {
    let hidden = |modifier: Node<'_>| matches!(found.text(modifier), "private" | "protected");
    !node.named_children().any(|child| child.word() == "visibility_modifier" && hidden(child))
}

/// Notes the constants or the properties that one declaration has.
fn members(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let exported = is_public(found, node);
    for member in node.named_children() {
        let (kind, name) = match member.word() {
            "const_element" => (SymbolKind::Constant, member.named_child(0)),
            "property_element" => (SymbolKind::Field, member.field("name")),
            _ => continue,
        };
        if let Some(name) = name {
            found.symbol(kind, node, name, exported, place);
        }
    }
}

/// Notes a method that is a test by its name or by its attribute.
fn note_test(found: &mut Found<'_>, node: Node<'_>) {
    let attributes = found.field_text(node, "attributes");
    let is_marked = attributes
        .split(|other: char| !other.is_alphanumeric() && other != '\\')
        .any(|word| word.rsplit('\\').next() == Some("Test"));
    if is_marked || found.field_text(node, "name").starts_with("test") {
        // A test may consist of its arguments or of its attributes, such as an expected exception.
        let plain = found.field_text(node, "parameters") == "()" && (attributes.is_empty() || is_marked);
        let body = node.field("body").filter(|_| plain);
        idle::note_test(found, node, body);
    }
}

/// Notes what one `use` names, each with its namespace as the module.
fn uses(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let group = node.field("body");
    let prefix = node.named_children().find(|child| child.word() == "namespace_name");
    let prefix = prefix.map(|prefix| format!("{}\\", found.text(prefix))).unwrap_or_default();
    for clause in
        group.unwrap_or(node).named_children().filter(|child| child.word() == "namespace_use_clause")
    {
        let Some(path) = clause.named_child(0) else { continue };
        let text = found.text(path).trim_start_matches('\\');
        let (module, name) = text.rsplit_once('\\').unwrap_or(("", text));
        let module = format!("{prefix}{module}");
        let mut import =
            found.import(ImportKind::Static, node, module.trim_end_matches('\\').into(), span(path), place);
        let end = path.end_byte();
        import.names.push(ImportedName {
            name: name.to_owned(),
            alias: clause.field("alias").map(|alias| found.text(alias).to_owned()),
            span: Span { start: end - name.len(), end },
        });
        found.outline.imports.push(import);
    }
}

/// Notes a file that is required by a path from the directory of its own file: `__DIR__ . '/a.php'`. The meaning of
/// other paths depends on where the program is started.
fn required(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let mut path = node.named_child(0);
    while let Some(inner) = path.filter(|path| path.word() == "parenthesized_expression") {
        path = inner.named_child(0);
    }
    let Some(path) = path.filter(|path| path.word() == "binary_expression" && has_word(*path, ".")) else {
        return;
    };
    let directory: String = found.field_text(path, "left").split_whitespace().collect();
    if !matches!(directory.as_str(), "__DIR__" | "dirname(__FILE__)") {
        return;
    }
    let file = path.field("right").and_then(|file| found.plain_string(file));
    if let Some((module, at)) = file.filter(|(module, _)| module.starts_with('/') && !module.contains('$')) {
        let import = found.import(ImportKind::File, node, module, at, place);
        found.outline.imports.push(import);
    }
}
