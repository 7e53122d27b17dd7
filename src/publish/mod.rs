//! Clients of GitHub's REST API and of a run's artifact service; the one owner of octocrab.
//!
//! Octocrab is used without its models of responses, which reject responses of real servers, and without its retries, which
//! repeat requests that are not idempotent. Each operation begins with the existing state, so that it completes what a
//! process left that ended between two requests.

pub(crate) mod artifact;
mod branch_rules;
mod checks;
mod client;
mod code_scanning;
mod commands;
mod conversation;
mod drives;
mod error;
mod finished_run;
mod lease;
mod limits;
mod review;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub(crate) use client::Target;
pub(crate) use code_scanning::SarifUpload;
pub(crate) use commands::{PullRequest, Restarted, Trigger, WorkflowRun};
pub(crate) use conversation::{DriftIssue, Ownership, StickyComment};
pub(crate) use drives::{DriveCheck, NewPull};
pub(crate) use error::PublishError;
pub(crate) use lease::{Claim, HeadChecks, Lease, WantedCheck};
pub(crate) use review::{Review, Reviewed};

use client::Client;
use qa_run::http::Http;

/// Client of one GitHub repository. Its methods block, and must not be called inside an asynchronous runtime.
pub(crate) struct GitHub {
    client: Client,
}

impl GitHub {
    /// Creates a client. Sends no request.
    pub(crate) fn new(http: Arc<dyn Http>, target: Target<'_>) -> Result<Self, PublishError> {
        Ok(Self { client: Client::new(http, target)? })
    }
}
