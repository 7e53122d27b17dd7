//! Proposes a preset from the shares of merged changes that presets would have stopped. Pure.

use crate::app::calibrate::wilson;
use qa_contracts::v1::{Calibration, Preset};

/// Largest upper end of the interval of stopped changes with which `guarded` is proposed, in permille. A preset is not
/// lowered again by `init`, so a share that is small by chance must not choose it.
pub(super) const GUARDED_PERMILLE: f64 = 40.0;
/// Largest share of stopped changes with which `default` is proposed, in permille.
const DEFAULT_PERMILLE: u64 = 50;
/// Number of judged changes below which their shares say too little, and `default` is proposed.
pub(super) const FEWEST_CHANGES: u64 = 20;

/// The rule by which a preset is proposed, for people.
pub(super) const RULE: &str = "guarded if, by the 95 % interval, it stops at most 4 % of the changes, else default if it would have stopped at most 5 %, else advisory; default where fewer than 20 changes were judged";

/// Returns the preset to propose from the costs of `default` and `guarded`.
pub(super) fn propose(costs: &[Calibration]) -> Preset {
    if costs.iter().any(|cost| judged(cost) < FEWEST_CHANGES) || costs.is_empty() {
        return Preset::Default;
    }
    if cost_of(costs, Preset::Guarded).is_some_and(|cost| most_stopped(cost) <= GUARDED_PERMILLE) {
        Preset::Guarded
    } else if cost_of(costs, Preset::Default)
        .is_some_and(|cost| stopped(cost) * 1000 <= DEFAULT_PERMILLE * judged(cost))
    {
        Preset::Default
    } else {
        Preset::Advisory
    }
}

/// Number of changes over which a share of `guarded` that looks small at 100 can be told from a large one.
pub(super) const MANY_CHANGES: u64 = 400;

/// Returns whether `guarded` is not proposed only since few changes were measured: with the same share of more changes it
/// would be.
pub(super) fn is_undecided(costs: &[Calibration]) -> bool {
    let guarded =
        cost_of(costs, Preset::Guarded).filter(|cost| (FEWEST_CHANGES..MANY_CHANGES).contains(&judged(cost)));
    guarded.is_some_and(|cost| {
        let as_many = stopped(cost) * MANY_CHANGES / judged(cost);
        most_stopped(cost) > GUARDED_PERMILLE && wilson(as_many, MANY_CHANGES).1 <= GUARDED_PERMILLE
    })
}

/// Returns the cost of a preset, if it was measured.
fn cost_of(costs: &[Calibration], preset: Preset) -> Option<&Calibration> {
    costs.iter().find(|cost| cost.preset == preset)
}

/// Returns the upper end of the 95 % interval of the share of stopped changes, in permille.
pub(super) fn most_stopped(cost: &Calibration) -> f64 {
    wilson(stopped(cost), judged(cost)).1
}

/// Returns the number of changes with a verdict.
pub(super) fn judged(cost: &Calibration) -> u64 {
    cost.changes.saturating_sub(cost.without_verdict.len() as u64)
}

/// Returns the number of changes that would have been blocked.
pub(super) fn stopped(cost: &Calibration) -> u64 {
    cost.blocked.len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::ids::CommitId;
    use qa_contracts::v1::{BlockedChange, UnjudgedChange};

    fn cost(preset: Preset, changes: u64, stopped: u64, unjudged: u64) -> Calibration {
        let commit = CommitId::parse(&"1".repeat(40)).unwrap();
        let blocked = BlockedChange {
            commit: commit.clone(),
            subject: String::new(),
            rules: Vec::new(),
            findings: Vec::new(),
            blocking: 1,
        };
        let without = UnjudgedChange { commit: commit.clone(), subject: String::new(), codes: Vec::new() };
        Calibration {
            schema_version: Default::default(),
            engine: String::new(),
            lenses: Vec::new(),
            policy: String::new(),
            preset,
            head_sha: commit,
            changes,
            rules: Vec::new(),
            blocked: (0..stopped).map(|_| blocked.clone()).collect(),
            without_verdict: (0..unjudged).map(|_| without.clone()).collect(),
        }
    }

    #[test]
    fn the_strictest_preset_within_its_share_is_proposed() {
        for (changes, unjudged, by_default, by_guarded, expected) in [
            (100, 0, 0, 0, Preset::Guarded),
            (100, 0, 0, 1, Preset::Default),
            (400, 0, 2, 8, Preset::Guarded),
            (400, 0, 2, 9, Preset::Default),
            (100, 0, 5, 30, Preset::Default),
            (100, 0, 6, 30, Preset::Advisory),
            // Changes without a verdict do not count among those that would have passed.
            (100, 10, 0, 0, Preset::Default),
            (93, 0, 0, 0, Preset::Guarded),
            (92, 0, 0, 0, Preset::Default),
            (20, 0, 0, 0, Preset::Default),
            (20, 0, 2, 2, Preset::Advisory),
            (19, 0, 0, 0, Preset::Default),
            (19, 0, 19, 19, Preset::Default),
            (100, 81, 0, 0, Preset::Default),
        ] {
            let costs = [
                cost(Preset::Default, changes, by_default, unjudged),
                cost(Preset::Guarded, changes, by_guarded, unjudged),
            ];
            assert_eq!(propose(&costs), expected, "{changes} {unjudged} {by_default} {by_guarded}");
        }
        assert_eq!(propose(&[]), Preset::Default);
    }

    #[test]
    fn few_changes_leave_guarded_undecided_where_the_same_share_of_many_would_do() {
        for (changes, by_guarded, expected) in [
            (100, 0, false),
            (100, 1, true),
            (100, 2, true),
            (100, 3, false),
            (400, 9, false),
            (19, 0, false),
            (50, 0, true),
        ] {
            assert_eq!(
                is_undecided(&[cost(Preset::Guarded, changes, by_guarded, 0)]),
                expected,
                "{changes} {by_guarded}"
            );
        }
        assert!(!is_undecided(&[]));
    }

    #[test]
    fn the_rule_names_the_bounds() {
        let bounds = [GUARDED_PERMILLE / 10.0, DEFAULT_PERMILLE as f64 / 10.0];
        let bounds = bounds.map(|percent| format!("{percent} %"));
        assert!(bounds.iter().all(|bound| RULE.contains(bound.as_str())));
        assert!(RULE.contains(&format!("fewer than {FEWEST_CHANGES} changes")));
    }
}
