//! Derives the decisions of a stored session again.

use super::{Step, begin, digest_before, next_step, referee, turn_digest};
use crate::policy::drive::Rights;
use qa_contracts::v1::{DriveEndReason, DriveOutcome, DriveSession, DriveTurn};

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
    for (place, turn) in session.turns.iter().enumerate() {
        if let Some(reason) = turn_difference(&rights, &again, turn) {
            return Some(format!("turn {}: {reason}", place + 1));
        }
        again.turns.push(turn.clone());
    }
    let end = session.end.as_ref()?;
    if end.reason == DriveEndReason::Time {
        return None;
    }
    match next_step(&again) {
        Some(Step::End(derived)) if derived == *end => None,
        Some(Step::End(derived)) => {
            Some(format!("its end is {:?}, and {:?} follows", end.reason, derived.reason))
        }
        _ => Some(format!("its end is {:?}, and another turn follows", end.reason)),
    }
}

fn turn_difference(rights: &Rights, before: &DriveSession, turn: &DriveTurn) -> Option<&'static str> {
    let Some(Step::Dispatch(envelope)) = next_step(before) else { return Some("no turn follows") };
    if turn.number != envelope.turn || turn.envelope_id != envelope.envelope_id {
        return Some("its envelope is another");
    }
    if !turn.tasks.iter().eq(envelope.tasks.iter().map(|task| &task.finding_id)) {
        return Some("its tasks are others");
    }
    // No turn follows one that is not judged yet.
    let Some(outcome) = turn.outcome else { return turn.digest.is_some().then_some("it has no outcome") };
    let bootstrap = before.bootstrap.as_ref()?;
    let mut expected = referee::refuse_paths(rights, &turn.changed);
    expected.extend(referee::refuse_failed(turn.answer.outcome));
    if let Some(judgement) = &turn.judgement {
        expected.extend(referee::refuse_judgement(bootstrap, judgement));
    }
    if !expected.iter().all(|refusal| turn.refusals.contains(refusal)) {
        return Some("the referee refuses it for another reason");
    }
    if outcome != referee::outcome(&turn.refusals, &turn.changed) {
        return Some("its outcome is another");
    }
    if outcome == DriveOutcome::Accepted && (turn.judgement.is_none() || turn.commit.is_none()) {
        return Some("it is accepted without a judgement");
    }
    let previous = digest_before(&before.start, bootstrap, &before.turns);
    (turn.digest.as_ref() != Some(&turn_digest(turn, previous))).then_some("its digest is another")
}
