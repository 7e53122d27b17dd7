//! A step of GitHub Actions: the environment decides what is done, and the exit code always carries the verdict.

mod artifact;
mod commits;
mod drift;
mod features;
mod fingerprints;
mod next_agent;
mod publication;
mod surfaces;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use self::commits::{Base, Sources};
use self::publication::{Publication, Published};
use self::surfaces::{Runner, annotate, print_quoting};
use super::ask_models::ModelUse;
use super::check::{Finished, check_opened};
use super::console;
use super::delta;
use super::exit::{Exit, Failure};
use super::inputs::{HeadTrust, Opened, Request, open_in};
use super::plan_command::{Shown, plan_opened};
use super::progress::TerminalProgress;
use super::pull_request::{pull_request_refs, pull_request_setting};
use super::shard::part;
use super::upload::StoredArtifact;
use super::watchdog::LONG_DEADLINE;
use crate::app::client::client;
use crate::config::{ActionCommand, ActionEnvironment, Context, Environment, Inputs, ObjectSource};
use crate::git::{OpenRepository, Remote};
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, ExecutionKey};
use qa_contracts::v1::Conclusion;
use qa_core::escape::markdown;
use qa_core::event::{self, Change, EventError, RunnerVariables, Task};
use qa_core::findings::all_places;
use qa_core::policy::Overrides;
use qa_run::http::Http;
use qa_run::ports::Cancellation;
use qa_run::retry::WaitBudget;

/// The largest payload GitHub documents is 25 MB.
const MAX_EVENT_BYTES: u64 = 25 << 20;
/// The output `verdict` where there is none.
const COULD_NOT_COMPLETE: &str = "could-not-complete";
/// Time limit of fetching objects that a shallow clone lacks.
const FETCH_BUDGET: Duration = Duration::from_secs(900);
/// Time limit of reading the pull request's head again. It begins once the verdict is there.
const HEAD_BUDGET: Duration = Duration::from_secs(180);

/// Runs the step.
pub(crate) fn step(cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let told = run(cancellation);
    if let Err(failure) = &told {
        let code = failure.code.map_or("qa-skill", Code::as_str);
        annotate("error", code, &format!("{}\n{}", failure.message, failure.hint));
    }
    told
}

fn run(cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let context = Context::read()?;
    let runner = Runner::new(&context.output, &context.step_summary);
    // Until there is a verdict the outputs say that there is none; a later line wins.
    runner.outputs(&[("verdict", COULD_NOT_COMPLETE.to_owned())])?;
    let environment = ActionEnvironment::read().map_err(Failure::from);
    let told = environment.and_then(|environment| perform(&environment, &runner, cancellation));
    let told = told.map_err(|failure| failure.or_ending(cancellation));
    if let Err(failure) = &told {
        if failure.exit == Exit::Drift {
            runner.outputs(&[("verdict", "drift".to_owned())])?;
        }
        // Where the summary cannot be written either, the annotation says it.
        let _already_failed = runner.summary(page(failure).as_bytes());
    }
    told
}

/// A job summary that says why there is no result.
fn page(failure: &Failure) -> String {
    let title = match failure.exit {
        Exit::Drift => "drift",
        Exit::Pass | Exit::Fail | Exit::Usage | Exit::CouldNotComplete | Exit::Bug => "could not complete",
    };
    let code = failure.code.map_or(String::new(), |code| format!("`{code}`: "));
    format!("## qa-skill: {title}\n\n{code}{}\n\n{}\n", markdown(&failure.message), markdown(&failure.hint))
}

fn perform(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    if environment.inputs.command == ActionCommand::Features {
        return features::features(environment, runner, cancellation);
    }
    match task(environment)? {
        Task::Check(change) => check_change(environment, runner, change, cancellation),
        Task::Drift => {
            cancellation.set_deadline(Some(LONG_DEADLINE));
            drift::drift(environment, runner, cancellation)
        }
        Task::Nothing(reason) => {
            annotate("notice", "qa-skill", &format!("nothing to judge: {reason}"));
            runner.outputs(&[("verdict", "none".to_owned())])?;
            Ok(Exit::Pass)
        }
    }
}

fn task(environment: &ActionEnvironment) -> Result<Task, Failure> {
    let context = &environment.context;
    if environment.inputs.command == ActionCommand::DriftCheck {
        return Ok(Task::Drift);
    }
    let payload = read_event(&context.event_path)?;
    let runner = RunnerVariables {
        name: &context.event_name,
        sha: &context.sha,
        git_ref: &context.git_ref,
        base_ref: &context.base_ref,
    };
    let task = event::task(runner, &payload)?;
    if environment.inputs.command == ActionCommand::Check && task == Task::Drift {
        let reason = "a schedule names no change";
        return Err(EventError::NotForThis { name: context.event_name.clone(), reason }.into());
    }
    Ok(task)
}

fn read_event(path: &str) -> Result<Value, Failure> {
    let unreadable = |reason: String| {
        Failure::with_code(Code::EventUnusable, format!("failed to read the event: {reason}"))
    };
    if path.is_empty() {
        return Err(unreadable("GITHUB_EVENT_PATH is not set".to_owned()));
    }
    // A pipe would be waited for. One that takes the file's place after this is left to the deadline.
    if !std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.is_file() {
        return Err(unreadable("it is not a regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_EVENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(error.to_string()))?;
    if bytes.len() as u64 > MAX_EVENT_BYTES {
        return Err(unreadable(format!("it is larger than {MAX_EVENT_BYTES} bytes")));
    }
    // GitHub's own document: not held to the limits of ours, only to its size.
    serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))
}

fn check_change(
    environment: &ActionEnvironment,
    runner: &Runner,
    change: Change,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let http: Arc<dyn Http> = Arc::new(client(FETCH_BUDGET, cancellation)?);
    let remote = remote(environment, http.as_ref());
    let (request, opened) = open_change(environment, &change, remote.as_ref())?;
    let inputs = &environment.inputs;
    let progress = TerminalProgress::new(true);
    if inputs.command == ActionCommand::Plan {
        let shown = Shown::Matrix(inputs.shards.unwrap_or(1));
        let matrix = plan_opened(&request, &opened, shown, cancellation, &progress)?;
        let matrix = String::from_utf8(matrix).expect("a matrix is JSON");
        runner.outputs(&[("matrix", matrix.trim_end().to_owned()), ("verdict", "none".to_owned())])?;
        return Ok(Exit::Pass);
    }
    if let Some(shard) = inputs.shard {
        let part = part(&request, &opened, shard, cancellation, &progress)?;
        let parent = part.path.parent().expect("a part is in the directory of its key").to_owned();
        artifact::keep(environment, &[parent], Some(shard), cancellation)?;
        let path = part.path.display().to_string();
        runner.outputs(&[("run-path", path), ("verdict", "none".to_owned())])?;
        annotate("notice", "qa-skill", &format!("part {shard}: {} files, no verdict yet", part.files));
        return Ok(Exit::Pass);
    }
    let publication = Publication::of(environment, &change, opened.resolved.head.clone(), cancellation);
    let workspace = std::path::Path::new(&environment.context.workspace);
    let parts = match (inputs.command, &inputs.parts) {
        (ActionCommand::Aggregate, None) => {
            let message = "aggregate needs the input `parts`";
            return Err(Failure { exit: Exit::Usage, ..Failure::with_code(Code::InputInvalid, message) });
        }
        (ActionCommand::Aggregate, Some(parts)) => Some([workspace.join(parts)]),
        (
            ActionCommand::ByEvent
            | ActionCommand::Check
            | ActionCommand::DriftCheck
            | ActionCommand::Plan
            | ActionCommand::Features,
            _,
        ) => None,
    };
    let parts = parts.as_ref().map(<[_; 1]>::as_slice);
    let keyed = |key: &ExecutionKey| publication.started(key);
    let finished = check_opened(&request, opened, cancellation, &progress, &keyed, parts)?;
    if let Some(now) = moved_head(environment, &change, cancellation) {
        return Err(Failure::with_code(
            Code::HeadSuperseded,
            format!("the pull request's head is {} by now, so this result is not published", now.short()),
        ));
    }
    let directory = finished.stored.path.display().to_string();
    let report = console::report(&finished, &directory, &Environment::read());
    print_quoting(&console::rendered("terminal", &report))?;
    // Where an earlier step or a cache left runs. It decides nothing, so that what is wrong with them does not either.
    let runs = finished.stored.path.parent().unwrap_or(&finished.stored.path);
    if let Ok(Some(told)) = delta::since(runs, &finished) {
        print_quoting(told.as_bytes())?;
    }
    let kept = artifact::keep(environment, std::slice::from_ref(&finished.stored.path), None, cancellation);
    let kept = match kept {
        Ok(kept) => kept,
        // The verdict stands, with its proof in the workspace alone.
        Err(failure) if stands_without_artifact(&failure, report.result.final_verdict.conclusion, inputs) => {
            let code = failure.code.map_or("qa-skill", Code::as_str);
            let text = format!(
                "the run directory was not uploaded, so this verdict cannot be replayed later: {}\n{}",
                failure.message, failure.hint
            );
            annotate("warning", code, &text);
            runner
                .summary(format!("> [!WARNING]\n> {}\n\n", markdown(&text.replace('\n', " "))).as_bytes())?;
            None
        }
        Err(failure) => return Err(failure),
    };
    let published = publication.publish(&report, &finished.opened.objects, runner)?;
    runner.outputs(&outputs(&finished, &published, kept.as_ref()))?;
    Ok(published.exit)
}

/// Returns whether a verdict stands although its artifact could not be stored. What blocks always does; a pass does
/// unless the workflow requires the artifact or the artifact holds a secret of the environment.
fn stands_without_artifact(failure: &Failure, conclusion: Conclusion, inputs: &Inputs) -> bool {
    let may_pass = !inputs.require_artifact && failure.code != Some(Code::ArtifactSecretFound);
    failure.code != Some(Code::Cancelled) && (conclusion == Conclusion::Fail || may_pass)
}

fn outputs(
    finished: &Finished,
    published: &Published,
    kept: Option<&StoredArtifact>,
) -> Vec<(&'static str, String)> {
    let findings = finished.outcome.results.iter().flat_map(|result| &result.findings);
    let (blocking, other): (Vec<_>, Vec<_>) = findings.partition(|finding| finding.blocking);
    let directory = &finished.stored.path;
    let file = |name: &str| directory.join(name).display().to_string();
    vec![
        ("verdict", verdict_output(finished.outcome.verdict.conclusion).to_owned()),
        ("execution-key", finished.outcome.key.as_str().to_owned()),
        ("run-path", directory.display().to_string()),
        ("report-path", file("report.html")),
        ("sarif-path", file("results.sarif")),
        ("qa-report-path", if finished.has_gates() { file("qa-report.json") } else { String::new() }),
        ("next-agent", next_agent::next_agent(finished).map_or(String::new(), |agent| agent.to_string())),
        ("blocking-findings", all_places(blocking).to_string()),
        ("advisory-findings", all_places(other).to_string()),
        ("published-to", published.surface.to_owned()),
        ("artifact-id", kept.map_or(String::new(), |kept| kept.id.to_string())),
        ("artifact-digest", kept.map_or(String::new(), |kept| kept.packed.sha256.to_string())),
        ("check-run-url", published.url.clone().unwrap_or_default()),
    ]
}

/// The output `verdict` of a run that was judged.
fn verdict_output(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "pass",
        Conclusion::Fail => "fail",
        Conclusion::CouldNotComplete => COULD_NOT_COMPLETE,
    }
}

/// Returns the head's current commit, if it moved.
///
/// Asked of git and not of the API, so that reading contents is all the permission it needs. A server that cannot be
/// asked is told of; the job's verdict is about the head it names.
fn moved_head(
    environment: &ActionEnvironment,
    change: &Change,
    cancellation: &Arc<Cancellation>,
) -> Option<CommitId> {
    let number = change.pull_request?;
    let unknown = |why: &str| {
        let text = format!(
            "whether {} is still the head of the pull request is unknown: {why}",
            change.head.short()
        );
        annotate("notice", "qa-skill", &text);
    };
    let http = match client(HEAD_BUDGET, cancellation) {
        Ok(http) => http,
        Err(error) => {
            unknown(&error.to_string());
            return None;
        }
    };
    match remote(environment, &http)?.tip(&format!("refs/pull/{number}/head")) {
        Ok(Some(now)) => (now != change.head).then_some(now),
        Ok(None) => {
            unknown("the server has no such ref");
            None
        }
        Err(error) => {
            unknown(&format!("failed to {error}"));
            None
        }
    }
}

fn remote<'a>(environment: &'a ActionEnvironment, http: &'a dyn Http) -> Option<Remote<'a>> {
    let context = &environment.context;
    if context.server_url.is_empty() || context.repository.is_empty() {
        return None;
    }
    let url = format!("{}/{}", context.server_url.trim_end_matches('/'), context.repository);
    let seed = environment.artifacts.seed();
    let token = environment.inputs.token.clone();
    Some(Remote { http, url, token, seed, wait_budget: WaitBudget::default() })
}

fn open_change(
    environment: &ActionEnvironment,
    change: &Change,
    remote: Option<&Remote<'_>>,
) -> Result<(Request, Opened), Failure> {
    let inputs = &environment.inputs;
    let workspace = std::path::PathBuf::from(&environment.context.workspace);
    let directory =
        inputs.working_directory.as_ref().map_or(workspace.clone(), |inside| workspace.join(inside));
    let repository = OpenRepository::discover_of_workflow(&directory)?;
    let repository = match inputs.objects {
        ObjectSource::Checkout => {
            for notice in repository.unfetched_objects() {
                annotate("notice", "qa-skill", &notice);
            }
            repository
        }
        ObjectSource::Server => repository.without_checkout_objects()?,
    };
    let sources = Sources { repository: &repository, remote, sha: &environment.context.sha };
    let head = match &inputs.head {
        Some(name) => sources.named(name)?,
        None => change.head.clone(),
    };
    let base = match &inputs.base {
        Some(name) => Base { commit: sources.named(name)?, rule: "configured", test_merge: None },
        None => sources.base(change)?,
    };
    let number = change.pull_request;
    let refs = number.map(pull_request_refs).unwrap_or_default();
    let repository = repository.completed(&base.commit, &head, base.test_merge.as_ref(), remote, &refs)?;
    let mut settings = environment.settings.clone();
    settings.extend(crate::config::pace());
    // Which nights look for the commits by, should they not be given out by id.
    settings.extend(number.map(pull_request_setting));
    let request = Request {
        repository: directory,
        base: Some(base.commit.as_str().to_owned()),
        head: head.as_str().to_owned(),
        test_merge: base.test_merge,
        overrides: Overrides {
            mode: inputs.mode,
            preset: inputs.preset,
            max_concurrency: inputs.jobs,
            lens_ids: inputs.lenses.clone(),
        },
        artifact_root: inputs.artifact_root.as_ref().map(|inside| workspace.join(inside)),
        refresh: false,
        head_trust: head_trust(change, inputs.head.is_some()),
        models: ModelUse {
            replies: inputs.replies,
            no_model: inputs.no_model,
            pull_request: number,
            token: inputs.token.clone(),
        },
        settings,
    };
    let mut opened = open_in(&request, repository)?;
    opened.resolved.base_rule = base.rule;
    Ok((request, opened))
}

/// Returns the trust level of the head commit's code. A commit that an input names has an unknown author.
fn head_trust(change: &Change, named: bool) -> HeadTrust {
    match (change.from_fork || named, change.beside_secrets) {
        (false, _) => HeadTrust::Own,
        (true, false) => HeadTrust::Fork,
        (true, true) => HeadTrust::ForkBesideSecrets,
    }
}
