//! The turns of an observed pull request: one ledger from run to run, found by the artifacts alone.

use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::support::fake_github::{Artifact, FakeGitHub, Fault, LATER, Route, Run};
use crate::support::origin::{NAME, Origin};
use crate::support::step::{Step, TOKEN, clean, faulty};
use crate::support::world::World;
use crate::support::{Files, Outcome, Program, qa_skill};

fn observed(files: &Files) -> Files {
    files.clone().with(".qa-skill/policy.toml", "[observer]\nenabled = true\n")
}

/// A pull request on a stand-in of its own.
struct PullRequest {
    world: World,
    before: Option<String>,
    turns: u64,
}

/// A step that has run.
struct Turn {
    outcome: Outcome,
    checkout: PathBuf,
    mode: String,
    stuck: String,
    ledger: PathBuf,
    run: String,
}

impl Turn {
    fn ledger(&self) -> Value {
        serde_json::from_slice(&std::fs::read(&self.ledger).unwrap()).unwrap()
    }

    /// Returns the counts of the last turn: new, still open, reopened and resolved.
    fn counts(&self) -> [u64; 4] {
        let ledger = self.ledger();
        let last = ledger["entries"].as_array().unwrap().last().unwrap();
        ["opened", "open", "reopened", "resolved"].map(|name| last["turn"]["counts"][name].as_u64().unwrap())
    }
}

impl PullRequest {
    fn opened(topic: &Files) -> Self {
        let start = Files::from_texts(&[("src/app.py", "value = 1\n"), ("README.md", "# Widget\n")]);
        let origin = Origin::from_start(&observed(&start), &observed(topic));
        let github = FakeGitHub::new(NAME, TOKEN);
        let api = github.clone();
        let world = World::around(origin, github, move |request| api.answer(request));
        Self { world, before: None, turns: 0 }
    }

    fn push(&mut self, topic: &Files) {
        let origin = &mut self.world.origin;
        let repo = Rc::clone(&origin.repo);
        self.before = Some(origin.head.to_string());
        origin.head = repo.commit(repo.tree(&observed(topic)), &[origin.head]);
        let merged = observed(topic).with("docs/a.md", "step 6\n");
        origin.merge = repo.commit(repo.tree(&merged), &[origin.base, origin.head]);
        repo.reference(&format!("refs/pull/{}/head", origin.number), origin.head);
        repo.reference(&origin.merge_ref, origin.merge);
    }

    fn step(&self, action: &str, is_draft: bool) -> Step<'_> {
        let origin = &self.world.origin;
        let place = origin.repo.beside(&format!("turn-{}-{action}", self.turns));
        let mut step = Step::on_pull_request_in(
            origin.checkout_at(place, &self.world.proxy, 2),
            origin,
            &self.world.proxy,
        );
        step.event["action"] = action.into();
        step.event["pull_request"]["draft"] = is_draft.into();
        if let Some(before) = self.before.as_ref().filter(|_| action == "synchronize") {
            step.event["before"] = before.as_str().into();
        }
        step
    }

    fn program(&self, step: &Step<'_>) -> Program {
        let workflow = format!("{NAME}/.github/workflows/qa.yml@refs/pull/7/merge");
        self.world.program(step).env("GITHUB_WORKFLOW_REF", workflow)
    }

    /// Judges the head and stores the artifact of its run.
    fn judge(&mut self, action: &str, is_draft: bool) -> Turn {
        self.turns += 1;
        let step = self.step(action, is_draft);
        // An earlier step of the job may have run code of the change.
        let planted = step.checkout.join(".qa-skill/observer/planted");
        std::fs::create_dir_all(&planted).unwrap();
        std::fs::write(planted.join("hashes.json"), "{}").unwrap();
        let outcome = self.program(&step).run();
        let turn = Turn {
            outcome,
            checkout: step.checkout.clone(),
            mode: step.output("observer-mode"),
            stuck: step.output("stuck"),
            ledger: step.output("observer-ledger-path").into(),
            run: step.output("run-path"),
        };
        let head = self.world.origin.head.to_string();
        assert!(matches!(turn.outcome.exit, 0 | 1), "{}", turn.outcome.stderr);
        assert!(!planted.exists(), "the artifact would hold it");
        let zip = self.world.uploaded();
        let mut state = self.world.github.state();
        state.artifacts.push(Artifact {
            id: self.turns,
            name: "qa-skill-run".to_owned(),
            zip,
            expired: false,
            digest: None,
            created_at: LATER.to_owned(),
            head_sha: head.clone(),
            head_repository_id: 7,
        });
        state.runs.push(Run {
            id: self.turns + 10,
            head_sha: head,
            status: "completed".to_owned(),
            head_repository_id: 7,
            ..Run::default()
        });
        drop(state);
        turn
    }
}

#[test]
fn a_ledger_grows_from_push_to_push_and_says_what_became_of_findings() {
    let mut pull = PullRequest::opened(&faulty());
    let mut modes = Vec::new();
    let mut last = None;
    for (topic, action, is_draft, exit, counts) in [
        (None, "opened", true, 1, [1, 0, 0, 0]),
        (Some(faulty().with("notes.md", "more\n")), "synchronize", true, 1, [0, 1, 0, 0]),
        (Some(clean()), "synchronize", true, 0, [0, 0, 0, 1]),
        (Some(faulty()), "synchronize", true, 1, [0, 0, 1, 0]),
        // The same head again: its own run is the turn before.
        (None, "ready_for_review", false, 1, [0, 1, 0, 0]),
    ] {
        if let Some(topic) = topic {
            pull.push(&topic);
        }
        let turn = pull.judge(action, is_draft);
        assert_eq!(turn.outcome.exit, exit, "{action}: {}", turn.outcome.stderr);
        assert_eq!(turn.counts(), counts, "{action}: {}", turn.outcome.stderr);
        modes.push(turn.mode.clone());
        last = Some(turn);
    }
    assert_eq!(modes, ["bootstrap", "cadence", "cadence", "cadence", "cross-check"]);
    let last = last.unwrap();
    assert_eq!(last.stuck, "false");
    let numbers: Vec<Value> = last.ledger()["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["turn"]["number"].clone())
        .collect();
    assert_eq!(json!(numbers), json!([1, 2, 3, 4, 5]));
    let line = "Observer: turn 5, cross-check. Findings: 0 new, 1 still open, 0 reopened, 0 resolved.";
    assert!(last.outcome.text().contains(line), "{}", last.outcome.text());
    let summary = std::fs::read_to_string(pull.world.origin.repo.beside("summary.md")).unwrap();
    assert!(summary.contains(line), "{summary}");
    qa_skill(["verify", &last.run, "--ledger"]).arg(&last.ledger).within(&last.checkout).run().expect(0);
}

#[test]
fn a_turn_before_that_cannot_be_used_costs_a_bootstrap_and_never_the_verdict() {
    let another = {
        let mut another = PullRequest::opened(&faulty());
        another.judge("opened", true);
        another.world.github.state().artifacts[0].zip.clone()
    };
    type Spoil<'a> = Box<dyn Fn(&PullRequest) + 'a>;
    let spoils: [(&str, Spoil<'_>); 5] = [
        ("stored an artifact", Box::new(|pull| pull.world.github.state().artifacts.clear())),
        (
            "ARTIFACT_ARCHIVE_REFUSED",
            Box::new(|pull| pull.world.github.state().artifacts[0].zip.truncate(300)),
        ),
        ("HEAD_SUPERSEDED", Box::new(|pull| pull.world.github.state().artifacts[0].zip.clone_from(&another))),
        ("stored an artifact", Box::new(|pull| pull.world.github.state().runs.clear())),
        ("answered 403", Box::new(|pull| pull.world.github.fault(Route::ListRuns, 2, Fault::Refuse(403)))),
    ];
    for (reason, spoil) in spoils {
        let mut pull = PullRequest::opened(&clean());
        assert_eq!(pull.judge("opened", true).outcome.exit, 0);
        spoil(&pull);
        pull.push(&clean().with("notes.md", "more\n"));
        let turn = pull.judge("synchronize", true);
        let text = turn.outcome.text();
        assert_eq!(turn.outcome.exit, 0, "{reason}: {}", turn.outcome.stderr);
        assert!(text.contains("the ledger begins anew") && text.contains(reason), "{reason}: {text}");
        assert_eq!(turn.mode, "bootstrap", "{reason}");
        assert_eq!(turn.ledger()["entries"].as_array().unwrap().len(), 1, "{reason}");
    }
}

#[test]
fn the_ledger_of_another_pull_request_is_not_continued() {
    let mut pull = PullRequest::opened(&clean());
    assert_eq!(pull.judge("opened", true).outcome.exit, 0);
    pull.world.origin.number = 8;
    pull.world.origin.merge_ref = "refs/pull/8/merge".to_owned();
    pull.push(&clean().with("notes.md", "more\n"));
    let turn = pull.judge("synchronize", true);
    assert!(turn.outcome.text().contains("is that of another pull request"), "{}", turn.outcome.text());
    assert_eq!((turn.mode.as_str(), &turn.ledger()["pullRequest"]), ("bootstrap", &json!(8)));
}

#[test]
fn parts_of_a_draft_are_of_the_mode_of_the_run_that_joins_them() {
    let mut pull = PullRequest::opened(&clean());
    assert_eq!(pull.judge("opened", true).outcome.exit, 0);
    pull.push(&clean().with("notes.md", "more\n"));
    let step = pull.step("synchronize", true);
    pull.program(&step).env("INPUT_COMMAND", "check").env("INPUT_SHARD", "1/1").run().expect(0);
    let part = PathBuf::from(step.output("run-path"));
    let parts = part.parent().unwrap().strip_prefix(&step.checkout).unwrap();
    pull.program(&step).env("INPUT_COMMAND", "aggregate").env("INPUT_PARTS", parts).run().expect(0);
    assert_eq!(step.output("observer-mode"), "cadence");
}
