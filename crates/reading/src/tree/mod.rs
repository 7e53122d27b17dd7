//! The tree of a parsed text, written down node after node as it is read. A walk of the parser's own tree finds out again
//! at each step what is visible, which kind it has and which field it is; here these are numbers side by side.

mod cursor;
mod grammar;
mod node;

use std::ops::Deref;
use std::sync::Arc;

pub(crate) use cursor::TreeCursor;
use grammar::Grammar;
pub(crate) use node::Node;

/// Stands for a node that is not there.
const NONE: u32 = u32::MAX;

/// A parsed text.
#[derive(Debug, Clone)]
pub(crate) struct Tree(Arc<Nodes>);

/// The nodes of a tree, each before those inside it.
#[derive(Debug)]
pub(crate) struct Nodes {
    records: Vec<Record>,
    grammar: &'static Grammar,
    /// The tree of the parser, by which it parses another version of the text.
    parsed: tree_sitter::Tree,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Record {
    start: u32,
    end: u32,
    parent: u32,
    /// The node behind all that are inside this one.
    behind: u32,
    /// The sibling before.
    before: u32,
    kind: u16,
    /// The field of the parent that it is, or 0.
    field: u16,
    marks: Marks,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks(u8);

impl Marks {
    const NAMED: u8 = 1;
    const ERROR: u8 = 2;
    const MISSING: u8 = 4;
    const HAS_ERROR: u8 = 8;

    fn new(node: tree_sitter::Node<'_>) -> Self {
        let named = u8::from(node.is_named()) * Self::NAMED;
        let error = u8::from(node.is_error()) * Self::ERROR;
        let missing = u8::from(node.is_missing()) * Self::MISSING;
        let has_error = u8::from(node.has_error()) * Self::HAS_ERROR;
        Self(named | error | missing | has_error)
    }

    fn has(self, mark: u8) -> bool {
        self.0 & mark != 0
    }
}

impl Record {
    fn new(cursor: &tree_sitter::TreeCursor<'_>, parent: u32, before: u32) -> Self {
        let node = cursor.node();
        // Texts that are parsed are far shorter than what 32 bits count.
        let [start, end] = [node.start_byte(), node.end_byte()].map(|at| u32::try_from(at).unwrap_or(NONE));
        let field = cursor.field_id().map_or(0, |field| field.get());
        Self {
            start,
            end,
            parent,
            behind: NONE,
            before,
            kind: node.kind_id(),
            field,
            marks: Marks::new(node),
        }
    }
}

impl Tree {
    pub(crate) fn new(parsed: tree_sitter::Tree) -> Self {
        let records = records(&parsed);
        let grammar = Grammar::of(&parsed.language());
        Self(Arc::new(Nodes { records, grammar, parsed }))
    }

    /// Returns the tree as the parser made it.
    pub(crate) fn parsed(&self) -> &tree_sitter::Tree {
        &self.0.parsed
    }
}

impl Deref for Tree {
    type Target = Nodes;

    fn deref(&self) -> &Nodes {
        &self.0
    }
}

impl Nodes {
    pub(crate) fn root_node(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    pub(crate) fn walk(&self) -> TreeCursor<'_> {
        self.root_node().walk()
    }

    fn record(&self, at: u32) -> &Record {
        &self.records[at as usize]
    }
}

/// Writes down the nodes of a parsed tree.
fn records(parsed: &tree_sitter::Tree) -> Vec<Record> {
    let mut cursor = parsed.walk();
    let mut records = Vec::with_capacity(cursor.node().descendant_count());
    records.push(Record::new(&cursor, NONE, NONE));
    let mut at = 0;
    loop {
        if cursor.goto_first_child() {
            let next = number(records.len());
            records.push(Record::new(&cursor, at, NONE));
            at = next;
            continue;
        }
        loop {
            let behind = number(records.len());
            let record = &mut records[at as usize];
            record.behind = behind;
            let parent = record.parent;
            if cursor.goto_next_sibling() {
                records.push(Record::new(&cursor, parent, at));
                at = behind;
                break;
            }
            if !cursor.goto_parent() {
                return records;
            }
            at = parent;
        }
    }
}

/// Returns a number of nodes, of which there are fewer than bytes of a text that is parsed, and three per byte at most.
fn number(count: usize) -> u32 {
    u32::try_from(count).expect("no parsed text has so many nodes")
}

#[cfg(test)]
mod tests;
