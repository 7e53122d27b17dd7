//! Finds the commits an event is about, in the checkout or at its origin, by the first rule that holds.

use crate::app::exit::Failure;
use crate::contracts::codes::Code;
use crate::contracts::ids::CommitId;
use crate::core::event::{BaseRule, Change};
use crate::git::{OpenRepository, Remote};

/// A base, and the rule that named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) commit: CommitId,
    pub(crate) rule: &'static str,
}

/// Where commits are looked for.
pub(crate) struct Sources<'a> {
    pub(crate) repository: &'a OpenRepository,
    pub(crate) remote: Option<&'a Remote<'a>>,
}

impl Sources<'_> {
    /// The base of a change.
    pub(crate) fn base(&self, change: &Change) -> Result<Base, Failure> {
        let mut tried = Vec::new();
        for rule in &change.bases {
            match self.by_rule(rule, &change.head) {
                Ok(Some(commit)) => return Ok(Base { commit, rule: rule.text() }),
                Ok(None) => tried.push(format!("{}: none", rule.text())),
                Err(error) => tried.push(format!("{}: {error}", rule.text())),
            }
        }
        let message = format!("failed to find the base of this event ({})", tried.join("; "));
        Err(Failure::with_code(Code::BaseRefResolutionFailed, message))
    }

    fn by_rule(&self, rule: &BaseRule, head: &CommitId) -> Result<Option<CommitId>, crate::git::GitError> {
        match rule {
            BaseRule::CheckedOutMerge => match self.repository.commit_named("HEAD")? {
                Some(commit) => self.merged_into(&commit, head, None),
                None => Ok(None),
            },
            BaseRule::TestMerge(commit) => self.merged_into(commit, head, self.remote),
            BaseRule::Named(commit) => Ok(Some(commit.clone())),
            BaseRule::Branch(name) => self.branch(name),
            BaseRule::FirstParent => {
                let parents = self.repository.written_parents(head, self.remote)?;
                Ok(parents.and_then(|parents| parents.into_iter().next()))
            }
        }
    }

    /// What head was merged into, when the commit is such a merge.
    fn merged_into(
        &self,
        commit: &CommitId,
        head: &CommitId,
        remote: Option<&Remote<'_>>,
    ) -> Result<Option<CommitId>, crate::git::GitError> {
        let parents = self.repository.written_parents(commit, remote)?.unwrap_or_default();
        match parents.as_slice() {
            [base, merged] if merged == head => Ok(Some(base.clone())),
            _ => Ok(None),
        }
    }

    /// The tip as it is at the origin now, else as it was fetched.
    fn branch(&self, name: &str) -> Result<Option<CommitId>, crate::git::GitError> {
        let fetched = || self.repository.commit_named(&format!("refs/remotes/origin/{name}"));
        match self.remote.map(|remote| remote.tip(&format!("refs/heads/{name}"))) {
            Some(Ok(Some(tip))) => Ok(Some(tip)),
            Some(Ok(None)) | None => fetched(),
            Some(Err(error)) => fetched()?.map(Some).ok_or(error),
        }
    }
}
