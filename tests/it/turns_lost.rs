//! Ledgers that are lost, continued apart from each other, or end with a run that does not follow from its recording.

use std::io::Write;

use serde_json::{Value, json};

use crate::support::step::{clean, faulty};
use crate::support::{RunDir, canonical, copy_tree, repair, sha256, tamper};
use crate::turns::{PullRequest, Turn};

const REQUIRED: &str = "[observer]\nenabled = true\nledger = \"required\"\n";
const OPTIONAL: &str = "[observer]\nenabled = true\nledger = \"optional\"\n";

/// Pushes a clean head and judges it.
fn push(pull: &mut PullRequest, content: &str) -> Turn {
    pull.push(&clean().with("notes.md", content));
    pull.judge("synchronize", true)
}

fn recorded(turn: &Turn) -> Value {
    let bytes = std::fs::read(turn.run.join("recordings/inputs.json")).unwrap();
    serde_json::from_slice::<Value>(&bytes).unwrap()["observer"]["ledger"].clone()
}

fn numbers(turn: &Turn) -> Vec<u64> {
    let ledger = turn.ledger();
    let entries = ledger["entries"].as_array().unwrap();
    entries.iter().map(|entry| entry["turn"]["number"].as_u64().unwrap()).collect()
}

#[test]
fn a_pull_request_whose_ledger_is_lost_passes_only_where_none_is_required_or_a_person_starts_again() {
    for (policy, exit, states) in [
        (REQUIRED, 3, ["begun", "continued", "lost", "lost", "begun", "continued"].map(Value::from)),
        (OPTIONAL, 0, [const { Value::Null }; 6]),
    ] {
        let mut pull = PullRequest::opened_under(policy, &clean());
        let mut turns = vec![pull.judge("opened", true), push(&mut pull, "1\n")];
        assert!(turns.iter().all(|turn| turn.outcome.exit == 0), "{}", turns[0].outcome.text());
        pull.world.github.state().artifacts.clear();
        turns.push(push(&mut pull, "2\n"));
        let text = turns[2].outcome.text();
        assert_eq!(turns[2].outcome.exit, exit, "{text}");
        assert_eq!(text.contains("OBSERVER_LEDGER_LOST"), exit == 3, "{text}");
        assert_eq!(numbers(&turns[2]), [1]);
        turns[2].verify().run().expect(0);

        // A ledger that nobody began on purpose is none that the next push could continue.
        turns.push(push(&mut pull, "3\n"));
        assert_eq!(turns[3].outcome.exit, exit, "{}", turns[3].outcome.text());
        pull.variables = vec![("GITHUB_RUN_ATTEMPT", "2")];
        turns.push(pull.judge("synchronize", true));
        assert_eq!(turns[4].outcome.exit, 0, "{}", turns[4].outcome.text());
        pull.variables.clear();
        turns.push(push(&mut pull, "4\n"));
        assert_eq!(turns[5].outcome.exit, 0, "{}", turns[5].outcome.text());
        let found: Vec<Value> = turns.iter().map(recorded).collect();
        assert_eq!(found, states);
    }
}

#[test]
fn a_recording_that_says_its_ledger_was_not_lost_is_no_proof() {
    let mut pull = PullRequest::opened_under(REQUIRED, &clean());
    pull.judge("opened", true);
    pull.world.github.state().artifacts.clear();
    let lost = push(&mut pull, "1\n");
    for (number, state) in [json!("continued"), json!("begun"), Value::Null].into_iter().enumerate() {
        let copy = RunDir(lost.run.clone()).copy_to(&lost.checkout.join(format!("edited-{number}")));
        tamper(&copy, "recordings/inputs.json", "/observer/ledger", state);
        repair(&copy, false);
        copy.verify().run().expect(4);
    }
}

#[test]
fn two_runs_that_continued_a_ledger_apart_from_each_other_begin_it_anew() {
    for (policy, exit) in [(REQUIRED, 3), (OPTIONAL, 0)] {
        let mut pull = PullRequest::opened_under(policy, &clean());
        pull.judge("opened", true);
        push(&mut pull, "1\n");
        let apart = pull.world.github.state().artifacts.pop().unwrap();
        pull.variables = vec![("GITHUB_RUN_ATTEMPT", "2")];
        pull.judge("ready_for_review", false);
        pull.variables.clear();
        pull.world.github.state().artifacts.push(apart);
        let last = push(&mut pull, "2\n");
        let text = last.outcome.text();
        assert!(text.contains("continued the ledger apart from each other"), "{text}");
        assert_eq!((last.outcome.exit, numbers(&last)), (exit, vec![1]), "{text}");
    }
}

/// The artifact of a run whose recording was edited, with a ledger that fits it.
fn forged(turn: &Turn) -> Vec<u8> {
    let place = turn.checkout.join("forged").join(turn.run.file_name().unwrap());
    copy_tree(&turn.run, &place);
    let run = RunDir(place);
    let marker = "<".repeat(7);
    for name in run.files().into_iter().filter(|name| name.starts_with("recordings/")) {
        let text = String::from_utf8(run.bytes(&name)).unwrap();
        std::fs::write(run.path(&name), text.replace(&marker, &"x".repeat(7))).unwrap();
    }
    repair(&run, false);

    let mut ledger = turn.ledger();
    let entry = ledger["entries"].as_array_mut().unwrap().last_mut().unwrap();
    entry["turn"]["runDigest"] = run.run_digest().into();
    let members = ["turn", "previousDigest", "foldedDigest"];
    let preimage: Value = members.iter().map(|name| ((*name).to_owned(), entry[*name].clone())).collect();
    entry["digest"] = sha256(&canonical(&preimage)).into();
    let mut bytes = canonical(&ledger);
    bytes.push(b'\n');

    let mut writer = zip::ZipWriter::new_append(std::io::Cursor::new(crate::support::archive(&run))).unwrap();
    writer.start_file("observer/observer-ledger.json", zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(&bytes).unwrap();
    writer.finish().unwrap().into_inner()
}

#[test]
fn a_cross_check_derives_earlier_turns_again_and_does_not_continue_what_does_not_follow() {
    let differs = "does not follow from its recording: DETERMINISM_DRIFT_DETECTED";
    let another = "is not that of the ledger";
    // Without a turn between, the forged one is the turn before; with one, it is drawn.
    for (has_between, forged_first, is_ready, reason) in [
        (false, true, true, Some(differs)),
        (false, true, false, None),
        (true, true, true, Some(differs)),
        (true, false, true, Some(another)),
    ] {
        let mut pull = PullRequest::opened_under(REQUIRED, &faulty());
        let first = pull.judge("opened", true);
        let forge = |pull: &PullRequest| pull.world.github.state().artifacts[0].zip = forged(&first);
        if forged_first {
            forge(&pull);
        }
        if has_between {
            push(&mut pull, "1\n");
        }
        if !forged_first {
            forge(&pull);
        }
        pull.push(&clean().with("notes.md", "2\n"));
        let last = pull.judge("synchronize", !is_ready);
        let text = last.outcome.text();
        let notice =
            text.lines().find(|line| line.contains("the turn before is not known")).unwrap_or_default();
        assert_eq!(reason.is_some(), !notice.is_empty(), "{text}");
        assert!(notice.contains(reason.unwrap_or_default()), "{notice}");
        assert_eq!(last.outcome.exit, if is_ready { 3 } else { 0 }, "{text}");
    }
}
