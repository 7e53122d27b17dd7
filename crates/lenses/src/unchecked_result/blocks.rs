//! Statements that never run, functions that never give back what they are asked for, and loops that change what they
//! run over.

use super::seen::{Seen, is_one_of, last_name, receiver};
use super::{MODIFIED, NO_RETURN, UNREACHABLE};
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Block, Body, Statement, StatementKind};

type Finding = (&'static str, Vec<Span>, String);

/// Reports faults in the order of statements.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found: Vec<Finding> = Vec::new();
    for body in &seen.bodies {
        for (block, _) in body.blocks() {
            if !matches!(seen.language, Language::C | Language::Cpp | Language::Rust | Language::Kotlin) {
                found.extend(unreachable(body, block, seen.text));
            }
            found.extend(block.statements.iter().flat_map(|statement| modified(seen.language, statement)));
        }
        found.extend(no_return(seen.language, body));
    }
    for (rule, places, summary) in found {
        seen.report(rule, &places, summary);
    }
}

/// Finds the first statement behind one that leaves the block.
fn unreachable(body: &Body, block: &Block, text: &str) -> Option<Finding> {
    let exit = block.statements.iter().position(|statement| statement.kind.exits())?;
    let next = block.statements.get(exit + 1)?;
    let is_empty = match next.kind {
        // A `break` behind a `return` closes a case, a definition is hoisted, a label is jumped to.
        StatementKind::Jump | StatementKind::Definition | StatementKind::Label => true,
        StatementKind::Plain
        | StatementKind::Call
        | StatementKind::Defer
        | StatementKind::If
        | StatementKind::Loop
        | StatementKind::Return
        | StatementKind::Scope
        | StatementKind::Switch
        | StatementKind::Throw
        | StatementKind::Try => {
            let spelled = next.span.of(text);
            // A declaration without a value is hoisted; `yield` makes a generator of the function; a bare `throw` or
            // `assert` tells a type checker that the place is not reached.
            let words = ["yield", "throw", "raise", "assert", "panic(", "unreachable", "exit("];
            let is_declared = spelled.starts_with("var ") && next.bind.is_none();
            is_declared || words.iter().any(|word| spelled.starts_with(word)) || spelled.len() < 2
        }
    };
    if is_empty || body.is_generator && block.statements.len() == exit + 2 {
        return None;
    }
    let summary = "code behind a statement that leaves the block never runs".to_owned();
    Some((UNREACHABLE, vec![next.span, block.statements[exit].span], summary))
}

/// Methods of JavaScript whose callback has to return something.
const ECMA_CALLEES: &[&str] = &[
    ".every",
    ".filter",
    ".find",
    ".findIndex",
    ".findLast",
    ".flatMap",
    ".map",
    ".reduce",
    ".reduceRight",
    ".some",
    ".sort",
    ".toSorted",
];
const PHP_CALLEES: &[&str] = &["array_filter", "array_map", "array_reduce", "usort"];

/// Finds a callback that returns nothing to a function that works on what it returns.
fn no_return(language: Language, body: &Body) -> Option<Finding> {
    let passed = body.passed_to.as_ref()?;
    let wants = match language {
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            is_one_of(&passed.callee, ECMA_CALLEES) && is_list_method(&passed.callee)
        }
        Language::Php => PHP_CALLEES.contains(&passed.callee.as_str()),
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Java
        | Language::Kotlin
        | Language::Python
        | Language::Ruby
        | Language::Rust => false,
    };
    let is_usual = !body.is_generator && !body.is_asynchronous && !body.block.statements.is_empty();
    if !wants || !passed.is_result_used || !is_usual {
        return None;
    }
    let blocks = body.blocks();
    let mut statements = blocks.iter().flat_map(|(block, _)| &block.statements);
    let answers = statements.any(|statement| match statement.kind {
        StatementKind::Return => !statement.returned.is_empty(),
        StatementKind::Throw => true,
        StatementKind::Plain
        | StatementKind::Call
        | StatementKind::Defer
        | StatementKind::Definition
        | StatementKind::If
        | StatementKind::Jump
        | StatementKind::Label
        | StatementKind::Loop
        | StatementKind::Scope
        | StatementKind::Switch
        | StatementKind::Try => false,
    });
    let name = last_name(&passed.callee);
    let summary = format!("the callback of `{name}` returns nothing");
    (!answers).then(|| (NO_RETURN, vec![first_line(body)], summary))
}

fn first_line(body: &Body) -> Span {
    let end = body.block.statements.first().map_or(body.span.end, |first| first.span.end);
    Span { start: body.span.start, end }
}

/// Returns whether a callee is not one of a library whose functions have the names of a list's methods.
fn is_list_method(callee: &str) -> bool {
    const OTHERS: &[&str] = &["$", "Children", "React.Children", "_", "async", "jQuery", "promise", "this"];
    let of = callee.rsplit_once('.').map_or("", |(of, _)| of);
    !OTHERS.contains(&of) && !of.starts_with("$(") && !of.ends_with("Children")
}

/// Methods that change a collection while a loop over it runs, by language.
fn changing(language: Language) -> &'static [&'static str] {
    match language {
        Language::Python => &["clear", "insert", "pop", "popitem", "remove"],
        Language::Java => &["add", "addAll", "clear", "put", "remove"],
        Language::CSharp => &["Add", "Clear", "Insert", "Remove", "RemoveAt"],
        Language::JavaScript | Language::Tsx | Language::TypeScript => &["shift", "splice", "unshift"],
        Language::C
        | Language::Cpp
        | Language::Go
        | Language::Kotlin
        | Language::Php
        | Language::Ruby
        | Language::Rust => &[],
    }
}

/// Finds changes of the collection that a loop runs over, where the loop goes on.
fn modified(language: Language, statement: &Statement) -> Vec<Finding> {
    let over = statement.over.trim_end_matches("()");
    let over = over.strip_suffix(".entries").unwrap_or(over);
    let over = over.strip_suffix(".keys").or(over.strip_suffix(".items")).unwrap_or(over);
    let is_name = over.chars().all(|sign| sign.is_alphanumeric() || "_.".contains(sign));
    if statement.kind != StatementKind::Loop || over.is_empty() || !is_name {
        return Vec::new();
    }
    let Some(body) = statement.blocks.first() else { return Vec::new() };
    let mut found = Vec::new();
    let mut pending = vec![body];
    while let Some(block) = pending.pop() {
        for (index, inside) in block.statements.iter().enumerate() {
            let goes_on =
                !block.statements[index..].iter().any(|later| later.kind.exits() && !is_continue(later));
            pending.extend(inside.blocks.iter().filter(|_| goes_on));
            let changes = inside.calls.iter().filter(|call| {
                !call.is_nested
                    && receiver(call) == over
                    && changing(language).contains(&last_name(&call.callee))
            });
            let summary = format!("`{over}` is changed while the loop runs over it");
            found.extend(
                changes
                    .filter(|_| goes_on)
                    .map(|call| (MODIFIED, vec![call.span, statement.span], summary.clone())),
            );
        }
    }
    found
}

fn is_continue(statement: &Statement) -> bool {
    statement.kind == StatementKind::Jump && statement.is_continue
}
