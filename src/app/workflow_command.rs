//! `qa-skill workflow`: what comes next in the work on a feature, from the stored state and what has happened since.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::console;
use super::exit::{Exit, Failure};
use super::feature_update::{Accepted, FeatureUpdate, accepted};
use super::progress::TerminalProgress;
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

/// From so many verdicts in a row that sent a feature back, the next one is hardly another.
const MANY_RETRIES: u64 = 3;

#[derive(Args)]
pub(crate) struct WorkflowArgs {
    /// The state; where there is no such file, the work has not begun
    #[arg(long, value_name = "FILE", default_value = "workflow-state.json")]
    state: PathBuf,
    /// What has happened since
    #[arg(long, value_enum)]
    event: Option<EventArgument>,
    /// What QA says
    #[arg(long, value_enum, conflicts_with = "report")]
    verdict: Option<QaResult>,
    /// The qa-report.json that says what QA says
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The feature that is worked on
    #[arg(long, value_name = "ID")]
    feature: Option<u64>,
    /// The feature_list.json
    #[arg(long, value_name = "FILE")]
    feature_list: Option<PathBuf>,
    /// Write the list with QA's verdict on the feature to this file
    #[arg(long, value_name = "FILE", requires = "feature_list")]
    propose: Option<PathBuf>,
    /// The stored run whose change was merged and whose verdict counts: it is verified, has to pass, and the list has
    /// to be the one it saw
    #[arg(long, value_name = "DIR", requires = "feature_list", conflicts_with_all = ["event", "verdict", "report", "feature"])]
    run: Option<PathBuf>,
    /// The commit that the run has to be about
    #[arg(long, value_name = "COMMIT", requires = "run", value_parser = parse_commit)]
    head: Option<CommitId>,
    /// Store the new state
    #[arg(long)]
    write: bool,
    /// How to print it
    #[arg(long, value_parser = ["text", "json"], default_value = "text")]
    format: String,
}

fn parse_commit(text: &str) -> Result<CommitId, String> {
    CommitId::parse(text).map_err(|_| "expected the whole id of a commit".to_owned())
}

/// Event besides a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum EventArgument {
    /// Commits that QA is to look at
    Push,
    /// A pull request was opened or made ready
    PullRequest,
    /// A draft of a pull request was opened or pushed to
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
            ..Self::with_code(error.code(), format!("failed to read the list: {error}"))
        }
    }
}

impl From<WorkflowError> for Failure {
    fn from(error: WorkflowError) -> Self {
        let message = format!("failed to find the next state: {error}");
        Self { exit: Exit::Usage, ..Self::with_code(error.code(), visible(&message)) }
    }
}

/// A list of features with its text.
pub(crate) struct Listed {
    pub(crate) text: String,
    list: FeatureList,
}

/// Result of the command.
struct Next {
    state: WorkflowState,
    /// Number of steps before the command.
    known_steps: usize,
    listed: Option<Listed>,
    /// True if a list with the verdict was written.
    proposed: bool,
}

/// Derives the next state and prints it; stores it when asked to.
pub(crate) fn workflow(
    arguments: &WorkflowArgs,
    now: SystemTime,
    cancellation: &Cancellation,
) -> Result<Vec<u8>, Failure> {
    let now = written(now);
    let next = match &arguments.run {
        Some(run) => {
            let progress = TerminalProgress::new(false);
            let accepted = accepted(run, arguments.head.as_ref(), cancellation, &progress);
            progress.clear();
            apply_run(arguments, accepted?, &now)?
        }
        None => next(arguments, &now)?,
    };
    let document = document(&next.state);
    let is_left = arguments.run.is_some() && next.state.history.len() == next.known_steps;
    if arguments.write && !is_left {
        replace(&arguments.state, &document)?;
    }
    Ok(if arguments.format == "json" { document } else { render_text(arguments, &next).into_bytes() })
}

/// A moment as states have it.
pub(crate) fn written(now: SystemTime) -> String {
    let seconds = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    calendar::timestamp(i64::try_from(seconds).unwrap_or(0))
}

/// A state as its file has it.
pub(crate) fn document(state: &WorkflowState) -> Vec<u8> {
    let mut document = serde_json::to_vec_pretty(state).expect("contract types are JSON");
    document.push(b'\n');
    document
}

/// The state of a file; where there is none, the work has not begun.
pub(crate) fn read_state(path: &Path, now: &str) -> Result<WorkflowState, Failure> {
    match read(path)? {
        Some(bytes) => workflow::parse_state(&bytes).map_err(|error| with_path(path, error)),
        None => Ok(workflow::start(now)),
    }
}

/// A path at which no link stands: what is read there is what will stand there after the commit.
pub(crate) fn named_file(path: &Path) -> Result<&Path, Failure> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let path = visible(&path.display().to_string());
            Err(Failure::usage(format!("{path} is not a regular file"), "put a file in its place"))
        }
        Ok(_) | Err(_) => Ok(path),
    }
}

/// Returns the transition that a run of a merged change leads to.
fn apply_run(arguments: &WorkflowArgs, accepted: Option<Accepted>, now: &str) -> Result<Next, Failure> {
    let state = read_state(named_file(&arguments.state)?, now)?;
    let known_steps = state.history.len();
    let listed = arguments.feature_list.as_deref().map(|path| read_list(named_file(path)?)).transpose()?;
    let text = listed.as_ref().map_or("", |listed| listed.text.as_str());
    let update = accepted.map(|accepted| accepted.apply_verdict(text, &state, now)).transpose()?.flatten();
    let Some(FeatureUpdate { list, state }) = update else {
        return Ok(Next { state, known_steps, listed, proposed: false });
    };
    if let Some(path) = &arguments.propose {
        replace(path, list.as_bytes())?;
    }
    let proposed = arguments.propose.is_some();
    Ok(Next { state, known_steps, listed: Some(Listed::new(list)?), proposed })
}

fn next(arguments: &WorkflowArgs, now: &str) -> Result<Next, Failure> {
    let mut state = read_state(&arguments.state, now)?;
    let known_steps = state.history.len();
    let mut listed = arguments.feature_list.as_deref().map(read_list).transpose()?;
    let said = read_qa_result(arguments)?;
    if listed.as_ref().is_some_and(|listed| !listed.list.0.is_empty()) {
        state = workflow::advance(&state, WorkflowEvent::FeaturesListed, now)?;
    }
    let feature_id = feature_id(arguments, said.as_ref(), listed.as_ref())?;
    if let Some(feature_id) = feature_id {
        state = workflow::choose(state, feature_id);
    }
    if let Some(event) = arguments.event {
        state = workflow::advance(&state, event.into(), now)?;
    }
    if let Some(said) = &said {
        state = workflow::advance(&state, WorkflowEvent::Verdict(said.status), now)?;
    }
    let mut proposed = false;
    if let (Some(path), Some(listed), Some(said)) = (&arguments.propose, &mut listed, &said) {
        let Some(feature_id) = state.current_feature_id else {
            return Err(Failure::usage(
                "nothing says which feature the verdict is about",
                "add --feature ID",
            ));
        };
        if let Some(passed) = passed(said.status) {
            let text = features::propose(&listed.text, feature_id, passed, now, said.summary.as_deref())?;
            replace(path, text.as_bytes())?;
            *listed = Listed::new(text)?;
            proposed = true;
        }
    }
    let all_pass = listed.as_ref().map_or(Ok(false), |listed| features::all_pass(&listed.text))?;
    if state.current_state == WorkflowPhase::QaPassed && all_pass {
        state = workflow::advance(&state, WorkflowEvent::AllFeaturesPass, now)?;
    }
    Ok(Next { state, known_steps, listed, proposed })
}

fn passed(verdict: QaStatus) -> Option<bool> {
    match verdict {
        QaStatus::Passed => Some(true),
        QaStatus::Failed => Some(false),
        QaStatus::Error => None,
    }
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

/// Reads the result of QA, from the command line or its report.
fn read_qa_result(arguments: &WorkflowArgs) -> Result<Option<Reported>, Failure> {
    let Some(path) = &arguments.report else {
        return Ok(arguments.verdict.map(|said| Reported {
            status: match said {
                QaResult::Passed => QaStatus::Passed,
                QaResult::Failed => QaStatus::Failed,
                QaResult::Error => QaStatus::Error,
            },
            feature_id: None,
            summary: None,
        }));
    };
    let bytes = read(path)?.ok_or_else(|| missing(path))?;
    workflow::parse_report(&bytes).map(Some).map_err(|error| with_path(path, error))
}

/// The feature that is named, which has to be in the list where there is one.
fn feature_id(
    arguments: &WorkflowArgs,
    said: Option<&Reported>,
    listed: Option<&Listed>,
) -> Result<Option<u64>, Failure> {
    let reported = said.and_then(|said| said.feature_id);
    let named = arguments.feature.or(reported);
    if let (Some(named), Some(reported)) = (named, reported)
        && named != reported
    {
        let message = format!("--feature is {named}, and the report is about feature {reported}");
        return Err(Failure::usage(message, "leave out --feature"));
    }
    match (named, listed) {
        (Some(id), Some(listed)) if !listed.list.0.iter().any(|feature| feature.id == id) => {
            Err(FeatureListError::UnknownFeature(id).into())
        }
        _ => Ok(named),
    }
}

impl Listed {
    fn new(text: String) -> Result<Self, FeatureListError> {
        let list = FeatureDocument::parse(&text)?.list(&text)?;
        Ok(Self { text, list })
    }
}

pub(crate) fn read_list(path: &Path) -> Result<Listed, Failure> {
    let bytes = read(path)?.ok_or_else(|| missing(path))?;
    let shown = visible(&path.display().to_string());
    let failed = |message: String| Failure {
        exit: Exit::Usage,
        ..Failure::with_code(Code::FeatureListInvalid, format!("failed to read {shown}: {message}"))
    };
    let text = String::from_utf8(bytes).map_err(|_| failed("it is not UTF-8".to_owned()))?;
    Listed::new(text).map_err(|error| failed(visible(&error.to_string())))
}

/// The bytes of a file; none when there is no such file. What is too large is cut where its reader refuses it.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let unreadable = |error: &std::io::Error| {
        let path = visible(&path.display().to_string());
        Failure::usage(format!("failed to read {path}: {error}"), "name a file that can be read")
    };
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(&error)),
    };
    let mut bytes = Vec::new();
    file.take(MAX_JSON_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
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

/// Puts a file in place whole or not at all, with the permissions of the one it replaces.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let path = visible(&path.display().to_string());
        Failure::with_code(Code::ArtifactWriteFailed, format!("failed to write {path}: {error}"))
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // Created as any new file is: what the umask leaves, and not for its owner alone as temporary files are.
    let mut file = tempfile::Builder::new()
        .prefix(".qa-skill-")
        .make_in(folder, |path| std::fs::File::create_new(path))
        .map_err(failed)?;
    if let Ok(replaced) = std::fs::metadata(path) {
        file.as_file().set_permissions(replaced.permissions()).map_err(failed)?;
    }
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(path).map(drop).map_err(|error| failed(error.error))
}

fn render_text(arguments: &WorkflowArgs, next: &Next) -> String {
    let state = &next.state;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        writeln!(text, "{name:<13}{value}").expect("a string can be written to");
    };
    let steps = &state.history[next.known_steps..];
    let phases: Vec<&str> = steps
        .first()
        .map(|step| step.from.as_str())
        .into_iter()
        .chain(steps.iter().map(|step| step.to.as_str()))
        .collect();
    line("state", if phases.is_empty() { state.current_state.to_string() } else { phases.join(" -> ") });
    line("next agent", state.next_agent.to_string());
    line("feature", state.current_feature_id.map_or("none".to_owned(), |id| id.to_string()));
    line("qa retries", state.qa_retries.to_string());
    if let Some(Listed { list: FeatureList(features), .. }) = &next.listed {
        let passing = features.iter().filter(|feature| feature.passes).count();
        let open = features.iter().find(|feature| !feature.passes);
        let open =
            open.map_or(String::new(), |feature| format!(", the first that does not is {}", feature.id));
        line("features", format!("{passing} of {} pass{open}", features.len()));
    }
    if let Some(path) = &arguments.propose {
        let path = visible(&path.display().to_string());
        line("proposal", if next.proposed { path } else { "none, there is no verdict on it".to_owned() });
    }
    let path = visible(&arguments.state.display().to_string());
    line("stored", if arguments.write { path } else { "no; --write stores it".to_owned() });
    if state.qa_retries >= MANY_RETRIES {
        line(
            "note",
            format!("QA sent the feature back {} times in a row; look at it anew", state.qa_retries),
        );
    }
    text
}

/// Answers the command.
pub(crate) fn answer(arguments: &WorkflowArgs, cancellation: &Cancellation) -> Result<Exit, Failure> {
    console::write_stdout(&workflow(arguments, crate::config::now(), cancellation)?).map(|()| Exit::Pass)
}
