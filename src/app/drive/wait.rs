//! The pause before a turn: none, some seconds, or until a person lets it begin.

use std::io::{BufRead, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::{Driven, report};
use crate::app::console;
use crate::app::exit::Failure;
use crate::git::OpenRepository;
use qa_contracts::ids::CommitId;
use qa_contracts::v1::{DispatchEnvelope, DriveEnd, DriveEndReason, PersonWord};
use qa_core::phases::{ForbiddenMove, RunEvent};
use qa_core::secrets;
use qa_run::control::Journal;
use qa_run::http::pause_unless_cancelled;

/// Maximum number of characters of a text for the agent.
const MOST_CHARACTERS: usize = 4000;

/// Pause before each turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::app) enum ContinueMode {
    /// None.
    Immediate,
    /// Ten seconds.
    #[value(name = "10s")]
    TenSeconds,
    /// A minute.
    #[value(name = "60s")]
    SixtySeconds,
    /// Until a person lets the turn begin.
    Manual,
}

/// Answer to the question whether a turn may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Permission {
    /// It begins.
    Begin,
    /// A person gave a word, by which the turn is another.
    Word(PersonWord),
    /// The drive waits for a person, and the process ends.
    Wait,
    /// The drive ends.
    End(DriveEnd),
}

/// Returns the word of a person who gives a text for the agent.
pub(super) fn word_with(text: &str, by: Option<&str>) -> Result<PersonWord, Failure> {
    let text = secrets::masked(text.trim().to_owned());
    match text.is_empty() || text.chars().count() > MOST_CHARACTERS {
        true => Err(Failure::usage(
            "the text for the agent is empty or has more than 4,000 characters",
            "say in a few sentences what the agent has to know or to do otherwise",
        )),
        false => Ok(PersonWord { text: Some(text), by: by.map(str::to_owned) }),
    }
}

/// Returns the end of a drive that a person stops.
pub(super) fn stopped(by: Option<&str>) -> DriveEnd {
    let message = format!("{} stopped the drive", by.unwrap_or("a person"));
    DriveEnd { reason: DriveEndReason::Stopped, message }
}

/// Source of the head as it is now, for a drive whose repository does not have it. It is asked before each turn.
pub(in crate::app) trait HeadSource {
    /// Returns the head, or `None` if there is none any more.
    fn head_now(&self) -> Result<Option<CommitId>, Failure>;
}

impl Driven<'_> {
    /// Asks whether a turn may begin, and waits as long as the mode says.
    pub(super) fn permission(
        &self,
        repository: &OpenRepository,
        envelope: &DispatchEnvelope,
        started: Instant,
    ) -> Result<Permission, Failure> {
        let journal = &self.cancellation.journal;
        journal.take(RunEvent::PlanSubmitted)?;
        let seconds = match self.mode {
            ContinueMode::Immediate => 0,
            ContinueMode::TenSeconds => 10,
            ContinueMode::SixtySeconds => 60,
            ContinueMode::Manual if self.session.word.is_some() => 0,
            ContinueMode::Manual if is_terminal() => {
                console::write_stderr(&report::waiting(&self.session, envelope, started.elapsed()));
                let (mut input, mut output) = (std::io::stdin().lock(), std::io::stderr());
                let answer = ask(journal, &mut input, &mut output)?;
                self.cancellation.check()?;
                return self.unless_head_moved(repository, answer);
            }
            ContinueMode::Manual => {
                journal.take(RunEvent::Rejected)?;
                return Ok(Permission::Wait);
            }
        };
        if seconds > 0 {
            self.say(&format!("turn {} begins in {seconds} s; Ctrl-C interrupts the drive\n", envelope.turn));
            pause_unless_cancelled(Duration::from_secs(seconds), self.cancellation);
            self.cancellation.check()?;
        }
        journal.take(RunEvent::Approved)?;
        self.unless_head_moved(repository, Permission::Begin)
    }

    /// Returns a permission, or the end of the drive if its head is another now.
    pub(super) fn unless_head_moved(
        &self,
        repository: &OpenRepository,
        permission: Permission,
    ) -> Result<Permission, Failure> {
        let now = match self.head_source {
            Some(source) => source.head_now()?,
            None => repository.commit_named(&self.request.head)?,
        };
        if now.as_ref() == Some(&self.session.start.head_sha) {
            return Ok(permission);
        }
        let now = now.map_or("gone".to_owned(), |commit| format!("at {}", commit.short()));
        let message = format!("the head is {now}; the same command drives that one");
        Ok(Permission::End(DriveEnd { reason: DriveEndReason::HeadMoved, message }))
    }
}

fn is_terminal() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks a person about a turn until the answer is one. The end of the input is a pause.
fn ask(journal: &Journal, input: &mut dyn BufRead, output: &mut dyn Write) -> Result<Permission, Failure> {
    let mut is_rejected = false;
    loop {
        let question = match is_rejected {
            false => "approve, edit, reject, pause, stop [a/e/r/p/s]? ",
            true => "the turn is not taken: edit, resume, pause, stop [e/u/p/s]? ",
        };
        let answer = read(question, input, output);
        match (answer.as_deref(), is_rejected) {
            (Some("a" | "approve"), false) => return accept(journal, &[RunEvent::Approved], None),
            (Some("u" | "resume"), true) => {
                let way = [RunEvent::Resumed, RunEvent::PlanSubmitted, RunEvent::Approved];
                return accept(journal, &way, None);
            }
            (Some("e" | "edit"), _) => {
                let Some(text) = read("words for the agent: ", input, output) else { continue };
                let Ok(word) = word_with(&text, None) else { continue };
                if !is_rejected {
                    journal.take(RunEvent::Rejected)?;
                }
                return accept(journal, &[RunEvent::PlanSubmitted, RunEvent::Approved], word.text);
            }
            (Some("r" | "reject"), false) => {
                journal.take(RunEvent::Rejected)?;
                is_rejected = true;
            }
            (Some("p" | "pause") | None, _) => return leave(journal, is_rejected, Permission::Wait),
            (Some("s" | "stop"), _) => return leave(journal, is_rejected, Permission::End(stopped(None))),
            (Some(_), _) => {}
        }
    }
}

/// Takes the events of a turn that may begin.
fn accept(journal: &Journal, way: &[RunEvent], text: Option<String>) -> Result<Permission, Failure> {
    way.iter().try_for_each(|event| journal.take(*event))?;
    Ok(Permission::Word(PersonWord { text, by: None }))
}

/// Takes the event of a turn that does not begin, unless it was rejected before.
fn leave(journal: &Journal, is_rejected: bool, permission: Permission) -> Result<Permission, Failure> {
    let left: Result<(), ForbiddenMove> = match is_rejected {
        true => Ok(()),
        false => journal.take(RunEvent::Rejected),
    };
    left?;
    Ok(permission)
}

/// Asks for a line, and returns it trimmed; `None` at the end of the input.
fn read(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> Option<String> {
    output.write_all(question.as_bytes()).and_then(|()| output.flush()).ok()?;
    let mut line = String::new();
    (input.read_line(&mut line).ok()? > 0).then(|| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::v1::RunPhase;

    /// A journal in the phase in which a turn is planned.
    fn planned() -> Journal {
        let journal = Journal::default();
        for event in [RunEvent::Opened, RunEvent::GoalSubmitted, RunEvent::Ready, RunEvent::PlanSubmitted] {
            journal.take(event).unwrap();
        }
        journal
    }

    #[test]
    fn answers_of_a_person_follow_the_phases_of_a_run() {
        let word =
            |text: Option<&str>| Permission::Word(PersonWord { text: text.map(str::to_owned), by: None });
        let begins = RunPhase::AwaitingDiagnostics;
        for (typed, permission, phase) in [
            ("a\n", word(None), begins),
            ("what\n\napprove\n", word(None), begins),
            ("e\nuse the helper\n", word(Some("use the helper")), begins),
            ("e\n\ne\nagain\n", word(Some("again")), begins),
            ("r\na\nu\n", word(None), begins),
            ("reject\nedit\nsmaller\n", word(Some("smaller")), begins),
            ("p\n", Permission::Wait, RunPhase::PausedManual),
            ("r\np\n", Permission::Wait, RunPhase::PausedManual),
            ("", Permission::Wait, RunPhase::PausedManual),
            ("e\n", Permission::Wait, RunPhase::PausedManual),
            ("s\n", Permission::End(stopped(None)), RunPhase::PausedManual),
            ("r\ns\n", Permission::End(stopped(None)), RunPhase::PausedManual),
        ] {
            let (journal, mut shown) = (planned(), Vec::new());
            let answer = ask(&journal, &mut typed.as_bytes(), &mut shown).unwrap();
            assert_eq!((answer, journal.phase()), (permission, phase), "{typed:?}");
            assert!(shown.starts_with(b"approve, edit, reject, pause, stop [a/e/r/p/s]? "));
        }
    }

    #[test]
    fn secrets_and_endless_texts_reach_no_session() {
        let token = format!("gh{}{}", "p_", "9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK");
        assert!(!word_with(&token, None).unwrap().text.unwrap().contains("9Jx2kQ7vTzR4"));
        assert!(word_with(" ", None).is_err() && word_with(&"x".repeat(4001), None).is_err());
    }
}
