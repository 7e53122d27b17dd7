//! The result of one shard: the lenses' drafts about its files, before anything is judged
//! (`parts/<key>/<k>of<N>.json`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Severity, Side};
use crate::artifact::{Artifact, schema_tag};
use crate::ids::{ExecutionKey, RepoPath};

schema_tag! {
    /// Names the schema of [`ShardPart`].
    ShardPartTag = "shard-part.v1";
}

/// A lens's draft of a finding, before its evidence is verified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatedDraft {
    /// Id of the rule.
    pub rule: String,
    /// The path on `side`.
    pub file: RepoPath,
    /// Version of the file that the lines are of.
    pub side: Side,
    /// The first line, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub start_line: u64,
    /// Last line.
    #[cfg_attr(test, schemars(range(min = 1, max = 9007199254740991u64)))]
    pub end_line: u64,
    /// The first column in characters, from 1; 0 when whole lines are meant.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub start_column: u64,
    /// The column after the last; 0 when whole lines are meant.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub end_column: u64,
    /// Quoted text.
    pub quote: String,
    /// Disambiguates drafts with the same quote.
    pub value: Option<u32>,
    /// One sentence.
    pub summary: String,
    /// Further evidence.
    pub detail: BTreeMap<String, Value>,
    /// A severity of its own.
    pub severity: Option<Severity>,
}

/// Fact about one file that matters only together with other files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatedFact {
    /// The fact as the lens's own type, serialised.
    pub value: Value,
    /// The finding it becomes unless another fact explains it.
    pub draft: Option<StatedDraft>,
}

/// Output of one lens about one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct StatedOutcome {
    /// Ordinal of the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub plan_ordinal: u64,
    /// True if the lens ended unexpectedly; its output is then empty.
    pub panicked: bool,
    /// Findings.
    pub drafts: Vec<StatedDraft>,
    /// Facts.
    pub facts: Vec<StatedFact>,
}

/// Outputs of the lenses about one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartFile {
    /// The file, at head.
    pub file: RepoPath,
    /// One outcome for each plan that includes the file, in queue order.
    pub outcomes: Vec<StatedOutcome>,
}

/// One part of a run. It gives no verdict: `aggregate` joins all parts of a key to the run that one process would give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ShardPart {
    /// The schema's name.
    pub schema_version: ShardPartTag,
    /// The run it is a part of.
    pub execution_key: ExecutionKey,
    /// Its number, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 256)))]
    pub shard: u64,
    /// Number of shards.
    #[cfg_attr(test, schemars(range(min = 1, max = 256)))]
    pub shards: u64,
    /// Its files, in path order.
    pub files: Vec<PartFile>,
}

impl Artifact for ShardPart {
    const SCHEMA: &'static str = "shard-part.v1";
    const FILE: &'static str = "part.json";
}
