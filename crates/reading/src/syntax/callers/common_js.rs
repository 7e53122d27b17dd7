//! Names that a CommonJS module gives to others.

use super::super::outline::Span;
use super::super::shape::parts;
use super::super::walk::span;
use crate::tree::{Node, Tree};

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 1_000;

/// Returns the exported names with their places, or `None` where others may be exported in ways that are not read.
pub(crate) fn exports<'t>(tree: &Tree, text: &'t str) -> Option<Vec<(&'t str, Span)>> {
    let mut names = Vec::new();
    let mut cursor = tree.walk();
    let mut above: Vec<Node<'_>> = Vec::new();
    let mut objects = 0;
    loop {
        let node = cursor.node();
        if node.is_error() || above.len() > MAX_DEPTH {
            return None;
        }
        let is_exports = match node.word() {
            "identifier" => span(node).of(text) == "exports",
            "member_expression" => span(node).of(text) == "module.exports",
            _ => false,
        };
        if is_exports {
            objects += read(node, &above, text, &mut names)?;
        }
        // Anything else that is done with the module may export more.
        let is_handled = is_exports || node.word() != "identifier" || span(node).of(text) != "module";
        if !is_handled {
            return None;
        }
        if !is_exports && cursor.goto_first_child() {
            above.push(node);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return (objects < 2).then_some(names);
            }
            above.pop();
        }
    }
}

/// Reads one use of the exports and returns the number of objects that are exported as a whole by it.
fn read<'t>(
    exports: Node<'_>,
    above: &[Node<'_>],
    text: &'t str,
    names: &mut Vec<(&'t str, Span)>,
) -> Option<usize> {
    let (parent, above) = above.split_last()?;
    match parent.word() {
        "member_expression" => {
            let name = parent.field("property")?;
            let outer = above.last()?;
            // A name that is only read is none that the module gives.
            if outer.word().ends_with("assignment_expression") && outer.field("left") == Some(*parent) {
                names.push((span(name).of(text), span(name)));
            }
            Some(0)
        }
        "assignment_expression" if parent.field("left") == Some(exports) => {
            let mut value = parent.field("right")?;
            while value.word() == "assignment_expression" {
                // `exports = module.exports = {}`
                value = value.field("right")?;
            }
            if parent.field("right").is_some_and(|right| right.word() == "assignment_expression") {
                return Some(0);
            }
            object(value, text, names)?;
            Some(1)
        }
        _ => None,
    }
}

/// Reads the names of an object literal.
fn object<'t>(value: Node<'_>, text: &'t str, names: &mut Vec<(&'t str, Span)>) -> Option<()> {
    if value.word() != "object" {
        return None;
    }
    for member in parts(value) {
        let name = match member.word() {
            "shorthand_property_identifier" => member,
            "pair" => member.field("key")?,
            "method_definition" => member.field("name")?,
            _ => return None,
        };
        if !matches!(name.word(), "property_identifier" | "shorthand_property_identifier") {
            return None;
        }
        names.push((span(name).of(text), span(name)));
    }
    Some(())
}
