//! Names the agent that acts after a verdict, for later jobs of a workflow.

use crate::app::finished::Finished;
use qa_contracts::v1::WorkflowAgent;
use qa_core::qa_report::{RunDetails, qa_report};
use qa_core::workflow::{self, WorkflowEvent};

/// Returns the next agent, by the workflow state of the base and the verdict; `None` if the base has no readable state.
/// `qa-skill workflow` reports errors of the state.
pub(super) fn next_agent(finished: &Finished) -> Option<WorkflowAgent> {
    let state = workflow::parse_state(finished.inputs.gates.workflow_state.as_ref()?.as_bytes()).ok()?;
    let derived = &finished.outcome;
    let details = RunDetails { conclusion: Some(derived.verdict.conclusion), ..RunDetails::default() };
    let status = qa_report(&derived.plans, &derived.results, details)?.status;
    let when = state.last_transition.clone();
    let in_review = workflow::advance(&state, WorkflowEvent::PullRequest, &when).ok()?;
    Some(workflow::advance(&in_review, WorkflowEvent::Verdict(status), &when).ok()?.next_agent)
}
