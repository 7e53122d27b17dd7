//! Findings of reviews from turn to turn, where no stored reply is left.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::answers::CHAT;
use crate::support::reviews::{FAULT, KEY, finding, findings, reviewing};
use crate::support::{Files, Response, Server};
use crate::turns::{PullRequest, Turn};

const POLICY: &str =
    "[observer]\nenabled = true\n[rules.\"review-security/injection\"]\nstrength = \"block\"\n";

/// A pull request with a fault that the model finds, until a test changes its answer.
struct Scene {
    pull: PullRequest,
    says: Arc<Mutex<Response>>,
    model: Server,
}

fn topic(app: &str, notes: &str) -> Files {
    Files::from_texts(&[("app.py", app), ("notes.md", notes)])
}

impl Scene {
    fn opened() -> Self {
        let says = Arc::new(Mutex::new(findings(CHAT, &[finding()])));
        let next = Arc::clone(&says);
        let model = Server::start(move |_| next.lock().unwrap().clone());
        let policy = format!("{POLICY}{}", reviewing(CHAT, &model.url(), "required = true\n"));
        let mut scene = Self::of(&policy, says, model);
        scene.judge("opened", false, 1);
        *scene.says.lock().unwrap() = findings(CHAT, &[]);
        scene
    }

    fn of(policy: &str, says: Arc<Mutex<Response>>, model: Server) -> Self {
        let start = topic("import db\n\n\ndef find(name):\n    pass\n", "one\n");
        let mut pull = PullRequest::from_start(policy, &start, &topic(FAULT, "one\n"));
        pull.variables = vec![("OPENAI_API_KEY", KEY), ("NO_PROXY", "127.0.0.1")];
        Self { pull, says, model }
    }

    fn judge(&mut self, action: &str, is_draft: bool, exit: i32) -> Turn {
        let turn = self.pull.judge(action, is_draft);
        let text = format!("{}{}", turn.outcome.text(), turn.outcome.stderr);
        assert_eq!(turn.outcome.exit, exit, "{action}: {text}");
        let shows = text.contains("review-security/injection");
        assert_eq!(shows, exit == 1, "{action}: {text}");
        turn
    }

    fn push(&mut self, app: &str, notes: &str, is_draft: bool, exit: i32) -> Turn {
        self.pull.push(&topic(app, notes));
        self.judge("synchronize", is_draft, exit)
    }
}

#[test]
fn a_finding_does_not_vanish_while_its_hunk_stays() {
    let mut scene = Scene::opened();
    for notes in ["two\n", "three\n"] {
        let turn = scene.push(FAULT, notes, false, 1);
        turn.verify().run().expect(0);
    }
    // The model answered each time, and found nothing.
    assert_eq!(scene.model.requests().len(), 3);
    let mended = FAULT.replace("run(\"select * from users where name = '\" + name + \"'\")", "find(name)");
    scene.push(&mended, "three\n", false, 0);
    // The same text again is the same hunk.
    scene.push(FAULT, "three\n", false, 1);
}

#[test]
fn a_finding_is_kept_over_turns_that_asked_nobody() {
    let mut scene = Scene::opened();
    // Drafts leave reviews for later, so that the run with the finding is the last but two.
    for notes in ["two\n", "three\n"] {
        scene.push(FAULT, notes, true, 3);
    }
    assert_eq!(scene.model.requests().len(), 1);
    scene.judge("ready_for_review", false, 1);
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn a_finding_is_kept_over_a_turn_whose_model_did_not_answer() {
    let mut scene = Scene::opened();
    *scene.says.lock().unwrap() = Response::json(404, &json!({}));
    scene.push(FAULT, "two\n", false, 1);
    *scene.says.lock().unwrap() = findings(CHAT, &[]);
    scene.push(FAULT, "three\n", false, 1);
}

/// The turn before is a run of the same head that asked nobody.
#[test]
fn a_finding_is_kept_over_a_second_turn_of_its_head() {
    let mut scene = Scene::opened();
    scene.judge("converted_to_draft", true, 3);
    scene.push(FAULT, "two\n", false, 1);
}

#[test]
fn a_finding_is_kept_over_more_turns_than_a_ledger_lists() {
    let mut scene = Scene::opened();
    for _ in 0..11 {
        scene.judge("converted_to_draft", true, 3);
    }
    scene.judge("ready_for_review", false, 1);
}

/// Not all lenses of a run need to be asked for.
#[test]
fn a_finding_is_kept_over_a_turn_of_other_lenses() {
    let mut scene = Scene::opened();
    scene.pull.variables.push(("INPUT_LENSES", "secret-token"));
    scene.push(FAULT, "two\n", false, 3);
    scene.pull.variables.pop();
    scene.push(FAULT, "three\n", false, 1);
}

/// A pull request whose review asks twice: the first turn gets these answers, later ones get none with a finding.
fn asked_twice(answers: [Response; 2]) -> Scene {
    let answers = Mutex::new(answers.into_iter().collect::<VecDeque<Response>>());
    let model = Server::start(move |_| {
        let next = answers.lock().unwrap().pop_front();
        next.unwrap_or_else(|| findings(CHAT, &[]))
    });
    let policy =
        format!("{POLICY}{}", reviewing(CHAT, &model.url(), "required = true\nsamples = 2\nagree = 1\n"));
    let mut scene = Scene::of(&policy, Arc::new(Mutex::new(findings(CHAT, &[]))), model);
    scene.judge("opened", false, 1);
    scene
}

#[test]
fn a_finding_of_a_review_that_got_one_of_two_answers_is_kept() {
    let mut scene = asked_twice([findings(CHAT, &[finding()]), Response::json(404, &json!({}))]);
    scene.push(FAULT, "two\n", false, 1);
}

/// Answers that differ about a line may be about two flaws, so no second model may excuse one of them, in later turns as well.
#[test]
fn a_finding_that_answers_tell_in_other_words_stays_one_of_those() {
    // Which of the two answers comes first is not known.
    let answers = ["Other words.", "Words of another kind."].map(|words| {
        let mut reworded = finding();
        reworded["summary"] = words.into();
        findings(CHAT, &[reworded])
    });
    let mut scene = asked_twice(answers);
    let turn = scene.push(FAULT, "two\n", false, 1);
    let replies: Value =
        serde_json::from_slice(&std::fs::read(turn.run.join("recordings/replies.json")).unwrap()).unwrap();
    assert_eq!(replies["earlier"][0]["findings"][0]["differs"], true, "{replies}");
}
