//! The cost of each rule of a policy over merged changes, measured before the rule is switched on.

use serde::{Deserialize, Serialize};

use super::Preset;
use crate::artifact::schema_tag;
use crate::codes::Code;
use crate::ids::{CommitId, RepoPath};

schema_tag! {
    /// Names the schema of [`Calibration`].
    CalibrationTag = "calibration.v1";
}

/// The cost of a policy over merged changes. Quality gates are left out: what they read is of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Calibration {
    /// The schema's name.
    pub schema_version: CalibrationTag,
    /// The version that judged, as `qa-skill --version` prints it.
    pub engine: String,
    /// Its lenses, by id.
    pub lenses: Vec<LensVersion>,
    /// The policy: a path and where it was read.
    pub policy: String,
    /// Preset that the rules start from.
    pub preset: Preset,
    /// Newest judged commit.
    pub head_sha: CommitId,
    /// Number of judged changes, each a commit against its first parent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// Every rule that said something, the dearest first.
    pub rules: Vec<RuleCost>,
    /// The changes that would have been blocked, newest first.
    pub blocked: Vec<BlockedChange>,
    /// The changes that have no verdict, newest first.
    pub without_verdict: Vec<UnjudgedChange>,
}

/// A lens with its version; a change of results changes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensVersion {
    /// Id of the lens.
    pub lens_id: String,
    /// The version.
    pub lens_version: String,
}

/// Cost of a rule over the judged changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleCost {
    /// Id of the rule.
    pub rule_id: String,
    /// Number of changes that it would have blocked.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocked_changes: u64,
    /// Number of those that no other rule would have blocked.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocked_alone: u64,
    /// Number of changes with its advisory findings.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub advised_changes: u64,
    /// Number of its advisory findings.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub advisory_findings: u64,
}

/// A change that would have been blocked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockedChange {
    /// Commit of the change.
    pub commit: CommitId,
    /// The first line of its message, escaped and cut.
    pub subject: String,
    /// All rules that block it, by id; empty where a required lens failed.
    pub rules: Vec<String>,
    /// Blocking findings, in the order of findings; at most 20.
    pub findings: Vec<BlockingFinding>,
    /// Number of all blocking findings.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocking: u64,
}

/// A finding that would have blocked a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BlockingFinding {
    /// Id of the rule.
    pub rule_id: String,
    /// Path of the file.
    pub file: RepoPath,
    /// Its first line, from 1; 0 for the file.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub line: u64,
    /// Message of the finding.
    pub summary: String,
}

/// A change that could not be judged to the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnjudgedChange {
    /// Commit of the change.
    pub commit: CommitId,
    /// The first line of its message, escaped and cut.
    pub subject: String,
    /// Reasons why it has no verdict.
    pub codes: Vec<Code>,
}
