//! Dropped failures: handlers that do nothing, and results that are thrown away.

use std::collections::BTreeSet;

use super::super::comments::{gives_reason, has_reason};
use super::super::outline::Span;
use super::super::walk::span;
use super::bodies::{inner, statements};
use super::{Facts, Language, Reader, names};
use crate::tree::Node;

/// Nodes of a guarded part that are looked at.
const MOST_NODES: usize = 400;

/// Code that runs on a failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handler {
    /// Head of the handler.
    pub span: Span,
    /// All of it.
    pub whole: Span,
    /// All that it stands with: the guarded code and the other handlers.
    pub around: Span,
    /// Failure that it is for, without white space; empty for any.
    pub caught: String,
    /// Set where it takes every failure, or nearly so.
    pub is_broad: bool,
    /// Set where the failure is forgotten: nothing is done, or a value of success is given.
    pub drops: bool,
    /// Set where a comment in it gives a reason.
    pub is_explained: bool,
    /// Names of the functions that it guards.
    pub guarded: BTreeSet<String>,
}

/// Number of results of one function that are looked at, and that are thrown away.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fate {
    pub handled: usize,
    pub dropped: Vec<Span>,
}

impl Reader<'_> {
    /// Returns the handler that a node is.
    pub(super) fn handler(&self, node: Node<'_>) -> Option<Handler> {
        match node.word() {
            "catch_block" | "catch_clause" | "except_clause" | "rescue" => Some(self.clause(node)),
            "rescue_modifier" => {
                let handler = node.field("handler")?;
                Some(Handler {
                    span: Span { start: node.named_child(0)?.end_byte(), end: node.end_byte() },
                    whole: span(node),
                    around: span(node),
                    caught: String::new(),
                    is_broad: true,
                    drops: self.is_success(handler),
                    is_explained: false,
                    guarded: self.calls_in(node.field("body")?),
                })
            }
            "with_statement" if self.language == Language::Python => self.suppressed(node),
            "call_expression" if self.is_ecma() => self.chained(node),
            "if_statement" if self.language == Language::Go => self.go_branch(node),
            "defer_statement" => self.recovered(node),
            "match_arm" | "if_expression" if self.language == Language::Rust => self.rust_branch(node),
            _ => None,
        }
    }

    /// Returns the clause of a `try` that runs in any case, where it leaves the function.
    pub(super) fn ending(&self, node: Node<'_>) -> Option<Handler> {
        if names::callee(self.text, node).as_deref() == Some("runCatching") {
            return self.run_catching(node);
        }
        if !matches!(node.word(), "ensure" | "finally_block" | "finally_clause") {
            return None;
        }
        let block = node.field("body").or_else(|| node.named_children().last())?;
        let body = if block.word().contains("comment") { node } else { block };
        let inside =
            if self.language == Language::Ruby { node.named_children().collect() } else { statements(body) };
        let leaves = ["break", "continue", "jump", "next", "return"];
        let mut kinds = inside.into_iter().map(|statement| inner(statement).word());
        let is_left = kinds.any(|kind| leaves.iter().any(|word| kind.starts_with(word)));
        let tried = node.parent().filter(|_| is_left)?;
        Some(Handler {
            span: span(node),
            whole: span(node),
            around: span(tried),
            caught: String::new(),
            is_broad: true,
            drops: true,
            is_explained: false,
            guarded: BTreeSet::new(),
        })
    }

    /// Returns the call of Kotlin that catches every failure of its block, where nothing is done with the result.
    fn run_catching(&self, node: Node<'_>) -> Option<Handler> {
        let is_alone = node.parent().is_some_and(|parent| ["block", "statements"].contains(&parent.word()));
        is_alone.then(|| Handler {
            span: span(node),
            whole: span(node),
            around: span(node),
            caught: String::new(),
            is_broad: true,
            drops: true,
            is_explained: false,
            guarded: BTreeSet::new(),
        })
    }

    /// Returns the handler that `contextlib.suppress(…)` is.
    fn suppressed(&self, node: Node<'_>) -> Option<Handler> {
        let body = node.field("body")?;
        let head = Span { start: node.start_byte(), end: body.start_byte() };
        let text = self.squashed(head.of(self.text));
        let caught = text.split_once("suppress(")?.1.split(')').next().unwrap_or_default().to_owned();
        Some(Handler {
            span: head,
            whole: span(node),
            around: span(node),
            is_broad: is_broad(&caught),
            drops: true,
            is_explained: self.is_explained(node),
            guarded: self.calls_in(body),
            caught,
        })
    }

    fn is_ecma(&self) -> bool {
        matches!(self.language, Language::JavaScript | Language::Tsx | Language::TypeScript)
    }

    fn clause(&self, node: Node<'_>) -> Handler {
        let body = node.field("body").or_else(|| {
            node.named_children()
                .filter(|child| matches!(child.word(), "block" | "then" | "compound_statement"))
                .last()
        });
        let head_end = body.map(|body| body.start_byte()).unwrap_or(node.end_byte());
        let head = Span { start: node.start_byte(), end: head_end };
        let caught = self.caught(node, body);
        let is_broad = caught.is_empty() || is_broad(&caught);
        let tried = node.parent();
        let guarded = tried.map(|tried| self.guarded_by(tried)).unwrap_or_default();
        Handler {
            span: head,
            whole: span(node),
            around: tried.map(span).unwrap_or(span(node)),
            is_broad: is_broad || self.is_ecma(),
            drops: body.is_none_or(|body| self.drops(body)),
            is_explained: self.is_explained(node),
            caught,
            guarded,
        }
    }

    /// Returns the failures that a clause is for: its head without the variable, which is none of the failure's words.
    fn caught(&self, node: Node<'_>, body: Option<Node<'_>>) -> String {
        if self.is_ecma() {
            return String::new();
        }
        let words = node.named_children().filter(|child| Some(*child) != body && !child.is_comment());
        let parts = words.filter_map(|child| match child.word() {
            "as_pattern" => child.named_child(0),
            "catch_declaration" | "catch_formal_parameter" => {
                child.field("type").or_else(|| child.named_child(0))
            }
            "exception_variable" | "variable_name" | "identifier" if self.language != Language::Python => {
                None
            }
            "block" | "then" => None,
            _ => Some(child),
        });
        self.squashed(&parts.map(|part| self.text_of(part)).collect::<String>())
    }

    /// Returns the functions that the guarded part of a `try` calls.
    fn guarded_by(&self, tried: Node<'_>) -> BTreeSet<String> {
        if let Some(body) = tried.field("body") {
            return self.calls_in(body);
        }
        let clauses =
            ["catch_block", "catch_clause", "else", "ensure", "except_clause", "finally_block", "rescue"];
        let inside = tried.named_children().filter(|child| !clauses.contains(&child.word()));
        inside.flat_map(|child| self.calls_in(child)).collect()
    }

    pub(super) fn calls_in(&self, node: Node<'_>) -> BTreeSet<String> {
        let (mut found, mut pending) = (BTreeSet::new(), vec![node]);
        let mut seen = 0;
        while let Some(node) = pending.pop().filter(|_| seen < MOST_NODES) {
            seen += 1;
            found.extend(names::callee(self.text, node));
            pending.extend(node.named_children());
        }
        found
    }

    /// Returns whether a handler forgets what failed.
    fn drops(&self, body: Node<'_>) -> bool {
        let all = statements(body);
        let acting: Vec<Node<'_>> = all.into_iter().filter(|statement| !self.is_idle(*statement)).collect();
        match acting.as_slice() {
            [] => true,
            [only] => {
                matches!(only.word(), "continue_statement" | "next")
                    || self.gives_constant(*only) && self.is_success(inner(*only))
            }
            _ => false,
        }
    }

    /// Returns whether a value says that nothing failed: false and negative numbers say that something did.
    fn is_success(&self, node: Node<'_>) -> bool {
        let text = self.spelled(node);
        let value = text.strip_prefix("return").unwrap_or(&text).trim_end_matches(';');
        let fails = value.eq_ignore_ascii_case("false") || value.starts_with(['-', '"', '\'']);
        let value = if node.word().starts_with("return") || node.word() == "jump_expression" {
            node.named_child(0)
        } else {
            Some(node)
        };
        !fails && value.is_none_or(|value| self.is_constant(value, 0))
    }

    pub(super) fn is_explained(&self, node: Node<'_>) -> bool {
        let mut pending = vec![node];
        let mut seen = 0;
        while let Some(node) = pending.pop().filter(|_| seen < MOST_NODES) {
            seen += 1;
            if node.is_comment() && gives_reason(self.text_of(node)) {
                return true;
            }
            pending.extend(node.named_children());
        }
        let line_end = self.text[node.start_byte()..].find('\n').map(|end| node.start_byte() + end);
        let line = &self.text[node.start_byte()..line_end.unwrap_or(self.text.len())];
        has_reason(line)
    }

    /// Returns the handler of a promise: `.catch(() => {})`, or the second function of `.then(…)`.
    fn chained(&self, node: Node<'_>) -> Option<Handler> {
        let function = node.field("function")?;
        let property = function.field("property")?;
        let position = match self.text_of(property) {
            "catch" => 0,
            "then" => 1,
            _ => return None,
        };
        let arguments = node.field("arguments")?;
        let given = arguments.named_children().filter(|child| !child.is_comment()).nth(position)?;
        let body = given.field("body").filter(|_| given.word().contains("function"))?;
        let drops = match body.word() {
            "statement_block" => self.drops(body),
            _ => self.is_constant(body, 0) && self.is_success(body),
        };
        Some(Handler {
            span: Span { start: property.start_byte(), end: node.end_byte() },
            whole: Span { start: property.start_byte(), end: node.end_byte() },
            around: span(node),
            caught: String::new(),
            is_broad: true,
            drops,
            is_explained: self.is_explained(given),
            guarded: self.calls_in(function.field("object")?),
        })
    }

    /// Returns what Go does where `err` is set.
    fn go_branch(&self, node: Node<'_>) -> Option<Handler> {
        let condition = node.field("condition")?;
        let text = self.spelled(condition);
        let error = text.strip_suffix("!=nil")?;
        if !error.to_lowercase().ends_with("err") {
            return None;
        }
        let body = node.field("consequence")?;
        let all = statements(body);
        let acting: Vec<Node<'_>> = all.into_iter().filter(|statement| !self.is_idle(*statement)).collect();
        let drops = match acting.as_slice() {
            [] => true,
            [only] if only.word() == "return_statement" => {
                let last = self.text_of(*only).rsplit([',', ' ']).next().unwrap_or_default().trim();
                last == "nil" && self.gives_constant(*only)
            }
            _ => false,
        };
        let before = node.field("initializer").or_else(|| node.prev_named_sibling());
        Some(Handler {
            span: Span { start: node.start_byte(), end: body.start_byte() },
            whole: span(node),
            around: span(node),
            caught: "error".to_owned(),
            is_broad: true,
            drops,
            is_explained: self.is_explained(node),
            guarded: before.map(|before| self.calls_in(before)).unwrap_or_default(),
        })
    }

    /// Returns what Rust does about `Err`.
    fn rust_branch(&self, node: Node<'_>) -> Option<Handler> {
        let (pattern, body, value) = match node.word() {
            "match_arm" => {
                let value = node.parent().and_then(|block| block.parent()?.field("value"));
                (node.field("pattern")?, node.field("value")?, value)
            }
            _ => {
                let condition = node.field("condition")?;
                let value = condition.field("value");
                (condition.field("pattern")?, node.field("consequence")?, value)
            }
        };
        let pattern_text = self.spelled(pattern);
        if !pattern_text.starts_with("Err(") || pattern_text.contains("::") {
            return None;
        }
        let drops = match body.word() {
            "block" => self.drops(body),
            "unit_expression" | "continue_expression" => true,
            _ => self.is_constant(body, 0) && self.is_success(body),
        };
        Some(Handler {
            span: Span { start: node.start_byte(), end: body.start_byte() },
            whole: span(node),
            around: span(node),
            caught: "Err".to_owned(),
            is_broad: true,
            drops,
            is_explained: self.is_explained(node),
            guarded: value.map(|value| self.calls_in(value)).unwrap_or_default(),
        })
    }

    /// Notes the fate of the result of a call that may fail.
    pub(super) fn note_fate(&self, node: Node<'_>, facts: &mut Facts) {
        let seen = match self.language {
            Language::Rust => self.rust_fate(node),
            Language::Go => self.go_fate(node),
            Language::C
            | Language::CSharp
            | Language::Cpp
            | Language::Java
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript => None,
        };
        let Some((callee, is_dropped)) = seen else { return };
        let fate = facts.fates.entry(callee).or_default();
        match is_dropped {
            true => fate.dropped.push(span(node)),
            false => fate.handled += 1,
        }
    }

    fn rust_fate(&self, node: Node<'_>) -> Option<(String, bool)> {
        match node.word() {
            "try_expression" => Some((self.called(node.named_child(0)?)?, false)),
            "let_declaration" => {
                let text = self.text_of(node);
                let is_blank =
                    text.strip_prefix("let").is_some_and(|rest| rest.trim_start().starts_with("_ ="));
                Some((self.called(node.field("value").filter(|_| is_blank)?)?, true))
            }
            "call_expression" => {
                let function = node.field("function")?;
                let object = function.field("value")?;
                let method = self.text_of(function.field("field")?);
                let is_statement =
                    node.parent().is_some_and(|parent| parent.word() == "expression_statement");
                let is_dropped = match method {
                    "unwrap" | "expect" | "map_err" | "context" | "with_context" => false,
                    "ok" if is_statement => true,
                    "unwrap_or" | "unwrap_or_default" => true,
                    _ => return None,
                };
                Some((self.called(object)?, is_dropped))
            }
            _ => None,
        }
    }

    fn go_fate(&self, node: Node<'_>) -> Option<(String, bool)> {
        if !matches!(node.word(), "assignment_statement" | "short_var_declaration") {
            return None;
        }
        let left = self.text_of(node.field("left")?);
        let right = node.field("right")?.named_child(0)?;
        let last = left.rsplit(',').next().unwrap_or(left).trim();
        let callee = names::callee(self.text, right)?;
        match last {
            "_" => Some((callee, true)),
            last if last.to_lowercase().ends_with("err") => Some((callee, false)),
            _ => None,
        }
    }

    /// Returns the name of the function whose result an expression is, through waits and further methods.
    fn called(&self, node: Node<'_>) -> Option<String> {
        match node.word() {
            "await_expression" | "parenthesized_expression" | "try_expression" => {
                self.called(node.named_child(0)?)
            }
            "call_expression" => {
                let name = names::callee(self.text, node)?;
                let object = node.field("function")?.field("value");
                match name.as_str() {
                    "context" | "expect" | "map_err" | "ok" | "unwrap" | "unwrap_or"
                    | "unwrap_or_default" | "with_context" => self.called(object?),
                    _ => Some(name),
                }
            }
            _ => None,
        }
    }
}

fn is_broad(caught: &str) -> bool {
    const BROAD: &[&str] =
        &["BaseException", "Error", "Exception", "RuntimeException", "StandardError", "Throwable", "..."];
    caught.trim_matches(['(', ')', '&']).split(['|', ',']).any(|one| {
        let last = one.rsplit(['.', '\\', ':']).next().unwrap_or(one).trim_start_matches("const");
        BROAD.contains(&last) || one == "(...)" || one == "..." || last.starts_with("exception&")
    })
}
