//! Reads configuration files into one tree of values, each with its place in the text.
//!
//! The tree holds the values that the tool behind a file would read: the last of two members with one name, the target
//! of an alias, the members that a merge key brings. Rules ask for values at key paths and never look at spelling.

mod build;
mod ecma;
mod ini;
mod json;
mod list;
mod scalar;
mod toml;
mod xml;
mod yaml;

#[cfg(test)]
mod suite_tests;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

pub use scalar::{Plain, Style};

use crate::shell::Decoded;
use crate::syntax::Span;
use build::{Data, Id, Member};

/// Longest text in bytes that is parsed.
pub const MAX_BYTES: usize = 16 << 20;
/// Deepest nesting that is parsed.
pub const MAX_DEPTH: usize = 128;
/// Most values that [`Node::leaves`] visits, aliases expanded.
pub const MAX_LEAVES: usize = 1 << 20;

/// Notation of a configuration file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// The default export of a JavaScript or TypeScript module, as far as it is literal.
    Ecma,
    /// `name = value` below `[glob]`, as .editorconfig and .globalconfig have it.
    EditorConfig,
    /// One pattern of ignored paths on a line, as .gitignore has them.
    Ignore,
    /// `name = value` below `[section]`, as Python's configparser reads it.
    Ini,
    /// `name = value` as npm reads .npmrc.
    Npmrc,
    /// JSON, with the comments, trailing commas and quotes of JSONC and JSON5.
    Json,
    Toml,
    Xml,
    /// YAML 1.2, and JSON as a part of it.
    Yaml,
}

/// Reason why a text has no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// The place is in bytes.
    #[error("{message}")]
    Syntax { message: String, at: usize },
}

/// The values of one file.
#[derive(Debug)]
pub struct Document<'t> {
    text: &'t str,
    nodes: Vec<Data<'t>>,
    /// Root of each document of a YAML stream; other formats have one.
    roots: Vec<Id>,
}

/// A value, as it is reached from a root: the place of an alias is where the alias stands.
#[derive(Debug, Clone, Copy)]
pub struct Node<'d> {
    document: &'d Document<'d>,
    id: Id,
    place: Span,
}

/// A member of a map.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'d> {
    /// Name of the member; numbers and the like as they are written.
    pub key: &'d str,
    pub key_span: Span,
    pub value: Node<'d>,
}

/// A member that a later one of the same name replaces.
#[derive(Debug, Clone, Copy)]
pub struct Shadowed<'d> {
    pub entry: Entry<'d>,
    /// Place of the name of the one that counts.
    pub by: Span,
}

/// A scalar or an empty collection, with the way to it.
#[derive(Debug, Clone)]
pub struct Leaf<'d> {
    pub path: Vec<Step<'d>>,
    pub value: Node<'d>,
}

/// Step of a key path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step<'d> {
    Key(&'d str),
    /// Position in a list, from 0.
    Item(usize),
}

impl<'t> Document<'t> {
    /// Parses a text.
    ///
    /// # Errors
    /// A text that the format's own tools would refuse, or that is too large or too deep.
    pub fn parse(format: Format, text: &'t str) -> Result<Self, ReadError> {
        if text.len() > MAX_BYTES {
            return Err(ReadError::TooLarge);
        }
        match format {
            Format::Ecma => ecma::parse(text),
            Format::Ignore => Ok(list::parse(text)),
            Format::Ini => Ok(ini::parse(text, ini::Dialect::Configparser)),
            Format::EditorConfig => Ok(ini::parse(text, ini::Dialect::EditorConfig)),
            Format::Npmrc => Ok(ini::parse(text, ini::Dialect::Npm)),
            Format::Json => json::parse(text),
            Format::Toml => self::toml::parse(text),
            Format::Xml => xml::parse(text),
            Format::Yaml => yaml::parse(text),
        }
    }

    /// Returns the text that was parsed.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns the first document; a null without a place where the text is empty.
    pub fn root(&self) -> Node<'_> {
        self.roots().next().expect("every reader gives one root at least")
    }

    /// Returns the documents of a YAML stream, in order.
    pub fn roots(&self) -> impl Iterator<Item = Node<'_>> {
        self.roots.iter().map(|&id| self.node(id))
    }

    /// Members that a later one of the same name replaces, in the order of the text.
    pub fn shadowed(&self) -> Vec<Shadowed<'_>> {
        let mut found = Vec::new();
        for data in &self.nodes {
            let mut last = BTreeMap::new();
            for member in data.members().iter().rev().filter(|member| !member.merged) {
                let entry = self.entry(member);
                if member.shadowed {
                    let by = last.get(entry.key).copied().unwrap_or(entry.key_span);
                    found.push(Shadowed { entry, by });
                } else {
                    last.insert(entry.key, entry.key_span);
                }
            }
        }
        found.sort_by_key(|shadowed| shadowed.entry.key_span);
        found
    }

    fn node(&self, id: Id) -> Node<'_> {
        Node { document: self, id, place: self.nodes[id.index()].span }
    }

    fn entry(&self, member: &Member) -> Entry<'_> {
        let value = Node { document: self, id: member.value, place: member.value_place };
        let key = self.nodes[member.key.index()].scalar().unwrap_or_default();
        Entry { key, key_span: self.nodes[member.key.index()].span, value }
    }
}

impl<'d> Node<'d> {
    fn data(self) -> &'d Data<'d> {
        &self.document.nodes[self.id.index()]
    }

    /// Place of the value; of an alias, its own.
    pub fn span(self) -> Span {
        self.place
    }

    /// Place of the value's definition, which differs from [`Node::span`] for an alias.
    pub fn definition(self) -> Span {
        self.data().span
    }

    /// Application tag of a YAML value, such as `!reference`.
    pub fn tag(self) -> Option<&'d str> {
        self.data().tag.as_deref()
    }

    /// Decoded text of a scalar.
    pub fn text(self) -> Option<&'d str> {
        self.data().scalar()
    }

    /// Type of a scalar.
    pub fn plain(self) -> Option<Plain<'d>> {
        let (text, style) = self.data().scalar_with_style()?;
        Some(Plain::new(text, style))
    }

    /// True or false, also where a quoted word or an expression of constants says so.
    pub fn flag(self) -> Option<bool> {
        scalar::flag(self.text()?)
    }

    pub fn is_map(self) -> bool {
        self.data().is_map()
    }

    pub fn is_list(self) -> bool {
        self.data().is_list()
    }

    /// Members of a map in the order of the text, without those that a later one replaces.
    pub fn entries(self) -> impl Iterator<Item = Entry<'d>> {
        let document = self.document;
        let members = self.data().members().iter();
        members.filter(|member| !member.shadowed).map(move |member| document.entry(member))
    }

    /// Returns the member of a name.
    pub fn get(self, key: &str) -> Option<Node<'d>> {
        self.entry(key).map(|entry| entry.value)
    }

    /// Returns the member of a name, with the place of its name.
    pub fn entry(self, key: &str) -> Option<Entry<'d>> {
        self.entries().find(|entry| entry.key == key)
    }

    /// Returns all members of a name: siblings of one name in XML.
    pub fn all(self, key: &str) -> impl Iterator<Item = Node<'d>> {
        self.entries().filter(move |entry| entry.key == key).map(|entry| entry.value)
    }

    /// Returns the value at a path of names.
    pub fn at(self, path: &[&str]) -> Option<Node<'d>> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Elements of a list.
    pub fn items(self) -> impl Iterator<Item = Node<'d>> {
        let document = self.document;
        let items = self.data().items().iter();
        items.map(move |item| Node { document, id: item.value, place: item.place })
    }

    /// Texts of a scalar, or of the scalars of a list.
    pub fn texts(self) -> Vec<&'d str> {
        match self.text() {
            Some(text) => vec![text],
            None => self.items().filter_map(Node::text).collect(),
        }
    }

    /// Scalars and empty collections below, with their paths, in the order of the text.
    ///
    /// # Errors
    /// [`ReadError::TooLarge`] where aliases stand for more than [`MAX_LEAVES`] values.
    pub fn leaves(self) -> Result<Vec<Leaf<'d>>, ReadError> {
        let mut leaves = Vec::new();
        let mut visited = 0;
        let mut pending = vec![Leaf { path: Vec::new(), value: self }];
        while let Some(Leaf { path, value }) = pending.pop() {
            visited += 1;
            if visited > MAX_LEAVES {
                return Err(ReadError::TooLarge);
            }
            let begin = pending.len();
            for entry in value.entries() {
                pending.push(Leaf { path: extended(&path, Step::Key(entry.key)), value: entry.value });
            }
            for (position, item) in value.items().enumerate() {
                pending.push(Leaf { path: extended(&path, Step::Item(position)), value: item });
            }
            if pending.len() == begin {
                leaves.push(Leaf { path, value });
            }
            pending[begin..].reverse();
        }
        Ok(leaves)
    }

    /// Decoded text of a scalar with the places of its parts in the file; of an alias, those of its definition.
    pub fn placed_text(self) -> Option<Decoded> {
        let data = self.data();
        let (text, style) = data.scalar_with_style()?;
        Some(scalar::placed(data.span.of(self.document.text), text, style, data.span.start))
    }

    /// Place in the file of a byte of the decoded text of a scalar: what a line of a folded `run:` is in the YAML.
    pub fn place_of(self, offset: usize) -> usize {
        let data = self.data();
        let Some((text, style)) = data.scalar_with_style() else { return self.place.start };
        if self.place != data.span {
            return self.place.start;
        }
        let source = data.span.of(self.document.text);
        data.span.start + scalar::source_offset(source, text, style, offset)
    }
}

fn extended<'d>(path: &[Step<'d>], step: Step<'d>) -> Vec<Step<'d>> {
    let mut longer = Vec::with_capacity(path.len() + 1);
    longer.extend_from_slice(path);
    longer.push(step);
    longer
}

/// Text of a scalar, borrowed where nothing had to be decoded.
type Text<'t> = Cow<'t, str>;
