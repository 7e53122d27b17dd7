//! One stored run, held against a replay or another run: same, moved, damaged, or not to be replayed.

use std::path::Path;

use super::super::drift::{self, Difference};
use super::super::exit::Failure;
use super::super::pull_request::{pull_request_refs, recorded_pull_request};
use super::super::verify::{Source, replay};
use super::live::Live;
use super::mover::{Preimages, moved, mover_of_file};
use crate::git::{GitError, OpenRepository, Remote};
use crate::store::{RunDirectory, intact_trace};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    ChangeSet, Conclusion, DriftDifference, DriftRun, DriftSource, DriftStatus, FinalVerdict, Mover,
    SkillInput, Trace,
};
use qa_core::masking::{self, sanitize_cut};
use qa_run::keys::ENGINE_VERSION;
use qa_run::ports::{Cancellation, Progress};

/// Source of a replay.
#[derive(Clone, Copy)]
pub(crate) enum Against<'a> {
    /// Its own recording.
    Recording,
    /// The objects of this repository; without them there is no replay.
    Repository(&'a Path),
    /// The objects of this checkout and, where it lacks some, of its remote; without them the recording.
    Completed { checkout: &'a Path, remote: &'a Remote<'a> },
}

/// Inputs of every replay.
pub(crate) struct Replayer<'a> {
    pub(crate) against: Against<'a>,
    pub(crate) cancellation: &'a Cancellation,
    pub(crate) progress: &'a dyn Progress,
    /// Asks models again, where that is wanted.
    pub(crate) live: Option<&'a Live>,
}

/// An entry of which nothing is known yet but where it is.
pub(super) fn entry(place: &str) -> DriftRun {
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

/// Record of a run that could be opened.
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
    /// Replays the run of a directory. What goes wrong becomes part of the entry; only the end of the whole does not.
    pub(crate) fn replay(&self, path: &Path, mut entry: DriftRun) -> Result<DriftRun, Failure> {
        match self.try_replay(path, &mut entry) {
            Ok(()) => {}
            Err(failure) => {
                self.cancellation.check()?;
                could_not(&mut entry, path, &failure);
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
        judge(entry, replayed.difference, moved(recorded.preimages(), derived));
        // What does not follow from its record is no record to compare with.
        if let Some(live) = self.live.filter(|_| entry.status == DriftStatus::Same && !entry.foreign) {
            entry.models = live.ask(&recorded.run, self.cancellation, self.progress)?;
        }
        if let Some(reason) = unavailable {
            entry.detail.push_str(&format!(
                "; from the recording alone, as the repository was not to be had: {reason}"
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

/// Holds one run directory against another. The second's entry is not made: the first says what differs from it.
pub(super) fn compare(left: &Path, right: &Path) -> DriftRun {
    let mut entry = entry(&left.display().to_string());
    entry.source = DriftSource::Run;
    let recorded = match open(left) {
        Ok(recorded) => recorded,
        Err(failure) => {
            could_not(&mut entry, left, &failure);
            return entry;
        }
    };
    recorded.describe(&mut entry);
    let compared = (|| {
        let other = open(right)?;
        entry.derived_conclusion = Some(other.conclusion);
        let difference = drift::compare(&recorded.run, &other.run)?;
        let environment =
            if difference.is_none() { drift::compare_whole(&recorded.run, &other.run)? } else { None };
        judge(&mut entry, difference, moved(recorded.preimages(), other.preimages()));
        if let Some(difference) = environment {
            entry.mover = Some(Mover::Environment);
            entry.detail = "the same run; only what may differ from machine to machine does".to_owned();
            entry.difference = Some(sanitize_difference(difference));
        }
        Ok(())
    })();
    if let Err(failure) = compared {
        entry.place = masking::sanitize(&right.display().to_string());
        could_not(&mut entry, right, &failure);
    }
    entry
}

/// Fills in what a difference means.
fn judge(entry: &mut DriftRun, difference: Option<Difference>, moved: Option<(Mover, String)>) {
    let Some(difference) = difference else {
        entry.status = DriftStatus::Same;
        entry.detail = "every digest and the verdict follow".to_owned();
        return;
    };
    let (mover, why) = moved.unwrap_or_else(|| {
        let mover = mover_of_file(&difference.path, &difference.pointer);
        let why = match mover {
            Mover::Policy => "the base's policy is not the recorded one",
            Mover::Input => "what was judged is not what was recorded",
            Mover::Engine
            | Mover::LensVersion
            | Mover::Rubric
            | Mover::Environment
            | Mover::Recording
            | Mover::Unexplained => {
                "nothing that the key covers differs: a result was edited, or the engine is not deterministic"
            }
        };
        (mover, why.to_owned())
    });
    let engine = matches!(mover, Mover::Engine | Mover::LensVersion);
    (entry.status, entry.code) = if engine {
        (DriftStatus::EngineChanged, Some(Code::EngineChanged))
    } else {
        (DriftStatus::Drift, Some(Code::DeterminismDriftDetected))
    };
    let verdict = match (entry.recorded_conclusion, entry.derived_conclusion) {
        (Some(was), Some(is)) if was != is => format!("the verdict changes from {was} to {is}"),
        _ => "the verdict is the same".to_owned(),
    };
    entry.detail =
        format!("{}; {verdict}; {}", sanitize_cut(&why, 400), masking::sanitize(&difference.to_string()));
    entry.mover = Some(mover);
    entry.difference = Some(sanitize_difference(difference));
}

fn sanitize_difference(difference: Difference) -> DriftDifference {
    DriftDifference {
        file: sanitize_cut(&difference.path, 300),
        pointer: sanitize_cut(&difference.pointer, 300),
        recorded: difference.recorded,
        derived: difference.derived,
    }
}

/// Fills in why there was no replay. A directory whose bytes are as its manifest says, and that another engine made, is
/// not damaged: this engine just cannot read it.
fn could_not(entry: &mut DriftRun, path: &Path, failure: &Failure) {
    entry.difference = None;
    entry.status = DriftStatus::CouldNotReplay;
    entry.code = Some(failure.code.unwrap_or(Code::InternalError));
    entry.detail = failure.message.clone();
    if matches!(failure.code, Some(Code::ArtifactSchemaInvalid | Code::RecordingMissing)) {
        entry.mover = Some(Mover::Recording);
    }
    let trace = intact_trace(path);
    let version = trace.as_ref().and_then(|trace| trace.pointer("/configPreimage/engineVersion")?.as_str());
    if let Some(version) = version.filter(|version| *version != ENGINE_VERSION) {
        let version = sanitize_cut(version, 80);
        entry.status = DriftStatus::EngineChanged;
        entry.code = Some(Code::EngineChanged);
        entry.mover = Some(Mover::Engine);
        entry.detail = format!(
            "made by another engine version: {version} → {ENGINE_VERSION}; this one cannot replay it: {}",
            failure.message
        );
        entry.made_by = Some(version);
    }
}
