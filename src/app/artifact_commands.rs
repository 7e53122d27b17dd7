//! The commands about stored runs as artifacts: `drift-check`, and `upload`, which the action does by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use super::consistency_check::{RUBRIC_WORKERS, rubric_standing};
use super::console;
use super::drift_check::{
    Against, Live, RemoteRuns, Replayer, check_artifacts, check_paths, failure, markdown, render_text,
    runs_below,
};
use super::exit::{Exit, Failure};
use super::progress::TerminalProgress;
use super::upload::{Storing, store_artifact};
use crate::config::{ArtifactEnvironment, now};
use crate::git::Remote;
use crate::publish::artifact::{ArtifactName, DEFAULT_NAME, Repository, RunService};
use qa_contracts::codes::Code;
use qa_contracts::schema;
use qa_contracts::v1::DriftReport;
use qa_core::canonical;
use qa_core::shard::Shard;
use qa_run::http::HttpError;
use qa_run::ports::Cancellation;
use qa_run::retry::WaitBudget;

/// Time limit of all requests of a drift check together.
const DRIFT_BUDGET: Duration = Duration::from_secs(3600);
/// Default number of artifacts to replay. Listing and downloading that many takes about a thousand requests, the hourly
/// rate limit of a token.
pub(crate) const LIMIT: u64 = 500;
const UPLOAD_BUDGET: Duration = Duration::from_secs(900);

/// Renders a report in one format.
type Render = fn(&DriftReport) -> Result<Vec<u8>, Failure>;

const FORMATS: &[(&str, Render)] = &[
    ("text", |report| Ok(render_text(report).into_bytes())),
    ("json", json),
    ("markdown", |report| Ok(markdown(report).into_bytes())),
];

#[derive(Args)]
pub(crate) struct DriftCheckArgs {
    /// Run directories, artifact roots, or zip archives of them; without any, the repository's recent artifacts. Two
    /// run directories and no --repo are compared with each other
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Replay from this repository's objects instead of the recordings
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Age limit of artifacts, in days
    #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=400),
        conflicts_with = "paths")]
    since_days: u64,
    /// Maximum number of artifacts to replay: the newest first, those of forks last
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = clap::value_parser!(u64).range(1..=5000),
        conflicts_with = "paths")]
    limit: u64,
    /// Name of the artifacts
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME, conflicts_with = "paths")]
    name: String,
    /// Fail on runs of another version of the engine or of a lens; by default they are reported only
    #[arg(long)]
    fail_on_engine_change: bool,
    /// Send the requests of stored reviews again, to models that the checkout's policy names, and report how the answers
    /// changed; this costs as much as the reviews and does not affect the exit code
    #[arg(long)]
    live: bool,
    /// Number of times that --live sends each request
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=9),
        requires = "live")]
    samples: u64,
    /// text, json or markdown, optionally with a path; repeatable
    #[arg(long = "format", value_name = "FORMAT[=PATH]", value_parser = parse_output)]
    formats: Vec<DriftOutput>,
}

#[derive(Args)]
pub(crate) struct UploadArgs {
    /// Run directories, or an artifact root
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Name of the artifact
    #[arg(long, value_name = "NAME", default_value = DEFAULT_NAME)]
    name: String,
    /// The shard that the parts belong to, for example `1/4`
    #[arg(long, value_name = "K/N", value_parser = parse_shard)]
    shard: Option<Shard>,
    /// Retention in days; by default that of the repository
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u64).range(1..=400))]
    retention_days: Option<u64>,
}

/// An output format, and the file to write; without a path it goes to standard output.
#[derive(Clone)]
struct DriftOutput {
    render: Render,
    path: Option<PathBuf>,
}

fn parse_output(text: &str) -> Result<DriftOutput, String> {
    let (name, path) = match text.split_once('=') {
        Some((_, "")) => return Err("the path after `=` is empty".to_owned()),
        Some((name, path)) => (name, Some(PathBuf::from(path))),
        None => (text, None),
    };
    let format = FORMATS.iter().find(|(known, _)| *known == name);
    format.map(|(_, render)| DriftOutput { render: *render, path }).ok_or_else(|| {
        let known: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
        format!("there is no format `{name}`; known formats: {}", known.join(", "))
    })
}

fn parse_shard(text: &str) -> Result<Shard, String> {
    let parsed = text
        .split_once('/')
        .and_then(|(number, of)| Some(Shard { number: number.parse().ok()?, of: of.parse().ok()? }));
    parsed
        .filter(|shard| (1..=shard.of).contains(&shard.number))
        .ok_or_else(|| "expected K/N with K from 1 to N".to_owned())
}

fn json(report: &DriftReport) -> Result<Vec<u8>, Failure> {
    let value = serde_json::to_value(report).expect("contract types are JSON");
    let schema = schema::find("drift-report.v1").expect("every schema is embedded");
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        let message = format!("failed to make a valid report: {} at {}", fault.message, fault.pointer);
        return Err(Failure::with_code(Code::InternalError, message));
    }
    let mut bytes = canonical::to_vec(&value).expect("a report has a canonical form");
    bytes.push(b'\n');
    Ok(bytes)
}

/// `qa-skill drift-check`.
pub(crate) fn drift_check(
    arguments: &DriftCheckArgs,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    if arguments.formats.iter().filter(|output| output.path.is_none()).count() > 1 {
        return Err(Failure::usage(
            "more than one format goes to standard output",
            "give all but one a path: --format markdown=drift.md",
        ));
    }
    let environment = ArtifactEnvironment::from_process();
    let progress = TerminalProgress::new(false);
    let checkout = arguments.repo.clone().unwrap_or_else(|| PathBuf::from("."));
    let live = match arguments.live {
        true => Some(Live::new(&checkout, arguments.samples, None, cancellation)?),
        false => None,
    };
    let report = if arguments.paths.is_empty() {
        let request = RemoteRequest {
            checkout,
            name: arguments.name.clone(),
            since_days: arguments.since_days,
            limit: arguments.limit,
            live,
        };
        let report = check_remote(&request, &environment, cancellation, &progress);
        report.map(|report| with_rubric(report, &request.checkout, cancellation, &progress))
    } else {
        let repository = arguments.repo.as_deref();
        let scratch = environment.scratch();
        check_paths(&arguments.paths, repository, &scratch, live.as_ref(), cancellation, &progress)
    };
    progress.clear();
    let report = report?;
    let fallback = [parse_output("text").map_err(|message| Failure::usage(message, ""))?];
    let outputs = if arguments.formats.is_empty() { &fallback } else { &arguments.formats[..] };
    for output in outputs {
        let bytes = (output.render)(&report)?;
        match &output.path {
            Some(path) => console::write_document(path, &bytes)?,
            None => console::write_stdout(&bytes)?,
        }
    }
    match failure(&report, arguments.fail_on_engine_change) {
        Some(failure) => Err(failure),
        None => Ok(Exit::Pass),
    }
}

/// Adds the state of the conventions in force in the checked-out commit. The replays are valid without it.
fn with_rubric(
    report: DriftReport,
    checkout: &Path,
    cancellation: &Cancellation,
    progress: &TerminalProgress,
) -> DriftReport {
    match rubric_standing(checkout, "HEAD", RUBRIC_WORKERS, cancellation, progress) {
        Ok(rubric) => DriftReport { rubric, ..report },
        Err(failure) => {
            console::write_stderr(&format!("warning: conventions were not counted: {}\n", failure.message));
            report
        }
    }
}

/// Selection of a repository's artifacts to replay.
pub(crate) struct RemoteRequest {
    /// Local repository; commits that it lacks are fetched.
    pub(crate) checkout: PathBuf,
    pub(crate) name: String,
    pub(crate) since_days: u64,
    /// Maximum number of artifacts: the newest first, those of forks last.
    pub(crate) limit: u64,
    /// Comparison of new model answers with the recorded ones, if requested.
    pub(crate) live: Option<Live>,
}

/// Replays recent artifacts of the repository that the environment names.
pub(crate) fn check_remote(
    arguments: &RemoteRequest,
    environment: &ArtifactEnvironment,
    cancellation: &Arc<Cancellation>,
    progress: &TerminalProgress,
) -> Result<DriftReport, Failure> {
    let (Some(api), Some(repository)) = (environment.api(), environment.repository()) else {
        return Err(Failure::usage(
            "no runs to check",
            "name run directories or archives, or set GITHUB_API_URL and GITHUB_REPOSITORY to check a repository's artifacts",
        ));
    };
    let http = client(DRIFT_BUDGET, cancellation)?;
    let scratch = environment.scratch();
    let remote = Remote {
        http: &http,
        url: format!("{}/{repository}", environment.server()),
        token: environment.token(),
        seed: environment.seed(),
        wait_budget: WaitBudget::default(),
    };
    let replayer = Replayer {
        against: Against::Completed { checkout: &arguments.checkout, remote: &remote },
        cancellation,
        progress,
        live: arguments.live.as_ref(),
    };
    let wanted = RemoteRuns {
        repository: Repository {
            http: &http,
            api: api.to_owned(),
            name: repository.to_owned(),
            token: environment.token(),
        },
        name: ArtifactName::new(&arguments.name)?,
        since_days: arguments.since_days,
        limit: usize::try_from(arguments.limit).unwrap_or(usize::MAX),
        now: now(),
        scratch: &scratch,
    };
    check_artifacts(&wanted, &replayer)
}

/// `qa-skill upload`.
pub(crate) fn upload(arguments: &UploadArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let environment = ArtifactEnvironment::from_process();
    let name = ArtifactName::new(&arguments.name)?;
    let name = match arguments.shard {
        Some(shard) => name.of_shard(shard.number, shard.of),
        None => name,
    };
    let directories: Vec<PathBuf> = arguments.paths.iter().flat_map(|path| runs_below(path)).collect();
    if directories.is_empty() {
        return Err(Failure::usage("no run to upload", "name a run directory or the artifact root"));
    }
    let service = RunService::new(
        environment.server(),
        environment.results_url(),
        environment.runtime_token().as_ref(),
        environment.run_attempt(),
    )?;
    let http = client(UPLOAD_BUDGET, cancellation)?;
    let stored = store_artifact(
        &http,
        &service,
        &Storing {
            directories: &directories,
            name: &name,
            retention_days: arguments.retention_days,
            most_retention_days: environment.retention_days(),
            secrets: &environment.secrets(),
            now: now(),
            seed: environment.seed(),
            scratch: &environment.scratch(),
        },
    )?;
    let what = if stored.already_there { "already uploaded" } else { "uploaded" };
    let mut line = format!(
        "{what}: artifact {} ({}), {} bytes, sha256 {}",
        stored.id,
        qa_core::escape::visible(name.as_str()),
        stored.packed.bytes,
        stored.packed.sha256
    );
    if let (Some(days), Some(requested)) = (stored.days, arguments.retention_days) {
        let clamped = if days < requested { ", the maximum of the repository" } else { "" };
        line.push_str(&format!(", kept for {days} days{clamped}"));
    }
    console::write_stdout(format!("{line}\n").as_bytes()).map(|()| Exit::Pass)
}

fn client(budget: Duration, cancellation: &Arc<Cancellation>) -> Result<super::client::Client, Failure> {
    super::client::client(budget, cancellation).map_err(|error: HttpError| {
        Failure::with_code(error.code(), format!("failed to prepare requests: {error}"))
    })
}
