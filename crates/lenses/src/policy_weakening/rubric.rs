//! Compares the rubric that the policy names at the base with the one that it names at head.

use std::collections::BTreeSet;

use super::RUBRIC_CHANGED;
use crate::contract::{Draft, Lookups};
use qa_contracts::v1::{Convention, Rubric, Side, Strength};
use qa_core::policy::{Overrides, POLICY_PATH, Policy};
use qa_core::rubric::path_of;

/// Adds to the draft about the policy's line what the new rubric no longer holds; none where it holds all of it.
pub(super) fn swapped(draft: &Draft, policy: &Policy, lookups: &dyn Lookups) -> Option<Draft> {
    let base = policy.consistency.as_ref()?.version;
    let text = lookups.text(Side::Head, POLICY_PATH)?;
    // A policy that cannot be read, or names no rubric, has a rule of its own.
    let head = Policy::parse(Some(&text), &Overrides::default(), &crate::registry()).ok()?;
    let head = head.consistency?.version;
    if base == head {
        return None;
    }
    let old = rubric(base, Side::Base, lookups)?;
    let Some(new) = rubric(head, Side::Head, lookups) else {
        let summary = "rubric named by the policy cannot be read".to_owned();
        return Some(Draft { summary, ..draft.clone() });
    };
    let lost = lost_conventions(&old, &new);
    if lost.is_empty() {
        return None;
    }
    let summary = format!("rubric is replaced by a weaker one: {} conventions", lost.len());
    Some(Draft { rule: RUBRIC_CHANGED.into(), summary, ..draft.clone() }.with("conventions", lost))
}

fn rubric(version: u64, side: Side, lookups: &dyn Lookups) -> Option<Rubric> {
    serde_json::from_str(&lookups.text(side, &path_of(version))?).ok()
}

/// Returns the ids of the conventions that the new rubric does not have, or holds less strictly.
fn lost_conventions(old: &Rubric, new: &Rubric) -> Vec<String> {
    let enforced = old.conventions.iter().filter(|old| old.strength != Strength::Off);
    let lost = enforced.filter(|old| !is_kept(old, new));
    lost.map(|convention| convention.id.clone()).collect()
}

/// Returns whether a rubric has a convention for all of its paths, as strictly as before.
fn is_kept(convention: &Convention, rubric: &Rubric) -> bool {
    let Some(new) = rubric.conventions.iter().find(|new| new.id == convention.id) else { return false };
    let old_paths: BTreeSet<&String> = convention.paths.iter().collect();
    old_paths.is_subset(&new.paths.iter().collect()) && rank(new.strength) >= rank(convention.strength)
}

fn rank(strength: Strength) -> u8 {
    match strength {
        Strength::Block => 3,
        Strength::Ratchet => 2,
        Strength::Advise => 1,
        Strength::Off => 0,
    }
}
