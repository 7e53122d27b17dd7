//! The independent second look at the result (extension artifact `cross-check.json`).

use serde::{Deserialize, Serialize};

use crate::artifact::{Artifact, schema_tag};

schema_tag! {
    /// Names the schema of [`CrossCheck`].
    CrossCheckTag = "cross-check.v1";
}

/// Kind of wrong verdict that an item protects against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum Direction {
    /// Blocking something that is fine.
    FalseFail,
    /// Passing something that was not shown to be fine.
    FalsePass,
}

/// Outcome of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ItemOutcome {
    /// It holds.
    Passed,
    /// It does not: PASS is withheld.
    Failed,
    /// Nothing in this run concerns it.
    NotApplicable,
}

/// One item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrossCheckItem {
    /// A stable name in kebab-case.
    pub item: String,
    /// Kind of wrong verdict that it protects against.
    pub direction: Direction,
    /// Outcome of the comparison.
    pub outcome: ItemOutcome,
    /// The comparison in one sentence.
    pub detail: String,
}

/// All items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CrossCheck {
    /// The schema's name.
    pub schema_version: CrossCheckTag,
    /// True if no item failed.
    pub passed: bool,
    /// The items in their fixed order.
    pub items: Vec<CrossCheckItem>,
}

impl CrossCheck {
    /// Returns what is stored of a check that could not run.
    pub fn unavailable() -> Self {
        Self { schema_version: Default::default(), passed: false, items: Vec::new() }
    }
}

impl Artifact for CrossCheck {
    const SCHEMA: &'static str = "cross-check.v1";
    const FILE: &'static str = "cross-check.json";
}
