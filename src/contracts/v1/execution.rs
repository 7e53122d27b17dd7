//! What a plan may execute and what was executed (S003-87…89).

use serde::{Deserialize, Serialize};

use super::{CwdMode, PermissionProfileId};
use crate::contracts::artifact::schema_tag;
use crate::contracts::ids::Sha256Hex;

schema_tag! {
    /// Names the schema of [`ExecutionAudit`].
    ExecutionAuditTag = "execution-audit.v1";
}

/// One command of a plan: an argument vector from a static template, never a shell line (S003-87).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionCommandSpec {
    /// Its place in the plan, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub ordinal: u64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Where it starts.
    pub cwd_mode: CwdMode,
    /// Why it runs.
    pub purpose: String,
}

/// How one command ended (S003-88).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionCommandResult {
    /// Its place in the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub ordinal: u64,
    /// The exit status; null when a signal or the deadline ended it.
    pub exit_code: Option<i32>,
    /// Whether the deadline ended it.
    pub timed_out: bool,
    /// The digest of its whole standard output.
    pub stdout_sha256: Sha256Hex,
    /// The digest of its whole standard error.
    pub stderr_sha256: Sha256Hex,
}

/// Everything a plan executed (S003-89).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionAudit {
    /// The schema's name.
    pub schema_version: ExecutionAuditTag,
    /// The profile it ran under.
    pub permission_profile_id: PermissionProfileId,
    /// The worktree, relative to the artifact root's parent; null without one.
    pub worktree_path: Option<String>,
    /// The commands by ordinal.
    pub commands: Vec<ExecutionCommandResult>,
}
