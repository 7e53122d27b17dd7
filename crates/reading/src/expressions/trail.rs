//! Parents of nodes by the nodes above the current one. A node's own search begins at the root, so that a rule that looks
//! around each of many nested nodes would take the square of their number.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;

use tree_sitter::Node;

/// Nodes above the current one of a walk, outer ones first.
#[derive(Debug)]
pub(super) struct Trail<'t> {
    current: Cell<Node<'t>>,
    above: RefCell<Vec<Node<'t>>>,
    /// Functions of the file by their names, in order.
    functions: OnceCell<BTreeMap<&'t str, Vec<Node<'t>>>>,
}

impl<'t> Trail<'t> {
    pub(super) fn new(root: Node<'t>) -> Self {
        Self { current: Cell::new(root), above: RefCell::default(), functions: OnceCell::new() }
    }

    /// Returns the outermost node of the walk.
    pub(super) fn root(&self) -> Node<'t> {
        self.above.borrow().first().copied().unwrap_or(self.current.get())
    }

    /// Returns the functions of the file that have a name, which `find` finds at the first question.
    pub(super) fn functions_named(
        &self,
        name: &str,
        find: impl FnOnce() -> BTreeMap<&'t str, Vec<Node<'t>>>,
    ) -> &[Node<'t>] {
        self.functions.get_or_init(find).get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Notes that the walk goes to the children of a node.
    pub(super) fn enter(&self, node: Node<'t>) {
        self.above.borrow_mut().push(node);
    }

    /// Notes that the walk goes back to the node above.
    pub(super) fn leave(&self) {
        self.above.borrow_mut().pop();
    }

    /// Notes the current node of the walk.
    pub(super) fn reach(&self, node: Node<'t>) {
        self.current.set(node);
    }

    /// Returns the parent of any node of the tree: at once for the current node and those above it.
    pub(super) fn parent_of(&self, node: Node<'t>) -> Option<Node<'t>> {
        crate::work::count();
        let above = self.above.borrow();
        if self.current.get() == node {
            return above.last().copied();
        }
        let around = above.partition_point(|each| contains(*each, node));
        // The node is one of those, or below the last of them that is no sibling of the same place.
        for (position, each) in above[..around].iter().enumerate().rev() {
            if *each == node {
                return position.checked_sub(1).map(|outer| above[outer]);
            }
            if let Some(parent) = parent_below(*each, node) {
                return Some(parent);
            }
        }
        None
    }
}

fn contains(outer: Node<'_>, inner: Node<'_>) -> bool {
    outer.start_byte() <= inner.start_byte() && inner.end_byte() <= outer.end_byte()
}

/// Returns the parent of a node that is somewhere below another one.
fn parent_below<'t>(mut around: Node<'t>, node: Node<'t>) -> Option<Node<'t>> {
    while around != node {
        let child = around.child_with_descendant(node)?;
        crate::work::count();
        if child == node {
            return Some(around);
        }
        around = child;
    }
    None
}
