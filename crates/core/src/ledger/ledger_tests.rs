//! Tests of the ledger: states of findings, folding, the limit, and that no tampering is overlooked.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::canonical::sha256;
use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath, Sha256Hex};
use qa_contracts::limits::MAX_LEDGER_BYTES;
use qa_contracts::v1::{Conclusion, LensResult, ObserverMode};

fn id(number: u64) -> Sha256Hex {
    Sha256Hex::parse(&format!("{number:064x}")).unwrap()
}

fn commit(number: u64) -> CommitId {
    CommitId::parse(&format!("{number:040x}")).unwrap()
}

/// A blocking finding in a file that the push changed.
pub(super) fn finding(number: u64) -> JudgedFinding {
    JudgedFinding { finding_id: id(number), lens_id: "shortcut".to_owned(), blocking: true, touched: true }
}

fn untouched(number: u64) -> JudgedFinding {
    JudgedFinding { touched: false, ..finding(number) }
}

fn of_lens(lens: &str, number: u64) -> JudgedFinding {
    JudgedFinding { lens_id: lens.to_owned(), ..finding(number) }
}

pub(super) fn judged(head: u64, findings: Vec<JudgedFinding>) -> JudgedTurn {
    JudgedTurn {
        repo_id: "acme/shop".to_owned(),
        pull_request: Some(7),
        mode: if head == 1 { ObserverMode::Bootstrap } else { ObserverMode::Cadence },
        base_sha: commit(1000),
        merge_bases: vec![commit(1000)],
        head_sha: commit(head),
        execution_key: id(head + 1_000_000).into(),
        run_digest: id(head + 2_000_000),
        conclusion: if findings.is_empty() { Conclusion::Pass } else { Conclusion::Fail },
        deferred: BTreeSet::new(),
        cost_micro_usd: Some(1500),
        findings,
        incomplete: BTreeSet::new(),
        due: true,
        has_diff: true,
        cooldown: 1,
    }
}

fn chain(turns: &[JudgedTurn]) -> ObserverLedger {
    let mut ledger = None;
    for turn in turns {
        ledger = Some(append(ledger.as_ref(), turn));
    }
    ledger.expect("there is a turn")
}

fn bytes(ledger: &ObserverLedger) -> Vec<u8> {
    let mut bytes = canonical::to_vec(ledger).unwrap();
    bytes.push(b'\n');
    bytes
}

/// Returns the states of the last turn, as `opened open reopened resolved unseen`, each with the last digits of its ids.
fn states(ledger: &ObserverLedger) -> String {
    let findings = ledger.entries.last().unwrap().findings.as_ref().unwrap();
    let mut lists = [""; 5].map(str::to_owned);
    for lens in &findings.lenses {
        let all = [&lens.opened, &lens.open, &lens.reopened, &lens.resolved, &lens.unseen];
        for (list, ids) in lists.iter_mut().zip(all) {
            ids.iter().for_each(|id| list.push_str(id.as_str().trim_start_matches('0')));
        }
    }
    lists.map(|list| if list.is_empty() { "-".to_owned() } else { list }).join(" ")
}

#[test]
fn a_finding_is_opened_stays_open_is_resolved_and_comes_back() {
    let mut ledger = None;
    for (head, findings, expected) in [
        (1, vec![1, 2], "12 - - - -"),
        (2, vec![2, 3], "3 2 - 1 -"),
        (3, vec![], "- - - 23 -"),
        (4, vec![1, 4], "4 - 1 - -"),
        (5, vec![1], "- 1 - 4 -"),
    ] {
        let turn = judged(head, findings.into_iter().map(finding).collect());
        let next = append(ledger.as_ref(), &turn);
        assert_eq!(states(&next), expected, "turn {head}");
        ledger = Some(next);
    }
}

#[test]
fn a_finding_that_was_resolved_in_a_folded_turn_comes_back_as_reopened() {
    let mut turns = vec![judged(1, vec![finding(1)])];
    turns.extend((2..30).map(|head| judged(head, Vec::new())));
    turns.push(judged(30, vec![finding(1)]));
    let ledger = chain(&turns);
    assert_eq!(ledger.folded.compacted_turns, 20);
    assert_eq!(ledger.folded.resolved_ids, [id(1)]);
    assert_eq!(states(&ledger), "- - 1 - -");
}

#[test]
fn the_silence_of_a_lens_that_did_not_look_resolves_nothing() {
    let first = judged(1, vec![of_lens("review-security", 1), of_lens("unit_tests", 2), finding(3)]);
    let all = ["review-security", "gate:unit_tests"];
    for (deferred, incomplete, expected, next) in [
        (vec![], vec![], "- - - 132 -", "- - 1 - -"),
        (all.to_vec(), vec![], "- - - 3 12", "- 1 - 2 -"),
        (vec!["review-*"], vec![], "- - - 32 1", "- 1 - - -"),
        (vec![], vec!["unit_tests"], "- - - 13 2", "- - 1 2 -"),
    ] {
        let second = JudgedTurn {
            deferred: deferred.iter().map(|&name| name.to_owned()).collect(),
            incomplete: incomplete.iter().map(|&name| name.to_owned()).collect(),
            ..judged(2, Vec::new())
        };
        let mut turns = vec![first.clone(), second];
        assert_eq!(states(&chain(&turns)), expected, "{deferred:?} {incomplete:?}");
        // It is still open for the next turn, where the lens looks again.
        turns.push(judged(3, vec![of_lens("review-security", 1)]));
        assert_eq!(states(&chain(&turns)), next, "{deferred:?} {incomplete:?}");
    }
}

#[test]
fn work_that_does_not_move_is_told_after_two_turns_and_a_person_is_asked_for_after_four() {
    // Another blocking finding in each turn keeps the sets apart.
    let turn = |head: u64, same: JudgedFinding| judged(head, vec![same, finding(100 + head)]);
    let progress = |turns: &[JudgedTurn]| chain(turns).entries.last().unwrap().turn.progress.clone();
    let tries: Vec<JudgedTurn> = (1..=4).map(|head| turn(head, finding(1))).collect();
    let summary = |turns: &[JudgedTurn]| {
        let progress = progress(turns);
        (progress.attempted, progress.most_attempts, progress.stuck)
    };
    assert_eq!(summary(&tries[..1]), (0, 1, false));
    assert_eq!(summary(&tries[..2]), (1, 2, false));
    assert_eq!(summary(&tries[..3]), (1, 3, false));
    assert_eq!(summary(&tries[..4]), (1, 4, true));
    // Turns that leave the file alone, or judge the same head again, are no attempts.
    let idle: Vec<JudgedTurn> =
        (1..=9).map(|head| turn(head, JudgedFinding { touched: head < 3, ..finding(1) })).collect();
    assert_eq!(summary(&idle), (1, 2, false));
    let again: Vec<JudgedTurn> = (1..=9).map(|_| turn(1, finding(1))).collect();
    assert_eq!(summary(&again), (0, 1, false));
    // Advice may stay for ever, and what was resolved in between begins anew.
    let advice: Vec<JudgedTurn> =
        (1..=9).map(|head| turn(head, JudgedFinding { blocking: false, ..finding(1) })).collect();
    assert_eq!(summary(&advice), (0, 1, false));
    let mut resolved = tries[..3].to_vec();
    resolved.extend([judged(5, Vec::new()), turn(6, finding(1))]);
    assert_eq!(summary(&resolved), (0, 1, false));
}

#[test]
fn the_same_set_of_blocking_findings_after_three_turns_that_touched_it_asks_for_a_person() {
    let last = |turns: &[JudgedTurn]| {
        let progress = chain(turns).entries.last().unwrap().turn.progress.clone();
        (progress.same_set_turns, progress.stuck)
    };
    // Each turn touches one of two files, so that no finding has three attempts.
    let turn = |head: u64| match head % 2 {
        0 => judged(head, vec![finding(1), untouched(2)]),
        _ => judged(head, vec![untouched(1), finding(2)]),
    };
    let turns: Vec<JudgedTurn> = (1..=3).map(turn).collect();
    assert_eq!(last(&turns[..2]), (2, false));
    assert_eq!(last(&turns), (3, true));
    let untouched_turn = judged(4, vec![untouched(1), untouched(2)]);
    assert_eq!(last(&[turns[0].clone(), turns[1].clone(), untouched_turn]), (2, false));
    let other = judged(5, vec![finding(1)]);
    assert_eq!(last(&[turns[0].clone(), turns[1].clone(), other]), (1, false));
    assert_eq!(last(&[turns[0].clone(), judged(6, Vec::new())]), (0, false));
}

#[test]
fn a_ledger_continues_those_whose_turns_it_has() {
    let turns: Vec<JudgedTurn> = (1..=14).map(|head| judged(head, Vec::new())).collect();
    let later = chain(&turns);
    assert_eq!(later.folded.compacted_turns, 4);
    for length in 1..=14 {
        assert!(continues(&later, &chain(&turns[..length])), "{length}");
        let mut apart = turns[..length].to_vec();
        apart[length - 1].mode = ObserverMode::CrossCheck;
        // Turns before the last folded one are known by their sums alone.
        assert_eq!(continues(&later, &chain(&apart)), length < 4, "{length}");
    }
    assert!(!continues(&chain(&turns[..3]), &later), "it has turns of which the other knows nothing");
}

#[test]
fn a_ledger_of_another_pull_request_begins_anew() {
    let ledger = chain(&[judged(1, vec![finding(1)]), judged(2, vec![finding(1)])]);
    let other = JudgedTurn { pull_request: Some(8), ..judged(3, vec![finding(1)]) };
    let begun = append(Some(&ledger), &other);
    assert_eq!(
        (begun.entries.len(), begun.entries[0].turn.number, states(&begun).as_str()),
        (1, 1, "1 - - - -")
    );
}

#[test]
fn what_is_over_the_limit_is_removed_oldest_first_and_counted() {
    let many = |head: u64| judged(head, (0..3000).map(|number| finding(head * 10_000 + number)).collect());
    let mut ledger: Option<ObserverLedger> = None;
    for head in 1..=500 {
        let mut next = append(ledger.as_ref(), &many(head));
        let size = canonical::to_vec(&next).unwrap().len();
        assert!(size <= MAX_LEDGER_BYTES, "turn {head}: {size} bytes");
        let folded = &next.folded;
        if head % 50 == 2 {
            assert_eq!(check(&next), Ok(()), "turn {head}");
            let counts = &next.entries.last().unwrap().turn.counts;
            assert_eq!(counts.opened + counts.open, MOST_FOLLOWED as u64);
            assert_eq!((counts.resolved, counts.unfollowed), (MOST_FOLLOWED as u64, 2300));
        }
        let listed = folded.resolved_ids.len() as u64 + folded.resolved_ids_removed;
        assert_eq!(folded.resolved, listed, "turn {head}");
        let listing = next.entries.iter().filter(|entry| entry.findings.is_some()).count();
        assert_eq!(
            listing as u64,
            next.folded.compacted_turns + next.entries.len() as u64 + 1 - next.folded.findings_from
        );
        next.entries.shrink_to_fit();
        ledger = Some(next);
    }
}

#[test]
fn findings_that_were_left_out_are_not_called_new_when_there_is_room() {
    let many: Vec<JudgedFinding> = (0..1000).map(finding).collect();
    let first = judged(1, many.clone());
    let second = judged(2, many[500..].to_vec());
    let ledger = chain(&[first, second]);
    let counts = &ledger.entries[1].turn.counts;
    assert_eq!((counts.opened, counts.open, counts.resolved, counts.unfollowed), (0, 500, 500, 0));
    assert_eq!(check(&ledger), Ok(()));
}

/// A ledger with every member filled, and folded turns.
fn rich() -> ObserverLedger {
    let mut turns: Vec<JudgedTurn> = (1..=13)
        .map(|head| judged(head, (0..3).map(|number| finding(head / 2 + number)).collect()))
        .collect();
    turns[11].deferred = BTreeSet::from(["review-security".to_owned(), "gate:browser_tests".to_owned()]);
    turns[11].findings.push(of_lens("unit_tests", 77));
    turns[12].incomplete = BTreeSet::from(["unit_tests".to_owned()]);
    turns[12].cost_micro_usd = None;
    chain(&turns)
}

/// Applies an edit to each value of a document in turn, and gives each edited document to a check.
fn for_each_edit(document: &Value, mut each: impl FnMut(&str, &Value)) {
    let mut pointers = Vec::new();
    collect_pointers(document, String::new(), &mut pointers);
    for pointer in pointers {
        for edit in [change, remove, repeat] {
            let mut edited = document.clone();
            edit(&mut edited, &pointer);
            if edited != *document {
                each(&pointer, &edited);
            }
        }
    }
}

fn collect_pointers(value: &Value, pointer: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            members
                .iter()
                .for_each(|(name, member)| collect_pointers(member, format!("{pointer}/{name}"), pointers));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(at, item)| collect_pointers(item, format!("{pointer}/{at}"), pointers));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    pointers.push(pointer);
}

/// Changes a number, a digit of a digest, a word or a list.
fn change(document: &mut Value, pointer: &str) {
    let value = document.pointer_mut(pointer).unwrap();
    *value = match &*value {
        Value::Null => Value::from(1),
        Value::Bool(known) => Value::Bool(!known),
        Value::Number(number) => Value::from(number.as_u64().unwrap() + 1),
        Value::String(text) => match text.as_str() {
            "fail" => "pass".into(),
            "cadence" => "bootstrap".into(),
            text => {
                let digit = if text.ends_with('0') { '1' } else { '0' };
                Value::String(format!("{}{digit}", &text[..text.len() - 1]))
            }
        },
        Value::Array(items) => items.iter().rev().cloned().collect::<Vec<Value>>().into(),
        Value::Object(_) => Value::Null,
    };
}

/// Removes the first item of a list.
fn remove(document: &mut Value, pointer: &str) {
    if let Some(Value::Array(items)) = document.pointer_mut(pointer)
        && !items.is_empty()
    {
        items.remove(0);
    }
}

/// Repeats the last item of a list.
fn repeat(document: &mut Value, pointer: &str) {
    if let Some(Value::Array(items)) = document.pointer_mut(pointer)
        && let Some(last) = items.last().cloned()
    {
        items.push(last);
    }
}

#[test]
fn no_edit_of_any_value_is_overlooked() {
    let ledger = rich();
    assert_eq!(read(&bytes(&ledger)).as_ref(), Ok(&ledger));
    let document = serde_json::to_value(&ledger).unwrap();
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for_each_edit(&document, |pointer, edited| {
        let mut bytes = canonical::to_vec(edited).unwrap();
        bytes.push(b'\n');
        match read(&bytes) {
            Ok(_) => panic!("{pointer} was edited and the ledger is accepted"),
            Err(error) => *codes.entry(error.code().as_str()).or_default() += 1,
        }
    });
    let counts: Vec<usize> = codes.into_values().collect();
    assert!(counts.len() == 2 && counts.iter().all(|count| *count > 50), "{counts:?}");
}

#[test]
fn entries_that_are_exchanged_removed_or_digested_again_break_the_chain() {
    let ledger = rich();
    let broken = |edit: &dyn Fn(&mut ObserverLedger)| {
        let mut edited = ledger.clone();
        edit(&mut edited);
        check(&edited).unwrap_err()
    };
    assert_eq!(broken(&|ledger| ledger.entries.swap(2, 3)), LedgerError::Order { number: 7, expected: 6 });
    assert_eq!(broken(&|ledger| drop(ledger.entries.pop())), LedgerError::Folded);
    assert_eq!(broken(&|ledger| drop(ledger.entries.remove(0))), LedgerError::Folded);
    assert_eq!(
        broken(&|ledger| ledger.entries[4].turn.conclusion = Conclusion::Pass),
        LedgerError::Digest { number: 8 }
    );
    // A new digest is not that which the next entry continues.
    let digested_again = |ledger: &mut ObserverLedger| {
        ledger.entries[4].turn.conclusion = Conclusion::Pass;
        ledger.entries[4].digest = entry_digest(&ledger.entries[4]);
    };
    assert_eq!(broken(&digested_again), LedgerError::Link { number: 9 });
    let emptied = |ledger: &mut ObserverLedger| ledger.entries[0].findings = None;
    assert_eq!(broken(&emptied), LedgerError::Findings { number: 4 });
    let renamed = |ledger: &mut ObserverLedger| ledger.repo_id = "acme/other".to_owned();
    assert_eq!(broken(&renamed), LedgerError::Folded);
}

#[test]
fn findings_that_vanish_between_two_turns_are_noticed_even_with_new_digests() {
    let mut ledger = chain(&[judged(1, vec![finding(1), finding(2)]), judged(2, vec![finding(1)])]);
    let last = ledger.entries.last_mut().unwrap();
    let findings = last.findings.as_mut().unwrap();
    findings.lenses[0].resolved.clear();
    last.turn.counts.resolved = 0;
    last.turn.findings_digest = findings_digest(findings);
    last.digest = entry_digest(last);
    assert_eq!(check(&ledger), Err(LedgerError::States { number: 2 }));
}

#[test]
fn what_is_no_ledger_is_refused() {
    let good = bytes(&rich());
    let without_line_end = &good[..good.len() - 1];
    let spaced = [b" ".as_slice(), &good].concat();
    let long = vec![b' '; MAX_LEDGER_BYTES + 2];
    for (bytes, expected) in [
        (
            b"".as_slice(),
            "it is not JSON as qa-skill writes it: EOF while parsing a value at line 1 column 0",
        ),
        (b"{}\n", "the document: "),
        (without_line_end, "it is not in canonical form"),
        (&spaced, "it is not in canonical form"),
        (&long, "it has 262146 bytes, the limit is 262144"),
    ] {
        let error = read(bytes).unwrap_err();
        assert_eq!(error.code(), Code::LedgerInvalid);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

#[test]
fn the_largest_numbers_of_a_hostile_ledger_end_nothing() {
    let mut ledger = chain(&[judged(1, vec![finding(1)])]);
    let largest = MAX_SAFE_INTEGER;
    let progress = &mut ledger.entries[0].turn.progress;
    (progress.same_set_turns, progress.most_attempts) = (largest, largest);
    ledger.entries[0].turn.cost_micro_usd = Some(largest);
    ledger.entries[0].findings.as_mut().unwrap().attempts[0].turns = largest;
    for head in 2..=14 {
        let turn = JudgedTurn { cost_micro_usd: Some(largest), ..judged(head, vec![finding(1)]) };
        ledger = append(Some(&ledger), &turn);
    }
    assert_eq!(ledger.folded.cost_micro_usd, largest);
}

#[test]
fn names_and_merge_bases_beyond_the_limits_are_counted() {
    let turn = JudgedTurn {
        deferred: (0..40)
            .map(|number| format!("review-{number:02}"))
            .chain(["Not a name".to_owned()])
            .collect(),
        merge_bases: (0..9).map(commit).collect(),
        ..judged(1, vec![of_lens("No lens", 1)])
    };
    let ledger = chain(&[turn]);
    let turn = &ledger.entries[0].turn;
    assert_eq!((turn.deferred.len(), turn.deferred_unlisted), (32, 9));
    assert_eq!((turn.merge_bases.len(), turn.merge_bases_unlisted), (8, 1));
    assert_eq!(turn.counts.unfollowed, 1);
    assert_eq!(read(&bytes(&ledger)), Ok(ledger));
}

#[test]
fn the_results_of_a_run_say_which_findings_are_touched_and_which_lenses_did_not_look() {
    let result = |lens: &str, status: &str, degraded: bool, file: &str, blocking: bool| {
        let finding = serde_json::json!({
            "findingId": id(1), "lensId": lens, "subLensId": null, "ruleId": "r", "severity": "high",
            "blocking": blocking, "file": file, "startLine": 1, "endLine": 1, "summary": "s", "evidence": {},
            "evidenceHash": id(2), "origin": "introduced", "scope": "product", "strength": "block",
            "ratchet": null, "waiver": null, "fix": "f", "codes": []
        });
        let usage = serde_json::json!({
            "inputTokens": 0, "outputTokens": 0, "totalTokens": 0, "costUsd": 0.0, "unavailableReason": null
        });
        let result = serde_json::json!({
            "schemaVersion": "lens-result.v1", "planOrdinal": 0, "lensId": lens, "subLensId": null,
            "lensVersion": "1", "status": status, "degraded": degraded, "findings": [finding],
            "evidenceSummary": [], "usage": usage, "errorCodes": [], "warningCodes": [],
            "executionAudit": null, "adapterResponseHash": id(3), "review": null
        });
        serde_json::from_value::<LensResult>(result).unwrap()
    };
    let results = [
        result("shortcut", "completed", false, "a.py", true),
        result("lint", "completed", true, "b.py", false),
        result("review-security", "skipped", true, "b.py", true),
        result("unit_tests", "failed", false, "b.py", true),
        result("costly-loop", "degraded", true, "a.py", false),
    ];
    let incomplete = incomplete_lenses(&results);
    let names: Vec<&str> = incomplete.iter().map(String::as_str).collect();
    assert_eq!(names, ["costly-loop", "lint", "review-security", "unit_tests"]);
    let touched = BTreeSet::from([RepoPath::parse_escaped("a.py").unwrap()]);
    let findings = judged_findings(&results, &touched);
    let flags: Vec<(&str, bool, bool)> = findings
        .iter()
        .map(|finding| (finding.lens_id.as_str(), finding.blocking, finding.touched))
        .collect();
    assert_eq!(
        flags,
        [
            ("shortcut", true, true),
            ("lint", false, false),
            ("review-security", true, false),
            ("unit_tests", true, false),
            ("costly-loop", false, true),
        ]
    );
}

fn any_finding() -> impl Strategy<Value = JudgedFinding> {
    let lens = prop_oneof![Just("shortcut"), Just("unit_tests"), Just("review-security")];
    (0..12u64, lens, any::<bool>(), any::<bool>()).prop_map(|(number, lens, blocking, touched)| {
        JudgedFinding {
            // The lens is part of an id.
            finding_id: sha256(format!("{lens} {number}").as_bytes()),
            lens_id: lens.to_owned(),
            blocking,
            touched,
        }
    })
}

fn any_turn() -> impl Strategy<Value = JudgedTurn> {
    let all = ["review-security", "gate:unit_tests", "unit_tests", "review-*"].map(str::to_owned).to_vec();
    let names = || prop::collection::btree_set(prop::sample::select(all.clone()), 0..3);
    let cost = prop::option::of(0..5_000_000u64);
    (
        prop::collection::vec(any_finding(), 0..10),
        prop::sample::select(ObserverMode::ALL),
        prop::sample::select(Conclusion::ALL),
        names(),
        names(),
        cost,
        1..9u64,
        (any::<bool>(), any::<bool>(), 1..5u64),
    )
        .prop_map(|(findings, mode, conclusion, deferred, incomplete, cost_micro_usd, head, cadence)| {
            let turn = judged(head, findings);
            let (due, has_diff, cooldown) = cadence;
            let turn = JudgedTurn { due, has_diff, cooldown, ..turn };
            JudgedTurn { mode, conclusion, deferred, incomplete, cost_micro_usd, ..turn }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_chain_holds_is_read_again_and_folds_by_its_turns_alone(turns in prop::collection::vec(any_turn(), 1..25)) {
        let mut ledger = append(None, &turns[0]);
        for (number, turn) in turns.iter().enumerate().skip(1) {
            // A ledger that was read from bytes is appended to like the original.
            let read_again = read(&bytes(&ledger)).unwrap();
            prop_assert_eq!(&read_again, &ledger);
            let next = append(Some(&read_again), turn);
            let (before, last) = (ledger.entries.last().unwrap(), next.entries.last().unwrap());
            prop_assert_eq!(last.previous_digest.as_ref(), Some(&before.digest));
            prop_assert_eq!(last.turn.number, number as u64 + 1);
            ledger = next;
        }
        prop_assert_eq!(check(&ledger), Ok(()));
        prop_assert_eq!(&ledger, &chain(&turns));
    }

    #[test]
    fn no_other_byte_is_overlooked(
        turns in prop::collection::vec(any_turn(), 1..14),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0x20..0x7fu8), 40),
    ) {
        let good = bytes(&chain(&turns));
        for (place, byte) in places {
            let at = place.index(good.len());
            let mut edited = good.clone();
            edited[at] = byte;
            prop_assert_eq!(read(&edited).is_ok(), edited == good, "byte {}", at);
        }
    }
}
