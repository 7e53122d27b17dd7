//! Finds the artifact of a merged pull request by its commits, from a successful run of the repository itself.

use serde::Deserialize;

use super::exchange::send_with_retries;
use super::repository::{ListedArtifact, ListedRun, Repository};
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
    /// Returns the pull request that a commit of a branch merged, if it merged one.
    pub(crate) fn merged_by(&self, commit: &CommitId, branch: &str) -> Result<Option<Merged>, ArtifactError> {
        let route = format!("commits/{commit}/pulls?per_page=100");
        let pulls: Vec<Pull> = self.fetch_json("find the pull request that was merged", &route)?;
        let merged = pulls.into_iter().find(|pull| {
            pull.merged_at.is_some()
                && pull.merge_commit_sha.as_deref() == Some(commit.as_str())
                && pull.base.name == branch
        });
        let Some(Pull { number, head, base, .. }) = merged else { return Ok(None) };
        let head_commit = CommitId::parse(&head.sha).map_err(|_| ArtifactError::Unavailable {
            what: format!("find the head of the pull request {number}"),
            reason: "the response names no commit".to_owned(),
        })?;
        let from_fork = match (&head.repo, &base.repo) {
            (Some(head), Some(base)) => head.id != base.id,
            (None, _) | (_, None) => true,
        };
        Ok(Some(Merged { number, head: head_commit, from_fork }))
    }

    /// Returns the newest artifact of a name from a successful run of this repository on a commit.
    pub(crate) fn artifact_of_head(
        &self,
        name: &ArtifactName,
        head: &CommitId,
    ) -> Result<Option<ListedArtifact>, ArtifactError> {
        for artifact in self.list_since(name, "")?.artifacts {
            let Some(ListedRun { id: Some(id), head_sha: Some(head_sha), .. }) = &artifact.workflow_run
            else {
                continue;
            };
            if head_sha != head.as_str() || artifact.expired || artifact.is_foreign() {
                continue;
            }
            let run: Run = self.fetch_json("read the run of an artifact", &format!("actions/runs/{id}"))?;
            let is_own = matches!(&run.head_repository, Some(head) if head.id == run.repository.id);
            if is_own && run.head_sha == head.as_str() && run.conclusion.as_deref() == Some("success") {
                return Ok(Some(artifact));
            }
        }
        Ok(None)
    }

    /// Fetches a route of the repository and parses the response as JSON.
    pub(super) fn fetch_json<T: for<'de> Deserialize<'de>>(
        &self,
        what: &'static str,
        route: &str,
    ) -> Result<T, ArtifactError> {
        self.check_name()?;
        let url = format!("{}/repos/{}/{route}", self.api, self.name);
        let response = send_with_retries(
            self.http,
            &self.name,
            what,
            &|body| serde_json::from_slice::<T>(body).is_ok(),
            || self.http.fetch(self.authorized(&url)),
        );
        let response = response.map_err(|error| ArtifactError::unavailable(what, error))?;
        if !response.reply.is_success() {
            return Err(self.refused(what, &response));
        }
        serde_json::from_slice(&response.body).map_err(|_| self.refused(what, &response))
    }
}
