//! `qa-skill route`: answers a command on a terminal, from a local run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use super::answers::{self, Proposer};
use super::console;
use super::drift_check::runs_below;
use super::exit::{Exit, Failure};
use super::explain::default_root;
use super::judged_run::JudgedRun;
use crate::config::now;
use qa_core::commands::{Action, Command, Ignored, parse};
use qa_core::escape::without_runner_commands;
use qa_core::masking::sanitize;

/// Owner of a proposed waiver, to be replaced.
const OWNER: &str = "OWNER";

#[derive(Args)]
pub(crate) struct RouteArgs {
    /// The command as in a comment, for example `/qa status`; `/qa help` lists all
    #[arg(value_name = "COMMENT")]
    comment: String,
    /// The run directory; by default the newest run of the checkout
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
}

/// Prints the answer.
pub(crate) fn route(arguments: &RouteArgs) -> Result<Exit, Failure> {
    let Some(command) = parse(&arguments.comment) else {
        let message = format!("no command: {}", Ignored::NoCommand.as_str());
        return Err(Failure::usage(message, "`qa-skill route \"/qa help\"` lists the commands"));
    };
    let text = answer(&command, arguments.run.as_deref())?;
    console::write_stdout(without_runner_commands(&text).as_bytes()).map(|()| Exit::Pass)
}

fn answer(command: &Command, directory: Option<&Path>) -> Result<String, Failure> {
    let query = match command {
        Command::Ask(query) => query,
        Command::Act(action) => {
            let instead = instead_of(action);
            return Ok(format!("This command is for comments on pull requests. Here, {instead}.\n"));
        }
    };
    if let Some(answer) = answers::answer_without_run(query) {
        return Ok(answer);
    }
    let directory = match directory {
        Some(directory) => directory.to_owned(),
        None => newest_run(&default_root())?,
    };
    let run = JudgedRun::open(&directory)?;
    Ok(answers::answer(query, run.judged(), &Proposer { owner: OWNER, reason: None, now: now() }))
}

/// Returns what to do on a terminal instead.
fn instead_of(action: &Action) -> &'static str {
    match action {
        Action::Rerun | Action::Crosscheck => "`qa-skill run --refresh` judges the checked-out head again",
        Action::Resume | Action::Approve(_) => "`qa-skill run` continues with what is recorded",
        Action::Stop => "Ctrl-C stops a run",
        Action::Drive(None) => "`qa-skill drive --fix --agent COMMAND` drives an agent",
        Action::Drive(Some(_)) => "`qa-skill drive --goal TEXT --agent COMMAND` drives an agent",
        Action::Turn(None) => "the command of a drive that waits goes on with --approve",
        Action::Turn(Some(_)) => "the command of a drive that waits goes on with --edit TEXT",
    }
}

/// Returns the run directory that was written last; of two at the same time the last by name.
fn newest_run(root: &Path) -> Result<PathBuf, Failure> {
    let runs = runs_below(root).into_iter().filter_map(|path| Some((written_at(&path)?, path)));
    runs.max().map(|(_, path)| path).ok_or_else(|| {
        let root = sanitize(&root.display().to_string());
        Failure::usage(format!("{root} has no run"), "run `qa-skill run` first, or name a run with --run")
    })
}

/// Returns when a run was stored.
pub(super) fn written_at(run: &Path) -> Option<SystemTime> {
    std::fs::metadata(run.join("hashes.json")).and_then(|metadata| metadata.modified()).ok()
}
