//! Lists merged changes, the first-parent line of a branch, newest first, and reads the messages of a change.

use git2::Oid;

use super::base::{Resolved, commit_id, required_head};
use super::bounded;
use super::error::GitError;
use super::open::OpenRepository;
use qa_contracts::ids::CommitId;
use qa_core::features::DeclaredFeatures;
use qa_core::masking::sanitize_cut;
use qa_run::landing::Merge;

/// A merged change: a commit against its first parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    /// Commits of a run of that change.
    pub(crate) resolved: Resolved,
    /// The first line of the message, escaped and cut.
    pub(crate) subject: String,
}

/// Length limit of a subject.
const SUBJECT_CHARACTERS: usize = 72;

impl OpenRepository {
    /// Returns the newest `count` changes up to a commit. A commit without parents, or whose parent a shallow clone lacks,
    /// ends the line.
    pub(crate) fn merged(&self, head: &str, count: usize) -> Result<Vec<Merged>, GitError> {
        let mut commit = required_head(self, head)?;
        let mut changes = Vec::new();
        while changes.len() < count {
            let Some(parent) = bounded::find_parent(self.objects(), &commit, 0) else { break };
            let base: Oid = parent.id();
            let subject = commit.summary_bytes().unwrap_or_default();
            changes.push(Merged {
                resolved: Resolved {
                    base: commit_id(base)?,
                    merge_base: commit_id(base)?,
                    other_merge_bases: Vec::new(),
                    merge: Merge::Change,
                    head: commit_id(commit.id())?,
                    base_time: parent.committer().when().seconds(),
                    head_time: commit.committer().when().seconds(),
                    base_rule: "configured",
                    codes: Vec::new(),
                },
                subject: sanitize_cut(&String::from_utf8_lossy(subject), SUBJECT_CHARACTERS),
            });
            commit = parent;
        }
        Ok(changes)
    }

    /// Returns the features that trailers of the commits of a change name: those of head that the base does not have.
    pub(crate) fn declared_features(
        &self,
        base: &CommitId,
        head: &CommitId,
    ) -> Result<DeclaredFeatures, GitError> {
        let failed = |error: git2::Error| GitError::object(head, &error);
        let mut walk = self.objects().revwalk().map_err(failed)?;
        walk.push(Oid::from_str(head.as_str()).map_err(failed)?).map_err(failed)?;
        walk.hide(Oid::from_str(base.as_str()).map_err(failed)?).map_err(failed)?;
        let mut declared = DeclaredFeatures::default();
        for id in walk {
            let commit = bounded::find_commit(self.objects(), id.map_err(failed)?)?;
            declared.add(&String::from_utf8_lossy(commit.message_bytes()));
        }
        Ok(declared)
    }

    /// Returns a commit's own time, in seconds since 1970.
    pub(crate) fn time_of(&self, commit: &CommitId) -> Result<i64, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let commit = bounded::find_commit(self.objects(), id)?;
        Ok(commit.committer().when().seconds())
    }

    /// Counts the changes merged after `earlier`, or returns `None` if it is not among the last `most` of the first-parent
    /// line.
    pub(crate) fn merged_since(
        &self,
        commit: &CommitId,
        earlier: &CommitId,
        most: usize,
    ) -> Result<Option<usize>, GitError> {
        if commit == earlier {
            return Ok(Some(0));
        }
        let line = self.merged(commit.as_str(), most)?;
        Ok(line.iter().position(|merged| merged.resolved.base == *earlier).map(|position| position + 1))
    }
}
