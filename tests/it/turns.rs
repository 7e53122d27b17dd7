//! The turns of an observed pull request: one ledger from run to run, found by the artifacts alone.

use std::path::PathBuf;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::gates_run::EXECUTION;
use crate::support::fake_github::{Artifact, FakeGitHub, Fault, LATER, Route, Run};
use crate::support::origin::{NAME, Origin};
use crate::support::step::{Step, TOKEN, clean, faulty};
use crate::support::world::World;
use crate::support::{Files, Outcome, Program, conflict, qa_skill};

const OBSERVED: &str = "[observer]\nenabled = true\n";

/// A pull request on a stand-in of its own.
pub(crate) struct PullRequest {
    pub(crate) world: World,
    policy: String,
    before: Option<String>,
    pub(crate) turns: u64,
    /// Variables of the environment of each step.
    pub(crate) variables: Vec<(&'static str, &'static str)>,
}

/// A step that has run.
pub(crate) struct Turn {
    pub(crate) outcome: Outcome,
    pub(crate) checkout: PathBuf,
    pub(crate) mode: String,
    stuck: String,
    qa_update: String,
    review_request: String,
    guidance: String,
    pub(crate) ledger: PathBuf,
    pub(crate) run: PathBuf,
    /// The job summary, and the summary of the check run.
    summaries: [String; 2],
}

/// Returns the path that an output names. In a container the checkout has another one.
fn place(step: &Step<'_>, output: &str) -> PathBuf {
    let path = step.output(output);
    step.checkout.join(path.strip_prefix("/github/workspace/").unwrap_or(&path))
}

impl Turn {
    pub(crate) fn ledger(&self) -> Value {
        serde_json::from_slice(&std::fs::read(&self.ledger).unwrap()).unwrap()
    }

    /// Holds the ledger against the run.
    pub(crate) fn verify(&self) -> Program {
        let verify = qa_skill(["verify"]).arg(&self.run).arg("--ledger").arg(&self.ledger);
        verify.within(&self.checkout)
    }

    /// Returns the counts of the last turn: new, still open, reopened and resolved.
    fn counts(&self) -> [u64; 4] {
        let ledger = self.ledger();
        let last = ledger["entries"].as_array().unwrap().last().unwrap();
        ["opened", "open", "reopened", "resolved"].map(|name| last["turn"]["counts"][name].as_u64().unwrap())
    }
}

impl PullRequest {
    pub(crate) fn opened(topic: &Files) -> Self {
        Self::opened_under(OBSERVED, topic)
    }

    pub(crate) fn opened_under(policy: &str, topic: &Files) -> Self {
        let start = Files::from_texts(&[("src/app.py", "value = 1\n"), ("README.md", "# Widget\n")]);
        Self::from_start(policy, &start, topic)
    }

    /// A pull request of a topic that is the first push to a repository of these files.
    pub(crate) fn from_start(policy: &str, start: &Files, topic: &Files) -> Self {
        let [start, topic] = [start, topic].map(|files| files.clone().with(".qa-skill/policy.toml", policy));
        let origin = Origin::from_start(&start, &topic);
        let github = FakeGitHub::new(NAME, TOKEN);
        let api = github.clone();
        let world = World::around(origin, github, move |request| api.answer(request));
        Self { world, policy: policy.to_owned(), before: None, turns: 0, variables: Vec::new() }
    }

    pub(crate) fn push(&mut self, topic: &Files) {
        let origin = &mut self.world.origin;
        let repo = Rc::clone(&origin.repo);
        self.before = Some(origin.head.to_string());
        let topic = topic.clone().with(".qa-skill/policy.toml", &*self.policy);
        origin.head = repo.commit(repo.tree(&topic), &[origin.head]);
        let merged = topic.with("docs/a.md", "step 6\n");
        origin.merge = repo.commit(repo.tree(&merged), &[origin.base, origin.head]);
        repo.reference(&format!("refs/pull/{}/head", origin.number), origin.head);
        repo.reference(&origin.merge_ref, origin.merge);
    }

    pub(crate) fn step(&self, action: &str, is_draft: bool) -> Step<'_> {
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

    pub(crate) fn program(&self, step: &Step<'_>) -> Program {
        let workflow = format!("{NAME}/.github/workflows/qa.yml@refs/pull/7/merge");
        let program = self.world.program(step).env("GITHUB_WORKFLOW_REF", workflow);
        self.variables.iter().fold(program, |program, (name, value)| program.env(name, value))
    }

    /// Judges the head and stores the artifact of its run.
    pub(crate) fn judge(&mut self, action: &str, is_draft: bool) -> Turn {
        self.turns += 1;
        let step = self.step(action, is_draft);
        let turn = self.play(&step);
        assert!(matches!(turn.outcome.exit, 0 | 1 | 3), "{}{}", turn.outcome.text(), turn.outcome.stderr);
        let head = self.world.origin.head.to_string();
        self.store(head);
        turn
    }

    /// Runs a step.
    pub(crate) fn play(&self, step: &Step<'_>) -> Turn {
        // An earlier step of the job may have run code of the change.
        let planted = step.checkout.join(".qa-skill/observer/planted");
        std::fs::create_dir_all(&planted).unwrap();
        std::fs::write(planted.join("hashes.json"), "{}").unwrap();
        let summary = self.world.origin.repo.beside("summary.md");
        std::fs::remove_file(&summary).ok();
        let outcome = self.program(step).run();
        let check = self.world.github.state().checks.last().and_then(|check| check.summary.clone());
        let turn = Turn {
            outcome,
            summaries: [std::fs::read_to_string(summary).unwrap(), check.unwrap()],
            checkout: step.checkout.clone(),
            qa_update: step.output("qa-update"),
            review_request: step.output("review-request"),
            guidance: step.output("guidance"),
            mode: step.output("observer-mode"),
            stuck: step.output("stuck"),
            ledger: place(step, "observer-ledger-path"),
            run: place(step, "run-path"),
        };
        assert!(turn.mode.is_empty() || !planted.exists(), "the artifact would hold it");
        turn
    }

    /// Lists what the last step uploaded as the artifact of a run of a head.
    pub(crate) fn store(&self, head: String) {
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
            run_id: self.turns + 10,
        });
        state.runs.push(Run {
            id: self.turns + 10,
            head_sha: head,
            status: "completed".to_owned(),
            head_repository_id: 7,
            ..Run::default()
        });
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
    assert!(last.summaries[0].contains(line), "{}", last.summaries[0]);
    last.verify().run().expect(0);
}

/// Asserts that a text is in the log, in the job summary and on the check run.
fn is_shown(turn: &Turn, text: &str) {
    let log = turn.outcome.text();
    for surface in [&log].into_iter().chain(&turn.summaries) {
        assert!(surface.contains(text), "{text}: {surface}");
    }
}

#[test]
fn a_person_sees_banners_updates_and_guidance_and_a_step_their_outputs() {
    let mut pull = PullRequest::opened(&faulty());
    let first = pull.judge("opened", true);
    is_shown(&first, "Observer bootstrap completed.");
    assert_eq!((first.guidance.as_str(), first.qa_update.as_str()), ("", ""));
    assert!(first.review_request.starts_with("Review request, turn 1: commits "), "{}", first.review_request);

    pull.push(&faulty().with("notes.md", "more\n"));
    let second = pull.judge("synchronize", true);
    is_shown(&second, "Observer guidance: mend these first.");
    let place = "Observer guidance: src/new.py:1:1 merge-leftover/conflict-marker";
    assert_eq!(second.guidance, place, "{}", second.outcome.text());
    assert_eq!(second.qa_update, "");

    pull.push(&clean());
    let third = pull.judge("synchronize", true);
    let update = "QA update, turns 1 to 3: 1 new, 0 reopened, 1 resolved, 0 open, 0 blocking. 1 of 3 passed.";
    assert_eq!((third.qa_update.as_str(), third.guidance.as_str()), (update, ""));
    for summary in &third.summaries {
        assert_eq!(summary.lines().next(), Some(update), "{summary}");
    }
    assert!(!third.outcome.text().contains("Cross-check"), "{}", third.outcome.text());

    let ready = pull.judge("ready_for_review", false);
    is_shown(&ready, "Cross-check successful.");
    assert!(ready.outcome.text().contains("Cross-check in progress.\n"), "{}", ready.outcome.text());
    assert_eq!(ready.review_request, "", "no diff remains");

    pull.push(&faulty());
    let failed = pull.judge("synchronize", false);
    is_shown(&failed, "Cross-check failed. A new one starts with the next push");
    is_shown(&failed, "Observer guidance: mend these first.");
    assert_eq!(failed.guidance, place);
}

#[test]
fn a_review_is_requested_by_the_cooldown_and_for_what_remains() {
    let mut pull = PullRequest::opened(&clean());
    pull.variables = vec![("CODE_QA_REVIEW_COOLDOWN_TURNS", "2")];
    let mut requests = vec![pull.judge("opened", true).review_request];
    let first = pull.world.origin.head.to_string();
    pull.push(&clean().with("notes.md", "more\n"));
    requests.push(pull.judge("synchronize", true).review_request);
    pull.push(&clean().with("notes.md", "still more\n"));
    requests.push(pull.judge("synchronize", true).review_request);
    let third = pull.world.origin.head.to_string();
    pull.push(&clean());
    requests.push(pull.judge("synchronize", true).review_request);
    let last = pull.world.origin.head.to_string();
    for _ in 0..2 {
        requests.push(pull.judge("ready_for_review", false).review_request);
    }
    let filled: Vec<bool> = requests.iter().map(|request| !request.is_empty()).collect();
    assert_eq!(filled, [true, false, true, false, true, false], "{requests:?}");
    assert!(requests[2].contains(&format!("turns 2 to 3: commits {first}..{third}")), "{}", requests[2]);
    assert!(requests[4].contains(&format!("turns 4 to 5: commits {third}..{last}")), "{}", requests[4]);
}

#[test]
fn findings_that_attempts_leave_open_ask_for_a_person() {
    let attempt = |number: u64, another: bool| {
        let files = faulty().with("src/new.py", format!("{}number = {number}\n", conflict()));
        if another { files.with("src/another.py", conflict()) } else { files }
    };
    // Four attempts at one finding, in a set that changes; or the same set three times.
    for (sets, stuck) in [
        (vec![false, true, false, true], vec!["false", "false", "false", "true"]),
        (vec![false, false, false], vec!["false", "false", "true"]),
    ] {
        let mut pull = PullRequest::opened(&attempt(0, sets[0]));
        let mut turns = vec![pull.judge("opened", true)];
        for (number, another) in (1..).zip(&sets[1..]) {
            pull.push(&attempt(number, *another));
            turns.push(pull.judge("synchronize", true));
        }
        let found: Vec<&str> = turns.iter().map(|turn| turn.stuck.as_str()).collect();
        assert_eq!(found, stuck, "{sets:?}");
        is_shown(&turns[1], "open after two attempts");
        let last = turns.last().unwrap();
        is_shown(last, "The same findings stay open: a person should look.");
        let warning = "::warning title=qa-skill observer::the same findings stay open after several attempts";
        for turn in &turns {
            assert_eq!(turn.outcome.text().contains(warning), turn.stuck == "true");
        }
    }
}

#[test]
fn a_gate_without_commands_for_the_change_is_not_deferred() {
    let gate = "[gates.browser_tests]\nrequired = false\nrun = [\"playwright\"]\n";
    let policy = format!("mode = \"best_effort\"\n{EXECUTION}\n{gate}\n{OBSERVED}");
    let mut pull = PullRequest::opened_under(&policy, &clean());
    let turn = pull.judge("opened", true);
    let ledger = turn.ledger();
    assert_eq!(ledger["entries"][0]["turn"]["deferred"], json!([]), "{}", turn.outcome.text());
    let recorded = std::fs::read(turn.run.join("recordings/inputs.json")).unwrap();
    let recorded: Value = serde_json::from_slice(&recorded).unwrap();
    assert_eq!(recorded["observer"]["deferred"], json!(["gate:browser_tests"]));
    turn.verify().run().expect(0);
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
    assert!(
        turn.outcome.text().contains("ledger is that of another pull request"),
        "{}",
        turn.outcome.text()
    );
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
