//! A pull request whose head a drive may begin with, as GitHub has it now.

use std::sync::Arc;

use serde_json::Value;

use super::FETCH_BUDGET;
use super::route::github;
use crate::app::exit::{Exit, Failure};
use crate::config::{ActionEnvironment, Inputs};
use crate::publish::PullRequest;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_core::drive::attempts::BRANCH_PREFIX;
use qa_core::event::{Change, change_of_pull};
use qa_run::ports::Cancellation;

/// A pull request that may be driven: open, of this repository, and no result of a drive.
pub(super) struct PullToDrive {
    pub(super) number: u64,
    pub(super) change: Change,
    pub(super) pull: PullRequest,
}

impl PullToDrive {
    /// Asks GitHub about the pull request that the inputs name.
    pub(super) fn read(
        environment: &ActionEnvironment,
        cancellation: &Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        let inputs = &environment.inputs;
        let command = "drive` and `propose";
        let number = inputs.pull_request.ok_or_else(|| input_missing("pull-request", command))?;
        let github = github(environment, FETCH_BUDGET, cancellation)?;
        let answer: Value = github.pull_request_as(number)?;
        let change = change_of_pull(&answer)?;
        let pull: PullRequest = serde_json::from_value(answer).map_err(|error| {
            let message = format!("failed to read the pull request: {error}");
            Failure::with_code(Code::PublishFailed, message)
        })?;
        if let Some(reason) = reason_against(&pull, &change) {
            return Err(not_allowed(reason));
        }
        // Whoever may push a branch could choose the policy, and with it what the agent gets.
        let base = pull.base_branch();
        if base != pull.default_branch() && !github.is_protected(base)? {
            return Err(not_allowed("its base is neither the default branch nor a protected one"));
        }
        if let Some(expected) = expected_head(inputs)?.filter(|expected| *expected != change.head) {
            let (expected, now) = (expected.short(), change.head.short());
            let message = format!("the head of the pull request is now {now} and not {expected}");
            return Err(Failure::with_code(Code::HeadSuperseded, message));
        }
        Ok(Self { number, change, pull })
    }
}

fn reason_against(pull: &PullRequest, change: &Change) -> Option<&'static str> {
    if !pull.is_open() {
        return Some("it is closed");
    }
    if pull.is_from_fork() || change.from_fork {
        return Some("it is from a fork, whose author chooses what the agent reads");
    }
    pull.branch().starts_with(BRANCH_PREFIX).then_some("it is the result of a drive")
}

pub(super) fn input_missing(name: &str, command: &str) -> Failure {
    let message = format!("`{command}` needs the input `{name}`");
    Failure { exit: Exit::Usage, ..Failure::with_code(Code::InputInvalid, message) }
}

pub(super) fn not_allowed(reason: &str) -> Failure {
    Failure::with_code(Code::DriveNotAllowed, format!("no drive begins on this pull request: {reason}"))
}

/// Returns the head that the inputs name, which has to be the pull request's.
fn expected_head(inputs: &Inputs) -> Result<Option<CommitId>, Failure> {
    let Some(name) = &inputs.head else { return Ok(None) };
    CommitId::parse(name).map(Some).map_err(|_| {
        let message = "the input `head` is no commit, and a drive is about a commit of the pull request";
        let failure = Failure::with_code(Code::InputInvalid, message);
        Failure { exit: Exit::Usage, hint: "name it by its 40 digits, or leave it out".to_owned(), ..failure }
    })
}
