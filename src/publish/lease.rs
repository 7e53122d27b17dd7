//! Lease of a head: one run judges it at a time, and its check run is the claim (S001-74).
//!
//! The newest check run of a name and head says in its external id which run judges. A run that begins later starts a newer
//! one, or takes over one of its key that is complete, and closes those that are open. Before a run writes, it looks whether
//! the newest is still its own, and writes nothing if it is not. What it has sent by then reaches its own check run alone.

use serde_json::json;

use super::checks::{CheckRun, Output};
use super::client::{Operation, encoded};
use super::error::{AttemptError, Permission, PublishError};
use super::{GitHub, limits};
use octocrab::params::checks::{CheckRunConclusion, CheckRunStatus};
use qa_contracts::ids::{CommitId, ExecutionKey};
use qa_run::http::Method;

const START: Operation = Operation { what: "start the check run", needs: Permission::Checks };
const CLOSE: Operation = Operation { what: "close other check runs of the head", needs: Permission::Checks };

/// Claim of a run to judge a head: its execution key, workflow run and attempt, as an external id has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim(String);

impl Claim {
    pub(crate) fn new(key: &ExecutionKey, run_id: &str, attempt: &str) -> Self {
        Self(format!("{key}/{run_id}/{attempt}"))
    }

    fn shares_key(&self, check: &CheckRun) -> bool {
        let other = check.external_id.as_deref().unwrap_or_default();
        other.split('/').next() == self.0.split('/').next()
    }

    fn is_of(&self, check: &CheckRun) -> bool {
        check.external_id.as_deref() == Some(&self.0)
    }
}

/// Identity of the check runs of one gate on one head.
#[derive(Debug, Clone)]
pub(crate) struct HeadChecks {
    /// The head of the pull request, never the merge commit.
    pub(crate) head: CommitId,
    /// Name, different from that of any job.
    pub(crate) name: String,
    /// Slug of the token's app. Check runs of other apps are never changed.
    pub(crate) app: String,
}

/// Check run to claim.
#[derive(Debug, Clone)]
pub(crate) struct WantedCheck {
    pub(crate) head_checks: HeadChecks,
    pub(crate) claim: Claim,
    /// Target of the "Details" link.
    pub(crate) details_url: Option<String>,
}

/// Claimed check run.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    wanted: WantedCheck,
    pub(super) check: CheckRun,
}

impl Lease {
    /// Returns the URL of the check run's page.
    pub(crate) fn page(&self) -> Option<&str> {
        self.check.html_url.as_deref()
    }

    /// Returns the newest check run if it is a later claim than this one. A listing may lag behind, and lack this one's.
    fn later<'r>(&self, runs: &'r [CheckRun]) -> Option<&'r CheckRun> {
        let newest = runs.iter().max_by_key(|run| run.id)?;
        let is_later =
            newest.id > self.check.id || (newest.id == self.check.id && !self.wanted.claim.is_of(newest));
        is_later.then_some(newest)
    }

    /// Fails if GitHub's answer to a change of the check run shows that a later run closed it.
    pub(super) fn confirm(&self, what: &'static str, answer: &CheckRun) -> Result<(), PublishError> {
        if self.wanted.claim.is_of(answer) && (answer.is_open() || !self.check.is_open()) {
            return Ok(());
        }
        Err(superseded(what, answer))
    }
}

impl GitHub {
    /// Claims a head: takes over its newest check run if that is complete and has the same key, or starts another.
    pub(crate) fn claim_head(&self, wanted: WantedCheck) -> Result<Lease, PublishError> {
        let mut body = json!({ "external_id": wanted.claim.0 });
        if let Some(url) = &wanted.details_url {
            body["details_url"] = url.as_str().into();
        }
        let check = self.client.with_retries(START, || {
            let newest = self.own_checks(START, &wanted.head_checks)?.into_iter().max_by_key(|run| run.id);
            match newest {
                // An attempt without a response started it.
                Some(check) if wanted.claim.is_of(&check) => Ok(check),
                Some(check) if !check.is_open() && wanted.claim.shares_key(&check) => {
                    let route = format!("/check-runs/{}", check.id);
                    self.client.request_json(START, Method::Patch, &route, Some(&body))
                }
                Some(_) | None => {
                    let mut body = body.clone();
                    body["name"] = wanted.head_checks.name.as_str().into();
                    body["head_sha"] = wanted.head_checks.head.as_str().into();
                    body["status"] = json!(CheckRunStatus::InProgress);
                    self.client.request_json(START, Method::Post, "/check-runs", Some(&body))
                }
            }
        })?;
        Ok(Lease { wanted, check })
    }

    /// Closes the open check runs of earlier claims, as timed out where they started before `stale`, since their processes
    /// ended. Fails if a later run has claimed the head meanwhile.
    pub(crate) fn close_earlier(&self, lease: &Lease, stale: &str) -> Result<(), PublishError> {
        self.client.with_retries(CLOSE, || {
            let runs = self.own_checks(CLOSE, &lease.wanted.head_checks)?;
            for run in runs.iter().filter(|run| run.id < lease.check.id && run.is_open()) {
                if matches!(run.started_at.as_deref(), Some(started) if started < stale) {
                    self.conclude(CLOSE, run, CheckRunConclusion::TimedOut, None)?;
                } else {
                    self.close_superseded(run, lease.wanted.details_url.as_deref())?;
                }
            }
            self.hold_among(CLOSE, lease, &runs)
        })
    }

    /// Fails if a later run has claimed the head.
    pub(super) fn hold(&self, operation: Operation, lease: &Lease) -> Result<(), AttemptError> {
        let runs = self.own_checks(operation, &lease.wanted.head_checks)?;
        self.hold_among(operation, lease, &runs)
    }

    /// Like [`Self::hold`] for a run without a verdict, which closes its check run also where the others cannot be listed.
    pub(super) fn hold_if_known(&self, operation: Operation, lease: &Lease) -> Result<(), AttemptError> {
        match self.hold(operation, lease) {
            Err(AttemptError::Retryable { .. } | AttemptError::Limited { .. }) => Ok(()),
            held => held,
        }
    }

    /// Fails if one of these check runs is a later claim, and closes that of this run, which the later one may not have seen.
    fn hold_among(&self, operation: Operation, lease: &Lease, runs: &[CheckRun]) -> Result<(), AttemptError> {
        let Some(later) = lease.later(runs) else { return Ok(()) };
        let own = runs.iter().find(|run| run.id == lease.check.id && lease.wanted.claim.is_of(run));
        if let Some(own) = own.filter(|own| own.is_open()) {
            self.close_superseded(own, None)?;
        }
        Err(superseded(operation.what, later).into())
    }

    fn close_superseded(&self, run: &CheckRun, by: Option<&str>) -> Result<(), AttemptError> {
        let by = by.map(|url| format!(": {url}")).unwrap_or_default();
        let output = Output {
            title: "Superseded".to_owned(),
            summary: limits::markdown(&format!("A run that began later judges this commit{by}")),
            text: None,
        };
        self.conclude(CLOSE, run, CheckRunConclusion::Cancelled, Some(&output))
    }

    pub(super) fn own_checks(
        &self,
        operation: Operation,
        head_checks: &HeadChecks,
    ) -> Result<Vec<CheckRun>, AttemptError> {
        let HeadChecks { head, name, app } = head_checks;
        let route = format!("/commits/{head}/check-runs?check_name={}&filter=all", encoded(name));
        let mut runs = self.client.list(operation, &route, |page: CheckRunPage| page.check_runs)?;
        runs.retain(|run| run.is_by(app) && run.name.as_ref() == Some(name));
        Ok(runs)
    }
}

#[derive(serde::Deserialize)]
struct CheckRunPage {
    check_runs: Vec<CheckRun>,
}

/// Returns the error of a run whose head another run claimed.
fn superseded(what: &'static str, later: &CheckRun) -> PublishError {
    let parts = later.external_id.as_deref().unwrap_or_default().split('/').skip(1);
    let mut numbers = parts.map(str::parse::<u64>);
    let by = match (numbers.next(), numbers.next()) {
        (Some(Ok(run)), Some(Ok(attempt))) => format!("attempt {attempt} of workflow run {run}"),
        _ => "another run".to_owned(),
    };
    PublishError::Superseded { what, by }
}
