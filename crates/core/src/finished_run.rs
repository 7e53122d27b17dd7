//! Finds the change that a finished workflow run was about, from GitHub's answers alone.
//!
//! The run may be that of a fork, whose author chooses its workflow, so nothing that it left is used: no artifact, no
//! output and no conclusion. Answers are read leniently, as payloads are.

use std::collections::BTreeSet;

use serde_json::Value;

use super::event::{BaseRule, Change, EventError, NamedRun, Payload, change_of_pull};
use super::observer::Occasion;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::RunStage;

/// Start of the names of branches that a merge queue makes.
const QUEUE: &str = "gh-readonly-queue/";

/// Error of a workflow run whose change cannot be judged. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    #[error("judge workflow run {0}: this repository has no such run, or the token may not read it")]
    Unknown(u64),
    #[error("judge workflow run {run}: its {member} is not what the event says")]
    Contradicted { run: u64, member: &'static str },
    #[error("judge workflow run {run}: GitHub's answer has no usable {member}")]
    Malformed { run: u64, member: &'static str },
    #[error("judge workflow run {0}: it is not completed")]
    NotCompleted(u64),
    #[error("judge workflow run {0}: the repository of its head was deleted")]
    NoHeadRepository(u64),
    #[error("judge {}: no open pull request has this head", .0.short())]
    NoPullRequest(CommitId),
    #[error("judge {}: the head of pull request {number} is now {}", head.short(), now.short())]
    HeadMoved { head: CommitId, number: u64, now: CommitId },
    #[error("judge {}: it is the head of pull requests {}, and its checks would count for all of them", head.short(), listed(.numbers))]
    SeveralPullRequests { head: CommitId, numbers: BTreeSet<u64> },
    #[error("judge {}: the merge queue has no such head any more", .0.short())]
    NotQueued(CommitId),
    #[error("publish the result of {}: {what} changed meanwhile", head.short())]
    Changed { head: CommitId, what: &'static str },
    #[error(transparent)]
    PullRequest(#[from] EventError),
}

fn listed(numbers: &BTreeSet<u64>) -> String {
    numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")
}

impl RunError {
    /// Returns the stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::HeadMoved { .. } | Self::NotQueued(_) | Self::Changed { .. } => Code::HeadSuperseded,
            Self::Unknown(_)
            | Self::Contradicted { .. }
            | Self::Malformed { .. }
            | Self::NotCompleted(_)
            | Self::NoHeadRepository(_)
            | Self::NoPullRequest(_)
            | Self::SeveralPullRequests { .. }
            | Self::PullRequest(_) => Code::EventUnusable,
        }
    }

    /// Returns the way out, in one line.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unknown(_) => {
                "give the job `actions: read`, and start it by `workflow_run` of a workflow of this repository"
            }
            Self::Contradicted { .. } => {
                "no step before may write to the event file; run the job of the first stage again"
            }
            Self::Malformed { .. } | Self::PullRequest(_) => "run the job of the first stage again",
            Self::NotCompleted(_) => {
                "start the workflow with `types: [completed]`; when the run ends, it starts anew"
            }
            Self::NoHeadRepository(_) | Self::NoPullRequest(_) => {
                "nothing is to be merged unless the pull request is opened again, or as a new one, which starts both stages"
            }
            Self::SeveralPullRequests { .. } => {
                "close all but one of them, or push a commit to each, and run the job of the first stage again"
            }
            Self::HeadMoved { .. } | Self::NotQueued(_) => "the newer head has runs of its own",
            Self::Changed { .. } => {
                "run the job of the first stage again, unless the change has runs of its own"
            }
        }
    }
}

/// Task of a step that a finished run started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunTask {
    /// Judge the reviews of the change that the run was about.
    Judge(FinishedRun),
    /// End successfully, with this reason in the log.
    Nothing(&'static str),
}

/// A completed workflow run of this repository, by GitHub's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedRun {
    pub head: CommitId,
    subject: Subject,
    /// True if a person started the run again, which asks for all of it.
    is_repeated: bool,
}

/// Kind of change that a run was about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    PullRequest { head_repository: u64, branch: String },
    MergeGroup { branch: String, base: CommitId },
}

impl FinishedRun {
    /// Reads GitHub's answer to the run that an event named, in the repository `owner/name`.
    pub fn from_answer(named: &NamedRun, repository: &str, answer: &Value) -> Result<RunTask, RunError> {
        let run = named.id;
        let contradicted = |member| RunError::Contradicted { run, member };
        let malformed = |member| RunError::Malformed { run, member };
        let text = Payload(answer);
        if answer.pointer("/id").and_then(Value::as_u64) != Some(run) {
            return Err(contradicted("id"));
        }
        if !text.string("/repository/full_name").is_some_and(|name| name.eq_ignore_ascii_case(repository)) {
            return Err(contradicted("repository"));
        }
        if text.string("/status").as_deref() != Some("completed") {
            return Err(RunError::NotCompleted(run));
        }
        let head = text.commit("/head_sha").map_err(|_| malformed("head_sha"))?;
        if head != named.head {
            return Err(contradicted("head"));
        }
        let event = text.string("/event");
        if !matches!(event.as_deref(), Some("pull_request" | "merge_group")) {
            return Ok(RunTask::Nothing("the workflow run was not about a pull request or a merge group"));
        }
        let branch = text.string("/head_branch").ok_or_else(|| malformed("head_branch"))?;
        let subject = if event.as_deref() == Some("pull_request") {
            let head_repository = answer.pointer("/head_repository/id").and_then(Value::as_u64);
            let head_repository = head_repository.ok_or(RunError::NoHeadRepository(run))?;
            Subject::PullRequest { head_repository, branch }
        } else {
            let base = queued_base(&branch).ok_or_else(|| malformed("head_branch"))?;
            Subject::MergeGroup { branch, base }
        };
        let is_repeated = answer.pointer("/run_attempt").and_then(Value::as_u64).unwrap_or(1) > 1;
        Ok(RunTask::Judge(Self { head, subject, is_repeated }))
    }

    /// Returns the ref of the merge queue that has to point to the head, or `None` for a pull request's run.
    pub fn queued_ref(&self) -> Option<String> {
        match &self.subject {
            Subject::MergeGroup { branch, .. } => Some(format!("refs/heads/{branch}")),
            Subject::PullRequest { .. } => None,
        }
    }

    /// Returns the change of a merge group, whose ref `tip` is now.
    pub fn merge_group(&self, tip: Option<&CommitId>) -> Result<Change, RunError> {
        let Subject::MergeGroup { branch, base } = &self.subject else {
            return Err(RunError::NotQueued(self.head.clone()));
        };
        if tip != Some(&self.head) {
            return Err(RunError::NotQueued(self.head.clone()));
        }
        Ok(Change {
            head: self.head.clone(),
            bases: vec![BaseRule::Named(base.clone())],
            pull_request: None,
            // It holds the commits of forks, and the job has secrets.
            from_fork: true,
            beside_secrets: true,
            scanning_ref: format!("refs/heads/{branch}"),
            label_features: BTreeSet::new(),
            occasion: Occasion::Final("a merge group is about to land"),
            head_before: None,
            opens: false,
            stage: Some(RunStage::Reviews),
        })
    }

    /// Returns the change of the run's pull request, found among all open ones. A check run counts for every pull request
    /// with its head, so another one with another base is an error: its base may have a milder policy.
    pub fn pull_request(&self, open: &[Value]) -> Result<Change, RunError> {
        let Subject::PullRequest { head_repository, branch } = &self.subject else {
            return Err(RunError::NoPullRequest(self.head.clone()));
        };
        let is_own = |pull: &&Value| {
            pull.pointer("/head/repo/id").and_then(Value::as_u64) == Some(*head_repository)
                && Payload(pull).string("/head/ref").as_ref() == Some(branch)
        };
        let has_head =
            |pull: &&Value| Payload(pull).string("/head/sha").as_deref() == Some(self.head.as_str());
        let of_head: Vec<&Value> = open.iter().filter(has_head).collect();
        let bases: BTreeSet<_> = of_head.iter().map(|pull| Payload(pull).string("/base/ref")).collect();
        let mut own: Vec<&Value> = of_head.iter().copied().filter(is_own).collect();
        if bases.len() > 1 || own.len() > 1 {
            let numbers = of_head.iter().filter_map(|pull| number(pull)).collect();
            return Err(RunError::SeveralPullRequests { head: self.head.clone(), numbers });
        }
        let Some(pull) = own.pop() else { return Err(self.missing(open.iter().find(is_own))) };
        let mut change = change_of_pull(pull)?;
        change.stage = Some(RunStage::Reviews);
        if self.is_repeated {
            change.occasion = Occasion::Final("the job of the first stage was started again");
        }
        Ok(change)
    }

    /// Returns why no pull request has the head. `now` is the open one of the same branch.
    fn missing(&self, now: Option<&Value>) -> RunError {
        let head = self.head.clone();
        let moved = now.and_then(|pull| Some((number(pull)?, Payload(pull).commit("/head/sha").ok()?)));
        match moved {
            Some((number, now)) => RunError::HeadMoved { head, number, now },
            None => RunError::NoPullRequest(head),
        }
    }
}

/// Fails if a change that was judged is not the one that GitHub names now.
pub fn confirm(judged: &Change, now: &Change) -> Result<(), RunError> {
    let same = [
        ("its pull request", judged.pull_request == now.pull_request),
        ("its base", judged.bases == now.bases),
    ];
    match same.iter().find(|(_, is_same)| !is_same) {
        Some((what, _)) => Err(RunError::Changed { head: judged.head.clone(), what }),
        None => Ok(()),
    }
}

fn number(pull: &Value) -> Option<u64> {
    pull.pointer("/number").and_then(Value::as_u64)
}

/// Returns the commit that a merge group builds on, from the name of its branch.
fn queued_base(branch: &str) -> Option<CommitId> {
    let (_, base) = branch.strip_prefix(QUEUE)?.rsplit_once('-')?;
    CommitId::parse(base).ok()
}

#[cfg(test)]
#[path = "finished_run_tests.rs"]
mod tests;
