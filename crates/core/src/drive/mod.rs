//! The decisions of a drive: which turn comes next, which findings it is about, and how the drive ends.
//!
//! All of them follow from the session alone, so that a drive which was killed goes on as if it had not been, and anyone can
//! derive them again.

pub mod attempts;
pub mod builtin;
pub mod check;
pub mod coordinator;
mod envelope;
mod history;
pub mod judgement;
pub mod model_turn;
pub mod referee;
pub mod reply;

use serde::Serialize;

use crate::canonical;
use crate::policy::drive::Rights;
use qa_contracts::ids::{CommitId, RepoPath, Sha256Hex};
use qa_contracts::v1::{
    AgentChange, Conclusion, DispatchEnvelope, DispatchOutcome, DriveEnd, DriveEndReason, DriveJudgement,
    DriveOutcome, DriveSession, DriveStart, DriveTurn,
};

use self::coordinator::PlanQuestion;
pub use envelope::MOST_TASKS;
pub use history::{COMPACTION_TOKENS, FoldedHistory, VERBATIM_TURNS};

/// Number of turns in a row that may leave what blocks as it is.
const TURNS_WITHOUT_PROGRESS: usize = 3;
/// Number of turns in a row in which an agent may say that it cannot go on.
const BLOCKED_TURNS: usize = 2;

/// Next step of a drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Judge the head that the drive begins with.
    Bootstrap,
    /// Ask the model that plans turns about the next one.
    Plan(Box<PlanQuestion>),
    /// Give the agent a turn.
    Dispatch(Box<DispatchEnvelope>),
    /// Judge the tree of the last turn.
    Judge(CommitId),
    /// Say how the drive ends.
    End(DriveEnd),
}

/// Returns the id of a session.
pub fn session_id(start: &DriveStart) -> Sha256Hex {
    digest_of(start)
}

/// Returns a session in which nothing has happened.
pub fn begin(start: DriveStart) -> DriveSession {
    DriveSession {
        schema_version: Default::default(),
        start,
        bootstrap: None,
        turns: Vec::new(),
        word: None,
        plan: None,
        end: None,
    }
}

/// Returns the number of turns with an outcome.
pub fn count_turns(session: &DriveSession, outcome: DriveOutcome) -> usize {
    session.turns.iter().filter(|turn| turn.outcome == Some(outcome)).count()
}

/// Returns the conclusion of a drive, which is that of its last judged tree only where the drive passed.
pub fn conclusion(session: &DriveSession) -> Conclusion {
    match session.end.as_ref().map(|end| end.reason) {
        Some(DriveEndReason::Passed) => Conclusion::Pass,
        Some(
            DriveEndReason::Turns
            | DriveEndReason::Time
            | DriveEndReason::Cost
            | DriveEndReason::Stopped
            | DriveEndReason::NoProgress
            | DriveEndReason::Stuck,
        ) => Conclusion::Fail,
        Some(DriveEndReason::Ask | DriveEndReason::Incomplete | DriveEndReason::HeadMoved) | None => {
            Conclusion::CouldNotComplete
        }
    }
}

/// Returns what has to be done next. A drive that has ended has no next step.
pub fn next_step(session: &DriveSession) -> Option<Step> {
    next_step_after(session, &mut FoldedHistory::default())
}

/// Does the same as [`next_step`] for a caller that asks about one session again and again: `history` is that of its turns so far, and
/// no turn is folded twice.
pub fn next_step_after(session: &DriveSession, history: &mut FoldedHistory) -> Option<Step> {
    if session.end.is_some() {
        return None;
    }
    let Some(bootstrap) = &session.bootstrap else { return Some(Step::Bootstrap) };
    if let Some(DriveTurn { outcome: None, commit: Some(commit), .. }) = session.turns.last() {
        return Some(Step::Judge(commit.clone()));
    }
    if let Some(end) = end(session, bootstrap) {
        return Some(Step::End(end));
    }
    planned_step(session, bootstrap, history)
}

/// Returns the step after which the next turn begins, or its envelope. A plan of another question, which a text of a person
/// replaced, is none.
fn planned_step(
    session: &DriveSession,
    bootstrap: &DriveJudgement,
    history: &mut FoldedHistory,
) -> Option<Step> {
    if let Some(question) = coordinator::question(session, bootstrap) {
        let Some(plan) = session.plan.as_ref().filter(|plan| plan.question_id == question.id) else {
            return Some(Step::Plan(Box::new(question)));
        };
        if coordinator::is_end(session, bootstrap, plan) {
            let message = "the tree passes the gate, and the plan says that the goal is reached";
            return ended(DriveEndReason::Passed, message).map(Step::End);
        }
    }
    Some(Step::Dispatch(Box::new(envelope::envelope(session, bootstrap, history))))
}

/// Returns whether a turn comes next that no person has let begin.
pub fn is_waiting(session: &DriveSession) -> bool {
    session.word.is_none() && matches!(next_step(session), Some(Step::Dispatch(_)))
}

/// Returns the end of a drive whose last turn has an outcome; `None` while another turn follows.
fn end(session: &DriveSession, bootstrap: &DriveJudgement) -> Option<DriveEnd> {
    let (current, start) = (current(session, bootstrap), &session.start);
    if bootstrap.conclusion == Conclusion::CouldNotComplete && !(start.goal.is_some() && bootstrap.vacuous) {
        return ended(DriveEndReason::Incomplete, "the head that the drive begins with has no verdict");
    }
    if current.conclusion == Conclusion::Pass && is_finished(session) {
        return ended(DriveEndReason::Passed, "the tree passes the gate");
    }
    if bootstrap.files.iter().any(|file| file.path.is_below(".qa-skill")) {
        let message = "the change edits the policy, by which an agent's work is compared with it";
        return ended(DriveEndReason::Ask, message);
    }
    let last = session.turns.last();
    if last.is_some_and(|turn| turn.answer.outcome == DispatchOutcome::Ask) {
        return ended(DriveEndReason::Ask, "the agent asks for a decision of a person");
    }
    let rights = Rights::new(&start.limits).ok();
    if start.goal.is_none() && current.tasks.iter().all(|task| !may_change(rights.as_ref(), &task.file)) {
        let message = "every finding that blocks is in a file that the policy does not let an agent change";
        return ended(DriveEndReason::Ask, message);
    }
    if start.agent.is_empty() && last.is_some_and(|turn| turn.answer.outcome == DispatchOutcome::Blocked) {
        return ended(DriveEndReason::Stuck, "no finding that blocks has a safe edit that may be applied");
    }
    if recent(session, BLOCKED_TURNS, |turn| turn.answer.outcome == DispatchOutcome::Blocked) {
        return ended(DriveEndReason::Stuck, "the agent said twice in a row that it cannot go on");
    }
    if recent(session, TURNS_WITHOUT_PROGRESS, |turn| is_without_progress(session, bootstrap, turn)) {
        return ended(DriveEndReason::NoProgress, "three turns in a row changed nothing about what blocks");
    }
    if session.turns.len() as u64 >= start.limits.max_turns {
        return ended(DriveEndReason::Turns, "no turn is left");
    }
    None
}

fn ended(reason: DriveEndReason, message: &str) -> Option<DriveEnd> {
    Some(DriveEnd { reason, message: message.to_owned() })
}

/// Returns whether a passing tree ends the drive. A goal of a person is reached when the agent says so in a turn that counts,
/// and the gate agrees.
fn is_finished(session: &DriveSession) -> bool {
    let Some(last) = session.turns.last() else { return session.start.goal.is_none() };
    let is_reached =
        last.answer.outcome == DispatchOutcome::Done && last.outcome != Some(DriveOutcome::Refused);
    let has_work = session.turns.iter().any(|turn| turn.outcome == Some(DriveOutcome::Accepted));
    session.start.goal.is_none() || is_reached && has_work
}

/// Returns whether an agent may change a file. Without globs that compile it may change none.
fn may_change(rights: Option<&Rights>, file: &RepoPath) -> bool {
    rights.is_some_and(|rights| rights.refusal(file).is_none())
}

/// Returns whether each of the last `count` turns is one that a function names.
fn recent(session: &DriveSession, count: usize, is_one: impl Fn(&DriveTurn) -> bool) -> bool {
    session.turns.len() >= count && session.turns.iter().rev().take(count).all(is_one)
}

/// Returns whether a turn left what blocks as it was.
fn is_without_progress(session: &DriveSession, bootstrap: &DriveJudgement, turn: &DriveTurn) -> bool {
    if turn.outcome != Some(DriveOutcome::Accepted) {
        return true;
    }
    let before = judgement_before(session, bootstrap, turn.number);
    turn.judgement.as_ref().is_none_or(|after| ids(after) == ids(before))
}

/// Ids of the blocking findings of a judgement, in their order.
fn ids(judgement: &DriveJudgement) -> Vec<&Sha256Hex> {
    judgement.tasks.iter().map(|task| &task.finding_id).collect()
}

/// Returns the judgement of the tree that the next turn begins with.
pub fn current<'a>(session: &'a DriveSession, bootstrap: &'a DriveJudgement) -> &'a DriveJudgement {
    judgement_before(session, bootstrap, u64::MAX)
}

/// Returns the judgement of the tree that a turn began with.
pub fn judgement_before<'a>(
    session: &'a DriveSession,
    bootstrap: &'a DriveJudgement,
    number: u64,
) -> &'a DriveJudgement {
    let earlier = session.turns.iter().rev().filter(|turn| turn.number < number);
    let accepted = earlier.filter(|turn| turn.outcome == Some(DriveOutcome::Accepted));
    accepted.filter_map(|turn| turn.judgement.as_ref()).next().unwrap_or(bootstrap)
}

/// Returns the commit whose tree the next turn begins with.
pub fn current_commit(session: &DriveSession) -> &CommitId {
    commit_before(session, u64::MAX)
}

/// Returns the commit whose tree a turn began with.
pub fn commit_before(session: &DriveSession, number: u64) -> &CommitId {
    let earlier = session.turns.iter().rev().filter(|turn| turn.number < number);
    let accepted = earlier.filter(|turn| turn.outcome == Some(DriveOutcome::Accepted));
    accepted.filter_map(|turn| turn.commit.as_ref()).next().unwrap_or(&session.start.head_sha)
}

/// Preimage of a turn's digest.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnPreimage<'a> {
    turn: &'a DriveTurn,
    previous: Sha256Hex,
}

/// Preimage of the digest that the first turn's continues.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BootstrapPreimage<'a> {
    start: &'a DriveStart,
    bootstrap: &'a DriveJudgement,
}

/// Returns the digest of a turn that has an outcome: over the turn, and over the digest before.
pub(super) fn turn_digest(turn: &DriveTurn, previous: Sha256Hex) -> Sha256Hex {
    let turn = DriveTurn { digest: None, ..turn.clone() };
    digest_of(&TurnPreimage { turn: &turn, previous })
}

/// Returns the digest that the turn after `turns` continues.
pub(super) fn digest_before(
    start: &DriveStart,
    bootstrap: &DriveJudgement,
    turns: &[DriveTurn],
) -> Sha256Hex {
    match turns.last().and_then(|turn| turn.digest.clone()) {
        Some(digest) => digest,
        None => digest_of(&BootstrapPreimage { start, bootstrap }),
    }
}

/// Adds a turn, which takes the word of a person and the plan. Unless its tree has to be judged, it has its outcome then.
pub fn record_turn(session: &mut DriveSession, mut turn: DriveTurn) {
    (turn.person, turn.plan) = (session.word.take(), session.plan.take());
    let is_judged_next = referee::needs_judgement(&turn);
    session.turns.push(turn);
    if !is_judged_next {
        conclude_turn(session);
    }
}

/// Gives the last turn its judgement and its outcome.
pub fn judge_turn(session: &mut DriveSession, judgement: DriveJudgement, change: AgentChange) {
    let (Some(bootstrap), Some(turn)) = (&session.bootstrap, session.turns.last_mut()) else { return };
    turn.refusals.extend(referee::refuse_judgement(bootstrap, &judgement, &change));
    (turn.judgement, turn.agent_change) = (Some(judgement), Some(change));
    conclude_turn(session);
}

/// Gives the last turn its outcome and its digest.
fn conclude_turn(session: &mut DriveSession) {
    let Some(bootstrap) = &session.bootstrap else { return };
    let Some((last, earlier)) = session.turns.split_last_mut() else { return };
    last.outcome = Some(referee::outcome(last));
    let previous = digest_before(&session.start, bootstrap, earlier);
    last.digest = Some(turn_digest(last, previous));
}

fn digest_of<T: Serialize>(value: &T) -> Sha256Hex {
    canonical::digest(value).expect("words, ids and counts have a canonical form")
}

#[cfg(test)]
#[path = "life_tests.rs"]
mod life_tests;
#[cfg(test)]
#[path = "drive_tests.rs"]
mod tests;
