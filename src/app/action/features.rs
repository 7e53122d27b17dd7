//! The step after a merge: writes the QA result of the merged pull request to the checkout's feature list and workflow
//! state.

use std::sync::Arc;
use std::time::Duration;

use super::surfaces::{Outputs, Runner, annotate};
use crate::app::client::client;
use crate::app::drift_check::{runs_below, temporary_archive};
use crate::app::exit::{Exit, Failure};
use crate::app::feature_update::accept_run;
use crate::app::progress::TerminalProgress;
use crate::app::workflow_command::{
    read_list, read_state, regular_file, replace_file, state_document, state_time,
};
use crate::config::{ActionEnvironment, now};
use crate::publish::artifact::{ArtifactName, DEFAULT_NAME, Repository};
use crate::store::{Caps, unpack};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_run::gates::{FEATURE_LIST, WORKFLOW_STATE};
use qa_run::ports::Cancellation;

/// Time limit of all requests together.
const BUDGET: Duration = Duration::from_secs(900);

/// Updates the two files. The output `verdict` is `pass` if there is something to commit, else `none`.
pub(crate) fn features(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let verdict = match update_files(environment, cancellation)? {
        FeatureOutcome::Unchanged(reason) => {
            annotate("notice", "qa-skill", &format!("no feature is updated: {reason}"));
            "none"
        }
        FeatureOutcome::Passed { feature, pull_request } => {
            let text = format!("feature {feature} passes since pull request {pull_request}");
            annotate("notice", "qa-skill", &text);
            "pass"
        }
    };
    runner.write_outputs(&Outputs::default().set("verdict", verdict))?;
    Ok(Exit::Pass)
}

enum FeatureOutcome {
    /// The files stay as they are, for this reason.
    Unchanged(String),
    Passed {
        feature: u64,
        pull_request: u64,
    },
}

fn event_unusable(missing: &str) -> Failure {
    Failure::with_code(Code::EventUnusable, format!("failed to find {missing}"))
}

fn update_files(
    environment: &ActionEnvironment,
    cancellation: &Arc<Cancellation>,
) -> Result<FeatureOutcome, Failure> {
    let (inputs, context, variables) = (&environment.inputs, &environment.context, &environment.artifacts);
    let commit =
        CommitId::parse(&context.sha).map_err(|_| event_unusable("the commit: GITHUB_SHA is not one"))?;
    let branch = context.git_ref.strip_prefix("refs/heads/").filter(|_| context.event_name == "push");
    let branch =
        branch.ok_or_else(|| event_unusable("a branch: this is for pushes to the default branch"))?;
    let api = variables.api().ok_or_else(|| event_unusable("the API: GITHUB_API_URL is not set"))?;
    let name = variables.repository().ok_or_else(|| event_unusable("GITHUB_REPOSITORY"))?;
    let http = client(BUDGET, cancellation)?;
    let repository =
        Repository { http: &http, api: api.to_owned(), name: name.to_owned(), token: inputs.token.clone() };
    let Some(merged) = repository.merged_by(&commit, branch)? else {
        return Ok(FeatureOutcome::Unchanged("the commit merged no pull request".to_owned()));
    };
    if merged.from_fork {
        return Ok(FeatureOutcome::Unchanged(format!("pull request {} came from a fork", merged.number)));
    }
    let artifacts = ArtifactName::new(inputs.artifact_name.as_deref().unwrap_or(DEFAULT_NAME))?;
    let Some(artifact) = repository.artifact_of_head(&artifacts, &merged.head)? else {
        let message = format!(
            "failed to find a run of pull request {}: no successful one of this repository has an artifact of {}",
            merged.number, merged.head
        );
        return Err(Failure::with_code(Code::ArtifactUnavailable, message));
    };
    let scratch = variables.scratch();
    let mut archive = temporary_archive(&scratch)?;
    repository.download(&artifact, Caps::DEFAULT.archive_bytes, archive.as_file_mut())?;
    let directory = unpack(archive.path(), Caps::DEFAULT, &scratch)?;
    let [run] = &runs_below(directory.path())[..] else {
        let message = format!("failed to read the artifact {}: it has none or several runs", artifact.id);
        return Err(Failure::with_code(Code::RecordingMissing, message));
    };
    let progress = TerminalProgress::new(true);
    let Some(accepted) = accept_run(run, Some(&merged.head), cancellation, &progress)? else {
        return Ok(FeatureOutcome::Unchanged(format!("pull request {} is about no feature", merged.number)));
    };
    let checkout = environment.checkout();
    let (list, state) = (checkout.join(FEATURE_LIST), checkout.join(WORKFLOW_STATE));
    let time = state_time(now());
    let text = read_list(regular_file(&list)?)?.text;
    let Some(update) = accepted.apply_verdict(&text, &read_state(regular_file(&state)?, &time)?, &time)?
    else {
        return Ok(FeatureOutcome::Unchanged("the list has the QA result already".to_owned()));
    };
    replace_file(&list, update.list.as_bytes())?;
    replace_file(&state, &state_document(&update.state))?;
    Ok(FeatureOutcome::Passed { feature: accepted.feature_id, pull_request: merged.number })
}
