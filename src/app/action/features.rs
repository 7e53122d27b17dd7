//! The step after a merge: sets what QA found of the merged pull request in the checkout's two files, and nothing else.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::surfaces::{Runner, annotate};
use crate::app::client::client;
use crate::app::drift_check::runs_below;
use crate::app::exit::{Exit, Failure};
use crate::app::feature_update::accepted;
use crate::app::progress::TerminalProgress;
use crate::app::workflow_command::{document, named_file, read_list, read_state, replace, written};
use crate::config::{ActionEnvironment, now};
use crate::publish::artifact::{ArtifactName, DEFAULT_NAME, Listed, Repository};
use crate::store::{Caps, unpack};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_run::gates::{FEATURE_LIST, WORKFLOW_STATE};
use qa_run::ports::Cancellation;

/// All requests together.
const BUDGET: Duration = Duration::from_secs(900);

/// Finds, checks and writes; the verdict `pass` says that there is something to commit.
pub(crate) fn features(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let done = match found(environment, cancellation)? {
        Found::Nothing(reason) => {
            annotate("notice", "qa-skill", &format!("no feature to set: {reason}"));
            "none"
        }
        Found::Set { feature, pull_request } => {
            let text = format!("feature {feature} passes since pull request {pull_request}");
            annotate("notice", "qa-skill", &text);
            "pass"
        }
    };
    runner.outputs(&[("verdict", done.to_owned())])?;
    Ok(Exit::Pass)
}

enum Found {
    Nothing(String),
    Set { feature: u64, pull_request: u64 },
}

fn found(environment: &ActionEnvironment, cancellation: &Arc<Cancellation>) -> Result<Found, Failure> {
    let (inputs, context, variables) = (&environment.inputs, &environment.context, &environment.artifacts);
    let unusable = |what: &str| Failure::with_code(Code::EventUnusable, format!("failed to find {what}"));
    let commit = CommitId::parse(&context.sha).map_err(|_| unusable("the commit: GITHUB_SHA is not one"))?;
    let branch = context.git_ref.strip_prefix("refs/heads/").filter(|_| context.event_name == "push");
    let branch = branch.ok_or_else(|| unusable("a branch: this is for pushes to the default branch"))?;
    let api = variables.api().ok_or_else(|| unusable("the API: GITHUB_API_URL is not set"))?;
    let name = variables.repository().ok_or_else(|| unusable("GITHUB_REPOSITORY"))?;
    let http = client(BUDGET, cancellation)?;
    let repository =
        Repository { http: &http, api: api.to_owned(), name: name.to_owned(), token: inputs.token.clone() };
    let Some(merged) = repository.merged_by(&commit, branch)? else {
        return Ok(Found::Nothing("the commit merged no pull request".to_owned()));
    };
    if merged.from_fork {
        return Ok(Found::Nothing(format!("pull request {} came from a fork", merged.number)));
    }
    let artifacts = ArtifactName::new(inputs.artifact_name.as_deref().unwrap_or(DEFAULT_NAME))?;
    let Some(artifact) = repository.of_head(&artifacts, &merged.head)? else {
        let message = format!(
            "failed to find a run of pull request {}: no successful one of this repository has an artifact of {}",
            merged.number, merged.head
        );
        return Err(Failure::with_code(Code::ArtifactUnavailable, message));
    };
    let scratch = variables.scratch();
    let directory = fetched(&repository, &artifact, &scratch)?;
    let [run] = &runs_below(directory.path())[..] else {
        let message = format!("failed to read the artifact {}: it does not hold one run", artifact.id);
        return Err(Failure::with_code(Code::RecordingMissing, message));
    };
    let progress = TerminalProgress::new(true);
    let Some(accepted) = accepted(run, Some(&merged.head), cancellation, &progress)? else {
        return Ok(Found::Nothing(format!("pull request {} is about none", merged.number)));
    };
    let (list, state) = (place(environment, FEATURE_LIST), place(environment, WORKFLOW_STATE));
    let time = written(now());
    let text = read_list(named_file(&list)?)?.text;
    let Some(update) = accepted.apply_verdict(&text, &read_state(named_file(&state)?, &time)?, &time)? else {
        return Ok(Found::Nothing("QA's results stand in the list already".to_owned()));
    };
    replace(&list, update.list.as_bytes())?;
    replace(&state, &document(&update.state))?;
    Ok(Found::Set { feature: accepted.feature_id, pull_request: merged.number })
}

/// A file of the checkout.
fn place(environment: &ActionEnvironment, name: &str) -> PathBuf {
    let workspace = Path::new(&environment.context.workspace);
    let inside = environment.inputs.working_directory.as_ref();
    inside.map_or(workspace.to_owned(), |inside| workspace.join(inside)).join(name)
}

/// An artifact, taken apart in a place that goes away.
fn fetched(
    repository: &Repository<'_>,
    artifact: &Listed,
    scratch: &Path,
) -> Result<tempfile::TempDir, Failure> {
    let failed = |error: std::io::Error| {
        Failure::with_code(
            Code::ArtifactWriteFailed,
            format!("failed to create a temporary file for the download: {error}"),
        )
    };
    let mut file = tempfile::Builder::new().prefix("qa-skill-").tempfile_in(scratch).map_err(failed)?;
    repository.download(artifact, Caps::DEFAULT.archive_bytes, file.as_file_mut())?;
    unpack(file.path(), Caps::DEFAULT, scratch)
        .map_err(|error| Failure::with_code(error.code(), format!("failed to {error}")))
}
