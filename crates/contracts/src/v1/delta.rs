//! The difference between two runs of one change (artifact `delta.json`, among the runs).

use serde::{Deserialize, Serialize};

use super::Conclusion;
use crate::artifact::{Artifact, schema_tag};
use crate::ids::{CommitId, ExecutionKey, RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`Delta`].
    DeltaTag = "delta.v1";
}

/// One of the two runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeltaRun {
    /// Execution key of the run.
    pub execution_key: ExecutionKey,
    /// The head that it judged.
    pub head_sha: CommitId,
    /// Conclusion of the run.
    pub conclusion: Conclusion,
}

/// A finding, as far as it is told here.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeltaFinding {
    /// Path of the file.
    pub file: RepoPath,
    /// The first line, in the run that has it; in the later one where both do.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_line: u64,
    /// Id of the rule.
    pub rule_id: String,
    /// Id of the finding.
    pub finding_id: Sha256Hex,
    /// True if the finding blocks.
    pub blocking: bool,
    /// True if a model reports it in lines that earlier replies covered without a finding.
    pub late: bool,
}

/// The findings of two runs, held against each other by their ids.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Delta {
    /// The schema's name.
    pub schema_version: DeltaTag,
    /// The earlier run: the last one that came to a verdict.
    pub since: DeltaRun,
    /// The later run, which is compared with `since`.
    pub now: DeltaRun,
    /// True if the earlier head is no ancestor of the later one, as after a rebase.
    pub history_rewritten: bool,
    /// Those of the later run alone, by file and line.
    pub new: Vec<DeltaFinding>,
    /// Those of both.
    pub still_open: Vec<DeltaFinding>,
    /// Those of the earlier run alone.
    pub resolved: Vec<DeltaFinding>,
}

impl Artifact for Delta {
    const SCHEMA: &'static str = "delta.v1";
    const FILE: &'static str = "delta.json";
}
