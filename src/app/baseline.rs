//! The baseline of a change: what a stored run read about the base commit.

use std::path::Path;

use super::drift_check::other_engine;
use super::exit::Failure;
use super::judged_run::JudgedRun;
use super::progress::TerminalProgress;
use super::verify::{Source, replay};
use crate::store::RunDirectory;
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::v1::{RecordedBaseline, RecordedExecution, RecordedGates};
use qa_core::masking::sanitize;
use qa_run::gates::Baseline;
use qa_run::ports::Cancellation;

/// Opens the run directory that a person named as baseline.
pub(crate) fn open_named(directory: &Path) -> Result<Baseline, Failure> {
    open(directory).map_err(|failure| {
        let path = sanitize(&directory.display().to_string());
        let message = format!("failed to take {path} as the baseline: {}", failure.message);
        let hint = "name the directory of a run whose head is the base commit, such as .qa-skill/runs/<key>, whose gates read reports or ran commands";
        Failure { message, hint: hint.to_owned(), ..failure }
    })
}

/// Opens a run directory, derives it again, and returns what its gates read and ran.
pub(crate) fn open(directory: &Path) -> Result<Baseline, Failure> {
    let run = RunDirectory::open(directory)?;
    if !run.has(RecordedGates::FILE) && !run.has(RecordedExecution::FILE) {
        let message = "the stored run read no report of a gate and ran no command of one";
        return Err(Failure::with_code(Code::RecordingMissing, message));
    }
    let (judged, policy) = JudgedRun::check(&run)?;
    if let Some(other) = other_engine(directory) {
        let message = format!("the stored run is {}", other.detail);
        return Err(Failure::with_code(Code::EngineChanged, message));
    }
    let replayed = replay(&run, Source::Recording, &Cancellation::default(), &TerminalProgress::new(true))?;
    if replayed.difference.is_some() {
        let message = "the stored run does not follow from its recording";
        return Err(Failure::with_code(Code::DeterminismDriftDetected, message));
    }
    let identity = RecordedBaseline {
        commit: judged.judged().change_set.head_sha.clone(),
        execution_key: run.hashes.execution_key.clone(),
        run_digest: run.hashes.run_digest.clone(),
    };
    Ok(Baseline {
        identity,
        policy,
        recorded: run.artifact_or_default()?,
        execution: run.artifact_or_default()?,
        change_set: judged.into_change_set(),
    })
}
