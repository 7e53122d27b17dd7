//! Assertions of the base that run only where they hold, or never.

use std::collections::BTreeSet;

use super::assertions::{always_holds, has};
use super::compared::{Compared, Pair};
use super::expected::root;
use super::{WEAKENED, helpers};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_reading::names::places;
use qa_reading::syntax::{Check, Demand, Function, Guard, Span};

/// Begins of conditions on the kind of a value.
const KINDS: &[&str] = &["hasattr(", "isinstance("];

/// Reports a condition by which a test leaves out an assertion of the base where it would fail.
pub(super) fn inspect(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let guards = head.facts().guards.iter();
    let mut guards = guards.filter(|guard| compared.head.touches(guard.condition));
    let guard = guards.find(|guard| {
        let mut kept = head.checks().iter().filter(|check| has(base, check));
        let leaves_out = kept.any(|check| decides(guard, check) && !is_guarded(base, check));
        // A test of which no assertion is left is one for `test-weakening`.
        let mut others = head.checks().iter().filter(|check| !always_holds(check));
        leaves_out && (!guard.is_dead || others.any(|check| !is_inside(guard, check)))
    })?;
    if guard.is_dead && helpers::asserts_for_others(compared, pair) {
        return None;
    }
    let summary = match guard.is_dead {
        true => "assertion stands in code that never runs",
        false => "assertion runs only where it holds",
    };
    compared.at_head(WEAKENED, guard.condition, summary)
}

/// Calls that run what they are given only where there is a value, with what they are called on.
static IF_THERE: Pattern =
    Pattern::new(r"([\w.()$>-]+?)(?:\.ifPresent\(|\?\.(?:also|apply|let|run)\b|&\.(?:tap|then)\b)");
/// Assertion in what such a call is given.
static ASSERTS: Pattern = Pattern::new(r"(?i)\b(?:assert|expect|should|must_)");
/// Words by which a test may fail without a value, or note that there was one. A test with any of them is left alone.
static FAILS: Pattern =
    Pattern::new(r"(?i)\bfail|\bflunk|\?:|\|\||\berror\(|\bthrow\b|\braise\b|\+\+|\.set\(|=\s*true\b|\+= 1");
/// Words of a line that says that a value is there.
static THERE: Pattern = Pattern::new(r"(?i)present|null|nil\b|none\b|empty|exist|defined");

/// Reports a call that runs an assertion only where the value is there that the base asserted about.
pub(super) fn if_there(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let text = head.span.of(compared.head.text);
    if FAILS.is_match(text) {
        return None;
    }
    let found = IF_THERE.captures_all(text);
    let mut calls = found.iter().filter_map(|groups| Some((groups.get(0)?, groups.get(1)?)));
    let gone: Vec<&Check> = base.checks().iter().filter(|check| !has(head, check)).collect();
    let older = base.span.of(compared.base.text);
    let (call, _) = calls.find(|(call, on)| {
        let on = on.as_str();
        let is_about = |check: &&Check| check.subjects.iter().any(|subject| root(subject) == root(on));
        let inside = block(&text[call.end() - 1..]);
        let place = head.span.start + call.end();
        let is_outside = |check: &&Check| check.span.end <= place || place + inside.len() <= check.span.start;
        // Another assertion may say that the value is there.
        let mut others = head.checks().iter().filter(is_outside).flat_map(|check| &check.subjects);
        let mut above = text[..call.start()].lines();
        ASSERTS.is_match(inside)
            && !older.contains(call.as_str())
            && gone.iter().any(is_about)
            && !others.any(|subject| subject.starts_with(on))
            && !above.any(|line| THERE.is_match(line) && places(line, root(on)).next().is_some())
            && !names_value(text, call.start())
    })?;
    let start = head.span.start + call.start();
    let place = Span { start, end: start + call.as_str().len() };
    compared.at_head(WEAKENED, place, "assertion runs only where the value is there")
}

/// Returns what stands in the first brackets of a text.
fn block(text: &str) -> &str {
    let Some(start) = text.find(['{', '(']) else { return "" };
    let mut depth = 0_usize;
    for (at, sign) in text[start..].char_indices() {
        match sign {
            '{' | '(' => depth += 1,
            '}' | ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return &text[start..start + at];
                }
            }
            _ => {}
        }
    }
    &text[start..]
}

/// Returns whether the line up to a place gives a name what the call makes.
fn names_value(text: &str, at: usize) -> bool {
    text[..at].rsplit('\n').next().unwrap_or_default().contains('=')
}

/// Returns whether an assertion never runs behind a condition, or runs by what the condition says of the same expressions.
fn decides(guard: &Guard, check: &Check) -> bool {
    let [condition, asserted] =
        [&guard.subjects, &check.subjects].map(|subjects| subjects.iter().collect::<BTreeSet<_>>());
    let is_alike = !guard.is_bare || check.demand == Demand::Exists;
    // What kind of thing it is, or whether it has the member at all, is a part of what the assertion says.
    let mut kinds = guard.subjects.iter().filter(|own| KINDS.iter().any(|kind| own.starts_with(kind)));
    let is_of_kind =
        kinds.any(|kind| check.subjects.iter().any(|subject| places(kind, root(subject)).next().is_some()));
    is_inside(guard, check)
        && (guard.is_dead || is_of_kind || is_alike && !condition.is_empty() && condition == asserted)
}

pub(super) fn is_inside(guard: &Guard, check: &Check) -> bool {
    guard.place.start <= check.span.start && check.span.end <= guard.place.end
}

fn is_guarded(base: &Function<'_>, check: &Check) -> bool {
    let mut same = base.checks().iter().filter(|other| other.text == check.text);
    same.any(|same| base.facts().guards.iter().any(|guard| decides(guard, same)))
}
