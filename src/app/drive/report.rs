//! Texts of a drive: what happens, how far it is, and how it ended. Texts of the repository and of the agent are escaped.

use std::path::Path;
use std::time::Duration;

use qa_contracts::v1::{
    Conclusion, DispatchEnvelope, DispatchOutcome, DriveEnd, DriveEndReason, DriveJudgement, DriveOutcome,
    DrivePlan, DriveSession, DriveTurn, IgnoredFiles,
};
use qa_core::drive::builtin::{agent_name, executor, executor_name};
use qa_core::drive::{Step, current, current_commit, next_step, session_id};
use qa_core::escape::{shell_word, without_runner_commands};
use qa_core::masking::sanitize_cut;
use qa_formats::{counted, drive_plan, drive_spent};

/// Maximum number of paths and of refusals that a turn shows.
const MOST_SHOWN: usize = 5;
/// Maximum number of characters of a text of the agent.
const MOST_CHARACTERS: usize = 300;
/// Maximum number of characters of a plan.
const MOST_PLANNED: usize = 1000;

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
        safe(&agent_name(start)),
        counted(usize::try_from(start.limits.max_turns).unwrap_or(usize::MAX), "turn"),
    )
}

/// Returns the lines about turns of a drive that was interrupted, and about the plan of the next one.
pub(super) fn earlier(session: &DriveSession) -> String {
    let turns = match session.turns.len() {
        0 => String::new(),
        turns => format!("  goes on after {}\n", counted(turns, "turn")),
    };
    turns + &pending_plan(session)
}

/// Returns the lines about a plan.
pub(super) fn plan(plan: &DrivePlan) -> String {
    format!("plan: {}\n", safe_plan(&drive_plan(plan)))
}

/// Returns the lines about the plan of a turn that has not begun.
fn pending_plan(session: &DriveSession) -> String {
    session.plan.as_ref().map(plan).unwrap_or_default()
}

/// Returns the line about what models have cost.
fn spent(session: &DriveSession) -> String {
    drive_spent(session).map(|spent| format!("models: {spent}\n")).unwrap_or_default()
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
    let executor = executor_name(executor(session, envelope));
    format!("turn {} of {}: {tasks} for {executor}\n", envelope.turn, session.start.limits.max_turns)
}

/// Returns the lines about the last turn.
pub(super) fn outcome(session: &DriveSession) -> String {
    let Some(turn) = session.turns.last() else { return String::new() };
    let mut text = format!("  {}, {}\n", exit(turn), changes(turn));
    if !turn.answer.summary.is_empty() {
        text.push_str(&format!("  says: {}\n", safe(&turn.answer.summary)));
    }
    if turn.ignored.count > 0 {
        text.push_str(&format!("  left out: {}\n", ignored(&turn.ignored)));
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
    let name = executor_name(turn.executor);
    match (&turn.exit.stopped, turn.exit.code, turn.exit.signal) {
        (Some(limit), ..) => format!("{name} was stopped ({})", safe(limit)),
        (None, Some(0), _) => format!("{name}: {answer}"),
        (None, Some(code), _) => format!("{name}: {answer}, exit {code}"),
        (None, None, signal) => format!("{name}: {answer}, signal {}", signal.unwrap_or(0)),
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

/// Names new files that ignore rules name.
fn ignored(files: &IgnoredFiles) -> String {
    let shown: Vec<String> =
        files.first.iter().take(MOST_SHOWN).map(|path| safe(&path.to_string())).collect();
    let count = usize::try_from(files.count).unwrap_or(usize::MAX);
    let names = match count.saturating_sub(shown.len()) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    };
    format!("{names}, because .gitignore names {}", if count == 1 { "it" } else { "them" })
}

/// Returns the state of a drive.
pub(super) fn status(session: &DriveSession, directory: &Path) -> String {
    let mut text = begin(session);
    if let Some(bootstrap) = &session.bootstrap {
        text.push_str(&format!("now: {}\n", verdict(current(session, bootstrap))));
        if let Some(turn) = session.turns.last() {
            text.push_str(&format!("turn {} of {}\n", turn.number, session.start.limits.max_turns));
        }
        if let Some(planned) = session.turns.last().and_then(|turn| turn.plan.as_ref()) {
            text.push_str(&format!("  {}", plan(planned)));
        }
        text.push_str(&outcome(session));
        text.push_str(&pending_plan(session));
    }
    text.push_str(&spent(session));
    text.push_str(&match &session.end {
        Some(end) => format!("ended: {}\n", safe(&end.message)),
        None => "goes on, waits for a person, or was interrupted; the command that began it continues it\n"
            .to_owned(),
    });
    text.push_str(&format!("session  {}\n", path_word(directory, "")));
    text
}

/// Returns the question whether a turn may begin, without its answers: goal, state, elapsed time, and the turn with its reason.
pub(super) fn waiting(session: &DriveSession, envelope: &DispatchEnvelope, elapsed: Duration) -> String {
    let goal = session.start.goal.as_deref().unwrap_or("the change passes");
    let mut text = format!(
        "turn {} of {} waits for you, {} into the drive\n  goal     {}\n",
        envelope.turn,
        session.start.limits.max_turns,
        minutes(elapsed),
        safe(goal)
    );
    if let Some(bootstrap) = &session.bootstrap {
        text.push_str(&format!("  now      {}\n", verdict(current(session, bootstrap))));
    }
    text.push_str(&format!("  pending  {}\n", pending(session, envelope)));
    if let Some(plan) = &session.plan {
        text.push_str(&format!("  plan     {}\n", safe_plan(&drive_plan(plan))));
    }
    for task in envelope.tasks.iter().take(MOST_SHOWN) {
        let place = format!("{}:{}", task.file, task.start_line);
        text.push_str(&format!(
            "           {} {}: {}\n",
            safe(&place),
            safe(&task.rule_id),
            safe(&task.summary)
        ));
    }
    if let Some(more) = envelope.tasks.len().checked_sub(MOST_SHOWN + 1) {
        text.push_str(&format!("           and {} more\n", more + 1));
    }
    text
}

/// Names a turn that has not begun, and its reason.
fn pending(session: &DriveSession, envelope: &DispatchEnvelope) -> String {
    let name = executor_name(executor(session, envelope));
    match envelope.tasks.len() {
        0 => format!("{name} works on the goal, because it is not reached yet"),
        1 => format!("{name} gets the finding that blocks"),
        count => format!("{name} gets {} that block", counted(count, "finding")),
    }
}

/// `12 s`, `3 min 12 s`.
fn minutes(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Returns the last lines of a drive that waits for a person.
pub(super) fn waits(session: &DriveSession, directory: &Path) -> String {
    let Some(Step::Dispatch(envelope)) = next_step(session) else { return String::new() };
    let (turn, of) = (envelope.turn, session.start.limits.max_turns);
    let directory = path_word(directory, "");
    format!(
        "WAITS before turn {turn} of {of}: {}\n{}  the same command with --approve lets it begin, with --edit TEXT gives the agent \
         a text as well, and with --stop ends the drive\nsession  {directory}\n",
        pending(session, &envelope),
        pending_plan(session)
    )
}

/// Returns the last lines of a drive.
pub(super) fn end(session: &DriveSession, end: &DriveEnd, directory: &Path) -> String {
    let turns = counted(session.turns.len(), "turn");
    let word = if end.reason == DriveEndReason::Passed { "PASS" } else { "NOT PASSED" };
    let mut text = format!("{word} after {turns}: {}\n", safe(&end.message));
    let accepted = session.turns.iter().filter(|turn| turn.outcome == Some(DriveOutcome::Accepted)).count();
    if accepted > 0 {
        text.push_str(&format!(
            "result   {}, from {}; either of these takes it\n  git apply {}\n  git fetch {} qa-skill-drive && git merge FETCH_HEAD\n",
            current_commit(session).short(),
            counted(accepted, "accepted turn"),
            path_word(directory, "result.patch"),
            path_word(directory, "result.bundle"),
        ));
    }
    if end.reason == DriveEndReason::Time {
        text.push_str("the same command goes on with this drive\n");
    }
    text.push_str(&spent(session));
    let page = path_word(directory, "drive.html");
    let directory = path_word(directory, "");
    text.push_str(&format!("session  {directory}\n  qa-skill verify {directory}\npage     {page}\n"));
    text
}

/// Returns the path of a file in a directory, or of the directory, as a word of a shell.
fn path_word(directory: &Path, name: &str) -> String {
    let path = if name.is_empty() { directory.to_owned() } else { directory.join(name) };
    without_runner_commands(&shell_word(&path.display().to_string()))
}

fn safe_plan(text: &str) -> String {
    without_runner_commands(&sanitize_cut(text, MOST_PLANNED))
}

fn safe(text: &str) -> String {
    without_runner_commands(&sanitize_cut(text, MOST_CHARACTERS))
}
