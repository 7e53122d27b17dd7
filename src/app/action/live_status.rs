//! Title of the check run while the run goes on: its progress, or the wait before a retry (S001-59).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use qa_contracts::v1::{ObserverMode, RunPhase};
use qa_core::ledger::notes::CROSS_CHECK_IN_PROGRESS;
use qa_run::http::pause_unless_cancelled;
use qa_run::ports::{Cancellation, Progress};

/// Time before the first title; most runs end earlier.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two titles. An hour's run sends 180 requests, of the 1,000 that a job's token has.
const INTERVAL: Duration = Duration::from_secs(20);

/// Counters of the step that is under way.
#[derive(Default)]
pub(super) struct StepCounter {
    counters: Mutex<Option<(&'static str, usize, usize)>>,
    /// Mode of the run; `None` where the policy enables no observer.
    mode: Option<ObserverMode>,
}

impl Progress for StepCounter {
    fn step(&self, step: &'static str, done: usize, total: usize) {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, done, total));
    }
}

impl StepCounter {
    pub(super) fn new(mode: Option<ObserverMode>) -> Self {
        Self { counters: Mutex::default(), mode }
    }

    fn text(&self) -> Option<String> {
        let (step, done, total) = (*self.counters.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(format!("{step}: {done} of {total}"))
    }
}

/// Returns the title for what a run does at the moment.
fn title(cancellation: &Cancellation, counter: &StepCounter) -> String {
    if let Some(wait) = cancellation.journal.waiting() {
        return wait;
    }
    if counter.mode == Some(ObserverMode::CrossCheck) {
        let progress = counter.text().map(|text| format!(" {text}")).unwrap_or_default();
        return format!("{CROSS_CHECK_IN_PROGRESS}{progress}");
    }
    match cancellation.journal.phase() {
        RunPhase::AwaitingReview => "Cross-check in progress".to_owned(),
        RunPhase::Active
        | RunPhase::AwaitingDiagnostics
        | RunPhase::AwaitingCoordinator
        | RunPhase::Idle
        | RunPhase::AwaitingGoalEntry
        | RunPhase::Launching
        | RunPhase::PausedManual
        | RunPhase::TransientRecovery => counter.text().unwrap_or_else(|| "In progress".to_owned()),
    }
}

/// Handle of the thread that updates the title.
#[derive(Clone, Default)]
pub(super) struct LiveStatus {
    /// True once the check run gets its conclusion, which no title may replace. Locked while a title is sent.
    stopped: Arc<Mutex<bool>>,
}

impl LiveStatus {
    /// Starts the thread. `show` sends a title, and returns false if no other should be sent.
    pub(super) fn start(
        cancellation: &Arc<Cancellation>,
        counter: &Arc<StepCounter>,
        show: impl Fn(&str) -> bool + Send + 'static,
    ) -> Self {
        let status = Self::default();
        let (cancellation, counter, updated) =
            (Arc::clone(cancellation), Arc::clone(counter), status.clone());
        // Without the thread, the check run keeps the title that it began with.
        let _no_thread = std::thread::Builder::new()
            .name("live-status".to_owned())
            .spawn(move || updated.update(&cancellation, &counter, show));
        status
    }

    /// Sends titles until the run ends, the titles are stopped, or one is refused.
    fn update(&self, cancellation: &Cancellation, counter: &StepCounter, show: impl Fn(&str) -> bool) {
        let (mut shown, mut time) = (String::new(), PATIENCE);
        loop {
            pause_unless_cancelled(time, cancellation);
            time = INTERVAL;
            let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
            if *stopped || cancellation.ending().is_some() {
                return;
            }
            let current = title(cancellation, counter);
            if current != shown && !show(&current) {
                return;
            }
            shown = current;
        }
    }

    /// Stops the titles. Returns once a title that is being sent is through.
    pub(super) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_observed_cross_check_is_the_title_while_it_runs() {
        let title_in = |mode| {
            let counter = StepCounter::new(mode);
            let before = title(&Cancellation::default(), &counter);
            counter.step("lenses", 2, 5);
            [before, title(&Cancellation::default(), &counter)]
        };
        let cross_check = ["Cross-check in progress.", "Cross-check in progress. lenses: 2 of 5"];
        assert_eq!(title_in(Some(ObserverMode::CrossCheck)), cross_check);
        for mode in [None, Some(ObserverMode::Bootstrap), Some(ObserverMode::Cadence)] {
            assert_eq!(title_in(mode), ["In progress", "lenses: 2 of 5"], "{mode:?}");
        }
    }
}
