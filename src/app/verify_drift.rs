//! `run --verify-drift`: derives the run that was just stored again, and withholds a verdict that is not reproduced.

use super::drift_check::{Against, Replayer, entry, failure, report};
use super::exit::Failure;
use super::finished::Finished;
use super::watchdog::LONG_DEADLINE;
use crate::store::write_beside;
use qa_run::ports::{Cancellation, Progress};

/// Replays a stored run from its recording and from the repository, and writes the report among the runs. Fails at a
/// difference, and if the run could not be replayed.
pub(crate) fn verify_drift(
    finished: &Finished,
    cancellation: &Cancellation,
    progress: &dyn Progress,
) -> Result<(), Failure> {
    cancellation.set_deadline(Some(LONG_DEADLINE));
    let directory = &finished.proof().path;
    let place = directory.display().to_string();
    let mut replays = Vec::new();
    for against in [Against::Recording, Against::Repository(&finished.opened.repository.root)] {
        let replayer = Replayer { against, cancellation, progress, live: None };
        replays.push(replayer.replay(directory, entry(&place))?);
    }
    let report = report(replays, None);
    let runs = directory.parent().expect("a run directory is among the runs");
    write_beside(runs, &report)?;
    cancellation.set_deadline(None);
    match failure(&report, true) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}
