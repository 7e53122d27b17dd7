//! A feature from its first failing day to its regression, told by tests' tags, the report and the workflow's state.

use serde_json::{Value, json};

use crate::support::{Files, Outcome, Repo, qa_skill};

pub(crate) const POLICY: &str = "\
[gates.story_validation]
reports = [{ path = \"reports/junit.xml\", tool = \"pytest\" }]
";

pub(crate) fn features(passes: bool) -> String {
    let list = json!([{
        "id": 42, "category": "functional", "description": "A sum can be had",
        "steps": ["Step 1: add two numbers", "Step 2: add none"], "passes": passes
    }]);
    serde_json::to_string_pretty(&list).unwrap() + "\n"
}

pub(crate) fn state(phase: &str, agent: &str) -> String {
    json!({
        "current_state": phase, "next_agent": agent, "current_feature_id": 42, "qa_retries": 0,
        "last_transition": "2024-05-01T12:00:00Z", "history": []
    })
    .to_string()
}

/// A report of tests by name and what stands inside each.
pub(crate) fn junit(tests: &[(&str, &str)]) -> String {
    let cases: String = tests
        .iter()
        .map(|(name, inside)| {
            format!(r#"<testcase classname="test_sum" name="{name}" time="0.1">{inside}</testcase>"#)
        })
        .collect();
    let failures = tests.iter().filter(|(_, inside)| inside.contains("<failure")).count();
    format!(
        r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="{}" failures="{failures}" errors="0" skipped="0">{cases}</testsuite></testsuites>"#,
        tests.len()
    )
}

pub(crate) const ADDS: &str = "adds @feature:42 @step:1";
pub(crate) const NONE: &str = "adds none @feature:42 @step:2";
pub(crate) const FAILS: &str = r#"<failure message="expected 0">test_sum.py:7</failure>"#;

/// A change of the product while the feature is in QA.
pub(crate) fn in_qa(policy: &str, passes: bool, tests: &[(&str, &str)]) -> Repo {
    in_qa_with(policy, passes, tests, |head| head)
}

fn in_qa_with(policy: &str, passes: bool, tests: &[(&str, &str)], more: impl FnOnce(Files) -> Files) -> Repo {
    let repo = Repo::new();
    let (list, state) = (features(passes), state("QA_READY", "qa"));
    let base = [
        (".qa-skill/policy.toml", policy),
        ("feature_list.json", list.as_str()),
        ("workflow-state.json", state.as_str()),
        ("sum.py", "def add(): pass\n"),
    ];
    let mut head = base;
    head[3].1 = "def add(*all): return sum(all)\n";
    repo.change(&Files::from_texts(&base), &more(Files::from_texts(&head)));
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    std::fs::write(repo.path().join("reports/junit.xml"), junit(tests)).unwrap();
    std::fs::write(repo.path().join("feature_list.json"), &list).unwrap();
    std::fs::write(repo.path().join("workflow-state.json"), &state).unwrap();
    repo
}

fn qa_report(repo: &Repo) -> Value {
    repo.run_dir().json("qa-report.json")
}

/// Tells the workflow what QA said.
fn told(repo: &Repo) -> Outcome {
    let report = repo.run_dir().path("qa-report.json");
    qa_skill(["workflow", "--write", "--feature-list", "feature_list.json", "--propose", "proposed.json"])
        .args(["--format", "json", "--report"])
        .arg(report)
        .within(&repo.path())
        .run()
}

#[test]
fn a_feature_fails_is_mended_passes_is_proposed_and_does_not_get_lost() {
    // The second step has no test yet, and the first one's fails.
    let repo = in_qa(POLICY, false, &[(ADDS, FAILS)]);
    repo.judge().run().expect(1);
    assert_eq!(
        repo.run_dir().findings(),
        ["story_validation/failure feature_list.json:8", "story_validation/failure feature_list.json:9"]
    );
    let report = qa_report(&repo);
    assert_eq!(json!([report["status"], report["feature_id"]]), json!(["FAILED", 42]));
    let fixes = report["priority_fixes"].to_string();
    assert!(fixes.contains("step 1 is not shown") && fixes.contains("step 2 is not shown"), "{fixes}");
    let state = told(&repo).expect(0).json();
    assert_eq!(
        json!([state["current_state"], state["next_agent"], state["qa_retries"]]),
        json!(["DEV_FEEDBACK", "dev", 1])
    );

    let repo = in_qa(POLICY, false, &[(ADDS, ""), (NONE, "")]);
    repo.judge().run().expect(0);
    assert_eq!(qa_report(&repo)["status"], "PASSED");
    let state = told(&repo).expect(0).json();
    assert_ne!(state["next_agent"], "qa");
    let proposed = std::fs::read_to_string(repo.path().join("proposed.json")).unwrap();
    let proposed: Value = serde_json::from_str(&proposed).unwrap();
    assert_eq!(json!([proposed[0]["passes"], proposed[0]["qa_validated"]]), json!([true, true]));

    // Later, with the feature on the list of what passes.
    let repo = in_qa(POLICY, true, &[(ADDS, ""), (NONE, FAILS)]);
    repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings(), ["story_validation/failure feature_list.json:9"]);
}

#[test]
fn a_step_without_a_test_fails_in_strict_and_is_a_warning_otherwise() {
    let tests = [(ADDS, "")];
    in_qa(POLICY, true, &tests).judge().run().expect(1);
    let repo = in_qa(&format!("mode = \"best_effort\"\n{POLICY}"), true, &tests);
    repo.judge().run().expect(0);
    assert_eq!(repo.run_dir().findings(), ["story_validation/warning feature_list.json:9"]);
    // Its test may be in a file that did not load.
    let tests = [(ADDS, ""), ("collects", r#"<error message="does not load"/>"#)];
    in_qa(&format!("mode = \"best_effort\"\n{POLICY}"), true, &tests).judge().run().expect(1);
}

#[test]
fn without_a_list_or_a_feature_to_look_at_there_is_no_pass() {
    for (list, code) in [("[]\n", "FEATURE_LIST_INVALID"), ("{}\n", "FEATURE_LIST_INVALID")] {
        let repo = in_qa(POLICY, true, &[(ADDS, "")]);
        let state = state("QA_READY", "qa");
        let base = [(".qa-skill/policy.toml", POLICY), ("workflow-state.json", state.as_str())];
        let head = [base[0], base[1], ("feature_list.json", list)];
        repo.change(&Files::from_texts(&base), &Files::from_texts(&head));
        repo.judge().run().expect(3);
        let verdict = repo.run_dir().json("final-verdict.json");
        assert!(verdict["errorCodes"].to_string().contains(code), "{verdict}");
    }
}

/// A change of a product whose tests carry no tags, with a file that names them.
fn bound(tests: &[(&str, &str)], stories: impl AsRef<[u8]>) -> Repo {
    in_qa_with(POLICY, true, tests, |head| head.with("stories/42.json", stories))
}

#[test]
fn a_file_of_the_repository_binds_tests_to_steps() {
    let stories = r#"{ "1": ["test_sum.py::adds", "test_sum::adds_many"], "2": "test_sum::adds_none" }"#;
    let all = [("adds", ""), ("adds_many[3]", ""), ("adds_none", "")];
    let repo = bound(&all, stories);
    repo.judge().run().expect(0);
    let recorded = repo.run_dir().json("recordings/gates.json");
    assert_eq!(recorded["stories"], json!([{ "featureId": 42, "text": stories }]));
    repo.run_dir().verify().run().expect(0);
    repo.run_dir().verify().arg("--repo").arg(repo.path()).run().expect(0);

    // A test that is named and gone shows nothing, whatever else does.
    let repo = bound(&[all[0], all[2], (ADDS, "")], stories);
    let said = repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings(), ["story_validation/failure feature_list.json:8"]);
    assert!(said.text().contains("stories/42.json names test_sum::adds_many"), "{}", said.text());
    repo.run_dir().verify().run().expect(0);

    let repo = bound(&[all[0], all[1], ("adds_none", FAILS)], stories);
    repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings(), ["story_validation/failure feature_list.json:9"]);
}

#[test]
fn a_file_of_bindings_that_cannot_be_read_leaves_the_gate_without_a_result() {
    for stories in [
        b"".as_slice(),
        b"[]",
        br#"{ "one": "test_sum::adds" }"#,
        br#"{ "01": "test_sum::adds" }"#,
        br#"{ "1": [] }"#,
        br#"{ "1": "" }"#,
        br#"{ "1": "test_sum::adds", "1": "test_sum::adds_none" }"#,
        b"{ \"1\": \"\xff\" }",
    ] {
        // The tags alone would pass.
        let repo = bound(&[(ADDS, ""), (NONE, "")], stories);
        repo.judge().run().expect(3);
        let verdict = repo.run_dir().json("final-verdict.json");
        let codes = verdict["errorCodes"].to_string();
        assert!(codes.contains("STORY_BINDINGS_INVALID"), "{}: {codes}", stories.escape_ascii());
        repo.run_dir().verify().run().expect(0);
    }
}
