//! A node of a tree.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::ptr;

use super::{Marks, NONE, Nodes, Record, TreeCursor};
use crate::syntax::Kind;
use crate::work;

#[derive(Clone, Copy)]
pub(crate) struct Node<'t> {
    nodes: &'t Nodes,
    at: u32,
}

impl<'t> Node<'t> {
    pub(super) fn new(nodes: &'t Nodes, at: u32) -> Self {
        Self { nodes, at }
    }

    fn record(&self) -> &'t Record {
        self.nodes.record(self.at)
    }

    fn at(&self, at: u32) -> Option<Self> {
        (at != NONE).then_some(Self { at, ..*self })
    }

    /// Returns its number in the tree.
    pub(crate) fn id(&self) -> u32 {
        self.at
    }

    /// Returns the name of its kind.
    pub(crate) fn word(&self) -> &'t str {
        work::count();
        self.nodes.grammar.word(self.record().kind)
    }

    pub(crate) fn kind_id(&self) -> u16 {
        self.record().kind
    }

    /// Returns what is known of the kind; `None` for what could not be parsed.
    pub(crate) fn properties(&self) -> Option<&'static Kind> {
        work::count();
        self.nodes.grammar.properties(self.record().kind)
    }

    pub(crate) fn is_comment(&self) -> bool {
        self.properties().is_some_and(|kind| kind.comment)
    }

    pub(crate) fn is_named(&self) -> bool {
        self.record().marks.has(Marks::NAMED)
    }

    pub(crate) fn is_error(&self) -> bool {
        self.record().marks.has(Marks::ERROR)
    }

    pub(crate) fn is_missing(&self) -> bool {
        self.record().marks.has(Marks::MISSING)
    }

    /// Returns whether anything in it could not be parsed.
    pub(crate) fn has_error(&self) -> bool {
        self.record().marks.has(Marks::HAS_ERROR)
    }

    pub(crate) fn start_byte(&self) -> usize {
        self.record().start as usize
    }

    pub(crate) fn end_byte(&self) -> usize {
        self.record().end as usize
    }

    pub(crate) fn byte_range(&self) -> Range<usize> {
        self.start_byte()..self.end_byte()
    }

    pub(crate) fn walk(&self) -> TreeCursor<'t> {
        TreeCursor::new(*self)
    }

    pub(crate) fn parent(&self) -> Option<Self> {
        self.at(self.record().parent)
    }

    /// Returns the nodes around it, the innermost first.
    pub(crate) fn ancestors(&self) -> impl Iterator<Item = Self> + use<'t> {
        std::iter::successors(self.parent(), Self::parent)
    }

    pub(super) fn first_child(&self) -> Option<Self> {
        let first = self.at + 1;
        (first < self.record().behind).then_some(Self { at: first, ..*self })
    }

    pub(crate) fn next_sibling(&self) -> Option<Self> {
        let Record { parent, behind, .. } = *self.record();
        let parent = self.at(parent)?;
        (behind < parent.record().behind).then_some(Self { at: behind, ..*self })
    }

    fn previous_sibling(&self) -> Option<Self> {
        self.at(self.record().before)
    }

    pub(crate) fn next_named_sibling(&self) -> Option<Self> {
        std::iter::successors(self.next_sibling(), |node| node.next_sibling()).find(|node| node.is_named())
    }

    pub(crate) fn prev_named_sibling(&self) -> Option<Self> {
        let before = std::iter::successors(self.previous_sibling(), |node| node.previous_sibling());
        before.into_iter().find(|node| node.is_named())
    }

    /// Returns the nodes right inside, in order.
    pub(crate) fn children(&self) -> Children<'t> {
        Children { next: self.at + 1, behind: self.record().behind, nodes: self.nodes }
    }

    pub(crate) fn named_children(&self) -> impl Iterator<Item = Self> + use<'t> {
        self.children().filter(|child| child.is_named())
    }

    pub(crate) fn child(&self, index: usize) -> Option<Self> {
        self.children().nth(index)
    }

    pub(crate) fn named_child(&self, index: usize) -> Option<Self> {
        self.named_children().nth(index)
    }

    pub(crate) fn child_count(&self) -> usize {
        self.children().count()
    }

    pub(crate) fn named_child_count(&self) -> usize {
        self.named_children().count()
    }

    /// Returns the first child that is a field.
    pub(crate) fn field(&self, name: &str) -> Option<Self> {
        work::count();
        let number = self.nodes.grammar.field(name)?;
        self.children().find(|child| child.record().field == number)
    }

    /// Returns all children that are a field.
    pub(crate) fn fields(&self, name: &str) -> impl Iterator<Item = Self> + use<'t> {
        let number = self.nodes.grammar.field(name);
        self.children().filter(move |child| number == Some(child.record().field))
    }

    /// Returns the name of the field of its parent that it is.
    pub(super) fn own_field(&self) -> Option<&'static str> {
        self.nodes.grammar.field_name(self.record().field)
    }

    /// Returns the smallest named node around a place.
    pub(crate) fn named_descendant_for_byte_range(&self, start: usize, end: usize) -> Option<Self> {
        let (mut smallest, mut around) = (*self, *self);
        while let Some(child) = around.children().find(|child| child.reaches(start, end))
            && child.start_byte() <= start
        {
            around = child;
            smallest = if child.is_named() { child } else { smallest };
        }
        (start <= end).then_some(smallest)
    }

    /// Returns whether it ends behind a place, which may start before it.
    fn reaches(&self, start: usize, end: usize) -> bool {
        let own = self.byte_range();
        own.end >= end && if own.is_empty() { own.end >= start } else { own.end > start }
    }
}

/// The nodes right inside another one.
#[derive(Clone)]
pub(crate) struct Children<'t> {
    nodes: &'t Nodes,
    next: u32,
    behind: u32,
}

impl<'t> Iterator for Children<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        if self.next >= self.behind {
            return None;
        }
        let node = Node { nodes: self.nodes, at: self.next };
        self.next = node.record().behind;
        Some(node)
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at && ptr::eq(self.nodes, other.nodes)
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at.hash(state);
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {:?}", self.word(), self.byte_range())
    }
}
