//! Finds the artifact of a merged pull request by commits alone, from a successful run of the repository itself.

use serde::Deserialize;

use super::exchange::ask;
use super::repository::{Listed, Repository};
use super::{ArtifactError, ArtifactName};
use qa_contracts::ids::CommitId;

/// A pull request that a commit merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Merged {
    pub(crate) number: u64,
    pub(crate) head: CommitId,
    /// True if its head was in another repository, or in one that was deleted.
    pub(crate) from_fork: bool,
}

#[derive(Deserialize)]
struct Pull {
    number: u64,
    #[serde(default)]
    merged_at: Option<String>,
    #[serde(default)]
    merge_commit_sha: Option<String>,
    head: Side,
    base: Side,
}

#[derive(Deserialize)]
struct Side {
    sha: String,
    #[serde(rename = "ref")]
    name: String,
    #[serde(default)]
    repo: Option<Id>,
}

#[derive(Deserialize)]
struct Id {
    id: u64,
}

#[derive(Deserialize)]
struct Run {
    #[serde(default)]
    conclusion: Option<String>,
    head_sha: String,
    repository: Id,
    #[serde(default)]
    head_repository: Option<Id>,
}

impl Repository<'_> {
    /// The pull request that a commit of a branch merged.
    pub(crate) fn merged_by(&self, commit: &CommitId, branch: &str) -> Result<Option<Merged>, ArtifactError> {
        let route = format!("commits/{commit}/pulls?per_page=100");
        let pulls: Vec<Pull> = self.read("find the pull request that was merged", &route)?;
        let merged = pulls.into_iter().find(|pull| {
            pull.merged_at.is_some()
                && pull.merge_commit_sha.as_deref() == Some(commit.as_str())
                && pull.base.name == branch
        });
        let Some(Pull { number, head, base, .. }) = merged else { return Ok(None) };
        let unusable = |_| ArtifactError::Unavailable {
            what: format!("find the head of the pull request {number}"),
            reason: "the answer names no commit".to_owned(),
        };
        let from_fork = match (&head.repo, &base.repo) {
            (Some(head), Some(base)) => head.id != base.id,
            (None, _) | (_, None) => true,
        };
        Ok(Some(Merged { number, head: CommitId::parse(&head.sha).map_err(unusable)?, from_fork }))
    }

    /// The newest artifact of a name that a successful run of this repository made of a commit.
    pub(crate) fn of_head(
        &self,
        name: &ArtifactName,
        head: &CommitId,
    ) -> Result<Option<Listed>, ArtifactError> {
        for artifact in self.list_since(name, "")?.artifacts {
            let run = artifact.workflow_run.as_ref();
            let is_of_head = run.is_some_and(|run| run.head_sha.as_deref() == Some(head.as_str()));
            let Some(id) = run.and_then(|run| run.id).filter(|_| is_of_head) else { continue };
            if artifact.expired || artifact.is_foreign() {
                continue;
            }
            let run: Run =
                self.read("look at the run that made an artifact", &format!("actions/runs/{id}"))?;
            let is_own = run.head_repository.is_some_and(|head| head.id == run.repository.id);
            if is_own && run.head_sha == head.as_str() && run.conclusion.as_deref() == Some("success") {
                return Ok(Some(artifact));
            }
        }
        Ok(None)
    }

    /// An answer in JSON.
    fn read<T: for<'de> Deserialize<'de>>(
        &self,
        what: &'static str,
        route: &str,
    ) -> Result<T, ArtifactError> {
        self.check_name()?;
        let url = format!("{}/repos/{}/{route}", self.api, self.name);
        let parsed = |body: &[u8]| serde_json::from_slice::<T>(body).ok();
        let asked = ask(self.http, &self.name, what, &|body| parsed(body).is_some(), || {
            self.http.fetch(self.authorized(&url))
        });
        let asked = asked.map_err(|error| ArtifactError::unavailable(what, error))?;
        let found = if asked.reply.is_success() { parsed(&asked.body) } else { None };
        found.ok_or_else(|| self.refused(what, &asked))
    }
}
