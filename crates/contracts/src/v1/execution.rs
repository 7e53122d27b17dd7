//! Commands that a plan may execute, and the record of their execution (S003-87…89).

use serde::{Deserialize, Serialize};

use super::{CwdMode, PermissionProfileId, Side};
use crate::artifact::schema_tag;
use crate::ids::Sha256Hex;

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
    /// Working directory.
    pub cwd_mode: CwdMode,
    /// Purpose of the command, in words.
    pub purpose: String,
    /// The directory of the worktree it starts in; empty for the worktree itself. An extension.
    pub directory: String,
    /// The commit whose tree it runs in. An extension.
    pub side: Side,
}

/// Result of one command (S003-88).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionCommandResult {
    /// Its place in the plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub ordinal: u64,
    /// The exit status; null when a signal or the deadline ended it.
    pub exit_code: Option<i32>,
    /// True if the command reached its time limit.
    pub timed_out: bool,
    /// The digest of its whole standard output.
    pub stdout_sha256: Sha256Hex,
    /// The digest of its whole standard error.
    pub stderr_sha256: Sha256Hex,
    /// Number of the attempt, from 1. This member and those that follow are extensions.
    #[cfg_attr(test, schemars(range(min = 1, max = 3)))]
    pub attempt: u64,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Version that the program prints; null when it prints none.
    pub tool_version: Option<String>,
    /// The digest of the part of standard output that was kept, without what differs from run to run.
    pub stdout_normalized_sha256: Sha256Hex,
    /// The digest of the part of standard error that was kept, without what differs from run to run.
    pub stderr_normalized_sha256: Sha256Hex,
    /// True if output or reports were cut.
    pub capped: bool,
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
    /// The commands by ordinal and attempt.
    pub commands: Vec<ExecutionCommandResult>,
    /// Isolation of the commands from the machine. An extension.
    pub layers: ExecutionLayers,
}

/// Isolation of commands from the rest of the machine, as a probe from inside found it. It differs from machine to
/// machine and decides only whether commands run at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ExecutionLayers {
    /// The version of the kernel's Landlock interface.
    pub landlock_abi: u32,
    /// True if system calls are filtered; without the filter no command runs.
    pub seccomp: bool,
    /// `private-uid` or `own-uid`.
    pub identity: String,
    /// Accesses that this machine cannot prevent and a better one would.
    pub residuals: Vec<String>,
}
