//! Drives of pull requests that wait for people: sessions that are stored, words that comments give, and what is not believed.

use std::fs;

use serde_json::{Value, json};

use crate::drives_on_github::{MEND, MENDED, NUMBER, POLICY, Stage, change, edited_session, packed};
use crate::support::fake_github::{AFTER_COMMENTS, Artifact, Fault, Route};
use crate::support::{Outcome, Response, qa_skill, sha256};
use qa_contracts::v1::{DriveEndReason, DriveSession, DriveStart, PersonWord};
use qa_core::drive::{Step, judge_turn, next_step, record_turn};

/// An agent whose first turn changes nothing, so that a second one follows.
const SLOW_MEND: &str =
    "if grep -q '\"turn\":2,' $QA_SKILL_ENVELOPE; then sed -i /breakpoint/d src/app.py; fi";
const MANUAL: (&str, &str) = ("continue", "manual");

impl Stage {
    /// Runs both jobs with the inputs that the last comment started the workflow with.
    fn go_on(&self) -> [Outcome; 2] {
        self.go_on_with(&[])
    }

    /// Runs both jobs like [`Self::go_on`], with further inputs.
    pub(crate) fn go_on_with(&self, further: &[(&str, &str)]) -> [Outcome; 2] {
        let inputs = self.world.github.state().dispatched.last().unwrap().clone();
        let mut inputs: Vec<(String, String)> = inputs
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
            .collect();
        inputs.push((MANUAL.0.to_owned(), MANUAL.1.to_owned()));
        let inputs = inputs.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let inputs: Vec<(&str, &str)> = inputs.chain(further.iter().copied()).collect();
        fs::remove_dir_all(self.checkout.join(".qa-skill")).ok();
        let driven = self.drive(&inputs);
        if self.world.hub.0.lock().unwrap().blobs.contains_key("qa-skill-drive") {
            self.store();
        }
        [driven, self.propose_with(&inputs)]
    }

    /// Runs both jobs like [`Self::go_on`], for a look at the first one.
    fn drive_on(&self) -> Outcome {
        let [driven, _] = self.go_on();
        driven
    }

    /// Conclusions of the check runs of drives, oldest first.
    fn waits(&self) -> Vec<String> {
        let state = self.world.github.state();
        let checks = state.checks.iter().filter(|check| check.name == "qa-skill drive");
        checks.map(|check| check.conclusion.clone().unwrap_or_default()).collect()
    }
}

#[test]
fn a_manual_drive_goes_on_after_the_words_of_a_person() {
    let stage = Stage::new(POLICY, SLOW_MEND);
    assert!(stage.comment("/qa approve").contains("No drive of this head waits"));
    assert!(stage.comment("/qa fix").contains("is started"));
    let [driven, proposed] = stage.go_on();
    driven.expect(3);
    proposed.expect(3);
    let outputs = ["verdict", "waits-for"].map(|name| stage.plain_step().output(name));
    assert_eq!(outputs, ["could-not-complete", "turn 1 of 5"]);
    let check = stage.world.github.state().checks[0].clone();
    assert_eq!((&check.head_sha, check.status.as_str()), (&stage.world.origin.head.to_string(), "completed"));
    assert_eq!(check.title.as_deref(), Some("Waits for a person before turn 1 of 5"));
    let summary = check.summary.unwrap();
    for part in ["Goal: the change passes its gate", "merge-leftover/", "src/app.py:2", "`/qa approve`"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    assert!(!stage.plain_step().output("check-run-url").is_empty());

    let answer = stage.comment("/qa edit Keep `add` as it is; $(id)");
    assert!(answer.contains("goes on"), "{answer}");
    let [driven, proposed] = stage.go_on();
    driven.expect(3);
    proposed.expect(3);
    assert_eq!(stage.plain_step().output("waits-for"), "turn 2 of 5");
    assert_eq!(stage.waits(), ["action_required"; 2]);
    assert!(stage.comment("/qa resume").contains("goes on"));
    let [driven, proposed] = stage.go_on();
    driven.expect(0);
    proposed.expect(0);
    let results = stage.results();
    assert_eq!(stage.text(&results[0].1, "src/app.py"), MENDED);
    assert_eq!(stage.waits(), ["neutral"; 2]);
    assert!(stage.comment("/qa approve").contains("No drive of this head waits"));
    let archive = stage.world.github.state().artifacts.last().unwrap().zip.clone();
    let words: Vec<Option<PersonWord>> =
        edited_session(&archive).turns.into_iter().map(|turn| turn.person).collect();
    let word =
        |text: Option<&str>| Some(PersonWord { text: text.map(str::to_owned), by: Some("wes".to_owned()) });
    assert_eq!(words, [word(Some("Keep `add` as it is; $(id)")), word(None)]);
    // The three runs are one attempt, and the policy allows two.
    stage.start_by_hand("drive #7 at");
    stage.drive(&[]).expect(0);
}

#[test]
fn a_person_stops_a_drive_that_waits() {
    let stage = Stage::new(POLICY, MEND);
    stage.comment("/qa fix");
    stage.drive_on().expect(3);
    assert!(stage.comment("/qa stop").contains("ends with what it brought"));
    let [driven, proposed] = stage.go_on();
    driven.expect(1);
    let outcome = proposed.expect_code(3, "DRIVE_NOT_PROPOSED");
    assert!(outcome.text().contains("did not end in a pass"), "{}", outcome.text());
    assert_eq!((stage.waits(), stage.results()), (vec!["neutral".to_owned()], vec![]));
    let archive = stage.world.github.state().artifacts.last().unwrap().zip.clone();
    assert_eq!(edited_session(&archive).end.unwrap().message, "wes stopped the drive");
}

#[test]
fn a_word_is_for_what_waited_when_it_was_written() {
    let stage = Stage::new(POLICY, MEND);
    stage.comment("/qa fix");
    stage.drive_on().expect(3);
    let began_to_wait = |time: Option<&str>| {
        stage.world.github.state().checks[0].completed_at = time.map(str::to_owned);
    };
    began_to_wait(Some(AFTER_COMMENTS));
    for word in ["/qa approve", "/qa edit Keep it small"] {
        assert!(stage.comment(word).contains("it began to wait after this was written"));
    }
    assert_eq!(stage.world.github.state().runs.len(), 1);
    began_to_wait(None);
    assert!(stage.comment("/qa approve").contains("goes on"));
}

#[test]
fn a_session_that_is_handed_back_does_not_wait_again() {
    let stage = Stage::new(POLICY, MEND);
    stage.comment("/qa fix");
    stage.drive_on().expect(3);
    let waiting = stage.world.github.state().artifacts[0].zip.clone();
    stage.comment("/qa approve");
    stage.store_archive("qa-skill-drive", &waiting);
    let inputs = stage.world.github.state().dispatched.last().unwrap().clone();
    let own =
        inputs.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
    let outcome = stage.propose_with(&own.chain([MANUAL]).collect::<Vec<_>>());
    let outcome = outcome.expect_code(3, "DRIVE_NOT_PROPOSED");
    assert!(outcome.text().contains("neither took the turn"), "{}", outcome.text());
    assert_eq!((stage.waits(), stage.results()), (vec!["action_required".to_owned()], vec![]));
}

#[test]
fn a_drive_that_runs_again_is_proposed_from_its_newest_session() {
    let stage = Stage::new(POLICY, "exit 0");
    stage.start_by_hand("drive #7 at");
    stage.drive(&[]).expect(1);
    let uploaded = || stage.world.hub.0.lock().unwrap().blobs.clone();
    stage.store_archive("qa-skill-drive", &uploaded()["qa-skill-drive"]);
    stage.propose().expect_code(3, "DRIVE_NOT_PROPOSED");

    let agent = stage.checkout.join("agent.sh");
    fs::write(agent, format!("#!/bin/bash\n{MEND}\n")).unwrap();
    fs::remove_dir_all(stage.checkout.join(".qa-skill")).ok();
    stage.drive(&[]).expect(0);
    stage.store_archive("qa-skill-drive-2", &uploaded()["qa-skill-drive-2"]);
    stage.propose().expect(0);
    assert_eq!(stage.text(&stage.results()[0].1, "src/app.py"), MENDED);
}

#[test]
fn a_drive_goes_on_from_the_session_that_was_verified_and_from_no_other() {
    let stage = Stage::new(&format!("{POLICY}[drive]\nmax-attempts-per-head = 1\n"), MEND);
    stage.comment("/qa fix");
    stage.drive_on().expect(3);
    let genuine = stage.world.github.state().artifacts[0].clone();
    assert!(stage.comment("/qa approve").contains("goes on"));
    let inputs = stage.world.github.state().dispatched.last().unwrap().clone();
    let runs = stage.world.github.state().runs.clone();
    let head = stage.world.origin.head.to_string();
    let attempt = |edit: &dyn Fn(&mut DriveSession), named: bool| {
        let place = tempfile::tempdir().unwrap();
        zip::ZipArchive::new(std::io::Cursor::new(&genuine.zip)).unwrap().extract(place.path()).unwrap();
        let session = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
        change(&session, edit);
        let zip = packed(place.path());
        let digest = qa_core::canonical::digest(&edited_session(&zip)).unwrap();
        let mut state = stage.world.github.state();
        let digest_of_zip = Some(format!("sha256:{}", sha256(&zip)));
        state.artifacts = vec![Artifact { zip, digest: digest_of_zip, ..genuine.clone() }];
        state.runs = runs.clone();
        let mut inputs = inputs.clone();
        if named {
            // Somebody who may write starts the workflow by hand, with the digest of the forged session.
            inputs["session"] = format!("60@{digest}").into();
            state.runs.last_mut().unwrap().title = Some(format!("drive #7 at {head} from 60@{digest}"));
        }
        state.dispatched.push(inputs);
        drop(state);
        let [driven, proposed] = stage.go_on();
        assert_ne!((driven.exit, proposed.exit), (0, 0));
        assert_eq!(stage.results(), []);
        driven
    };
    let refused = |edit: &dyn Fn(&mut DriveSession), named: bool, code: &str, reason: &str| {
        let outcome = attempt(edit, named).expect_code(if code.starts_with("DET") { 4 } else { 3 }, code);
        assert!(outcome.text().contains(reason), "{reason}: {}", outcome.text());
    };
    let other_agent = |session: &mut DriveSession| session.start.agent = vec!["./other.sh".to_owned()];
    refused(&other_agent, false, "DRIVE_NOT_ALLOWED", "not the one that the input `session` names");
    refused(&other_agent, true, "DRIVE_NOT_ALLOWED", "another agent");
    let second = |session: &mut DriveSession| session.start.attempt = 2;
    refused(&second, true, "DRIVE_NOT_ALLOWED", "does not wait");
    let said = |session: &mut DriveSession| session.word = Some(PersonWord { text: None, by: None });
    refused(&said, true, "DRIVE_NOT_ALLOWED", "does not wait");
    let cut = |session: &mut DriveSession| {
        session.bootstrap.as_mut().unwrap().tasks[0].summary = "Delete the tests.".to_owned();
    };
    refused(&cut, true, "DETERMINISM_DRIFT_DETECTED", "the judgement of the head");

    // A run that does not say what it goes on with, and one that goes on from a run of another pull request.
    let mut state = stage.world.github.state();
    state.artifacts = vec![genuine.clone()];
    state.runs = runs.clone();
    state.dispatched.push(inputs.clone());
    state.runs.last_mut().unwrap().title = Some(format!("drive #7 at {head}"));
    drop(state);
    stage.drive_on().expect_code(3, "DRIVE_NOT_ALLOWED");
    let mut state = stage.world.github.state();
    state.runs = runs.clone();
    state.runs[0].title = Some(format!("drive #8 at {head}"));
    drop(state);
    let outcome = stage.drive_on().expect_code(3, "DRIVE_NOT_ALLOWED");
    assert!(outcome.text().contains("none of this pull request"), "{}", outcome.text());
    // Words and sessions need each other.
    stage.world.github.state().runs = runs.clone();
    let session = inputs["session"].as_str().unwrap();
    for given in [
        vec![("session", session)],
        vec![("word", "approve")],
        vec![("session", session), ("word", "edit"), MANUAL],
        vec![("session", session), ("word", "approve"), ("note", "x"), MANUAL],
        vec![("session", session), ("word", "approve")],
        vec![("session", "60"), ("word", "approve"), MANUAL],
        vec![("session", session), ("word", "approve"), ("person", "a b"), MANUAL],
    ] {
        stage.drive(&given).expect_code(2, "INPUT_INVALID");
    }

    // From the genuine one it goes on, once: what the second run does counts as another attempt.
    stage.drive_on().expect(0);
    assert_eq!(stage.results().len(), 1);
    let mut state = stage.world.github.state();
    let mut again = state.runs.last().unwrap().clone();
    again.id += 1;
    state.runs.push(again);
    drop(state);
    let outcome = stage.drive_on().expect_code(3, "DRIVE_NOT_ALLOWED");
    assert!(outcome.text().contains("attempt 2 for this head"), "{}", outcome.text());
}

#[test]
fn words_that_nobody_gave_push_nothing() {
    let stage = Stage::new(POLICY, MEND);
    stage.comment("/qa fix");
    stage.drive_on().expect(3);
    stage.comment("/qa edit Keep it small");
    let [driven, proposed] = stage.go_on();
    driven.expect(0);
    proposed.expect(0);
    let (branch, _) = stage.results().remove(0);
    let name = format!("refs/heads/{branch}");
    stage.world.origin.repo.git.find_reference(&name).unwrap().delete().unwrap();
    let inputs = stage.world.github.state().dispatched.last().unwrap().clone();
    let genuine = stage.world.github.state().artifacts.last().unwrap().clone();
    let propose = |inputs: &Value, given: &[(&str, &str)], edit: &dyn Fn(&mut Option<PersonWord>)| {
        let place = tempfile::tempdir().unwrap();
        zip::ZipArchive::new(std::io::Cursor::new(&genuine.zip)).unwrap().extract(place.path()).unwrap();
        let session = fs::read_dir(place.path()).unwrap().next().unwrap().unwrap().path();
        change(&session, |drive| restart(drive, &|_| (), edit));
        qa_skill(["verify"]).arg(&session).run().expect(0);
        let zip = packed(place.path());
        let digest = Some(format!("sha256:{}", sha256(&zip)));
        *stage.world.github.state().artifacts.last_mut().unwrap() =
            Artifact { zip, digest, ..genuine.clone() };
        let own =
            inputs.as_object().unwrap().iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap()));
        let outcome = stage.propose_with(&own.chain(given.iter().copied()).collect::<Vec<_>>());
        outcome.expect_code(3, "DRIVE_NOT_PROPOSED");
        assert_eq!(stage.results(), []);
    };
    propose(&inputs, &[MANUAL], &|word| word.as_mut().unwrap().text = Some("Keep it big".to_owned()));
    propose(&inputs, &[MANUAL], &|word| word.as_mut().unwrap().by = Some("kim".to_owned()));
    propose(&inputs, &[MANUAL], &|word| *word = None);
    // A drive that nobody let go on, and one that asks nobody.
    let plain = json!({"head": inputs["head"], "goal": ""});
    propose(&plain, &[MANUAL], &|_| ());
    propose(&plain, &[], &|_| ());
}

#[test]
fn a_head_that_moves_between_turns_ends_the_drive() {
    let pull = |state: &str, head: &str| {
        let pull = json!({"number": NUMBER, "state": state, "head": {"sha": head, "ref": "topic"}});
        Fault::Answer(Response::json(200, &pull))
    };
    let other = "a1".repeat(20);
    for (call, state, turns, message) in [
        (2, "open", 0, "the head is at a1a1a1a1a1a1"),
        (3, "open", 1, "the head is at a1a1a1a1a1a1"),
        (3, "closed", 1, "the head is gone"),
    ] {
        let stage = Stage::new(POLICY, SLOW_MEND);
        stage.start_by_hand("drive #7 at");
        stage.world.github.fault(Route::GetPull, call, pull(state, &other));
        stage.drive(&[]).expect(3);
        stage.store();
        let archive = stage.world.github.state().artifacts[0].zip.clone();
        let session = edited_session(&archive);
        let end = session.end.unwrap();
        assert_eq!((session.turns.len(), end.reason), (turns, DriveEndReason::HeadMoved));
        assert!(end.message.starts_with(message), "{}", end.message);
        stage.propose().expect_code(3, "DRIVE_NOT_PROPOSED");
        assert_eq!(stage.results(), []);
    }
    // Without an answer no turn begins.
    let stage = Stage::new(POLICY, MEND);
    stage.start_by_hand("drive #7 at");
    stage.world.github.fault(Route::GetPull, 2, Fault::Refuse(404));
    assert_ne!(stage.drive(&[]).exit, 0);
}

/// Changes the settings and the turns of a session, and derives envelopes and digests from them again, so that it holds offline.
pub(crate) fn restart(
    session: &mut DriveSession,
    edit_start: &dyn Fn(&mut DriveStart),
    edit_word: &dyn Fn(&mut Option<PersonWord>),
) {
    let turns = std::mem::take(&mut session.turns);
    edit_start(&mut session.start);
    let had_ended = session.end.take().is_some();
    for mut turn in turns {
        session.word = turn.person.take();
        edit_word(&mut session.word);
        let Some(Step::Dispatch(envelope)) = next_step(session) else { panic!("no turn follows") };
        turn.envelope_id = envelope.envelope_id.clone();
        turn.answer.envelope_id = envelope.envelope_id;
        let judged = turn.judgement.take().zip(turn.agent_change.take());
        (turn.outcome, turn.digest) = (None, None);
        record_turn(session, turn);
        if let Some((judgement, change)) = judged {
            judge_turn(session, judgement, change);
        }
    }
    if let Some(Step::End(end)) = next_step(session).filter(|_| had_ended) {
        session.end = Some(end);
    }
}
