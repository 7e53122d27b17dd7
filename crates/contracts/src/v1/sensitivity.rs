//! The sensitivity of the change (extension artifact `change-sensitivity.json`).

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, schema_tag};
use crate::ids::RepoPath;
use crate::limits::VALIDATED_ITEMS;

schema_tag! {
    /// Names the schema of [`ChangeSensitivity`].
    ChangeSensitivityTag = "change-sensitivity.v1";
}

/// A score in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SensitivityTier {
    /// 0 to 14.
    Informational,
    /// 15 to 34.
    Low,
    /// 35 to 59.
    Moderate,
    /// 60 to 79.
    High,
    /// 80 to 100.
    Critical,
}

/// The size bucket of S003-125…127; the worse of files and lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum SizeBucket {
    /// At most 20 files and 800 changed lines.
    Small,
    /// At most 80 files and 4000 changed lines.
    Medium,
    /// Anything larger.
    Large,
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SensitivityReason {
    /// The reason's name.
    pub reason: String,
    /// Points that it adds; negative where it subtracts.
    pub points: i32,
}

/// The score of one file: the highest of its hunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FileSensitivity {
    /// Path of the file.
    pub file: RepoPath,
    /// 0 to 100.
    #[cfg_attr(test, schemars(range(max = 100)))]
    pub score: u8,
    /// The score in words.
    pub tier: SensitivityTier,
    /// Reasons of the hunk with the highest score.
    pub reasons: Vec<SensitivityReason>,
    /// The score of each hunk in order.
    pub hunk_scores: Vec<u8>,
}

/// The score of the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeSensitivity {
    /// The schema's name.
    pub schema_version: ChangeSensitivityTag,
    /// 0 to 100: the highest file plus at most 10 for breadth.
    #[cfg_attr(test, schemars(range(max = 100)))]
    pub score: u8,
    /// The score in words.
    pub tier: SensitivityTier,
    /// Size of the change.
    pub bucket: SizeBucket,
    /// Number of changed files.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changed_files: u64,
    /// Added plus removed lines.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changed_lines: u64,
    /// One row per changed file, by path.
    pub files: Vec<FileSensitivity>,
}

impl Artifact for ChangeSensitivity {
    const SCHEMA: &'static str = "change-sensitivity.v1";
    const FILE: &'static str = "change-sensitivity.json";

    fn parts(&self) -> impl Iterator<Item = Self> {
        self.files.chunks(VALIDATED_ITEMS).map(|files| Self { files: files.to_vec(), ..*self })
    }

    fn frame(&self) -> Option<Self> {
        Some(Self { files: Vec::new(), ..*self })
    }
}
