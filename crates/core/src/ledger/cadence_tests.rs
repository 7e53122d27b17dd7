//! Tests of the cadence of a ledger: the cooldown of review requests, and turns that were folded.

use super::super::tests::judged;
use super::super::{JudgedTurn, append, check};
use qa_contracts::v1::{ObserverLedger, ObserverMode, TurnCadence};

/// Appends turns with or without a diff, and returns the numbers of those that requested a review.
fn requests(cooldown: u64, turns: &str) -> Vec<u64> {
    let mut ledger: Option<ObserverLedger> = None;
    let mut requested = Vec::new();
    for (number, sign) in (1..).zip(turns.chars()) {
        let mode = if "Xx".contains(sign) { ObserverMode::CrossCheck } else { ObserverMode::Cadence };
        let has_diff = sign.is_uppercase();
        let turn = JudgedTurn { mode, has_diff, cooldown, ..judged(number, Vec::new()) };
        let next = append(ledger.as_ref(), &turn);
        assert_eq!(check(&next), Ok(()));
        if next.entries.last().unwrap().turn.cadence.last_review_request == Some(number) {
            requested.push(number);
        }
        ledger = Some(next);
    }
    requested
}

#[test]
fn a_review_is_requested_when_turns_with_a_diff_satisfy_the_cooldown() {
    // `D` has a diff and `n` has none; `X` and `x` are cross-checks with and without.
    for (cooldown, turns, expected) in [
        (1, "DnD", vec![1, 3]),
        (2, "DnD", vec![1, 3]),
        (2, "DDnD", vec![1, 4]),
        (1, "nnD", vec![3]),
        (1, "nnnn", vec![]),
        (3, "DDDDDDD", vec![1, 4, 7]),
        // The counter of the cooldown is kept when its turn is no longer listed.
        (15, "DDDDDDDDDDDDDDDDDDDD", vec![1, 16]),
        // A cross-check requests what remains, once.
        (5, "DDx", vec![1, 3]),
        (5, "DDxx", vec![1, 3]),
        (5, "Dx", vec![1]),
        (5, "DX", vec![1, 2]),
        (15, "DDDnnnnnnnnnnnx", vec![1, 15]),
    ] {
        assert_eq!(requests(cooldown, turns), expected, "{cooldown} {turns}");
    }
}

#[test]
fn the_last_turn_that_was_due_is_known_after_it_is_folded() {
    let mut ledger: Option<ObserverLedger> = None;
    for number in 1..30 {
        // Commands wait for the cross-check, so the turn that was due left something as well.
        let deferred = ["gate:unit_tests".to_owned()].into();
        let turn = JudgedTurn { due: number == 12, deferred, ..judged(number, Vec::new()) };
        ledger = Some(append(ledger.as_ref(), &turn));
        let last = ledger.as_ref().unwrap().entries.last().unwrap();
        assert_eq!(last.turn.cadence.last_due, (number >= 12).then_some(12), "turn {number}");
    }
    assert_eq!(ledger.unwrap().folded.last_complete, None);
}

#[test]
fn a_cadence_that_does_not_follow_is_refused() {
    let turns = [judged(1, Vec::new()), JudgedTurn { has_diff: false, due: false, ..judged(2, Vec::new()) }];
    let ledger = append(Some(&append(None, &turns[0])), &turns[1]);
    let turn = &ledger.entries[1].turn;
    let before = &ledger.entries[0].turn.cadence;
    let state = |last_due, last_review_request, unrequested_diff| TurnCadence {
        last_due,
        last_review_request,
        unrequested_diff,
    };
    for (cadence, expected) in [
        (state(Some(1), Some(1), false), true),
        (state(Some(2), Some(2), false), true),
        (state(Some(1), Some(1), true), true),
        (state(None, Some(1), false), false),
        (state(Some(3), Some(1), false), false),
        (state(Some(1), None, false), false),
        (state(Some(1), Some(3), false), false),
        (state(Some(1), Some(2), true), false),
    ] {
        let mut turn = turn.clone();
        turn.cadence = cadence;
        assert_eq!(super::follows(&turn, before), expected, "{:?}", turn.cadence);
    }
    let owing = TurnCadence { unrequested_diff: true, ..before.clone() };
    assert!(!super::follows(turn, &owing), "a diff that no request covers remains");
}
