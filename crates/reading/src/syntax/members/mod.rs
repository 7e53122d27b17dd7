//! Enumerations, unions and interfaces with their members, and the places that have to list all of them.

mod implementers;
mod switches;
mod types;

use super::Language;
use super::outline::Span;
use super::walk::span;
use crate::tree::{Node, Tree};

pub(crate) use implementers::implementers;
pub use switches::Label;
pub(crate) use switches::switches;
pub use types::Form;
pub(crate) use types::types;

/// Deeper nodes are not looked at.
const MAX_DEPTH: usize = 200;

/// Reads the nodes of a text.
#[derive(Clone, Copy)]
struct Reader<'t> {
    language: Language,
    text: &'t str,
}

impl<'t> Reader<'t> {
    fn text_of(&self, node: Node<'_>) -> &'t str {
        span(node).of(self.text)
    }

    /// Returns the text of a field of a node; empty where the node has none.
    fn field_of(&self, node: Node<'_>, field: &str) -> &'t str {
        node.field(field).map(|part| self.text_of(part)).unwrap_or_default()
    }

    /// Returns whether a modifier stands before the name of a definition.
    fn has_modifier(&self, node: Node<'_>, modifier: &str) -> bool {
        let end = node.field("name").map_or(node.end_byte(), |name| name.start_byte());
        let head = Span { start: node.start_byte(), end }.of(self.text);
        head.split(|sign: char| !sign.is_alphanumeric() && sign != '_').any(|word| word == modifier)
    }
}

/// Gives every named node of a tree, in the order of the text.
fn each<'t>(tree: &'t Tree, take: &mut dyn FnMut(Node<'t>)) {
    below(tree.root_node(), 0, take);
}

fn below<'t>(node: Node<'t>, depth: usize, take: &mut dyn FnMut(Node<'t>)) {
    take(node);
    if depth < MAX_DEPTH {
        for child in node.named_children() {
            below(child, depth + 1, take);
        }
    }
}

/// Returns the last name of a path, without the arguments of a type.
fn last_name(path: &str) -> &str {
    let path = path.split(['<', '[', '(', '{']).next().unwrap_or(path).trim();
    path.rsplit(['.', ':', '\\']).next().unwrap_or(path).trim()
}
