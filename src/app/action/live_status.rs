//! Title of the check run while the run goes on: how far its plans are, or what it waits for (S001-59).

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

/// Updates the title until it is stopped.
pub(super) struct LiveStatus(Arc<Mutex<Stopped>>);

/// True once the check run gets its conclusion, which no title may replace.
type Stopped = bool;

impl LiveStatus {
    /// Starts the thread. `show` sends a title, and returns false if no other should be sent.
    pub(super) fn start(
        cancellation: &Arc<Cancellation>,
        counter: &Arc<StepCounter>,
        show: impl Fn(&str) -> bool + Send + 'static,
    ) -> Self {
        let gate = Arc::new(Mutex::new(false));
        let (cancellation, counter, stopped) =
            (Arc::clone(cancellation), Arc::clone(counter), Arc::clone(&gate));
        // Without the thread, the check run keeps the title that it began with.
        let _no_thread = std::thread::Builder::new().name("live-status".to_owned()).spawn(move || {
            let (mut shown, mut time) = (String::new(), PATIENCE);
            loop {
                pause_unless_cancelled(time, &cancellation);
                time = INTERVAL;
                let stopped = stopped.lock().unwrap_or_else(PoisonError::into_inner);
                if *stopped || cancellation.ending().is_some() {
                    return;
                }
                let now = title(&cancellation, &counter);
                if now != shown && !show(&now) {
                    return;
                }
                shown = now;
            }
        });
        Self(gate)
    }

    /// Returns what stops the titles, for whoever concludes the check run.
    pub(super) fn stopper(&self) -> impl Fn() + Send + use<> {
        let gate = Arc::clone(&self.0);
        move || *gate.lock().unwrap_or_else(PoisonError::into_inner) = true
    }
}
