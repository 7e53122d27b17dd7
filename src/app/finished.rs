//! A finished run, as commands and the action report it.

use super::inputs::Opened;
use super::store_run::Stored;
use qa_contracts::v1::{SkillInput, SkillResult};
use qa_core::plan::PlanKind;
use qa_run::derive::Outcome;
use qa_run::inputs::Inputs;

/// A finished run.
pub(crate) struct Finished {
    pub(crate) skill_input: SkillInput,
    pub(crate) inputs: Inputs,
    pub(crate) outcome: Outcome,
    pub(crate) result: SkillResult,
    /// The proof; `None` if the head is no commit.
    pub(crate) stored: Option<Stored>,
    /// The repository that was judged.
    pub(crate) opened: Opened,
}

impl Finished {
    /// Returns the proof of a run that judged a commit.
    pub(crate) fn proof(&self) -> &Stored {
        self.stored.as_ref().expect("a run that judged a commit is stored")
    }

    /// Returns whether the policy declares any gate.
    pub(crate) fn has_gates(&self) -> bool {
        self.outcome.plans.iter().any(|plan| PlanKind::from_lens_id(&plan.lens_id).gate().is_some())
    }
}
