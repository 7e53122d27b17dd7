//! The baseline of a pull request: the stored run of the push that made its base commit.
//!
//! It belongs to the observer, because it is read from artifacts, for which a step needs `actions: read`.

use std::sync::Arc;
use std::time::Duration;

use super::route::github;
use super::stored_runs::{Stored, StoredRuns};
use super::surfaces::annotate;
use crate::app::client::client;
use crate::app::exit::Failure;
use crate::config::ActionEnvironment;
use crate::publish::Trigger;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_core::policy::Policy;
use qa_run::gates::Baseline;
use qa_run::ports::Cancellation;

/// Time limit of all requests together.
const BUDGET: Duration = Duration::from_secs(60);

/// Finds the baseline for a policy that imports a report without one of the base, or runs commands on the base. Without one,
/// findings of reports count as new, and a notice gives the reason; commands run on the base.
pub(super) fn find(
    environment: &ActionEnvironment,
    policy: &Policy,
    commit: &CommitId,
    cancellation: &Arc<Cancellation>,
) -> Result<Option<Arc<Baseline>>, Failure> {
    let gates = policy.gates.values();
    let imports = gates.clone().flat_map(|gate| &gate.reports).any(|report| report.base.is_none());
    if !imports && !gates.into_iter().any(|gate| gate.has_commands() && gate.run_base) {
        return Ok(None);
    }
    let found = look_up(environment, commit, cancellation);
    cancellation.check()?;
    Ok(match found {
        Ok(baseline) => Some(Arc::new(baseline)),
        Err(reason) if !imports => {
            tracing::info!("commands run on the base, because it has no stored run: {reason}");
            None
        }
        Err(reason) => {
            let code = Code::ObserverBaselineUnavailable;
            let short = commit.short();
            let text =
                format!("{}: {short} has no stored run to compare reports with: {reason}", code.as_str());
            annotate("notice", "qa-skill observer", &text);
            None
        }
    })
}

/// Returns the branch that the change goes into, or that was pushed.
fn base_branch(environment: &ActionEnvironment) -> Option<&str> {
    let context = &environment.context;
    if !context.base_ref.is_empty() {
        return Some(&context.base_ref);
    }
    let pushed = context.git_ref.strip_prefix("refs/heads/")?;
    match pushed.strip_prefix("gh-readonly-queue/") {
        Some(group) => group.rsplit_once("/pr-").map(|(branch, _)| branch),
        None => Some(pushed),
    }
}

/// Looks for runs of the same workflow, started by a push of exactly this commit to the base branch of this repository.
fn look_up(
    environment: &ActionEnvironment,
    commit: &CommitId,
    cancellation: &Arc<Cancellation>,
) -> Result<Baseline, String> {
    let Some(workflow) = environment.workflow() else {
        return Err("GITHUB_WORKFLOW_REF names no workflow".to_owned());
    };
    let github = github(environment, BUDGET, cancellation).map_err(|failure| failure.message)?;
    let http = client(BUDGET, cancellation).map_err(|error| error.to_string())?;
    let mut runs = github.runs_of_head(workflow, commit, Trigger::Push).map_err(|error| error.to_string())?;
    // Whoever may push can push the commit to further branches, until its reports say what would excuse theirs.
    let branch = base_branch(environment);
    runs.retain(|run| {
        !run.is_foreign() && branch.is_some_and(|branch| run.head_branch.as_deref() == Some(branch))
    });
    let artifacts = StoredRuns::new(environment, &http).map_err(|failure| failure.message)?;
    let (stored, _) = artifacts.newest(commit, &runs, cancellation).map_err(|failure| failure.message)?;
    match stored {
        Stored::Judged(stored) => stored.baseline().map_err(|failure| failure.message),
        Stored::Refused(code) => Err(format!("its run is not usable: {code}")),
        Stored::Missing => Err("no push of it stored an artifact".to_owned()),
    }
}
