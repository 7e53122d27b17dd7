//! Assertions of the base that run only where they hold, or never.

use std::collections::BTreeSet;

use super::assertions::{always_holds, has};
use super::compared::{Compared, Pair};
use super::expected::root;
use super::{WEAKENED, helpers};
use crate::contract::Draft;
use qa_reading::names::places;
use qa_reading::syntax::{Check, Demand, Function, Guard};

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
