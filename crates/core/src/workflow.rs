//! State machine of the work on a feature: its phases, the transitions between them and the events that cause them
//! (S004-16…28).

use serde::Deserialize;
use serde_json::Value;

use qa_contracts::codes::Code;
use qa_contracts::schema;
use qa_contracts::strict_json::{self, StrictJsonError};
use qa_contracts::v1::{
    QaStatus, WorkflowAgent, WorkflowPhase, WorkflowState, WorkflowStep, WorkflowTrigger,
};

/// Error of a state that cannot be read or advanced.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The transition is not in the table.
    #[error("the workflow does not go from {from} to {to}")]
    InvalidTransition { from: WorkflowPhase, to: WorkflowPhase },
    /// Not JSON, or JSON that means different things to different readers.
    #[error("{0}")]
    NotJson(#[from] StrictJsonError),
    /// Not what the schema says.
    #[error("{pointer}: {message}")]
    Schema { pointer: String, message: String },
    /// Members that cannot all be true.
    #[error("{0}")]
    Contradiction(String),
}

impl WorkflowError {
    pub fn code(&self) -> Code {
        match self {
            Self::InvalidTransition { .. } => Code::WorkflowInvalidTransition,
            Self::NotJson(_) | Self::Schema { .. } | Self::Contradiction(_) => Code::WorkflowStateInvalid,
        }
    }
}

/// Content of a QA report that a workflow needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    pub status: QaStatus,
    /// Feature that the report is about.
    pub feature_id: Option<u64>,
}

/// Event that may advance a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkflowEvent {
    /// The list of features exists.
    FeaturesListed,
    /// Commits were pushed for QA to judge.
    Push,
    /// A pull request was opened or made ready.
    PullRequest,
    /// A draft pull request was opened or pushed to; it is not judged yet.
    DraftPullRequest,
    /// QA has judged the feature.
    Verdict(QaStatus),
    /// Every feature of the list passes.
    AllFeaturesPass,
}

/// Returns the phases that may follow a phase.
pub(crate) fn followers(phase: WorkflowPhase) -> &'static [WorkflowPhase] {
    use WorkflowPhase::{Complete, Dev, DevFeedback, DevReady, Initializer, Qa, QaPassed, QaReady, Start};
    match phase {
        Start => &[Initializer],
        Initializer => &[DevReady],
        DevReady => &[Dev],
        Dev => &[QaReady],
        QaReady => &[Qa],
        Qa => &[QaPassed, DevFeedback],
        QaPassed => &[DevReady, Complete],
        DevFeedback => &[Dev],
        // Work goes on after a product was complete (beyond S004-24, which has no way out).
        Complete => &[DevReady],
    }
}

/// Returns the agent whose turn it is in a phase.
pub(crate) fn agent(phase: WorkflowPhase) -> WorkflowAgent {
    use WorkflowPhase::{Complete, Dev, DevFeedback, DevReady, Initializer, Qa, QaPassed, QaReady, Start};
    match phase {
        Start | Initializer => WorkflowAgent::Initializer,
        QaReady | Qa => WorkflowAgent::Qa,
        DevReady | Dev | QaPassed | DevFeedback | Complete => WorkflowAgent::Dev,
    }
}

/// Returns the state of a repository that has none (S004-26).
pub fn start(now: &str) -> WorkflowState {
    WorkflowState {
        current_state: WorkflowPhase::Start,
        next_agent: agent(WorkflowPhase::Start),
        current_feature_id: None,
        qa_retries: 0,
        last_transition: now.to_owned(),
        history: Vec::new(),
    }
}

/// Parses a state. A state that no sequence of steps leads to is refused, such as one with a phase that was edited by
/// hand.
pub fn parse_state(bytes: &[u8]) -> Result<WorkflowState, WorkflowError> {
    let value = strict_json::parse(bytes)?;
    let schema = schema::find("workflow-state.v1").expect("the schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        return Err(WorkflowError::Schema { pointer: fault.pointer, message: fault.message });
    }
    let state: WorkflowState = serde_json::from_value(value)
        .map_err(|error| WorkflowError::Schema { pointer: String::new(), message: error.to_string() })?;
    check(&state)?;
    Ok(state)
}

fn check(state: &WorkflowState) -> Result<(), WorkflowError> {
    let phase = state.current_state;
    let expected = agent(phase);
    if state.next_agent != expected {
        let message = format!("/next_agent: in {phase} it is {expected} and not {}", state.next_agent);
        return Err(WorkflowError::Contradiction(message));
    }
    for (index, step) in state.history.iter().enumerate() {
        if !followers(step.from).contains(&step.to) {
            let message =
                format!("/history/{index}: the workflow does not go from {} to {}", step.from, step.to);
            return Err(WorkflowError::Contradiction(message));
        }
        let next = match state.history.get(index + 1) {
            Some(next) => next.from,
            None => phase,
        };
        if step.to != next {
            let message =
                format!("/history/{index}: it leads to {}, and what follows begins at {next}", step.to);
            return Err(WorkflowError::Contradiction(message));
        }
    }
    // Old steps may have been cut away, but these phases are reached by a step.
    let needs_history = matches!(phase, WorkflowPhase::QaPassed | WorkflowPhase::Complete);
    if needs_history && state.history.is_empty() {
        return Err(WorkflowError::Contradiction(format!("/history: nothing leads to {phase}")));
    }
    Ok(())
}

/// Returns the state after one step (S004-27, 28). `qa_retries` counts how often QA sent the feature back (C-19).
pub(crate) fn transition(
    state: &WorkflowState,
    to: WorkflowPhase,
    now: &str,
    triggered_by: WorkflowTrigger,
) -> Result<WorkflowState, WorkflowError> {
    let from = state.current_state;
    if !followers(from).contains(&to) {
        return Err(WorkflowError::InvalidTransition { from, to });
    }
    let mut next = state.clone();
    next.history.push(WorkflowStep { from, to, timestamp: now.to_owned(), triggered_by: Some(triggered_by) });
    next.current_state = to;
    next.next_agent = agent(to);
    next.last_transition = now.to_owned();
    match to {
        WorkflowPhase::QaPassed => next.qa_retries = 0,
        WorkflowPhase::DevFeedback => next.qa_retries += 1,
        WorkflowPhase::Start
        | WorkflowPhase::Initializer
        | WorkflowPhase::DevReady
        | WorkflowPhase::Dev
        | WorkflowPhase::QaReady
        | WorkflowPhase::Qa
        | WorkflowPhase::Complete => {}
    }
    Ok(next)
}

/// Returns the state with another current feature, whose retries start at 0 (C-19).
pub fn choose(state: WorkflowState, feature_id: u64) -> WorkflowState {
    if state.current_feature_id == Some(feature_id) {
        return state;
    }
    WorkflowState { current_feature_id: Some(feature_id), qa_retries: 0, ..state }
}

/// Returns the state after an event, with every step on the way in its history.
pub fn advance(
    state: &WorkflowState,
    event: WorkflowEvent,
    now: &str,
) -> Result<WorkflowState, WorkflowError> {
    let mut state = state.clone();
    for to in derive(state.current_state, event)? {
        state = transition(&state, to, now, trigger(event))?;
    }
    Ok(state)
}

/// Returns the phases that an event leads through from a phase; none when the event changes nothing there.
pub(crate) fn derive(
    phase: WorkflowPhase,
    event: WorkflowEvent,
) -> Result<Vec<WorkflowPhase>, WorkflowError> {
    use WorkflowPhase::{Complete, Dev, DevFeedback, DevReady, Initializer, Qa, QaPassed, QaReady, Start};
    match event {
        WorkflowEvent::FeaturesListed => match phase {
            Start | Initializer => path(phase, DevReady),
            DevReady | Dev | QaReady | Qa | QaPassed | DevFeedback | Complete => Ok(Vec::new()),
        },
        WorkflowEvent::Push | WorkflowEvent::PullRequest => match phase {
            // QA's next verdict is about the new commits.
            Qa => Ok(Vec::new()),
            Start | Initializer | DevReady | Dev | QaReady | QaPassed | DevFeedback | Complete => {
                path(phase, QaReady)
            }
        },
        WorkflowEvent::DraftPullRequest => match phase {
            QaReady | Qa => Ok(Vec::new()),
            Start | Initializer | DevReady | Dev | QaPassed | DevFeedback | Complete => path(phase, Dev),
        },
        WorkflowEvent::Verdict(verdict) => {
            let to = match verdict {
                QaStatus::Passed => QaPassed,
                QaStatus::Failed => DevFeedback,
                QaStatus::Error => Qa,
            };
            match phase {
                QaReady | Qa => path(phase, to),
                // The same verdict of the same commits again.
                QaPassed | DevFeedback if phase == to => Ok(Vec::new()),
                Start | Initializer | DevReady | Dev | QaPassed | DevFeedback | Complete => {
                    Err(WorkflowError::InvalidTransition { from: phase, to })
                }
            }
        }
        WorkflowEvent::AllFeaturesPass => match phase {
            QaPassed | Complete => path(phase, Complete),
            Start | Initializer | DevReady | Dev | QaReady | Qa | DevFeedback => {
                Err(WorkflowError::InvalidTransition { from: phase, to: Complete })
            }
        },
    }
}

/// Returns the steps from one phase to another, along the table. Only the verdict `to` leads past [`WorkflowPhase::Qa`],
/// and only `to` itself leads from [`WorkflowPhase::QaPassed`] to the end; otherwise the next feature follows.
fn path(from: WorkflowPhase, to: WorkflowPhase) -> Result<Vec<WorkflowPhase>, WorkflowError> {
    let mut steps: Vec<WorkflowPhase> = Vec::new();
    let mut phase = from;
    while phase != to {
        let followers = followers(phase);
        let onwards = followers.first().filter(|_| phase != WorkflowPhase::Qa);
        match followers.iter().find(|next| **next == to).or(onwards) {
            Some(next) if steps.len() < WorkflowPhase::ALL.len() => phase = *next,
            Some(_) | None => return Err(WorkflowError::InvalidTransition { from, to }),
        }
        steps.push(phase);
    }
    Ok(steps)
}

fn trigger(event: WorkflowEvent) -> WorkflowTrigger {
    match event {
        WorkflowEvent::FeaturesListed => WorkflowTrigger::FeatureList,
        WorkflowEvent::Push => WorkflowTrigger::Push,
        WorkflowEvent::PullRequest | WorkflowEvent::DraftPullRequest => WorkflowTrigger::PullRequest,
        WorkflowEvent::Verdict(_) => WorkflowTrigger::Qa,
        WorkflowEvent::AllFeaturesPass => WorkflowTrigger::AllFeaturesPass,
    }
}

/// Parses `qa-report.json` (S004-31…34, 58). A report that passes without a gate, or with a gate that did not pass, is
/// refused. One that does not pass may have passing gates: other lenses decide as well.
pub fn parse_report(bytes: &[u8]) -> Result<Reported, WorkflowError> {
    let report = strict_json::parse(bytes)?;
    let status = QaStatus::deserialize(&report["status"])
        .map_err(|_| schema_error("/status", "it is not PASSED, FAILED or ERROR"))?;
    let Some(gates) = report["gates"].as_object() else {
        return Err(schema_error("/gates", "it is not an object"));
    };
    let all_passed = !gates.is_empty() && gates.values().all(|gate| gate["passed"] == true);
    if status == QaStatus::Passed && !all_passed {
        return Err(schema_error("/status", "it says something else than the gates"));
    }
    let feature_id = match report.get("feature_id") {
        None | Some(Value::Null) => None,
        Some(id) => Some(id.as_u64().ok_or_else(|| schema_error("/feature_id", "it is not an integer"))?),
    };
    Ok(Reported { status, feature_id })
}

fn schema_error(pointer: &str, message: &str) -> WorkflowError {
    WorkflowError::Schema { pointer: pointer.to_owned(), message: message.to_owned() }
}

#[cfg(test)]
#[path = "workflow_tests.rs"]
mod tests;
