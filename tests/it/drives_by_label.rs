//! The label that starts a drive: who may set it, and what becomes of it.

use serde_json::{Value, json};

use crate::drives_on_github::{MEND, NUMBER, POLICY, Stage};
use crate::support::Outcome;
use crate::support::fake_github::Permission;

const LABEL: &str = "qa:fix";

/// Account of a login, as the stand-in has it.
fn account(login: &str) -> u64 {
    login.bytes().fold(7, |id, byte| (id * 31 + u64::from(byte)) % 1_000_003)
}

fn labeled(login: &str) -> Value {
    json!({
        "action": "labeled", "number": NUMBER, "label": {"name": LABEL},
        "pull_request": {"number": NUMBER, "updated_at": "2026-01-02T03:04:05Z"},
        "sender": {"login": login, "id": account(login), "type": "User"},
    })
}

impl Stage {
    /// Has the label set, and the commands' workflow run for the event.
    fn label(&self, event: Value) -> Outcome {
        self.world.github.state().labels.entry(NUMBER).or_default().insert(LABEL.to_owned());
        self.label_event(event)
    }

    fn label_event(&self, event: Value) -> Outcome {
        let inputs = [("command", "route"), ("workflow", "qa.yml"), ("drive-workflow", "drive.yml")];
        self.step("pull_request_target", event, &inputs)
    }

    fn has_label(&self) -> bool {
        self.world.github.state().labels.get(&NUMBER).is_some_and(|labels| labels.contains(LABEL))
    }

    fn count_runs(&self) -> usize {
        self.world.github.state().runs.len()
    }
}

#[test]
fn the_label_starts_a_drive_as_the_comment_does() {
    let stage = Stage::new(POLICY, MEND);
    stage.label(labeled("wes")).expect(0);
    let head = stage.world.origin.head.to_string();
    let title = stage.world.github.state().runs[0].title.clone();
    assert_eq!((title, stage.has_label()), (Some(format!("drive #7 at {head}")), false));
    let answer = stage.world.github.state().comments.last().unwrap().body.clone();
    assert!(answer.contains("A drive of this head is started."), "{answer}");
    // A job that is run again finds no label, or the run that it started before it was killed.
    let outcome = stage.label_event(labeled("wes")).expect(0);
    assert!(outcome.text().contains("does not have the label any more"), "{}", outcome.text());
    stage.label(labeled("wes")).expect(0);
    assert_eq!((stage.count_runs(), stage.has_label()), (1, false));
    assert_eq!(stage.world.github.state().comments.len(), 1);
    stage.drive(&[("head", &head)]).expect(0);
}

#[test]
fn a_label_of_somebody_who_may_not_write_starts_nothing() {
    let stage = Stage::new(POLICY, MEND);
    let triage = Permission { permission: "read".to_owned(), role_name: "triage".to_owned() };
    stage.world.github.state().roles.insert("tri".to_owned(), triage);
    stage.label(labeled("tri")).expect(0);
    let answer = stage.world.github.state().comments.last().unwrap().body.clone();
    assert!(answer.contains("needs the role write"), "{answer}");
    assert!(!stage.has_label());
    // Another account that has the login of somebody who may write.
    let mut other = labeled("wes");
    other["sender"]["id"] = 1.into();
    stage.label(other).expect(0);
    let mut bot = labeled("wes");
    bot["sender"]["type"] = "Bot".into();
    assert!(stage.label(bot).expect(0).text().contains("a bot gives no commands"));
    assert!(stage.has_label());
    for (pointer, value) in [("/label/name", "bug"), ("/action", "unlabeled")] {
        let mut event = labeled("wes");
        *event.pointer_mut(pointer).unwrap() = value.into();
        stage.label(event).expect(0);
    }
    // The workflow of `pull_request` is the pull request's own.
    let inputs = [("command", "route"), ("workflow", "qa.yml"), ("drive-workflow", "drive.yml")];
    stage.step("pull_request", labeled("wes"), &inputs).expect_code(2, "EVENT_UNUSABLE");
    stage.world.github.state().forks.insert(NUMBER);
    stage.label(labeled("wes")).expect(0);
    let answer = stage.world.github.state().comments.last().unwrap().body.clone();
    assert!(answer.contains("is from a fork"), "{answer}");
    assert_eq!(stage.count_runs(), 0);
}
