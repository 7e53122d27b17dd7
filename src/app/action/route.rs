//! The command `route`: answers a comment on a pull request.
//!
//! Every step begins with the state on GitHub, so that a job that is killed and run again does nothing twice: an answered
//! comment is done, a run that began after the comment is its effect, and only what began before it is stopped.

use std::sync::Arc;
use std::time::Duration;

use super::publication::{COMMENT_AUTHOR, head_checks};
use super::route_drives::DRIVE_STOPPED;
use super::stored_runs::{Stored, StoredRuns};
use super::surfaces::{Outputs, Runner, annotate};
use crate::app::answers::{self, Proposer};
use crate::app::client::client;
use crate::app::exit::{Exit, Failure};
use crate::config::{ActionEnvironment, DriveWord, now};
use crate::publish::{
    GitHub, Ownership, PublishError, PullRequest, Restarted, StickyComment, Target, Trigger, WorkflowRun,
};
use qa_contracts::codes::Code;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::RunPhase;
use qa_core::commands::{
    Access, Action, Command, CommentEvent, DRIVE_LABEL, Ignored, LabelEvent, Query, comment_event,
    label_event, route as route_comment,
};
use qa_core::event::EventError;
use qa_core::phases::{RunEvent, next};
use qa_run::ports::Cancellation;

/// Time limit of all requests together.
const BUDGET: Duration = Duration::from_secs(300);

/// First line of the answer to the label of drives, which a pull request has once.
const LABEL_MARKER: &str = "<!-- qa-skill label qa:fix -->";

const ALL_JOBS: &str = "rerun";
const FAILED_JOBS: &str = "rerun-failed-jobs";

const NEEDS_WRITE: &str = "This command needs the role write.\n";
const CLOSED: &str = "The pull request is closed, so this command does nothing.\n";
const NO_ARTIFACT: &str =
    "This head has no run with an artifact yet. `/qa rerun` judges it again; a push starts a new run.\n";
const STARTED: &str =
    "This head is judged again, in full and with its cross-check. The check run has the result.\n";
const RESUMED: &str = "The run is resumed: its failed jobs run again. That grants nothing: what the run waited for has \
                       to be there by now, and what it may do is in the policy of the base.\n";
const IN_PROGRESS: &str = "A run of this head is already in progress. `/qa stop` cancels it.\n";
const NO_RUN: &str = "The workflow has no run of this head. A push starts one.\n";
const NOTHING_TO_STOP: &str = "No run of this head that began before the comment is in progress.\n";
const STOPPED: &str =
    "The run of this head is cancelled, and its check run with it. `/qa rerun` judges this head again.\n";
const NOT_PAUSED: &str =
    "The run of this head is not paused, so there is nothing to resume. `/qa status` shows it.\n";
const VOID: &str = "No run of this head has this execution key: a push or another base makes another one. \
                    `/qa status` shows the key in force.\n";
const EARLIER: &str = "\nThis is an earlier run of this head: the newest one has no artifact.\n";
const FOREIGN: &str =
    "\nThe run is that of a fork, whose author may have changed the workflow that stored it.\n";

/// Answers the comment of the event, or logs why it is no command.
pub(crate) fn route(
    environment: &ActionEnvironment,
    runner: &Runner,
    cancellation: &Arc<Cancellation>,
) -> Result<Exit, Failure> {
    let context = &environment.context;
    let answered = match context.event_name.as_str() {
        "issue_comment" => match comment_event(&super::read_event(&context.event_path)?)? {
            Ok(event) => answer_comment(environment, &event, cancellation)?,
            Err(ignored) => Err(ignored),
        },
        // `pull_request` runs the workflow as the pull request has it, with whatever its author made of it.
        "pull_request_target" => match label_event(&super::read_event(&context.event_path)?)? {
            Ok(event) => answer_label(environment, &event, cancellation)?,
            Err(ignored) => Err(ignored),
        },
        _ => {
            let reason =
                "commands are comments on pull requests, and the label `qa:fix` with pull_request_target";
            return Err(EventError::NotForThis { name: context.event_name.clone(), reason }.into());
        }
    };
    if let Err(ignored) = answered {
        annotate("notice", "qa-skill", &format!("nothing to do: {}", ignored.as_str()));
    }
    runner.write_outputs(&Outputs::default().set("verdict", "none"))?;
    Ok(Exit::Pass)
}

fn answer_comment(
    environment: &ActionEnvironment,
    event: &CommentEvent,
    cancellation: &Arc<Cancellation>,
) -> Result<Result<(), Ignored>, Failure> {
    let github = github(environment, BUDGET, cancellation)?;
    let Some(comment) = github.comment(event.comment)? else { return Ok(Err(Ignored::Deleted)) };
    if !comment.is_on(event.number) {
        return Ok(Err(Ignored::NotAPullRequest));
    }
    let command = match route_comment(comment.facts()) {
        Ok(command) => command,
        Err(ignored) => return Ok(Err(ignored)),
    };
    let pull = github.pull_request(event.number)?;
    let (role, is_author) = (github.role_of(&comment)?, comment.is_by_author_of(&pull));
    // Strangers get no answer, so that they cannot make the bot write.
    if !role.may(Access::Read, is_author) {
        return Ok(Err(Ignored::NotAllowed));
    }
    let marker = format!("<!-- qa-skill answer {} -->", comment.id);
    let author_login = environment.inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR);
    let ownership = Ownership { marker: &marker, author_login };
    if github.has_comment(event.number, ownership)? {
        return Ok(Err(Ignored::Answered));
    }
    github.acknowledge(&comment)?;
    let body = if !role.may(command.access(), is_author) {
        NEEDS_WRITE.to_owned()
    } else {
        let giver = Giver { login: comment.login(), since: &comment.created_at, link: &comment.html_url };
        Request::new(environment, &github, giver, &pull, cancellation)?.answer(&command)?
    };
    github.sticky_comment(&StickyComment { number: event.number, ownership, body: &body })?;
    Ok(Ok(()))
}

/// Starts a drive for the label of one, and takes the label away, so that setting it again starts another. A job that is run again
/// finds no label, or the run that it started.
fn answer_label(
    environment: &ActionEnvironment,
    event: &LabelEvent,
    cancellation: &Arc<Cancellation>,
) -> Result<Result<(), Ignored>, Failure> {
    let github = github(environment, BUDGET, cancellation)?;
    let pull = github.pull_request(event.number)?;
    if !pull.has_label(DRIVE_LABEL) {
        return Ok(Err(Ignored::LabelGone));
    }
    // Setting labels takes the role triage only.
    let role = github.role_of_account(&event.login, event.account)?;
    let body = if !role.may(Access::Act, false) {
        NEEDS_WRITE.to_owned()
    } else {
        let giver = Giver { login: &event.login, since: &event.since, link: "" };
        let request = Request::new(environment, &github, giver, &pull, cancellation)?;
        request.answer(&Command::Act(Action::Drive(None)))?
    };
    let author_login = environment.inputs.comment_author.as_deref().unwrap_or(COMMENT_AUTHOR);
    let ownership = Ownership { marker: LABEL_MARKER, author_login };
    github.sticky_comment(&StickyComment { number: event.number, ownership, body: &body })?;
    github.remove_label(event.number, DRIVE_LABEL)?;
    Ok(Ok(()))
}

/// Returns the API of the repository that the step runs in.
pub(super) fn github(
    environment: &ActionEnvironment,
    budget: Duration,
    cancellation: &Arc<Cancellation>,
) -> Result<GitHub, Failure> {
    let context = &environment.context;
    let Some(token) = environment.inputs.token.clone() else {
        return Err(PublishError::Settings("the input `token` is not set".to_owned()).into());
    };
    let target = Target {
        api_url: &context.api_url,
        repository: &context.repository,
        token,
        seed: environment.artifacts.seed(),
    };
    Ok(GitHub::new(Arc::new(client(budget, cancellation)?), target)?)
}

/// Person who gives a command, with the time and the page of it.
pub(super) struct Giver<'a> {
    pub(super) login: &'a str,
    /// RFC 3339 in UTC, as GitHub has it.
    pub(super) since: &'a str,
    pub(super) link: &'a str,
}

/// A command that may be carried out.
pub(super) struct Request<'a> {
    pub(super) environment: &'a ActionEnvironment,
    pub(super) github: &'a GitHub,
    pub(super) giver: Giver<'a>,
    pub(super) pull: &'a PullRequest,
    pub(super) head: CommitId,
    workflow: &'a str,
    pub(super) cancellation: &'a Arc<Cancellation>,
}

impl<'a> Request<'a> {
    fn new(
        environment: &'a ActionEnvironment,
        github: &'a GitHub,
        giver: Giver<'a>,
        pull: &'a PullRequest,
        cancellation: &'a Arc<Cancellation>,
    ) -> Result<Self, Failure> {
        let Some(workflow) = environment.inputs.workflow.as_deref() else {
            let message =
                "route needs the input `workflow`: the file name of the workflow that judges pull requests";
            return Err(Failure { exit: Exit::Usage, ..Failure::with_code(Code::InputInvalid, message) });
        };
        let head = pull.head().ok_or_else(|| {
            Failure::with_code(Code::PublishFailed, "failed to read the pull request: its head is no commit")
        })?;
        Ok(Self { environment, github, giver, pull, head, workflow, cancellation })
    }

    fn answer(&self, command: &Command) -> Result<String, Failure> {
        match command {
            Command::Ask(query) => match answers::answer_without_run(query) {
                Some(answer) => Ok(answer),
                None => self.answer_query(query),
            },
            Command::Act(_) if !self.pull.is_open() => Ok(CLOSED.to_owned()),
            Command::Act(Action::Rerun | Action::Crosscheck) => self.restart(ALL_JOBS, STARTED),
            Command::Act(Action::Stop) => self.stop(),
            Command::Act(Action::Resume) => match self.waiting_drive()? {
                Some(_) => self.tell_drive(DriveWord::Approve, None),
                None => self.resume(None),
            },
            Command::Act(Action::Approve(key)) => self.resume(Some(key)),
            Command::Act(Action::Drive(goal)) => self.drive(goal.as_deref()),
            Command::Act(Action::Turn(None)) => self.tell_drive(DriveWord::Approve, None),
            Command::Act(Action::Turn(Some(text))) => self.tell_drive(DriveWord::Edit, Some(text)),
        }
    }

    fn answer_query(&self, query: &Query) -> Result<String, Failure> {
        let runs = self.runs()?;
        let (stored, of) = self.stored(&runs)?;
        let Stored::Judged(stored) = &stored else { return Ok(without_run(&stored)) };
        // A link stands for the reason, so that no text of the comment is repeated.
        let (owner, link) = (format!("@{}", self.giver.login), self.giver.link);
        let proposer = Proposer { owner: &owner, reason: Some(link), now: now() };
        let mut text = answers::answer(query, stored.run.judged(), &proposer);
        let newest = runs.first();
        if matches!(query, Query::Status | Query::Plan) && newest.is_some_and(|run| !run.is_completed()) {
            text.push_str("\nA run of this head is in progress.\n");
        }
        if of != newest {
            text.push_str(EARLIER);
        }
        if of.is_some_and(WorkflowRun::is_foreign) {
            text.push_str(FOREIGN);
        }
        Ok(text)
    }

    fn restart(&self, jobs: &'static str, started: &str) -> Result<String, Failure> {
        let since = self.giver.since;
        Ok(match self.github.restart(self.workflow, &self.head, since, jobs)? {
            Restarted::Started => started.to_owned(),
            Restarted::InProgress => IN_PROGRESS.to_owned(),
            Restarted::NoRun => NO_RUN.to_owned(),
        })
    }

    /// Continues a paused run. It grants nothing: what the run waits for has to be there, by the base's policy.
    fn resume(&self, key: Option<&str>) -> Result<String, Failure> {
        let runs = self.runs()?;
        let Some(newest) = runs.first() else { return Ok(NO_RUN.to_owned()) };
        if newest.began_since(self.giver.since) {
            return Ok(RESUMED.to_owned());
        }
        if !newest.is_completed() {
            return Ok(IN_PROGRESS.to_owned());
        }
        let (stored, _) = self.stored(std::slice::from_ref(newest))?;
        let phase = match (&stored, key) {
            (Stored::Judged(stored), Some(key))
                if !stored.run.judged().result.execution_key.as_str().starts_with(key) =>
            {
                return Ok(VOID.to_owned());
            }
            (Stored::Judged(stored), _) => stored.run.judged().phase,
            (Stored::Refused(_) | Stored::Missing, Some(_)) => return Ok(without_run(&stored)),
            (Stored::Refused(_) | Stored::Missing, None) if newest.is_success() => RunPhase::Idle,
            // A run that ended before it stored anything.
            (Stored::Refused(_) | Stored::Missing, None) => RunPhase::PausedManual,
        };
        match next(phase, RunEvent::Resumed) {
            Ok(_) => self.restart(FAILED_JOBS, RESUMED),
            Err(_) => Ok(NOT_PAUSED.to_owned()),
        }
    }

    fn stop(&self) -> Result<String, Failure> {
        let until = self.giver.since;
        let drives = self.stop_drives()?;
        let runs = self.github.cancel_runs(self.workflow, &self.head, until)?;
        let own = head_checks(&self.environment.inputs, None, &self.head);
        let checks = self.github.cancel_unfinished(&own, until)?;
        Ok(match (runs + checks, drives) {
            (0, 0) if self.waiting_drive()?.is_some() => return self.tell_drive(DriveWord::Stop, None),
            (0, 0) => NOTHING_TO_STOP.to_owned(),
            (0, _) => DRIVE_STOPPED.to_owned(),
            (_, 0) => STOPPED.to_owned(),
            _ => format!("{STOPPED}{DRIVE_STOPPED}"),
        })
    }

    fn runs(&self) -> Result<Vec<WorkflowRun>, Failure> {
        Ok(self.github.runs_of_head(self.workflow, &self.head, Trigger::PullRequest)?)
    }

    /// Returns the newest stored run of this head among workflow runs, and the workflow run that stored it.
    fn stored<'r>(&self, runs: &'r [WorkflowRun]) -> Result<(Stored, Option<&'r WorkflowRun>), Failure> {
        let http = client(BUDGET, self.cancellation)?;
        StoredRuns::new(self.environment, &http)?.newest(&self.head, runs, self.cancellation)
    }
}

fn without_run(stored: &Stored) -> String {
    match stored {
        Stored::Refused(code) => {
            format!("The stored run of this head cannot be verified: `{code}`. {}.\n", code.hint())
        }
        Stored::Missing | Stored::Judged(_) => NO_ARTIFACT.to_owned(),
    }
}
