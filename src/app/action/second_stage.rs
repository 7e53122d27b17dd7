//! The second stage of a pull request's judgement, on `workflow_run`: a job with the keys of models, after a first one that
//! may be that of a fork. It takes the id of the finished run from the event, and everything else from GitHub.

use std::sync::Arc;
use std::time::Duration;

use super::publication::{CHECK_NAME, check_name};
use super::remote;
use super::route::github;
use crate::app::client::client;
use crate::app::exit::{Exit, Failure};
use crate::config::{ActionEnvironment, Inputs};
use qa_contracts::codes::Code;
use qa_contracts::v1::RunStage;
use qa_core::event::{Change, NamedRun};
use qa_core::finished_run::{FinishedRun, RunError, RunTask, confirm};
use qa_run::ports::Cancellation;

/// Time limit of all requests of one question.
const BUDGET: Duration = Duration::from_secs(180);

/// Asks GitHub about the run that an event names.
pub(super) fn finished_run(
    environment: &ActionEnvironment,
    named: &NamedRun,
    cancellation: &Arc<Cancellation>,
) -> Result<RunTask, Failure> {
    let answer = github(environment, BUDGET, cancellation)?.workflow_run(named.id)?;
    let answer = answer.ok_or(RunError::Unknown(named.id))?;
    Ok(FinishedRun::from_answer(named, &environment.context.repository, &answer)?)
}

/// Fails if an input chooses another change than that of the run, or a check run that the first stage has.
pub(super) fn check_inputs(inputs: &Inputs) -> Result<(), Failure> {
    let chosen = [("base", &inputs.base), ("head", &inputs.head)];
    if let Some((name, _)) = chosen.iter().find(|(_, value)| value.is_some()) {
        let message =
            format!("the input `{name}` is set on `workflow_run`, where GitHub names base and head");
        return Err(input_invalid(message, "leave the input out"));
    }
    if check_name(inputs, Some(RunStage::Reviews)) == CHECK_NAME {
        let message = format!(
            "the input `check-name` is `{CHECK_NAME}` on `workflow_run`, and the first stage has that name"
        );
        return Err(input_invalid(message, "leave the input out, or choose a name that no other check has"));
    }
    Ok(())
}

fn input_invalid(message: String, hint: &str) -> Failure {
    Failure { exit: Exit::Usage, hint: hint.to_owned(), ..Failure::with_code(Code::InputInvalid, message) }
}

/// Asks GitHub which change a run was about.
pub(super) fn change(
    environment: &ActionEnvironment,
    run: &FinishedRun,
    cancellation: &Arc<Cancellation>,
) -> Result<Change, Failure> {
    let Some(git_ref) = run.queued_ref() else {
        let open = github(environment, BUDGET, cancellation)?.open_pulls()?;
        return Ok(run.pull_request(&open)?);
    };
    let http = client(BUDGET, cancellation)?;
    let tip = match remote(environment, &http) {
        Some(remote) => remote.tip(&git_ref)?,
        None => None,
    };
    Ok(run.merge_group(tip.as_ref())?)
}

/// Fails unless GitHub names the change that was judged still: a pull request may have been closed meanwhile, or have got
/// another head or another base.
pub(super) fn confirm_change(
    environment: &ActionEnvironment,
    run: &FinishedRun,
    judged: &Change,
    cancellation: &Arc<Cancellation>,
) -> Result<(), Failure> {
    Ok(confirm(judged, &change(environment, run, cancellation)?)?)
}
