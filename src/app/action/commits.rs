//! Finds the base and head commits of an event, by the runner's own variables and the server. Refs of the checkout are not
//! used: any earlier step of the job can move them.

use crate::app::exit::Failure;
use crate::git::{GitError, OpenRepository, Remote};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_core::event::{BaseRule, Change};
use qa_core::masking::sanitize_cut;

/// A base commit, and the rule that named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) commit: CommitId,
    pub(crate) rule: &'static str,
    /// The test merge whose first parent is the base, if the rule used one.
    pub(crate) test_merge: Option<CommitId>,
}

/// Sources of commits.
pub(crate) struct Sources<'a> {
    pub(crate) repository: &'a OpenRepository,
    pub(crate) remote: Option<&'a Remote<'a>>,
    /// `GITHUB_SHA`, which is what `HEAD` means.
    pub(crate) sha: &'a str,
}

impl Sources<'_> {
    /// Returns the base of a change, by the first rule that finds one.
    pub(crate) fn base(&self, change: &Change) -> Result<Base, Failure> {
        let mut tried = Vec::new();
        for rule in &change.bases {
            match self.by_rule(rule, change) {
                Ok(Some(commit)) => {
                    let test_merge = match rule {
                        BaseRule::TestMerge(merge) => Some(merge.clone()),
                        BaseRule::Named(_)
                        | BaseRule::Branch(_)
                        | BaseRule::Replaced { .. }
                        | BaseRule::DefaultBranch => None,
                    };
                    return Ok(Base { commit, rule: rule.as_str(), test_merge });
                }
                Ok(None) => tried.push(format!("{}: none", rule.as_str())),
                Err(error @ GitError::HeadMoved(_)) => return Err(error.into()),
                Err(error) => tried.push(format!("{}: {error}", rule.as_str())),
            }
        }
        let message = format!("failed to find the base of this event ({})", tried.join("; "));
        Err(Failure::with_code(Code::BaseRefResolutionFailed, message))
    }

    fn by_rule(&self, rule: &BaseRule, change: &Change) -> Result<Option<CommitId>, GitError> {
        match rule {
            BaseRule::TestMerge(commit) => self.merged_into(commit, &change.head),
            BaseRule::Named(commit) => Ok(Some(commit.clone())),
            BaseRule::Branch(name) => {
                // No merge commit vouches for the head that the payload names, so the server has to.
                if let Some(number) = change.pull_request {
                    self.confirm_head(number, &change.head)?;
                }
                self.tip(&format!("refs/heads/{name}"))
            }
            BaseRule::Replaced { commit, git_ref } => {
                let default = self.tip("HEAD")?;
                let is_default = default.is_some() && default == self.tip(git_ref)?;
                Ok(Some(commit.clone()).filter(|_| is_default))
            }
            BaseRule::DefaultBranch => match self.tip("HEAD")? {
                Some(tip) if tip == change.head => {
                    let parents = self.repository.written_parents(&change.head, self.remote)?;
                    Ok(parents.and_then(|parents| parents.into_iter().next()))
                }
                tip => Ok(tip),
            },
        }
    }

    /// Returns the commit that head was merged into, if the commit is such a merge.
    fn merged_into(&self, commit: &CommitId, head: &CommitId) -> Result<Option<CommitId>, GitError> {
        let parents = self.repository.written_parents(commit, self.remote)?.unwrap_or_default();
        match parents.as_slice() {
            [base, merged] if merged == head => Ok(Some(base.clone())),
            _ => Ok(None),
        }
    }

    fn confirm_head(&self, number: u64, head: &CommitId) -> Result<(), GitError> {
        match self.tip(&format!("refs/pull/{number}/head"))? {
            Some(now) if now == *head => Ok(()),
            Some(now) => Err(GitError::HeadMoved(now)),
            None => Err(GitError::NoBase(format!("the server has no pull request {number}"))),
        }
    }

    /// Returns the commit of a ref on the server, or `None` if there is no such ref.
    fn tip(&self, full: &str) -> Result<Option<CommitId>, GitError> {
        let Some(remote) = self.remote else {
            return Err(GitError::Incomplete("no server is configured".to_owned()));
        };
        remote.tip(full)
    }

    /// Returns the commit that the input `base` or `head` names: a full id, `HEAD`, or a branch or tag of the server, with
    /// any number of `^` and `~N` after it.
    pub(crate) fn resolve_revision(&self, name: &str) -> Result<CommitId, Failure> {
        let cut = name.find(['^', '~']).unwrap_or(name.len());
        let (start, steps) = name.split_at(cut);
        let commit = match self.start(start)? {
            Some(commit) if steps.is_empty() => Some(commit),
            Some(commit) => self.repository.commit_named(&format!("{commit}{steps}"))?,
            None => None,
        };
        commit.ok_or_else(|| {
            let message = format!("failed to find `{}` on the server", sanitize_cut(name, 100));
            let hint = "name a branch, a tag or a full commit id of the repository";
            let failure = Failure::with_code(Code::BaseRefConfiguredNotFound, message);
            Failure { hint: hint.to_owned(), ..failure }
        })
    }

    fn start(&self, name: &str) -> Result<Option<CommitId>, GitError> {
        if let Ok(commit) = CommitId::parse(name) {
            return Ok(Some(commit));
        }
        if matches!(name, "HEAD" | "@") {
            return Ok(CommitId::parse(self.sha).ok());
        }
        let branch = name.strip_prefix("refs/remotes/origin/").or_else(|| name.strip_prefix("origin/"));
        if let Some(branch) = branch {
            return self.tip(&format!("refs/heads/{branch}"));
        }
        if name.starts_with("refs/") {
            return self.tip(name);
        }
        match (self.tip(&format!("refs/heads/{name}"))?, self.tip(&format!("refs/tags/{name}"))?) {
            (Some(branch), Some(tag)) if branch != tag => {
                let name = sanitize_cut(name, 100);
                Err(GitError::Ambiguous(format!("`{name}` may be refs/heads/{name}, refs/tags/{name}")))
            }
            (branch, tag) => Ok(branch.or(tag)),
        }
    }
}
