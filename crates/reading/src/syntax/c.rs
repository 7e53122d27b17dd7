//! C and C++: functions, types, macros and constants, and the files that a file includes.

use super::outline::{ImportKind, Span, SymbolKind};
use super::walk::{Found, Place, span};
use crate::tree::Node;

/// Declarators inside of declarators that are followed to a name.
const MAX_DECLARATORS: usize = 50;

pub(super) fn visit(found: &mut Found<'_>, node: Node<'_>, kind: &str, place: Place) -> Place {
    let nested = Place { nested: true, ..place };
    let symbol = match kind {
        "class_specifier" => SymbolKind::Class,
        "enum_specifier" => SymbolKind::Enum,
        "struct_specifier" | "union_specifier" => SymbolKind::Struct,
        "namespace_definition" => {
            if let Some(name) = node.field("name") {
                found.symbol(SymbolKind::Module, node, name, true, place);
            }
            return place;
        }
        "preproc_def" | "preproc_function_def" => {
            if let Some(name) = node.field("name") {
                found.symbol(SymbolKind::Macro, node, name, true, place);
            }
            return place;
        }
        "alias_declaration" | "type_definition" => {
            let field = if kind == "type_definition" { "declarator" } else { "name" };
            if let Some(name) = node.field(field).and_then(declared) {
                found.symbol(SymbolKind::Type, node, name, true, place);
            }
            return place;
        }
        "function_definition" => {
            function(found, node, place);
            return nested;
        }
        "declaration" | "field_declaration" => {
            // A prototype; variables say nothing to others without one in a header.
            if !place.nested || kind == "field_declaration" {
                function(found, node, place);
            }
            return place;
        }
        "preproc_include" => {
            include(found, node, place);
            return place;
        }
        "preproc_if" => return Place { conditional: true, ..place },
        "preproc_ifdef" if !is_guard(found, node) => return Place { conditional: true, ..place },
        "lambda_expression" => return nested,
        _ => return place,
    };
    if let (Some(name), Some(_)) = (node.field("name"), node.field("body")) {
        found.symbol(symbol, node, last_name(name), true, place);
        return nested;
    }
    place
}

/// Notes a function that is defined or declared; in a class it is a method.
fn function(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(declarator) = node.field("declarator").and_then(function_of) else { return };
    let Some(name) = declarator.field("declarator").and_then(declared) else { return };
    let is_own = node
        .named_children()
        .any(|child| child.word() == "storage_class_specifier" && found.text(child) == "static");
    let is_member = place.nested || name.word() == "field_identifier";
    let kind = if is_member { SymbolKind::Method } else { SymbolKind::Function };
    found.symbol(kind, node, name, is_member || !is_own, place);
}

/// Returns the part of a declarator that has parameters: `f(int)` of `*f(int)`, and none of a pointer to a function.
fn function_of(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    for _ in 0..MAX_DECLARATORS {
        match node.word() {
            "function_declarator" => {
                let inner = node.field("declarator")?;
                return (inner.word() != "parenthesized_declarator").then_some(node);
            }
            "pointer_declarator" | "attributed_declarator" | "init_declarator" => {
                node = node.field("declarator").or_else(|| node.named_child(0))?;
            }
            "reference_declarator" => node = node.named_child(0)?,
            _ => return None,
        }
    }
    None
}

/// Returns the name that a declarator declares.
fn declared(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut node = declarator;
    for _ in 0..MAX_DECLARATORS {
        node = match node.word() {
            "destructor_name" | "field_identifier" | "identifier" | "operator_name" | "type_identifier" => {
                return Some(node);
            }
            "qualified_identifier" | "template_function" | "template_method" => node.field("name")?,
            _ => node.field("declarator").or_else(|| node.named_child(0))?,
        };
    }
    None
}

/// Returns `B` of `A::B<int>`.
fn last_name(name: Node<'_>) -> Node<'_> {
    let mut node = name;
    for _ in 0..MAX_DECLARATORS {
        match node.field("name") {
            Some(inner) => node = inner,
            None => break,
        }
    }
    node
}

/// Returns whether a condition keeps a header from being read twice, and leaves out nothing.
fn is_guard(found: &Found<'_>, node: Node<'_>) -> bool {
    let name = found.field_text(node, "name");
    let mut inside = node.named_children().filter(|child| child.word() != "comment").skip(1);
    let first = inside.next().filter(|first| first.word() == "preproc_def");
    first.is_some_and(|first| found.field_text(first, "name") == name)
}

/// Notes an included file: one in quotes is looked for beside the including file first.
fn include(found: &mut Found<'_>, node: Node<'_>, place: Place) {
    let Some(path) = node.field("path") else { return };
    let (kind, file) = match path.word() {
        "string_literal" => (ImportKind::File, found.plain_string(path)),
        "system_lib_string" => (ImportKind::Static, in_brackets(found, path)),
        _ => return,
    };
    if let Some((module, at)) = file {
        let import = found.import(kind, node, module, at, place);
        found.outline.imports.push(import);
    }
}

fn in_brackets(found: &Found<'_>, path: Node<'_>) -> Option<(String, Span)> {
    let inside = found.text(path).strip_prefix('<')?.strip_suffix('>')?;
    let whole = span(path);
    Some((inside.to_owned(), Span { start: whole.start + 1, end: whole.end - 1 }))
}
