//! Commands in comments on pull requests: the grammar of a first line, and who may give which (S001-43…47).
//!
//! Nothing here reads more of a comment than its first line, and no answer repeats it: a subject is an id, and a reason is
//! only checked for being there.

use serde_json::Value;

use crate::event::EventError;

/// Longest first line that is parsed, in bytes. A longer one gets help.
const MAX_LINE: usize = 400;
/// Label that starts a drive, as `/qa fix` does.
pub const DRIVE_LABEL: &str = "qa:fix";
/// First word of every command.
const PREFIX: &str = "/qa";

/// A request of a person to the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    Ask(Query),
    Act(Action),
}

/// A question, which changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Phase and verdict of the run.
    Status,
    /// Plans of the run, and the next step.
    Plan,
    /// A rule, a lens, or a finding by the first digits of its id.
    Explain(String),
    /// Fixes as a block for a coding agent.
    Report,
    /// A waiver for a finding, to commit.
    Waive {
        finding: String,
        reason: String,
    },
    Help,
}

/// A change to the runs of the head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Runs all jobs again.
    Rerun,
    /// Runs all jobs again: every run is in full and cross-checked.
    Crosscheck,
    /// Cancels the run in progress.
    Stop,
    /// Like [`Action::Resume`], if the run still has this execution key.
    Approve(String),
    /// Runs the failed jobs of a paused run again.
    Resume,
    /// Starts a drive: towards a goal, or until the change passes.
    Drive(Option<String>),
    /// Lets the turn of a drive begin that waits for a person, with a text for the agent or without one.
    Turn(Option<String>),
}

/// Right that a command takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// The pull request's author, or the role triage.
    Read,
    /// The role write.
    Act,
}

/// Role of a person in a repository, in the levels that commands distinguish.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Reads, or has no access.
    Reader,
    Triage,
    /// Writes, maintains or administers.
    Write,
}

/// Reason why a comment is no command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    NotCreated,
    NotAPullRequest,
    Bot,
    Edited,
    NoCommand,
    Deleted,
    NotAllowed,
    Answered,
    OtherLabel,
    LabelGone,
}

impl Ignored {
    /// Returns the reason as a sentence without its full stop.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotCreated => "only a new comment is a command",
            Self::NotAPullRequest => "the comment is not on a pull request",
            Self::Bot => "a bot gives no commands",
            Self::Edited => "the comment was edited",
            Self::NoCommand => "the first line of the comment does not begin with `/qa`",
            Self::Deleted => "the comment was deleted",
            Self::NotAllowed => {
                "commands are for the author of the pull request and for people with the role triage"
            }
            Self::Answered => "the comment has its answer",
            Self::OtherLabel => "of labels, only `qa:fix` is a command, where it is set",
            Self::LabelGone => "the pull request does not have the label any more",
        }
    }
}

/// A comment, from the event or the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comment<'a> {
    pub body: &'a str,
    pub is_on_pull_request: bool,
    pub is_by_bot: bool,
    pub is_edited: bool,
}

/// The event `issue_comment`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentEvent {
    pub number: u64,
    pub comment: u64,
}

/// Returns the comment of an event, or the reason why it is no command. The payload only saves requests about comments that
/// are no commands; the API decides.
pub fn comment_event(payload: &Value) -> Result<Result<CommentEvent, Ignored>, EventError> {
    let number = payload.pointer("/issue/number").and_then(Value::as_u64);
    let id = payload.pointer("/comment/id").and_then(Value::as_u64);
    let body = payload.pointer("/comment/body").and_then(Value::as_str);
    let (Some(number), Some(id), Some(body)) = (number, id, body) else {
        return Err(EventError::Malformed("it has no comment".to_owned()));
    };
    if payload.pointer("/action").and_then(Value::as_str) != Some("created") {
        return Ok(Err(Ignored::NotCreated));
    }
    let comment = Comment {
        body,
        is_on_pull_request: payload.pointer("/issue/pull_request").is_some_and(Value::is_object),
        is_by_bot: payload.pointer("/comment/user/type").and_then(Value::as_str) == Some("Bot"),
        is_edited: false,
    };
    Ok(route(comment).map(|_| CommentEvent { number, comment: id }))
}

/// The event `pull_request_target` about the label of drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelEvent {
    pub number: u64,
    /// Login of the person who set the label.
    pub login: String,
    /// Account of that login.
    pub account: u64,
    /// RFC 3339 in UTC.
    pub since: String,
}

/// Returns the label of an event, or the reason why it is no command.
pub fn label_event(payload: &Value) -> Result<Result<LabelEvent, Ignored>, EventError> {
    if text(payload, "/action") != Some("labeled") || text(payload, "/label/name") != Some(DRIVE_LABEL) {
        return Ok(Err(Ignored::OtherLabel));
    }
    if text(payload, "/sender/type") != Some("User") {
        return Ok(Err(Ignored::Bot));
    }
    let numbers = ["/pull_request/number", "/sender/id"];
    let numbers = numbers.map(|pointer| payload.pointer(pointer).and_then(Value::as_u64));
    let texts = (text(payload, "/sender/login"), text(payload, "/pull_request/updated_at"));
    match (numbers, texts) {
        ([Some(number), Some(account)], (Some(login), Some(since))) => {
            let (login, since) = (login.to_owned(), since.to_owned());
            Ok(Ok(LabelEvent { number, login, account, since }))
        }
        _ => Err(EventError::Malformed("it does not say who set which label".to_owned())),
    }
}

fn text<'v>(payload: &'v Value, pointer: &str) -> Option<&'v str> {
    payload.pointer(pointer).and_then(Value::as_str)
}

/// Returns the command of a comment. Text after `/qa` that is no command is a request for help.
pub fn route(comment: Comment<'_>) -> Result<Command, Ignored> {
    if !comment.is_on_pull_request {
        return Err(Ignored::NotAPullRequest);
    }
    if comment.is_by_bot {
        return Err(Ignored::Bot);
    }
    if comment.is_edited {
        return Err(Ignored::Edited);
    }
    parse(comment.body).ok_or(Ignored::NoCommand)
}

/// Parses the first line of a text; `None` if it does not begin with `/qa`. A quote, a code block and an indented line begin
/// with something else.
pub fn parse(text: &str) -> Option<Command> {
    let line = text.split(['\n', '\r']).next().unwrap_or_default();
    let prefix = line.get(..PREFIX.len())?;
    let rest = &line[PREFIX.len()..];
    let is_word = prefix.eq_ignore_ascii_case(PREFIX) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    if !is_word {
        return None;
    }
    if line.len() > MAX_LINE {
        return Some(Command::Ask(Query::Help));
    }
    Some(parse_words(rest).unwrap_or(Command::Ask(Query::Help)))
}

fn parse_words(text: &str) -> Option<Command> {
    let lower = text.to_ascii_lowercase();
    let words: Vec<&str> = lower.split_ascii_whitespace().collect();
    let query = match &*words {
        ["status"] | ["where", "am", "i"] => Query::Status,
        ["plan" | "next"] => Query::Plan,
        ["report"] => Query::Report,
        ["explain", subject] if is_subject(subject) => Query::Explain((*subject).to_owned()),
        ["waive", finding, _, ..] if is_hexadecimal(finding, 6) => {
            // The reason keeps its case.
            let reason: Vec<&str> = text.split_ascii_whitespace().skip(2).collect();
            Query::Waive { finding: (*finding).to_owned(), reason: reason.join(" ") }
        }
        ["drive", _, ..] => {
            // The goal keeps its case and its spaces.
            let goal = text.trim_ascii_start().get("drive".len()..).unwrap_or_default().trim_ascii();
            return Some(Command::Act(Action::Drive(Some(goal.to_owned()))));
        }
        ["edit", _, ..] => {
            let text = text.trim_ascii_start().get("edit".len()..).unwrap_or_default().trim_ascii();
            return Some(Command::Act(Action::Turn(Some(text.to_owned()))));
        }
        _ => return parse_action(&words).map(Command::Act),
    };
    Some(Command::Ask(query))
}

fn parse_action(words: &[&str]) -> Option<Action> {
    match words {
        ["rerun"] => Some(Action::Rerun),
        ["crosscheck"] => Some(Action::Crosscheck),
        ["stop" | "abort"] => Some(Action::Stop),
        ["resume"] => Some(Action::Resume),
        ["fix"] => Some(Action::Drive(None)),
        ["approve"] => Some(Action::Turn(None)),
        ["approve", key] if is_hexadecimal(key, 8) => Some(Action::Approve((*key).to_owned())),
        _ => None,
    }
}

/// Returns whether a word may be the id of a rule, a lens or a finding.
fn is_subject(word: &str) -> bool {
    word.len() <= 80 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-/".contains(&byte))
}

/// Returns whether a word may be the first digits of an id or a key, at least so many.
fn is_hexadecimal(word: &str, least: usize) -> bool {
    (least..=64).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Command {
    pub fn access(&self) -> Access {
        match self {
            // A waiver is an excuse in the name of the one who asks for it.
            Self::Ask(Query::Waive { .. }) | Self::Act(_) => Access::Act,
            Self::Ask(_) => Access::Read,
        }
    }
}

impl Role {
    /// Returns the role that the API's answer about a person gives. `permission` is the base of a custom role, whose own name
    /// is ignored; only the predefined role `triage` tells triage from read.
    pub fn from_permission(permission: &str, role_name: &str) -> Self {
        match (permission, role_name) {
            ("admin" | "write", _) => Self::Write,
            ("read", "triage") => Self::Triage,
            _ => Self::Reader,
        }
    }

    pub fn may(self, access: Access, is_author: bool) -> bool {
        match access {
            Access::Read => is_author || self >= Self::Triage,
            Access::Act => self >= Self::Write,
        }
    }
}

#[cfg(test)]
#[path = "commands_tests.rs"]
mod tests;
