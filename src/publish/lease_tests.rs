//! Two runs of one head, each in flight or ended at any call of the other: one claim, and no wrong conclusion.

use super::fake_github::{Check, FakeGitHub};
use super::{Meanwhile, fake, github, head, memory, over, report};
use crate::publish::{Claim, GitHub, HeadChecks, Lease, PublishError, WantedCheck};
use qa_contracts::ids::ExecutionKey;
use qa_formats::check_run::{CheckConclusion, CheckReport};

const NAME: &str = "qa-skill & more";
/// Number of the call by which a run claims the head; before it, the other run is the earlier one.
const CLAIMED: usize = 2;
/// Number of calls after the last look at the claim. They reach the earlier check run only.
const AFTER_LAST_LOOK: usize = 2;

fn key(name: &str) -> ExecutionKey {
    ExecutionKey::from(qa_core::canonical::sha256(name.as_bytes()))
}

/// Returns the external id of the first attempt of a workflow run.
pub(super) fn external_id(key_of: &str, run: u64) -> String {
    format!("{}/{run}/1", key(key_of))
}

/// Claims the head as the first attempt of a workflow run.
pub(super) fn claim(github: &GitHub, key_of: &str, run: u64) -> Result<Lease, PublishError> {
    github.claim_head(WantedCheck {
        head_checks: HeadChecks { head: head(), name: NAME.to_owned(), app: "github-actions".to_owned() },
        claim: Claim::new(&key(key_of), &run.to_string(), "1"),
        details_url: Some("https://git.example/owner/name/actions/runs/1".to_owned()),
    })
}

/// A run that judges the head: its key, its number, and its conclusion.
#[derive(Debug, Clone, Copy)]
struct Judge(&'static str, u64, CheckConclusion);

impl Judge {
    fn run(self, github: &GitHub) -> Result<(), PublishError> {
        let Self(key, run, conclusion) = self;
        let lease = claim(github, key, run)?;
        github.close_earlier(&lease, "1970-01-01T00:00:00Z")?;
        github.show_title(&lease, "rules: 1 of 2")?;
        github.finish_check(&lease, &CheckReport { conclusion, ..report(Vec::new()) })
    }

    /// Returns the number of calls of a run that nothing disturbs.
    fn calls(self) -> usize {
        let fake = fake();
        self.run(&github(&fake)).unwrap();
        fake.state().calls.len()
    }
}

/// Asserts that the newest check run is complete with the conclusion of the run that claimed it, and no other is open.
fn assert_one_claim(fake: &FakeGitHub, winner: Judge, case: &str) {
    let state = fake.state();
    let newest = state.checks.iter().max_by_key(|check| check.id).unwrap();
    let Judge(key, run, conclusion) = winner;
    assert_eq!(newest.external_id, Some(external_id(key, run)), "{case}");
    assert_eq!(newest.conclusion.as_deref(), Some(conclusion.as_str()), "{case}");
    assert!(state.checks.iter().all(|check| check.conclusion.is_some()), "{case}: {:?}", state.checks);
}

#[test]
fn of_two_runs_the_later_one_concludes_wherever_either_of_them_ends() {
    let earlier = Judge("key", 1, CheckConclusion::Success);
    for key in ["key", "another key"] {
        let later = Judge(key, 2, CheckConclusion::Failure);
        let kills: Vec<Option<(usize, bool)>> = (1..=later.calls())
            .flat_map(|call| [Some((call, false)), Some((call, true))])
            .chain([None])
            .collect();
        for before in 1..=earlier.calls() {
            for killed in &kills {
                for earlier_ends in [None, Some((before, false)), Some((before, true))] {
                    let case = format!("{key}, before call {before}, {killed:?}, {earlier_ends:?}");
                    let fake = fake();
                    let (elsewhere, killed) = (over(&memory(&fake, *killed)), *killed);
                    let http = memory(&fake, earlier_ends);
                    let action =
                        Box::new(move || assert_eq!(later.run(&elsewhere).is_ok(), killed.is_none()));
                    *http.meanwhile.lock().unwrap() = Some(Meanwhile { before, action });
                    let outcome = earlier.run(&over(&http));
                    if before <= CLAIMED && earlier_ends.is_none() {
                        outcome.unwrap();
                        assert_one_claim(&fake, earlier, &case);
                    } else if before > CLAIMED && killed.is_none() {
                        let sees_it = before <= earlier.calls() - AFTER_LAST_LOOK;
                        assert_eq!(outcome.is_err(), earlier_ends.is_some() || sees_it, "{case}");
                        assert_one_claim(&fake, later, &case);
                    }
                    let third = Judge(key, 3, CheckConclusion::Neutral);
                    third.run(&github(&fake)).unwrap();
                    assert_one_claim(&fake, third, &case);
                }
            }
        }
    }
}

#[test]
fn a_run_that_was_superseded_says_by_which_and_its_check_run_is_closed() {
    let fake = fake();
    let (first, second) = (github(&fake), github(&fake));
    let lease = claim(&first, "key", 1).unwrap();
    let later = claim(&second, "key", 2).unwrap();
    let error = first.cancel_check(&lease, "stopped").unwrap_err();
    assert_eq!(error.code().as_str(), "RUN_SUPERSEDED");
    assert!(
        error.to_string().ends_with("attempt 1 of workflow run 2 began later and judges the same commit"),
        "{error}"
    );
    let ended = |index: usize| fake.state().checks[index].conclusion.clone();
    assert_eq!((ended(0).as_deref(), ended(1)), (Some("cancelled"), None));
    second.close_earlier(&later, "1970-01-01T00:00:00Z").unwrap();
    assert!(second.conclude_check(&later, CheckConclusion::Neutral).is_ok());
    assert_eq!(ended(1).as_deref(), Some("neutral"));
}

#[test]
fn the_newest_check_run_is_taken_over_if_it_is_complete_and_of_the_same_key() {
    let fake = fake();
    for id in 1..=150 {
        fake.state().checks.push(Check {
            id,
            name: NAME.to_owned(),
            head_sha: head().as_str().to_owned(),
            external_id: (id == 150).then(|| external_id("key", 1)),
            status: "completed".to_owned(),
            conclusion: Some("success".to_owned()),
            ..Check::default()
        });
    }
    assert_eq!(claim(&github(&fake), "key", 2).unwrap().check.id, 150, "on the second page");
    assert_eq!(claim(&github(&fake), "another key", 3).unwrap().check.id, 151);
    assert_eq!(claim(&github(&fake), "key", 4).unwrap().check.id, 152, "it is not the newest any more");
}
