//! A step of GitHub Actions: the environment selects the command, and the exit code is the verdict.

mod artifact;
mod baseline;
mod commits;
#[cfg(target_os = "linux")]
mod continued;
mod drift;
#[cfg(target_os = "linux")]
mod drive;
mod drive_start;
mod features;
mod fingerprints;
mod last_line;
mod live_status;
mod next_agent;
mod person;
mod propose;
mod publication;
mod pull_to_drive;
mod route;
mod route_drives;
mod second_stage;
mod stored_drive;
mod stored_runs;
mod surfaces;
mod turn_before;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use self::commits::{Base, Sources};
use self::last_line::last_line;
use self::live_status::StepCounter;
pub(super) use self::publication::{CHECK_NAME, REVIEWS_CHECK_NAME};
use self::publication::{Publication, Published};
use self::surfaces::{Outputs, Runner, annotate, print_quoting};
use self::turn_before::WrittenLedger;
use super::check::check_opened;
use super::console;
use super::delta;
use super::exit::{Exit, Failure};
use super::finished::Finished;
use super::inputs::{HeadTrust, ModelUse, Opened, Request, open_in, read_policy, submit_goal};
use super::observer::ObserverRequest;
use super::plan_command::{Shown, plan_opened};
use super::prepare::repo_id;
use super::progress::TerminalProgress;
use super::pull_request::{pull_request_refs, pull_request_setting};
use super::shard::run_shard;
use super::upload::StoredArtifact;
use super::watchdog::LONG_DEADLINE;
use crate::app::client::client;
use crate::config::{ActionCommand, ActionEnvironment, Context, Environment, Inputs, ObjectSource};
use crate::git::{GitError, OpenRepository, Remote};
use crate::publish::artifact::DEFAULT_NAME;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{Conclusion, ObserverMode, RunPhase};
use qa_core::escape::markdown;
use qa_core::event::{self, Change, EventError, RunnerVariables, Task};
use qa_core::findings::all_places;
use qa_core::finished_run::{FinishedRun, RunTask};
use qa_core::ledger::notes::CROSS_CHECK_IN_PROGRESS;
use qa_core::observer::{Settings, decide};
use qa_core::phases::RunEvent;
use qa_core::policy::{Overrides, Policy};
use qa_formats::counted;
use qa_formats::observer_notes::ObserverNotes;
use qa_run::control::Journal;
use qa_run::http::Http;
use qa_run::ports::Cancellation;
use qa_run::retry::WaitBudget;

/// The largest payload GitHub documents is 25 MB.
const MAX_EVENT_BYTES: u64 = 25 << 20;
/// The output `verdict` where there is none.
const COULD_NOT_COMPLETE: &str = "could-not-complete";
/// Message for work that does not move.
const STUCK: &str = "the same findings stay open after several attempts: a person should look";
/// Time limit of fetching objects that a shallow clone lacks.
const FETCH_BUDGET: Duration = Duration::from_secs(900);
/// Time limit of reading the pull request's head again. It begins once the verdict is there.
const HEAD_BUDGET: Duration = Duration::from_secs(180);

/// Runs the step.
pub(crate) fn step(cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let outcome = run(cancellation);
    if let Err(failure) = &outcome {
        annotate("error", failure.title(), &format!("{}\n{}", failure.message, failure.hint));
    }
    outcome
}

fn run(cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    cancellation.journal.take(RunEvent::Opened)?;
    let context = Context::from_process()?;
    let runner = Runner::new(&context.output, &context.step_summary);
    // The default until there is a verdict: a later line replaces it.
    runner.write_outputs(&Outputs::default().set("verdict", COULD_NOT_COMPLETE))?;
    let environment = ActionEnvironment::from_process().map_err(Failure::from);
    let outcome = environment.and_then(|environment| perform(&environment, &runner, cancellation));
    let outcome = outcome.map_err(|failure| failure.or_ending(cancellation));
    if let Err(failure) = &outcome {
        if failure.exit == Exit::Drift {
            runner.write_outputs(&Outputs::default().set("verdict", "drift"))?;
        }
        // The annotation reports the failure as well, so an error of the summary needs no report.
        let stopped_in = cancellation.journal.phase();
        cancellation.journal.fail(failure.code.unwrap_or(Code::InternalError));
        let phases = (stopped_in, cancellation.journal.phase());
        let _already_failed = runner.summary(failure_summary(failure, phases).as_bytes());
    }
    outcome
}

/// Renders the job summary of a step without a result. `phases` are the one that it stopped in and the one that it ends in.
fn failure_summary(failure: &Failure, phases: (RunPhase, RunPhase)) -> String {
    let title = match failure.exit {
        Exit::Drift => "drift",
        Exit::Pass | Exit::Fail | Exit::Usage | Exit::CouldNotComplete | Exit::Bug => "could not complete",
    };
    let code = match failure.code {
        Some(code) => format!("`{code}`: "),
        None => String::new(),
    };
    let (message, hint) = (markdown(&failure.message), markdown(&failure.hint));
    let (stopped_in, ends_in) = phases;
    let ends_in = if ends_in == stopped_in { String::new() } else { format!(" and is `{ends_in}`") };
    format!(
        "## qa-skill: {title}\n\n{code}{message}\n\n{hint}\n\nThe run stopped in phase `{stopped_in}`{ends_in}.\n"
    )
}

fn perform(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    match environment.inputs.command {
        ActionCommand::Features => return features::features(environment, runner, cancellation),
        ActionCommand::Route => return route::route(environment, runner, cancellation),
        #[cfg(target_os = "linux")]
        ActionCommand::Drive => return drive::drive(environment, runner, cancellation),
        #[cfg(not(target_os = "linux"))]
        ActionCommand::Drive => {
            return Err(Failure::usage(
                "agents run in the sandbox, which Linux alone has",
                "use a Linux runner",
            ));
        }
        ActionCommand::Propose => return propose::propose(environment, runner, cancellation),
        ActionCommand::ByEvent
        | ActionCommand::Check
        | ActionCommand::DriftCheck
        | ActionCommand::Plan
        | ActionCommand::Aggregate => {}
    }
    match task(environment)? {
        Task::Check(change) => check_change(environment, runner, change, None, cancellation),
        Task::Reviews(named) => {
            second_stage::check_inputs(&environment.inputs)?;
            // A failure leaves a check run without a verdict on the head that the event names: an earlier pass of that head
            // may be one against another base.
            publication::conclude_without_check(environment, &named.head, cancellation);
            match second_stage::finished_run(environment, &named, cancellation)? {
                RunTask::Nothing(reason) => nothing_to_judge(runner, reason),
                RunTask::Judge(run) => {
                    let change = second_stage::change(environment, &run, cancellation)?;
                    check_change(environment, runner, change, Some(&run), cancellation)
                }
            }
        }
        Task::Drift => {
            cancellation.set_deadline(Some(LONG_DEADLINE));
            drift::drift(environment, runner, cancellation)
        }
        Task::Nothing(reason) => nothing_to_judge(runner, reason),
    }
}

fn nothing_to_judge(runner: &Runner, reason: &str) -> Result<Exit, Failure> {
    annotate("notice", "qa-skill", &format!("nothing to judge: {reason}"));
    runner.write_outputs(&Outputs::default().set("verdict", "none"))?;
    Ok(Exit::Pass)
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

fn event_unreadable(reason: impl std::fmt::Display) -> Failure {
    Failure::with_code(Code::EventUnusable, format!("failed to read the event: {reason}"))
}

fn read_event(path: &str) -> Result<Value, Failure> {
    if path.is_empty() {
        return Err(event_unreadable("GITHUB_EVENT_PATH is not set"));
    }
    // Opening a pipe would block. The deadline covers one that replaces the file after this check.
    if !std::fs::metadata(path).map_err(event_unreadable)?.is_file() {
        return Err(event_unreadable("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_EVENT_BYTES + 1).read_to_end(&mut bytes))
        .map_err(event_unreadable)?;
    if bytes.len() as u64 > MAX_EVENT_BYTES {
        return Err(event_unreadable(format!("it is larger than {MAX_EVENT_BYTES} bytes")));
    }
    // GitHub writes this document, so of the limits of our own documents only the size applies.
    serde_json::from_slice(&bytes).map_err(event_unreadable)
}

/// Judges a change and publishes the result. `run` is the finished run that it was found by, in the second stage.
fn check_change(
    environment: &ActionEnvironment,
    runner: &Runner,
    change: Change,
    run: Option<&FinishedRun>,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let http: Arc<dyn Http> = Arc::new(client(FETCH_BUDGET, cancellation)?);
    let remote = remote(environment, http.as_ref());
    let (mut request, opened) = open_change(environment, &change, remote.as_ref(), &cancellation.journal)?;
    let head = opened.resolved.head.clone();
    let (mut before, mut mode) = (None, None);
    if let Some(Observed { policy, settings }) = Observed::new(&request, &opened) {
        // The artifact of the turn before is that of a run of the first stage, which the second does not use.
        if change.pull_request.is_some() && run.is_none() {
            let found = turn_before::find(environment, &change, &repo_id(&opened, &policy), cancellation)?;
            request.observer.ledger = Some(found.state);
            before = found.before;
            if let Some(before) = &mut before {
                request.models.earlier = std::mem::take(&mut before.known_hunks);
            }
            request.observer.earlier = before.as_ref().map(|before| before.earlier_turns(&head));
        }
        // A matrix has no key.
        if environment.inputs.command != ActionCommand::Plan {
            request.baseline = baseline::find(environment, &policy, &opened.resolved.base, cancellation)?;
        }
        mode = Some(decide(request.observer.occasion, request.observer.earlier, &settings).mode);
    }
    let inputs = &environment.inputs;
    let progress = TerminalProgress::new(true);
    if inputs.command == ActionCommand::Plan {
        let shown = Shown::Matrix(inputs.shards.unwrap_or(1));
        let matrix = plan_opened(&request, &opened, shown, cancellation, &progress)?;
        let matrix = String::from_utf8(matrix).expect("a matrix is JSON");
        runner.write_outputs(&Outputs::default().set("matrix", matrix.trim_end()).set("verdict", "none"))?;
        return Ok(Exit::Pass);
    }
    if let Some(shard) = inputs.shard {
        let part = run_shard(&request, &opened, shard, cancellation, &progress)?;
        let parent = part.path.parent().expect("a part is in the directory of its key").to_owned();
        artifact::upload_artifact(environment, &[parent], Some(shard), DEFAULT_NAME, cancellation)?;
        let path = part.path.display().to_string();
        runner.write_outputs(&Outputs::default().set("run-path", &path).set("verdict", "none"))?;
        let files = counted(part.files, "file");
        annotate("notice", "qa-skill", &format!("part {shard}: {files}, no verdict yet"));
        return Ok(Exit::Pass);
    }
    if mode == Some(ObserverMode::CrossCheck) {
        console::write_stdout(format!("{CROSS_CHECK_IN_PROGRESS}\n").as_bytes())?;
    }
    let counter = Arc::new(StepCounter::new(mode));
    let publication = Publication::new(environment, &change, head, cancellation, &counter);
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
            | ActionCommand::Features
            | ActionCommand::Route
            | ActionCommand::Drive
            | ActionCommand::Propose,
            _,
        ) => None,
    };
    let parts = parts.as_ref().map(<[_; 1]>::as_slice);
    let finished =
        check_opened(&request, opened, cancellation, &*counter, &|key| publication.start_check(key), parts)?;
    if let Some(now) = moved_head(environment, &change, cancellation) {
        return Err(Failure::with_code(
            Code::HeadSuperseded,
            format!("the head of the pull request is now {}, so this result is not published", now.short()),
        ));
    }
    if let Some(run) = run {
        second_stage::confirm_change(environment, run, &change, cancellation)?;
    }
    let directory = finished.proof().path.display().to_string();
    let report = console::report(&finished, Some(&directory), &Environment::from_process());
    print_quoting(&console::render("terminal", &report))?;
    // Runs that an earlier step or a cache left. The comparison does not affect the verdict, so its errors are ignored.
    let runs = finished.proof().path.parent().unwrap_or(&finished.proof().path);
    if let Ok(Some(summary)) = delta::since(runs, &finished) {
        print_quoting(summary.as_bytes())?;
    }
    let pace = request.observer.pace;
    let ledger = match run {
        None => turn_before::write(before.as_ref(), change.pull_request, pace, &finished)?,
        Some(_) => None,
    };
    let notes = ledger.as_ref().map(|ledger| ledger.notes(&report));
    if let (Some(notes), Some(ledger)) = (&notes, &ledger) {
        show_notes(notes, ledger, runner)?;
    }
    let mut directories = vec![finished.proof().path.clone()];
    let kept = ledger.as_ref().filter(|ledger| ledger.is_kept);
    directories.extend(kept.map(|ledger| ledger.directory.clone()));
    let artifact =
        match artifact::upload_artifact(environment, &directories, None, DEFAULT_NAME, cancellation) {
            Ok(artifact) => artifact,
            // The verdict is valid; its proof is in the workspace only.
            Err(failure)
                if stands_without_artifact(&failure, report.result.final_verdict.conclusion, inputs) =>
            {
                let text = format!(
                    "the run directory was not uploaded, so this verdict cannot be replayed later: {}\n{}",
                    failure.message, failure.hint
                );
                annotate("warning", failure.title(), &text);
                runner.summary(
                    format!("> [!WARNING]\n> {}\n\n", markdown(&text.replace('\n', " "))).as_bytes(),
                )?;
                None
            }
            Err(failure) => return Err(failure),
        };
    let markdown = notes.as_ref().map(|notes| notes.markdown.as_str()).unwrap_or_default();
    let published = publication.publish(&report, markdown, &finished.opened.objects, runner)?;
    let outputs = outputs(&finished, &published, artifact.as_ref());
    let outputs = turn_before::with_outputs(outputs, ledger.as_ref(), notes.as_ref());
    runner.write_outputs(&outputs)?;
    cancellation.journal.finish(finished.outcome.verdict.conclusion)?;
    // The verdict is published, so a summary that cannot be written changes nothing.
    let _no_last_line = runner.summary(last_line(&cancellation.journal, &finished).as_bytes());
    Ok(published.exit)
}

/// Prints what the observer tells of a turn, begins the job summary with it, and asks for a person where work does not move.
fn show_notes(notes: &ObserverNotes, ledger: &WrittenLedger, runner: &Runner) -> Result<(), Failure> {
    print_quoting(notes.text.as_bytes())?;
    if ledger.is_stuck() {
        annotate("warning", "qa-skill observer", STUCK);
    }
    runner.summary(notes.markdown.as_bytes())
}

/// A policy of the base that enables the observer, with the observer's settings.
struct Observed {
    policy: Policy,
    settings: Settings,
}

impl Observed {
    /// Reads the policy; `None` where it enables no observer. One that cannot be read is an error later.
    fn new(request: &Request, opened: &Opened) -> Option<Self> {
        let registry = qa_lenses::registry();
        let sides = opened.resolved.sides();
        let policy = read_policy(&opened.objects, sides, &request.overrides, &registry).ok()?.policy;
        let settings = Settings::new(&policy, request.observer.pace)?;
        Some(Self { policy, settings })
    }
}

/// Returns whether a verdict is valid although its artifact was not stored. A failure always is; a pass is unless the
/// workflow requires the artifact or the artifact holds a secret of the environment.
fn stands_without_artifact(failure: &Failure, conclusion: Conclusion, inputs: &Inputs) -> bool {
    let may_pass = !inputs.require_artifact && failure.code != Some(Code::ArtifactSecretFound);
    failure.code != Some(Code::Cancelled) && (conclusion == Conclusion::Fail || may_pass)
}

fn outputs(finished: &Finished, published: &Published, artifact: Option<&StoredArtifact>) -> Outputs {
    let findings = finished.outcome.results.iter().flat_map(|result| &result.findings);
    let (blocking, other): (Vec<_>, Vec<_>) = findings.partition(|finding| finding.blocking);
    let directory = &finished.proof().path;
    let qa_report = if finished.has_gates() { file_in(directory, "qa-report.json") } else { String::new() };
    let next_agent = next_agent::next_agent(finished).map(|agent| agent.to_string()).unwrap_or_default();
    let is_escalated = finished.outcome.verdict.warning_codes.contains(&Code::BudgetEscalated);
    let mut outputs = Outputs::default()
        .set("verdict", verdict_output(finished.outcome.verdict.conclusion))
        .set("execution-key", finished.outcome.key.as_str())
        .set("run-path", &directory.display().to_string())
        .set("report-path", &file_in(directory, "report.html"))
        .set("sarif-path", &file_in(directory, "results.sarif"))
        .set("statement-path", &file_in(directory, "statement.intoto.json"))
        .set("qa-report-path", &qa_report)
        .set("next-agent", &next_agent)
        .set("blocking-findings", &all_places(blocking).to_string())
        .set("advisory-findings", &all_places(other).to_string())
        .set("escalated", if is_escalated { "true" } else { "false" })
        .set("published-to", published.surface);
    outputs = match artifact {
        Some(artifact) => outputs
            .set("artifact-id", &artifact.id.to_string())
            .set("artifact-digest", artifact.packed.sha256.as_str()),
        None => outputs.set("artifact-id", "").set("artifact-digest", ""),
    };
    outputs.set("check-run-url", published.url.as_deref().unwrap_or_default())
}

fn file_in(directory: &std::path::Path, name: &str) -> String {
    directory.join(name).display().to_string()
}

/// Returns the output `verdict` of a finished run.
fn verdict_output(conclusion: Conclusion) -> &'static str {
    match conclusion {
        Conclusion::Pass => "pass",
        Conclusion::Fail => "fail",
        Conclusion::CouldNotComplete => COULD_NOT_COMPLETE,
    }
}

/// Returns the head's current commit, if it moved.
///
/// Uses git and not the API, so that permission to read contents is enough. If the server does not answer, a notice reports
/// it and the verdict stays valid for the head that it names.
fn moved_head(
    environment: &ActionEnvironment,
    change: &Change,
    cancellation: &Arc<Cancellation>,
) -> Option<CommitId> {
    let number = change.pull_request?;
    let http = match client(HEAD_BUDGET, cancellation) {
        Ok(http) => http,
        Err(error) => {
            note_unknown_head(change, &error.to_string());
            return None;
        }
    };
    match remote(environment, &http)?.tip(&format!("refs/pull/{number}/head")) {
        Ok(Some(now)) => (now != change.head).then_some(now),
        Ok(None) => {
            note_unknown_head(change, "the server has no such ref");
            None
        }
        Err(error) => {
            note_unknown_head(change, &format!("failed to {error}"));
            None
        }
    }
}

fn note_unknown_head(change: &Change, reason: &str) {
    let head = change.head.short();
    let text = format!("could not check that {head} is still the head of the pull request: {reason}");
    annotate("notice", "qa-skill", &text);
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
    journal: &Journal,
) -> Result<(Request, Opened), Failure> {
    let inputs = &environment.inputs;
    let overrides = Overrides {
        mode: inputs.mode,
        preset: inputs.preset,
        max_concurrency: inputs.jobs,
        lens_ids: inputs.lenses.clone(),
        stage: change.stage,
    };
    submit_goal(journal, &overrides)?;
    let workspace = std::path::PathBuf::from(&environment.context.workspace);
    let directory = environment.checkout();
    let repository = OpenRepository::discover_of_workflow(&directory).map_err(without_checkout)?;
    journal.take(RunEvent::Ready)?;
    let repository = match inputs.objects {
        ObjectSource::Checkout if repository.is_partial() => {
            let text = "the checkout is a partial clone, so objects are fetched from the server";
            annotate("notice", "qa-skill", text);
            repository
        }
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
        Some(name) => sources.resolve_revision(name)?,
        None => change.head.clone(),
    };
    let base = match &inputs.base {
        Some(name) => Base { commit: sources.resolve_revision(name)?, rule: "configured", test_merge: None },
        None => sources.base(change)?,
    };
    let number = change.pull_request;
    let refs = number.map(pull_request_refs).unwrap_or_default();
    let repository = repository.completed(&base.commit, &head, base.test_merge.as_ref(), remote, &refs)?;
    let mut settings = environment.settings.clone();
    // Lets drift-check fetch the commits by the pull request's refs if the server does not serve them by id.
    if let Some(setting) = number.map(pull_request_setting) {
        // The input of the same name is another command's, and unset here.
        settings.retain(|known| known.name != setting.name);
        settings.push(setting);
    }
    let request = Request {
        repository: directory,
        base: Some(base.commit.as_str().to_owned()),
        head: head.as_str().to_owned(),
        uncommitted: None,
        stores_commits: true,
        test_merge: base.test_merge,
        overrides,
        artifact_root: inputs.artifact_root.as_ref().map(|inside| workspace.join(inside)),
        refresh: false,
        head_trust: head_trust(change, inputs.head.is_some()),
        models: ModelUse {
            replies: inputs.replies,
            no_model: inputs.no_model,
            pull_request: number,
            token: inputs.token.clone(),
            earlier: Vec::new(),
        },
        label_features: change.label_features.clone(),
        baseline: None,
        observer: ObserverRequest {
            occasion: change.occasion_in(&environment.context.run_attempt),
            earlier: None,
            ledger: None,
            pace: crate::config::pace(),
        },
        settings,
        document: None,
    };
    let mut opened = open_in(&request, repository)?;
    opened.resolved.base_rule = base.rule;
    Ok((request, opened))
}

/// Returns the failure to open the checkout of a step, which has inputs and no options.
fn without_checkout(error: GitError) -> Failure {
    let failure = Failure::from(error);
    if failure.code != Some(Code::RepositoryNotFound) {
        return failure;
    }
    let hint = "check out before this step with actions/checkout; if it has a `path`, set the input `working-directory` to \
                the same";
    Failure { hint: hint.to_owned(), ..failure }
}

/// Returns the trust level of the head commit's code. The author of a commit that an input names is unknown.
fn head_trust(change: &Change, named: bool) -> HeadTrust {
    match (change.from_fork || named, change.beside_secrets) {
        (false, _) => HeadTrust::Own,
        (true, false) => HeadTrust::Fork,
        (true, true) => HeadTrust::ForkBesideSecrets,
    }
}
