//! The command `propose`: pushes the result of a drive, in a job that may write and has neither the agent nor its key.
//!
//! The session is derived again from the repository as the server has it, for the pull request as it is now, and what is pushed is the
//! commit that was judged. Answers of commands and of models are those that the job before recorded, as in every replay.

use std::sync::Arc;

use super::drive_start::{check_start, expected_start, not_proposed};
use super::person::check_words;
use super::publication::head_checks;
use super::pull_to_drive::PullToDrive;
use super::route::github;
use super::stored_drive::{ARTIFACT, StoredDrive, digest};
use super::surfaces::{Outputs, Runner, annotate};
use super::{FETCH_BUDGET, nothing_to_judge, open_change, remote};
use crate::app::client::client;
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::read_policy;
use crate::app::verify::Source;
use crate::app::verify_drive::verify_drive;
use crate::config::{ActionEnvironment, DrivePause, Inputs};
use crate::git::Push;
use crate::publish::{DriveCheck, HeadChecks, NewPull};
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{Conclusion, DriveSession};
use qa_core::drive::attempts::{WaitingSession, branch_name};
use qa_core::drive::{conclusion, current_commit, is_waiting};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Overrides;
use qa_formats::{drive_next_turn, drive_summary, drive_wait};
use qa_run::ports::Cancellation;

/// Name of the check run of a drive that waits for a person, different from that of any job.
const DRIVE_CHECK: &str = "qa-skill drive";

/// Pushes the result of the drive that an earlier job of this workflow run stored.
pub(super) fn propose(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let pull = PullToDrive::read(environment, cancellation)?;
    let inputs = &environment.inputs;
    let run = environment.context.run_id.parse().map_err(|_| not_proposed("GITHUB_RUN_ID is no number"))?;
    let name = inputs.artifact_name.as_deref().unwrap_or(ARTIFACT);
    let stored = StoredDrive::fetch_existing(environment, name, run, not_proposed, cancellation)?;
    let http = client(FETCH_BUDGET, cancellation)?;
    let remote = remote(environment, &http);
    let (_, opened) = open_change(environment, &pull.change, remote.as_ref(), &cancellation.journal)?;
    let sides = opened.resolved.sides();
    let policy = read_policy(&opened.objects, sides, &Overrides::default(), &qa_lenses::registry())?.policy;
    check_start(&stored.session.start, &expected_start(inputs, &opened, &policy, "propose")?, not_proposed)?;
    check_words(environment, &stored.session, cancellation)?;
    let verified = verify_drive(&stored.path, Source::Repository(opened.repository), cancellation)?;
    let (session, repository) = (verified.session, verified.repository);
    if inputs.pause == DrivePause::Manual && is_waiting(&session) {
        let waiting = WaitingSession { run, digest: digest(&session) };
        return show_wait(environment, runner, &session, &waiting, cancellation);
    }
    if conclusion(&session) != Conclusion::Pass {
        end_wait(environment, &session, "The drive ended without a pass", cancellation);
        return Err(not_proposed("it did not end in a pass"));
    }
    let (head, result) = (&session.start.head_sha, current_commit(&session));
    if result == head {
        end_wait(environment, &session, "The head passes as it is", cancellation);
        return nothing_to_judge(runner, "the head passes as it is, and the drive changed nothing");
    }
    let repository = repository.expect("a drive that was verified against a repository returns it");
    let pack = repository.pack(result, head)?;
    let to_branch = policy.drive.push && may_push(environment, &pull, cancellation)?;
    let branch = if to_branch { pull.pull.branch().to_owned() } else { branch_name(pull.number, result) };
    let name = format!("refs/heads/{branch}");
    let old = to_branch.then_some(head);
    let remote = remote.ok_or_else(|| not_proposed("no server is configured"))?;
    remote.push(&Push { name: &name, old, new: result, pack: &pack })?;
    let url = match to_branch {
        true => String::new(),
        false => open_pull(environment, &pull, &session, &branch, cancellation)?,
    };
    end_wait(environment, &session, &format!("The drive passed: {} is pushed", result.short()), cancellation);
    report(runner, &branch, result, &url)
}

/// Returns the check runs of a drive of a head, by the inputs of the step.
pub(super) fn drive_checks(inputs: &Inputs, head: &CommitId) -> HeadChecks {
    HeadChecks { name: DRIVE_CHECK.to_owned(), ..head_checks(inputs, None, head) }
}

/// Has a check run say what a verified session waits for. The step ends without a result, as the drive did.
fn show_wait(
    environment: &ActionEnvironment,
    runner: &Runner,
    session: &DriveSession,
    waiting: &WaitingSession,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let turn = drive_next_turn(session).unwrap_or_default();
    let (title, summary) = (format!("Waits for a person before {turn}"), drive_wait(session));
    let check = DriveCheck { title: &title, summary: &summary };
    let head_checks = drive_checks(&environment.inputs, &session.start.head_sha);
    let github = github(environment, FETCH_BUDGET, cancellation)?;
    let page = github.show_wait(&head_checks, &waiting.to_string(), &check)?.unwrap_or_default();
    annotate("notice", "qa-skill", &format!("the drive waits for a person before {turn}"));
    runner.summary(summary.as_bytes())?;
    let outputs = Outputs::default().set("waits-for", &turn).set("check-run-url", &page);
    runner.write_outputs(&outputs)?;
    Ok(Exit::CouldNotComplete)
}

/// Has the check run of a drive that waited say how it ended. What the step did by then stands without it.
fn end_wait(
    environment: &ActionEnvironment,
    session: &DriveSession,
    title: &str,
    cancellation: &Arc<Cancellation>,
) {
    if environment.inputs.pause != DrivePause::Manual {
        return;
    }
    let check = DriveCheck { title, summary: &drive_summary(session) };
    let head_checks = drive_checks(&environment.inputs, &session.start.head_sha);
    let ended = github(environment, FETCH_BUDGET, cancellation)
        .and_then(|github| Ok(github.end_wait(&head_checks, &check)?));
    if let Err(failure) = ended {
        annotate("warning", failure.title(), &format!("{}\n{}", failure.message, failure.hint));
    }
}

/// Returns whether a result may go to the branch of the pull request itself, which is neither the default branch nor protected.
fn may_push(
    environment: &ActionEnvironment,
    pull: &PullToDrive,
    cancellation: &Arc<Cancellation>,
) -> Result<bool, Failure> {
    let branch = pull.pull.branch();
    let github = github(environment, FETCH_BUDGET, cancellation)?;
    Ok(branch != pull.pull.default_branch() && !github.is_protected(branch)?)
}

/// Opens a pull request with the result for the branch of the one that was driven, and returns its page.
fn open_pull(
    environment: &ActionEnvironment,
    pull: &PullToDrive,
    session: &DriveSession,
    branch: &str,
    cancellation: &Arc<Cancellation>,
) -> Result<String, Failure> {
    let number = pull.number;
    let title = match &session.start.goal {
        None => format!("Let #{number} pass its gate"),
        Some(goal) => sanitize_cut(goal.lines().next().unwrap_or_default(), 100),
    };
    let body = format!("Result of a drive of #{number}.\n\n{}", drive_summary(session));
    let new = NewPull { title: &title, body: &body, head: branch, base: pull.pull.branch() };
    let owner = environment.context.repository.split('/').next().unwrap_or_default();
    Ok(github(environment, FETCH_BUDGET, cancellation)?.open_pull(owner, &new)?)
}

fn report(runner: &Runner, branch: &str, result: &CommitId, url: &str) -> Result<Exit, Failure> {
    let text = match url {
        "" => format!("pushed {} to `{branch}`", result.short()),
        _ => format!("pushed {} to `{branch}`: {url}", result.short()),
    };
    annotate("notice", "qa-skill", &text);
    runner.summary(format!("## qa-skill: result pushed\n\n{text}\n").as_bytes())?;
    let outputs = Outputs::default().set("verdict", "pass").set("pull-request-url", url);
    runner.write_outputs(&outputs)?;
    Ok(Exit::Pass)
}
