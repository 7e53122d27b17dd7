//! Journal of a run: its phase, the time in each phase, and the waits before requests are sent again.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use qa_contracts::codes::Code;
use qa_contracts::v1::{Conclusion, OperationRetries, RunPhase};
use qa_core::phases::{self, ForbiddenMove, RunEvent};

/// A wait before a request is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait<'a> {
    pub operation: &'a str,
    /// Number of the retry, from 1.
    pub retry: usize,
    /// Number of retries that are allowed.
    pub of: usize,
    pub time: Duration,
    /// Code of the failed attempt.
    pub code: Code,
    /// Reason of the failed attempt, in text that may be shown.
    pub reason: &'a str,
}

impl std::fmt::Display for Wait<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { operation, retry, of, time, reason, .. } = self;
        let seconds = time.as_millis().div_ceil(1000);
        write!(out, "retry {retry}/{of} of `{operation}` in {seconds} s: {reason}")
    }
}

/// Phase of a run and what happened in it. Called from any thread.
pub struct Journal(Mutex<State>);

struct State {
    phase: RunPhase,
    since: Instant,
    times: BTreeMap<RunPhase, Duration>,
    /// Number of requests that wait at the moment.
    waiting: usize,
    /// Phase that the first of them interrupted.
    interrupted: RunPhase,
    /// The newest wait, as a line.
    line: String,
    retries: BTreeMap<String, OperationRetries>,
}

impl Default for Journal {
    fn default() -> Self {
        Self(Mutex::new(State {
            phase: RunPhase::Idle,
            since: Instant::now(),
            times: BTreeMap::new(),
            waiting: 0,
            interrupted: RunPhase::Idle,
            line: String::new(),
            retries: BTreeMap::new(),
        }))
    }
}

impl State {
    fn take(&mut self, event: RunEvent) -> Result<(), ForbiddenMove> {
        let next = phases::next(self.phase, event)?;
        *self.times.entry(self.phase).or_default() +=
            std::mem::replace(&mut self.since, Instant::now()).elapsed();
        self.phase = next;
        Ok(())
    }

    /// Takes events of a way that the table has.
    fn follow(&mut self, way: &[RunEvent]) {
        for event in way {
            self.take(*event).expect("ways follow the table");
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

impl Journal {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Moves the run along an edge. While requests wait, the move is made in the phase that they interrupted.
    pub fn take(&self, event: RunEvent) -> Result<(), ForbiddenMove> {
        let mut state = self.state();
        if state.waiting > 0 && state.phase == RunPhase::TransientRecovery {
            state.interrupted = phases::next(state.interrupted, event)?;
            return Ok(());
        }
        state.take(event)
    }

    /// Ends a run without a verdict.
    pub fn fail(&self, code: Code) {
        let mut state = self.state();
        let way = phases::way_out(state.phase, code);
        state.follow(way);
    }

    /// Moves a run to the cross-check. A replay has no phases.
    pub fn results_ready(&self) {
        let mut state = self.state();
        if state.phase == RunPhase::AwaitingDiagnostics {
            state.follow(&[RunEvent::ResultsReady]);
        }
    }

    /// Ends a run with a conclusion. A failed cross-check has ended it before.
    pub fn finish(&self, conclusion: Conclusion) -> Result<(), ForbiddenMove> {
        if self.phase() == RunPhase::PausedManual {
            return Ok(());
        }
        self.take(RunEvent::concluded(conclusion))
    }

    pub fn phase(&self) -> RunPhase {
        self.state().phase
    }

    /// Returns the newest wait as a line, while a request waits.
    pub fn waiting(&self) -> Option<String> {
        let state = self.state();
        (state.waiting > 0).then(|| state.line.clone())
    }

    /// Records a wait that begins. The first of several moves the run to [`RunPhase::TransientRecovery`], if it is active.
    pub fn begin_wait(&self, wait: &Wait<'_>) {
        let mut state = self.state();
        state.line = wait.to_string();
        let retries = state.retries.entry(wait.operation.to_owned()).or_default();
        retries.retries += 1;
        retries.waited_ms += milliseconds(wait.time);
        *retries.codes.entry(wait.code).or_default() += 1;
        state.waiting += 1;
        if state.waiting == 1 {
            state.interrupted = state.phase;
            if let Some(detour) = phases::detour(state.phase) {
                state.follow(detour.there);
            }
        }
    }

    /// Records that a wait is over. The last of several moves the run back.
    pub fn end_wait(&self) {
        let mut state = self.state();
        state.waiting -= 1;
        if let (0, RunPhase::TransientRecovery) = (state.waiting, state.phase)
            && let Some(detour) = phases::detour(state.interrupted)
        {
            state.follow(detour.back);
        }
    }

    /// Returns the retries so far by operation.
    pub fn retries(&self) -> BTreeMap<String, OperationRetries> {
        self.state().retries.clone()
    }

    /// Returns the milliseconds that the run spent in each phase so far.
    pub fn phase_times(&self) -> BTreeMap<String, u64> {
        let state = self.state();
        let mut times = state.times.clone();
        *times.entry(state.phase).or_default() += state.since.elapsed();
        times.into_iter().map(|(phase, time)| (phase.as_str().to_owned(), milliseconds(time))).collect()
    }
}
