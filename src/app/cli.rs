//! The command line: its commands and options, and the dispatch to them.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};

use super::artifact_commands::{self, DriftCheckArgs, UploadArgs};
use super::calibrate::CalibrateArgs;
use super::console;
use super::exit::{Exit, Failure};
use super::inputs::{Request, open, open_run};
use super::plan_command::Shown;
use super::progress::TerminalProgress;
use super::run_args::{AggregateArgs, PlanArgs, RunArgs, VerdictArgs};
use super::verify_command::{self, VerifyArgs};
use super::verify_drift::verify_drift;
use super::watchdog::{DEFAULT_DEADLINE, LONG_DEADLINE};
use super::workflow_command::WorkflowArgs;
use super::{calibrate, check, explain, plan_command, policy_check, schema_command};
use crate::config::Environment;
use crate::git::Uncommitted;
use qa_contracts::codes::Code;
use qa_core::escape::visible;
use qa_core::phases::RunEvent;
use qa_core::shard::Shard;
use qa_formats::counted;
use qa_run::ports::{Cancellation, CloseStep, Ending, NoVerdict};

/// A deterministic pull-request gate: PASS or FAIL with a proof that anyone can replay.
#[derive(Parser)]
#[command(name = "qa-skill", version = qa_run::keys::BUILD, about, after_help = console::EXAMPLES, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Judge a change and store the proof in a run directory
    #[command(after_help = console::run_help(), after_long_help = console::run_long_help())]
    Run(RunArgs),
    /// List the plans of a run without executing them
    Plan(PlanArgs),
    /// Join the parts of a sharded run and give its verdict
    Aggregate(AggregateArgs),
    /// Derive a stored run again and show the first difference
    Verify(VerifyArgs),
    /// Derive many stored runs again, as a nightly job does
    #[command(after_help = "Reads run directories, archives and artifacts, and reports each difference.")]
    DriftCheck(DriftCheckArgs),
    /// Give an agent turns in the sandbox until the gate passes
    #[cfg(target_os = "linux")]
    #[command(after_help = super::drive::EXAMPLES)]
    Drive(super::drive::DriveArgs),
    /// Upload run directories as an artifact of the running workflow; the action does this itself
    #[command(hide = true)]
    Upload(UploadArgs),
    /// Draft a rubric of a repository's conventions
    #[command(
        after_help = "The conventions are mined from a commit and its history, and apply once they\nare approved."
    )]
    ConsistencyInit(super::consistency_init::InitArgs),
    /// Accept or reject conventions of a draft and freeze them
    ConsistencyApprove(super::consistency_approve::ApproveArgs),
    /// Check that a commit keeps the conventions in force
    ConsistencyCheck(super::consistency_check::CheckArgs),
    /// Answer a command of pull requests from a local run
    Route(super::route_command::RouteArgs),
    /// Explain a rule, a lens, or a finding by its id
    Explain(explain::ExplainArgs),
    /// Show the edits that mend findings, or apply the safe ones
    #[command(after_help = super::fix::EXAMPLES)]
    Fix(super::fix::FixArgs),
    /// Judge the working tree for a hook of a coding agent
    #[command(after_help = super::hook::NOTES)]
    Hook(super::hook::HookArgs),
    /// Set the gate up: propose a policy and write the workflows
    #[command(after_help = super::init::EXAMPLES)]
    Init(super::init::InitArgs),
    /// Show how often rules would have blocked merged changes
    Calibrate(CalibrateArgs),
    /// Compare this version with an older one on merged changes
    #[command(after_help = "For use before a workflow names the newer version.")]
    Upgrade(super::upgrade::UpgradeArgs),
    /// Serve the gate to agents over the Model Context Protocol
    #[cfg(feature = "mcp")]
    Mcp(super::mcp::McpArgs),
    /// Say that this build does not serve the gate over the Model Context Protocol
    #[cfg(not(feature = "mcp"))]
    #[command(hide = true)]
    Mcp {
        #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
    /// Check the policy and show what differs from its preset
    PolicyCheck(policy_check::PolicyCheckArgs),
    /// Check that models answer, or the setup (--repository)
    #[command(
        after_help = "Sends one small request to each model of the policy; with --repository no model\nis asked."
    )]
    Doctor(super::doctor::DoctorArgs),
    /// Show the ledger of a pull request: each judged head
    #[command(after_help = "Lists verdicts, findings and deferred plans.")]
    Observe(super::observe_command::ObserveArgs),
    /// Show the next step of the work on a feature
    #[command(after_help = "The step follows from the stored state and an event.")]
    Workflow(WorkflowArgs),
    /// Run the command that writes a gate's report
    #[command(after_help = "Records beside the report how the command ended.")]
    Record(super::record_command::RecordArgs),
    /// Strike every operation of a run with every fault, against stand-ins of the servers, and show the conclusions
    #[cfg(feature = "dev-faults")]
    #[command(hide = true)]
    Rehearse(super::rehearse::RehearseArgs),
    /// Run a command in the sandbox of gates
    #[cfg(target_os = "linux")]
    #[command(after_help = super::sandbox_command::EXAMPLES)]
    Sandbox(super::sandbox_command::SandboxArgs),
    /// Print or install the skill and hooks for coding agents
    #[command(after_help = super::skill_command::EXAMPLES)]
    Skill(super::skill_command::SkillArgs),
    /// Print a published schema, the registry or the manifest
    Schema {
        /// Name of the document; without one, all names are listed
        name: Option<String>,
    },
    /// Print completions for a shell
    Completions {
        /// Name of the shell
        shell: clap_complete::Shell,
    },
}

/// Runs a command line and returns its exit code. `cancel` gets a function that ends the run, for a signal handler.
pub fn main_with(
    arguments: impl IntoIterator<Item = OsString>,
    cancel: impl FnOnce(Box<dyn Fn() + Send>),
) -> ExitCode {
    crate::git::isolate();
    std::panic::set_hook(Box::new(|panic| {
        let place = match panic.location() {
            Some(place) => format!(" at {}:{}", place.file(), place.line()),
            None => String::new(),
        };
        let payload = qa_core::masking::sanitize_cut(panic.payload_as_str().unwrap_or(""), 300);
        console::write_stderr(&format!("internal panic{place}: {payload}\n"));
    }));
    let cancellation = Arc::new(Cancellation::default());
    let handle = Arc::clone(&cancellation);
    cancel(Box::new(move || {
        handle.end(Ending::Cancelled);
    }));
    super::watchdog::watch(&cancellation);
    if let Err(message) = crate::faults::begin(&cancellation) {
        console::print_failure(&Failure::usage(message, ""));
        return Exit::Usage.into();
    }
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // A step of GitHub Actions has no arguments; its environment selects the command.
    if arguments.len() <= 1 && crate::config::in_actions() {
        cancellation.set_deadline(Some(DEFAULT_DEADLINE));
        return conclude(&cancellation, false, || super::action::step(&cancellation));
    }
    let json = console::wants_json(&arguments);
    let usage = super::hook::usage_exit(&arguments);
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(mut error) => {
            super::usage_tip::add_tip(&mut error, &arguments);
            if let Err(failure) = console::print_clap(&error, json) {
                console::print_failure(&failure);
                return failure.exit.into();
            }
            return if error.use_stderr() { usage.into() } else { Exit::Pass.into() };
        }
    };
    cancellation.set_deadline(Some(deadline(&cli.command)));
    conclude(&cancellation, json, || dispatch(cli.command, &cancellation))
}

/// Returns the time limit of a command. Any command may block in the kernel, for example on a pipe that the repository's
/// configuration includes.
fn deadline(command: &Command) -> Duration {
    match command {
        Command::Calibrate(_)
        | Command::DriftCheck(_)
        | Command::Init(_)
        | Command::Record(_)
        | Command::Upgrade(_)
        | Command::Verify(_) => LONG_DEADLINE,
        #[cfg(target_os = "linux")]
        Command::Drive(_) => LONG_DEADLINE,
        #[cfg(feature = "dev-faults")]
        Command::Rehearse(_) => LONG_DEADLINE,
        #[cfg(feature = "mcp")]
        Command::Mcp(_) => LONG_DEADLINE,
        #[cfg(not(feature = "mcp"))]
        Command::Mcp { .. } => DEFAULT_DEADLINE,
        #[cfg(target_os = "linux")]
        Command::Sandbox(arguments) => DEFAULT_DEADLINE.saturating_add(arguments.longest()),
        Command::Aggregate(_)
        | Command::Completions { .. }
        | Command::ConsistencyApprove(_)
        | Command::ConsistencyCheck(_)
        | Command::ConsistencyInit(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Fix(_)
        | Command::Hook(_)
        | Command::Observe(_)
        | Command::Plan(_)
        | Command::PolicyCheck(_)
        | Command::Route(_)
        | Command::Run(_)
        | Command::Schema { .. }
        | Command::Skill(_)
        | Command::Upload(_)
        | Command::Workflow(_) => DEFAULT_DEADLINE,
    }
}

/// Runs a command and returns its exit code, also after a panic. If the command fails, a check run that waits for a verdict
/// is completed without one.
fn conclude(
    cancellation: &Cancellation,
    json: bool,
    command: impl FnOnce() -> Result<Exit, Failure>,
) -> ExitCode {
    let failure = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(command)) {
        Ok(Ok(exit)) => match crate::faults::unmet() {
            Some(message) => Failure::usage(message, ""),
            None => return exit.into(),
        },
        Ok(Err(failure)) => failure.or_ending(cancellation),
        Err(_) => Failure::with_code(Code::InternalError, "qa-skill ended unexpectedly"),
    };
    cancellation.journal.fail(failure.code.unwrap_or(Code::InternalError));
    if let CloseStep::Pending(close) = cancellation.take_close_step() {
        let code = failure.code.unwrap_or(Code::InternalError);
        close(NoVerdict { code, message: &failure.message, hint: &failure.hint });
    }
    if json {
        console::print_failure_as_json(&failure);
    }
    console::print_failure(&failure);
    failure.exit.into()
}

fn dispatch(command: Command, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    match command {
        Command::Run(RunArgs { verdict, shard: Some(shard), .. }) => run_shard(verdict, shard, cancellation),
        Command::Run(RunArgs { verdict, content, shard: None }) => {
            run(verdict, content.uncommitted(), None, cancellation)
        }
        Command::Aggregate(arguments) => run(arguments.verdict, None, Some(&arguments.parts), cancellation),
        Command::Plan(arguments) => {
            let shown = match (arguments.shards, arguments.format.as_str()) {
                _ if arguments.cost => Shown::Cost,
                (Some(shards), _) => Shown::Matrix(shards),
                (None, "json") => Shown::Json,
                (None, "input") => Shown::Input,
                (None, _) => Shown::Table,
            };
            let progress = TerminalProgress::new(false);
            let uncommitted = arguments.content.uncommitted();
            let request = Request { uncommitted, ..arguments.planning.into_request()? };
            let document = plan_command::plan(&request, shown, cancellation, &progress);
            progress.clear();
            let document = document?;
            match shown {
                Shown::Table => console::write_page(&String::from_utf8_lossy(&document)),
                Shown::Json | Shown::Input | Shown::Cost | Shown::Matrix(_) => {
                    console::write_stdout(&document)
                }
            }
            .map(|()| Exit::Pass)
        }
        Command::Verify(arguments) => verify_command::verify(&arguments, cancellation),
        Command::DriftCheck(arguments) => artifact_commands::drift_check(&arguments, cancellation),
        #[cfg(target_os = "linux")]
        Command::Drive(arguments) => super::drive::drive(&arguments, cancellation),
        Command::Upload(arguments) => artifact_commands::upload(&arguments, cancellation),
        Command::ConsistencyInit(arguments) => super::consistency_init::write_draft(&arguments, cancellation),
        Command::ConsistencyApprove(arguments) => super::consistency_approve::freeze_rubric(&arguments),
        Command::ConsistencyCheck(arguments) => {
            super::consistency_check::print_standing(&arguments, cancellation)
        }
        Command::Explain(arguments) => explain::print(&arguments),
        Command::Fix(arguments) => super::fix::fix(&arguments, cancellation),
        Command::Hook(arguments) => super::hook::hook(&arguments, cancellation),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments, cancellation).map(|()| Exit::Pass),
        Command::Upgrade(arguments) => super::upgrade::upgrade(&arguments, cancellation).map(|()| Exit::Pass),
        Command::Init(arguments) => super::init::init(&arguments, cancellation),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => super::mcp::serve(&arguments, cancellation),
        #[cfg(not(feature = "mcp"))]
        Command::Mcp { .. } => Err(Failure::usage(
            "this build has no `mcp`",
            "the image and the Linux binaries of a release are built without it, for their size; `cargo install --locked --path .` in the sources builds it",
        )),
        Command::PolicyCheck(arguments) => policy_check::print(arguments),
        Command::Route(arguments) => super::route_command::route(&arguments),
        Command::Record(arguments) => super::record_command::record(&arguments),
        Command::Observe(arguments) => super::observe_command::observe(&arguments),
        Command::Doctor(arguments) => super::doctor::doctor(&arguments, cancellation),
        Command::Workflow(arguments) => super::workflow_command::print_next_step(&arguments, cancellation),
        #[cfg(feature = "dev-faults")]
        Command::Rehearse(arguments) => super::rehearse::rehearse(&arguments, cancellation),
        #[cfg(target_os = "linux")]
        Command::Sandbox(arguments) => super::sandbox_command::sandbox(&arguments, cancellation),
        Command::Skill(arguments) => super::skill_command::skill(&arguments),
        Command::Schema { name } => {
            console::write_stdout(&schema_command::document(name.as_deref())?).map(|()| Exit::Pass)
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            let mut cli = <Cli as clap::CommandFactory>::command();
            clap_complete::generate(shell, &mut cli, "qa-skill", &mut script);
            console::write_stdout(&script).map(|()| Exit::Pass)
        }
    }
}

fn run(
    arguments: VerdictArgs,
    uncommitted: Option<Uncommitted>,
    parts: Option<&[PathBuf]>,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    console::check_outputs(&arguments.formats)?;
    if arguments.verbose {
        super::log::to_stderr();
    }
    let progress = TerminalProgress::new(arguments.quiet || arguments.verbose);
    let (formats, color, since) = (arguments.formats.clone(), arguments.color, arguments.since.clone());
    let verify = arguments.verify_drift;
    cancellation.journal.take(RunEvent::Opened)?;
    let request = Request { uncommitted, ..arguments.into_request()? };
    let finished = open_run(&request, &cancellation.journal)
        .and_then(|opened| check::check_opened(&request, opened, cancellation, &progress, &|_| Ok(()), parts))
        .and_then(|finished| {
            if verify {
                verify_drift(&finished, cancellation, &progress)?;
            }
            Ok(finished)
        });
    progress.clear();
    let finished = finished?;
    if verify {
        console::write_stderr("no drift: the run is reproduced from its recording and from the repository\n");
    }
    let exit = console::print(&finished, &formats, color, &Environment::from_process())?;
    cancellation.journal.finish(finished.outcome.verdict.conclusion)?;
    if let Some(since) = since {
        match super::delta::since(&since, &finished) {
            Ok(Some(summary)) => console::write_stderr(&summary),
            Ok(None) => {
                let since = visible(&since.display().to_string());
                console::write_stderr(&format!("{since} has no run of an earlier head to compare with\n"));
            }
            // The comparison does not affect the verdict, so its failure does not affect the exit code.
            Err(failure) => console::print_failure(&failure),
        }
    }
    Ok(exit)
}

fn run_shard(arguments: VerdictArgs, shard: Shard, cancellation: &Cancellation) -> Result<Exit, Failure> {
    if arguments.verbose {
        super::log::to_stderr();
    }
    let progress = TerminalProgress::new(arguments.quiet || arguments.verbose);
    let request = arguments.into_request()?;
    let stored = super::shard::run_shard(&request, &open(&request)?, shard, cancellation, &progress);
    progress.clear();
    let stored = stored?;
    let text = format!(
        "part {shard} of {}: {}, no verdict; `aggregate` joins all parts\n{}\n",
        stored.key.short(),
        counted(stored.files, "file"),
        visible(&stored.path.display().to_string()),
    );
    console::write_stdout(text.as_bytes()).map(|()| Exit::Pass)
}

#[cfg(test)]
#[path = "cli_tests.rs"]
mod tests;
