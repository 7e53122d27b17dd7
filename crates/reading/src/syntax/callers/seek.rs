//! Finds nodes by their places.

use super::super::outline::Span;
use super::super::walk::span;
use crate::tree::{Node, Tree};

/// A walk to one place after the other, fastest in the order of the text.
pub(super) struct Seeker<'t> {
    at: Node<'t>,
}

impl<'t> Seeker<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self { at: tree.root_node() }
    }

    /// Returns the innermost node around a place.
    pub(super) fn find(&mut self, place: Span) -> Node<'t> {
        while !contains(self.at, place)
            && let Some(parent) = self.at.parent()
        {
            // The next place is nearly always behind the last one.
            let next = self.at.next_sibling().filter(|_| self.at.end_byte() <= place.start);
            self.at = next.unwrap_or(parent);
        }
        while let Some(inside) = child_around(self.at, place) {
            self.at = inside;
        }
        self.at
    }
}

fn child_around<'t>(node: Node<'t>, place: Span) -> Option<Node<'t>> {
    let mut before = node.children().take_while(|child| child.start_byte() <= place.start);
    before.find(|child| {
        crate::work::count();
        contains(*child, place)
    })
}

fn contains(node: Node<'_>, place: Span) -> bool {
    let own = span(node);
    own.start <= place.start && place.end <= own.end
}
