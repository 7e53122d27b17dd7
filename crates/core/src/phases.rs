//! State machine of a run: nine phases, 18 edges between them, and the events that take a run along an edge (S001-9…18).

use qa_contracts::codes::{Code, CodeClass};
use qa_contracts::v1::{Conclusion, RunPhase};

/// Event that moves a run from phase to phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEvent {
    /// The process started.
    Opened,
    /// An option or an input replaced a setting of the policy.
    Edited,
    /// The change to judge is named.
    GoalSubmitted,
    /// The repository is open.
    Ready,
    /// Lenses, gates and reviews are planned.
    PlanSubmitted,
    /// The policy admits the plan.
    Approved,
    /// The policy does not admit the plan.
    Rejected,
    /// The plans that could run have results.
    ResultsReady,
    /// The cross-check found no contradiction.
    Continued,
    /// The cross-check found a contradiction.
    Held,
    /// A person has to change something first.
    Paused,
    /// A person let the run go on.
    Resumed,
    /// A request failed, and may succeed when it is sent again.
    TransientFailure,
    /// The request is sent again.
    Retried,
    /// No wait is left, or none that fits.
    RetriesExhausted,
    /// The verdict is stored and published.
    Completed,
    /// The run was cancelled, or cannot give a verdict.
    Stopped,
}

impl RunEvent {
    /// Every event.
    pub const ALL: &'static [RunEvent] = &[
        Self::Opened,
        Self::Edited,
        Self::GoalSubmitted,
        Self::Ready,
        Self::PlanSubmitted,
        Self::Approved,
        Self::Rejected,
        Self::ResultsReady,
        Self::Continued,
        Self::Held,
        Self::Paused,
        Self::Resumed,
        Self::TransientFailure,
        Self::Retried,
        Self::RetriesExhausted,
        Self::Completed,
        Self::Stopped,
    ];

    /// Returns the event of a cross-check that ended.
    pub fn cross_checked(passed: bool) -> Self {
        if passed { Self::Continued } else { Self::Held }
    }

    /// Returns the event that ends an active run with a conclusion.
    pub fn concluded(conclusion: Conclusion) -> Self {
        match conclusion {
            Conclusion::Pass | Conclusion::Fail => Self::Completed,
            Conclusion::CouldNotComplete => Self::Paused,
        }
    }
}

/// Move that is not in the table, which is a defect of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a run in phase {phase} cannot take the event {event:?}")]
pub struct ForbiddenMove {
    pub phase: RunPhase,
    pub event: RunEvent,
}

impl ForbiddenMove {
    pub fn code(&self) -> Code {
        Code::PhaseMoveForbidden
    }
}

/// Returns the phase that an event leads to.
pub fn next(phase: RunPhase, event: RunEvent) -> Result<RunPhase, ForbiddenMove> {
    use RunEvent as Event;
    use RunPhase as Phase;
    match (phase, event) {
        (Phase::Idle, Event::Opened) | (Phase::AwaitingGoalEntry, Event::Edited) => {
            Ok(Phase::AwaitingGoalEntry)
        }
        (Phase::AwaitingGoalEntry, Event::GoalSubmitted) => Ok(Phase::Launching),
        (Phase::Launching, Event::Ready)
        | (Phase::AwaitingReview, Event::Continued)
        | (Phase::PausedManual, Event::Resumed)
        | (Phase::TransientRecovery, Event::Retried) => Ok(Phase::Active),
        (Phase::Active | Phase::PausedManual, Event::PlanSubmitted) => Ok(Phase::AwaitingCoordinator),
        (Phase::AwaitingCoordinator, Event::Approved) => Ok(Phase::AwaitingDiagnostics),
        (Phase::AwaitingDiagnostics, Event::ResultsReady) => Ok(Phase::AwaitingReview),
        (Phase::Active, Event::Paused)
        | (Phase::AwaitingCoordinator, Event::Rejected)
        | (Phase::AwaitingReview, Event::Held)
        | (Phase::TransientRecovery, Event::RetriesExhausted) => Ok(Phase::PausedManual),
        (Phase::Active, Event::TransientFailure) => Ok(Phase::TransientRecovery),
        (Phase::Active, Event::Completed | Event::Stopped) | (Phase::TransientRecovery, Event::Stopped) => {
            Ok(Phase::Idle)
        }
        _ => Err(ForbiddenMove { phase, event }),
    }
}

/// Way of a run through [`RunPhase::TransientRecovery`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Detour {
    pub there: &'static [RunEvent],
    /// Leads to the phase in which the wait began.
    pub back: &'static [RunEvent],
}

/// Returns the way of a run that waits in a phase. A plan that waits for an answer is a turn without a result, so it ends and
/// another turn begins after the wait. `None` before the run is active.
pub fn detour(phase: RunPhase) -> Option<Detour> {
    use RunEvent::{Approved, Continued, PlanSubmitted, ResultsReady, Retried, TransientFailure};
    let (there, back): (&[RunEvent], &[RunEvent]) = match phase {
        RunPhase::Active => (&[TransientFailure], &[Retried]),
        RunPhase::AwaitingDiagnostics => {
            (&[ResultsReady, Continued, TransientFailure], &[Retried, PlanSubmitted, Approved])
        }
        RunPhase::AwaitingReview => {
            (&[Continued, TransientFailure], &[Retried, PlanSubmitted, Approved, ResultsReady])
        }
        RunPhase::Idle
        | RunPhase::AwaitingGoalEntry
        | RunPhase::Launching
        | RunPhase::AwaitingCoordinator
        | RunPhase::PausedManual
        | RunPhase::TransientRecovery => return None,
    };
    Some(Detour { there, back })
}

/// Returns the events of a run that ends with a code and no verdict: a transient code means that no retry is left, a code
/// of the user that a person has to change something, every other that the run ends. A fault of the settings ends the run
/// where it is, because nothing runs yet.
pub fn way_out(phase: RunPhase, code: Code) -> &'static [RunEvent] {
    use RunEvent::{
        Continued, Held, Paused, Rejected, ResultsReady, RetriesExhausted, Stopped, TransientFailure,
    };
    let is_stopped = code.is_withdrawn();
    let is_transient = code.class() == CodeClass::Transient && !is_stopped;
    let is_paused = code.class() == CodeClass::UserRecoverable;
    match phase {
        RunPhase::Active if is_transient => &[TransientFailure, RetriesExhausted],
        RunPhase::Active if is_paused => &[Paused],
        RunPhase::Active => &[Stopped],
        RunPhase::AwaitingCoordinator => &[Rejected],
        RunPhase::AwaitingDiagnostics if is_transient => {
            &[ResultsReady, Continued, TransientFailure, RetriesExhausted]
        }
        RunPhase::AwaitingDiagnostics if is_paused => &[ResultsReady, Held],
        RunPhase::AwaitingDiagnostics => &[ResultsReady, Continued, Stopped],
        RunPhase::AwaitingReview if is_transient || is_paused => &[Held],
        RunPhase::AwaitingReview => &[Continued, Stopped],
        RunPhase::TransientRecovery if is_stopped => &[Stopped],
        RunPhase::TransientRecovery => &[RetriesExhausted],
        RunPhase::Idle | RunPhase::AwaitingGoalEntry | RunPhase::Launching | RunPhase::PausedManual => &[],
    }
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
