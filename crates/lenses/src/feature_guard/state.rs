//! Compares the workflow state of both sides: which edits would choose what later changes are judged by.

use super::STATE_EDITED;
use super::anchors::Anchors;
use crate::contract::Draft;
use qa_contracts::v1::{WorkflowPhase, WorkflowState};
use qa_core::json_places;
use qa_core::packet::Packet;
use qa_core::workflow;

/// A fault of an edit, with the JSON pointer of the member that shows it.
struct StateFault {
    pointer: &'static str,
    summary: String,
}

/// Reports an edit of a workflow state that only QA may make. What was no state at the base is not guarded.
pub(super) fn judge(packet: &Packet<'_>, base: &str, head: Option<&str>) -> Option<Draft> {
    let before = workflow::parse_state(base.as_bytes()).ok()?;
    let anchors = Anchors::new(packet, base, head.unwrap_or(""));
    let Some(text) = head else {
        let summary = "workflow state is deleted or moved to a path that is not guarded".to_owned();
        return Some(anchors.on_gone_file(STATE_EDITED, summary));
    };
    let fault = match workflow::parse_state(text.as_bytes()) {
        Ok(after) => fault(&before, &after)?,
        Err(error) => {
            let summary = "workflow state cannot be parsed, so no later change could be judged by it";
            let draft = anchors.on_line(STATE_EDITED, 1, summary);
            return Some(draft.with("error", error.to_string()));
        }
    };
    let place = json_places::find(text, fault.pointer);
    let draft = anchors.at_head(STATE_EDITED, place, &fault.summary);
    Some(draft.unwrap_or_else(|| anchors.on_line(STATE_EDITED, 1, &fault.summary)))
}

fn fault(before: &WorkflowState, after: &WorkflowState) -> Option<StateFault> {
    let is_another = before.current_feature_id != after.current_feature_id;
    if let Some(id) = before.current_feature_id.filter(|_| is_another && !is_done(before)) {
        let now = match after.current_feature_id {
            Some(id) => format!("feature {id}"),
            None => "no feature".to_owned(),
        };
        let summary = format!("workflow moves from feature {id} to {now} before QA passed {id}");
        return Some(StateFault { pointer: "/current_feature_id", summary });
    }
    let phase = after.current_state;
    if phase != before.current_state && matches!(phase, WorkflowPhase::QaPassed | WorkflowPhase::Complete) {
        let summary = format!("workflow is set to {phase}, but not by QA");
        return Some(StateFault { pointer: "/current_state", summary });
    }
    (!is_another && after.qa_retries < before.qa_retries).then(|| StateFault {
        pointer: "/qa_retries",
        summary: format!(
            "count of QA's refusals is lowered from {} to {}",
            before.qa_retries, after.qa_retries
        ),
    })
}

/// Returns whether QA passed the current feature, and work on it has not begun again.
fn is_done(state: &WorkflowState) -> bool {
    match state.current_state {
        WorkflowPhase::QaPassed | WorkflowPhase::Complete => true,
        WorkflowPhase::DevReady => {
            matches!(state.history.last(), Some(step) if step.from == WorkflowPhase::QaPassed)
        }
        WorkflowPhase::Start
        | WorkflowPhase::Initializer
        | WorkflowPhase::Dev
        | WorkflowPhase::QaReady
        | WorkflowPhase::Qa
        | WorkflowPhase::DevFeedback => false,
    }
}
