//! The error of a command whose result was asked for as JSON (standard output, in place of the result).

use serde::{Deserialize, Serialize};

use crate::artifact::schema_tag;
use crate::codes::Code;

schema_tag! {
    /// Names the schema of [`CommandError`].
    CommandErrorTag = "error.v1";
}

/// Error that ended a command without its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CommandError {
    /// The schema's name.
    pub schema_version: CommandErrorTag,
    /// The stable code; null for a wrong command line.
    pub code: Option<Code>,
    /// Exit code of the process.
    #[cfg_attr(test, schemars(range(min = 2, max = 255)))]
    pub exit_code: u8,
    /// The problem, in one line.
    pub message: String,
    /// The way out, in one line; empty where there is none.
    pub hint: String,
}
