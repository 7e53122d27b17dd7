//! The nightly step: replays recent run artifacts, reports the differences, and keeps one issue about them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::surfaces::{Outputs, Runner, annotate, print_quoting};
use crate::app::artifact_commands::{LIMIT, RemoteRequest, check_remote};
use crate::app::client::client;
use crate::app::consistency_check::{RUBRIC_WORKERS, rubric_standing};
use crate::app::drift_check::{Live, failure, markdown, render_text};
use crate::app::exit::{Exit, Failure};
use crate::app::progress::TerminalProgress;
use crate::config::ActionEnvironment;
use crate::publish::artifact::DEFAULT_NAME;
use crate::publish::{DriftIssue, GitHub, Ownership, PublishError, Target};
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriftReport, DriftStatus};
use qa_core::canonical;
use qa_run::ports::Cancellation;

/// Age limit of runs in days, unless an input sets another.
const SINCE_DAYS: u64 = 7;
/// Number of samples of each request.
const LIVE_SAMPLES: u64 = 3;
const MARKER: &str = "<!-- qa-skill: drift -->";
const TITLE: &str = "qa-skill: stored verdicts do not replay";
/// The label that the issue is found by.
const LABEL: &str = "qa-skill-drift";

/// Replays the recent runs, writes the job summary, and updates the issue about drift.
pub(crate) fn drift(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let inputs = &environment.inputs;
    let by_plan = ["schedule", "workflow_dispatch"].contains(&environment.context.event_name.as_str());
    if inputs.live && !by_plan {
        let message = "`live` is allowed on `schedule` and `workflow_dispatch` only";
        return Err(Failure::usage(
            message,
            "the checkout's policy decides where keys are sent, and other events may check out untrusted code",
        ));
    }
    let checkout = environment.checkout();
    let live = match inputs.live {
        true => Some(Live::new(&checkout, LIVE_SAMPLES, inputs.token.clone(), cancellation)?),
        false => None,
    };
    let request = RemoteRequest {
        checkout,
        name: inputs.artifact_name.clone().unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        since_days: inputs.since_days.unwrap_or(SINCE_DAYS),
        limit: inputs.limit.unwrap_or(LIMIT),
        live,
    };
    let progress = TerminalProgress::new(true);
    let mut report = check_remote(&request, &environment.artifacts, cancellation, &progress)?;
    match rubric_standing(&request.checkout, "HEAD", RUBRIC_WORKERS, cancellation, &progress) {
        Ok(standing) => report.rubric = standing,
        // The replays are valid without the rubric, and runs of pull requests report its errors themselves.
        Err(error) => {
            cancellation.check()?;
            let title = match error.code {
                Some(code) => code.as_str(),
                None => "rubric",
            };
            annotate("warning", title, &format!("{}\n{}", error.message, error.hint));
        }
    }
    if let Some(standing) = report.rubric.as_ref().filter(|standing| !standing.fallen.is_empty()) {
        let count = standing.fallen.len();
        let message =
            format!("{count} conventions of the rubric no longer hold\n{}", Code::RubricFallen.hint());
        annotate("warning", Code::RubricFallen.as_str(), &message);
    }
    print_quoting(render_text(&report).as_bytes())?;
    let page = markdown(&report);
    runner.summary(page.as_bytes())?;
    let failed = failure(&report, inputs.fail_on_engine_change);
    let answers_changed = report.runs.iter().flat_map(|run| &run.models).any(|model| model.code.is_some());
    if answers_changed {
        let code = Code::ModelDriftDetected;
        annotate("warning", code.as_str(), &format!("the answers of a model changed\n{}", code.hint()));
    }
    if (failed.is_some() || answers_changed) && inputs.open_issue {
        match update_issue(environment, &report, &page, cancellation) {
            Err(error @ PublishError::Cancelled { .. }) => return Err(error.into()),
            Err(error) => {
                annotate("warning", error.code().as_str(), &format!("failed to {error}\n{}", error.hint()));
            }
            Ok(()) => {}
        }
    }
    match failed {
        Some(failure) => Err(failure),
        None => {
            runner.write_outputs(&Outputs::default().set("verdict", "pass"))?;
            Ok(Exit::Pass)
        }
    }
}

/// Returns the ids of all problems in the report. The same problem has the same id every night.
fn problems(report: &DriftReport) -> BTreeSet<String> {
    let wrong = report.runs.iter().filter(|run| !run.foreign && run.status != DriftStatus::Same);
    let runs =
        wrong.map(|run| canonical::digest(&(&run.execution_key, run.artifact_id, run.status, run.code)));
    let models = report.runs.iter().flat_map(|run| run.models.iter().map(move |model| (run, model)));
    let models = models.filter(|(_, model)| model.code.is_some()).map(|(run, model)| {
        canonical::digest(&(&run.execution_key, &model.lens_id, &model.sub_lens_id, &model.model))
    });
    let digests = runs.chain(models).map(|digest| digest.expect("names and codes have a canonical form"));
    digests.map(|digest| digest.short().to_owned()).collect()
}

fn unset(reason: &str) -> PublishError {
    PublishError::Settings(reason.to_owned())
}

/// Opens or updates the issue about drift.
fn update_issue(
    environment: &ActionEnvironment,
    report: &DriftReport,
    body: &str,
    cancellation: &Arc<Cancellation>,
) -> Result<(), PublishError> {
    let (inputs, variables) = (&environment.inputs, &environment.artifacts);
    let token = inputs.token.clone().ok_or_else(|| unset("there is no token"))?;
    let api_url = variables.api().ok_or_else(|| unset("GITHUB_API_URL is not set"))?;
    let repository = variables.repository().ok_or_else(|| unset("GITHUB_REPOSITORY is not set"))?;
    let budget = Duration::from_secs(inputs.publish_timeout);
    let http = client(budget, cancellation).map_err(|error| unset(&error.to_string()))?;
    let target = Target { api_url, repository, token, seed: variables.seed() };
    let author_login = inputs.comment_author.as_deref().unwrap_or(super::publication::COMMENT_AUTHOR);
    let issue = DriftIssue {
        ownership: Ownership { marker: MARKER, author_login },
        title: TITLE,
        body,
        problems: &problems(report),
        labels: &[LABEL],
    };
    GitHub::new(Arc::new(http), target)?.drift_issue(&issue).map(|_| ())
}
