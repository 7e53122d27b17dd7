//! The command `propose`: pushes the result of a drive, in a job that may write and has neither the agent nor its key.
//!
//! The session is derived again from the repository as the server has it, for the pull request as it is now, and what is pushed is the
//! commit that was judged. Answers of commands and of models are those that the job before recorded, as in every replay.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use super::drive_start::{check_start, expected_start, not_proposed};
use super::pull_to_drive::{ARTIFACT, PullToDrive};
use super::route::github;
use super::surfaces::{Outputs, Runner, annotate};
use super::{FETCH_BUDGET, nothing_to_judge, open_change, remote};
use crate::app::client::client;
use crate::app::drift_check::temporary_archive;
use crate::app::exit::{Exit, Failure};
use crate::app::inputs::read_policy;
use crate::app::verify::Source;
use crate::app::verify_drive::verify_drive;
use crate::config::ActionEnvironment;
use crate::git::Push;
use crate::publish::NewPull;
use crate::publish::artifact::{ArtifactName, Repository};
use crate::store::{Caps, DriveDirectory, unpack};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{Conclusion, DriveSession};
use qa_core::drive::attempts::branch_name;
use qa_core::drive::{conclusion, current_commit};
use qa_core::masking::sanitize_cut;
use qa_core::policy::Overrides;
use qa_formats::drive_summary;
use qa_run::ports::Cancellation;

/// Pushes the result of the drive that an earlier job of this workflow run stored.
pub(super) fn propose(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let pull = PullToDrive::read(environment, cancellation)?;
    let archive = download(environment, cancellation)?;
    let directory = session_in(archive.path())?;
    let http = client(FETCH_BUDGET, cancellation)?;
    let remote = remote(environment, &http);
    let (_, opened) = open_change(environment, &pull.change, remote.as_ref(), &cancellation.journal)?;
    let sides = opened.resolved.sides();
    let policy = read_policy(&opened.objects, sides, &Overrides::default(), &qa_lenses::registry())?.policy;
    let stored = DriveDirectory::open(&directory).session()?;
    let Some(stored) = stored else { return Err(not_proposed("its artifact has no session")) };
    check_start(&stored.start, &expected_start(&environment.inputs, &opened, &policy, "propose")?)?;
    let verified = verify_drive(&directory, Source::Repository(opened.repository), cancellation)?;
    let (session, repository) = (verified.session, verified.repository);
    if conclusion(&session) != Conclusion::Pass {
        return Err(not_proposed("it did not end in a pass"));
    }
    let (head, result) = (&session.start.head_sha, current_commit(&session));
    if result == head {
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
    report(runner, &branch, result, &url)
}

/// Downloads the artifact of the drive from this workflow run, and unpacks it.
fn download(environment: &ActionEnvironment, cancellation: &Arc<Cancellation>) -> Result<TempDir, Failure> {
    let (inputs, context) = (&environment.inputs, &environment.context);
    let name = ArtifactName::new(inputs.artifact_name.as_deref().unwrap_or(ARTIFACT))?;
    let http = client(FETCH_BUDGET, cancellation)?;
    let repository = Repository {
        http: &http,
        api: environment.artifacts.api().unwrap_or_default().to_owned(),
        name: context.repository.clone(),
        token: inputs.token.clone(),
    };
    let run = context.run_id.parse().map_err(|_| not_proposed("GITHUB_RUN_ID is no number"))?;
    let Some(artifact) = repository.artifact_of_run(&name, run)? else {
        let message = format!("this workflow run has no artifact `{}`", name.as_str());
        return Err(Failure::with_code(Code::ArtifactUnavailable, message));
    };
    let scratch = environment.artifacts.scratch();
    let mut archive = temporary_archive(&scratch)?;
    repository.download(&artifact, Caps::DEFAULT.archive_bytes, archive.as_file_mut())?;
    Ok(unpack(archive.path(), Caps::DEFAULT, &scratch)?)
}

/// Returns the only session below a directory.
fn session_in(directory: &Path) -> Result<std::path::PathBuf, Failure> {
    let entries = std::fs::read_dir(directory).map_err(|error| not_proposed(&error.to_string()))?;
    let mut sessions = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| not_proposed(&error.to_string()))?.path();
        if DriveDirectory::is_one(&path) {
            sessions.push(path);
        }
    }
    match sessions.len() {
        1 => Ok(sessions.remove(0)),
        count => Err(not_proposed(&format!("its artifact has {count} sessions"))),
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
