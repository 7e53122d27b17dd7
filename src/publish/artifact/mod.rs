//! Artifacts of workflow runs: uploads to the run's own service, listings and downloads through the REST API.

mod exchange;
mod merged;
mod of_run;
mod repository;
mod service;
mod upload;

pub(crate) use repository::{ListedArtifact, Repository};
pub(crate) use service::{RunService, expiry, moment};
pub(crate) use upload::{Upload, upload};

use qa_contracts::codes::Code;
use qa_run::http::HttpError;

/// Default name of a run's artifact. It is constant, since the nightly replay can only request exact names.
pub(crate) const DEFAULT_NAME: &str = "qa-skill-run";
/// Highest ordinal of an artifact's name in a workflow run: the largest number of jobs in a matrix.
pub(crate) const MOST_NAMES: usize = 256;
/// Characters that an artifact's name cannot have, since some file systems forbid them.
const FORBIDDEN: &[char] = &['"', ':', '<', '>', '|', '*', '?', '\r', '\n', '\\', '/'];

/// The name of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ArtifactName(String);

impl ArtifactName {
    pub(crate) fn new(name: &str) -> Result<Self, ArtifactError> {
        match Self::fault(name) {
            Some(reason) => {
                Err(ArtifactError::Name { name: qa_core::masking::sanitize_cut(name, 80), reason })
            }
            None => Ok(Self(name.to_owned())),
        }
    }

    fn fault(name: &str) -> Option<String> {
        if name.is_empty() {
            return Some("it is empty".to_owned());
        }
        if name.len() > 200 {
            return Some("it is longer than 200 bytes".to_owned());
        }
        if name.trim() != name {
            return Some("it begins or ends with white space".to_owned());
        }
        let forbidden =
            name.chars().find(|character| FORBIDDEN.contains(character) || character.is_control());
        forbidden.map(|character| format!("it contains {character:?}"))
    }

    /// Returns the name of a further artifact of a workflow run; `number` starts at 2.
    pub(crate) fn ordinal(&self, number: usize) -> Self {
        Self(format!("{}-{number}", self.0))
    }

    /// Returns the name for one of several shards.
    pub(crate) fn of_shard(&self, shard: u64, of: u64) -> Self {
        Self(format!("{}-{shard}of{of}", self.0))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Error of an artifact that was not uploaded, found or fetched. Completes "failed to …"; texts of servers are masked
/// and cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArtifactError {
    #[error("name an artifact `{name}`: {reason}")]
    Name { name: String, reason: String },
    /// Nothing was sent.
    #[error("upload an artifact: artifacts of this kind are not supported on {host}")]
    UnsupportedHost { host: String },
    /// Nothing was sent.
    #[error("upload an artifact: {0}")]
    Environment(String),
    #[error("upload the artifact {name}: {reason}")]
    NameTaken { name: String, reason: String },
    #[error("{what}: {reason}")]
    Upload { what: &'static str, reason: String },
    #[error("{what}: {reason}")]
    Unavailable { what: String, reason: String },
    #[error("{what}: the run was cancelled")]
    Cancelled { what: String },
}

impl ArtifactError {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        match self {
            Self::UnsupportedHost { .. } => Code::ArtifactUploadUnsupported,
            Self::NameTaken { .. } => Code::ArtifactNameTaken,
            Self::Name { .. } | Self::Environment(_) | Self::Upload { .. } => Code::ArtifactUploadFailed,
            Self::Unavailable { .. } => Code::ArtifactUnavailable,
            Self::Cancelled { .. } => Code::Cancelled,
        }
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Name { .. } => "choose a name without \" : < > | * ? \\ / and line breaks",
            Self::UnsupportedHost { .. }
            | Self::Environment(_)
            | Self::NameTaken { .. }
            | Self::Upload { .. }
            | Self::Unavailable { .. }
            | Self::Cancelled { .. } => self.code().hint(),
        }
    }

    fn upload(what: &'static str, error: HttpError) -> Self {
        Self::of_exchange(what, error, |reason| Self::Upload { what, reason })
    }

    fn unavailable(what: &str, error: HttpError) -> Self {
        Self::of_exchange(what, error, |reason| Self::Unavailable { what: what.to_owned(), reason })
    }

    fn of_exchange(what: &str, error: HttpError, failed: impl FnOnce(String) -> Self) -> Self {
        match error {
            HttpError::Cancelled => Self::Cancelled { what: what.to_owned() },
            HttpError::Unreachable { .. }
            | HttpError::Timeout { .. }
            | HttpError::TooLarge { .. }
            | HttpError::Url(_)
            | HttpError::Sink { .. } => failed(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_that_every_file_system_takes() {
        for name in ["qa-skill-run", "a b", "ü.1"] {
            assert_eq!(ArtifactName::new(name).unwrap().as_str(), name);
        }
        for name in
            ["", " a", "a/b", "a\\b", "a:b", "a\nb", "a\"", "<", ">", "|", "*", "?", "\0", &"a".repeat(201)]
        {
            let error = ArtifactName::new(name).unwrap_err();
            assert_eq!(error.code(), Code::ArtifactUploadFailed, "{error}");
        }
        assert_eq!(ArtifactName::new(DEFAULT_NAME).unwrap().of_shard(1, 4).as_str(), "qa-skill-run-1of4");
    }
}
