//! Texts of a drive: what happens, how far it is, and how it ended. Texts of the repository and of the agent are escaped.

use std::path::Path;

use qa_contracts::v1::{
    Conclusion, DispatchEnvelope, DispatchOutcome, DriveEnd, DriveEndReason, DriveJudgement, DriveOutcome,
    DriveSession, DriveTurn,
};
use qa_core::drive::{current, current_commit, session_id};
use qa_core::escape::{visible, without_runner_commands};
use qa_core::masking::sanitize_cut;
use qa_formats::counted;

/// Maximum number of paths and of refusals that a turn shows.
const MOST_SHOWN: usize = 5;
/// Maximum number of characters of a text of the agent.
const MOST_CHARACTERS: usize = 300;

/// Returns the first lines of a drive.
pub(super) fn begin(session: &DriveSession) -> String {
    let start = &session.start;
    let goal = match &start.goal {
        Some(goal) => safe(goal),
        None => "the change passes".to_owned(),
    };
    format!(
        "drive {}  {goal}\n  base {}, head {}, agent {}, at most {}\n",
        session_id(start).short(),
        start.base_sha.short(),
        start.head_sha.short(),
        safe(&start.agent.join(" ")),
        counted(usize::try_from(start.limits.max_turns).unwrap_or(usize::MAX), "turn"),
    )
}

/// Returns the line about turns of a drive that was interrupted.
pub(super) fn earlier(session: &DriveSession) -> String {
    match session.turns.len() {
        0 => String::new(),
        turns => format!("  goes on after {}\n", counted(turns, "turn")),
    }
}

pub(super) fn bootstrap(judged: &DriveJudgement) -> String {
    format!("head: {}\n", verdict(judged))
}

fn verdict(judged: &DriveJudgement) -> String {
    match judged.conclusion {
        Conclusion::Pass => "passes".to_owned(),
        Conclusion::Fail if judged.tasks.len() == 1 => "1 finding blocks".to_owned(),
        Conclusion::Fail => format!("{} block", counted(judged.tasks.len(), "finding")),
        Conclusion::CouldNotComplete => "no verdict".to_owned(),
    }
}

pub(super) fn dispatch(envelope: &DispatchEnvelope, session: &DriveSession) -> String {
    let tasks = counted(envelope.tasks.len(), "finding");
    format!("turn {} of {}: {tasks} for the agent\n", envelope.turn, session.start.limits.max_turns)
}

/// Returns the lines about the last turn.
pub(super) fn outcome(session: &DriveSession) -> String {
    let Some(turn) = session.turns.last() else { return String::new() };
    let mut text = format!("  {}, {}\n", exit(turn), changes(turn));
    if !turn.answer.summary.is_empty() {
        text.push_str(&format!("  says: {}\n", safe(&turn.answer.summary)));
    }
    if let Some(judged) = &turn.judgement {
        text.push_str(&format!("  tree: {}\n", verdict(judged)));
    }
    for refusal in turn.refusals.iter().take(MOST_SHOWN) {
        text.push_str(&format!("  refused: {} ({})\n", safe(&refusal.message), refusal.code.as_str()));
    }
    if let Some(more) = turn.refusals.len().checked_sub(MOST_SHOWN + 1) {
        text.push_str(&format!("  and {} more\n", more + 1));
    }
    text
}

fn exit(turn: &DriveTurn) -> String {
    let answer = match turn.answer.outcome {
        DispatchOutcome::Done => "done",
        DispatchOutcome::Blocked => "blocked",
        DispatchOutcome::Ask => "asks",
        DispatchOutcome::Failed => "failed",
    };
    match (&turn.exit.stopped, turn.exit.code, turn.exit.signal) {
        (Some(limit), ..) => format!("the agent was stopped ({})", safe(limit)),
        (None, Some(0), _) => format!("the agent: {answer}"),
        (None, Some(code), _) => format!("the agent: {answer}, exit {code}"),
        (None, None, signal) => format!("the agent: {answer}, signal {}", signal.unwrap_or(0)),
    }
}

fn changes(turn: &DriveTurn) -> String {
    let shown: Vec<String> =
        turn.changed.iter().take(MOST_SHOWN).map(|path| safe(&path.to_string())).collect();
    match turn.changed.len() {
        0 => "nothing changed".to_owned(),
        count if count > MOST_SHOWN => {
            format!("changed {} and {} more", shown.join(", "), count - MOST_SHOWN)
        }
        _ => format!("changed {}", shown.join(", ")),
    }
}

/// Returns the state of a drive.
pub(super) fn status(session: &DriveSession) -> String {
    let mut text = begin(session);
    if let Some(bootstrap) = &session.bootstrap {
        text.push_str(&format!("now: {}\n", verdict(current(session, bootstrap))));
        text.push_str(&outcome(session));
    }
    text.push_str(&match &session.end {
        Some(end) => format!("ended: {}\n", safe(&end.message)),
        None => "goes on, or was interrupted; the same command without --status continues it\n".to_owned(),
    });
    text
}

/// Returns the last lines of a drive.
pub(super) fn end(session: &DriveSession, end: &DriveEnd, directory: &Path) -> String {
    let turns = counted(session.turns.len(), "turn");
    let word = if end.reason == DriveEndReason::Passed { "PASS" } else { "NOT PASSED" };
    let mut text = format!("{word} after {turns}: {}\n", safe(&end.message));
    let directory = safe_path(directory);
    let accepted = session.turns.iter().filter(|turn| turn.outcome == Some(DriveOutcome::Accepted)).count();
    if accepted > 0 {
        text.push_str(&format!(
            "result   {}, from {}\n  git apply {directory}/result.patch\n  git fetch {directory}/result.bundle qa-skill-drive\n",
            current_commit(session).short(),
            counted(accepted, "accepted turn"),
        ));
    }
    text.push_str(&format!("session  {directory}\n  qa-skill verify {directory}\n"));
    text
}

fn safe_path(path: &Path) -> String {
    without_runner_commands(&visible(&path.display().to_string()))
}

fn safe(text: &str) -> String {
    without_runner_commands(&sanitize_cut(text, MOST_CHARACTERS))
}
