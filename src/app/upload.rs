//! Stores run directories as one artifact of the running workflow.

use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::exit::Failure;
use crate::publish::artifact::{ArtifactName, RunService, Upload, expiry, upload};
use crate::store::{ArchiveError, Packed, RunDirectory, pack};
use qa_contracts::codes::Code;
use qa_contracts::secret::Secret;
use qa_run::http::Http;

/// Directories to store, with their retention.
pub(crate) struct Storing<'a> {
    /// Run directories.
    pub(crate) directories: &'a [PathBuf],
    pub(crate) name: &'a ArtifactName,
    /// Requested retention in days; `None` for the repository's own.
    pub(crate) retention_days: Option<u64>,
    /// Retention limit of the repository, in days.
    pub(crate) most_retention_days: Option<u64>,
    /// Secrets that the artifact must not contain.
    pub(crate) secrets: &'a [Secret],
    pub(crate) now: SystemTime,
    /// Seed for retry jitter.
    pub(crate) seed: &'a str,
    pub(crate) scratch: &'a Path,
}

/// A stored artifact.
pub(crate) struct StoredArtifact {
    pub(crate) id: u64,
    pub(crate) packed: Packed,
    /// True if the same bytes were uploaded before.
    pub(crate) already_there: bool,
    /// Retention in days, if one was requested.
    pub(crate) days: Option<u64>,
}

impl From<ArchiveError> for Failure {
    fn from(error: ArchiveError) -> Self {
        Self::with_code(error.code(), format!("failed to {error}"))
    }
}

/// Verifies run directories, packs them and uploads the archive.
pub(crate) fn store_artifact(
    http: &dyn Http,
    service: &RunService,
    storing: &Storing<'_>,
) -> Result<StoredArtifact, Failure> {
    for directory in storing.directories {
        RunDirectory::open(directory)?;
    }
    store_directories(http, service, storing)
}

/// Packs and uploads directories that this process wrote, which need no verification.
pub(crate) fn store_directories(
    http: &dyn Http,
    service: &RunService,
    storing: &Storing<'_>,
) -> Result<StoredArtifact, Failure> {
    let mut file = tempfile::tempfile_in(storing.scratch).map_err(pack_failure)?;
    let directories: Vec<&Path> = storing.directories.iter().map(PathBuf::as_path).collect();
    let packed = pack(&directories, storing.secrets, &mut file)?;
    file.seek(SeekFrom::Start(0)).map_err(pack_failure)?;
    let expiry = expiry(storing.now, storing.retention_days, storing.most_retention_days);
    let (expires_at, days) = expiry.map(|expiry| (expiry.moment, expiry.days)).unzip();
    let uploaded = upload(
        http,
        service,
        &mut Upload {
            name: storing.name,
            archive: &mut file,
            bytes: packed.bytes,
            sha256: &packed.sha256,
            expires_at,
            seed: storing.seed,
        },
    )?;
    Ok(StoredArtifact { id: uploaded.id, packed, already_there: uploaded.already_there, days })
}

fn pack_failure(error: std::io::Error) -> Failure {
    Failure::with_code(Code::ArtifactWriteFailed, format!("failed to pack the run: {error}"))
}
