//! `[execution]` of the policy: what commands of gates may do on the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{LensClass, PermissionProfileId};

/// Execution of commands and its limits. Nothing is executed when absent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyExecution {
    /// The permission profile of gates that run tools; `read_only` when absent.
    pub profile: Option<PermissionProfileId>,
    /// The classes of lenses that may execute; none when absent.
    #[serde(default)]
    pub lens_classes: Vec<LensClass>,
    /// True if commands run on the head of a fork's pull request; false when absent.
    pub fork_heads: Option<bool>,
    /// Prefixes of allowed commands.
    #[serde(default)]
    pub allow: Vec<PolicyPrefix>,
    /// Directories with tools and packages that an earlier step installed.
    #[serde(default)]
    pub toolchains: Vec<PolicyToolchain>,
    /// Variables of commands. Never a secret: the code of the change reads them.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// Bounds of commands.
    #[serde(default)]
    pub limits: PolicyCommandLimits,
}

/// A beginning that commands may have, word by word, with examples that show what is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyPrefix {
    /// The words, from the program's plain name on.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub prefix: Vec<String>,
    /// Commands that begin so; at least one, and each is checked when the policy is read.
    #[serde(rename = "match")]
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub matches: Vec<Vec<String>>,
    /// Commands that do not; at least one, likewise.
    #[cfg_attr(test, schemars(length(min = 1, max = 64)))]
    pub not_match: Vec<Vec<String>>,
}

/// A directory that an earlier step of the workflow, or the machine, provides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyToolchain {
    /// Absolute, or from the root of the repository: then it is not committed, and stands at the same place where
    /// commands run.
    #[cfg_attr(test, schemars(length(min = 1, max = 1024)))]
    pub path: String,
    /// Way in which commands get it; `read_only` when absent.
    pub provide: Option<ToolchainMode>,
}

/// Way in which commands get a toolchain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ToolchainMode {
    /// In its own place, where they may read and run it. Every user has to be able to enter that place.
    ReadOnly,
    /// As a copy of their own, made new for each command, which they may write to.
    Copy,
}

/// Bounds of commands.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyCommandLimits {
    /// The most commands of one plan, attempts not counted.
    #[cfg_attr(test, schemars(range(min = 1, max = 256)))]
    pub max_commands_per_plan: Option<u64>,
    /// The deadline of one command, in seconds.
    #[cfg_attr(test, schemars(range(min = 1, max = 21600)))]
    pub timeout_seconds: Option<u64>,
    /// The most bytes of standard output that are kept; more is never a result.
    #[cfg_attr(test, schemars(range(min = 1, max = 16777216)))]
    pub max_stdout_bytes: Option<u64>,
    /// As `max-stdout-bytes`, of standard error.
    #[cfg_attr(test, schemars(range(min = 1, max = 16777216)))]
    pub max_stderr_bytes: Option<u64>,
    /// Disk space that a command may use, in MiB.
    #[cfg_attr(test, schemars(range(min = 1, max = 1048576)))]
    pub disk_mib: Option<u64>,
    /// Resident memory of a command's processes together, in MiB; unlimited when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1048576)))]
    pub memory_mib: Option<u64>,
    /// Maximum number of processes and threads.
    #[cfg_attr(test, schemars(range(min = 1, max = 65536)))]
    pub processes: Option<u64>,
}
