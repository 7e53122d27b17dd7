//! C#: types, their members, namespaces, and `using` directives.

use super::idle;
use super::outline::{ImportKind, SymbolKind};
use super::walk::{Found, Place, span};
use crate::tree::Node;

/// Attributes of tests: xUnit, NUnit and MSTest.
pub(super) const TESTS: &[&str] =
    &["DataTestMethod", "Fact", "Test", "TestCase", "TestCaseSource", "TestMethod", "Theory"];

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let nested = Place { nested: true, ..place };
    let symbol = match kind {
        "class_declaration" | "record_declaration" => SymbolKind::Class,
        "enum_declaration" => SymbolKind::Enum,
        "interface_declaration" => SymbolKind::Interface,
        "struct_declaration" => SymbolKind::Struct,
        "delegate_declaration" => SymbolKind::Type,
        "constructor_declaration" | "method_declaration" => {
            if attributes(node).any(|attribute| TESTS.contains(&attribute_name(found, attribute))) {
                // An empty test is how a thing is seen to be made.
                idle::note_test(found, node, None);
            }
            SymbolKind::Method
        }
        "event_declaration" | "property_declaration" => SymbolKind::Field,
        "file_scoped_namespace_declaration" | "namespace_declaration" => {
            if let Some(name) = node.field("name") {
                found.symbol(SymbolKind::Module, node, name, true, place);
            }
            return place;
        }
        "event_field_declaration" | "field_declaration" => {
            fields(found, node, place);
            return nested;
        }
        "using_directive" => {
            using(found, node, place);
            return place;
        }
        "preproc_if" => return Place { conditional: true, ..place },
        "anonymous_method_expression" | "lambda_expression" | "local_function_statement" => return nested,
        _ => return place,
    };
    if let Some(name) = node.field("name") {
        found.symbol(symbol, node, name, is_public(found, node), place);
    }
    nested
}

/// Returns the attributes of a definition.
pub(super) fn attributes<'t>(node: Node<'t>) -> impl Iterator<Item = Node<'t>> {
    let lists = node.named_children().filter(|child| child.word() == "attribute_list");
    lists.flat_map(|node| node.named_children()).filter(|child| child.word() == "attribute")
}

/// Returns the name of an attribute, without its namespace and the ending that may be left out.
fn attribute_name<'t>(found: &Found<'t>, attribute: Node<'_>) -> &'t str {
    plain_name(found.field_text(attribute, "name"))
}

/// Returns the name of an attribute as it is mostly written.
pub(super) fn plain_name(name: &str) -> &str {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.strip_suffix("Attribute").unwrap_or(last)
}

fn is_public(found: &Found<'_>, node: Node<'_>) -> bool {
    node.named_children().any(|child| child.word() == "modifier" && found.text(child) == "public")
}

fn fields(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let exported = is_public(found, node);
    let declaration = node.named_children().find(|child| child.word() == "variable_declaration");
    for declarator in declaration.into_iter().flat_map(|node| node.named_children()) {
        let name = declarator.field("name");
        if let Some(name) = name.filter(|_| declarator.word() == "variable_declarator") {
            found.symbol(SymbolKind::Field, node, name, exported, place);
        }
    }
}

/// Notes a namespace whose names a file uses, or a type under another name.
fn using(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let alias = node.field("name");
    let Some(path) = node.named_children().filter(|child| Some(*child) != alias).last() else { return };
    let mut import = found.import(ImportKind::Static, node, found.text(path).to_owned(), span(path), place);
    import.alias = alias.map(|alias| found.text(alias).to_owned());
    import.star = alias.is_none();
    found.outline.imports.push(import);
}
