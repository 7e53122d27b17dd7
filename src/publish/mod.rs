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

pub(crate) use checks::{CheckRun, WantedCheck};
pub(crate) use client::Target;
pub(crate) use code_scanning::SarifUpload;
pub(crate) use conversation::{DriftIssue, Ownership, StickyComment};
pub(crate) use error::PublishError;

use client::Client;
use qa_run::http::Http;

/// One repository on GitHub. Its methods block, and must not be called inside an asynchronous runtime.
pub(crate) struct GitHub {
    client: Client,
}

impl GitHub {
    /// Nothing is sent yet.
    pub(crate) fn new(http: Arc<dyn Http>, target: Target<'_>) -> Result<Self, PublishError> {
        Ok(Self { client: Client::new(http, target)? })
    }
}
