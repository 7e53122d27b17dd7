//! The proof of review: which lens looked at which hunk (extension artifact `coverage.json`).

use serde::{Deserialize, Serialize};

use super::GateName;
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{BlobId, RepoPath};
use crate::limits::VALIDATED_ITEMS;

schema_tag! {
    /// Names the schema of [`Coverage`].
    CoverageTag = "coverage.v1";
}

/// Extent to which a plan covers a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum CoverageStatus {
    /// Every hunk, or the path and modes where there are none.
    Full,
    /// Some hunks.
    Partial,
    /// Nothing, although it was planned or should have been.
    Omitted,
}

/// One plan's look at one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoverageCell {
    /// Ordinal of the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub plan_ordinal: u64,
    /// Extent to which the plan covers the file.
    pub status: CoverageStatus,
    /// Number of hunks that the lens was given.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub inspected_hunks: u64,
    /// Reason why coverage is not full; null when it is.
    pub code: Option<Code>,
}

/// Evidence that a gate's tool looked at a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum GateLook {
    /// A report lists the file.
    Listed,
    /// The report's format lists no files, and the policy says that the tool looks at this one.
    Declared,
    /// The policy exempts the file.
    Excepted,
    /// No report of the gate covers the file.
    Omitted,
}

/// One gate's look at one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateCell {
    /// Name of the gate.
    pub gate: GateName,
    /// Evidence that its tool looked at the file.
    pub look: GateLook,
}

/// All plans' looks at one file. A plan without a cell had no business with the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CoverageRow {
    /// Path of the file.
    pub file: RepoPath,
    /// The object looked at; at the base for a deleted file.
    pub blob: Option<BlobId>,
    /// Number of the file's hunks.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub hunks: u64,
    /// One cell per plan.
    pub cells: Vec<CoverageCell>,
    /// One cell per gate with a tool for files of this kind, by gate.
    pub gates: Vec<GateCell>,
}

/// Coverage of every changed file by every plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Coverage {
    /// The schema's name.
    pub schema_version: CoverageTag,
    /// Number of full cells: the checks that actually ran. PASS needs at least one.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub full_cells: u64,
    /// Number of the other cells.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub incomplete_cells: u64,
    /// One row per changed file, by path.
    pub rows: Vec<CoverageRow>,
}

impl Artifact for Coverage {
    const SCHEMA: &'static str = "coverage.v1";
    const FILE: &'static str = "coverage.json";

    fn parts(&self) -> impl Iterator<Item = Self> {
        self.rows.chunks(VALIDATED_ITEMS).map(|rows| Self { rows: rows.to_vec(), ..*self })
    }

    fn frame(&self) -> Option<Self> {
        Some(Self { rows: Vec::new(), ..*self })
    }
}
