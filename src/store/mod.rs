//! The artifact root: run directories, written completely or not at all, and verified when they are read.

mod archive;
mod beside;
mod drive;
mod lock;
mod part;
mod read;
mod replies;
mod root;
pub(crate) mod rubrics;
mod write;

pub(crate) use archive::{ArchiveError, Caps, Packed, pack, unpack};
pub(crate) use beside::{read_attestation, read_ledger};
pub(crate) use drive::DriveDirectory;
pub(crate) use lock::RunLock;
pub(crate) use part::{fresh_directory, read_part, write_beside, write_part};
pub(crate) use read::{RunDirectory, intact_trace};
pub(crate) use replies::Replies;
pub(crate) use root::ArtifactRoot;
pub(crate) use write::{Entry, PartedEntry, PublishedRun, RunWriter};

use qa_contracts::codes::Code;
use qa_core::attestation::AttestationError;
use qa_core::ledger::LedgerError;
use qa_core::masking::sanitize_cut;

/// Prefix of the names of staging directories.
const STAGING_PREFIX: &str = ".tmp-";

/// Error of storing or reading a run. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    #[error("use {path} as artifact root: {reason}")]
    UnsafeRoot { path: String, reason: String },
    #[error("write {path}: {source}")]
    Write { path: String, source: std::io::Error },
    #[error("read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("read {path}: it was deleted after it was written: the manifest lists it")]
    Missing { path: String },
    #[error("accept {path}: {reason}")]
    Invalid { path: String, pointer: String, reason: String },
    #[error("read {path}: there is no such file")]
    NoLedger { path: String },
    #[error("read {path}: {source}")]
    LedgerNotRead { path: String, source: std::io::Error },
    #[error("accept {path}: {reason}")]
    Ledger { path: String, reason: LedgerError },
    #[error("read {path}: {source}")]
    AttestationNotRead { path: String, source: std::io::Error },
    #[error("accept {path}: {reason}")]
    Attestation { path: String, reason: AttestationError },
}

impl StoreError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::UnsafeRoot { .. } => Code::ArtifactRootUnsafe,
            Self::Write { .. } => Code::ArtifactWriteFailed,
            Self::Missing { path } if path.starts_with("recordings/") => Code::RecordingMissing,
            Self::NoLedger { .. } => Code::LedgerMissing,
            Self::LedgerNotRead { .. } => Code::LedgerInvalid,
            Self::Ledger { reason, .. } => reason.code(),
            Self::AttestationNotRead { .. } | Self::Attestation { .. } => Code::AttestationInvalid,
            Self::Missing { .. } | Self::Read { .. } | Self::Invalid { .. } => Code::ArtifactSchemaInvalid,
        }
    }

    fn not_written(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Write { path: display_path(path), source }
    }

    fn not_read(path: &std::path::Path, source: std::io::Error) -> Self {
        Self::Read { path: display_path(path), source }
    }
}

/// Returns a path for messages, escaped, since it may hold text from the repository.
fn display_path(path: &std::path::Path) -> String {
    sanitize_cut(&path.display().to_string(), 300)
}
