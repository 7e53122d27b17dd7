//! Names that code asks for their type, so that a checker of types may know more of them than their declaration says.

use std::collections::BTreeSet;

use super::super::shape::parts;
use super::super::walk::{has_word, span};
use super::chains::arguments_list;
use crate::tree::Node;

/// Operators that ask for a type.
const OPERATORS: &[&str] = &["in", "instanceof", "not in", "typeof"];
/// Beginnings of the names of functions that ask for one.
const GUARDS: &[&str] = &[
    "assert",
    "callable",
    "check",
    "ensure",
    "expect",
    "dir",
    "get_class",
    "getattr",
    "has",
    "invariant",
    "is",
    "method_exists",
    "type",
    "vars",
];

/// Returns the names below a node that are asked for their type.
pub(super) fn narrowed<'t>(scope: Node<'t>, text: &'t str) -> BTreeSet<&'t str> {
    let mut names = BTreeSet::new();
    let mut cursor = scope.walk();
    loop {
        let node = cursor.node();
        crate::work::count();
        for part in asked(node, text) {
            // An argument of PHP is a node around its value.
            let inner = if part.word() == "argument" { parts(part) } else { vec![part] };
            names.extend(inner.into_iter().map(|name| span(name).of(text)));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return names;
            }
        }
    }
}

/// Returns the parts of a node that it asks for their type.
fn asked<'t>(node: Node<'t>, text: &str) -> Vec<Node<'t>> {
    let asks = match node.word() {
        "binary_expression" | "comparison_operator" | "unary_expression" => {
            OPERATORS.iter().any(|operator| has_word(node, operator))
        }
        "call" | "call_expression" | "function_call_expression" if is_guard(node, text) => {
            return arguments_list(node).map(parts).unwrap_or_default();
        }
        "class_constant_access_expression" | "match_statement" => true,
        "member_expression" => node.field("property").is_some_and(|own| span(own).of(text) == "constructor"),
        _ => false,
    };
    if asks { parts(node) } else { Vec::new() }
}

/// Returns whether a call may tell a checker of types what its argument is.
fn is_guard(call: Node<'_>, text: &str) -> bool {
    let Some(function) = call.field("function") else { return false };
    let name = span(function).of(text);
    let last = name.rsplit(['.', '\\', ':', '>']).next().unwrap_or(name);
    GUARDS.iter().any(|beginning| last.starts_with(beginning))
}
