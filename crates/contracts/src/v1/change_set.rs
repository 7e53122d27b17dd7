//! The change between the merge base and head, down to hunks (extension artifact `change-set.json`).

use serde::{Deserialize, Serialize};

use super::{ChangeKind, FileClass, Landing, Scope, ScopeReason};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::{BlobId, CommitId, RepoPath, TreeId};
use crate::limits::VALIDATED_ITEMS;

schema_tag! {
    /// Names the schema of [`ChangeSet`].
    ChangeSetTag = "change-set.v1";
}

/// A run of changed lines, as in a unified diff without context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Hunk {
    /// Its place in the whole change set, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub ordinal: u64,
    /// The first removed line, or the line before which nothing was removed.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub old_start: u64,
    /// Number of removed lines.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub old_lines: u64,
    /// The first added line, or the line before which nothing was added.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub new_start: u64,
    /// Number of added lines.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub new_lines: u64,
    /// The nearest line above that starts a definition, cut and escaped; empty when there is none.
    pub section: String,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangedFile {
    /// The path at head; at the base for a deleted file.
    pub path: RepoPath,
    /// The path at the base, where it differs.
    pub old_path: Option<RepoPath>,
    /// Kind of change.
    pub kind: ChangeKind,
    /// The git mode at the base in octal; null when absent there.
    pub old_mode: Option<String>,
    /// The git mode at head in octal; null when absent there.
    pub new_mode: Option<String>,
    /// The object at the base.
    pub old_blob: Option<BlobId>,
    /// The object at head.
    pub new_blob: Option<BlobId>,
    /// Class of the file, by its name.
    pub class: FileClass,
    /// Whose it is.
    pub scope: Scope,
    /// Reason for the scope.
    pub scope_reason: ScopeReason,
    /// The language, by name of the file; null when not known.
    pub language: Option<String>,
    /// True if the content is text; only text has hunks.
    pub text: bool,
    /// The changed runs of lines.
    pub hunks: Vec<Hunk>,
    /// Limits and notes that apply to this file.
    pub codes: Vec<Code>,
}

/// Result of pairing renamed files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RenameSummary {
    /// Pairs with the same content.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub exact: u64,
    /// Pairs with similar content.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub inexact: u64,
    /// Added and deleted files that were not compared for similarity, because there were too many or they are too large.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub not_compared: u64,
}

/// The change that is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ChangeSet {
    /// The schema's name.
    pub schema_version: ChangeSetTag,
    /// Base commit.
    pub base_sha: CommitId,
    /// The newest merge base, from which the change is measured unless `landing` is `merge`.
    pub merge_base_sha: CommitId,
    /// Merge bases beside it, newest first; empty unless histories cross.
    pub other_merge_bases: Vec<CommitId>,
    /// Content of a merge of head into the base. Where it is `merge`, the change is measured from the base commit.
    pub landing: Landing,
    /// The tree of that merge, which `git merge-tree --write-tree` prints; null unless `landing` is `merge`.
    pub landing_tree: Option<TreeId>,
    /// Head commit.
    pub head_sha: CommitId,
    /// The tree of the head commit; absent in runs of engines that recorded none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub head_tree: Option<TreeId>,
    /// The base commit's committer date, seconds since 1970: the run's only clock.
    pub base_time: i64,
    /// Result of pairing renamed files.
    pub renames: RenameSummary,
    /// The changed paths, by bytes of the path.
    pub files: Vec<ChangedFile>,
}

impl Artifact for ChangeSet {
    const SCHEMA: &'static str = "change-set.v1";
    const FILE: &'static str = "change-set.json";

    fn parts(&self) -> impl Iterator<Item = Self> {
        self.files.chunks(VALIDATED_ITEMS).map(|files| self.with(files.to_vec()))
    }

    fn frame(&self) -> Option<Self> {
        Some(self.with(Vec::new()))
    }
}

impl ChangeSet {
    /// Returns the commit that the change is measured from.
    #[must_use]
    pub fn measured_from(&self) -> &CommitId {
        match self.landing {
            Landing::Merge => &self.base_sha,
            Landing::Change | Landing::Conflict => &self.merge_base_sha,
        }
    }

    /// The same with other files.
    fn with(&self, files: Vec<ChangedFile>) -> Self {
        Self {
            schema_version: self.schema_version,
            base_sha: self.base_sha.clone(),
            merge_base_sha: self.merge_base_sha.clone(),
            other_merge_bases: self.other_merge_bases.clone(),
            landing: self.landing,
            landing_tree: self.landing_tree.clone(),
            head_sha: self.head_sha.clone(),
            head_tree: self.head_tree.clone(),
            base_time: self.base_time,
            renames: self.renames.clone(),
            files,
        }
    }
}
