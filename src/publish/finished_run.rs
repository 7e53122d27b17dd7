//! API for the second stage of a judgement: a workflow run, and the open pull requests. Reads only; what the answers mean is
//! decided by the core.

use serde_json::Value;

use super::GitHub;
use super::client::Operation;
use super::commands::unless_missing;
use super::error::{Permission, PublishError};
use qa_run::http::Method;

const READ_RUN: Operation = Operation { what: "read the workflow run", needs: Permission::ActionsRead };
const LIST_PULLS: Operation =
    Operation { what: "list the open pull requests", needs: Permission::PullRequestsRead };

impl GitHub {
    /// Returns a workflow run, or `None` if the repository has no run of this id.
    pub(crate) fn workflow_run(&self, id: u64) -> Result<Option<Value>, PublishError> {
        let route = format!("/actions/runs/{id}");
        self.client.with_retries(READ_RUN, || {
            unless_missing(self.client.request_json(READ_RUN, Method::Get, &route, None))
        })
    }

    /// Returns all open pull requests. Those of one head cannot be asked for: GitHub's list by commit leaves out forks, and
    /// its filter by branch leaves out other repositories with the same head.
    pub(crate) fn open_pulls(&self) -> Result<Vec<Value>, PublishError> {
        let route = "/pulls?state=open&sort=created&direction=asc";
        self.client.with_retries(LIST_PULLS, || self.client.list(LIST_PULLS, route, |page: Vec<Value>| page))
    }
}
