//! Checks that find nothing any more, since a step before them puts right or takes away what they look for, or none makes
//! it.

use super::commands::Effect;
use super::differences::{looks_at_differences, takes_away, tested_listing};
use super::names::{DIFFERENCES, is_harmless};
use super::tree::{Check, PlacedMark, Runner};
use super::writers::{forestalls, only_writes, repairs_before_it_judges};

/// Finds the formatters that write where nothing looks at differences, and marks the checks that find nothing or less.
/// What a hook runs puts right what is committed, and counts as it is.
pub(super) fn find(checks: &mut [Check]) {
    let looking = checks.iter().filter(|check| looks_at_differences(&check.text));
    let looking: Vec<Check> = looking.cloned().collect();
    for check in checks.iter_mut().filter(|check| check.runner != Runner::Hook) {
        if looking.iter().any(|look| look.may_follow(check)) {
            continue;
        }
        check.only_writes = only_writes(tested_listing(&check.text).unwrap_or(&check.text));
        let place = check.places.first().filter(|_| repairs_before_it_judges(&check.text));
        let mark = place.cloned().map(|place| PlacedMark { effect: Effect::Repaired, place });
        check.marks.extend(mark);
    }
    for position in 0..checks.len() {
        let own = &checks[position];
        let before: Vec<&Check> = checks[..position].iter().filter(|other| other.is_with(own)).collect();
        let mark =
            if own.checks.contains(DIFFERENCES) { mark_of_look(own, &before) } else { mark_of(own, &before) };
        checks[position].marks.extend(mark);
    }
}

/// Returns the mark of a check that a command before it forestalls.
fn mark_of(own: &Check, before: &[&Check]) -> Option<PlacedMark> {
    let checking = tested_listing(&own.text).unwrap_or(&own.text);
    let is_never = |other: &Check| other.effect() == Some(Effect::Never);
    let mut writers = before.iter().filter(|other| other.runner != Runner::Hook && !is_never(other));
    let writer = writers.find(|other| {
        other.directory == own.directory && forestalls(&other.text, other.is_lost(), checking)
    })?;
    let place = writer.places.first().cloned()?;
    Some(PlacedMark { effect: Effect::Forestalled, place })
}

/// Returns the mark of a look at differences that finds none: they are taken away before it, or nothing makes any.
fn mark_of_look(own: &Check, before: &[&Check]) -> Option<PlacedMark> {
    let makes = |other: &Check| {
        !other.does_nothing
            && !is_harmless(&other.text)
            && !other.is_check()
            && !other.text.starts_with("git ")
    };
    // Checks make no differences as a rule; where nothing else comes before, they may.
    let last = before.iter().rev().take_while(|other| !makes(other));
    let mut taking = last.filter(|other| takes_away(&other.text, &own.text));
    if let Some(place) = taking.next().and_then(|other| other.places.first()) {
        return Some(PlacedMark { effect: Effect::Forestalled, place: place.clone() });
    }
    let is_maker = |other: &Check| makes(other) || other.is_check() && !other.checks.contains(DIFFERENCES);
    // What made them stood before, where something else may stand now.
    let near = before.last().copied().unwrap_or(own);
    let place = near.places.first().filter(|_| !before.iter().any(|other| is_maker(other)))?;
    Some(PlacedMark { effect: Effect::Baseless, place: place.clone() })
}
