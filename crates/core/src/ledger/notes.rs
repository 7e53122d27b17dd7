//! Notes about a turn, made from the ledger alone: the update of a cadence window, the request of a review, and banners.
//!
//! They hold numbers, ids of commits, modes and names of plans, which are of a few harmless characters (S000-13, 16, 17).

use super::{is_complete, last_turn, plus};
use qa_contracts::v1::{Conclusion, LedgerTurn, ObserverLedger, ObserverMode, TurnCounts};

/// Banner of a first look that is through.
pub const BOOTSTRAP_COMPLETED: &str = "Observer bootstrap completed.";
/// Banner of a run in mode `cross-check` that goes on.
pub const CROSS_CHECK_IN_PROGRESS: &str = "Cross-check in progress.";
/// Banner of a run in mode `cross-check` that passed.
pub const CROSS_CHECK_SUCCESSFUL: &str = "Cross-check successful.";
const CROSS_CHECK_FAILED: &str = "Cross-check failed. A new one starts with the next push of a pull request that is ready \
                                  for review, or when this job is started again.";
const CROSS_CHECK_INCOMPLETE: &str = "Cross-check not completed. A new one starts with the next push of a pull request \
                                      that is ready for review, or when this job is started again.";
/// Maximum number of waiting plans that a note names.
const MOST_NAMED: usize = 3;

/// Returns the banner of a finished turn. `looked` is true if the turn lacks nothing but what it deferred.
pub fn banner(turn: &LedgerTurn, looked: bool) -> Option<&'static str> {
    match (turn.mode, turn.conclusion) {
        (ObserverMode::Bootstrap, _) => looked.then_some(BOOTSTRAP_COMPLETED),
        (ObserverMode::Cadence, _) => None,
        (ObserverMode::CrossCheck, Conclusion::Pass) => Some(CROSS_CHECK_SUCCESSFUL),
        (ObserverMode::CrossCheck, Conclusion::Fail) => Some(CROSS_CHECK_FAILED),
        (ObserverMode::CrossCheck, Conclusion::CouldNotComplete) => Some(CROSS_CHECK_INCOMPLETE),
    }
}

/// Describes the last turn in one line.
pub fn describe(ledger: &ObserverLedger) -> String {
    let turn = last_turn(ledger);
    let TurnCounts { opened, open, reopened, resolved, unseen, .. } = turn.counts;
    let mut parts = vec![
        format!("{opened} new"),
        format!("{open} still open"),
        format!("{reopened} reopened"),
        format!("{resolved} resolved"),
    ];
    if unseen > 0 {
        parts.push(format!("{unseen} not looked for"));
    }
    let stuck = if turn.progress.stuck { " The same findings stay open: a person should look." } else { "" };
    format!("Observer: turn {}, {}. Findings: {}.{stuck}", turn.number, turn.mode, parts.join(", "))
}

/// Returns the update about the turns of a cadence window, in the turn that completes one; `None` in the others and without
/// a cadence.
pub fn qa_update(ledger: &ObserverLedger, cadence: Option<u64>) -> Option<String> {
    let turn = last_turn(ledger);
    let cadence = cadence.filter(|cadence| *cadence > 0 && turn.number.is_multiple_of(*cadence))?;
    let first = turn.number - cadence + 1;
    let entries = ledger.entries.iter().filter(|entry| entry.turn.number >= first);
    let listed: Vec<&LedgerTurn> = entries.map(|entry| &entry.turn).collect();
    let range = if (listed.len() as u64) < cadence {
        format!("turns {first} to {}, the last {} counted", turn.number, listed.len())
    } else {
        turns(first, turn.number)
    };
    let passed = listed.iter().filter(|turn| turn.conclusion == Conclusion::Pass).count();
    Some(format!(
        "QA update, {range}: {} new, {} reopened, {} resolved, {}. {passed} of {} passed.{}",
        sum(&listed, |counts| counts.opened),
        sum(&listed, |counts| counts.reopened),
        sum(&listed, |counts| counts.resolved),
        open_findings(turn),
        listed.len(),
        waiting(turn),
    ))
}

/// Returns the request of a review, in a turn that makes one. It names the commits since the request before, or since the
/// merge base.
pub fn review_request(ledger: &ObserverLedger) -> Option<String> {
    let turn = last_turn(ledger);
    if turn.cadence.last_review_request != Some(turn.number) {
        return None;
    }
    let before = ledger.entries.iter().rev().nth(1).and_then(|entry| entry.turn.cadence.last_review_request);
    let from = match ledger.entries.iter().find(|entry| Some(entry.turn.number) == before) {
        Some(entry) => &entry.turn.head_sha,
        None => turn.merge_bases.first().unwrap_or(&turn.base_sha),
    };
    Some(format!(
        "Review request, {}: commits {from}..{}, {}. Mode {}.{}",
        turns(before.map_or(1, |number| number + 1), turn.number),
        turn.head_sha,
        open_findings(turn),
        turn.mode,
        waiting(turn),
    ))
}

fn sum(turns: &[&LedgerTurn], count: fn(&TurnCounts) -> u64) -> u64 {
    turns.iter().map(|turn| count(&turn.counts)).fold(0, plus)
}

/// `turn 3`, `turns 2 to 3`.
fn turns(first: u64, last: u64) -> String {
    if first == last { format!("turn {last}") } else { format!("turns {first} to {last}") }
}

/// `2 open, 1 blocking`.
fn open_findings(turn: &LedgerTurn) -> String {
    let TurnCounts { opened, open, reopened, unseen, unfollowed, blocking, .. } = turn.counts;
    let all = [opened, open, reopened, unseen, unfollowed].into_iter().fold(0, plus);
    format!("{all} open, {blocking} blocking")
}

/// Names the plans that wait after a turn, as a sentence; empty for none.
fn waiting(turn: &LedgerTurn) -> String {
    if is_complete(turn) {
        return String::new();
    }
    let named: Vec<&str> = turn.deferred.iter().take(MOST_NAMED).map(String::as_str).collect();
    let others = plus(turn.deferred_unlisted, (turn.deferred.len() - named.len()) as u64);
    match others {
        0 => format!(" Waiting: {}.", named.join(", ")),
        others => format!(" Waiting: {} and {others} more.", named.join(", ")),
    }
}

#[cfg(test)]
#[path = "notes_tests.rs"]
mod tests;
