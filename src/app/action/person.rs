//! Words of a person to a drive that waits: read from the inputs, and compared with what a session records of them.

use std::sync::Arc;

use super::drive_start::not_proposed;
use super::stored_drive::{ARTIFACT, StoredDrive};
use crate::app::exit::{Exit, Failure};
use crate::config::{ActionEnvironment, DrivePause, DriveWord, Inputs};
use qa_contracts::codes::Code;
use qa_contracts::v1::{DriveSession, PersonWord};
use qa_core::drive::attempts::WaitingSession;
use qa_run::ports::Cancellation;

/// Maximum number of characters of a login.
const MOST_CHARACTERS: usize = 100;

/// A word with the session that it is for.
pub(super) struct Told {
    pub(super) session: WaitingSession,
    pub(super) word: DriveWord,
}

/// Returns the word that the inputs have; `None` where another drive begins.
pub(super) fn told(inputs: &Inputs) -> Result<Option<Told>, Failure> {
    let session = match &inputs.session {
        Some(text) => Some(
            WaitingSession::parse(text).ok_or_else(|| invalid("`session` is not of the form RUN@SHA256"))?,
        ),
        None => None,
    };
    if inputs.person.as_deref().is_some_and(|person| !is_login(person)) {
        return Err(invalid("`person` is no login"));
    }
    if inputs.note.is_some() != (inputs.word == Some(DriveWord::Edit)) {
        return Err(invalid("`note` and the word `edit` need each other"));
    }
    match (session, inputs.word) {
        (None, None) => Ok(None),
        (Some(_), Some(_)) if inputs.pause != DrivePause::Manual => {
            Err(invalid("`session` is set, and without `continue: manual` no drive waits"))
        }
        (Some(session), Some(word)) => Ok(Some(Told { session, word })),
        (Some(_), None) | (None, Some(_)) => Err(invalid("`session` and `word` need each other")),
    }
}

fn invalid(problem: &str) -> Failure {
    let failure = Failure::with_code(Code::InputInvalid, format!("the inputs say no word: {problem}"));
    let hint =
        "let `/qa approve`, `/qa edit` or `/qa stop` start the workflow, with the inputs of the example";
    Failure { exit: Exit::Usage, hint: hint.to_owned(), ..failure }
}

fn is_login(text: &str) -> bool {
    let has_its_characters = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_[]".contains(&byte));
    has_its_characters && text.len() <= MOST_CHARACTERS
}

/// Returns the word as the session has to record it with the turn that it lets begin; `None` for one that lets none begin.
fn recorded(inputs: &Inputs, word: DriveWord) -> Option<PersonWord> {
    let by = inputs.person.clone();
    match word {
        DriveWord::Approve => Some(PersonWord { text: None, by }),
        DriveWord::Edit => Some(PersonWord { text: inputs.note.clone(), by }),
        DriveWord::Stop => None,
    }
}

/// Fails unless each turn of a session began as the inputs let it: of a drive with `continue: manual`, one turn for each word, after
/// those of the session that waited for it.
pub(super) fn check_words(
    environment: &ActionEnvironment,
    session: &DriveSession,
    cancellation: &Arc<Cancellation>,
) -> Result<(), Failure> {
    let inputs = &environment.inputs;
    let Some(told) = told(inputs)? else {
        return match (inputs.pause, session.turns.as_slice()) {
            (DrivePause::Manual, [_, ..]) => {
                Err(not_proposed("its first turn began without a word of a person"))
            }
            (_, turns) if turns.iter().any(|turn| turn.person.is_some()) => {
                Err(not_proposed("it records a word of a person, and nobody gave one"))
            }
            (_, _) => Ok(()),
        };
    };
    let name = inputs.artifact_name.as_deref().unwrap_or(ARTIFACT);
    let earlier =
        StoredDrive::fetch_existing(environment, name, told.session.run, not_proposed, cancellation)?;
    if earlier.digest() != told.session.digest {
        return Err(not_proposed("the session that waited is not the one that the input `session` names"));
    }
    let earlier = earlier.session;
    let added = session.turns.strip_prefix(earlier.turns.as_slice());
    let (true, Some(added)) = (session.bootstrap == earlier.bootstrap, added) else {
        return Err(not_proposed("it does not go on from the session that waited"));
    };
    match (added, recorded(inputs, told.word)) {
        // Else the same session would wait again, and no run of it would count.
        ([], _) if session.end.is_some() => Ok(()),
        ([], _) => Err(not_proposed(
            "it neither took the turn that the word of this run's inputs let begin, nor ended",
        )),
        ([turn], Some(word)) if turn.person.as_ref() == Some(&word) => Ok(()),
        (_, _) => Err(not_proposed("its last turns began without the word of this run's inputs")),
    }
}
