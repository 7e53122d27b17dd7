//! Results of the quality gates for the developer or agent who fixes them (S004-29…41). Names are the seed's.

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

/// Result of all gates together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum QaStatus {
    /// Every gate passed.
    Passed,
    /// At least one gate has errors.
    Failed,
    /// No gate failed, and one has no result (C-18).
    Error,
}

/// Message of a tool or a test.
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
    /// Step of the feature that is not shown, from 1, or 0 for a feature without steps; null for other messages (S004-38).
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub step: Option<u64>,
    /// Text of the message.
    pub message: String,
    /// `error` or `warning`.
    pub severity: String,
    /// The finding's id in the run, for `qa-skill explain`.
    pub finding_id: String,
    /// True if the base has it too, so that it is not attributed to the change.
    pub pre_existing: bool,
}

/// Result of one gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QaGate {
    /// Name of the gate.
    pub gate_name: GateName,
    /// True if the gate has a result without a blocking finding.
    pub passed: bool,
    /// True if PASS needs the gate.
    pub required: bool,
    /// Duration of its commands, in milliseconds; null where an earlier step ran them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub duration_ms: Option<u64>,
    /// Messages that fail the gate.
    pub errors: Vec<QaMessage>,
    /// Messages that do not fail the gate.
    pub warnings: Vec<QaMessage>,
    /// Reasons why the gate has no result.
    pub error_codes: Vec<Code>,
    /// One sentence for each report.
    pub notes: Vec<String>,
}

/// Results of all quality gates.
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
    /// Description of the feature.
    pub feature_description: Option<String>,
    /// Result of all gates together.
    pub status: QaStatus,
    /// The gates that the policy declares, by name.
    pub gates: BTreeMap<GateName, QaGate>,
    /// `N of M gates passed`.
    pub summary: String,
    /// Most urgent fixes: `[gate] file:line - message`, at most three of a gate and ten in all.
    pub priority_fixes: Vec<String>,
    /// Number of errors that are not among them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub priority_fixes_omitted: u64,
    /// Pictures that tests left, by path.
    pub screenshots: Vec<RepoPath>,
    /// Time of writing, as `YYYY-MM-DDThh:mm:ssZ`. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub timestamp: String,
    /// Duration of the run, in milliseconds. Volatile.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64), extend("x-volatile" = true)))]
    pub duration_total_ms: u64,
    /// Number of attempts at tests beyond the first of each.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub retry_count: u64,
}

impl Artifact for QaReport {
    const SCHEMA: &'static str = "qa-report.v1";
    const FILE: &'static str = "qa-report.json";
    const VOLATILE: &'static [&'static str] = &["timestamp", "duration_total_ms"];
}
