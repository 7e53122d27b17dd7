//! API for drives: workflow runs that a person starts, protection of branches, pull requests with a result, and the check run of a
//! drive that waits for a person.

use serde::Deserialize;
use serde_json::{Value, json};

use super::GitHub;
use super::checks::CheckRun;
use super::client::{Operation, encoded};
use super::commands::{WorkflowRun, WorkflowRunPage, unless_missing};
use super::error::{AttemptError, Permission, PublishError};
use super::lease::HeadChecks;
use super::limits;
use qa_run::http::Method;

const START: Operation = Operation { what: "start the drive", needs: Permission::Actions };
const LIST_DRIVES: Operation = Operation { what: "list the drives", needs: Permission::ActionsRead };
const REMOVE_LABEL: Operation = Operation { what: "remove the label", needs: Permission::PullRequests };
const READ_BRANCH: Operation = Operation { what: "read the branch", needs: Permission::Contents };
const OPEN_PULL: Operation = Operation { what: "open the pull request", needs: Permission::PullRequests };

const SHOW_WAIT: Operation =
    Operation { what: "show that the drive waits for a person", needs: Permission::Checks };
const END_WAIT: Operation = Operation { what: "end the check run of the drive", needs: Permission::Checks };
const FIND_WAIT: Operation = Operation { what: "find the drive that waits", needs: Permission::Checks };

/// Conclusion of the check run of a drive that waits.
const ACTION_REQUIRED: &str = "action_required";

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

/// Texts of the check run of a drive.
pub(crate) struct DriveCheck<'a> {
    pub(crate) title: &'a str,
    /// Markdown.
    pub(crate) summary: &'a str,
}

impl DriveCheck<'_> {
    fn output(&self) -> Value {
        json!({
            "title": limits::plain(self.title, limits::MAX_TITLE),
            "summary": limits::markdown(self.summary),
        })
    }
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
        // With a filter, GitHub lists a thousand runs at most and does not say so, and attempts are counted by the list.
        let route = format!("/actions/workflows/{}/runs", encoded(workflow));
        let mut runs = self.client.list(operation, &route, |page: WorkflowRunPage| page.workflow_runs)?;
        runs.retain(WorkflowRun::is_dispatched);
        Ok(runs)
    }

    /// Starts a workflow at a branch, unless `is_started` finds its run among those that were started by hand. Returns whether it was
    /// started here.
    pub(crate) fn dispatch(
        &self,
        workflow: &str,
        branch: &str,
        inputs: &Value,
        is_started: impl Fn(&WorkflowRun) -> bool,
    ) -> Result<bool, PublishError> {
        let route = format!("/actions/workflows/{}/dispatches", encoded(workflow));
        let body = json!({ "ref": branch, "inputs": inputs });
        self.client.with_retries(START, || {
            if self.list_dispatched(START, workflow)?.iter().any(&is_started) {
                return Ok(false);
            }
            self.client.send(START, Method::Post, &route, Some(&body)).map(|_| true)
        })
    }

    /// Takes a label from a pull request, unless it is gone.
    pub(crate) fn remove_label(&self, number: u64, name: &str) -> Result<(), PublishError> {
        let route = format!("/issues/{number}/labels/{}", encoded(name));
        self.client.with_retries(REMOVE_LABEL, || {
            unless_missing(self.client.send(REMOVE_LABEL, Method::Delete, &route, None)).map(drop)
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

    /// Returns the session that the newest check run of a drive says has waited since a time or before; `None` where that one says that
    /// none waits, or began later.
    pub(crate) fn waiting_session(
        &self,
        head_checks: &HeadChecks,
        until: &str,
    ) -> Result<Option<String>, PublishError> {
        self.client.with_retries(FIND_WAIT, || {
            let newest = self.newest_check(FIND_WAIT, head_checks)?;
            let waiting = newest.filter(|run| {
                run.conclusion.as_deref() == Some(ACTION_REQUIRED)
                    && matches!(run.completed_at.as_deref(), Some(since) if since <= until)
            });
            Ok(waiting.and_then(|run| run.external_id))
        })
    }

    /// Has a check run say that a session waits for a person, unless one does. Returns its page.
    pub(crate) fn show_wait(
        &self,
        head_checks: &HeadChecks,
        session: &str,
        check: &DriveCheck<'_>,
    ) -> Result<Option<String>, PublishError> {
        let body = json!({
            "name": head_checks.name,
            "head_sha": head_checks.head,
            "external_id": session,
            "status": "completed",
            "conclusion": ACTION_REQUIRED,
            "output": check.output(),
        });
        self.client.with_retries(SHOW_WAIT, || {
            let newest = self.newest_check(SHOW_WAIT, head_checks)?;
            let shown: CheckRun = match newest.filter(|run| run.external_id.as_deref() == Some(session)) {
                Some(run) => run,
                None => self.client.request_json(SHOW_WAIT, Method::Post, "/check-runs", Some(&body))?,
            };
            Ok(shown.html_url)
        })
    }

    /// Has the check runs of a drive say how it ended, where they said that it waits.
    pub(crate) fn end_wait(
        &self,
        head_checks: &HeadChecks,
        check: &DriveCheck<'_>,
    ) -> Result<(), PublishError> {
        let body = json!({ "status": "completed", "conclusion": "neutral", "output": check.output() });
        self.client.with_retries(END_WAIT, || {
            let runs = self.own_checks(END_WAIT, head_checks)?;
            for run in runs.iter().filter(|run| run.conclusion.as_deref() == Some(ACTION_REQUIRED)) {
                let route = format!("/check-runs/{}", run.id);
                self.client.send(END_WAIT, Method::Patch, &route, Some(&body))?;
            }
            Ok(())
        })
    }

    fn newest_check(
        &self,
        operation: Operation,
        head_checks: &HeadChecks,
    ) -> Result<Option<CheckRun>, AttemptError> {
        Ok(self.own_checks(operation, head_checks)?.into_iter().max_by_key(|run| run.id))
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
