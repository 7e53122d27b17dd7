//! Parts of a test that run only if something holds, or whose failure is caught.

use super::Language;
use super::needs::words_of_directive;
use super::outline::Span;
use super::test_blocks::{is_return, statements};
use super::walk::span;
use crate::tree::Node;

/// Deeper branches are not looked at.
const MAX_DEPTH: usize = 60;

/// A part of a test that may be left out without the test failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The place that decides: a condition, the head of a function, or a handler.
    pub condition: Span,
    /// The part.
    pub then: Span,
    /// The part that runs instead; empty if there is none.
    pub otherwise: Span,
}

/// Collects the branches of a body. `is_called` tells whether a function is named outside of its definition.
pub(super) fn branches(
    language: Language,
    text: &str,
    body: Node<'_>,
    is_called: &dyn Fn(&str) -> bool,
) -> Vec<Branch> {
    let mut found = Vec::new();
    let reader = Reader { language, text, is_called };
    reader.visit(body, &mut found, 0);
    found
}

struct Reader<'t> {
    language: Language,
    text: &'t str,
    is_called: &'t dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn visit(&self, node: Node<'_>, found: &mut Vec<Branch>, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node.word() {
            "if_statement" | "if_expression" => found.extend(condition(node)),
            "preproc_if" | "preproc_ifdef" => found.extend(self.left_out(node)),
            "try_statement" => found.extend(self.caught(node)),
            "with_statement" => found.extend(self.suppressed(node)),
            "expression_statement" => found.extend(self.short_circuit(node)),
            "function_definition" | "function_declaration" | "let_declaration" | "variable_declarator" => {
                found.extend(self.uncalled(node));
            }
            _ => {}
        }
        let mut inside = node.named_children().peekable();
        while let Some(child) = inside.next() {
            if let Some(next) = inside.peek() {
                found.extend(self.early_return(child, *next, node));
            }
            self.visit(child, found, depth + 1);
        }
    }

    /// Returns what a preprocessor leaves out unless a word is given.
    fn left_out(&self, node: Node<'_>) -> Option<Branch> {
        const OF_PROJECT: &[&str] = &["ENABLE", "USE", "WITH"];
        let words = words_of_directive(self.language, self.text, node)?;
        let is_of_project = words.iter().any(|word| {
            let name = word.split(':').next_back().unwrap_or_default();
            OF_PROJECT.iter().any(|begin| name.starts_with(begin))
        });
        let condition = node.field("condition").or_else(|| node.field("name")).filter(|_| !is_of_project)?;
        let alternative = node.field("alternative");
        let inside = node.named_children().filter(|child| *child != condition && Some(*child) != alternative);
        let inside: Vec<Node<'_>> = inside.collect();
        let then = Span { start: inside.first()?.start_byte(), end: inside.last()?.end_byte() };
        Some(Branch {
            condition: span(condition),
            then,
            otherwise: alternative.map(span).unwrap_or_default(),
        })
    }

    /// Returns what follows a condition that leaves the test, from the next statement to the last one around it.
    fn early_return(&self, statement: Node<'_>, next: Node<'_>, around: Node<'_>) -> Option<Branch> {
        let inner = match statement.word() {
            "expression_statement" => statement.named_child(0)?,
            _ => statement,
        };
        let branch = condition(inner).filter(|branch| branch.otherwise == Span::default())?;
        let end = around
            .named_children()
            .last()
            .filter(|_| then_of(inner).is_some_and(|then| self.leaves(then, 0)))?
            .end_byte();
        let then = Span { start: next.start_byte(), end };
        Some(Branch { then, otherwise: branch.then, ..branch })
    }

    /// Returns whether a block, or a condition at its end, ends with a statement that leaves the test.
    fn leaves(&self, block: Node<'_>, depth: usize) -> bool {
        let Some(&last) = statements(block).last().filter(|_| depth < MAX_DEPTH) else { return false };
        let inner = last.named_child(0).filter(|_| last.word() == "expression_statement").unwrap_or(last);
        is_return(self.language, span(last).of(self.text))
            || condition(inner).and_then(|_| then_of(inner)).is_some_and(|then| self.leaves(then, depth + 1))
    }

    /// Returns a body whose failed assertions are caught.
    fn caught(&self, node: Node<'_>) -> Option<Branch> {
        let body = node.field("body")?;
        let handler = node.named_children().find(|child| {
            let head = span(*child).of(self.text);
            let head = head.split([':', '{']).next().unwrap_or(head);
            match (self.language, child.word()) {
                (Language::Python, "except_clause") => {
                    head.trim() == "except"
                        || ["Exception", "AssertionError"].iter().any(|name| head.contains(name))
                }
                (Language::Java, "catch_clause") => {
                    ["Throwable", "AssertionError", "Error "].iter().any(|name| head.contains(name))
                }
                (Language::JavaScript | Language::Tsx | Language::TypeScript, "catch_clause") => true,
                _ => false,
            }
        })?;
        Some(Branch { condition: span(handler), then: span(body), otherwise: span(handler) })
    }

    /// Returns a body whose failed assertions `contextlib.suppress` drops.
    fn suppressed(&self, node: Node<'_>) -> Option<Branch> {
        let body = node.field("body")?;
        let head = Span { start: node.start_byte(), end: body.start_byte() };
        let text = head.of(self.text);
        let drops = text.contains("suppress(")
            && ["Exception", "AssertionError"].iter().any(|name| text.contains(name));
        drops.then_some(Branch { condition: head, then: span(body), otherwise: Span::default() })
    }

    /// Returns the right side of `x && f()`.
    fn short_circuit(&self, statement: Node<'_>) -> Option<Branch> {
        let operation = statement.named_child(0)?;
        let operator = operation.field("operator")?;
        let decides = matches!(span(operator).of(self.text), "&&" | "||" | "??" | "and" | "or");
        let (left, right) = (operation.field("left")?, operation.field("right")?);
        decides.then(|| Branch { condition: span(left), then: span(right), otherwise: Span::default() })
    }

    /// Returns the body of a function that nothing calls.
    fn uncalled(&self, node: Node<'_>) -> Option<Branch> {
        let body = node.field("body").or_else(|| {
            let value = node.field("value")?;
            value.field("body")
        })?;
        let name = node.field("name").or_else(|| node.field("pattern"));
        let name = name.filter(|name| matches!(name.word(), "_" | "identifier"))?;
        let condition = Span { start: node.start_byte(), end: body.start_byte() };
        let is_called = (self.is_called)(span(name).of(self.text));
        (!is_called).then_some(Branch { condition, then: span(body), otherwise: Span::default() })
    }
}

fn condition(node: Node<'_>) -> Option<Branch> {
    if !matches!(node.word(), "if_statement" | "if_expression") {
        return None;
    }
    let mut others: Vec<Node<'_>> = node.fields("alternative").collect();
    if others.is_empty() && node.field("consequence").is_none() {
        others.extend(unnamed_branches(node).get(1));
    }
    let otherwise = others.first().zip(others.last());
    Some(Branch {
        condition: span(node.field("condition")?),
        then: span(then_of(node)?),
        otherwise: otherwise
            .map(|(first, last)| Span { start: first.start_byte(), end: last.end_byte() })
            .unwrap_or_default(),
    })
}

/// Returns the branch of a condition that runs where it holds.
pub(super) fn then_of<'n>(node: Node<'n>) -> Option<Node<'n>> {
    let named = node.field("consequence").or_else(|| node.field("body"));
    named.or_else(|| unnamed_branches(node).first().copied())
}

/// Returns the branch of a condition that runs where it does not hold.
pub(super) fn otherwise_of<'n>(node: Node<'n>) -> Option<Node<'n>> {
    let is_named = node.field("consequence").or_else(|| node.field("body")).is_some();
    node.field("alternative").or_else(|| unnamed_branches(node).get(1).copied().filter(|_| !is_named))
}

/// Returns the branches of a condition of Kotlin, which have no names.
fn unnamed_branches<'n>(node: Node<'n>) -> Vec<Node<'n>> {
    let condition = node.field("condition").filter(|_| node.word() == "if_expression");
    let Some(condition) = condition else { return Vec::new() };
    node.named_children().filter(|child| *child != condition && !child.is_comment()).collect()
}
