//! `qa-skill drive`: gives an agent turns until the gate passes, and refuses what it may not do.
//!
//! The agent works in a room of the sandbox and never in the checkout. After each turn its tree becomes a commit that no ref names
//! and is judged in whole, as any head. Each step is stored before the next begins, so a drive that was killed goes on there.

mod agent;
mod change;
mod report;
mod turn;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use self::agent::Agent;
pub(super) use self::change::{DrivenChange, Order, drive_change};
use super::check::check_opened;
use super::console;
use super::exit::{Exit, Failure};
use super::finished::Finished;
use super::inputs::{Opened, Request, artifact_root, open_in, open_run, read_policy};
use super::prepare::repo_id;
use super::progress::TerminalProgress;
use super::verify::Source;
use super::verify_drive::{conclusion, take_turn, verify_drive};
use crate::git::OpenRepository;
use crate::store::DriveDirectory;
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    AgentChange, DriveEnd, DriveEndReason, DriveJudgement, DriveOutcome, DriveSession, DriveStart,
};
use qa_core::drive::judgement::{agent_change, guard_ids, judgement};
use qa_core::drive::{self, Step, conclude_turn, current_commit, next_step, referee};
use qa_core::masking::sanitize;
use qa_core::phases::RunEvent;
use qa_core::policy::{Overrides, Policy};
use qa_run::keys::BUILD;
use qa_run::ports::Cancellation;

pub(super) const EXAMPLES: &str = "\
Examples:
  qa-skill drive --fix --agent ./agent.sh             let a script mend what blocks between the base and HEAD
  qa-skill drive --goal \"Add a --json flag\" --agent ./agent.sh
  qa-skill drive --fix --agent ./agent.sh --status    show how far that drive is
  qa-skill verify .qa-skill/drive/SESSION             derive every decision of a drive again

Exit codes: 0 the tree passes, 1 the drive ended without a pass, 2 usage error, 3 a person has to do something first";

#[derive(Args)]
pub(super) struct DriveArgs {
    /// Mend what blocks, until the change passes
    #[arg(long, required_unless_present = "goal", conflicts_with = "goal")]
    fix: bool,
    /// Reach this goal, until the agent says that it is done and the change passes
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// Program of the agent, with arguments that are separated by spaces. It runs in the sandbox, gets the envelope of its turn as
    /// standard input and in the file that QA_SKILL_ENVELOPE names, and changes the files of its working directory
    #[arg(long, value_name = "COMMAND")]
    agent: String,
    /// A file or directory that the agent may read and execute, such as its installation; repeatable
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// Maximum number of turns, at most that of the policy
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    max_turns: Option<u64>,
    /// Minutes in which turns may begin
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1440), default_value = "120")]
    minutes: u64,
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
    /// Show how far the drive is, and change nothing
    #[arg(long)]
    status: bool,
}

impl DriveArgs {
    fn request(&self) -> Request {
        Request {
            head: self.head.clone(),
            artifact_root: self.out.clone(),
            ..Request::of_base(&self.repo, self.base.as_deref())
        }
    }

    /// Returns the settings of the drive. The policy bounds the turns.
    fn start(&self, opened: &Opened, policy: &Policy, attempt: u64) -> Result<DriveStart, Failure> {
        let mut limits = policy.drive.clone();
        limits.max_turns = self.max_turns.map_or(limits.max_turns, |turns| turns.min(limits.max_turns));
        let goal = self.goal.as_ref().map(|goal| goal.trim().to_owned());
        if goal.as_ref().is_some_and(|goal| goal.is_empty() || goal.chars().count() > 8000) {
            return Err(Failure::usage(
                "--goal is empty or has more than 8,000 characters",
                "say in a few sentences what is to be reached",
            ));
        }
        Ok(DriveStart {
            repo_id: repo_id(opened, policy),
            base_sha: opened.resolved.base.clone(),
            head_sha: opened.resolved.head.clone(),
            goal,
            agent: agent::words(&self.agent)?,
            limits,
            attempt,
            engine: BUILD.to_owned(),
        })
    }
}

/// Drives an agent, or goes on with a drive that was interrupted.
pub(super) fn drive(arguments: &DriveArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    cancellation.journal.take(RunEvent::Opened)?;
    let request = arguments.request();
    let opened = open_run(&request, &cancellation.journal)?;
    let registry = qa_lenses::registry();
    let policy =
        read_policy(&opened.objects, opened.resolved.sides(), &Overrides::default(), &registry)?.policy;
    if arguments.status {
        let root = artifact_root(&request, &opened.repository.root);
        return show_status(arguments, &opened, &policy, &root);
    }
    carry_out(arguments, request, opened, &policy, cancellation)?.finish()
}

/// Drives an agent to the end of the session.
fn carry_out<'a>(
    arguments: &DriveArgs,
    request: Request,
    opened: Opened,
    policy: &Policy,
    cancellation: &'a Arc<Cancellation>,
) -> Result<Driven<'a>, Failure> {
    let root = artifact_root(&request, &opened.repository.root);
    let (directory, session) = take_session(arguments, &opened, policy, &root)?;
    let agent = Agent::new(&session.start, &arguments.readable, policy, cancellation)?;
    let mut driven = Driven {
        request: Request {
            base: Some(session.start.base_sha.to_string()),
            artifact_root: Some(directory.path().to_owned()),
            ..request
        },
        directory,
        session,
        agent,
        cancellation,
    };
    driven.take_bundles(&opened.repository)?;
    driven.carry_on(opened.repository, arguments.minutes)?;
    Ok(driven)
}

/// Returns the sessions of a drive by attempt, up to the first that has not ended.
fn last_session(
    arguments: &DriveArgs,
    opened: &Opened,
    policy: &Policy,
    root: &Path,
) -> Result<(DriveStart, Option<DriveSession>), Failure> {
    let mut last = None;
    for attempt in 1.. {
        let start = arguments.start(opened, policy, attempt)?;
        let path = DriveDirectory::of(root, &drive::session_id(&start));
        match DriveDirectory::open(&path).session()? {
            Some(session) if session.start == start && session.end.is_some() => last = Some(session),
            Some(session) if session.start == start => return Ok((start, Some(session))),
            Some(_) => return Err(not_the_session(&path)),
            None => return Ok((start, last)),
        }
    }
    Err(Failure::usage("there are too many attempts", "remove the oldest below drive/ of the artifact root"))
}

fn not_the_session(path: &Path) -> Failure {
    let message =
        format!("{} holds another session than its name says", sanitize(&path.display().to_string()));
    Failure::with_code(Code::ArtifactSchemaInvalid, message)
}

/// Takes the session that was interrupted, or begins one.
fn take_session(
    arguments: &DriveArgs,
    opened: &Opened,
    policy: &Policy,
    root: &Path,
) -> Result<(DriveDirectory, DriveSession), Failure> {
    let (start, _) = last_session(arguments, opened, policy, root)?;
    let id = drive::session_id(&start);
    let Some(directory) = DriveDirectory::take(root, &id)? else {
        return Err(Failure::usage(
            "another process drives this change",
            "wait for it; `--status` shows how far it is",
        ));
    };
    // Read under the lock: the process that had it may have gone on meanwhile.
    let session = match directory.session()? {
        Some(session) if session.start == start => session,
        Some(_) => return Err(not_the_session(directory.path())),
        None => drive::begin(start),
    };
    Ok((directory, session))
}

fn show_status(
    arguments: &DriveArgs,
    opened: &Opened,
    policy: &Policy,
    root: &Path,
) -> Result<Exit, Failure> {
    let (start, session) = last_session(arguments, opened, policy, root)?;
    let Some(session) = session else {
        let path = DriveDirectory::of(root, &drive::session_id(&start));
        let message = format!("there is no drive at {}", sanitize(&path.display().to_string()));
        return Err(Failure::with_code(Code::DriveNoSession, message));
    };
    console::write_stdout(report::status(&session).as_bytes()).map(|()| Exit::Pass)
}

/// A drive that goes on.
struct Driven<'a> {
    request: Request,
    directory: DriveDirectory,
    session: DriveSession,
    agent: Agent<'a>,
    cancellation: &'a Arc<Cancellation>,
}

impl Driven<'_> {
    /// Takes the commits of earlier turns into the store, if the drive was interrupted.
    fn take_bundles(&self, repository: &OpenRepository) -> Result<(), Failure> {
        for turn in &self.session.turns {
            let is_needed = !matches!(turn.outcome, Some(DriveOutcome::Refused | DriveOutcome::Unchanged));
            if is_needed && turn.commit.is_some() {
                take_turn(repository, &self.directory, &self.session, turn)?;
            }
        }
        Ok(())
    }

    /// Takes step after step until the drive ends.
    fn carry_on(&mut self, mut repository: OpenRepository, minutes: u64) -> Result<(), Failure> {
        let deadline = agent::Deadline::after_minutes(minutes);
        self.say(&report::begin(&self.session));
        self.say(&report::earlier(&self.session));
        while let Some(step) = next_step(&self.session) {
            self.cancellation.check()?;
            match step {
                Step::Bootstrap => {
                    let head = self.session.start.head_sha.clone();
                    let (judged, returned) = self.judge(repository, &head)?;
                    repository = returned;
                    self.say(&report::bootstrap(&judged));
                    self.session.bootstrap = Some(judged);
                }
                Step::Dispatch(_) if deadline.has_passed() => {
                    let message = format!("the {minutes} minutes in which turns may begin have passed");
                    self.session.end = Some(DriveEnd { reason: DriveEndReason::Time, message });
                }
                Step::Dispatch(envelope) => {
                    self.say(&report::dispatch(&envelope, &self.session));
                    self.cancellation.begin_run();
                    self.dispatch(&repository, &envelope)?;
                }
                Step::Judge(commit) => {
                    let (judged, returned) = self.judge(repository, &commit)?;
                    let (change, returned) = self.judge_agent(returned, &commit)?;
                    repository = returned;
                    self.conclude(judged, change);
                }
                Step::End(end) => {
                    self.write_result(&repository, &end)?;
                    self.session.end = Some(end);
                }
            }
            self.directory.save(&self.session)?;
        }
        Ok(())
    }

    /// Judges a commit in whole and stores its run in the drive's directory.
    fn judge(
        &self,
        repository: OpenRepository,
        commit: &CommitId,
    ) -> Result<(DriveJudgement, OpenRepository), Failure> {
        let request = Request { head: commit.to_string(), ..self.request.clone() };
        let finished = self.run(&request, repository)?;
        let (change_set, digest) = (&finished.inputs.change_set, &finished.proof().run_digest);
        let judged = judgement(&finished.result, change_set, digest, &run_name(&finished));
        Ok((judged, finished.opened.repository))
    }

    /// Judges what agents changed since the head that the drive began with, by the guards alone. The policy is that of this head,
    /// which a drive does not go on from where it is another than the base's.
    fn judge_agent(
        &self,
        repository: OpenRepository,
        commit: &CommitId,
    ) -> Result<(AgentChange, OpenRepository), Failure> {
        let request = Request {
            base: Some(self.session.start.head_sha.to_string()),
            head: commit.to_string(),
            overrides: Overrides { lens_ids: Some(guard_ids()), ..Overrides::default() },
            ..self.request.clone()
        };
        let finished = self.run(&request, repository)?;
        let (change_set, digest) = (&finished.inputs.change_set, &finished.proof().run_digest);
        let change = agent_change(&finished.result, change_set, digest, &run_name(&finished));
        Ok((change, finished.opened.repository))
    }

    /// Judges a request and stores its run.
    fn run(&self, request: &Request, repository: OpenRepository) -> Result<Finished, Failure> {
        self.cancellation.begin_run();
        let opened = open_in(request, repository)?;
        let progress = TerminalProgress::new(false);
        let finished = check_opened(request, opened, self.cancellation, &progress, &|_| Ok(()), None);
        progress.clear();
        self.cancellation.begin_run();
        finished
    }

    /// Gives the last turn its judgement and its outcome.
    fn conclude(&mut self, judged: DriveJudgement, change: AgentChange) {
        let (Some(bootstrap), Some(turn)) = (&self.session.bootstrap, self.session.turns.last_mut()) else {
            return;
        };
        turn.refusals.extend(referee::refuse_judgement(bootstrap, &judged, &change));
        (turn.judgement, turn.agent_change) = (Some(judged), Some(change));
        let outcome = referee::outcome(&turn.refusals, &turn.changed);
        conclude_turn(&mut self.session, outcome);
        self.say(&report::outcome(&self.session));
    }

    /// Writes what the drive brought, before its end is stored: a drive that was killed in between does so again.
    fn write_result(&self, repository: &OpenRepository, end: &DriveEnd) -> Result<(), Failure> {
        if end.reason == DriveEndReason::Passed {
            // The session may be one that was interrupted, and others may write to its directory.
            verify_drive(self.directory.path(), Source::Recording, self.cancellation)?;
        }
        let (head, result) = (&self.session.start.head_sha, current_commit(&self.session));
        if result != head {
            self.directory.write("result.patch", &repository.patch(head, result)?)?;
            self.directory.write("result.bundle", &repository.bundle(result, head)?)?;
        }
        Ok(())
    }

    /// Says how the drive ended.
    fn finish(&self) -> Result<Exit, Failure> {
        if let Some(end) = &self.session.end {
            console::write_stdout(report::end(&self.session, end, self.directory.path()).as_bytes())?;
        }
        Ok(conclusion(&self.session).into())
    }

    fn say(&self, text: &str) {
        console::write_stderr(text);
    }
}

/// Returns the name of a run's directory.
fn run_name(finished: &Finished) -> String {
    finished.proof().path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
