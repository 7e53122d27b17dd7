//! API for commands in comments: the comment, its pull request, the role of its author, and workflow runs.
//!
//! A run that began after the comment is the effect of the command, or makes it needless: so an attempt that follows a lost
//! response, also of an earlier process, does nothing twice. Times are GitHub's own.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::GitHub;
use super::client::{Operation, encoded};
use super::error::{AttemptError, Permission, PublishError};
use qa_contracts::ids::CommitId;
use qa_core::commands::{Comment, Role};
use qa_run::http::Method;

const READ_COMMENT: Operation = Operation { what: "read the comment", needs: Permission::PullRequests };
const READ_PULL: Operation = Operation { what: "read the pull request", needs: Permission::PullRequests };
const READ_ROLE: Operation = Operation { what: "read a person's role", needs: Permission::Metadata };
const REACT: Operation = Operation { what: "react to the comment", needs: Permission::PullRequests };
const LIST_RUNS: Operation = Operation { what: "list the workflow runs", needs: Permission::Actions };
const RESTART: Operation = Operation { what: "run the workflow again", needs: Permission::Actions };
const CANCEL: Operation = Operation { what: "cancel the workflow run", needs: Permission::Actions };

/// A comment, as the API has it now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct IssueComment {
    pub(crate) id: u64,
    #[serde(default)]
    body: Option<String>,
    /// `None` if the account was deleted.
    #[serde(default)]
    user: Option<Account>,
    pub(crate) created_at: String,
    updated_at: String,
    pub(crate) html_url: String,
    issue_url: String,
    #[serde(default)]
    performed_via_github_app: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Account {
    id: u64,
    login: String,
    #[serde(default, rename = "type")]
    kind: String,
}

impl IssueComment {
    /// Returns the facts that decide whether it is a command.
    pub(crate) fn facts(&self) -> Comment<'_> {
        let is_person = matches!(&self.user, Some(user) if user.kind == "User");
        Comment {
            body: self.body.as_deref().unwrap_or_default(),
            is_on_pull_request: true,
            is_by_bot: !is_person || self.performed_via_github_app.is_some(),
            is_edited: self.updated_at != self.created_at,
        }
    }

    /// Returns whether it is a comment on this pull request or issue.
    pub(crate) fn is_on(&self, number: u64) -> bool {
        self.issue_url.rsplit('/').next() == Some(&*number.to_string())
    }

    pub(crate) fn login(&self) -> &str {
        match &self.user {
            Some(user) => &user.login,
            None => "",
        }
    }

    pub(crate) fn is_by_author_of(&self, pull: &PullRequest) -> bool {
        matches!((&self.user, &pull.user), (Some(user), Some(author)) if user.id == author.id)
    }
}

/// A pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PullRequest {
    #[serde(default)]
    number: u64,
    state: String,
    #[serde(default)]
    user: Option<Account>,
    head: Side,
    #[serde(default)]
    base: Option<Side>,
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Label {
    name: String,
}

/// Head or base of a pull request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Side {
    sha: String,
    #[serde(rename = "ref", default)]
    branch: String,
    /// `None` for a fork that was deleted.
    #[serde(default)]
    repo: Option<SideRepository>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SideRepository {
    id: u64,
    #[serde(default)]
    default_branch: String,
}

impl PullRequest {
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn is_open(&self) -> bool {
        self.state == "open"
    }

    pub(crate) fn head(&self) -> Option<CommitId> {
        CommitId::parse(&self.head.sha).ok()
    }

    /// Returns whether its head is a branch of another repository, or of one that was deleted.
    pub(crate) fn is_from_fork(&self) -> bool {
        match (&self.head.repo, self.base_repository()) {
            (Some(head), Some(base)) => head.id != base.id,
            _ => true,
        }
    }

    pub(crate) fn has_label(&self, name: &str) -> bool {
        self.labels.iter().any(|label| label.name == name)
    }

    /// Name of the branch that its head is the tip of.
    pub(crate) fn branch(&self) -> &str {
        &self.head.branch
    }

    /// Name of the branch that it is for.
    pub(crate) fn base_branch(&self) -> &str {
        self.base.as_ref().map_or("", |base| &base.branch)
    }

    /// Name of the default branch of the repository.
    pub(crate) fn default_branch(&self) -> &str {
        self.base_repository().map_or("", |repository| &repository.default_branch)
    }

    fn base_repository(&self) -> Option<&SideRepository> {
        self.base.as_ref()?.repo.as_ref()
    }
}

#[derive(Deserialize)]
struct Collaborator {
    #[serde(default)]
    permission: String,
    #[serde(default)]
    role_name: String,
    #[serde(default)]
    user: Option<Account>,
}

/// Events that start a workflow run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// `pull_request` and its variants.
    PullRequest,
    Push,
}

impl Trigger {
    fn has(self, event: &str) -> bool {
        match self {
            Self::PullRequest => event.starts_with("pull_request"),
            Self::Push => event == "push",
        }
    }
}

/// A run of the workflow that judges pull requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct WorkflowRun {
    pub(crate) id: u64,
    head_sha: String,
    /// Branch or tag that was pushed, or that a pull request comes from.
    #[serde(default)]
    pub(crate) head_branch: Option<String>,
    #[serde(default)]
    event: String,
    /// Name that the workflow's `run-name` gives it.
    #[serde(default)]
    display_title: String,
    /// Number of its attempts.
    #[serde(default)]
    run_attempt: u64,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    /// Start of the last attempt. RFC 3339 in UTC; times compare as texts.
    #[serde(default)]
    run_started_at: Option<String>,
    repository: Identity,
    #[serde(default)]
    head_repository: Option<Identity>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Identity {
    id: u64,
}

#[derive(Deserialize)]
pub(super) struct WorkflowRunPage {
    pub(super) workflow_runs: Vec<WorkflowRun>,
}

impl WorkflowRun {
    /// Returns whether a person or a job started it by hand.
    pub(crate) fn is_dispatched(&self) -> bool {
        self.event == "workflow_dispatch"
    }

    /// Name that the workflow's `run-name` gives it.
    pub(crate) fn title(&self) -> &str {
        &self.display_title
    }

    /// Number of its attempts, at least one.
    pub(crate) fn attempts(&self) -> u64 {
        self.run_attempt.max(1)
    }

    pub(crate) fn is_completed(&self) -> bool {
        self.status.as_deref() == Some("completed")
    }

    pub(crate) fn is_success(&self) -> bool {
        self.conclusion.as_deref() == Some("success")
    }

    /// Returns whether its workflow may be one of another repository.
    pub(crate) fn is_foreign(&self) -> bool {
        self.head_repository.as_ref() != Some(&self.repository)
    }

    pub(crate) fn began_since(&self, time: &str) -> bool {
        matches!(self.run_started_at.as_deref(), Some(started) if started >= time)
    }

    fn began_until(&self, time: &str) -> bool {
        matches!(self.run_started_at.as_deref(), Some(started) if started <= time)
    }
}

/// Outcome of a request to run again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restarted {
    /// A run that began after the comment exists, by this request or by another.
    Started,
    /// A run that began before the comment is in progress.
    InProgress,
    NoRun,
}

/// Returns `None` where GitHub answers 404.
pub(super) fn unless_missing<T>(result: Result<T, AttemptError>) -> Result<Option<T>, AttemptError> {
    match result {
        Err(AttemptError::Final(PublishError::Forbidden { status: 404, .. })) => Ok(None),
        other => other.map(Some),
    }
}

impl GitHub {
    /// Returns a comment, or `None` if it was deleted.
    pub(crate) fn comment(&self, id: u64) -> Result<Option<IssueComment>, PublishError> {
        let route = format!("/issues/comments/{id}");
        self.client.with_retries(READ_COMMENT, || {
            unless_missing(self.client.request_json(READ_COMMENT, Method::Get, &route, None))
        })
    }

    pub(crate) fn pull_request(&self, number: u64) -> Result<PullRequest, PublishError> {
        self.pull_request_as(number)
    }

    /// Returns a pull request, as a type that the answer can be read into.
    pub(crate) fn pull_request_as<T: DeserializeOwned>(&self, number: u64) -> Result<T, PublishError> {
        let route = format!("/pulls/{number}");
        self.client.with_retries(READ_PULL, || self.client.request_json(READ_PULL, Method::Get, &route, None))
    }

    /// Returns the role of a comment's author. An account that is not the one that commented has none.
    pub(crate) fn role_of(&self, comment: &IssueComment) -> Result<Role, PublishError> {
        match &comment.user {
            Some(user) => self.role_of_account(&user.login, user.id),
            None => Ok(Role::Reader),
        }
    }

    /// Returns the role of a person by login. Another account with that login has none.
    pub(crate) fn role_of_account(&self, login: &str, account: u64) -> Result<Role, PublishError> {
        let route = format!("/collaborators/{}/permission", encoded(login));
        self.client.with_retries(READ_ROLE, || {
            let found: Option<Collaborator> =
                unless_missing(self.client.request_json(READ_ROLE, Method::Get, &route, None))?;
            Ok(match found {
                Some(Collaborator { permission, role_name, user: Some(answered) })
                    if answered.id == account =>
                {
                    Role::from_permission(&permission, &role_name)
                }
                Some(_) | None => Role::Reader,
            })
        })
    }

    /// Adds a reaction as a receipt. GitHub keeps one of a kind for each account.
    pub(crate) fn acknowledge(&self, comment: &IssueComment) -> Result<(), PublishError> {
        let route = format!("/issues/comments/{}/reactions", comment.id);
        let body = json!({"content": "eyes"});
        self.client
            .with_retries(REACT, || self.client.send(REACT, Method::Post, &route, Some(&body)).map(drop))
    }

    /// Returns the runs of a workflow about a commit, started by one kind of event, the newest first.
    pub(crate) fn runs_of_head(
        &self,
        workflow: &str,
        head: &CommitId,
        trigger: Trigger,
    ) -> Result<Vec<WorkflowRun>, PublishError> {
        self.client.with_retries(LIST_RUNS, || self.list_runs(LIST_RUNS, workflow, head, trigger))
    }

    fn list_runs(
        &self,
        operation: Operation,
        workflow: &str,
        head: &CommitId,
        trigger: Trigger,
    ) -> Result<Vec<WorkflowRun>, AttemptError> {
        let route = format!("/actions/workflows/{}/runs?head_sha={head}", encoded(workflow));
        let mut runs = self.client.list(operation, &route, |page: WorkflowRunPage| page.workflow_runs)?;
        runs.retain(|run| run.head_sha == head.as_str() && trigger.has(&run.event));
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        Ok(runs)
    }

    /// Runs the newest run of a head again, all jobs or those that failed, unless one began since a time.
    pub(crate) fn restart(
        &self,
        workflow: &str,
        head: &CommitId,
        since: &str,
        jobs: &'static str,
    ) -> Result<Restarted, PublishError> {
        self.client.with_retries(RESTART, || {
            let runs = self.list_runs(RESTART, workflow, head, Trigger::PullRequest)?;
            let Some(run) = runs.first() else { return Ok(Restarted::NoRun) };
            if run.began_since(since) {
                return Ok(Restarted::Started);
            }
            if !run.is_completed() {
                return Ok(Restarted::InProgress);
            }
            let route = format!("/actions/runs/{}/{jobs}", run.id);
            self.client.send(RESTART, Method::Post, &route, None)?;
            Ok(Restarted::Started)
        })
    }

    /// Cancels the runs of a head that began until a time and are in progress. Returns their number.
    pub(crate) fn cancel_runs(
        &self,
        workflow: &str,
        head: &CommitId,
        until: &str,
    ) -> Result<usize, PublishError> {
        self.client.with_retries(CANCEL, || {
            let runs = self.list_runs(CANCEL, workflow, head, Trigger::PullRequest)?;
            self.cancel_each(runs, until)
        })
    }

    /// Cancels the runs of a workflow that were started by hand until a time, are in progress, and that `is_meant` names. Returns
    /// their number.
    pub(crate) fn cancel_dispatched(
        &self,
        workflow: &str,
        until: &str,
        is_meant: impl Fn(&WorkflowRun) -> bool,
    ) -> Result<usize, PublishError> {
        self.client.with_retries(CANCEL, || {
            let mut runs = self.list_dispatched(CANCEL, workflow)?;
            runs.retain(&is_meant);
            self.cancel_each(runs, until)
        })
    }

    fn cancel_each(&self, mut runs: Vec<WorkflowRun>, until: &str) -> Result<usize, AttemptError> {
        runs.retain(|run| !run.is_completed() && run.began_until(until));
        for run in &runs {
            let route = format!("/actions/runs/{}/cancel", run.id);
            match self.client.send(CANCEL, Method::Post, &route, None) {
                // The run ended meanwhile.
                Err(AttemptError::Final(PublishError::Refused { status: 409, .. })) => {}
                other => drop(other?),
            }
        }
        Ok(runs.len())
    }
}
