//! Expected values that are made by the very expression that they are compared with.

use super::WEAKENED;
use super::assertions::has;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::{Check, Demand, Function};

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
    let is_call = value_of(function, one).contains('(');
    check.demand >= Demand::Size
        && one != other
        && is_call
        && value_of(function, one) == value_of(function, other)
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
