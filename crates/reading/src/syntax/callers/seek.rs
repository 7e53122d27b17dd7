//! Finds nodes by their places with the nodes above them: a node's own search for its parent begins at the root.

use tree_sitter::{Node, Tree, TreeCursor};

use super::super::outline::Span;
use super::super::walk::span;

/// A walk to one place after the other, fastest in the order of the text.
pub(super) struct Seeker<'t> {
    cursor: TreeCursor<'t>,
    above: Vec<Node<'t>>,
}

/// A node with the nodes above it, outer ones first.
#[derive(Clone, Copy)]
pub(super) struct Found<'s, 't> {
    pub(super) node: Node<'t>,
    pub(super) above: &'s [Node<'t>],
}

impl<'t> Seeker<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { cursor: tree.walk(), above: Vec::new() }
    }

    /// Returns the innermost node around a place.
    pub(super) fn find(&mut self, place: Span) -> Found<'_, 't> {
        while !self.above.is_empty() && !contains(self.cursor.node(), place) {
            // The next place is nearly always behind the last one.
            if self.cursor.node().end_byte() > place.start || !self.cursor.goto_next_sibling() {
                self.cursor.goto_parent();
                self.above.pop();
            }
        }
        loop {
            let outer = self.cursor.node();
            if !self.cursor.goto_first_child() {
                break;
            }
            crate::work::count();
            let is_inside = loop {
                if contains(self.cursor.node(), place) {
                    break true;
                }
                if self.cursor.node().start_byte() > place.start || !self.cursor.goto_next_sibling() {
                    break false;
                }
                crate::work::count();
            };
            if !is_inside {
                self.cursor.goto_parent();
                break;
            }
            self.above.push(outer);
        }
        Found { node: self.cursor.node(), above: &self.above }
    }
}

impl<'s, 't> Found<'s, 't> {
    /// Returns the node above with those above it.
    pub(super) fn parent(self) -> Option<Self> {
        let (node, above) = self.above.split_last()?;
        Some(Self { node: *node, above })
    }
}

fn contains(node: Node<'_>, place: Span) -> bool {
    let own = span(node);
    own.start <= place.start && place.end <= own.end
}
