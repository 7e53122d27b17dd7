//! Functions that run later than they seem to: closures over loop variables, and promises that nothing awaits.

use std::sync::LazyLock;

use regex::Regex;

use super::asynchronous::{async_argument, head};
use super::rules;
use super::site::{Check, Found, Site};
use qa_reading::expressions::{Expression, Form};
use qa_reading::syntax::{Language, Span};

pub(super) const CAPTURED: Check = Check::new(
    rules::CAPTURED_VARIABLE,
    "function runs later, when the variable has the value of the last turn",
    captured,
);
pub(super) const CONDITION: Check =
    Check::new(rules::ASYNC_PREDICATE, "a promise is always true; nothing waits for it", condition);
pub(super) const DROPPED: Check =
    Check::new(rules::DROPPED_PROMISE, "asynchronous function is called, and nothing waits for it", dropped);
pub(super) const NEVER_RUN: Check =
    Check::new(rules::DROPPED_PROMISE, "future is dropped, so that the function never runs", never_run);
pub(super) const REDUCED: Check = Check::new(
    rules::PROMISES_AS_VALUES,
    "the callback gets a promise for the value so far, and does not wait for it",
    reduced,
)
.of_calls(&["reduce"]);
pub(super) const MAPPED: Check =
    Check::new(rules::PROMISES_AS_VALUES, "list of promises is used as a list of values", mapped);

/// Calls that store a function for later.
const KEEPS: &[&str] = &[
    "Thread",
    "Timer",
    "add_callback",
    "add_done_callback",
    "add_listener",
    "addEventListener",
    "addListener",
    "after",
    "append",
    "bind",
    "call_later",
    "call_soon",
    "connect",
    "on",
    "once",
    "push",
    "register",
    "schedule",
    "setImmediate",
    "setInterval",
    "setTimeout",
    "submit",
    "subscribe",
    "then",
];

fn captured(site: &Site<'_>) -> Found {
    let is_judged =
        site.language() == Language::Python && site.expression.kind() == "lambda" || site.is_ecma();
    let Some(around) = site.expression.repeating_loop().filter(|_| is_judged) else { return Vec::new() };
    if around.kind() != "for_statement" {
        return Vec::new();
    }
    let variables: Vec<&str> = if site.is_ecma() {
        let Some((initial, _, _)) = around.counted() else { return Vec::new() };
        let tokens = initial.tokens();
        if tokens.first() != Some(&"var") { Vec::new() } else { tokens.get(1).copied().into_iter().collect() }
    } else {
        around.target().map(Expression::tokens).unwrap_or_default()
    };
    let parameters = site.expression.parameters();
    let Some(body) = site.expression.body() else { return Vec::new() };
    let words = body.tokens();
    let uses = variables.iter().any(|name| words.contains(name) && !parameters.contains(name));
    if !uses || !is_kept(site.expression) {
        return Vec::new();
    }
    vec![site.expression.span()]
}

/// Returns whether a function is an argument of a call that stores it.
fn is_kept(function: Expression<'_>) -> bool {
    for around in function.ancestors().take(4) {
        if let Form::Call { name, .. } = around.form() {
            return KEEPS.contains(&name) && around.is_dropped();
        }
    }
    false
}

/// Returns whether a file defines a function of a name, and only asynchronous ones.
fn is_async(site: &Site<'_>, name: &str) -> bool {
    let definitions = site.expression.definitions(name);
    !definitions.is_empty() && definitions.iter().all(|definition| definition.is_async())
}

fn condition(site: &Site<'_>) -> Found {
    let Form::Call { object: None, name, is_new: false } = site.form else { return Vec::new() };
    let is_judged = (site.is_ecma() || site.language() == Language::Python) && site.expression.is_condition();
    site.if_true(is_judged && is_async(site, name))
}

/// Words of a comment that explains why nothing waits.
static MEANT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)//.*(?:await|background|wait|forget|async|promise)").expect("a valid pattern")
});

fn dropped(site: &Site<'_>) -> Found {
    let Form::Call { object, name, is_new: false } = site.form else { return Vec::new() };
    let is_judged = match (site.language(), object) {
        (Language::JavaScript | Language::Tsx | Language::TypeScript, None) => {
            site.expression.is_dropped() && is_async(site, name)
        }
        (Language::CSharp, Some(_)) => name.ends_with("Async") && site.expression.is_dropped(),
        _ => false,
    };
    if !is_judged || !site.expression.function().is_some_and(Expression::is_async) {
        return Vec::new();
    }
    let (text, span) = (site.expression.file(), site.expression.span());
    let before = text.get(..span.start).unwrap_or_default();
    let above: Vec<&str> = before.rsplit('\n').take(2).collect();
    let line = text.get(span.end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let is_explained = above.into_iter().chain([line]).any(|line| MEANT.is_match(line));
    site.if_true(!is_explained)
}

fn never_run(site: &Site<'_>) -> Found {
    let Form::Declare { target, value } = site.form else { return Vec::new() };
    let Form::Call { object: None, name, .. } = value.form() else { return Vec::new() };
    let is_blank = site.language() == Language::Rust && target.source() == "_";
    site.if_true(is_blank && is_async(site, name))
}

fn reduced(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(_), .. } = site.form else { return Vec::new() };
    let Some(callback) = async_argument(site.expression).filter(|_| site.is_ecma()) else {
        return Vec::new();
    };
    let [sum, ..] = callback.parameters()[..] else { return Vec::new() };
    let words = callback.tokens();
    let waits = words.windows(2).any(|pair| pair == ["await", sum])
        || words.windows(3).any(|three| three == [sum, ".", "then"]);
    let uses = words.iter().filter(|word| **word == sum).count() > 1;
    if waits || !uses {
        return Vec::new();
    }
    head(callback)
}

/// Members that use the entries of a list at once.
const ENTRIES: &[&str] =
    &[".at(", ".every(", ".filter(", ".find(", ".join(", ".map(", ".reduce(", ".some(", ".sort(", "["];

fn mapped(site: &Site<'_>) -> Found {
    let Form::Declare { target, value } = site.form else { return Vec::new() };
    let (Form::Name(name), Form::Call { object: Some(_), name: "map", .. }) = (target.form(), value.form())
    else {
        return Vec::new();
    };
    let Some(callback) = async_argument(value).filter(|_| site.is_ecma()) else { return Vec::new() };
    let Some(function) = site.expression.function() else { return Vec::new() };
    let rest =
        site.expression.file().get(site.expression.span().end..function.span().end).unwrap_or_default();
    let uses: Vec<&str> = rest
        .match_indices(name)
        .filter(|(at, _)| !rest[..*at].ends_with(|last: char| last.is_alphanumeric() || "_$.".contains(last)))
        .map(|(at, _)| &rest[at + name.len()..])
        .filter(|behind| !behind.starts_with(|next: char| next.is_alphanumeric() || "_$".contains(next)))
        .collect();
    let are_values =
        !uses.is_empty() && uses.iter().all(|behind| ENTRIES.iter().any(|member| behind.starts_with(member)));
    let waits = ["await", ".then(", "Promise."].iter().any(|word| rest.contains(word));
    if !are_values || waits {
        return Vec::new();
    }
    vec![Span {
        start: value.span().start,
        end: callback.body().map_or(value.span().end, |body| body.span().start),
    }]
}
