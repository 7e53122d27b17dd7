//! A stored run that was verified, as answers to commands need it.

use std::path::Path;

use super::exit::Failure;
use super::progress::TerminalProgress;
use super::verify::verify;
use qa_contracts::codes::Code;
use qa_contracts::v1::{ChangeSet, RunPhase, SkillResult};
use qa_core::masking::sanitize_cut;
use qa_core::phases::{RunEvent, next};
use qa_formats::answers::Judged;
use qa_run::ports::Cancellation;

/// A run that follows from its recording.
pub(crate) struct JudgedRun {
    result: SkillResult,
    change_set: ChangeSet,
    phase: RunPhase,
}

impl JudgedRun {
    /// Opens a run directory and derives it again; a difference is a failure.
    pub(crate) fn open(directory: &Path, cancellation: &Cancellation) -> Result<Self, Failure> {
        let verified = verify(directory, None, cancellation, &TerminalProgress::new(true))?;
        if let Some(difference) = verified.difference {
            let message = format!("the run does not follow from its recording: {difference}");
            return Err(Failure::with_code(Code::DeterminismDriftDetected, sanitize_cut(&message, 300)));
        }
        let phase = next(RunPhase::Active, RunEvent::concluded(verified.conclusion))?;
        Ok(Self { result: verified.run.artifact()?, change_set: verified.run.artifact()?, phase })
    }

    pub(crate) fn judged(&self) -> Judged<'_> {
        Judged { result: &self.result, change_set: &self.change_set, phase: self.phase }
    }
}
