//! `fix`: shows the edits that findings carry, prints them as a patch, or writes the safe ones and judges again.

mod args;
mod proposal;
mod show;
mod write;

pub(super) use args::{EXAMPLES, FixArgs};

use std::sync::Arc;

use super::check::check_opened;
use super::console::{self, Color};
use super::exit::{Exit, Failure};
use super::finished::Finished;
use super::inputs::{Request, open, open_run};
use super::progress::TerminalProgress;
use crate::config::Environment;
use crate::git::Uncommitted;
use args::Mode;
use proposal::{Proposal, propose};
use qa_contracts::codes::Code;
use qa_contracts::v1::Conclusion;
use qa_core::phases::RunEvent;
use qa_run::ports::Cancellation;

/// Runs the command.
pub(super) fn fix(arguments: &FixArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let request = arguments.request()?;
    let progress = TerminalProgress::new(false);
    cancellation.journal.take(RunEvent::Opened)?;
    let judged = open_run(&request, &cancellation.journal)
        .and_then(|opened| check_opened(&request, opened, cancellation, &progress, &|_| Ok(()), None))
        .and_then(|mut finished| {
            let wants = |rule: &str| arguments.wants(rule);
            let proposal = propose(&mut finished, &request, &wants, cancellation, &progress)?;
            Ok((finished, proposal))
        });
    progress.clear();
    let (finished, proposal) = judged?;
    let conclusion = match arguments.mode() {
        Mode::Show => {
            console::write_stdout(show::overview(&finished, &proposal).as_bytes())?;
            finished.outcome.verdict.conclusion
        }
        Mode::Diff => {
            console::write_stderr(&show::left_out(&proposal));
            console::write_stderr(&show::incomplete(&finished));
            if proposal.patch.is_empty() {
                console::write_stderr("no safe edit, so there is no patch\n");
            }
            console::write_stdout(&proposal.patch)?;
            finished.outcome.verdict.conclusion
        }
        Mode::Apply => apply(&request, finished, &proposal, cancellation)?,
    };
    cancellation.journal.finish(conclusion)?;
    Ok(conclusion.into())
}

/// Writes the safe edits, and judges the working tree against the same base.
fn apply(
    request: &Request,
    finished: Finished,
    proposal: &Proposal,
    cancellation: &Arc<Cancellation>,
) -> Result<Conclusion, Failure> {
    let environment = Environment::from_process();
    if proposal.files.is_empty() {
        console::write_stderr(&show::left_out(proposal));
        console::write_stderr("no safe edit, so nothing was written\n");
        console::print(&finished, &[], Color::Auto, &environment)?;
        return Ok(finished.outcome.verdict.conclusion);
    }
    write::write_files(&finished.opened.repository.root, &proposal.files)?;
    console::write_stderr(&show::written(proposal));
    let base = finished.opened.resolved.base.as_str().to_owned();
    drop(finished);
    let again = Request {
        base: Some(base),
        head: "HEAD".to_owned(),
        uncommitted: Some(Uncommitted::Worktree),
        ..request.clone()
    };
    let progress = TerminalProgress::new(false);
    let judged = open(&again)
        .and_then(|opened| check_opened(&again, opened, cancellation, &progress, &|_| Ok(()), None));
    progress.clear();
    let judged = judged?;
    let verdict = &judged.outcome.verdict;
    if verdict.error_codes == [Code::NothingToJudge] {
        console::write_stderr(show::NOTHING_LEFT);
    } else {
        console::print(&judged, &[], Color::Auto, &environment)?;
    }
    Ok(verdict.conclusion)
}
