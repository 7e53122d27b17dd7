//! Findings of reviews from turn to turn, where no stored reply is left.

use std::sync::{Arc, Mutex};

use serde_json::json;

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
        let start = topic("import db\n\n\ndef find(name):\n    pass\n", "one\n");
        let mut pull = PullRequest::from_start(&policy, &start, &topic(FAULT, "one\n"));
        pull.variables = vec![("OPENAI_API_KEY", KEY), ("NO_PROXY", "127.0.0.1")];
        let mut scene = Self { pull, says, model };
        scene.judge("opened", false, 1);
        *scene.says.lock().unwrap() = findings(CHAT, &[]);
        scene
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
    scene.push(FAULT, "three\n", false, 0);
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

#[test]
fn an_expired_artifact_of_the_last_review_is_named() {
    let mut scene = Scene::opened();
    scene.push(FAULT, "two\n", true, 3);
    for artifact in &mut scene.pull.world.github.state().artifacts {
        artifact.expired |= artifact.id == 1;
    }
    let turn = scene.pull.judge("ready_for_review", false);
    let text = format!("{}{}", turn.outcome.text(), turn.outcome.stderr);
    assert!(text.contains("findings of earlier reviews are those of stored replies alone"), "{text}");
}
