//! API for drives: workflow runs that a person starts, protection of branches, and pull requests with a result.

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::client::{Operation, encoded};
use super::commands::{WorkflowRun, WorkflowRunPage};
use super::error::{AttemptError, Permission, PublishError};
use super::limits;
use qa_run::http::Method;

const START: Operation = Operation { what: "start the drive", needs: Permission::Actions };
const LIST_DRIVES: Operation = Operation { what: "list the drives", needs: Permission::ActionsRead };
const READ_BRANCH: Operation = Operation { what: "read the branch", needs: Permission::Contents };
const OPEN_PULL: Operation = Operation { what: "open the pull request", needs: Permission::PullRequests };

/// Title limit of GitHub, in characters.
const MAX_TITLE: usize = 256;

/// A pull request to open.
pub(crate) struct NewPull<'a> {
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    /// Branch with the changes.
    pub(crate) head: &'a str,
    /// Branch that they are for.
    pub(crate) base: &'a str,
}

#[derive(Deserialize)]
struct Branch {
    protected: bool,
}

#[derive(Deserialize)]
struct OpenedPull {
    html_url: String,
}

impl GitHub {
    /// Returns the runs of a workflow that people and jobs started by hand.
    pub(crate) fn dispatched_runs(&self, workflow: &str) -> Result<Vec<WorkflowRun>, PublishError> {
        self.client.with_retries(LIST_DRIVES, || self.list_dispatched(LIST_DRIVES, workflow))
    }

    pub(super) fn list_dispatched(
        &self,
        operation: Operation,
        workflow: &str,
    ) -> Result<Vec<WorkflowRun>, AttemptError> {
        let route = format!("/actions/workflows/{}/runs?event=workflow_dispatch", encoded(workflow));
        self.client.list(operation, &route, |page: WorkflowRunPage| page.workflow_runs)
    }

    /// Starts a workflow at a branch, unless `is_started` finds its run among those that were started by hand.
    pub(crate) fn dispatch(
        &self,
        workflow: &str,
        branch: &str,
        inputs: &Value,
        is_started: impl Fn(&WorkflowRun) -> bool,
    ) -> Result<(), PublishError> {
        let route = format!("/actions/workflows/{}/dispatches", encoded(workflow));
        let body = json!({ "ref": branch, "inputs": inputs });
        self.client.with_retries(START, || {
            if self.list_dispatched(START, workflow)?.iter().any(&is_started) {
                return Ok(());
            }
            self.client.send(START, Method::Post, &route, Some(&body)).map(drop)
        })
    }

    /// Returns whether rules protect a branch.
    pub(crate) fn is_protected(&self, branch: &str) -> Result<bool, PublishError> {
        let route = format!("/branches/{}", encoded(branch));
        self.client.with_retries(READ_BRANCH, || {
            let branch: Branch = self.client.request_json(READ_BRANCH, Method::Get, &route, None)?;
            Ok(branch.protected)
        })
    }

    /// Opens a pull request between two branches of the repository, unless one is open. Returns its page.
    pub(crate) fn open_pull(&self, owner: &str, new: &NewPull<'_>) -> Result<String, PublishError> {
        let head = encoded(&format!("{owner}:{}", new.head));
        let list = format!("/pulls?state=open&head={head}&base={}", encoded(new.base));
        let body = json!({
            "title": limits::plain(new.title, MAX_TITLE),
            "body": limits::markdown(new.body),
            "head": new.head,
            "base": new.base,
        });
        self.client.with_retries(OPEN_PULL, || {
            let open = self.client.list(OPEN_PULL, &list, |page: Vec<OpenedPull>| page)?;
            let opened = match open.into_iter().next() {
                Some(opened) => opened,
                None => self.client.request_json(OPEN_PULL, Method::Post, "/pulls", Some(&body))?,
            };
            Ok(opened.html_url)
        })
    }
}
