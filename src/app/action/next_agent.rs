//! Names the agent that acts after a verdict, for later jobs of a workflow.

use crate::app::check::Finished;
use qa_contracts::v1::WorkflowAgent;
use qa_core::qa_report::{RunDetails, qa_report};
use qa_core::workflow::{self, WorkflowEvent};

/// The agent that the workflow's state at head and what the gates say lead to; none without a state there, or with one
/// that cannot be read, which `qa-skill workflow` says more about.
pub(super) fn next_agent(finished: &Finished) -> Option<WorkflowAgent> {
    let state = workflow::parse_state(finished.inputs.gates.workflow_state.as_ref()?.as_bytes()).ok()?;
    let derived = &finished.outcome;
    let status = qa_report(&derived.plans, &derived.results, RunDetails::default())?.status;
    let when = state.last_transition.clone();
    let looked_at = workflow::advance(&state, WorkflowEvent::PullRequest, &when).ok()?;
    Some(workflow::advance(&looked_at, WorkflowEvent::Verdict(status), &when).ok()?.next_agent)
}
