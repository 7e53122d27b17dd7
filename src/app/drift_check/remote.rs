//! Downloads recent run artifacts of a repository one by one and replays them.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::super::exit::Failure;
use super::local::{not_replayed, replay_archive};
use super::replay::{Replayer, entry};
use crate::publish::artifact::{ArtifactError, ArtifactName, ListedArtifact, Repository, moment};
use crate::store::Caps;
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftListing, DriftReport, DriftRun};

/// Artifacts to replay.
pub(crate) struct RemoteRuns<'a> {
    pub(crate) repository: Repository<'a>,
    pub(crate) name: ArtifactName,
    pub(crate) since_days: u64,
    pub(crate) limit: usize,
    pub(crate) now: SystemTime,
    /// Directory of downloads while they are replayed.
    pub(crate) scratch: &'a Path,
}

impl From<ArtifactError> for Failure {
    fn from(error: ArtifactError) -> Self {
        Self { hint: error.hint().to_owned(), ..Self::with_code(error.code(), format!("failed to {error}")) }
    }
}

/// Replays the recent runs of a repository. A listing that fails is an error; an artifact that cannot be downloaded is
/// reported as an entry.
pub(crate) fn check_artifacts(
    wanted: &RemoteRuns<'_>,
    replayer: &Replayer<'_>,
) -> Result<DriftReport, Failure> {
    let age = Duration::from_secs(wanted.since_days.saturating_mul(86_400));
    let oldest = wanted.now.checked_sub(age).and_then(moment).unwrap_or_default();
    let listed = wanted.repository.list_since(&wanted.name, &oldest)?;
    let recent: Vec<&ListedArtifact> =
        listed.artifacts.iter().filter(|artifact| is_recent(artifact, &oldest)).collect();
    let mut usable: Vec<&ListedArtifact> =
        recent.iter().copied().filter(|artifact| !artifact.expired).collect();
    // Anybody can make runs of forks, so they come last and cannot push other runs beyond the limit.
    usable.sort_by_key(|artifact| artifact.is_foreign());
    let foreign = usable.iter().filter(|artifact| artifact.is_foreign()).count();
    let listing = DriftListing {
        repository: wanted.repository.name.clone(),
        artifact_name: wanted.name.as_str().to_owned(),
        since_days: wanted.since_days,
        found: recent.len() as u64,
        expired: (recent.len() - usable.len()) as u64,
        foreign: foreign as u64,
        beyond_limit: usable.len().saturating_sub(wanted.limit) as u64,
        complete: listed.complete,
    };
    let mut runs = Vec::new();
    for artifact in usable.into_iter().take(wanted.limit) {
        replayer.cancellation.check()?;
        runs.extend(replay_artifact(wanted, replayer, artifact)?);
    }
    Ok(super::report(runs, Some(listing)))
}

/// Returns whether an artifact is not older than a date. One without a date counts as recent.
fn is_recent(artifact: &ListedArtifact, oldest: &str) -> bool {
    match &artifact.created_at {
        Some(date) => date.as_str() >= oldest,
        None => true,
    }
}

/// Creates a file for the download of an archive.
pub(crate) fn temporary_archive(scratch: &Path) -> Result<tempfile::NamedTempFile, Failure> {
    tempfile::Builder::new().prefix("qa-skill-").tempfile_in(scratch).map_err(|error| {
        let message = format!("failed to create a temporary file for the download: {error}");
        Failure::with_code(Code::ArtifactWriteFailed, message)
    })
}

fn replay_artifact(
    wanted: &RemoteRuns<'_>,
    replayer: &Replayer<'_>,
    artifact: &ListedArtifact,
) -> Result<Vec<DriftRun>, Failure> {
    let entry = DriftRun {
        artifact_id: Some(artifact.id),
        workflow_run_id: artifact.workflow_run.as_ref().and_then(|run| run.id),
        foreign: artifact.is_foreign(),
        ..entry(&format!("artifact {}", artifact.id))
    };
    let mut file = temporary_archive(wanted.scratch)?;
    match wanted.repository.download(artifact, Caps::DEFAULT.archive_bytes, file.as_file_mut()) {
        Ok(_) => replay_archive(replayer, file.path(), entry, wanted.scratch),
        Err(error) => {
            replayer.cancellation.check()?;
            Ok(vec![not_replayed(entry, error.code(), format!("failed to {error}"))])
        }
    }
}
