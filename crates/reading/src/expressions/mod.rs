//! Expressions and statements of a source file in one form for all grammars, for rules about a single one of them.

mod around;
mod compare;
mod form;
mod kinds;
mod parts;
#[cfg(test)]
mod tests;

use crate::syntax::{Language, Span, parse_tree_once};
use crate::tree::{Node, Tree};

use around::Functions;

pub use around::Case;
pub use compare::MOST_TOKENS;
pub use form::{Form, Operator};
pub use parts::{Arm, Branches, Entry};

/// Longest chain of nodes that is followed upwards or through parentheses.
const LONGEST_CHAIN: usize = 64;

/// A source file with its syntax tree.
#[derive(Debug)]
pub struct Expressions<'t> {
    text: &'t str,
    language: Language,
    tree: Tree,
}

/// An expression, a statement or a part of one.
#[derive(Debug, Clone, Copy)]
pub struct Expression<'t> {
    node: Node<'t>,
    text: &'t str,
    language: Language,
    functions: &'t Functions<'t>,
}

impl<'t> Expressions<'t> {
    /// Parses a text, or returns `None` for one that is too large or takes too long.
    pub fn parse(language: Language, text: &'t str) -> Option<Self> {
        Some(Self { text, language, tree: parse_tree_once(language, text)? })
    }

    /// Visits every expression that touches one of some spans, which are in order and apart. What could not be parsed is
    /// left out.
    pub fn visit(&self, spans: &[Span], mut visitor: impl FnMut(Expression<'_>)) {
        let mut cursor = self.tree.walk();
        let functions = Functions::new(self.tree.root_node());
        loop {
            let node = cursor.node();
            let touches = touches_one_of(spans, node.start_byte(), node.end_byte());
            let is_read = touches && node.is_named() && !node.is_error() && !node.is_comment();
            if is_read {
                let expression =
                    Expression { node, text: self.text, language: self.language, functions: &functions };
                if kinds::is_of_interest(node) && expression.wrapped().is_none() {
                    visitor(expression);
                }
                if cursor.goto_first_child() {
                    continue;
                }
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return;
                }
            }
        }
    }
}

/// Returns whether a part of the text shares a byte with one of some spans, which are in order and apart.
fn touches_one_of(spans: &[Span], start: usize, end: usize) -> bool {
    let next = spans.partition_point(|span| span.end <= start);
    spans.get(next).is_some_and(|span| span.start < end)
}

impl<'t> Expression<'t> {
    fn with(self, node: Node<'t>) -> Self {
        crate::work::count();
        Self { node, ..self }
    }

    pub fn language(self) -> Language {
        self.language
    }

    pub fn span(self) -> Span {
        Span { start: self.node.start_byte(), end: self.node.end_byte() }
    }

    /// Returns the expression as it is written.
    pub fn source(self) -> &'t str {
        self.span().of(self.text)
    }

    /// Returns the text of the whole file.
    pub fn file(self) -> &'t str {
        self.text
    }

    /// Returns whether a part of it could not be parsed.
    pub fn is_broken(self) -> bool {
        self.node.has_error()
    }

    fn field(self, name: &str) -> Option<Self> {
        self.node.field(name).map(|node| self.with(node))
    }

    /// Returns the first of some fields that the node has.
    fn first_field(self, names: &[&str]) -> Option<Self> {
        names.iter().find_map(|name| self.field(name))
    }

    fn word(self) -> &'t str {
        self.node.word()
    }

    /// Returns the named children without comments.
    pub fn children(self) -> Vec<Self> {
        let named = self.node.named_children();
        named.filter(|child| !child.is_comment()).map(|child| self.with(child)).collect()
    }

    pub fn parent(self) -> Option<Self> {
        self.node.parent().map(|node| self.with(node))
    }

    /// Returns the nodes around it, the innermost first.
    pub fn ancestors(self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), |node| node.parent()).take(LONGEST_CHAIN)
    }

    /// Returns the expression that parentheses, casts and the like stand for.
    pub fn unwrapped(mut self) -> Self {
        for _ in 0..LONGEST_CHAIN {
            let Some(inside) = self.wrapped() else { return self };
            self = inside;
        }
        self
    }

    fn wrapped(self) -> Option<Self> {
        match self.word() {
            "parenthesized_expression"
            | "parenthesized_statements"
            | "condition_clause"
            | "expression_list"
            | "as_expression"
            | "satisfies_expression"
            | "non_null_expression"
            | "argument"
            | "value_argument"
            | "literal_element"
            | "template_function"
            | "generic_function"
            | "computed_property_name"
            | "pattern" => {
                let children = self.children();
                let is_typed = matches!(self.word(), "as_expression" | "satisfies_expression");
                let is_named = self.word().ends_with("function");
                match children[..] {
                    [inside] => Some(inside),
                    [inside, _] if is_typed || is_named => Some(inside),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Returns whether it stands in parentheses of its own.
    pub fn is_parenthesized(self) -> bool {
        let parent = self.parent();
        let is_wrapper = |parent: &Self| parent.word().starts_with("parenthesized_");
        parent.is_some_and(|parent| is_wrapper(&parent))
    }
}
