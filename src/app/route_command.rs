//! `qa-skill route`: answers a command on a terminal, from a local run.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;

use super::answers;
use super::console;
use super::drift_check::runs_below;
use super::exit::{Exit, Failure};
use super::explain::default_root;
use super::judged_run::JudgedRun;
use crate::config::now;
use qa_core::commands::{Command, Ignored, parse};
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
    let instead = match command {
        Command::Help => return Ok(answers::help()),
        Command::Explain(subject) if super::explain::rule_page(subject).is_some() => {
            return Ok(answers::explain(subject, None));
        }
        Command::Rerun | Command::Crosscheck => {
            Some("`qa-skill run --refresh` judges the checked-out head again")
        }
        Command::Resume | Command::Approve(_) => Some("`qa-skill run` continues with what is recorded"),
        Command::Stop => Some("Ctrl-C stops a run"),
        Command::Status | Command::Plan | Command::Report | Command::Explain(_) | Command::Waive { .. } => {
            None
        }
    };
    if let Some(instead) = instead {
        return Ok(format!("This command is for comments on pull requests. Here, {instead}.\n"));
    }
    let directory = match directory {
        Some(directory) => directory.to_owned(),
        None => newest_run(&default_root())?,
    };
    let run = JudgedRun::open(&directory)?;
    let judged = run.judged();
    Ok(match command {
        Command::Plan => judged.plan(),
        Command::Report => judged.report(),
        Command::Explain(subject) => answers::explain(subject, Some(judged)),
        Command::Waive { finding, reason } => answers::waive(finding, judged, OWNER, reason, now()),
        Command::Status
        | Command::Help
        | Command::Rerun
        | Command::Crosscheck
        | Command::Stop
        | Command::Approve(_)
        | Command::Resume => judged.status(),
    })
}

/// Returns the run directory that was written last; of two at the same time the last by name.
fn newest_run(root: &Path) -> Result<PathBuf, Failure> {
    let runs = runs_below(root).into_iter().filter_map(|path| Some((written_at(&path)?, path)));
    runs.max().map(|(_, path)| path).ok_or_else(|| {
        let root = sanitize(&root.display().to_string());
        Failure::usage(format!("{root} has no run"), "run `qa-skill run` first, or name a run with --run")
    })
}

fn written_at(run: &Path) -> Option<SystemTime> {
    std::fs::metadata(run.join("hashes.json")).and_then(|metadata| metadata.modified()).ok()
}
