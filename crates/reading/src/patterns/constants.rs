//! Values of names that a file sets once: `verify=OFF` below `OFF = False` is `verify=False`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tree_sitter::Node as Parsed;

use super::Code;
use super::search::touches_one_of;
use super::shape::{Node, Shape};
use crate::syntax::{Span, is_function};

/// Assignments to a name anywhere in a file.
#[derive(Debug, Default)]
pub(super) struct Assignments {
    pub(super) count: usize,
    /// The value that is written out, where the last one has that.
    pub(super) literal: Option<Span>,
}

/// Returns the values of the names that are set once and to a value that is written out.
pub(super) fn set_once(assignments: BTreeMap<String, Assignments>) -> BTreeMap<String, Span> {
    let once = assignments.into_iter().filter(|(_, assignments)| assignments.count == 1);
    once.filter_map(|(name, only)| Some((name, only.literal?))).collect()
}

/// The innermost part of a file in which a name has a value.
enum Scope {
    File,
    Function(Span),
    /// Names of a class are not used by their bare name.
    Class,
}

fn scope_of(node: Parsed<'_>) -> Scope {
    let mut next = node.parent();
    while let Some(node) = next {
        if matches!(node.kind(), "class" | "class_body" | "class_declaration" | "class_definition") {
            return Scope::Class;
        }
        if is_function(node.kind()) {
            return Scope::Function(Span { start: node.start_byte(), end: node.end_byte() });
        }
        next = node.parent();
    }
    Scope::File
}

impl<'t> Code<'t> {
    /// Returns spans, in order and apart, together with the places of names whose only value touches one of them.
    pub(super) fn with_uses_of_constants<'s>(&self, spans: &'s [Span]) -> Cow<'s, [Span]> {
        let constants = self.bindings().constants.iter();
        let changed = constants.filter(|(_, value)| touches_one_of(spans, **value));
        let mut uses: Vec<Span> = Vec::new();
        for (name, _) in changed {
            let places = self.text.match_indices(name.as_str());
            uses.extend(places.map(|(start, name)| Span { start, end: start + name.len() }));
        }
        if uses.is_empty() {
            return Cow::Borrowed(spans);
        }
        uses.extend(spans);
        uses.sort_unstable();
        uses.dedup_by(|next, last| {
            let overlaps = next.start <= last.end;
            if overlaps {
                last.end = last.end.max(next.end);
            }
            overlaps
        });
        Cow::Owned(uses)
    }

    /// Returns the value of a name that the file sets once and to a value that is written out, where the name is in the
    /// scope of that.
    pub(super) fn constant(&self, node: Node<'t>) -> Option<Node<'t>> {
        let Shape::Name(name) = self.shape(node) else { return None };
        let value = self.bindings().constants.get(&*name)?;
        let root = self.parsed.tree.parsed()?.root_node();
        let value = root.named_descendant_for_byte_range(value.start, value.end)?;
        let is_in_scope = match scope_of(value) {
            Scope::File => true,
            Scope::Function(function) => {
                let used = self.span(node);
                function.start <= used.start && used.end <= function.end
            }
            Scope::Class => false,
        };
        is_in_scope.then_some(Node::Parsed(value))
    }
}
