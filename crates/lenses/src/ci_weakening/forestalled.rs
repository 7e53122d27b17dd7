//! Checks that find nothing any more, since a step before them puts right or takes away what they look for, or none makes
//! it.

use std::collections::BTreeMap;

use super::commands::Effect;
use super::differences::{looks_at_differences, only_shows, takes_away, tested_listing};
use super::names::{DIFFERENCES, is_harmless};
use super::tree::{Check, Job, PlacedMark, Runner};
use super::writers::{forestalls, only_writes, repairs_before_it_judges, without_check, writes};

/// Most formatters of a job, and most looks at differences, that are held against a command.
const MOST: usize = 64;

/// The commands of a job so far, by position.
#[derive(Default)]
struct Before {
    /// Formatters and linters that write.
    writers: Vec<usize>,
    /// Those that may make differences, and checks, which may where nothing else comes before.
    makers: Vec<usize>,
    checks: Vec<usize>,
    by_text: BTreeMap<String, usize>,
    /// The last one that takes all differences away, and the last that stages them.
    taken: Option<usize>,
    staged: Option<usize>,
    last: Option<usize>,
}

/// Finds the formatters that write where nothing looks at differences, and marks the checks that find nothing or less. A
/// hook puts right what is committed, and counts as it is. Returns whether each check was held against all formatters
/// before it.
pub(super) fn find(checks: &mut [Check]) -> bool {
    let looking = checks.iter().filter(|check| looks_at_differences(&check.text) && !only_shows(&check.text));
    let looking: Vec<Check> = looking.take(MOST).cloned().collect();
    for check in checks.iter_mut().filter(|check| check.runner != Runner::Hook) {
        let listing = tested_listing(&check.text).unwrap_or(&check.text);
        let mut looks = looking.iter().filter(|look| look.effect().is_none() && !look.text.contains(" -- "));
        if looks.any(|look| look.may_follow(check)) {
            check.marks.retain(|mark| mark.effect != Effect::Repaired);
        }
        if looking.iter().any(|look| look.may_follow(check)) || !writes(listing) {
            continue;
        }
        check.only_writes = only_writes(listing);
        let place = check.places.first().filter(|_| repairs_before_it_judges(&check.text));
        let mark = place.cloned().map(|place| PlacedMark { effect: Effect::Repaired, place });
        check.marks.extend(mark);
    }
    let mut jobs: BTreeMap<Job, Before> = BTreeMap::new();
    for position in 0..checks.len() {
        let own = &checks[position];
        let before = jobs.entry(own.job()).or_default();
        let mark = match own.checks.contains(DIFFERENCES) {
            true => mark_of_look(own, before, checks),
            false => mark_of(own, before, checks),
        };
        before.note(own, position);
        checks[position].marks.extend(mark);
    }
    jobs.values().all(|before| before.writers.len() <= MOST)
}

impl Before {
    fn note(&mut self, own: &Check, position: usize) {
        if own.runner != Runner::Hook && own.effect() != Some(Effect::Never) {
            let may_write = writes(tested_listing(&own.text).unwrap_or(&own.text));
            let is_new = !self.by_text.contains_key(&own.text);
            self.writers.extend(Some(position).filter(|_| may_write && is_new && self.writers.len() <= MOST));
            self.by_text.entry(own.text.clone()).or_insert(position);
        }
        if takes_away(&own.text, "git diff HEAD") {
            self.taken = Some(position);
        } else if takes_away(&own.text, "git diff") {
            self.staged = Some(position);
        }
        match makes(own) {
            true => self.makers.push(position),
            false if own.is_check() && !own.checks.contains(DIFFERENCES) => self.checks.push(position),
            false => {}
        }
        self.last = Some(position);
    }
}

fn makes(check: &Check) -> bool {
    !check.does_nothing && !is_harmless(&check.text) && !check.is_check() && !check.text.starts_with("git ")
}

/// Returns the mark of a check that a command before it forestalls.
fn mark_of(own: &Check, before: &Before, checks: &[Check]) -> Option<PlacedMark> {
    let checking = tested_listing(&own.text).unwrap_or(&own.text);
    let same = without_check(checking).and_then(|text| before.by_text.get(&text));
    let writers = same.into_iter().chain(&before.writers).map(|position| &checks[*position]);
    let mut writers = writers.filter(|other| other.directory == own.directory && other.is_with(own));
    let writer = writers.find(|other| {
        without_check(checking).as_deref() == Some(other.text.as_str())
            || forestalls(&other.text, other.is_lost(), checking)
    })?;
    let place = writer.places.first().cloned()?;
    Some(PlacedMark { effect: Effect::Forestalled, place })
}

/// Returns the mark of a look at differences that finds none: they are taken away before it, or nothing makes any.
fn mark_of_look(own: &Check, before: &Before, checks: &[Check]) -> Option<PlacedMark> {
    let last = before.makers.iter().rev().find(|position| checks[**position].is_with(own));
    // Checks make no differences as a rule; where nothing else comes before, they may.
    let since = [before.taken, before.staged].into_iter().flatten();
    let since = since.filter(|position| last.is_none_or(|last| last < position));
    let mut taking =
        since.map(|position| &checks[position]).filter(|other| takes_away(&other.text, &own.text));
    if let Some(place) = taking.next().and_then(|other| other.places.first()) {
        return Some(PlacedMark { effect: Effect::Forestalled, place: place.clone() });
    }
    if last.is_some() || before.checks.iter().any(|position| checks[*position].is_with(own)) {
        return None;
    }
    // What made them stood before, where something else may stand now.
    let near = before.last.map(|position| &checks[position]).filter(|near| near.is_with(own)).unwrap_or(own);
    Some(PlacedMark { effect: Effect::Baseless, place: near.places.first()?.clone() })
}
