//! `qa-skill drift-check`: derives stored runs again and reports the differences.

mod live;
mod local;
mod mover;
mod remote;
mod replay;
mod report;

pub(crate) use live::Live;
pub(crate) use local::{check_paths, runs_below};
pub(crate) use mover::{Cause, Preimages, key_cause, other_engine};
pub(crate) use remote::{RemoteRuns, check_artifacts, temporary_archive};
pub(crate) use replay::{Against, Replayer, entry, verdict_change};
pub(crate) use report::{markdown, render_text};

use super::exit::{Exit, Failure};
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftListing, DriftReport, DriftRun, DriftStatus};
use qa_run::keys::ENGINE_VERSION;

/// Returns the report of replayed runs.
pub(crate) fn report(runs: Vec<DriftRun>, listing: Option<DriftListing>) -> DriftReport {
    DriftReport {
        schema_version: Default::default(),
        engine_version: ENGINE_VERSION.to_owned(),
        status: runs
            .iter()
            .filter(|run| !run.foreign)
            .map(|run| run.status)
            .max()
            .unwrap_or(DriftStatus::Same),
        listing,
        runs,
        rubric: None,
    }
}

/// Returns the failure of the worst run, or `None` if the check succeeds. A replay that was impossible is worse than one
/// that agrees and better than one that differs. If there are artifacts and none was replayed, the check fails, since
/// nothing was checked; without artifacts it succeeds. Runs of forks are replayed and do not count: anyone who can open a
/// pull request can make one that does not replay.
pub(crate) fn failure(report: &DriftReport, fail_on_engine_change: bool) -> Option<Failure> {
    // The first of the worst: `max_by_key` would give the last.
    let failed = report.runs.iter().filter(|run| is_failure(run, fail_on_engine_change));
    let worst = failed.rev().max_by_key(|run| run.status);
    let Some(worst) = worst else {
        let listing = report.listing.as_ref().filter(|_| report.runs.is_empty())?;
        if listing.found == 0 && listing.complete {
            return None;
        }
        let message =
            format!("none of {} artifacts was replayed: {} expired", listing.found, listing.expired);
        return Some(Failure::with_code(Code::ArtifactUnavailable, message));
    };
    let same_kind = report.runs.iter().filter(|run| run.status == worst.status).count();
    let more = if same_kind > 1 { format!(" (and {} more)", same_kind - 1) } else { String::new() };
    let code = worst.code.unwrap_or(Code::DeterminismDriftDetected);
    let exit = match worst.status {
        DriftStatus::Drift | DriftStatus::EngineChanged => Exit::Drift,
        DriftStatus::CouldNotReplay | DriftStatus::Same => Exit::CouldNotComplete,
    };
    let message = format!("{}: {}{more}", worst.place, worst.detail);
    Some(Failure { exit, ..Failure::with_code(code, message) })
}

fn is_failure(run: &DriftRun, fail_on_engine_change: bool) -> bool {
    !run.foreign
        && match run.status {
            DriftStatus::Same => false,
            DriftStatus::EngineChanged => fail_on_engine_change,
            DriftStatus::CouldNotReplay | DriftStatus::Drift => true,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn run(status: DriftStatus, code: Option<Code>) -> DriftRun {
        DriftRun { status, code, ..replay::entry("place") }
    }

    fn exit_of(statuses: &[DriftStatus], strict: bool) -> (Exit, Option<Code>) {
        let code = |status| match status {
            DriftStatus::Same => None,
            DriftStatus::CouldNotReplay => Some(Code::RecordingMissing),
            DriftStatus::EngineChanged => Some(Code::EngineChanged),
            DriftStatus::Drift => Some(Code::DeterminismDriftDetected),
        };
        let runs = statuses.iter().map(|status| run(*status, code(*status))).collect();
        failure(&report(runs, None), strict)
            .map_or((Exit::Pass, None), |failure| (failure.exit, failure.code))
    }

    #[test]
    fn the_worst_run_decides_and_drift_is_worse_than_trouble() {
        use DriftStatus::{CouldNotReplay, Drift, EngineChanged, Same};
        let drift = (Exit::Drift, Some(Code::DeterminismDriftDetected));
        let trouble = (Exit::CouldNotComplete, Some(Code::RecordingMissing));
        let changed = (Exit::Drift, Some(Code::EngineChanged));
        let fine = (Exit::Pass, None);
        for (statuses, strict, allowed) in [
            (&[Same, Same][..], fine, fine),
            (&[Same, CouldNotReplay], trouble, trouble),
            (&[CouldNotReplay, Drift, Same], drift, drift),
            (&[EngineChanged], changed, fine),
            (&[EngineChanged, CouldNotReplay], changed, trouble),
            (&[Drift, EngineChanged], drift, drift),
        ] {
            assert_eq!(
                (exit_of(statuses, true), exit_of(statuses, false)),
                (strict, allowed),
                "{statuses:?}"
            );
        }
    }

    #[test]
    fn runs_of_forks_are_reported_and_decide_nothing() {
        let of_a_fork =
            |status| DriftRun { foreign: true, ..run(status, Some(Code::DeterminismDriftDetected)) };
        let forks = vec![of_a_fork(DriftStatus::Drift), of_a_fork(DriftStatus::CouldNotReplay)];
        let all = report(forks.clone(), None);
        assert_eq!((all.status, failure(&all, true).is_none()), (DriftStatus::Same, true));
        let ours = run(DriftStatus::CouldNotReplay, Some(Code::RecordingMissing));
        let mixed = report([forks, vec![ours]].concat(), None);
        assert_eq!(failure(&mixed, false).unwrap().code, Some(Code::RecordingMissing));
    }

    #[test]
    fn no_artifacts_are_fine_and_artifacts_nobody_could_look_at_are_not() {
        let listing = |found, foreign, complete| DriftListing {
            repository: "o/r".to_owned(),
            artifact_name: "qa-skill-run".to_owned(),
            since_days: 7,
            found,
            expired: found - foreign,
            foreign,
            beyond_limit: 0,
            complete,
        };
        assert!(failure(&report(Vec::new(), Some(listing(0, 0, true))), false).is_none());
        for (found, foreign, complete) in [(3, 1, true), (3, 3, true), (0, 0, false)] {
            let failure =
                failure(&report(Vec::new(), Some(listing(found, foreign, complete))), false).unwrap();
            assert_eq!(
                (failure.exit, failure.code),
                (Exit::CouldNotComplete, Some(Code::ArtifactUnavailable))
            );
        }
    }
}
