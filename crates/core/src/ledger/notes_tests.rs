//! Tests of the notes about a turn.

use super::super::tests::{finding, judged};
use super::super::{JudgedTurn, append};
use super::*;
use qa_contracts::v1::ObserverLedger;

/// Returns the ledger after each of some turns.
fn ledgers(turns: &[JudgedTurn]) -> Vec<ObserverLedger> {
    let mut all: Vec<ObserverLedger> = Vec::new();
    for turn in turns {
        all.push(append(all.last(), turn));
    }
    all
}

fn plain(count: u64) -> Vec<JudgedTurn> {
    (1..=count).map(|head| judged(head, Vec::new())).collect()
}

#[test]
fn an_update_is_made_once_in_a_cadence_window_about_its_turns() {
    let due = |cadence, count| -> Vec<u64> {
        let ledgers = ledgers(&plain(count));
        let due = ledgers.iter().filter(|ledger| qa_update(ledger, cadence).is_some());
        due.map(|ledger| last_turn(ledger).number).collect()
    };
    assert_eq!(due(Some(3), 7), [3, 6]);
    assert_eq!(due(Some(1), 3), [1, 2, 3]);
    assert_eq!(due(Some(11), 23), [11, 22]);
    assert_eq!(due(None, 7), Vec::<u64>::new());

    let mut turns = vec![
        judged(1, vec![finding(1)]),
        judged(2, vec![finding(1), finding(2)]),
        judged(3, vec![finding(2)]),
        judged(4, Vec::new()),
        judged(5, vec![finding(1)]),
        judged(6, vec![finding(1), finding(3)]),
    ];
    turns[5].deferred = (0..40).map(|number| format!("review-{number}")).collect();
    let ledgers = ledgers(&turns);
    assert_eq!(
        qa_update(&ledgers[2], Some(3)).unwrap(),
        "QA update, turns 1 to 3: 2 new, 0 reopened, 1 resolved, 1 open, 1 blocking. 0 of 3 passed."
    );
    assert_eq!(
        qa_update(&ledgers[5], Some(3)).unwrap(),
        "QA update, turns 4 to 6: 1 new, 1 reopened, 1 resolved, 2 open, 2 blocking. 1 of 3 passed. Waiting: review-0, \
         review-1, review-10 and 37 more."
    );
    assert_eq!(
        qa_update(&ledgers[0], Some(1)).unwrap(),
        "QA update, turn 1: 1 new, 0 reopened, 0 resolved, 1 open, 1 blocking. 0 of 1 passed."
    );
}

#[test]
fn an_update_about_folded_turns_says_how_many_it_counts() {
    let ledger = ledgers(&plain(12)).pop().unwrap();
    let update = qa_update(&ledger, Some(12)).unwrap();
    assert!(update.starts_with("QA update, turns 1 to 12, the last 10 counted: 0 new"), "{update}");
}

#[test]
fn a_request_names_the_commits_since_the_one_before() {
    let turn = |head| JudgedTurn { cooldown: 2, ..judged(head, vec![finding(1)]) };
    let turns = [turn(1), turn(2), turn(3)];
    let requests: Vec<Option<String>> = ledgers(&turns).iter().map(review_request).collect();
    let id = |number: u64| format!("{number:040x}");
    let text = |turns: &str, from: u64, to: u64, mode: &str| {
        let commits = format!("{}..{}", id(from), id(to));
        Some(format!("Review request, {turns}: commits {commits}, 1 open, 1 blocking. Mode {mode}."))
    };
    let expected = [text("turn 1", 1000, 1, "bootstrap"), None, text("turns 2 to 3", 1, 3, "cadence")];
    assert_eq!(requests, expected);
}

#[test]
fn banners_are_those_of_the_requirements() {
    use Conclusion::{CouldNotComplete, Fail, Pass};
    use ObserverMode::{Bootstrap, Cadence, CrossCheck};
    for (mode, conclusion, looked, expected) in [
        (Bootstrap, Pass, true, Some("Observer bootstrap completed.")),
        (Bootstrap, Fail, true, Some("Observer bootstrap completed.")),
        (Bootstrap, CouldNotComplete, true, Some("Observer bootstrap completed.")),
        (Bootstrap, CouldNotComplete, false, None),
        (Cadence, Pass, true, None),
        (CrossCheck, Pass, true, Some("Cross-check successful.")),
        (CrossCheck, Fail, true, Some(CROSS_CHECK_FAILED)),
        (CrossCheck, CouldNotComplete, false, Some(CROSS_CHECK_INCOMPLETE)),
    ] {
        let turn = JudgedTurn { mode, conclusion, ..judged(1, Vec::new()) };
        let ledger = append(None, &turn);
        assert_eq!(banner(last_turn(&ledger), looked), expected, "{mode} {conclusion} {looked}");
    }
    assert_eq!(CROSS_CHECK_IN_PROGRESS, "Cross-check in progress.");
}
