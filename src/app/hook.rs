//! `qa-skill hook`: judges the working tree at an event of a coding agent, and answers the agent in its own format.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::agent_words::plain;
use super::check::check_opened;
use super::console::{write_stderr, write_stdout};
use super::exit::{Exit, Failure};
use super::finished::Finished;
use super::inputs::{Request, default_base, open_in, submit_goal};
use super::progress::TerminalProgress;
use crate::git::{OpenRepository, Uncommitted};
use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{Conclusion, FinalVerdict, Finding};
use qa_core::masking::masked_name;
use qa_core::phases::RunEvent;
use qa_core::plan::PlanKind;
use qa_formats::hook::{
    ALL, HookEvent, HookFormat, HookOutcome, HookReport, MAX_EVENT_BYTES, Moment, NotJudged,
};
use qa_run::ports::{Cancellation, CloseStep};

/// Notes in the help.
pub(super) const NOTES: &str = "\
Reads one event as JSON from standard input and writes one JSON document. When
the agent is about to stop, the working tree is judged as by `run --worktree`,
with the commits of the branch; what blocks keeps the agent at work, once. After
an edit, what blocks in the edited file is shown to the agent. Exit code 0 is an
answer, whatever the verdict; 3 is an event that cannot be read.
docs/recipes/agents.md says how to set hooks up.";

#[derive(Args)]
pub(super) struct HookArgs {
    /// The agent whose hook this is
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(ALL.iter().map(|format| format.id)))]
    agent: String,
    /// The base: a branch, tag or commit; by default that of `run`, so that commits of the agent are judged too. HEAD judges
    /// only what is not committed
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The repository, or any directory inside its checkout; by default the directory that the event names
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
}

/// Returns the exit code of a wrong command line: to agents, 2 means that a hook keeps them at work, and a hook that is set up
/// wrong would do so for ever.
pub(super) fn usage_exit(arguments: &[OsString]) -> Exit {
    match arguments.iter().any(|argument| argument == "hook") {
        true => Exit::CouldNotComplete,
        false => Exit::Usage,
    }
}

/// Answers the event. From the event on, whatever ends the run without a verdict is an answer as well.
pub(super) fn hook(arguments: &HookArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    let format = HookFormat::find(&arguments.agent).expect("the command line allows known agents only");
    let event = read_event(format)?;
    let moment = event.moment.clone();
    cancellation.set_close_step(Some(Box::new(move |end| {
        let failure = Some(NotJudged { code: end.code, message: end.message, hint: end.hint });
        let written = answer(format, &moment, &HookReport { failure, ..HookReport::default() });
        // Agents read an answer only of a hook that ends with 0.
        std::process::exit(written.map_or(Exit::CouldNotComplete, |()| Exit::Pass) as i32);
    })));
    let finished = judge(arguments, &event, cancellation)?;
    let report = report(&finished, &event);
    if let CloseStep::Taken = cancellation.take_close_step() {
        // The watchdog answers, and ends the process.
        loop {
            std::thread::park();
        }
    }
    cancellation.journal.finish(finished.outcome.verdict.conclusion)?;
    answer(format, &event.moment, &report).map(|()| Exit::Pass)
}

fn read_event(format: &HookFormat) -> Result<HookEvent, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().take(MAX_EVENT_BYTES as u64 + 1).read_to_end(&mut bytes);
    let reason = match read.map(|_| format.parse(&bytes)) {
        Ok(Ok(event)) => return Ok(event),
        Ok(Err(error)) => error.to_string(),
        Err(error) => error.to_string(),
    };
    let failure = Failure::with_code(Code::InputInvalid, format!("failed to read the event: {reason}"));
    let hint = "nothing was judged; an agent starts this command by its own settings and writes the event to standard \
                input: check --agent and the event that the hook is set up for";
    Err(Failure { exit: Exit::CouldNotComplete, hint: hint.to_owned(), ..failure })
}

/// Judges the working tree, after an edit by the rules alone: gates and reviews wait until the agent stops.
fn judge(
    arguments: &HookArgs,
    event: &HookEvent,
    cancellation: &Arc<Cancellation>,
) -> Result<Finished, Failure> {
    let directory = arguments.repo.as_deref().unwrap_or(Path::new(&event.directory));
    let mut request = Request {
        uncommitted: Some(Uncommitted::Worktree),
        ..Request::of_base(directory, arguments.base.as_deref())
    };
    if let Moment::Edit { .. } = event.moment {
        request.overrides.lens_ids =
            Some(qa_lenses::ALL.iter().map(|lens| lens.spec().id.to_owned()).collect());
    }
    cancellation.journal.take(RunEvent::Opened)?;
    submit_goal(&cancellation.journal, &request.overrides)?;
    let repository = OpenRepository::discover(directory)?;
    cancellation.journal.take(RunEvent::Ready)?;
    if request.base.is_none() {
        request.base = default_base(&repository)?;
    }
    let opened = open_in(&request, repository)?;
    check_opened(&request, opened, cancellation, &TerminalProgress::new(true), &|_| Ok(()), None)
}

fn report<'a>(finished: &'a Finished, event: &HookEvent) -> HookReport<'a> {
    let verdict = &finished.outcome.verdict;
    if verdict.conclusion == Conclusion::Pass {
        return HookReport { outcome: HookOutcome::Passed, ..HookReport::default() };
    }
    let is_empty = finished.inputs.change_set.files.is_empty();
    if is_empty && codes_of_rules(verdict) == [Code::NothingToJudge] {
        return HookReport { outcome: HookOutcome::Unchanged, ..HookReport::default() };
    }
    let blocking = verdict.blocking_findings.iter();
    let (findings, codes): (Vec<&Finding>, Vec<Code>) = match &event.moment {
        Moment::Edit { files } if !files.is_empty() => {
            let root = &finished.opened.repository.root;
            let files: Vec<RepoPath> = files.iter().filter_map(|file| below(root, event, file)).collect();
            (blocking.filter(|finding| files.contains(&finding.file)).collect(), codes_of_rules(verdict))
        }
        // A tool without a file, such as a shell, may have changed any.
        Moment::Edit { .. } => (blocking.collect(), codes_of_rules(verdict)),
        Moment::Stop { .. } => (blocking.collect(), verdict.error_codes.clone()),
    };
    HookReport { outcome: HookOutcome::NotPassed, findings, codes, failure: None }
}

/// Returns the codes of a run by the rules alone: that gates and reviews are missing is by request.
fn codes_of_rules(verdict: &FinalVerdict) -> Vec<Code> {
    let mut missing = verdict.missing_required_lens_ids.iter();
    let lacks_rule = missing.any(|id| PlanKind::from_lens_id(id) == PlanKind::Lens);
    let mut codes = verdict.error_codes.clone();
    codes.retain(|code| *code != Code::LensRequiredMissing || lacks_rule);
    codes
}

/// Returns the path of a file in a checkout as findings have it; `None` for a file elsewhere.
#[expect(
    clippy::disallowed_methods,
    reason = "an agent may name its directory by a link; the file is compared with findings and not opened"
)]
fn below(root: &Path, event: &HookEvent, file: &str) -> Option<RepoPath> {
    let path = plain(&Path::new(&event.directory).join(file)).ok()?;
    // An edit through a link is one of the file behind it. A file that is gone has the name it had.
    let path = match std::fs::canonicalize(&path) {
        Ok(real) => real,
        Err(_) => std::fs::canonicalize(path.parent()?).ok()?.join(path.file_name()?),
    };
    let root = std::fs::canonicalize(root).ok()?;
    let inside = path.strip_prefix(root).ok()?;
    let path = RepoPath::from_bytes(inside.as_os_str().as_encoded_bytes()).ok()?;
    Some(masked_name(&path).unwrap_or(path))
}

fn answer(format: &HookFormat, moment: &Moment, report: &HookReport<'_>) -> Result<(), Failure> {
    let answer = format.answer(moment, report);
    if let Some(note) = &answer.note {
        write_stderr(note);
    }
    write_stdout(format!("{}\n", answer.document).as_bytes())
}
