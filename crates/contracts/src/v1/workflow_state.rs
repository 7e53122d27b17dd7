//! `workflow-state.json`: where the work on a feature stands, and whose turn it is (S004-10…15). Names are the seed's.

use serde::{Deserialize, Serialize};

use super::{WorkflowAgent, WorkflowPhase, WorkflowTrigger};

/// A step from one phase to the next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowStep {
    /// Phase before the step.
    pub from: WorkflowPhase,
    /// Phase after the step.
    pub to: WorkflowPhase,
    /// When, as ISO 8601.
    pub timestamp: String,
    /// Cause of the step, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub triggered_by: Option<WorkflowTrigger>,
}

/// State of the work on a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowState {
    /// Current phase.
    pub current_state: WorkflowPhase,
    /// Whose turn it is; follows from the phase.
    pub next_agent: WorkflowAgent,
    /// The feature that is worked on; null for none.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub current_feature_id: Option<u64>,
    /// Number of times in a row that QA sent the feature back.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub qa_retries: u64,
    /// Time at which the phase was entered, as ISO 8601.
    pub last_transition: String,
    /// Every step so far, the oldest first.
    pub history: Vec<WorkflowStep>,
}
