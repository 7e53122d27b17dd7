//! The command `drive`: gives an agent turns until a pull request passes, in a job that can write nothing.
//!
//! Its result is the artifact with the session. Another job, which has neither the agent nor its key, verifies and pushes it.

use std::sync::Arc;

use super::artifact::upload_artifact;
use super::pull_to_drive::{ARTIFACT, PullToDrive, input_missing, not_allowed};
use super::surfaces::{Outputs, Runner, annotate};
use super::{FETCH_BUDGET, open_change, remote, verdict_output};
use crate::app::client::client;
use crate::app::drive::{DrivenChange, Order, drive_change};
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::{HeadTrust, Request, read_policy};
use crate::app::observer::ObserverRequest;
use crate::config::{ActionEnvironment, Inputs};
use qa_contracts::codes::Code;
use qa_contracts::v1::DriveLimits;
use qa_core::drive::attempts::{Attempts, NamedDrive, count, run_name};
use qa_core::drive::conclusion;
use qa_core::escape::markdown;
use qa_core::policy::Overrides;
use qa_formats::drive_summary;
use qa_run::ports::Cancellation;

/// Drives the pull request that the inputs name.
pub(super) fn drive(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let inputs = &environment.inputs;
    check_inputs(inputs)?;
    let agents = inputs.agent.as_deref().ok_or_else(|| input_missing("agent", "drive"))?;
    let pull = PullToDrive::read(environment, cancellation)?;
    let attempts = attempts(environment, &pull, cancellation)?;
    let http = client(FETCH_BUDGET, cancellation)?;
    let remote = remote(environment, &http);
    let (request, opened) = open_change(environment, &pull.change, remote.as_ref(), &cancellation.journal)?;
    let sides = opened.resolved.sides();
    let policy = read_policy(&opened.objects, sides, &Overrides::default(), &qa_lenses::registry())?.policy;
    check_attempts(attempts, &policy.drive)?;
    if opened.repository.is_of_drive(&pull.change.head)? {
        return Err(not_allowed("its head is a commit of a drive"));
    }
    let request = Request {
        head: request.head,
        artifact_root: request.artifact_root,
        // The pull request is one of this repository.
        head_trust: HeadTrust::Own,
        models: request.models,
        settings: request.settings,
        observer: ObserverRequest::of_command(None),
        ..Request::of_base(&request.repository, request.base.as_deref())
    };
    let order = Order { goal: inputs.goal.as_deref(), agents };
    let driven = drive_change(request, opened, &policy, &order, cancellation)?;
    publish(environment, runner, &driven, cancellation)?;
    Ok(driven.exit)
}

/// Fails if an input asks for another judgement than that of the base's policy, or for another base.
fn check_inputs(inputs: &Inputs) -> Result<(), Failure> {
    let chosen = [
        ("mode", inputs.mode.is_some()),
        ("preset", inputs.preset.is_some()),
        ("lenses", inputs.lenses.is_some()),
        ("base", inputs.base.is_some()),
    ];
    match chosen.iter().find(|(_, is_set)| *is_set) {
        None => Ok(()),
        Some((name, _)) => {
            let message =
                format!("the input `{name}` is set, and a drive is judged by the base's policy alone");
            let failure = Failure::with_code(Code::InputInvalid, message);
            Err(Failure { exit: Exit::Usage, hint: "leave the input out".to_owned(), ..failure })
        }
    }
}

/// Counts the workflow runs that drove the pull request, with this one. Fails if this one does not have the name that counts.
fn attempts(
    environment: &ActionEnvironment,
    pull: &PullToDrive,
    cancellation: &Arc<Cancellation>,
) -> Result<Attempts, Failure> {
    let head = &pull.change.head;
    let workflow = environment.workflow().unwrap_or_default();
    let runs = super::route::github(environment, FETCH_BUDGET, cancellation)?.dispatched_runs(workflow)?;
    let own = runs.iter().find(|run| run.id.to_string() == environment.context.run_id);
    if !own.is_some_and(|run| qa_core::drive::attempts::is_about(run.title(), pull.number)) {
        let name = run_name(pull.number, head, None);
        let message = format!(
            "no run of `{workflow}` that was started by hand has this run's id and is called `{name}`"
        );
        let failure = not_allowed(&message);
        let hint = "start the workflow by workflow_dispatch, with `run-name: \"drive #${{ inputs.pull-request }} at ${{ inputs.head }}\"`, and give the job `actions: read`";
        return Err(Failure { hint: hint.to_owned(), ..failure });
    }
    let named = runs.iter().map(|run| NamedDrive { id: run.id, name: run.title(), attempts: run.attempts() });
    Ok(count(named, pull.number, head))
}

fn check_attempts(attempts: Attempts, limits: &DriveLimits) -> Result<(), Failure> {
    let counted = [
        ("this head", attempts.of_head, limits.max_attempts_per_head),
        ("this pull request", attempts.of_pull_request, limits.max_attempts),
    ];
    for (what, count, most) in counted {
        if count > most {
            return Err(not_allowed(&format!(
                "this is attempt {count} for {what}, and the policy allows {most}"
            )));
        }
    }
    Ok(())
}

/// Uploads the session, and writes summary and outputs.
fn publish(
    environment: &ActionEnvironment,
    runner: &Runner,
    driven: &DrivenChange,
    cancellation: &Arc<Cancellation>,
) -> Result<(), Failure> {
    let summary = drive_summary(&driven.session);
    runner.summary(summary.as_bytes())?;
    let verdict = verdict_output(conclusion(&driven.session));
    let outputs = Outputs::default().set("drive-path", &driven.path.display().to_string());
    let artifact =
        upload_artifact(environment, std::slice::from_ref(&driven.path), None, ARTIFACT, cancellation);
    let artifact = match artifact {
        Ok(artifact) => artifact,
        Err(failure) => {
            // The session is in the workspace alone, and the job that proposes it will find none.
            let text = format!("{}\n{}", failure.message, failure.hint);
            annotate("warning", failure.title(), &text);
            runner.summary(format!("\n> [!WARNING]\n> {}\n", markdown(&failure.message)).as_bytes())?;
            None
        }
    };
    let outputs = match &artifact {
        Some(artifact) => outputs
            .set("artifact-id", &artifact.id.to_string())
            .set("artifact-digest", artifact.packed.sha256.as_str()),
        None => outputs.set("artifact-id", "").set("artifact-digest", ""),
    };
    runner.write_outputs(&outputs.set("verdict", verdict))
}
