//! Commands of the base whose results a stored run of the base has, so that they need not run again.

use serde_json::{Value, json};

use crate::gates_command::{COMMAND, EXECUTION, Scene, files, leaves, suite};
use crate::support::{Outcome, RunDir, follow_differences, qa_skill, write_json};

/// A tool whose runs differ in what they print.
fn says(cases: &[(&str, bool)]) -> String {
    let status = i32::from(cases.iter().any(|(_, passes)| !passes));
    format!("cat /proc/sys/kernel/random/uuid\n{}", leaves(&[("1.xml", &suite("one", cases))], status))
}

fn passes() -> String {
    says(&[("adds", true)])
}

fn fails() -> String {
    says(&[("adds", false)])
}

/// A tool that passes on `main`, and fails on `topic`, two pushes after `first`.
struct History {
    scene: Scene,
    policy: String,
}

impl History {
    fn new() -> Option<Self> {
        let policy = format!("{EXECUTION}\n{COMMAND}");
        let scene = Scene::new(&policy, &passes(), &passes())?;
        let repo = &scene.repo;
        repo.reference("refs/heads/first", repo.tip("main"));
        repo.reference("refs/heads/main", repo.tip("topic"));
        let history = Self { scene, policy };
        history.push("topic", &history.policy, &fails(), "d = 4\n");
        Some(history)
    }

    /// Commits on top of `main`.
    fn push(&self, branch: &str, policy: &str, says: &str, more: &str) {
        let repo = &self.scene.repo;
        let files = files(policy, says, &format!("c = 3\n{more}"));
        let commit = repo.commit(repo.tree(&files), &[repo.tip("main")]);
        repo.reference(&format!("refs/heads/{branch}"), commit);
    }

    fn judge(&self, [base, head]: [&str; 2], baseline: Option<&RunDir>) -> (Outcome, RunDir) {
        let repo = &self.scene.repo;
        let count = std::fs::read_dir(repo.path().parent().unwrap()).unwrap().count();
        let out = repo.beside(&format!("out-{count}"));
        let run = qa_skill(["run", "--base", base, "--head", head, "--repo"]).arg(repo.path());
        let run = run.arg("--out").arg(&out);
        let outcome = match baseline {
            Some(baseline) => run.arg("--baseline").arg(&baseline.0).run(),
            None => run.run(),
        };
        assert!(outcome.exit < 2, "{}{}", outcome.text(), outcome.stderr);
        let run = RunDir::only(&out);
        run.verify().run().expect(0);
        run.verify().arg("--repo").arg(repo.path()).run().expect(0);
        (outcome, run)
    }
}

const PUSH: [&str; 2] = ["first", "main"];
const CHANGE: [&str; 2] = ["main", "topic"];

/// The attempts at the command of a side; the one of the base is the second.
fn attempts(run: &RunDir, ordinal: u64) -> Vec<Value> {
    let commands = run.json("recordings/execution.json")["commands"].as_array().unwrap().clone();
    commands.into_iter().filter(|command| command["ordinal"] == ordinal).collect()
}

fn outputs(attempts: &[Value]) -> Vec<&Value> {
    attempts.iter().map(|attempt| &attempt["stdout"]["sha256"]).collect()
}

#[test]
fn a_command_that_passed_on_the_base_does_not_run_there_again() {
    let Some(history) = History::new() else { return };
    let (_, base) = history.judge(PUSH, None);
    let (without, run) = history.judge(CHANGE, None);
    without.expect(1);
    assert!(is_run_here(&run));

    let (with, run) = history.judge(CHANGE, Some(&base));
    with.expect(1);
    let (stored, taken) = (attempts(&base, 0), attempts(&run, 1));
    assert_eq!(outputs(&taken), outputs(&stored));
    let identity = &taken[0]["baseline"];
    assert_eq!(identity["commit"], history.scene.repo.tip("main").to_string());
    assert_eq!(identity["runDigest"], base.json("hashes.json")["runDigest"]);
    let summary = String::from_utf8(run.bytes("summary.md")).unwrap();
    let short = &identity["commit"].as_str().unwrap()[..12];
    assert!(
        summary.contains(&format!("runner is compared with that of {short}, by its stored run")),
        "{summary}"
    );
    // The audit is about what this run executed.
    let results = run.json("lens-results.json");
    let gate = results["lensResults"].as_array().unwrap().iter().find(|it| it["lensId"] == "unit_tests");
    let audit = gate.unwrap()["executionAudit"]["commands"].as_array().unwrap();
    let ordinals: Vec<&Value> = audit.iter().map(|command| &command["ordinal"]).collect();
    assert_eq!(ordinals, [0, 0, 0]);
}

/// Returns whether the command of the base ran, and its result is of no stored run.
fn is_run_here(run: &RunDir) -> bool {
    let attempts = attempts(run, 1);
    !attempts.is_empty() && attempts.iter().all(|attempt| attempt.get("baseline").is_none())
}

/// The stored run may have been made on a machine where the tool failed for another reason.
#[test]
fn a_command_that_failed_in_the_stored_run_of_the_base_runs_again() {
    let Some(history) = History::new() else { return };
    let repo = &history.scene.repo;
    let broken = repo.path().join("stubs/bin/broken");
    std::fs::write(&broken, "").unwrap();
    let program = repo.path().join("stubs/bin/runner");
    let script = std::fs::read_to_string(&program).unwrap();
    let fails_here = format!("{}\n", leaves(&[("1.xml", &suite("one", &[("adds", false)]))], 1));
    let guarded = format!("[ -e \"$(dirname \"$0\")/broken\" ] && {{\n{fails_here}}}\n. ./says\n");
    std::fs::write(&program, script.replace(". ./says\n", &guarded)).unwrap();
    let (stored, base) = history.judge(PUSH, None);
    assert_eq!((stored.exit, attempts(&base, 0).len()), (0, 3), "all of it is pre-existing");
    std::fs::remove_file(&broken).unwrap();
    for baseline in [None, Some(&base)] {
        let (outcome, run) = history.judge(CHANGE, baseline);
        outcome.expect(1);
        assert!(is_run_here(&run));
    }
}

#[test]
fn a_command_of_another_commit_or_under_other_settings_runs_again() {
    let Some(history) = History::new() else { return };
    let limits = history.policy.replace("timeout-seconds = 60", "timeout-seconds = 50");
    let other = history.policy.replace("\"test\", \"all\"]\nreport", "\"test\", \"most\"]\nreport").replace(
        "match = [[\"runner\", \"test\", \"all\"]]\n",
        "match = [[\"runner\", \"test\", \"most\"]]\n",
    );
    assert_ne!(other, history.policy);
    let repo = &history.scene.repo;
    for policy in [&limits, &other] {
        // The push of another policy is judged by the one before it.
        history.push("changed", policy, &passes(), "c = 4\n");
        let (_, base) = history.judge(["main", "changed"], None);
        let files = files(policy, &fails(), "c = 5\n");
        let commit = repo.commit(repo.tree(&files), &[repo.tip("changed")]);
        repo.reference("refs/heads/next", commit);
        let (outcome, run) = history.judge(["changed", "next"], Some(&base));
        outcome.expect(1);
        assert!(is_run_here(&run));
    }
    let (_, base) = history.judge(PUSH, None);
    // A run of the commit before the base is none of the base.
    let (outcome, run) = history.judge(["first", "topic"], Some(&base));
    assert!(outcome.stderr.contains("OBSERVER_BASELINE_UNAVAILABLE"), "{}", outcome.stderr);
    assert!(is_run_here(&run));
    // Another version of the tool reads the base anew.
    let program = repo.path().join("stubs/bin/runner");
    let script = std::fs::read_to_string(&program).unwrap().replace("1.2.3", "1.2.4");
    std::fs::write(&program, script).unwrap();
    let (outcome, run) = history.judge(CHANGE, Some(&base));
    outcome.expect(1);
    assert!(is_run_here(&run));
}

/// The result of a stored run stands for no command of head, and for no other commit.
#[test]
fn a_recording_that_takes_the_wrong_result_from_a_stored_run_proves_nothing() {
    let Some(history) = History::new() else { return };
    let (_, base) = history.judge(PUSH, None);
    let first = json!(history.scene.repo.tip("first").to_string());
    for (ordinal, commit) in [(0, None), (1, Some(first))] {
        let (_, run) = history.judge(CHANGE, Some(&base));
        let mut identity = attempts(&run, 1)[0]["baseline"].clone();
        if let Some(commit) = commit {
            identity["commit"] = commit;
        }
        let mut forged = run.json("recordings/execution.json");
        let commands = forged["commands"].as_array_mut().unwrap().iter_mut();
        for command in commands.filter(|command| command["ordinal"] == ordinal) {
            command["baseline"] = identity.clone();
        }
        write_json(&run, "recordings/execution.json", &forged);
        follow_differences(&run, "EXECUTION_AUDIT_UNAVAILABLE");
    }
}
