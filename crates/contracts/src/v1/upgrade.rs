//! Differences between two versions of this program over merged changes, shown before the newer one is in force.

use serde::{Deserialize, Serialize};

use super::Preset;
use crate::artifact::schema_tag;
use crate::ids::CommitId;

schema_tag! {
    /// Names the schema of [`Upgrade`].
    UpgradeTag = "upgrade.v1";
}

/// Difference of two versions over the same merged changes, each judged by the same policy without gates and reviews.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Upgrade {
    /// The schema's name.
    pub schema_version: UpgradeTag,
    /// The older version.
    pub from_engine: String,
    /// The version that compares.
    pub to_engine: String,
    /// The policy: a path and where it was read.
    pub policy: String,
    /// Preset that the rules start from.
    pub preset: Preset,
    /// Newest judged commit.
    pub head_sha: CommitId,
    /// Number of judged changes, each a commit against its first parent.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub changes: u64,
    /// Lenses with another version, by id.
    pub lenses: Vec<LensUpgrade>,
    /// Rules that block in either version, or advise differently, by id.
    pub rules: Vec<RuleUpgrade>,
    /// Changes that only one version gives a verdict about, or none, newest first. No rule is compared on them.
    pub not_compared: Vec<ComparedChange>,
    /// The action and commit in the workflow that `init` wrote; null without such a workflow.
    pub pinned: Option<String>,
}

/// A lens with another version. Another version may judge the same change differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LensUpgrade {
    /// Id of the lens.
    pub lens_id: String,
    /// Version in the older program; null if it has no such lens.
    pub from: Option<String>,
    /// Version in this program; null if it has no such lens any more.
    pub to: Option<String>,
}

/// Difference in one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RuleUpgrade {
    /// Id of the rule; null where a required lens failed.
    pub rule_id: Option<String>,
    /// Changes that it blocks only in this version, newest first.
    pub newly_blocked: Vec<ComparedChange>,
    /// Changes that it blocks only in the older version, newest first.
    pub no_longer_blocked: Vec<ComparedChange>,
    /// Number of changes that it blocks in both.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub blocked_in_both: u64,
    /// Number of advisory findings in the older version.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub advisory_before: u64,
    /// Number of advisory findings in this version.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub advisory_now: u64,
}

/// A merged change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ComparedChange {
    /// Commit of the change.
    pub commit: CommitId,
    /// The first line of its message, escaped and cut.
    pub subject: String,
}
