//! Derives the decisions of a stored session again.

use super::{
    FoldedHistory, Step, begin, builtin, coordinator, digest_before, next_step_after, referee, turn_digest,
};
use crate::policy::drive::Rights;
use qa_contracts::v1::{
    DispatchOutcome, DriveEndReason, DriveFile, DriveOutcome, DriveRefusal, DriveSession, DriveTurn,
};

/// Returns the first part of a session that does not follow from what is before it; `None` if all of it does. Judgements are taken as
/// they are: they follow from the runs that they name.
pub fn difference(session: &DriveSession) -> Option<String> {
    let mut again = begin(session.start.clone());
    let Some(bootstrap) = &session.bootstrap else {
        let is_begun = session.turns.is_empty() && session.end.is_none();
        return (!is_begun).then(|| "it goes on without a judgement of its head".to_owned());
    };
    again.bootstrap = Some(bootstrap.clone());
    let Ok(rights) = Rights::new(&session.start.limits) else {
        return Some("a glob of it is none".to_owned());
    };
    let mut history = FoldedHistory::default();
    for (place, turn) in session.turns.iter().enumerate() {
        (again.word, again.plan) = (turn.person.clone(), turn.plan.clone());
        if let Some(reason) = turn_difference(&rights, &again, &mut history, turn) {
            return Some(format!("turn {}: {reason}", place + 1));
        }
        again.turns.push(turn.clone());
    }
    (again.word, again.plan) = (session.word.clone(), session.plan.clone());
    if let Some(reason) = pending_difference(&again) {
        return Some(format!("turn {}: {reason}", again.turns.len() + 1));
    }
    let Some(end) = &session.end else { return None };
    match next_step_after(&again, &mut history) {
        // No time or money is left for a turn, a person does not want it, or its head is another: nothing else.
        Some(Step::Dispatch(_) | Step::Plan(_)) if is_from_outside(end.reason) => None,
        Some(Step::End(derived)) if derived == *end => None,
        Some(Step::End(derived)) => {
            Some(format!("its end is {:?}, and {:?} follows", end.reason, derived.reason))
        }
        _ => Some(format!("its end is {:?}, and another turn follows", end.reason)),
    }
}

/// Returns whether an end is recorded and not derived.
pub fn is_from_outside(reason: DriveEndReason) -> bool {
    match reason {
        DriveEndReason::Time | DriveEndReason::Cost | DriveEndReason::Stopped | DriveEndReason::HeadMoved => {
            true
        }
        DriveEndReason::Passed
        | DriveEndReason::Turns
        | DriveEndReason::NoProgress
        | DriveEndReason::Stuck
        | DriveEndReason::Ask
        | DriveEndReason::Incomplete => false,
    }
}

/// Returns what agents changed up to the tree that the next turn begins with.
pub fn agent_files(session: &DriveSession) -> &[DriveFile] {
    let accepted = session.turns.iter().rev().filter(|turn| turn.outcome == Some(DriveOutcome::Accepted));
    accepted.filter_map(|turn| turn.agent_change.as_ref()).next().map_or(&[], |change| &change.files)
}

/// Returns the difference of a plan whose turn is not recorded. One that a text of a person replaced has no part in anything.
fn pending_difference(session: &DriveSession) -> Option<&'static str> {
    let (Some(plan), Some(bootstrap)) = (&session.plan, &session.bootstrap) else { return None };
    match coordinator::question(session, bootstrap) {
        Some(question) if question.id != plan.question_id => None,
        Some(_) | None => plan_difference(session),
    }
}

/// Returns the difference between the plan of a turn and what its question and its recorded answer make.
fn plan_difference(before: &DriveSession) -> Option<&'static str> {
    let bootstrap = before.bootstrap.as_ref()?;
    match (coordinator::question(before, bootstrap), &before.plan) {
        (None, None) => None,
        (None, Some(_)) => Some("it has a plan that no model was asked for"),
        (Some(_), None) => Some("it has no plan"),
        (Some(question), Some(plan)) => {
            let follows = coordinator::follows(before, &question, plan);
            (!follows).then_some("its plan does not follow from its question and its recorded answer")
        }
    }
}

/// Returns the difference between a turn and what follows from the session before it. `history` is that of this session's turns.
fn turn_difference(
    rights: &Rights,
    before: &DriveSession,
    history: &mut FoldedHistory,
    turn: &DriveTurn,
) -> Option<&'static str> {
    if let Some(reason) = plan_difference(before) {
        return Some(reason);
    }
    let Some(Step::Dispatch(envelope)) = next_step_after(before, history) else {
        return Some("no turn follows");
    };
    if turn.number != envelope.turn || turn.envelope_id != envelope.envelope_id {
        return Some("its envelope is another");
    }
    if !turn.tasks.iter().eq(envelope.tasks.iter().map(|task| &task.finding_id)) {
        return Some("its tasks are others");
    }
    if turn.answer.envelope_id != turn.envelope_id {
        return Some("its answer is to another envelope");
    }
    let has_failed = turn.exit.code != Some(0) || turn.exit.stopped.is_some();
    if has_failed && turn.answer.outcome != DispatchOutcome::Failed {
        return Some("its agent failed, and its answer says otherwise");
    }
    if turn.executor != builtin::executor(before, &envelope) || !builtin::is_possible(turn) {
        return Some("its executor is another");
    }
    if !turn.changed.is_sorted_by(|one, next| one < next) {
        return Some("its changed paths are not in order");
    }
    // A turn without an outcome waits for the judgement of its commit, and no other turn follows it.
    let Some(outcome) = turn.outcome else {
        let waits = turn.digest.is_none() && referee::needs_judgement(turn);
        return (!waits).then_some("it has no outcome");
    };
    let Some(bootstrap) = &before.bootstrap else { return Some("its head is not judged") };
    let mut expected: Vec<DriveRefusal> = referee::refuse_failed(turn.answer.outcome).into_iter().collect();
    expected.extend(referee::refuse_paths(rights, &turn.changed));
    let is_as_expected = match (&turn.judgement, &turn.agent_change) {
        // A tree is judged where nothing refuses it before.
        (Some(judgement), Some(change)) => {
            let known = agent_files(before);
            if referee::differing_paths(known, &change.files) != turn.changed {
                return Some("its changed paths are others than those of its runs");
            }
            expected.is_empty() && turn.refusals == referee::refuse_judgement(bootstrap, judgement, change)
        }
        (None, None) => expected.iter().all(|refusal| turn.refusals.contains(refusal)),
        (Some(_), None) | (None, Some(_)) => false,
    };
    if !is_as_expected {
        return Some("the referee refuses it for another reason");
    }
    if outcome != referee::outcome(turn) {
        return Some("its outcome is another");
    }
    if outcome == DriveOutcome::Accepted && (turn.judgement.is_none() || turn.commit.is_none()) {
        return Some("it is accepted without a judgement");
    }
    let previous = digest_before(&before.start, bootstrap, &before.turns);
    (turn.digest.as_ref() != Some(&turn_digest(turn, previous))).then_some("its digest is another")
}
