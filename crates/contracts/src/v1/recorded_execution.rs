//! The recorded commands of gates: the decision to run them and their output, so that a replay executes nothing
//! (S003-118).

use serde::{Deserialize, Serialize};

use super::{ExecutionLayers, GateName, RecordedBaseline, RecordedPicture};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{RepoPath, Sha256Hex};

schema_tag! {
    /// Names the schema of [`RecordedExecution`].
    RecordedExecutionTag = "recorded-execution.v1";
}

/// Everything about commands that the rest of a run is derived from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedExecution {
    /// The schema's name.
    pub schema_version: RecordedExecutionTag,
    /// Manifests and configurations at head, in the directories of changed files and above, by path: they say which
    /// tools a project uses.
    pub head_files: Vec<RecordedManifest>,
    /// The same at the merge base.
    pub base_files: Vec<RecordedManifest>,
    /// Reason why no command ran on this machine or for this change; null when commands could run.
    pub denied: Option<String>,
    /// Isolation of the commands; null when none ran.
    pub layers: Option<ExecutionLayers>,
    /// Results of the commands, by gate, ordinal and attempt.
    pub commands: Vec<RecordedCommand>,
    /// Tests bound to steps of features whose bodies at head do nothing, sorted.
    pub idle_tests: Vec<RecordedTest>,
}

/// A test of a report or command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedTest {
    /// Directory of its project; empty for the root.
    pub directory: String,
    /// Id of the test in the report.
    pub id: String,
}

impl Artifact for RecordedExecution {
    const SCHEMA: &'static str = "recorded-execution.v1";
    const FILE: &'static str = "recordings/execution.json";
}

/// A file that says which tools a project uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedManifest {
    /// Path of the file.
    pub path: RepoPath,
    /// The text, secrets masked; null where the name alone says it, or where it is not text.
    pub text: Option<String>,
}

/// Result of one attempt at a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedCommand {
    /// Name of the gate.
    pub gate: GateName,
    /// Its place in the gate's plan.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub ordinal: u64,
    /// Number of the attempt, from 1.
    #[cfg_attr(test, schemars(range(min = 1, max = 3)))]
    pub attempt: u64,
    /// The exit status; null when a signal ended it or it did not end by itself.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Limit that ended it: `timed-out`, `output`, `disk` or `memory`; null when it ended by itself.
    pub stopped: Option<String>,
    /// True if processes of it still ran when it ended; they were killed.
    pub left_behind: bool,
    /// Duration in milliseconds.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub duration_ms: u64,
    /// Version that the program prints.
    pub tool_version: Option<String>,
    /// Standard output.
    pub stdout: RecordedOutput,
    /// Standard error.
    pub stderr: RecordedOutput,
    /// The report files that it wrote, by path; none when its report is an output, or when it wrote none.
    pub reports: Vec<RecordedReportOutput>,
    /// Reason why it has no result, when it was not started or its output cannot be used.
    pub code: Option<Code>,
    /// Description of the problem, for a person.
    pub problem: Option<String>,
    /// The pictures that its tests left, those of faulty tests first; of head alone.
    pub pictures: Vec<RecordedPicture>,
    /// The stored run that made this attempt, at a command of the base; absent when this run made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub baseline: Option<RecordedBaseline>,
}

/// A report file that a command wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedReportOutput {
    /// Path from the root of the repository.
    pub path: String,
    /// Its content.
    pub output: RecordedOutput,
}

/// Output of a command: a stream or a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedOutput {
    /// Recorded part, with `/github/workspace` for the place of the worktree, bytes other than UTF-8 replaced and
    /// secrets masked.
    pub text: String,
    /// Number of bytes before any were cut.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub bytes: u64,
    /// The digest of all of them.
    pub sha256: Sha256Hex,
    /// The digest of the kept text without colours, times, durations and process ids.
    pub normalized_sha256: Sha256Hex,
    /// True if the output was cut.
    pub capped: bool,
}
