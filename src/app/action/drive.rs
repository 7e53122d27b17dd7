//! The command `drive`: gives an agent turns until a pull request passes, in a job that can write nothing.
//!
//! Its result is the artifact with the session. Another job, which has neither the agent nor its key, verifies and pushes it.

use std::sync::Arc;

use super::artifact::upload_artifact;
use super::continued::{adopt, not_continued};
use super::person::{Told, told};
use super::pull_to_drive::{PullToDrive, input_missing, not_allowed};
use super::route::github;
use super::stored_drive::ARTIFACT;
use super::surfaces::{Outputs, Runner, annotate};
use super::{FETCH_BUDGET, HEAD_BUDGET, open_change, remote, verdict_output};
use crate::app::client::client;
use crate::app::drive::{ContinueMode, DrivenChange, HeadSource, Order, OrderedWord, drive_change};
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::{HeadTrust, Request, artifact_root, read_policy};
use crate::app::observer::ObserverRequest;
use crate::config::{ActionEnvironment, DrivePause, DriveWord, Inputs};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::DriveLimits;
use qa_core::drive::attempts::{Attempts, NamedDrive, count, is_about, run_name, session_of};
use qa_core::drive::conclusion;
use qa_core::escape::markdown;
use qa_core::policy::Overrides;
use qa_formats::{drive_next_turn, drive_summary, drive_wait};
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
    let told = told(inputs)?;
    let attempts = attempts(environment, &pull, told.as_ref(), cancellation)?;
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
    let opened = match &told {
        Some(told) => {
            let root = artifact_root(&request, &opened.repository.root);
            adopt(environment, told, opened, &policy, &root, cancellation)?
        }
        None => opened,
    };
    let order = Order {
        goal: inputs.goal.as_deref(),
        agents,
        mode: mode(inputs.pause),
        word: told.map(|told| ordered_word(told.word, inputs)),
        by: inputs.person.as_deref(),
        head: &PullHead { environment, number: pull.number, cancellation },
    };
    let driven = drive_change(request, opened, &policy, &order, cancellation)?;
    publish(environment, runner, &driven, cancellation)?;
    Ok(driven.exit)
}

fn mode(pause: DrivePause) -> ContinueMode {
    match pause {
        DrivePause::Immediate => ContinueMode::Immediate,
        DrivePause::TenSeconds => ContinueMode::TenSeconds,
        DrivePause::SixtySeconds => ContinueMode::SixtySeconds,
        DrivePause::Manual => ContinueMode::Manual,
    }
}

fn ordered_word(word: DriveWord, inputs: &Inputs) -> OrderedWord {
    match word {
        DriveWord::Approve => OrderedWord::Approve,
        DriveWord::Edit => OrderedWord::Edit(inputs.note.clone().unwrap_or_default()),
        DriveWord::Stop => OrderedWord::Stop,
    }
}

/// Head of the pull request, as GitHub has it.
struct PullHead<'a> {
    environment: &'a ActionEnvironment,
    number: u64,
    cancellation: &'a Arc<Cancellation>,
}

impl HeadSource for PullHead<'_> {
    fn head_now(&self) -> Result<Option<CommitId>, Failure> {
        let pull = github(self.environment, HEAD_BUDGET, self.cancellation)?.pull_request(self.number)?;
        Ok(pull.head().filter(|_| pull.is_open()))
    }
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

/// Counts the workflow runs that drove the pull request, with this one. Fails if this one does not have the name that counts, or goes
/// on with the session of a run that drove something else.
fn attempts(
    environment: &ActionEnvironment,
    pull: &PullToDrive,
    told: Option<&Told>,
    cancellation: &Arc<Cancellation>,
) -> Result<Attempts, Failure> {
    let head = &pull.change.head;
    let workflow = environment.workflow().unwrap_or_default();
    let session = told.map(|told| &told.session);
    let runs = github(environment, FETCH_BUDGET, cancellation)?.dispatched_runs(workflow)?;
    let own = runs.iter().find(|run| run.id.to_string() == environment.context.run_id);
    let is_named = own
        .is_some_and(|run| is_about(run.title(), pull.number) && session_of(run.title()).as_ref() == session);
    if !is_named {
        let name = run_name(pull.number, head, session);
        let message = format!(
            "no run of `{workflow}` that was started by hand has this run's id and is called `{name}`"
        );
        let failure = not_allowed(&message);
        let hint = "start the workflow by workflow_dispatch, with `run-name: \"drive #${{ inputs.pull-request }} at ${{ inputs.head }}${{ inputs.session && format(' from {0}', inputs.session) }}\"`, and give the job `actions: read`";
        return Err(Failure { hint: hint.to_owned(), ..failure });
    }
    let mut own_runs = runs.iter().filter(|run| is_about(run.title(), pull.number));
    if session.is_some_and(|session| own_runs.all(|run| run.id != session.run)) {
        return Err(not_continued("the run that the input `session` names is none of this pull request"));
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
    runner.summary(drive_wait(&driven.session).as_bytes())?;
    runner.summary(drive_summary(&driven.session).as_bytes())?;
    let verdict = verdict_output(conclusion(&driven.session));
    let outputs = Outputs::default()
        .set("drive-path", &driven.path.display().to_string())
        .set("waits-for", &drive_next_turn(&driven.session).unwrap_or_default());
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
