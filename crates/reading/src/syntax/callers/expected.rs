//! Uses that are meant to fail, or only happen where the name is there.

use super::super::Language;
use super::super::shape::{first_field, parts};
use super::super::walk::span;
use super::chains::Chain;
use crate::names::joins;
use crate::tree::Node;

/// Maximum number of statements before a use that may leave its block.
const MOST_GUARDS: usize = 16;

/// A text with its language.
pub(super) struct Expected<'t> {
    pub(super) language: Language,
    pub(super) text: &'t str,
}

impl<'t> Expected<'t> {
    /// Returns whether a use is meant to fail, or only happens where the name is there.
    pub(super) fn is_weak(&self, chain: &Chain<'t, '_>) -> bool {
        const TRIES: &[&str] = &[
            "raises",
            "Raises",
            "throws",
            "Throws",
            "toThrow",
            "rejects",
            "suppress",
            "catch_unwind",
            "expectError",
        ];
        let whole = chain.whole;
        let own = span(whole).of(self.text);
        let line_start = self.text[..whole.start_byte()].rfind('\n').map_or(0, |at| at + 1);
        let above = self.text[..line_start].trim_end().rsplit('\n').next().unwrap_or_default();
        let line = self.text[line_start..].lines().next().unwrap_or_default();
        let is_excused = ["type: ignore", "no-member", "ts-expect-error", "ts-ignore"]
            .iter()
            .any(|word| line.contains(word) || above.contains(word) && word.starts_with("ts-"));
        let mut node = whole;
        let mut around = chain.above;
        while let Some((parent, outer)) = around.split_last() {
            let parent = *parent;
            let is_weak = match parent.word() {
                "assignment" | "assignment_expression" | "augmented_assignment" => {
                    parent.field("left") == Some(node)
                }
                "delete_statement" => true,
                "block" | "statement_block" => is_left_before(node, self.text, own),
                "unary_expression" => span(parent).of(self.text).starts_with("typeof"),
                "try_statement" => parent.field("body") == Some(node) && self.catches(parent),
                // A handler of these errors is a fallback for another version of the name.
                "except_clause" => self.is_caught(parent, &["AttributeError", "ImportError", "TypeError"]),
                "if_statement" | "ternary_expression" => self.tests(parent.field("condition"), node, own),
                "conditional_expression" => {
                    self.tests(parent.field("condition"), node, own)
                        || span(parent).of(self.text).contains("hasattr")
                }
                "binary_expression" | "boolean_operator" => self.tests(parent.field("left"), node, own),
                "with_statement" => {
                    let head = span(parent).of(self.text).split(':').next().unwrap_or_default();
                    TRIES.iter().any(|word| head.contains(word))
                }
                "call" | "call_expression" | "method_invocation" => {
                    let callee =
                        first_field(parent, &["function", "name"]).map(|callee| span(callee).of(self.text));
                    let is_in_arguments = parent.field("arguments") == Some(node);
                    is_in_arguments
                        && callee.is_some_and(|callee| TRIES.iter().any(|word| callee.contains(word)))
                        || outer
                            .last()
                            .and_then(|outer| first_field(*outer, &["property", "name", "attribute"]))
                            .is_some_and(|name| {
                                TRIES.iter().any(|word| span(name).of(self.text).contains(word))
                            })
                }
                _ => false,
            };
            if is_weak {
                return true;
            }
            (node, around) = (parent, outer);
        }
        is_excused
    }

    /// Returns whether a condition, of which a use is no part, asks if the name is there.
    fn tests(&self, condition: Option<Node<'t>>, used: Node<'t>, own: &str) -> bool {
        condition.filter(|condition| *condition != used).is_some_and(|condition| {
            let text = span(condition).of(self.text);
            text.contains(own) || text.contains("hasattr") || text.contains("version_info")
        })
    }

    /// Returns a clause up to its colon.
    fn head_of(&self, clause: Node<'t>) -> &'t str {
        span(clause).of(self.text).split(':').next().unwrap_or_default()
    }

    /// Returns whether a clause of Python names one of some errors.
    fn is_caught(&self, clause: Node<'t>, errors: &[&str]) -> bool {
        errors.iter().any(|error| self.head_of(clause).contains(error))
    }

    /// Returns whether a `try` catches what a missing name raises.
    fn catches(&self, tried: Node<'t>) -> bool {
        const ERRORS: &[&str] = &["AttributeError", "Exception", "ImportError", "NameError", "TypeError"];
        match self.language {
            Language::Python => {
                let mut clauses = parts(tried).into_iter().filter(|part| part.word() == "except_clause");
                clauses
                    .any(|clause| self.head_of(clause).trim() == "except" || self.is_caught(clause, ERRORS))
            }
            Language::JavaScript | Language::Tsx | Language::TypeScript => true,
            // A handler of everything would hide the loss.
            Language::Php => {
                let mut clauses = parts(tried).into_iter().filter(|part| part.word() == "catch_clause");
                clauses.any(|clause| {
                    let caught = clause.field("type").map(|caught| span(caught).of(self.text));
                    caught.unwrap_or_default().split(['|', '\\', ' ']).any(|name| name == "Error")
                })
            }
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Go
            | Language::Java
            | Language::Kotlin
            | Language::Ruby
            | Language::Rust => false,
        }
    }
}

/// Returns whether an earlier statement of a block asks whether a name is there, and leaves the block for one answer.
fn is_left_before(statement: Node<'_>, text: &str, own: &str) -> bool {
    const LEAVES: &[&str] = &["break", "continue", "pytest.skip", "raise", "return", "this.skip", "throw"];
    let mut before = statement.prev_named_sibling();
    for _ in 0..MOST_GUARDS {
        let Some(node) = before else { break };
        let body = node.field("consequence").map(|body| span(body).of(text)).unwrap_or_default();
        let body = body.trim_start_matches(['{', ' ', '\t', '\r', '\n']);
        if node.word() == "if_statement"
            && LEAVES.iter().any(|word| body.starts_with(word))
            && node.field("condition").is_some_and(|condition| asks_for(span(condition).of(text), own))
        {
            return true;
        }
        before = node.prev_named_sibling();
    }
    false
}

/// Returns whether a condition names a path without calling it, or has its last name as a text: `hasattr(a, "b")`.
fn asks_for(condition: &str, own: &str) -> bool {
    let name = own.rsplit('.').next().unwrap_or(own);
    let is_written = condition.contains(&format!("\"{name}\"")) || condition.contains(&format!("'{name}'"));
    is_written
        || condition.match_indices(own).any(|(at, _)| {
            let (before, after) = (&condition[..at], &condition[at + own.len()..]);
            !before.ends_with(|sign: char| joins(sign) || sign == '.')
                && !after.starts_with(|sign: char| joins(sign) || sign == '(')
        })
}
