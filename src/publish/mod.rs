//! Everything that talks to GitHub's REST API and to the artifact service of a run; the one owner of octocrab.
//!
//! Octocrab is used without its models for answers, which are stricter than servers are, and without retries, which
//! know nothing of what is safe to repeat. Each operation here begins by looking at what is there, so a process that
//! ends between any two requests leaves something that the next one completes.

pub(crate) mod artifact;
mod checks;
mod client;
mod code_scanning;
mod conversation;
mod error;
mod limits;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde::Deserialize;

pub(crate) use checks::{CheckRun, WantedCheck};
pub(crate) use client::Target;
pub(crate) use code_scanning::SarifUpload;
pub(crate) use conversation::{DriftIssue, Ownership, Posted, StickyComment};
pub(crate) use error::{Permission, PublishError};

use crate::contracts::ids::CommitId;
use crate::run::http::{Http, Method};
use client::{Client, Operation};
use error::Trouble;

const PULL_HEAD: Operation = Operation { what: "read the pull request", needs: Permission::PullRequestsRead };

/// One repository on GitHub. Its methods block, and must not be called inside an asynchronous runtime.
pub(crate) struct GitHub {
    client: Client,
}

impl GitHub {
    /// Nothing is sent yet.
    pub(crate) fn new(http: Arc<dyn Http>, target: Target<'_>) -> Result<Self, PublishError> {
        Ok(Self { client: Client::new(http, target)? })
    }

    /// The head of a pull request as it is now.
    pub(crate) fn pull_head(&self, number: u64) -> Result<CommitId, PublishError> {
        #[derive(Deserialize)]
        struct Head {
            sha: String,
        }
        #[derive(Deserialize)]
        struct Pull {
            head: Head,
        }
        self.client.persist(PULL_HEAD, || {
            let pull: Pull = self.client.ask(PULL_HEAD, Method::Get, &format!("/pulls/{number}"), None)?;
            CommitId::parse(&pull.head.sha).map_err(|error| Trouble::Again {
                reason: format!("the head of the pull request is no commit: {error}"),
                hint: None,
            })
        })
    }
}
