//! The line of merged changes behind a commit: first parents, newest first.

use git2::Oid;

use super::error::GitError;
use super::open::OpenRepository;
use crate::contracts::ids::CommitId;

/// A commit on the line, with the one it was merged into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) commit: CommitId,
    pub(crate) onto: CommitId,
}

impl OpenRepository {
    /// A commit's own time, in seconds since 1970.
    pub(crate) fn time_of(&self, commit: &CommitId) -> Result<i64, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let found = self.handle().find_commit(id).map_err(|error| GitError::object(id, &error))?;
        Ok(found.committer().when().seconds())
    }

    /// The last changes merged into a commit; fewer where history ends, or is cut off.
    pub(crate) fn merged_into(&self, commit: &CommitId, most: usize) -> Result<Vec<Merged>, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let mut current = self.handle().find_commit(id).map_err(|error| GitError::object(id, &error))?;
        let named =
            |id: Oid| CommitId::parse(&id.to_string()).map_err(|error| GitError::Other(error.to_string()));
        let mut merged = Vec::new();
        while merged.len() < most {
            let Ok(parent) = current.parent(0) else { break };
            merged.push(Merged { commit: named(current.id())?, onto: named(parent.id())? });
            current = parent;
        }
        Ok(merged)
    }

    /// How many changes were merged after a commit, if it is on the line of the last `most`.
    pub(crate) fn merged_since(
        &self,
        commit: &CommitId,
        earlier: &CommitId,
        most: usize,
    ) -> Result<Option<usize>, GitError> {
        if commit == earlier {
            return Ok(Some(0));
        }
        let line = self.merged_into(commit, most)?;
        Ok(line.iter().position(|merged| merged.onto == *earlier).map(|position| position + 1))
    }
}
