//! Values of names that a file sets once: `verify=OFF` below `OFF = False` is `verify=False`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::Code;
use super::assignments::Binding;
use super::search::touches_one_of;
use super::shape::{Node, Shape};
use super::words::is_word;
use crate::syntax::Span;

impl<'t> Code<'t> {
    /// Returns spans, in order and apart, together with the places of names whose only value touches one of them.
    pub(super) fn with_uses_of_constants<'s>(&self, spans: &'s [Span]) -> Cow<'s, [Span]> {
        let changed: BTreeSet<&str> = self
            .bindings()
            .assignments
            .bindings()
            .filter(|(_, binding)| {
                let members = binding.members.iter().map(|set| set.span);
                binding.value().into_iter().chain(members).any(|value| touches_one_of(spans, value))
            })
            .map(|(name, _)| name.trim_start_matches('$'))
            .collect();
        if changed.is_empty() {
            return Cow::Borrowed(spans);
        }
        let mut uses: Vec<Span> =
            words(self.text).filter(|word| changed.contains(word.of(self.text))).collect();
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

    /// Returns the value of a name or a member that the file sets once and to a value that is written out.
    pub(super) fn constant(&self, node: Node<'t>) -> Option<Node<'t>> {
        self.node_at(self.binding(node)?.value()?)
    }

    /// Returns the members of the constant that a node names, each by the last place that sets it for certain.
    pub(super) fn constant_record(&self, node: Node<'t>) -> Option<&'t BTreeMap<String, Span>> {
        let binding = self.binding(node)?;
        let Shape::Record(items) = self.shape(self.node_at(binding.value()?)?) else { return None };
        Some(binding.record.get_or_init(|| {
            let mut record = BTreeMap::new();
            for item in items {
                if let Shape::Pair(name, _) = self.shape(item) {
                    record.insert(name.text.into_owned(), self.span(item));
                }
            }
            for set in &binding.members {
                match set.is_certain {
                    true => drop(record.insert(set.name.clone(), set.span)),
                    false => drop(record.remove(&set.name)),
                }
            }
            record
        }))
    }

    fn binding(&self, node: Node<'t>) -> Option<&'t Binding> {
        let (assignments, grammar) = (&self.bindings().assignments, self.parsed.grammar);
        let at = self.span(node);
        let shape = self.shape(node);
        if let Shape::Name(name) = shape {
            return assignments.named(grammar, &name, at);
        }
        if let Shape::Member(object, name) = shape {
            return assignments.member(self.node_text(self.unwrapped(object)), &name.text, at);
        }
        // `{ name }` stands for `{ name: name }`.
        if let Shape::Pair(name, value) = shape
            && name.span == self.span(value)
        {
            return assignments.named(grammar, &name.text, at);
        }
        None
    }

    /// Returns the innermost node that has a place.
    pub(super) fn node_at(&self, place: Span) -> Option<Node<'t>> {
        let root = self.parsed.tree.parsed()?.root_node();
        root.named_descendant_for_byte_range(place.start, place.end).map(Node::Parsed)
    }
}

/// Returns the places of the words of a text.
fn words(text: &str) -> impl Iterator<Item = Span> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        while at < bytes.len() && !is_word(bytes[at]) {
            at += 1;
        }
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        (start < at).then_some(Span { start, end: at })
    })
}
