//! Compares one stored run with its replay or with another run.

use std::path::Path;

use super::super::drift::{self, Difference};
use super::super::exit::Failure;
use super::super::pull_request::{pull_request_refs, recorded_pull_request};
use super::super::verify::{Source, replay};
use super::live::Live;
use super::mover::{Cause, Preimages, key_cause, mover_of_file, other_engine};
use crate::git::{GitError, OpenRepository, Remote};
use crate::store::RunDirectory;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    ChangeSet, Conclusion, DriftDifference, DriftRun, DriftSource, DriftStatus, FinalVerdict, Mover,
    SkillInput, Trace,
};
use qa_core::masking::{self, sanitize_cut};
use qa_run::ports::{Cancellation, Progress};

/// Source of a replay.
#[derive(Clone, Copy)]
pub(crate) enum Against<'a> {
    /// The run's own recording.
    Recording,
    /// The objects of this repository, which have to be complete.
    Repository(&'a Path),
    /// The objects of this checkout, completed from its remote; the recording if they are incomplete.
    Completed { checkout: &'a Path, remote: &'a Remote<'a> },
}

/// Inputs of every replay.
pub(crate) struct Replayer<'a> {
    pub(crate) against: Against<'a>,
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) progress: &'a dyn Progress,
    /// Comparison of new model answers with the recorded ones, if requested.
    pub(crate) live: Option<&'a Live>,
}

/// Returns an entry of which only the location is known.
pub(crate) fn entry(place: &str) -> DriftRun {
    DriftRun {
        place: masking::sanitize(place),
        artifact_id: None,
        workflow_run_id: None,
        foreign: false,
        execution_key: None,
        head_sha: None,
        made_by: None,
        source: DriftSource::Recording,
        status: DriftStatus::Same,
        code: None,
        mover: None,
        detail: String::new(),
        difference: None,
        recorded_conclusion: None,
        derived_conclusion: None,
        models: Vec::new(),
    }
}

/// A stored run, with the facts that a replay needs.
struct Recorded {
    run: RunDirectory,
    trace: Trace,
    change_set: ChangeSet,
    test_merge: Option<CommitId>,
    conclusion: Conclusion,
    /// Refs that may have its commits, if they cannot be fetched by id.
    refs: Vec<String>,
}

fn open(path: &Path) -> Result<Recorded, Failure> {
    let run = RunDirectory::open(path)?;
    let (trace, change_set) = (run.artifact()?, run.artifact()?);
    let conclusion = run.artifact::<FinalVerdict>()?.conclusion;
    let SkillInput { settings, test_merge_sha: test_merge, .. } = run.artifact()?;
    let refs = recorded_pull_request(&settings).map(pull_request_refs).unwrap_or_default();
    Ok(Recorded { run, trace, change_set, test_merge, conclusion, refs })
}

impl Recorded {
    fn preimages(&self) -> Preimages<'_> {
        Preimages { key: &self.trace.execution_key_preimage, config: &self.trace.config_preimage }
    }

    fn describe(&self, entry: &mut DriftRun) {
        entry.execution_key = Some(self.trace.execution_key.clone());
        entry.head_sha = Some(self.change_set.head_sha.clone());
        entry.made_by = Some(sanitize_cut(&self.trace.config_preimage.engine_version, 80));
        entry.recorded_conclusion = Some(self.conclusion);
    }
}

impl Replayer<'_> {
    /// Replays the run of a directory. Failures become part of the entry, except cancellation.
    pub(crate) fn replay(&self, path: &Path, mut entry: DriftRun) -> Result<DriftRun, Failure> {
        match self.try_replay(path, &mut entry) {
            Ok(()) => {}
            Err(failure) => {
                self.cancellation.check()?;
                describe_failure(&mut entry, path, &failure);
            }
        }
        Ok(entry)
    }

    fn try_replay(&self, path: &Path, entry: &mut DriftRun) -> Result<(), Failure> {
        let recorded = open(path)?;
        recorded.describe(entry);
        let (source, unavailable) = match self.source(&recorded) {
            Ok(source) => (source, None),
            Err(error) if matches!(self.against, Against::Completed { .. }) => {
                self.cancellation.check()?;
                (Source::Recording, Some(error.to_string()))
            }
            Err(error) => return Err(error.into()),
        };
        entry.source = match source {
            Source::Recording => DriftSource::Recording,
            Source::Repository(_) => DriftSource::Repository,
        };
        let replayed = replay(&recorded.run, source, self.cancellation, self.progress)?;
        entry.derived_conclusion = Some(replayed.conclusion);
        let derived = Preimages { key: &replayed.key_preimage, config: &replayed.config_preimage };
        describe_comparison(entry, replayed.difference, key_cause(recorded.preimages(), derived));
        // Only a run that follows from its recording can be compared with new answers.
        if let Some(live) = self.live.filter(|_| entry.status == DriftStatus::Same && !entry.foreign) {
            entry.models = live.compare_models(&recorded.run, self.cancellation, self.progress)?;
        }
        if let Some(reason) = unavailable {
            entry.detail.push_str(&format!(
                "; from the recording only, since the repository is not available: {reason}"
            ));
        }
        Ok(())
    }

    fn source(&self, recorded: &Recorded) -> Result<Source, GitError> {
        let (base, head) = (&recorded.change_set.base_sha, &recorded.change_set.head_sha);
        match self.against {
            Against::Recording => Ok(Source::Recording),
            Against::Repository(path) => OpenRepository::discover(path).map(Source::Repository),
            Against::Completed { checkout, remote } => OpenRepository::discover(checkout)?
                .completed(base, head, recorded.test_merge.as_ref(), Some(remote), &recorded.refs)
                .map(Source::Repository),
        }
    }
}

/// Compares two run directories. The entry is that of the first and describes the difference from the second.
pub(super) fn compare(left: &Path, right: &Path) -> DriftRun {
    let mut entry = entry(&left.display().to_string());
    entry.source = DriftSource::Run;
    let recorded = match open(left) {
        Ok(recorded) => recorded,
        Err(failure) => {
            describe_failure(&mut entry, left, &failure);
            return entry;
        }
    };
    recorded.describe(&mut entry);
    if let Err(failure) = compare_with(&recorded, right, &mut entry) {
        entry.place = masking::sanitize(&right.display().to_string());
        describe_failure(&mut entry, right, &failure);
    }
    entry
}

fn compare_with(recorded: &Recorded, right: &Path, entry: &mut DriftRun) -> Result<(), Failure> {
    let other = open(right)?;
    entry.derived_conclusion = Some(other.conclusion);
    let difference = drift::compare(&recorded.run, &other.run)?;
    let environment =
        if difference.is_none() { drift::compare_whole(&recorded.run, &other.run)? } else { None };
    describe_comparison(entry, difference, key_cause(recorded.preimages(), other.preimages()));
    if let Some(difference) = environment {
        entry.mover = Some(Mover::Environment);
        entry.detail = "the same run; only members that vary between machines differ".to_owned();
        entry.difference = Some(sanitize_difference(difference));
    }
    Ok(())
}

/// Fills in the result of a comparison.
fn describe_comparison(entry: &mut DriftRun, difference: Option<Difference>, cause: Option<Cause>) {
    let Some(difference) = difference else {
        entry.status = DriftStatus::Same;
        entry.detail = "every digest and the verdict are reproduced".to_owned();
        return;
    };
    let cause = cause.unwrap_or_else(|| {
        let mover = mover_of_file(&difference.path, &difference.pointer);
        let detail = match mover {
            Mover::Policy => "the policy of the base differs from the recorded one",
            Mover::Input => "the judged change differs from the recorded one",
            Mover::Engine
            | Mover::LensVersion
            | Mover::Rubric
            | Mover::Environment
            | Mover::Recording
            | Mover::Unexplained => {
                "the keys are equal: a result was edited, or the engine is not deterministic"
            }
        };
        Cause::new(mover, detail)
    });
    (entry.status, entry.code) = if cause.is_other_engine() {
        (DriftStatus::EngineChanged, Some(Code::EngineChanged))
    } else {
        (DriftStatus::Drift, Some(Code::DeterminismDriftDetected))
    };
    let verdict = match (entry.recorded_conclusion, entry.derived_conclusion) {
        (Some(was), Some(is)) => verdict_change(was, is),
        _ => "the verdict is the same".to_owned(),
    };
    let difference_text = masking::sanitize(&difference.to_string());
    entry.detail = format!("{}; {verdict}; {difference_text}", sanitize_cut(&cause.detail, 400));
    entry.mover = Some(cause.mover);
    entry.difference = Some(sanitize_difference(difference));
}

/// Describes what became of a verdict.
pub(crate) fn verdict_change(was: Conclusion, is: Conclusion) -> String {
    if was == is {
        "the verdict is the same".to_owned()
    } else {
        format!("the verdict changes from {was} to {is}")
    }
}

fn sanitize_difference(difference: Difference) -> DriftDifference {
    DriftDifference {
        file: sanitize_cut(&difference.path, 300),
        pointer: sanitize_cut(&difference.pointer, 300),
        recorded: difference.recorded,
        derived: difference.derived,
    }
}

/// Fills in why there was no replay. A directory of another engine that matches its manifest is not damaged: this engine
/// cannot read it.
fn describe_failure(entry: &mut DriftRun, path: &Path, failure: &Failure) {
    entry.difference = None;
    entry.status = DriftStatus::CouldNotReplay;
    entry.code = Some(failure.code.unwrap_or(Code::InternalError));
    entry.detail = failure.message.clone();
    if matches!(failure.code, Some(Code::ArtifactSchemaInvalid | Code::RecordingMissing)) {
        entry.mover = Some(Mover::Recording);
    }
    if let Some(engine) = other_engine(path) {
        entry.status = DriftStatus::EngineChanged;
        entry.code = Some(Code::EngineChanged);
        entry.mover = Some(Mover::Engine);
        entry.detail = format!("{}; this version cannot replay it: {}", engine.detail, failure.message);
        entry.made_by = Some(engine.version);
    }
}
