//! The observer from the outside: what a draft is not asked for, what is recorded of that, and what GitHub is told.

use std::path::Path;

use serde_json::{Value, json};

use crate::gates_run::{EXECUTION, Scene, kinds, runs};
use crate::support::answers::CHAT;
use crate::support::fake_github::FakeGitHub;
use crate::support::origin::{NAME, Origin};
use crate::support::reviews::{self, findings, reviewing};
use crate::support::step::{Step, TOKEN, clean};
use crate::support::{Files, Outcome, Program, Repo, RunDir, Server, conflict, qa_skill, repair, tamper};

const ENABLED: &str = "[observer]\nenabled = true\n";

/// A change that a model reviews, under an observer's table.
fn reviewed(table: &str, model: &Server) -> Repo {
    let policy = reviewing(CHAT, &model.url(), "");
    reviews::repository(&format!("{table}\n{policy}"), &[("app.py", reviews::FAULT)])
}

fn without_findings() -> Server {
    Server::start(|_| findings(CHAT, &[]))
}

/// Judges a change in a mode, into a directory of its own.
fn judge(repo: &Repo, mode: &str, out: &str) -> Outcome {
    let program = reviews::run(repo).without("--out").without(repo.beside("out").to_str().unwrap());
    program.arg("--out").arg(repo.beside(out)).args(["--observer-mode", mode]).run()
}

fn run_in(repo: &Repo, out: &str) -> RunDir {
    RunDir::only(&repo.beside(out))
}

/// Derives a run again from its recording and from the repository.
fn replays(run: &RunDir, repo: &Repo) {
    run.verify().run().expect(0);
    run.verify().args(["--repo", repo.path().to_str().unwrap()]).run().expect(0);
}

fn decision(run: &RunDir) -> [Value; 2] {
    let [inputs, trace] = ["recordings/inputs.json", "trace.json"].map(|file| run.json(file));
    [inputs["observer"].clone(), trace["configPreimage"]["observer"].clone()]
}

#[test]
fn a_deferred_review_is_asked_nothing_is_recorded_and_replays() {
    let model = without_findings();
    let repo = reviewed(&format!("{ENABLED}defer = [\"review-*\"]\n"), &model);
    let outcome = judge(&repo, "cadence", "draft").expect(3);
    assert!(model.requests().is_empty(), "a deferred review sends nothing");
    let draft = run_in(&repo, "draft");
    let verdict = draft.json("final-verdict.json");
    assert_eq!(verdict["errorCodes"], json!(["CADENCE_DEFERRED"]));
    let reason = verdict["rationale"][0].as_str().unwrap();
    assert!(reason.contains("mode `cadence`") && reason.contains("review-security"), "{reason}");
    assert!(outcome.text().contains("CADENCE_DEFERRED"), "{}", outcome.text());
    let plans = draft.json("lens-plan.json");
    let codes: Vec<&Value> = plans["lensPlans"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|plan| plan["lensId"] == "review-security")
        .map(|plan| &plan["planningCodes"])
        .collect();
    assert_eq!(codes, [&json!(["CADENCE_DEFERRED"])]);
    assert_eq!(reviews::result(&draft)["status"], "skipped");
    let expected = json!({"mode": "cadence", "deferred": ["review-security"]});
    assert_eq!(decision(&draft), [expected.clone(), expected]);
    replays(&draft, &repo);

    judge(&repo, "cross-check", "ready").expect(0);
    assert_eq!(model.requests().len(), 1, "the cross-check asks what was deferred");
    let ready = run_in(&repo, "ready");
    let expected = json!({"mode": "cross-check", "deferred": []});
    assert_eq!(decision(&ready), [expected.clone(), expected]);
    replays(&ready, &repo);
    assert_ne!(draft.path(""), ready.path(""), "a partial run never has the key of a full one");

    // Without the table nothing is recorded, and there is no mode to ask for.
    for table in ["", "[observer]\nenabled = false\n"] {
        let repo = reviewed(table, &model);
        judge(&repo, "cadence", "draft").expect(2);
        judge(&repo, "cross-check", "full").expect(0);
        assert_eq!(decision(&run_in(&repo, "full")), [Value::Null, Value::Null], "{table}");
    }
}

#[test]
fn a_deferred_optional_review_passes_in_no_mode_and_a_finding_still_blocks() {
    let model = without_findings();
    let table = format!("mode = \"best_effort\"\n{ENABLED}");
    let policy = format!("{table}{}", reviewing(CHAT, &model.url(), "required = false"));
    let repo = reviews::repository(&policy, &[("app.py", reviews::FAULT)]);
    judge(&repo, "bootstrap", "draft").expect(3);
    judge(&repo, "cross-check", "ready").expect(0);
    let repo = reviews::repository(&policy, &[("app.py", &conflict())]);
    judge(&repo, "bootstrap", "draft").expect(1);
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_recorded_decision_that_was_edited_is_no_proof() {
    let model = without_findings();
    let repo = reviewed(ENABLED, &model);
    judge(&repo, "bootstrap", "draft").expect(3);
    let draft = run_in(&repo, "draft");
    for (number, decision) in [
        json!({"mode": "cross-check", "deferred": []}),
        json!({"mode": "bootstrap", "deferred": []}),
        json!({"mode": "cadence", "deferred": ["review-security"]}),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = draft.copy_to(&repo.beside(&format!("edited-{number}")));
        tamper(&copy, "recordings/inputs.json", "/observer", decision);
        repair(&copy, false);
        copy.verify().run().expect(4);
        let answer = qa_skill(["route", "/qa status"]).arg("--run").arg(&copy.0).run().expect(4);
        assert!(answer.stderr.contains("its key is that of another observer"), "{}", answer.stderr);
    }
}

#[test]
fn a_mode_that_the_policy_does_not_accept_never_passes() {
    let repo = |table: &str| {
        let policy = format!("{ENABLED}{table}\n");
        crate::support::change(
            &[(".qa-skill/policy.toml", &policy), ("a.py", "a = 1\n")],
            &[(".qa-skill/policy.toml", &policy), ("a.py", "a = 2\n")],
        )
    };
    for (pass, exit) in [("", 0), ("pass = [\"cross-check\"]", 3)] {
        let repo = repo(pass);
        judge(&repo, "bootstrap", "draft").expect(exit);
        let draft = run_in(&repo, "draft");
        replays(&draft, &repo);
        // Nothing waits, and a dashboard shows that there is no verdict.
        let junit = std::fs::read_to_string(draft.path("junit.xml")).unwrap();
        assert_eq!(junit.contains("nothing was deferred"), exit == 3, "{junit}");
        judge(&repo, "cross-check", "ready").expect(0);
    }
}

#[test]
fn the_mode_is_an_option_of_whatever_plans_a_run() {
    let model = without_findings();
    let repo = reviewed(ENABLED, &model);
    let sides = ["--base", "main", "--head", "topic", "--observer-mode", "bootstrap"];
    let words = |command: &str| {
        let program = crate::support::qa_skill([command, "--repo"]).arg(repo.path());
        sides.iter().fold(program, |program, word| program.arg(word))
    };
    let plans = words("plan").run().expect(0).text();
    let deferred = plans.lines().find(|line| line.starts_with("CADENCE_DEFERRED  ")).unwrap();
    assert!(deferred.contains("review-security"), "{deferred}");
    let parts = repo.beside("parts");
    words("run").args(["--shard", "1/1", "--out"]).arg(&parts).run().expect(0);
    let joined = repo.beside("joined");
    words("aggregate").arg("--parts").arg(&parts).arg("--out").arg(&joined).run().expect(3);
    let whole = repo.beside("whole");
    words("run").arg("--out").arg(&whole).run().expect(3);
    let digests = [&joined, &whole].map(|root| RunDir::only(root).run_digest());
    assert_eq!(digests[0], digests[1]);
    assert!(model.requests().is_empty());
}

/// Commands that a run of a scene in a mode recorded.
fn commands(scene: &Scene, mode: &str, exit: i32) -> usize {
    let out = format!("{mode}-{exit}");
    judge(&scene.repo, mode, &out).expect(exit);
    let run = run_in(&scene.repo, &out);
    replays_with_stubs(&run, &scene.repo);
    run.json("recordings/execution.json")["commands"].as_array().unwrap().len()
}

fn replays_with_stubs(run: &RunDir, repo: &Repo) {
    run.verify().run().expect(0);
    run.verify().args(["--repo", repo.path().to_str().unwrap()]).run().expect(0);
}

#[test]
fn commands_of_gates_wait_and_what_reports_say_does_not() {
    let lint = &kinds()[0];
    let policy = |table: &str| format!("{EXECUTION}\n{}\n{ENABLED}{table}\n", runs(lint, true));
    let Some(scene) = Scene::new(&policy(""), &lint.passes) else { return };
    assert_eq!(commands(&scene, "bootstrap", 3), 0);
    assert_eq!(commands(&scene, "cadence", 3), 0);
    assert_ne!(commands(&scene, "cross-check", 0), 0);

    let executes = "execute = [\"bootstrap\", \"cross-check\"]\n";
    let scene = Scene::new(&policy(executes), &lint.passes).unwrap();
    assert_ne!(commands(&scene, "bootstrap", 0), 0);
    assert_eq!(commands(&scene, "cadence", 3), 0);
    let waits = format!("{executes}defer = [\"gate:lint\"]\n");
    let scene = Scene::new(&policy(&waits), &lint.passes).unwrap();
    assert_eq!(commands(&scene, "bootstrap", 3), 0);

    // A report of an earlier step counts at once.
    let imports = "reports = [{ path = \"out/eslint.json\", tool = \"eslint\" }]\n";
    let gate = format!("{}{imports}", runs(lint, true));
    let scene = Scene::new(&format!("{EXECUTION}\n{gate}\n{ENABLED}"), &lint.passes).unwrap();
    let faulty = json!([{
        "filePath": "/github/workspace/src/a.py", "suppressedMessages": [], "errorCount": 1,
        "fatalErrorCount": 0, "warningCount": 0, "fixableErrorCount": 0, "fixableWarningCount": 0,
        "usedDeprecatedRules": [], "messages": [{
            "ruleId": "no-unused-vars", "severity": 2, "message": "unused", "line": 3, "column": 1,
            "endLine": 3, "endColumn": 2
        }]
    }]);
    let report = scene.repo.path().join("out/eslint.json");
    std::fs::create_dir_all(report.parent().unwrap()).unwrap();
    std::fs::write(report, faulty.to_string()).unwrap();
    assert_eq!(commands(&scene, "bootstrap", 1), 0);
}

/// A pull request whose base has a review and an observer, with its GitHub.
struct Draft {
    origin: Origin,
    git: Server,
    github: FakeGitHub,
    api: Server,
}

impl Draft {
    fn new(model: &Server) -> Self {
        let origin = Origin::with_topic(&clean());
        let policy = format!("{ENABLED}{}", reviewing(CHAT, &model.url(), ""));
        let base = Files::from_texts(&[("src/app.py", "value = 1\n"), (".qa-skill/policy.toml", &policy)]);
        origin.repo.reference("refs/heads/main", origin.repo.commit(origin.repo.tree(&base), &[origin.base]));
        let git = origin.serve();
        let github = FakeGitHub::new(NAME, TOKEN);
        github.state().pulls.insert(7, origin.head.to_string());
        let api = github.serve();
        Self { origin, git, github, api }
    }

    fn program(&self, step: &Step<'_>, run: &str, attempt: &str) -> Program {
        step.program()
            .env("GITHUB_API_URL", self.github.api_url(&self.api))
            .env("GITHUB_RUN_ID", run)
            .env("GITHUB_RUN_ATTEMPT", attempt)
            .env("INPUT_BASE", "main")
            .env("OPENAI_API_KEY", reviews::KEY)
    }

    /// Judges an event of the pull request, and returns conclusion and title of the newest check run.
    fn judge(&self, event: &[(&str, Value)], run: &str, attempt: &str, exit: i32) -> (String, String) {
        std::fs::remove_dir_all(self.origin.repo.beside("checkout-2")).ok();
        let mut step = Step::on_pull_request(&self.origin, &self.git, 2);
        for (pointer, value) in event {
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            step.event.pointer_mut(parent).unwrap()[name] = value.clone();
        }
        self.program(&step, run, attempt).run().expect(exit);
        let state = self.github.state();
        let check = state.checks.last().unwrap();
        (check.conclusion.clone().unwrap_or_default(), check.title.clone().unwrap_or_default())
    }
}

#[test]
fn a_draft_needs_action_until_it_is_ready_or_its_job_is_started_again() {
    let model = without_findings();
    let draft = Draft::new(&model);
    let drafting = |action: &str| [("/action", json!(action)), ("/pull_request/draft", json!(true))];
    for (run, action) in [("1", "opened"), ("2", "synchronize")] {
        let (conclusion, title) = draft.judge(&drafting(action), run, "1", 3);
        assert_eq!((conclusion.as_str(), title.as_str()), ("action_required", "Draft: reviewed in part"));
    }
    assert!(model.requests().is_empty());
    let again = draft.judge(&drafting("synchronize"), "2", "2", 0);
    assert_eq!(again.0, "success");
    let asked = model.requests().len();
    assert!(asked > 0);

    let ready = [("/action", json!("ready_for_review")), ("/pull_request/draft", json!(false))];
    assert_eq!(draft.judge(&ready, "3", "1", 0).0, "success");
    let back = draft.judge(&drafting("converted_to_draft"), "4", "1", 3);
    assert_eq!(back.0, "action_required", "a draft takes back what its head had");
}

#[test]
fn the_environment_is_recorded_with_what_it_replaced() {
    let model = without_findings();
    let repo = reviewed(&format!("{ENABLED}cadence = 5\n"), &model);
    let run = |out: &str, variables: &[(&str, &str)]| -> Vec<String> {
        let program = reviews::run(&repo).without("--out").without(repo.beside("out").to_str().unwrap());
        let program = variables.iter().fold(program, |program, (name, value)| program.env(name, value));
        program.arg("--out").arg(repo.beside(out)).run().expect(0);
        settings(&run_in(&repo, out).json("input.normalized.json"))
    };
    assert_eq!(run("policy", &[]), ["observer.cadence 5 policy", "observer.cooldown 1 default"]);
    let knobs = [("CODE_QA_CADENCE", "off"), ("CODE_QA_REVIEW_COOLDOWN_TURNS", "2")];
    let expected = ["observer.cadence off environment", "observer.cooldown 2 environment"];
    assert_eq!(run("environment", &knobs), expected);
    let names = ["policy", "environment"].map(|out| name(&run_in(&repo, out).path("")));
    assert_eq!(names[0], names[1], "numbers of turns are no part of the key");
}

fn settings(input: &Value) -> Vec<String> {
    let settings = input["settings"].as_array().unwrap().iter();
    let pace = settings
        .filter(|row| matches!(row["name"].as_str().unwrap(), "observer.cadence" | "observer.cooldown"));
    let text = |row: &Value, member: &str| row[member].as_str().unwrap().to_owned();
    pace.map(|row| ["name", "value", "origin"].map(|member| text(row, member)).join(" ")).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}
