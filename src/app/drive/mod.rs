//! `qa-skill drive`: gives an agent turns until the gate passes, and refuses what it may not do.
//!
//! The agent works in a room of the sandbox and never in the checkout. After each turn its tree becomes a commit that no ref names
//! and is judged in whole, as any head. Each step is stored before the next begins, so a drive that was killed goes on there.

mod agent;
mod args;
mod change;
mod model;
mod page;
mod plan;
mod report;
mod session;
mod turn;
mod wait;

pub(super) use args::{DriveArgs, EXAMPLES};

use std::sync::Arc;
use std::time::Instant;

use self::agent::Agent;
use self::args::Said;
pub(super) use self::change::{DrivenChange, Order, OrderedWord, drive_change};
use self::model::DriveModel;
use self::session::{TakenSession, show_status, take_session};
pub(super) use self::wait::{ContinueMode, HeadSource};
use self::wait::{Permission, stopped};
use super::check::check_opened;
use super::console;
use super::exit::{Exit, Failure};
use super::finished::Finished;
use super::inputs::{Opened, Request, artifact_root, open_in, open_run, read_policy};
use super::progress::TerminalProgress;
use super::verify::Source;
use super::verify_drive::{take_turn, verify_drive};
use crate::git::OpenRepository;
use crate::store::DriveDirectory;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{
    AgentChange, DispatchEnvelope, DriveEnd, DriveEndReason, DriveJudgement, DriveOutcome, DriveSession,
};
use qa_core::drive::builtin::is_model;
use qa_core::drive::judgement::{agent_change, guard_ids, judgement};
use qa_core::drive::{FoldedHistory, Step, conclusion, current_commit, judge_turn, next_step_after};
use qa_core::escape::shell_word;
use qa_core::phases::RunEvent;
use qa_core::policy::{Overrides, Policy};
use qa_run::ports::Cancellation;

/// Drives an agent, or goes on with a drive that was interrupted.
pub(super) fn drive(arguments: &DriveArgs, cancellation: &Arc<Cancellation>) -> Result<Exit, Failure> {
    if let Some(named) = &arguments.status {
        return show_status(arguments, named.as_ref());
    }
    cancellation.journal.take(RunEvent::Opened)?;
    let request = arguments.request();
    let opened = open_run(&request, &cancellation.journal)?;
    let registry = qa_lenses::registry();
    let policy =
        read_policy(&opened.objects, opened.resolved.sides(), &Overrides::default(), &registry)?.policy;
    carry_out(arguments, request, opened, &policy, None, cancellation)?.finish()
}

/// Drives an agent to the end of the session.
fn carry_out<'a>(
    arguments: &DriveArgs,
    request: Request,
    opened: Opened,
    policy: &Policy,
    head_source: Option<&'a dyn HeadSource>,
    cancellation: &'a Arc<Cancellation>,
) -> Result<Driven<'a>, Failure> {
    let said = arguments.said()?;
    let start = arguments.start(&opened, policy)?;
    let repository = opened.repository;
    let agent = match (start.agent.is_empty(), is_model(&start)) {
        (true, _) => Executor::SafeEdits,
        (false, true) => Executor::Model(DriveModel::for_edits(policy, &request.models, cancellation)?),
        (false, false) => Executor::Program(Agent::new(
            &start,
            &arguments.readable,
            policy,
            &repository.root,
            cancellation,
        )?),
    };
    let coordinator = match start.agent.is_empty() {
        true => None,
        false => DriveModel::for_plans(policy, &request.models, cancellation)?,
    };
    let TakenSession { directory, session } =
        take_session(&artifact_root(&request, &repository.root), start)?;
    let mut driven = Driven {
        request: Request {
            base: Some(session.start.base_sha.to_string()),
            artifact_root: Some(directory.path().to_owned()),
            ..request
        },
        directory,
        session,
        history: FoldedHistory::default(),
        agent,
        coordinator,
        mode: arguments.mode,
        by: arguments.by.clone(),
        head_source,
        cancellation,
    };
    driven.take_bundles(&repository)?;
    if let Some(said) = said {
        driven.hear(&repository, said)?;
    }
    driven.carry_on(repository, arguments.minutes)?;
    Ok(driven)
}

/// Executor of turns that apply no safe edits.
enum Executor<'a> {
    /// Safe edits are all that the drive has.
    SafeEdits,
    Program(Agent<'a>),
    Model(DriveModel),
}

/// A drive that goes on.
struct Driven<'a> {
    request: Request,
    directory: DriveDirectory,
    session: DriveSession,
    /// History of the session, as far as a step needed it.
    history: FoldedHistory,
    agent: Executor<'a>,
    /// Model that plans turns.
    coordinator: Option<DriveModel>,
    mode: ContinueMode,
    /// Login of the person who gave a word.
    by: Option<String>,
    head_source: Option<&'a dyn HeadSource>,
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

    fn next_step(&mut self) -> Option<Step> {
        next_step_after(&self.session, &mut self.history)
    }

    /// Takes the word of a person into the session. Fails where no turn waits for one.
    fn hear(&mut self, repository: &OpenRepository, said: Said) -> Result<(), Failure> {
        if !matches!(self.next_step(), Some(Step::Dispatch(_) | Step::Plan(_))) {
            let directory = shell_word(&self.directory.path().display().to_string());
            return Err(Failure::usage(
                format!("the drive of this head, {directory}, has no turn that waits"),
                "a head with other commits is another drive; `qa-skill drive --status` shows the newest one",
            ));
        }
        match said {
            Said::Word(word) => self.session.word = Some(word),
            Said::Stop => self.end(repository, stopped(self.by.as_deref()))?,
        }
        Ok(self.directory.save(&self.session)?)
    }

    /// Takes step after step until the drive ends, or waits for a person.
    fn carry_on(&mut self, mut repository: OpenRepository, minutes: u64) -> Result<(), Failure> {
        let started = Instant::now();
        let mut deadline = agent::Deadline::after_minutes(minutes);
        self.say(&report::begin(&self.session));
        self.say(&report::earlier(&self.session));
        while let Some(step) = self.next_step() {
            self.cancellation.check()?;
            match step {
                Step::Bootstrap => {
                    let head = self.session.start.head_sha.clone();
                    let (judged, returned) = self.judge(repository, &head)?;
                    repository = returned;
                    self.say(&report::bootstrap(&judged));
                    self.session.bootstrap = Some(judged);
                }
                Step::Dispatch(_) | Step::Plan(_) if deadline.has_passed() => {
                    let message = format!("the {minutes} minutes in which turns may begin have passed");
                    self.end(&repository, DriveEnd { reason: DriveEndReason::Time, message })?;
                }
                Step::Plan(question) => self.plan(&repository, &question)?,
                Step::Dispatch(envelope) if !self.can_afford(&repository, &envelope)? => {
                    let message =
                        "the money that the policy allows does not cover another question".to_owned();
                    self.end(&repository, DriveEnd { reason: DriveEndReason::Cost, message })?;
                }
                Step::Dispatch(envelope) => {
                    // A person may take any time, which is no time of turns.
                    self.cancellation.begin_run();
                    let asked = Instant::now();
                    let permission = self.permission(&repository, &envelope, started)?;
                    deadline.extend(asked.elapsed());
                    match permission {
                        Permission::Begin => self.take_turn(&repository, &envelope)?,
                        Permission::Word(word) => {
                            self.session.word = Some(word);
                            self.directory.save(&self.session)?;
                            self.take_turn_by_word(&repository)?;
                        }
                        Permission::Wait => return Ok(()),
                        Permission::End(end) => self.end(&repository, end)?,
                    }
                }
                Step::Judge(commit) => {
                    let (judged, returned) = self.judge(repository, &commit)?;
                    let (change, returned) = self.judge_agent(returned, &commit)?;
                    repository = returned;
                    judge_turn(&mut self.session, judged, change);
                    self.say(&report::outcome(&self.session));
                }
                Step::End(end) => self.end(&repository, end)?,
            }
            self.directory.save(&self.session)?;
        }
        Ok(())
    }

    /// Has a turn executed that a person let begin. Their text is part of the question about its plan, which is asked again then.
    fn take_turn_by_word(&mut self, repository: &OpenRepository) -> Result<(), Failure> {
        if let Some(Step::Plan(question)) = self.next_step() {
            self.plan(repository, &question)?;
            self.directory.save(&self.session)?;
        }
        match self.next_step() {
            Some(Step::Dispatch(envelope)) if self.can_afford(repository, &envelope)? => {
                self.take_turn(repository, &envelope)
            }
            // The next step says how the drive ends.
            _ => Ok(()),
        }
    }

    /// Has a turn executed that may begin.
    fn take_turn(&mut self, repository: &OpenRepository, envelope: &DispatchEnvelope) -> Result<(), Failure> {
        self.say(&report::dispatch(envelope, &self.session));
        self.dispatch(repository, envelope)?;
        let journal = &self.cancellation.journal;
        journal.take(RunEvent::ResultsReady)?;
        Ok(journal.take(RunEvent::Continued)?)
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

    /// Ends the drive. Its result is written before its end is stored: a drive that was killed in between does so again.
    fn end(&mut self, repository: &OpenRepository, end: DriveEnd) -> Result<(), Failure> {
        if end.reason == DriveEndReason::Passed {
            // The session may be one that was interrupted, and others may write to its directory.
            verify_drive(self.directory.path(), Source::Recording, self.cancellation)?;
        }
        let (head, result) = (&self.session.start.head_sha, current_commit(&self.session));
        if result != head {
            self.directory.write("result.patch", &repository.patch(head, result)?)?;
            self.directory.write("result.bundle", &repository.bundle(result, head)?)?;
        }
        self.session.end = Some(end);
        let page = page::render(&self.directory, &self.session)?;
        self.directory.write(page::PAGE, page.as_bytes())?;
        Ok(())
    }

    /// Says how the drive ended.
    fn finish(&self) -> Result<Exit, Failure> {
        let Some(end) = &self.session.end else {
            let text = report::waits(&self.session, self.directory.path());
            return console::write_stdout(text.as_bytes()).map(|()| Exit::CouldNotComplete);
        };
        console::write_stdout(report::end(&self.session, end, self.directory.path()).as_bytes())?;
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

/// Returns the name of the file with the diff of a turn, for readers.
fn diff_name(turn: u64) -> String {
    format!("turn-{turn:03}.diff")
}
