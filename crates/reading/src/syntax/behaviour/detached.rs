//! Code that runs beside or behind the function that it stands in, and panics of Go that nobody hears of.

use super::super::comments::gives_reason;
use super::super::outline::Span;
use super::super::walk::span;
use super::drops::Handler;
use super::{Language, Reader, names};
use crate::tree::Node;

/// Number of bytes of a statement in which its first call stands.
const LONGEST_BEGIN: usize = 80;
/// Functions that are called beside or behind the statements after them, without white space.
const ECMA: &[&str] = &[
    "(async()=>",
    "(asyncfunction",
    "void(async",
    "process.nextTick(",
    "queueMicrotask(",
    "setImmediate(",
    "setTimeout(",
];
const RUST: &[&str] = &[
    "catch_unwind(",
    "let_=catch_unwind(",
    "let_=panic::catch_unwind(",
    "let_=std::panic::catch_unwind(",
    "panic::catch_unwind(",
    "std::panic::catch_unwind(",
    "std::thread::spawn(",
    "task::spawn(",
    "thread::spawn(",
    "tokio::spawn(",
    "tokio::task::spawn(",
];
const OTHERS: &[&str] = &[
    "CompletableFuture.runAsync(",
    "GlobalScope.launch",
    "Task.Run(",
    "Thread(",
    "Thread.fork",
    "Thread.new",
    "Thread.start",
    "Thread.startVirtualThread(",
    "_=Task.Run(",
    "newThread(",
    "thread{",
];
/// Kinds of nodes that may be such a statement.
const STATEMENTS: &[&str] = &["call", "call_expression", "expression_statement", "let_declaration"];

impl Reader<'_> {
    /// Returns the place of a statement whose code runs beside the statements behind it, or whose failure it forgets.
    pub(super) fn detached(&self, node: Node<'_>) -> Option<Span> {
        let begins = match self.language {
            Language::Go => return (node.word() == "go_statement").then(|| span(node)),
            Language::JavaScript | Language::Tsx | Language::TypeScript => ECMA,
            Language::Rust => RUST,
            Language::CSharp | Language::Java | Language::Kotlin | Language::Ruby => OTHERS,
            Language::C | Language::Cpp | Language::Php | Language::Python => return None,
        };
        if !STATEMENTS.contains(&node.word()) {
            return None;
        }
        if begins == ECMA && self.is_chain_of_promise(node) {
            return Some(span(node));
        }
        let text = self.text_of(node);
        if self.waits_at_its_end(text) {
            return None;
        }
        let short = text.char_indices().nth(LONGEST_BEGIN).map_or(text, |(end, _)| &text[..end]);
        let short = self.squashed(short);
        begins.iter().any(|begin| short.starts_with(begin)).then(|| span(node))
    }

    /// Returns whether a statement waits for what it starts, and fails where that does.
    fn waits_at_its_end(&self, text: &str) -> bool {
        const ENDS: &[&str] = &[".get()", ".join", ".join()", ".value"];
        let text = text.trim_end().trim_end_matches(';');
        match self.language == Language::Rust {
            true => {
                [".join().unwrap(", ".join().expect("].iter().any(|wait| text.contains(wait))
                    || text.ends_with("?")
            }
            false => ENDS.iter().any(|end| text.ends_with(end)),
        }
    }

    /// Returns whether a statement goes on with a promise that nothing waits for: `load().then(check)`.
    fn is_chain_of_promise(&self, statement: Node<'_>) -> bool {
        let call = statement.named_child(0).filter(|_| statement.word() == "expression_statement");
        let called = call.filter(|call| call.word() == "call_expression").and_then(names::called);
        called.is_some_and(|name| matches!(self.text_of(name), "catch" | "finally" | "then"))
    }

    /// Returns the handler that a deferred `recover` of Go is whose value nobody looks at.
    pub(super) fn recovered(&self, node: Node<'_>) -> Option<Handler> {
        const FORGETS: &[&str] = &[
            "deferfunc(){recover()}()",
            "deferfunc(){_=recover()}()",
            "deferfunc(){_:=recover()}()",
            "deferfunc(){ifrecover()!=nil{}}()",
            "deferfunc(){ifrecover()!=nil{return}}()",
            "deferfunc(){ifr:=recover();r!=nil{}}()",
            "deferfunc(){ifr:=recover();r!=nil{return}}()",
        ];
        let is_deferred = self.language == Language::Go && node.word() == "defer_statement";
        if !is_deferred || !FORGETS.contains(&self.spelled(node).as_str()) {
            return None;
        }
        let mut around = node.parent()?;
        while !matches!(around.word(), "func_literal" | "function_declaration" | "method_declaration") {
            around = around.parent()?;
        }
        let above = self.text[..node.start_byte()].trim_end().rsplit('\n').next().unwrap_or_default();
        let comment = above.trim_start().strip_prefix("//");
        let is_explained = self.is_explained(node) || comment.is_some_and(gives_reason);
        Some(Handler {
            span: span(node),
            whole: span(node),
            around: span(node),
            caught: "panic".to_owned(),
            is_broad: true,
            drops: true,
            is_explained,
            guarded: self.calls_in(around),
        })
    }
}
