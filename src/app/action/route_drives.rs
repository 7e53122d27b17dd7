//! Commands about drives: they start the workflow that drives, go on with a drive that waits, and stop one.

use serde_json::{Value, json};

use super::drive_start::not_proposed;
use super::propose::drive_checks;
use super::route::Request;
use super::stored_drive::{ARTIFACT, StoredDrive};
use crate::app::exit::Failure;
use crate::config::DriveWord;
use crate::publish::WorkflowRun;
use qa_core::drive::attempts::{BRANCH_PREFIX, WaitingSession, is_about, run_name};

const NO_DRIVES: &str = "This repository has no workflow for drives: the input `drive-workflow` of this one names none. \
                         docs/drive.md has an example.\n";
const FROM_FORK: &str =
    "The pull request is from a fork, whose author chooses what an agent reads, so no drive begins.\n";
const OWN_RESULT: &str = "The pull request is the result of a drive, and no drive begins on one.\n";
const DRIVE_STARTED: &str = "A drive of this head is started. Its workflow run shows how far it is; if it ends in a pass, its result \
                             becomes a pull request for this branch, or a commit on it where the policy allows that.\n";
const DRIVE_IN_PROGRESS: &str = "A drive of this pull request is in progress. `/qa stop` cancels it.\n";
pub(super) const DRIVE_STOPPED: &str = "The drive of this pull request is cancelled.\n";
const BEGAN_SINCE: &str = "Nothing is started for this command: a drive of this head has begun since it was written. While that one \
                           is in progress, `/qa stop` cancels it.\n";
const NOTHING_WAITS: &str = "No drive of this head waits for a person, or it began to wait after this was written. `/qa fix` \
                             starts one.\n";
const NOT_THE_SESSION: &str = "The session that the check run of the drive names is not there any more, or is another. `/qa fix` \
                               starts another drive.\n";
const TOLD: &str = "The drive of this head goes on. Its workflow run shows how far it is.\n";
const ENDS: &str = "The drive of this head ends with what it brought so far, which its artifact has.\n";

impl Request<'_> {
    /// Starts the workflow that drives an agent, at the default branch, whose file it is.
    pub(super) fn drive(&self, goal: Option<&str>) -> Result<String, Failure> {
        let Some(workflow) = self.environment.inputs.drive_workflow.as_deref() else {
            return Ok(NO_DRIVES.to_owned());
        };
        if self.pull.is_from_fork() {
            return Ok(FROM_FORK.to_owned());
        }
        if self.pull.branch().starts_with(BRANCH_PREFIX) {
            return Ok(OWN_RESULT.to_owned());
        }
        if self.has_earlier_drive(workflow)? {
            return Ok(DRIVE_IN_PROGRESS.to_owned());
        }
        let inputs = json!({
            "pull-request": self.pull.number().to_string(),
            "head": self.head.as_str(),
            "goal": goal.unwrap_or_default(),
        });
        let answer = if self.start_drive(workflow, None, &inputs)? { DRIVE_STARTED } else { BEGAN_SINCE };
        Ok(answer.to_owned())
    }

    /// Returns the session of this head that waited for a person when the command was written, as the check run says that `propose` made
    /// of a verified one. A word is for what its giver could see.
    pub(super) fn waiting_drive(&self) -> Result<Option<WaitingSession>, Failure> {
        if self.environment.inputs.drive_workflow.is_none() {
            return Ok(None);
        }
        let head_checks = drive_checks(&self.environment.inputs, &self.head);
        let session = self.github.waiting_session(&head_checks, self.giver.since)?;
        Ok(session.and_then(|session| WaitingSession::parse(&session)))
    }

    /// Starts the workflow again, with the word of a person to the drive that waits.
    pub(super) fn tell_drive(&self, word: DriveWord, note: Option<&str>) -> Result<String, Failure> {
        let Some(workflow) = self.environment.inputs.drive_workflow.as_deref() else {
            return Ok(NO_DRIVES.to_owned());
        };
        if self.has_earlier_drive(workflow)? {
            return Ok(DRIVE_IN_PROGRESS.to_owned());
        }
        let Some(waiting) = self.waiting_drive()? else { return Ok(NOTHING_WAITS.to_owned()) };
        let stored =
            StoredDrive::fetch(self.environment, ARTIFACT, waiting.run, not_proposed, self.cancellation);
        self.cancellation.check()?;
        let Some(stored) = stored?.filter(|stored| stored.digest() == waiting.digest) else {
            return Ok(NOT_THE_SESSION.to_owned());
        };
        let (word, answer) = match word {
            DriveWord::Approve => ("approve", TOLD),
            DriveWord::Edit => ("edit", TOLD),
            DriveWord::Stop => ("stop", ENDS),
        };
        let inputs = json!({
            "pull-request": self.pull.number().to_string(),
            "head": self.head.as_str(),
            "goal": stored.session.start.goal.unwrap_or_default(),
            "session": waiting.to_string(),
            "word": word,
            "note": note.unwrap_or_default(),
            "person": self.giver.login,
        });
        let answer = if self.start_drive(workflow, Some(&waiting), &inputs)? { answer } else { BEGAN_SINCE };
        Ok(answer.to_owned())
    }

    /// Returns whether a drive of the pull request is in progress that began before the command.
    fn has_earlier_drive(&self, workflow: &str) -> Result<bool, Failure> {
        let (number, since) = (self.pull.number(), self.giver.since);
        let runs = self.github.dispatched_runs(workflow)?;
        let mut others = runs.iter().filter(|run| is_about(run.title(), number) && !run.began_since(since));
        Ok(others.any(|run| !run.is_completed()))
    }

    /// Starts the workflow, unless a run of its name has begun since the command: whoever started that one, it is not told to start
    /// twice. Returns whether it was started here.
    fn start_drive(
        &self,
        workflow: &str,
        session: Option<&WaitingSession>,
        inputs: &Value,
    ) -> Result<bool, Failure> {
        let name = run_name(self.pull.number(), &self.head, session);
        let since = self.giver.since;
        let branch = self.pull.default_branch();
        Ok(self.github.dispatch(workflow, branch, inputs, |run: &WorkflowRun| {
            run.title() == name && run.began_since(since)
        })?)
    }

    /// Cancels the drives of the pull request that began until the command. Returns their number.
    pub(super) fn stop_drives(&self) -> Result<usize, Failure> {
        let Some(workflow) = self.environment.inputs.drive_workflow.as_deref() else { return Ok(0) };
        let number = self.pull.number();
        let until = self.giver.since;
        Ok(self.github.cancel_dispatched(workflow, until, |run| is_about(run.title(), number))?)
    }
}
