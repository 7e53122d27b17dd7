//! Compares the checks that run at the base and at head: which are gone, and which no longer count.

use std::collections::BTreeMap;

use super::commands::Effect;
use super::differences::{
    is_about_lock, is_same_work, is_staged, judges_differences, left_out, may_judge_differences,
};
use super::files::Kind;
use super::names::{DIFFERENCES, UPLOAD, is_harmless};
use super::tree::{Check, PlacedMark, Runner};
use super::writers::{only_writes, without_check};
use crate::selection::Selection;
use crate::successors;

/// A check that is weaker at head.
#[derive(Debug, Clone)]
pub(super) enum Weakening<'c> {
    /// No command does its work any more.
    Removed(&'c Check),
    /// The command runs, and its failure counts for less; the marks are those that make it so.
    Softened { head: &'c Check, marks: Vec<&'c PlacedMark> },
    /// The command runs and looks at less, by these words.
    Narrowed { base: &'c Check, head: &'c Check, words: Vec<String> },
    /// The command runs in another directory.
    Moved { base: &'c Check, head: &'c Check },
    /// A command that does nothing stands in its place.
    Replaced { head: &'c Check },
}

/// Pairs of commands that are the same at the base and at head.
#[derive(Debug)]
pub(super) struct Comparison<'c> {
    base: &'c [Check],
    head: &'c [Check],
    /// Position at head for each command at the base.
    partners: Vec<Option<usize>>,
    is_paired: Vec<bool>,
}

/// The surroundings that two commands of one text share, closest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Closeness {
    UnitAndEffect,
    Unit,
    Effect,
    Text,
}

impl Closeness {
    /// Returns whether two commands of one text are this close.
    fn is_between(self, old: &Check, new: &Check) -> bool {
        if !is_as_certain(old, new) {
            return false;
        }
        let same_unit = old.unit == new.unit && old.runner == new.runner && is_reached_as_often(old, new);
        let same_unit = same_unit && old.directory == new.directory;
        let same_effect = old.effect() == new.effect();
        match self {
            Self::UnitAndEffect => same_unit && same_effect,
            Self::Unit => same_unit,
            Self::Effect => may_replace(old, new) && same_effect && old.directory == new.directory,
            // A command that moves to another file and is softened there counts as removed.
            Self::Text => {
                may_replace(old, new) && (new.effect() <= old.effect() || old.unit.file == new.unit.file)
            }
        }
    }
}

impl<'c> Comparison<'c> {
    pub(super) fn new(base: &'c [Check], head: &'c [Check]) -> Self {
        let mut comparison =
            Self { base, head, partners: vec![None; base.len()], is_paired: vec![false; head.len()] };
        for closeness in [Closeness::UnitAndEffect, Closeness::Unit, Closeness::Effect, Closeness::Text] {
            comparison.pair(closeness);
        }
        comparison
    }

    fn pair(&mut self, closeness: Closeness) {
        let mut by_text: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (position, check) in self.head.iter().enumerate() {
            if !self.is_paired[position] {
                by_text.entry(&check.text).or_default().push(position);
            }
        }
        for (position, old) in self.base.iter().enumerate() {
            if self.partners[position].is_some() {
                continue;
            }
            let Some(candidates) = by_text.get_mut(old.text.as_str()) else { continue };
            let partner = candidates.iter().position(|at| closeness.is_between(old, &self.head[*at]));
            if let Some(partner) = partner {
                let at = candidates.remove(partner);
                self.partners[position] = Some(at);
                self.is_paired[at] = true;
            }
        }
    }

    /// Commands at head with those at the base that they are the same as.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&'c Check, &'c Check)> + '_ {
        let pairs = self.partners.iter().enumerate();
        pairs.filter_map(|(position, at)| Some((&self.base[position], &self.head[(*at)?])))
    }

    /// Lists what is weaker at head.
    pub(super) fn weakenings(&self) -> Vec<Weakening<'c>> {
        let mut found = Vec::new();
        for (old, new) in self.pairs() {
            found.extend(softened(old.effect(), new).filter(|_| new.is_lost() || !is_in_session(old, new)));
            let is_check = old.is_check() && old.runner == Runner::Ci;
            if !is_check || old.is_lost() {
                continue;
            }
            if !is_within(&old.directory, &new.directory) {
                found.push(Weakening::Moved { base: old, head: new });
            }
            // Variables may choose what the same words look at.
            let words = old.selection.narrowed_by(&new.selection);
            if !words.is_empty() {
                found.push(Weakening::Narrowed { base: old, head: new, words });
            }
        }
        let come: Vec<&'c Check> = unpaired(self.head, |at| self.is_paired[at]);
        let gone: Vec<&'c Check> = unpaired(self.base, |at| self.partners[at].is_some());
        found.extend(gone.iter().filter_map(|old| self.successor(old, &come)));
        found
    }

    /// Returns how the commands that take the place of another one look at less than it, where none looks at all of it.
    fn narrowed(&self, old: &'c Check, strict: &[&'c Check]) -> Option<Weakening<'c>> {
        // The same differences may be looked for in many words.
        if old.checks.contains(DIFFERENCES) {
            let looks = strict.iter().filter(|new| new.unit == old.unit && judges_differences(&new.text));
            let mut looks = looks.map(|head| (head, self.left_out(old, head)));
            let (head, words) = looks.next().filter(|_| looks.next().is_none())?;
            return (!words.is_empty()).then_some(Weakening::Narrowed { base: old, head, words });
        }
        let mut weakest: Option<Weakening<'c>> = None;
        let has_same_tool = strict.iter().any(|new| new.selection.tool() == old.selection.tool());
        let own = strict.iter().filter(|new| !has_same_tool || new.selection.tool() == old.selection.tool());
        let together: Vec<&Selection> =
            own.clone().filter(|new| new.directory == old.directory).map(|new| &new.selection).collect();
        if old.selection.is_split_among(&together) {
            return None;
        }
        for new in own {
            let mut words = old.selection.narrowed_by(&new.selection);
            // Where differences are looked at, writing is as good as checking.
            let is_looked_at = only_writes(&new.text) && self.is_looked_at(new);
            words.retain(|word| !is_looked_at || !word.starts_with("without -"));
            // Another command may cover what this one leaves out.
            words.retain(|word| {
                let mut others = self.head.iter().filter(|other| is_as_strong(old, other));
                !(new.selection.leaves_out(word) && others.any(|other| other.selection.makes_up_for(word)))
            });
            let is_moved = !is_within(&old.directory, &new.directory);
            if words.is_empty() && !is_moved {
                return None;
            }
            let weakening = match words.is_empty() {
                true => Weakening::Moved { base: old, head: new },
                false => Weakening::Narrowed { base: old, head: new, words },
            };
            weakest.get_or_insert(weakening);
        }
        weakest
    }

    /// Returns whether a check may take the place of another one, where that looks at differences: it does so behind the
    /// same steps, or checks what one of them made.
    fn is_same_look(&self, old: &Check, new: &Check) -> bool {
        if !old.checks.contains(DIFFERENCES) || new.unit == old.unit && may_judge_differences(&new.text) {
            return true;
        }
        let mut makers = before(self.base, old).filter(|maker| !is_harmless(&maker.text));
        match may_judge_differences(&new.text) {
            true => makers.any(|maker| before(self.head, new).any(|other| other.text == maker.text)),
            false => {
                is_about_lock(&old.text) && is_about_lock(&new.text)
                    || makers.any(|maker| is_same_work(&maker.text, &new.text))
            }
        }
    }

    /// Returns whether the job of a formatter fails by the differences that it makes.
    fn is_looked_at(&self, writer: &Check) -> bool {
        let later = self.head.iter().skip_while(|other| !std::ptr::eq(*other, writer));
        let mut looks = later.filter(|look| look.checks.contains(DIFFERENCES) && look.effect().is_none());
        looks.any(|look| writer.is_with(look))
    }

    /// Returns the words by which a look at differences leaves out what the one of the base has.
    fn left_out(&self, old: &Check, new: &Check) -> Vec<String> {
        let mut words = left_out(&old.text, &new.text);
        let is_staged_before = before(self.head, new).any(|other| other.text.starts_with("git add"));
        if is_staged(&new.text) && !is_staged(&old.text) && !is_staged_before {
            words.push("--cached".to_owned());
        }
        words
    }

    /// Returns what becomes of a command that head does not have; none where another one does its work.
    fn successor(&self, old: &'c Check, come: &[&'c Check]) -> Option<Weakening<'c>> {
        if old.is_lost() || old.does_nothing {
            return None;
        }
        let mut in_its_place = come.iter().filter(|new| new.unit == old.unit && new.runner == old.runner);
        if !old.is_check() {
            let edited = in_its_place.find(|new| new.program() == old.program() && !new.is_check())?;
            return softened(None, edited);
        }
        let is_strict = |new: &Check| {
            let is_effective = new.effect() <= old.effect() || is_in_session(old, new) && !new.is_lost();
            is_effective && is_as_certain(old, new)
        };
        let mut same = self.head.iter().filter(|new| new.text == old.text && may_replace(old, new));
        let stays = same.any(|new| is_strict(new) && self.is_same_look(old, new));
        // Of the branches of a session that run the same tool one is left, for all that it looked at.
        let is_branch = |new: &Check| {
            let [own, other] = [old, new].map(|check| check.text.split(' ').take(2));
            is_in_session(old, new) && own.eq(other) && old.selection.narrowed_by(&new.selection).is_empty()
        };
        let is_of_session = is_in_session(old, old);
        let stays = stays || is_of_session && self.head.iter().any(|new| is_strict(new) && is_branch(new));
        let covering = come.iter().filter(|new| may_replace(old, new) && covers(new, old));
        let covering: Vec<_> = covering.filter(|new| self.is_same_look(old, new)).collect();
        let strict: Vec<&Check> = covering.iter().filter(|new| is_strict(new)).map(|new| **new).collect();
        let narrowed = self.narrowed(old, &strict).filter(|_| !stays);
        // What only puts things right reports none of them.
        if stays || narrowed.is_some() || strict.iter().any(|new| !new.only_writes) {
            return narrowed;
        }
        let mut soft = covering.iter().filter(|new| new.effect() > old.effect());
        if let Some(soft) = soft.find(|new| new.unit.file == old.unit.file) {
            return softened(old.effect(), soft);
        }
        // Among other commands one that does nothing takes nobody's place.
        let does_something = self.head.iter().any(|new| new.unit == old.unit && !new.does_nothing);
        match in_its_place.find(|new| new.does_nothing && !does_something) {
            Some(head) => Some(Weakening::Replaced { head }),
            None => Some(Weakening::Removed(old)),
        }
    }
}

/// Returns whether two commands are of one session of nox, which may branch and loop over what it runs as it likes.
fn is_in_session(old: &Check, new: &Check) -> bool {
    old.unit == new.unit && Kind::for_path(&old.unit.file) == Some(Kind::Nox)
}

/// Returns whether a directory is another one or below it.
fn is_within(part: &str, whole: &str) -> bool {
    let rest = part.strip_prefix(whole);
    whole.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the commands of a tree that run before one of them, in its job.
fn before<'c>(checks: &'c [Check], own: &'c Check) -> impl Iterator<Item = &'c Check> {
    let earlier = checks.iter().take_while(move |other| !std::ptr::eq(*other, own));
    earlier.filter(move |other| other.is_with(own))
}

fn unpaired(checks: &[Check], is_paired: impl Fn(usize) -> bool) -> Vec<&Check> {
    let all = checks.iter().enumerate();
    all.filter(|(position, _)| !is_paired(*position)).map(|(_, check)| check).collect()
}

/// Returns the marks of a command that weigh more than what it had before.
fn softened<'c>(before: Option<Effect>, new: &'c Check) -> Option<Weakening<'c>> {
    let is_check = new.is_check();
    if !is_check && (new.runner == Runner::Unknown || is_harmless(&new.text)) {
        return None;
    }
    // A command that checks nothing may be conditional.
    let counts = |effect: Effect| Some(effect) > before && (is_check || effect > Effect::Sometimes);
    let marks: Vec<&PlacedMark> = new.marks.iter().filter(|mark| counts(mark.effect)).collect();
    if marks.is_empty() { None } else { Some(Weakening::Softened { head: new, marks }) }
}

/// Returns whether a command at head runs where one of the base ran.
pub(super) fn may_replace(old: &Check, new: &Check) -> bool {
    let is_runner = match old.runner {
        Runner::Ci => new.runner == Runner::Ci,
        Runner::Hook => new.runner != Runner::Unknown,
        Runner::Unknown => true,
    };
    is_runner && is_reached_as_often(old, new)
}

/// Returns whether a command at head runs for the events that one of the base ran for. Events that a pipeline itself
/// loses are reported where they stood.
fn is_reached_as_often(old: &Check, new: &Check) -> bool {
    new.reach >= old.reach || new.pipeline == old.pipeline
}

/// Returns whether a command at head checks with the same tool as one of the base, where that ran, and counts as much.
fn is_as_strong(old: &Check, new: &Check) -> bool {
    new.selection.tool() == old.selection.tool()
        && covers(new, old)
        && !new.does_nothing
        && new.effect() <= old.effect()
        && is_as_certain(old, new)
        && may_replace(old, new)
        && is_within(&old.directory, &new.directory)
}

/// Returns whether a command at head is as sure to run as one of the base. A text that a script writes to a file or a
/// pipe may be lost or another one when a shell reads it, so that it takes the place of such a text alone.
fn is_as_certain(old: &Check, new: &Check) -> bool {
    old.is_written || !new.is_written
}

/// Returns whether a command checks what another one checks. A tool that uploads its own results does so for no other
/// file of CI.
fn covers(new: &Check, old: &Check) -> bool {
    let is_beside = new.unit.file == old.unit.file;
    old.checks.iter().any(|word| {
        // A check that reports the differences itself needs none to look for them.
        if word == DIFFERENCES {
            let is_known = new.is_check() || without_check(&new.text).is_some() || is_about_lock(&new.text);
            let does_work = !new.does_nothing && !is_harmless(&new.text);
            return is_beside && (may_judge_differences(&new.text) || is_known && does_work);
        }
        let may_cover = is_beside || word != UPLOAD || new.checks.contains(word);
        may_cover && successors::cover(&new.checks, word)
    })
}
