//! Edits that mend findings. They are data for people and tools and decide nothing in a verdict.

use serde::{Deserialize, Serialize};

use super::EditSafety;
use crate::ids::{RepoPath, Sha256Hex};

/// Edit of files at head that mends a finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Edit {
    /// Need of a look at the edit before it is applied.
    pub safety: EditSafety,
    /// Effect of the edit in one line.
    pub title: String,
    /// Replaced ranges by place; no two overlap.
    pub replacements: Vec<Replacement>,
}

/// Range of a file at head and the text that takes its place. Lines and columns count from 1, columns in characters, and the
/// end is the place after the last replaced character: column 1 of the next line where a line is replaced with its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Replacement {
    /// The file.
    pub file: RepoPath,
    /// Line of the first replaced character.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_line: u64,
    /// Its column.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_column: u64,
    /// Line of the place after the last replaced character.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub end_line: u64,
    /// Its column.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub end_column: u64,
    /// The digest over the replaced bytes. Where others stand there, the edit does not apply.
    pub replaced_sha256: Sha256Hex,
    /// Text in their place.
    pub text: String,
}
