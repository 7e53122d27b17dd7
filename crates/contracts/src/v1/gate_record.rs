//! `<report>.record.json`: the command that wrote a report, and its end, which the report itself may not show.

use serde::{Deserialize, Serialize};

use super::GateName;
use crate::artifact::schema_tag;
use crate::ids::{CommitId, Sha256Hex, TreeId};

schema_tag! {
    /// Names the schema of [`GateRecord`].
    GateRecordTag = "gate-record.v1";
}

/// A command that `qa-skill record` ran before a gate, with the report that it left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GateRecord {
    /// The schema's name.
    pub schema_version: GateRecordTag,
    /// Gate that the report is for.
    pub gate: GateName,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Exit status; null when a signal ended the command.
    pub exit_code: Option<i32>,
    /// Version as the tool prints it; null when it was not asked or gave no answer.
    pub tool_version: Option<String>,
    /// Commit that was checked out.
    pub head: CommitId,
    /// Parents of that commit: the merge commit of a pull request has the judged commit among them.
    pub parents: Vec<CommitId>,
    /// Tree of that commit.
    pub tree: TreeId,
    /// Time before the command, in RFC 3339.
    pub started: String,
    /// Time after the command, in RFC 3339.
    pub ended: String,
    /// Files of the report, by path.
    pub reports: Vec<ReportDigest>,
}

/// A file of a report, as its command left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReportDigest {
    /// Path from the root of the repository.
    pub path: String,
    /// Digest of its bytes.
    pub sha256: Sha256Hex,
}
