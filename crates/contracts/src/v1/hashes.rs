//! The manifest of a run directory, written last: a directory without a matching one does not count.

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, schema_tag};
use crate::ids::{ExecutionKey, Sha256Hex};

schema_tag! {
    /// Names the schema of [`Hashes`].
    HashesTag = "hashes.v1";
}

/// One file of the run directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileHash {
    /// The path inside the run directory.
    pub path: String,
    /// The size in bytes.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub bytes: u64,
    /// SHA-256 over the file.
    pub full: Sha256Hex,
    /// SHA-256 over the canonical JSON without volatile members; equals `full` for other files (C-14).
    pub deterministic: Sha256Hex,
}

/// Digests of a run's artifacts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hashes {
    /// The schema's name.
    pub schema_version: HashesTag,
    /// The name of the run.
    pub execution_key: ExecutionKey,
    /// Every other file, by path.
    pub files: Vec<FileHash>,
    /// SHA-256 over the canonical list of `path` and `deterministic`: one value that equals for equal runs.
    pub run_digest: Sha256Hex,
}

impl Artifact for Hashes {
    const SCHEMA: &'static str = "hashes.v1";
    const FILE: &'static str = "hashes.json";
}
