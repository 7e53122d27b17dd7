//! What the quality gates say, for whoever mends it: a developer or an agent (S004-29…41). Names are the seed's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::GateName;
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::RepoPath;

schema_tag! {
    /// Names the schema of [`QaReport`].
    QaReportTag = "qa-report.v1";
}

/// How the gates ended together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum QaStatus {
    /// Every gate passed.
    Passed,
    /// A gate failed.
    Failed,
    /// No gate failed, and one has no result (C-18).
    Error,
}

/// Something a tool or a test says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QaMessage {
    /// The file; of what names none, the report it stands in.
    pub file: RepoPath,
    /// The line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub line: u64,
    /// The column, from 1; null where the tool names none.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub column: Option<u64>,
    /// What it says.
    pub message: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The finding's id in the run, for `qa-skill explain`.
    pub finding_id: String,
    /// Whether the base has it too, so that it is not held against the change.
    pub pre_existing: bool,
}

/// How one gate ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QaGate {
    /// The gate.
    pub gate_name: GateName,
    /// Whether it passed: it has a result, and nothing of it blocks.
    pub passed: bool,
    /// Whether PASS needs it.
    pub required: bool,
    /// How long its commands took, in milliseconds; null where an earlier step ran them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub duration_ms: Option<u64>,
    /// What fails it.
    pub errors: Vec<QaMessage>,
    /// What is told and fails nothing.
    pub warnings: Vec<QaMessage>,
    /// Why it has no result.
    pub error_codes: Vec<Code>,
    /// One sentence for each report.
    pub notes: Vec<String>,
}

/// The report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QaReport {
    /// The schema's name.
    #[serde(rename = "schemaVersion")]
    pub schema_version: QaReportTag,
    /// The feature whose steps were looked at; null for none.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub feature_id: Option<u64>,
    /// Its description.
    pub feature_description: Option<String>,
    /// How the gates ended together.
    pub status: QaStatus,
    /// The gates that the policy declares, by name.
    pub gates: BTreeMap<GateName, QaGate>,
    /// `N of M gates passed`.
    pub summary: String,
    /// What to mend first: `[gate] file:line - message`, at most three of a gate and ten in all.
    pub priority_fixes: Vec<String>,
    /// How many errors are not among them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub priority_fixes_omitted: u64,
    /// Pictures that tests left, by path.
    pub screenshots: Vec<RepoPath>,
    /// When the report was written, as `YYYY-MM-DDThh:mm:ssZ`. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub timestamp: String,
    /// How long the run took, in milliseconds. Volatile.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64), extend("x-volatile" = true)))]
    pub duration_total_ms: u64,
    /// How many tests were tried more than once.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub retry_count: u64,
}

impl Artifact for QaReport {
    const SCHEMA: &'static str = "qa-report.v1";
    const FILE: &'static str = "qa-report.json";
    const VOLATILE: &'static [&'static str] = &["timestamp", "duration_total_ms"];
}
