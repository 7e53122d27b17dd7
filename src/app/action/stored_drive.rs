//! A session that a workflow run stored as its artifact. Nothing of it is believed before it is verified.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::FETCH_BUDGET;
use crate::app::client::client;
use crate::app::drift_check::temporary_archive;
use crate::app::exit::Failure;
use crate::config::ActionEnvironment;
use crate::publish::artifact::{ArtifactName, Repository};
use crate::store::{Caps, DriveDirectory, unpack};
use qa_contracts::codes::Code;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::v1::DriveSession;
use qa_core::canonical;
use qa_run::ports::Cancellation;

/// Name of the artifact with a session.
pub(super) const ARTIFACT: &str = "qa-skill-drive";

/// Makes the failure of a session that is not taken, from the reason.
pub(super) type Refusal = fn(&str) -> Failure;

/// An unpacked session.
pub(super) struct StoredDrive {
    pub(super) session: DriveSession,
    /// Directory of the session.
    pub(super) path: PathBuf,
    /// Holds the directory, which is removed with it.
    _unpacked: TempDir,
}

impl StoredDrive {
    /// Downloads the session of a workflow run, and unpacks it; `None` where the run has no artifact of the name.
    pub(super) fn fetch(
        environment: &ActionEnvironment,
        name: &str,
        run: u64,
        refused: Refusal,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Option<Self>, Failure> {
        let name = ArtifactName::new(name)?;
        let http = client(FETCH_BUDGET, cancellation)?;
        let repository = Repository {
            http: &http,
            api: environment.artifacts.api().unwrap_or_default().to_owned(),
            name: environment.context.repository.clone(),
            token: environment.inputs.token.clone(),
        };
        let Some(artifact) = repository.artifact_of_run(&name, run)? else { return Ok(None) };
        let scratch = environment.artifacts.scratch();
        let mut archive = temporary_archive(&scratch)?;
        repository.download(&artifact, Caps::DEFAULT.archive_bytes, archive.as_file_mut())?;
        let unpacked = unpack(archive.path(), Caps::DEFAULT, &scratch)?;
        let path = session_in(unpacked.path(), refused)?;
        match DriveDirectory::open(&path).session()? {
            Some(session) => Ok(Some(Self { session, path, _unpacked: unpacked })),
            None => Err(refused("its artifact has no session")),
        }
    }

    /// Downloads the session of a workflow run. Fails where the run has none.
    pub(super) fn fetch_existing(
        environment: &ActionEnvironment,
        name: &str,
        run: u64,
        refused: Refusal,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        Self::fetch(environment, name, run, refused, cancellation)?.ok_or_else(|| {
            let message = format!("workflow run {run} has no artifact `{name}`");
            Failure::with_code(Code::ArtifactUnavailable, message)
        })
    }

    /// Digest of the session, by which a check run and the commands of people name it.
    pub(super) fn digest(&self) -> Sha256Hex {
        digest(&self.session)
    }
}

/// Returns the digest of a session.
pub(super) fn digest(session: &DriveSession) -> Sha256Hex {
    canonical::digest(session).expect("a session that was read has a canonical form")
}

/// Returns the only session below a directory.
fn session_in(directory: &Path, refused: Refusal) -> Result<PathBuf, Failure> {
    let entries = std::fs::read_dir(directory).map_err(|error| refused(&error.to_string()))?;
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| refused(&error.to_string()))?.path();
        if DriveDirectory::is_one(&path) {
            sessions.push(path);
        }
    }
    match sessions.len() {
        1 => Ok(sessions.remove(0)),
        count => Err(refused(&format!("its artifact has {count} sessions"))),
    }
}
