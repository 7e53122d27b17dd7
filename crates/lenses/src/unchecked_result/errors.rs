//! Errors that are asked for and then lost.

use super::nulls::is_error;
use super::seen::Seen;
use super::{AS_SUCCESS, ERROR_OVERWRITTEN, OTHER_ERROR};
use qa_reading::syntax::{Language, Span, has_reason};
use qa_reading::values::{Act, Body, Statement, StatementKind};

/// Reports errors that a branch asks for and does not hand on, and those that the next one replaces.
pub(super) fn inspect(seen: &mut Seen<'_>) {
    let mut found: Vec<(&'static str, Vec<Span>, String)> = Vec::new();
    for body in &seen.bodies {
        for (block, is_tried) in body.blocks() {
            for (index, statement) in block.statements.iter().enumerate() {
                found.extend(as_success(seen.language, body, statement, seen.text));
                found.extend(other_error(seen.language, statement, seen.text));
                if seen.language == Language::Go && !is_tried {
                    found.extend(overwritten(body, statement, &block.statements[index + 1..]));
                }
            }
        }
    }
    for (rule, places, summary) in found {
        seen.report(rule, &places, summary);
    }
}

/// The error that a branch of failure is about, with what the branch does.
struct Failure<'s> {
    error: &'s str,
    last: &'s Statement,
    is_used: bool,
}

fn failure(language: Language, statement: &Statement) -> Option<Failure<'_>> {
    let then = statement.blocks.first()?;
    let error = match (&statement.null_test, language) {
        (Some(test), _) if !test.is_null && test.is_whole => test.name.as_str(),
        // `if (err)`, which no test spells.
        (None, Language::JavaScript | Language::Tsx | Language::TypeScript) => {
            match statement.events.as_slice() {
                [only] if only.act == Act::Read && statement.calls.is_empty() => only.name.as_str(),
                _ => return None,
            }
        }
        _ => return None,
    };
    let is_judged = statement.kind == StatementKind::If && is_error(error);
    let last = then.statements.last().filter(|_| is_judged)?;
    let is_used = then.events().iter().any(|event| event.name == error);
    Some(Failure { error, last, is_used })
}

/// Finds a branch of failure that returns success: `if err != nil { return nil }`.
fn as_success(
    language: Language,
    body: &Body,
    statement: &Statement,
    text: &str,
) -> Option<(&'static str, Vec<Span>, String)> {
    let Failure { error, last, is_used } = failure(language, statement)?;
    let is_alone = statement.blocks.len() == 1 && statement.blocks[0].statements.len() == 1;
    if is_used || !is_alone || has_reason(statement.span.of(text)) {
        return None;
    }
    let is_success = match language {
        Language::Go => {
            let is_fallible = body.result.trim_end_matches(')').ends_with("error");
            last.kind == StatementKind::Return
                && is_fallible
                && last.returned.last().is_some_and(|value| value == "nil")
        }
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Java
        | Language::JavaScript
        | Language::Kotlin
        | Language::Php
        | Language::Python
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::TypeScript => is_callback_without_error(last),
    };
    let summary = format!("`{error}` is an error here, and the caller is told of none");
    is_success.then(|| (AS_SUCCESS, vec![last.span, statement.span], summary))
}

/// Returns whether a statement calls back as if nothing had failed: `callback(null, x)`.
fn is_callback_without_error(statement: &Statement) -> bool {
    const CALLBACKS: &[&str] = &["callback", "cb", "done", "next"];
    let calls = statement.calls.iter();
    let mut callbacks = calls.filter(|call| CALLBACKS.contains(&call.callee.as_str()));
    callbacks.next().is_some_and(|call| call.arguments.first().is_some_and(|first| first == "null"))
}

/// Finds a branch about one error that returns another one.
fn other_error(
    language: Language,
    statement: &Statement,
    text: &str,
) -> Option<(&'static str, Vec<Span>, String)> {
    let Failure { error, last, is_used } = failure(language, statement)?;
    if is_used || statement.blocks[0].statements.len() != 1 || has_reason(statement.span.of(text)) {
        return None;
    }
    let handed_on: Option<&str> = match last.kind {
        StatementKind::Return if language == Language::Go => last.returned.last().map(String::as_str),
        StatementKind::Throw => last.events.first().map(|event| event.name.as_str()),
        StatementKind::Plain
        | StatementKind::Call
        | StatementKind::Defer
        | StatementKind::Definition
        | StatementKind::If
        | StatementKind::Jump
        | StatementKind::Label
        | StatementKind::Loop
        | StatementKind::Return
        | StatementKind::Scope
        | StatementKind::Switch
        | StatementKind::Try => {
            let call = last
                .calls
                .iter()
                .find(|call| matches!(call.callee.as_str(), "callback" | "cb" | "done" | "next" | "reject"));
            call.and_then(|call| call.arguments.first()).map(String::as_str)
        }
    };
    let other = handed_on.filter(|other| is_error(other) && *other != error)?;
    // Errors of a package, such as `ErrClosed`, and its variables begin otherwise.
    if other.starts_with(char::is_uppercase)
        || other.starts_with("err") && other.len() > 4 && !other.ends_with("Err")
    {
        return None;
    }
    let summary = format!("`{error}` is checked, and `{other}` is returned");
    Some((OTHER_ERROR, vec![last.span, statement.span], summary))
}

/// Finds an error that the next statement to name it replaces.
fn overwritten(
    body: &Body,
    statement: &Statement,
    after: &[Statement],
) -> Option<(&'static str, Vec<Span>, String)> {
    let bind = statement.bind.as_ref().filter(|_| statement.kind == StatementKind::Plain)?;
    let error = bind.targets.last().filter(|error| is_error(&error.name) && !bind.callee.is_empty())?;
    let is_captured = body.events().iter().any(|event| event.name == error.name && event.is_nested);
    let next = after.iter().find(|later| later.all_events().iter().any(|event| event.name == error.name))?;
    let later = next.bind.as_ref().filter(|_| matches!(next.kind, StatementKind::Plain))?;
    let target = later.targets.iter().find(|target| target.name == error.name)?;
    let uses = next.events.iter().filter(|event| event.name == error.name && event.act != Act::Written);
    let is_lost = !is_captured && uses.count() == 0 && !later.is_compound;
    let summary = format!("`{}` is overwritten before it is checked", error.name);
    is_lost.then(|| (ERROR_OVERWRITTEN, vec![error.span, target.span], summary))
}
