//! `qa-skill workflow`: derives the next step of the work on a feature from the stored state and an event.

use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::feature_update::{Accepted, FeatureUpdate, accept_run};
use super::progress::TerminalProgress;
use crate::paths;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::limits::MAX_JSON_BYTES;
use qa_contracts::v1::{FeatureList, QaStatus, WorkflowPhase, WorkflowState};
use qa_core::calendar;
use qa_core::escape::visible;
use qa_core::features::{self, FeatureDocument, FeatureListError};
use qa_core::masking::sanitize;
use qa_core::workflow::{self, Reported, WorkflowError, WorkflowEvent};
use qa_run::ports::Cancellation;

/// Number of failed verdicts in a row after which a note asks for another approach.
const MANY_RETRIES: u64 = 3;

#[derive(Args)]
pub(crate) struct WorkflowArgs {
    /// The workflow state; if the file does not exist, the workflow starts
    #[arg(long, value_name = "FILE", default_value = "workflow-state.json")]
    state: PathBuf,
    /// Event since the stored state
    #[arg(long, value_enum)]
    event: Option<EventArgument>,
    /// Verdict of QA
    #[arg(long, value_enum, conflicts_with = "report")]
    verdict: Option<QaResult>,
    /// The qa-report.json with the verdict of QA
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The current feature
    #[arg(long, value_name = "ID")]
    feature: Option<u64>,
    /// Path of the feature_list.json
    #[arg(long, value_name = "FILE")]
    feature_list: Option<PathBuf>,
    /// Write the feature list with the verdict of the run to this file
    // clap waives `requires` beside an argument that conflicts with the required one.
    #[arg(long, value_name = "FILE", requires = "run", conflicts_with_all = ["event", "verdict", "report"])]
    propose: Option<PathBuf>,
    /// The stored run of a merged change: it is verified, has to pass, and the feature list has to be unchanged since
    #[arg(long, value_name = "DIR", requires = "feature_list", conflicts_with_all = ["event", "verdict", "report", "feature"])]
    run: Option<PathBuf>,
    /// The commit that the run has to have judged
    #[arg(long, value_name = "COMMIT", requires = "run", value_parser = parse_commit)]
    head: Option<CommitId>,
    /// Store the new state
    #[arg(long)]
    write: bool,
    /// Output format
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

fn parse_commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).map_err(|_| "expected a full commit id of 40 hexadecimal digits".to_owned())
}

/// Event besides a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EventArgument {
    /// Commits were pushed
    Push,
    /// A pull request was opened or made ready
    PullRequest,
    /// A draft pull request was opened or pushed to
    Draft,
}

/// Result of QA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum QaResult {
    /// Every gate passed
    Passed,
    /// A gate failed
    Failed,
    /// There is no verdict
    Error,
}

impl From<FeatureListError> for Failure {
    fn from(error: FeatureListError) -> Self {
        Self {
            exit: Exit::Usage,
            ..Self::with_code(error.code(), format!("failed to read the feature list: {error}"))
        }
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Self {
        let message = format!("failed to find the next state: {error}");
        Self { exit: Exit::Usage, ..Self::with_code(error.code(), visible(&message)) }
    }
}

/// A feature list with its text.
pub(crate) struct ListFile {
    pub(crate) text: String,
    list: FeatureList,
}

/// Result of the command.
struct Next {
    state: WorkflowState,
    /// Number of steps before the command.
    known_steps: usize,
    list_file: Option<ListFile>,
    /// True if a list with the verdict was written.
    proposed: bool,
}

impl Next {
    /// Returns whether there is a state to store: always, but for a run without effect.
    fn has_changed(&self, arguments: &WorkflowArgs) -> bool {
        arguments.run.is_none() || self.state.history.len() != self.known_steps
    }
}

/// Derives the next state and renders it. With `--write` stores it as well.
pub(crate) fn workflow(
    arguments: &WorkflowArgs,
    now: SystemTime,
    cancellation: &Cancellation,
) -> Result<Vec<u8>, Failure> {
    let now = state_time(now);
    let next = match &arguments.run {
        Some(run) => {
            let progress = TerminalProgress::new(false);
            let accepted = accept_run(run, arguments.head.as_ref(), cancellation, &progress);
            progress.clear();
            apply_run(arguments, accepted?, &now)?
        }
        None => apply_event(arguments, &now)?,
    };
    let document = state_document(&next.state);
    if arguments.write && next.has_changed(arguments) {
        replace_file(&arguments.state, &document)?;
    }
    Ok(if arguments.format == "json" { document } else { render_text(arguments, &next).into_bytes() })
}

/// Formats a time as `YYYY-MM-DDThh:mm:ssZ`.
pub(crate) fn state_time(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    calendar::timestamp(i64::try_from(seconds).unwrap_or(0))
}

/// Renders a state as the content of its file.
pub(crate) fn state_document(state: &WorkflowState) -> Vec<u8> {
    let mut document = serde_json::to_vec_pretty(state).expect("contract types are JSON");
    document.push(b'\n');
    document
}

/// Reads a state; returns the initial one if the file does not exist.
pub(crate) fn read_state(path: &Path, now: &str) -> Result<WorkflowState, Failure> {
    match read_file(path)? {
        Some(bytes) => workflow::parse_state(&bytes).map_err(|error| with_path(path, error)),
        None => Ok(workflow::start(now)),
    }
}

/// Returns a path unless it exists and is not a regular file: a link's target is not what a commit would contain.
pub(crate) fn regular_file(path: &Path) -> Result<&Path, Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let path = visible(&path.display().to_string());
            Err(Failure::usage(format!("{path} is not a regular file"), "replace it by a regular file"))
        }
        Ok(_) | Err(_) => Ok(path),
    }
}

/// Derives the next state from the stored run of a merged change.
fn apply_run(arguments: &WorkflowArgs, accepted: Option<Accepted>, now: &str) -> Result<Next, Failure> {
    let state = read_state(regular_file(&arguments.state)?, now)?;
    let known_steps = state.history.len();
    let list_file = match &arguments.feature_list {
        Some(path) => Some(read_list(regular_file(path)?)?),
        None => None,
    };
    let text = match &list_file {
        Some(list_file) => list_file.text.as_str(),
        None => "",
    };
    let update = accepted.map(|accepted| accepted.apply_verdict(text, &state, now)).transpose()?.flatten();
    let Some(FeatureUpdate { list, state }) = update else {
        return Ok(Next { state, known_steps, list_file, proposed: false });
    };
    if let Some(path) = &arguments.propose {
        replace_file(path, list.as_bytes())?;
    }
    let proposed = arguments.propose.is_some();
    Ok(Next { state, known_steps, list_file: Some(ListFile::new(list)?), proposed })
}

/// Derives the next state from the event and the verdict of the command line.
fn apply_event(arguments: &WorkflowArgs, now: &str) -> Result<Next, Failure> {
    let mut state = read_state(&arguments.state, now)?;
    let known_steps = state.history.len();
    let list_file = arguments.feature_list.as_deref().map(read_list).transpose()?;
    let reported = read_qa_result(arguments)?;
    if matches!(&list_file, Some(list_file) if !list_file.list.0.is_empty()) {
        state = workflow::advance(&state, WorkflowEvent::FeaturesListed, now)?;
    }
    let feature_id = feature_id(arguments, reported.as_ref(), list_file.as_ref())?;
    if let Some(feature_id) = feature_id {
        state = workflow::choose(state, feature_id);
    }
    if let Some(event) = arguments.event {
        state = workflow::advance(&state, event.into(), now)?;
    }
    if let Some(reported) = &reported {
        state = workflow::advance(&state, WorkflowEvent::Verdict(reported.status), now)?;
    }
    let all_pass = match &list_file {
        Some(list_file) => features::all_pass(&list_file.text)?,
        None => false,
    };
    if state.current_state == WorkflowPhase::QaPassed && all_pass {
        state = workflow::advance(&state, WorkflowEvent::AllFeaturesPass, now)?;
    }
    Ok(Next { state, known_steps, list_file, proposed: false })
}

impl From<EventArgument> for WorkflowEvent {
    fn from(event: EventArgument) -> Self {
        match event {
            EventArgument::Push => Self::Push,
            EventArgument::PullRequest => Self::PullRequest,
            EventArgument::Draft => Self::DraftPullRequest,
        }
    }
}

/// Returns the verdict of QA, from the command line or its report.
fn read_qa_result(arguments: &WorkflowArgs) -> Result<Option<Reported>, Failure> {
    let Some(path) = &arguments.report else {
        return Ok(arguments.verdict.map(|verdict| Reported {
            status: match verdict {
                QaResult::Passed => QaStatus::Passed,
                QaResult::Failed => QaStatus::Failed,
                QaResult::Error => QaStatus::Error,
            },
            feature_id: None,
        }));
    };
    let bytes = read_file(path)?.ok_or_else(|| missing(path))?;
    workflow::parse_report(&bytes).map(Some).map_err(|error| with_path(path, error))
}

/// Returns the feature that the command line or the report names. It has to be in the feature list, if there is one.
fn feature_id(
    arguments: &WorkflowArgs,
    report: Option<&Reported>,
    list_file: Option<&ListFile>,
) -> Result<Option<u64>, Failure> {
    let reported = report.and_then(|report| report.feature_id);
    let named = arguments.feature.or(reported);
    if let (Some(named), Some(reported)) = (named, reported)
        && named != reported
    {
        let message = format!("--feature is {named}, and the report is about feature {reported}");
        return Err(Failure::usage(message, "remove --feature"));
    }
    match (named, list_file) {
        (Some(id), Some(list_file)) if !list_file.list.0.iter().any(|feature| feature.id == id) => {
            Err(FeatureListError::UnknownFeature(id).into())
        }
        _ => Ok(named),
    }
}

impl ListFile {
    fn new(text: String) -> Result<Self, FeatureListError> {
        let list = FeatureDocument::parse(&text)?.list(&text)?;
        Ok(Self { text, list })
    }
}

pub(crate) fn read_list(path: &Path) -> Result<ListFile, Failure> {
    let bytes = read_file(path)?.ok_or_else(|| missing(path))?;
    let text = String::from_utf8(bytes).map_err(|_| list_invalid(path, "it is not UTF-8"))?;
    ListFile::new(text).map_err(|error| list_invalid(path, &visible(&error.to_string())))
}

fn list_invalid(path: &Path, reason: &str) -> Failure {
    let message = format!("failed to read {}: {reason}", visible(&path.display().to_string()));
    Failure { exit: Exit::Usage, ..Failure::with_code(Code::FeatureListInvalid, message) }
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    let path = visible(&path.display().to_string());
    Failure::usage(format!("failed to read {path}: {error}"), "name a file that can be read")
}

/// Reads a file; returns `None` if it does not exist. Reads one byte more than the limit, so that parsers refuse a larger
/// file.
fn read_file(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_JSON_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(Some(bytes))
}

fn missing(path: &Path) -> Failure {
    let path = visible(&path.display().to_string());
    Failure::usage(format!("there is no file {path}"), "name a file that exists")
}

fn with_path(path: &Path, error: WorkflowError) -> Failure {
    let message = format!("failed to read {}: {error}", path.display());
    Failure { message: sanitize(&message), ..error.into() }
}

/// Replaces a file whole and keeps its permissions.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    paths::replace_file(path, bytes)
        .map_err(|error| console::write_failure(&path.display().to_string(), &error))
}

fn render_text(arguments: &WorkflowArgs, next: &Next) -> String {
    let state = &next.state;
    let steps = &state.history[next.known_steps..];
    let first = steps.first().map(|step| step.from.as_str());
    let phases: Vec<&str> = first.into_iter().chain(steps.iter().map(|step| step.to.as_str())).collect();
    let phases = if phases.is_empty() { state.current_state.to_string() } else { phases.join(" -> ") };
    let feature = match state.current_feature_id {
        Some(id) => id.to_string(),
        None => "none".to_owned(),
    };
    let mut rows = vec![
        ("state", phases),
        ("next agent", state.next_agent.to_string()),
        ("feature", feature),
        ("qa retries", state.qa_retries.to_string()),
    ];
    if let Some(ListFile { list: FeatureList(features), .. }) = &next.list_file {
        let passing = features.iter().filter(|feature| feature.passes).count();
        let open = match features.iter().find(|feature| !feature.passes) {
            Some(feature) => format!(", the first that does not is {}", feature.id),
            None => String::new(),
        };
        rows.push(("features", format!("{passing} of {} pass{open}", features.len())));
    }
    if let Some(path) = &arguments.propose {
        let path = visible(&path.display().to_string());
        let none = "none; the run is about no feature, or its result is set already".to_owned();
        rows.push(("proposal", if next.proposed { path } else { none }));
    }
    let path = visible(&arguments.state.display().to_string());
    rows.push((
        "stored",
        match (arguments.write, next.has_changed(arguments)) {
            (true, true) => path,
            (true, false) => "no; nothing has changed".to_owned(),
            (false, _) => "no; --write stores it".to_owned(),
        },
    ));
    if state.qa_retries >= MANY_RETRIES {
        let retries = state.qa_retries;
        rows.push(("note", format!("QA failed {retries} times in a row; try another approach")));
    }
    let mut text = String::new();
    for (name, value) in rows {
        writeln!(text, "{name:<13}{value}").expect("a string can be written to");
    }
    text
}

/// Runs the command and prints the next step.
pub(crate) fn print_next_step(
    arguments: &WorkflowArgs,
    cancellation: &Cancellation,
) -> Result<Exit, Failure> {
    console::write_stdout(&workflow(arguments, crate::config::now(), cancellation)?).map(|()| Exit::Pass)
}
