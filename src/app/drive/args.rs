//! Options of `drive`, and the settings of a drive that they and the policy give.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::agent;
use super::change::{Order, OrderedWord};
use super::wait::{ContinueMode, word_with};
use crate::app::agent_words::{NamedAgents, commands};
use crate::app::exit::Failure;
use crate::app::inputs::{Opened, Request};
use crate::app::prepare::repo_id;
use qa_contracts::v1::{DriveStart, PersonWord};
use qa_core::policy::Policy;
use qa_run::keys::BUILD;

pub(in crate::app) const EXAMPLES: &str = "\
Examples:
  qa-skill drive --fix --agent builtin:fix     apply the safe edits
  qa-skill drive --fix --agent ./agent.sh      let a script mend what blocks
  qa-skill drive --goal \"Add a --json flag\" --agent ./agent.sh
  qa-skill drive --status                      show how far the newest drive is
  qa-skill drive --status --format html        the same, as a page
  qa-skill verify .qa-skill/drive/SESSION      derive a drive's decisions again

Exit codes: 0 the tree passes, 1 the drive ended without a pass, 2 usage error,
3 a person has to do something first";

/// Form of a drive's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::app) enum StatusFormat {
    /// Lines for a terminal.
    Text,
    /// A summary for a reviewer.
    Markdown,
    /// One self-contained page.
    Html,
}

#[derive(Args)]
pub(in crate::app) struct DriveArgs {
    /// Mend what blocks, until the change passes
    #[arg(long, required_unless_present_any = ["goal", "status"], conflicts_with = "goal")]
    fix: bool,
    /// Reach this goal, until the agent says that it is done and the change passes
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// Program of the agent, with arguments that are separated by spaces. It runs in the sandbox, gets the envelope of its turn as
    /// standard input and in the file that QA_SKILL_ENVELOPE names, and changes the files of its working directory. The agent
    /// `builtin:fix` applies the safe edits that findings carry; beside a program it goes first. `builtin:model` asks the model that
    /// the policy names under `drive` for edits
    #[arg(long = "agent", value_name = "COMMAND", required_unless_present = "status")]
    agents: Vec<String>,
    /// A file or directory that the agent may read and execute, such as its installation; repeatable
    #[arg(long, value_name = "PATH")]
    pub(super) readable: Vec<PathBuf>,
    /// Maximum number of turns, at most that of the policy
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_turns: Option<u64>,
    /// Minutes in which turns may begin
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1440), default_value = "120")]
    pub(super) minutes: u64,
    /// The repository, or any directory inside its checkout
    #[arg(long, default_value = ".", value_name = "DIR")]
    repo: PathBuf,
    /// The base, as for `run`
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// The head that the drive begins with: a branch, tag or commit. What is not committed has no part in it
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    head: String,
    /// The artifact root; by default .qa-skill in the checkout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Pause before each turn. `manual` asks on a terminal; elsewhere the drive waits with exit code 3 for --approve, --edit or --stop
    #[arg(long = "continue", value_enum, value_name = "MODE", default_value_t = ContinueMode::Immediate)]
    pub(super) mode: ContinueMode,
    /// Let the turn begin that a drive with `--continue manual` waits for, and go on
    #[arg(long, conflicts_with_all = ["edit", "stop"])]
    pub(super) approve: bool,
    /// Give the agent a text with the next turn, and go on
    #[arg(long, value_name = "TEXT", conflicts_with = "stop")]
    pub(super) edit: Option<String>,
    /// End the drive, with what it brought so far
    #[arg(long)]
    pub(super) stop: bool,
    /// Show how far a drive is, and change nothing: the drive with this directory, or the newest one of the artifact root
    #[arg(
        long,
        value_name = "SESSION",
        num_args = 0..=1,
        default_missing_value = "",
        conflicts_with_all = ["fix", "goal", "agents", "readable", "max_turns", "minutes", "base", "head", "mode", "approve", "edit", "stop"]
    )]
    pub(super) status: Option<OsString>,
    /// Login of the person who gave a word on GitHub.
    #[arg(skip)]
    pub(super) by: Option<String>,
    /// Form of the status: lines for a terminal, a summary in Markdown for a reviewer, or a page
    #[arg(long, value_enum, conflicts_with_all = ["fix", "goal", "agents"], default_value_t = StatusFormat::Text)]
    pub(super) format: StatusFormat,
}

/// Word of a person on the command line.
pub(super) enum Said {
    /// The turn begins with this word.
    Word(PersonWord),
    /// The drive ends.
    Stop,
}

/// Minutes in which turns may begin in a job, which ends after six hours by itself.
const MINUTES_OF_JOB: u64 = 120;

impl DriveArgs {
    /// Returns the options of a drive in a step of GitHub Actions.
    pub(super) fn of_change(request: &Request, order: &Order<'_>) -> Self {
        Self {
            fix: order.goal.is_none(),
            goal: order.goal.map(str::to_owned),
            agents: commands(order.agents),
            readable: Vec::new(),
            max_turns: None,
            minutes: MINUTES_OF_JOB,
            repo: request.repository.clone(),
            base: request.base.clone(),
            head: request.head.clone(),
            out: request.artifact_root.clone(),
            mode: order.mode,
            approve: matches!(order.word, Some(OrderedWord::Approve)),
            edit: match &order.word {
                Some(OrderedWord::Edit(note)) => Some(note.clone()),
                Some(OrderedWord::Approve | OrderedWord::Stop) | None => None,
            },
            stop: matches!(order.word, Some(OrderedWord::Stop)),
            by: order.by.map(str::to_owned),
            format: StatusFormat::Text,
            status: None,
        }
    }

    /// Returns what a person says to a drive that waits.
    pub(super) fn said(&self) -> Result<Option<Said>, Failure> {
        if self.approve && self.mode != ContinueMode::Manual {
            return Err(Failure::usage(
                "--approve lets a turn begin, and without `--continue manual` each turn begins by itself",
                "add `--continue manual`, or leave --approve out",
            ));
        }
        Ok(match (&self.edit, self.approve, self.stop) {
            (Some(text), ..) => Some(Said::Word(word_with(text, self.by.as_deref())?)),
            (None, true, _) => Some(Said::Word(PersonWord { text: None, by: self.by.clone() })),
            (None, false, true) => Some(Said::Stop),
            (None, false, false) => None,
        })
    }

    pub(super) fn request(&self) -> Request {
        Request {
            head: self.head.clone(),
            artifact_root: self.out.clone(),
            ..Request::of_base(&self.repo, self.base.as_deref())
        }
    }

    /// Returns the settings of the first attempt. The policy bounds the turns.
    pub(super) fn start(&self, opened: &Opened, policy: &Policy) -> Result<DriveStart, Failure> {
        let mut limits = policy.drive.clone();
        limits.max_turns = self.max_turns.map_or(limits.max_turns, |turns| turns.min(limits.max_turns));
        let goal = self.goal.as_ref().map(|goal| goal.trim().to_owned());
        if goal.as_ref().is_some_and(|goal| goal.is_empty() || goal.chars().count() > 8000) {
            return Err(Failure::usage(
                "--goal is empty or has more than 8,000 characters",
                "say in a few sentences what is to be reached",
            ));
        }
        let checkout = &opened.repository.root;
        let agents = NamedAgents::parse(&self.agents, checkout)?;
        agent::check_program(&agents, checkout)?;
        let NamedAgents { builtin_fix, words, .. } = agents;
        if goal.is_some() && builtin_fix {
            return Err(Failure::usage(
                "--agent builtin:fix mends findings and reaches no goal",
                "drive with --fix before or afterwards",
            ));
        }
        Ok(DriveStart {
            repo_id: repo_id(opened, policy),
            base_sha: opened.resolved.base.clone(),
            head_sha: opened.resolved.head.clone(),
            goal,
            builtin_fix,
            agent: words,
            limits,
            attempt: 1,
            engine: BUILD.to_owned(),
        })
    }
}
