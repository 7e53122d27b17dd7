//! Expected values that are made by the very expression that they are compared with.

use super::WEAKENED;
use super::assertions::has;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Check, Demand, Function, Span};

/// Reports an assertion that compares a value with the expression that it comes from, where the base compared it with
/// something else.
pub(super) fn inspect(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let mut same = head.checks().iter().filter(|check| compares_same(head, check));
    let check = same.find(|check| {
        let mut before = base.checks().iter().filter(|old| {
            let is_gone = old.text == check.text || !has(head, old);
            let is_about = old.subjects.iter().any(|subject| is_of(head, check, subject));
            is_gone && is_about && old.demand >= Demand::Size
        });
        before.any(|old| !compares_same(base, old)) && !has_same(base, check)
    })?;
    let summary = "the expected value is made from the actual one";
    let place = compared.at_head(WEAKENED, check.span, summary);
    place.or_else(|| compared.at_head(WEAKENED, head.span, summary))
}

/// Returns whether an assertion compares two names of one expression, or one with the expression itself.
fn compares_same(function: &Function<'_>, check: &Check) -> bool {
    let [one, other] = check.subjects.as_slice() else { return false };
    let [own, expected] = [one, other].map(|side| expanded(function, side));
    let is_copied = without_copies(one) == without_copies(other);
    check.demand >= Demand::Size && one != other && (own.contains('(') && own == expected || is_copied)
}

/// Returns an expression with its first name replaced by the value that the name is given.
fn expanded(function: &Function<'_>, expression: &str) -> String {
    let value = value_of(function, expression);
    let first = root(value);
    match function.facts().values.get(first).and_then(Option::as_deref) {
        Some(given) if value.starts_with(first) => format!("{given}{}", &value[first.len()..]),
        Some(_) | None => value.to_owned(),
    }
}

/// Returns the first name of an expression.
pub(super) fn root(expression: &str) -> &str {
    let mut names = expression.split(|sign| !joins(sign));
    names
        .find(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        .unwrap_or(expression)
}

/// Returns an expression without brackets and the calls that make a copy.
fn without_copies(expression: &str) -> String {
    const METHODS: &[&str] = &[".clone()", ".copy()", ".dup", "..."];
    const FUNCTIONS: &[&str] = &[
        "JSON.parse",
        "JSON.stringify",
        "copy.copy",
        "copy.deepcopy",
        "deepcopy",
        "copy",
        "dict",
        "list",
        "sorted",
        "structuredClone",
    ];
    let mut text = METHODS.iter().fold(expression.to_owned(), |text, method| text.replace(method, ""));
    for copy in FUNCTIONS {
        // From the last on, so that the places before stay where they are.
        let found: Vec<Span> = places(&text, copy).collect();
        found.iter().rev().for_each(|place| text.replace_range(place.start..place.end, ""));
    }
    text.retain(|sign| !matches!(sign, '(' | ')' | '[' | ']' | '{' | '}' | ' '));
    text
}

/// Reports a test whose subject is given what it asserts about, where the code under test gave it at the base.
pub(super) fn given(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    const STAND_INS: &[&str] = &[
        "AsyncMock(",
        "MagicMock(",
        "Mock(",
        "Mockito.mock(",
        "SimpleNamespace(",
        "double(",
        "instance_double(",
        "jest.fn(",
        "mock(",
        "mock.MagicMock(",
        "mock.Mock(",
        "sinon.stub(",
        "types.SimpleNamespace(",
        "vi.fn(",
    ];
    let Pair { base, head } = pair;
    let mut kept = head.checks().iter().filter(|check| has(base, check));
    let check = kept.find(|check| {
        let [subject] = check.subjects.as_slice() else { return false };
        let name = root(subject);
        let [older, newer] = [base, head].map(|function| &function.facts().values);
        let Some(Some(before)) = older.get(name) else { return false };
        let is_set = subject != name && newer.contains_key(subject) && !older.contains_key(subject);
        let text = head.span.of(compared.head.text);
        let mut given = STAND_INS.iter().map(|stand_in| format!("{name} = {stand_in}"));
        let is_given = given.any(|given| text.contains(&given)) || is_set;
        before.contains('(') && !STAND_INS.iter().any(|name| before.starts_with(name)) && is_given
    })?;
    let summary = "the test itself gives the value that the assertion is about";
    let place = compared.at_head(WEAKENED, check.span, summary);
    place.or_else(|| compared.at_head(WEAKENED, head.span, summary))
}

/// Returns whether a function compares the same at the base in words of its own.
fn has_same(base: &Function<'_>, check: &Check) -> bool {
    let mut same = base.checks().iter().filter(|old| old.text == check.text);
    same.any(|old| compares_same(base, old))
}

/// Returns whether an assertion is about an expression, by one of its names.
fn is_of(function: &Function<'_>, check: &Check, subject: &str) -> bool {
    let value = value_of(function, subject);
    check.subjects.iter().any(|own| own == subject || value_of(function, own) == value)
}

/// Returns the value of a name that is given one, or the expression itself.
fn value_of<'f>(function: &'f Function<'_>, expression: &'f str) -> &'f str {
    let value = function.facts().values.get(expression).and_then(Option::as_deref);
    value.unwrap_or(expression)
}
