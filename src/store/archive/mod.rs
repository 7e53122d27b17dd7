//! Run directories as zip archives: packed to the same bytes every time, and unpacked within limits.

mod pack;
mod unpack;

pub(crate) use pack::{Packed, pack};
pub(crate) use unpack::{Caps, unpack};

use qa_contracts::codes::Code;

/// Error of an archive that was not created or extracted. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// The archive is refused; nothing of it is kept.
    #[error("accept the archive: {entry}{reason}")]
    Refused { entry: String, reason: String },
    #[error("archive {path}: {reason}")]
    Unfit { path: String, reason: &'static str },
    #[error("archive {path}: it contains a secret of the environment")]
    Secret { path: String },
    #[error("read {path}: {source}")]
    Read { path: String, source: std::io::Error },
    #[error("write {path}: {source}")]
    Write { path: String, source: std::io::Error },
}

impl ArchiveError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::Refused { .. } => Code::ArtifactArchiveRefused,
            Self::Secret { .. } => Code::ArtifactSecretFound,
            Self::Unfit { .. } | Self::Read { .. } => Code::ArtifactSchemaInvalid,
            Self::Write { .. } => Code::ArtifactWriteFailed,
        }
    }
}
