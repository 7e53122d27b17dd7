//! Title of the check run while the run goes on: its progress, or the wait before a retry (S001-59).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use qa_contracts::v1::RunPhase;
use qa_run::http::pause_unless_cancelled;
use qa_run::ports::{Cancellation, Progress};

/// Time before the first title; most runs end earlier.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between two titles. An hour's run sends 180 requests, of the 1,000 that a job's token has.
const INTERVAL: Duration = Duration::from_secs(20);

/// Counters of the step that is under way.
#[derive(Default)]
pub(super) struct StepCounter(Mutex<Option<(&'static str, usize, usize)>>);

impl Progress for StepCounter {
    fn step(&self, step: &'static str, done: usize, total: usize) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, done, total));
    }
}

impl StepCounter {
    fn text(&self) -> Option<String> {
        let (step, done, total) = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        Some(format!("{step}: {done} of {total}"))
    }
}

/// Returns the title for what a run does at the moment.
fn title(cancellation: &Cancellation, counter: &StepCounter) -> String {
    if let Some(wait) = cancellation.journal.waiting() {
        return wait;
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
