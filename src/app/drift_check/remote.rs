//! Runs that a repository keeps as artifacts: the recent ones of a name are fetched one by one and replayed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use super::super::exit::Failure;
use super::local::{refused, replay_archive};
use super::replay::{Replayer, entry};
use crate::publish::artifact::{ArtifactError, ArtifactName, Listed, Repository, moment};
use crate::store::Caps;
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

/// Replays the recent runs of a repository. That they could not be listed is a failure; that one of them could not be
/// fetched is an entry.
pub(crate) fn check_artifacts(
    wanted: &RemoteRuns<'_>,
    replayer: &Replayer<'_>,
) -> Result<DriftReport, Failure> {
    let age = Duration::from_secs(wanted.since_days.saturating_mul(86_400));
    let oldest = wanted.now.checked_sub(age).and_then(moment).unwrap_or_default();
    let listed = wanted.repository.list_since(&wanted.name, &oldest)?;
    // An artifact without a date cannot be said to be old.
    let is_recent = |artifact: &&Listed| artifact.created_at.as_ref().is_none_or(|date| *date >= oldest);
    let recent: Vec<&Listed> = listed.artifacts.iter().filter(is_recent).collect();
    let mut usable: Vec<&Listed> = recent.iter().copied().filter(|artifact| !artifact.expired).collect();
    // Anybody can make runs of forks, so they come after all of ours and cannot push one beyond the limit.
    usable.sort_by_key(|artifact| artifact.is_foreign());
    let foreign = usable.iter().filter(|artifact| artifact.is_foreign()).count();
    let listing = DriftListing {
        repository: wanted.repository.name.clone(),
        artifact_name: wanted.name.text().to_owned(),
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

fn replay_artifact(
    wanted: &RemoteRuns<'_>,
    replayer: &Replayer<'_>,
    artifact: &Listed,
) -> Result<Vec<DriftRun>, Failure> {
    let entry = DriftRun {
        artifact_id: Some(artifact.id),
        workflow_run_id: artifact.workflow_run.as_ref().and_then(|run| run.id),
        foreign: artifact.is_foreign(),
        ..entry(&format!("artifact {}", artifact.id))
    };
    let failed = |error: std::io::Error| {
        Failure::with_code(
            qa_contracts::codes::Code::ArtifactWriteFailed,
            format!("failed to create a temporary file for downloads: {error}"),
        )
    };
    let mut file =
        tempfile::Builder::new().prefix("qa-skill-").tempfile_in(wanted.scratch).map_err(failed)?;
    match wanted.repository.download(artifact, Caps::DEFAULT.archive_bytes, file.as_file_mut()) {
        Ok(_) => replay_archive(replayer, file.path(), entry, wanted.scratch),
        Err(error) => {
            replayer.cancellation.check()?;
            Ok(vec![refused(entry, error.code(), format!("failed to {error}"))])
        }
    }
}
