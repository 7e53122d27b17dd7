//! Continues the cadence from turn to turn: the last turn with deferred plans, and the last review request (S000-17, 18).

use super::turn::JudgedTurn;
use qa_contracts::v1::{LedgerTurn, ObserverMode, TurnCadence};

/// Returns the state after a turn.
///
/// The counter of the cooldown starts full and counts every turn, and a review is requested in a turn with a diff (C-9). A
/// cross-check requests one for the diffs that remain, whatever the cooldown, because no later turn may follow it.
pub(super) fn after(last: Option<&LedgerTurn>, judged: &JudgedTurn, number: u64) -> TurnCadence {
    let before = last.map(|turn| turn.cadence.clone()).unwrap_or_default();
    let is_cool = match before.last_review_request {
        Some(request) => number.saturating_sub(request) >= judged.cooldown,
        None => true,
    };
    let remains = before.unrequested_diff || judged.has_diff;
    let is_final = judged.mode == ObserverMode::CrossCheck && remains;
    let requests = judged.has_diff && is_cool || is_final;
    TurnCadence {
        last_due: if judged.due { Some(number) } else { before.last_due },
        last_review_request: if requests { Some(number) } else { before.last_review_request },
        unrequested_diff: remains && !requests,
    }
}

/// Returns whether the state after a turn follows from that of the turn before, as far as it shows.
pub(super) fn follows(turn: &LedgerTurn, before: &TurnCadence) -> bool {
    let TurnCadence { last_due, last_review_request, unrequested_diff } = &turn.cadence;
    let now = Some(turn.number);
    let requests = *last_review_request == now;
    (*last_due == now || *last_due == before.last_due)
        && (requests || *last_review_request == before.last_review_request)
        && if requests { !unrequested_diff } else { *unrequested_diff || !before.unrequested_diff }
}

#[cfg(test)]
#[path = "cadence_tests.rs"]
mod tests;
