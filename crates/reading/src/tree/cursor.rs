//! A place in a tree that moves from node to node.

use super::Node;

/// It does not leave the node that it began at.
#[derive(Clone)]
pub(crate) struct TreeCursor<'t> {
    top: Node<'t>,
    node: Node<'t>,
}

impl<'t> TreeCursor<'t> {
    pub(super) fn new(top: Node<'t>) -> Self {
        Self { top, node: top }
    }

    pub(crate) fn node(&self) -> Node<'t> {
        self.node
    }

    /// Returns the name of the field that the current node is, below the one that it began at.
    pub(crate) fn field_name(&self) -> Option<&'static str> {
        if self.node == self.top { None } else { self.node.own_field() }
    }

    /// Moves to the first child and returns true, or stays where there is none.
    pub(crate) fn goto_first_child(&mut self) -> bool {
        self.go(self.node.first_child())
    }

    /// Moves to the next sibling and returns true, or stays where there is none.
    pub(crate) fn goto_next_sibling(&mut self) -> bool {
        let next = if self.node == self.top { None } else { self.node.next_sibling() };
        self.go(next)
    }

    /// Moves to the parent and returns true, or stays at the node that it began at.
    pub(crate) fn goto_parent(&mut self) -> bool {
        let parent = if self.node == self.top { None } else { self.node.parent() };
        self.go(parent)
    }

    fn go(&mut self, to: Option<Node<'t>>) -> bool {
        self.node = to.unwrap_or(self.node);
        to.is_some()
    }
}
