//! The result of one shard: the lenses' drafts about its files, before anything is judged
//! (`parts/<key>/<k>of<N>.json`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Severity, Side};
use crate::artifact::{Artifact, schema_tag};
use crate::ids::{ExecutionKey, RepoPath};

schema_tag! {
    /// Names the schema of [`ShardPart`].
    ShardPartTag = "shard-part.v1";
}

/// A finding as a lens states it, before evidence is verified and strength decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Draft {
    /// Id of the rule, one of the lens's own.
    pub rule: Cow<'static, str>,
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
    /// Quoted text, verbatim: the columns of one line, or the first line of several. Empty when the finding is about the
    /// file and not its text.
    pub quote: String,
    /// Disambiguates drafts with the same quote, where the quote is masked: `MaskedSecret::value`. Not part of the
    /// evidence.
    pub value: Option<u32>,
    /// One sentence, no trailing full stop, untrusted text only as `detail`.
    pub summary: String,
    /// Further evidence.
    pub detail: BTreeMap<Cow<'static, str>, Value>,
    /// A severity of its own; otherwise that of the rule.
    pub severity: Option<Severity>,
}

impl Draft {
    /// Makes a draft about a file as such.
    pub fn on_file(rule: &'static str, file: &RepoPath, side: Side, summary: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            file: file.clone(),
            side,
            start_line: 1,
            end_line: 1,
            start_column: 0,
            end_column: 0,
            quote: String::new(),
            value: None,
            summary: summary.into(),
            detail: BTreeMap::new(),
            severity: None,
        }
    }

    /// Adds a member to the evidence.
    pub fn with(mut self, name: &'static str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.into(), value.into());
        self
    }
}

/// Fact about one file that matters only together with other files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fact {
    /// The fact as the lens's own type, serialised.
    pub value: Value,
    /// The finding it becomes unless another fact explains it.
    pub draft: Option<Draft>,
}

/// Reason that a lens did not read a file in full.
#[derive(Serialize, Deserialize)]
enum Gap {
    #[serde(rename = "sourceUnread")]
    Unread,
}

impl Fact {
    /// Wraps a value of the lens's enum of facts.
    pub fn new<T: Serialize>(value: &T, draft: Option<Draft>) -> Self {
        let value = serde_json::to_value(value).expect("facts are numbers, texts and lists of them");
        Self { value, draft }
    }

    /// States that a file has something that the lens looks for and could not be read as the lens requires: it is larger
    /// than is parsed, or takes longer. The plan is then degraded.
    pub fn unread() -> Self {
        Self::new(&Gap::Unread, None)
    }

    /// Returns whether the fact says that a file could not be read.
    pub fn is_unread(&self) -> bool {
        self.value.is_string() && self.read::<Gap>().is_some()
    }

    /// Returns the value that [`Fact::new`] wrapped, or `None` for what is no such value: a shard's part may hold anything.
    pub fn read<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(&self.value).ok()
    }
}

/// Output of one lens about one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartOutcome {
    /// Ordinal of the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub plan_ordinal: u64,
    /// True if the lens ended unexpectedly; its output is then empty.
    pub panicked: bool,
    /// Findings.
    pub drafts: Vec<Draft>,
    /// Facts.
    pub facts: Vec<Fact>,
}

/// Outputs of the lenses about one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PartFile {
    /// The file, at head.
    pub file: RepoPath,
    /// One outcome for each plan that includes the file, in queue order.
    pub outcomes: Vec<PartOutcome>,
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
