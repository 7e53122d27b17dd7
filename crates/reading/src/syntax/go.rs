//! Go: names of the package's scope and imports with their paths.

use super::idle;
use super::outline::{ImportKind, SymbolKind};
use super::walk::{Found, Place};
use crate::tree::Node;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    match kind {
        "import_spec" => {
            let path = node.field("path").and_then(|path| found.plain_string(path));
            if let Some((path, at)) = path {
                let mut import = found.import(ImportKind::Static, node, path, at, place);
                let name = node.field("name");
                import.star = name.is_some_and(|name| name.word() == "dot");
                import.alias = name.map(|name| found.text(name).to_owned());
                // Names of the other package are this file's then.
                found.outline.dynamic |= import.star;
                found.outline.imports.push(import);
            }
            place
        }
        "function_declaration" => {
            if let Some(name) = node.field("name") {
                note(found, SymbolKind::Function, node, name, place);
                let tests = ["Test", "Benchmark", "Example", "Fuzz"];
                if tests.iter().any(|prefix| found.text(name).starts_with(prefix)) {
                    idle::note_test(found, node, node.field("body"));
                }
            }
            Place { nested: true, ..place }
        }
        "method_declaration" => {
            if let Some(name) = node.field("name") {
                note(found, SymbolKind::Method, node, name, Place { nested: true, ..place });
            }
            Place { nested: true, ..place }
        }
        "type_spec" | "type_alias" => {
            if let Some(name) = node.field("name") {
                let kind = match node.field("type").map(|node| node.word()) {
                    Some("struct_type") => SymbolKind::Struct,
                    Some("interface_type") => SymbolKind::Interface,
                    Some(_) | None => SymbolKind::Type,
                };
                note(found, kind, node, name, place);
            }
            Place { nested: true, ..place }
        }
        "const_spec" | "var_spec" => {
            let kind = if kind == "const_spec" { SymbolKind::Constant } else { SymbolKind::Variable };
            for name in node.named_children().take_while(|name| name.word() == "identifier") {
                note(found, kind, node, name, place);
            }
            Place { nested: true, ..place }
        }
        "func_literal" | "block" => Place { nested: true, ..place },
        _ => place,
    }
}

fn note(found: &mut Found<'_>, kind: SymbolKind, whole: Node<'_>, name: Node<'_>, place: Place) {
    let exported = found.text(name).chars().next().is_some_and(char::is_uppercase);
    found.symbol(kind, whole, name, exported, place);
}
