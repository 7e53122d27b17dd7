//! Runs of a head that were stored as artifacts of this repository's workflow runs.

use std::path::PathBuf;

use tempfile::TempDir;

use crate::app::baseline;
use crate::app::drift_check::{other_engine, runs_below, temporary_archive};
use crate::app::exit::Failure;
use crate::app::judged_run::JudgedRun;
use crate::app::progress::TerminalProgress;
use crate::app::verify::{Source, replay};
use crate::config::ActionEnvironment;
use crate::publish::WorkflowRun;
use crate::publish::artifact::{ArtifactName, DEFAULT_NAME, ListedArtifact, Repository};
use crate::store::{Caps, RunDirectory, read_ledger, unpack};
use qa_contracts::artifact::Artifact;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{ObserverLedger, RecordedReplies, ReviewedHunk};
use qa_core::ledger::last_turn;
use qa_run::gates::Baseline;
use qa_run::http::Http;
use qa_run::ports::Cancellation;

/// Name of the directory that holds a ledger in an artifact, beside the run directory.
pub(crate) const LEDGER_DIRECTORY: &str = "observer";
/// Maximum number of workflow runs whose artifacts are looked for, the newest first.
const MOST_RUNS: usize = 10;

/// The newest stored run of a head.
pub(crate) enum Stored {
    Judged(Box<StoredRun>),
    /// Its artifact is refused, with the code of the reason.
    Refused(Code),
    Missing,
}

/// A run of an artifact.
pub(crate) struct StoredRun {
    pub(crate) run: JudgedRun,
    path: PathBuf,
    /// Directory that the artifact is unpacked into.
    directory: TempDir,
}

impl StoredRun {
    /// Reads the ledger that ends with the run.
    pub(crate) fn ledger(&self) -> Result<ObserverLedger, Code> {
        let path = self.directory.path().join(LEDGER_DIRECTORY).join(ObserverLedger::FILE);
        match read_ledger(&path) {
            Ok(ledger) if self.run.is_turn(last_turn(&ledger)) => Ok(ledger),
            Ok(_) => Err(Code::LedgerChainBroken),
            Err(error) => Err(error.code()),
        }
    }

    /// Derives the run again from its recording. What another build of qa-skill judged is not held against this one.
    pub(crate) fn follows(&self) -> Result<(), Code> {
        if other_engine(&self.path).is_some() {
            return Ok(());
        }
        // The phases of this run are not those of the step.
        let (cancellation, progress) = (Cancellation::default(), TerminalProgress::new(true));
        let replayed = RunDirectory::open(&self.path)
            .map_err(Failure::from)
            .and_then(|run| replay(&run, Source::Recording, &cancellation, &progress));
        match replayed {
            Ok(replayed) if replayed.difference.is_none() => Ok(()),
            Ok(_) => Err(Code::DeterminismDriftDetected),
            Err(failure) => Err(failure.code.unwrap_or(Code::InternalError)),
        }
    }

    /// Returns the findings of reviews that the run knew.
    pub(crate) fn known_hunks(&self) -> Result<Vec<ReviewedHunk>, Failure> {
        let replies: RecordedReplies = RunDirectory::open(&self.path)?.artifact_or_default()?;
        Ok(replies.known)
    }

    /// Reads what the run's gates read and ran.
    pub(crate) fn baseline(&self) -> Result<Baseline, Failure> {
        baseline::open(&self.path)
    }
}

/// Artifacts of the repository that the step runs in.
pub(crate) struct StoredRuns<'a> {
    environment: &'a ActionEnvironment,
    repository: Repository<'a>,
    name: ArtifactName,
}

impl<'a> StoredRuns<'a> {
    pub(crate) fn new(environment: &'a ActionEnvironment, http: &'a dyn Http) -> Result<Self, Failure> {
        let inputs = &environment.inputs;
        let name = ArtifactName::new(inputs.artifact_name.as_deref().unwrap_or(DEFAULT_NAME))?;
        let repository = Repository {
            http,
            api: environment.artifacts.api().unwrap_or_default().to_owned(),
            name: environment.context.repository.clone(),
            token: inputs.token.clone(),
        };
        Ok(Self { environment, repository, name })
    }

    /// Returns the newest stored run of a head among workflow runs, and the workflow run that stored it.
    pub(crate) fn newest<'r>(
        &self,
        head: &CommitId,
        runs: &'r [WorkflowRun],
        cancellation: &Cancellation,
    ) -> Result<(Stored, Option<&'r WorkflowRun>), Failure> {
        for run in runs.iter().take(MOST_RUNS) {
            if let Some(artifact) = self.repository.artifact_of_run(&self.name, run.id)? {
                let stored = self.open(&artifact, head)?;
                // A refusal may be the effect of a stop.
                cancellation.check()?;
                return Ok((stored, Some(run)));
            }
        }
        Ok((Stored::Missing, None))
    }

    fn open(&self, artifact: &ListedArtifact, head: &CommitId) -> Result<Stored, Failure> {
        let scratch = self.environment.artifacts.scratch();
        let mut archive = temporary_archive(&scratch)?;
        self.repository.download(artifact, Caps::DEFAULT.archive_bytes, archive.as_file_mut())?;
        let directory = match unpack(archive.path(), Caps::DEFAULT, &scratch) {
            Ok(directory) => directory,
            Err(error) => return Ok(Stored::Refused(error.code())),
        };
        // The last attempt of a key is the last by name. A run is a directory of the archive, and none inside another one.
        let mut runs = runs_below(directory.path());
        runs.retain(|run| run.parent() == Some(directory.path()));
        let Some(path) = runs.pop() else {
            return Ok(Stored::Refused(Code::RecordingMissing));
        };
        let run = match JudgedRun::open(&path) {
            Ok(run) if run.judged().change_set.head_sha == *head => run,
            Ok(_) => return Ok(Stored::Refused(Code::HeadSuperseded)),
            Err(failure) => return Ok(Stored::Refused(failure.code.unwrap_or(Code::InternalError))),
        };
        Ok(Stored::Judged(Box::new(StoredRun { run, path, directory })))
    }
}
