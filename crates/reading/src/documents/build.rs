//! The arena that every reader fills: values by number, so that an alias costs no copy.

use super::{Document, Style, Text};
use crate::syntax::Span;

/// Number of a value in its document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Id(u32);

impl Id {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Value with its place in the text.
#[derive(Debug)]
pub(super) struct Data<'t> {
    pub(super) span: Span,
    pub(super) tag: Option<Box<str>>,
    kind: Kind<'t>,
}

#[derive(Debug)]
enum Kind<'t> {
    Scalar { text: Text<'t>, style: Style },
    List(Vec<Item>),
    Map(Vec<Member>),
}

/// An element of a list, at the place where it is named.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub(super) value: Id,
    pub(super) place: Span,
}

/// A member of a map.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    pub(super) key: Id,
    pub(super) value: Id,
    /// Place where the value is named: that of an alias is its own.
    pub(super) value_place: Span,
    /// True if a later member has the same name, or an own member hides a merged one.
    pub(super) shadowed: bool,
    /// True for what a merge key brings.
    pub(super) merged: bool,
}

impl<'t> Data<'t> {
    pub(super) fn scalar(&self) -> Option<&str> {
        self.scalar_with_style().map(|(text, _)| text)
    }

    pub(super) fn scalar_with_style(&self) -> Option<(&str, Style)> {
        match &self.kind {
            Kind::Scalar { text, style } => Some((text.as_ref(), *style)),
            Kind::List(_) | Kind::Map(_) => None,
        }
    }

    pub(super) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Map(members) => members,
            Kind::Scalar { .. } | Kind::List(_) => &[],
        }
    }

    pub(super) fn items(&self) -> &[Item] {
        match &self.kind {
            Kind::List(items) => items,
            Kind::Scalar { .. } | Kind::Map(_) => &[],
        }
    }

    pub(super) fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }
}

/// A document under construction.
#[derive(Debug)]
pub(super) struct Builder<'t> {
    text: &'t str,
    nodes: Vec<Data<'t>>,
    roots: Vec<Id>,
}

impl<'t> Builder<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, nodes: Vec::new(), roots: Vec::new() }
    }

    pub(super) fn source(&self) -> &'t str {
        self.text
    }

    pub(super) fn scalar(&mut self, text: impl Into<Text<'t>>, style: Style, span: Span) -> Id {
        self.push(Kind::Scalar { text: text.into(), style }, span)
    }

    pub(super) fn list(&mut self, items: Vec<Item>, span: Span) -> Id {
        self.push(Kind::List(items), span)
    }

    /// Adds a map; the last member of a name hides the others.
    pub(super) fn map(&mut self, mut members: Vec<Member>, span: Span) -> Id {
        let mut named = std::collections::BTreeSet::new();
        for member in members.iter_mut().rev() {
            // A key that is a list or a map has no name to share.
            if let Some(name) = self.nodes[member.key.index()].scalar() {
                member.shadowed |= !named.insert(name.to_owned());
            }
        }
        self.push(Kind::Map(members), span)
    }

    /// Adds a map whose members may share names, as elements of XML do.
    pub(super) fn map_with_siblings(&mut self, members: Vec<Member>, span: Span) -> Id {
        self.push(Kind::Map(members), span)
    }

    /// Returns a member at the place of its value.
    pub(super) fn member(&self, key: Id, value: Id) -> Member {
        Member { key, value, value_place: self.data(value).span, shadowed: false, merged: false }
    }

    /// Returns an element at its own place.
    pub(super) fn item(&self, value: Id) -> Item {
        Item { value, place: self.data(value).span }
    }

    pub(super) fn data(&self, id: Id) -> &Data<'t> {
        &self.nodes[id.index()]
    }

    pub(super) fn set_tag(&mut self, id: Id, tag: String) {
        self.nodes[id.index()].tag = Some(tag.into_boxed_str());
    }

    pub(super) fn root(&mut self, id: Id) {
        self.roots.push(id);
    }

    /// Ends the document; one without a root gets a null.
    pub(super) fn finish(mut self) -> Document<'t> {
        if self.roots.is_empty() {
            let null = self.scalar("", Style::Plain, Span::default());
            self.root(null);
        }
        Document { text: self.text, nodes: self.nodes, roots: self.roots }
    }

    fn push(&mut self, kind: Kind<'t>, span: Span) -> Id {
        let id = Id(u32::try_from(self.nodes.len()).expect("a text of bounded length has fewer values"));
        self.nodes.push(Data { span, tag: None, kind });
        id
    }
}
