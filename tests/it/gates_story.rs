//! A feature from its first failing day to its regression, told by tests' tags, the report and the workflow's state.

use serde_json::{Value, json};

use crate::support::{Files, Outcome, Repo, qa_skill};

pub(crate) const POLICY: &str = "\
[gates.story_validation]
reports = [{ path = \"reports/junit.xml\", tool = \"pytest\", record = \"optional\" }]
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
    qa_skill(["workflow", "--write", "--feature-list", "feature_list.json", "--format", "json", "--report"])
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
    let errors = &report["gates"]["story_validation"]["errors"];
    assert_eq!(json!([errors[0]["step"], errors[1]["step"]]), json!([1, 2]));
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
    qa_skill(["workflow", "--feature-list", "feature_list.json", "--propose", "proposed.json", "--run"])
        .arg(&repo.run_dir().0)
        .within(&repo.path())
        .run()
        .expect(0);
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

#[test]
fn a_test_that_checks_nothing_shows_no_step() {
    let stories = r#"{ "1": "test_sum.py::test_adds", "2": "test_sum.py::test_none" }"#;
    let tests = [("test_adds", ""), ("test_none", "")];
    for (body, exit) in [("assert add() == 0", 0), ("pass  # seen by hand", 1), ("print('done')", 1)] {
        let source = format!("def test_adds():\n    assert add(1) == 1\n\n\ndef test_none():\n    {body}\n");
        let repo = in_qa_with(POLICY, true, &tests, |head| {
            head.with("stories/42.json", stories).with("test_sum.py", source)
        });
        let said = repo.judge().run().expect(exit);
        if exit == 1 {
            let findings = repo.run_dir().findings();
            assert!(
                findings.contains(&"story_validation/failure feature_list.json:9".to_owned()),
                "{findings:?}"
            );
            assert!(said.text().contains("test_none passes and checks nothing"), "{}", said.text());
        }
        repo.run_dir().verify().run().expect(0);
    }
}

/// A report that passes beside a verdict that does not.
#[test]
fn the_report_passes_only_if_the_verdict_does() {
    let repo = in_qa_with(POLICY, false, &[(ADDS, ""), (NONE, "")], |head| {
        head.with("notes.txt", "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    });
    repo.judge().run().expect(1);
    let report = qa_report(&repo);
    assert_eq!(report["status"], "FAILED");
    assert_eq!(report["summary"], "1 of 1 gates passed; the verdict is fail");
    assert_eq!(told(&repo).expect(0).json()["current_state"], "DEV_FEEDBACK");
}

/// A change with a failing step of feature 42 in QA and a passing feature 43, edited by `edit`, with a commit message.
fn edited(message: &str, edit: impl FnOnce(Files) -> Files) -> Repo {
    let two = json!([
        {"id": 42, "description": "A sum can be had", "steps": ["Step 1: add two numbers"], "passes": false},
        {"id": 43, "description": "A sum is shown", "steps": ["Step 1: show it"], "passes": true},
        {"id": 44, "description": "A sum is sent", "steps": ["Step 1: send it"], "passes": false}
    ]);
    let list = serde_json::to_string_pretty(&two).unwrap();
    let repo = Repo::new();
    let state = state("QA_READY", "qa");
    // The lens would fail the run by itself.
    let policy = format!("[lenses.feature-guard]\nenabled = false\nrequired = false\n{POLICY}");
    let base = Files::from_texts(&[
        (".qa-skill/policy.toml", policy.as_str()),
        ("feature_list.json", list.as_str()),
        ("workflow-state.json", state.as_str()),
        ("sum.py", "def add(): pass\n"),
    ]);
    let head = edit(base.clone().with("sum.py", "def add(*all): return sum(all)\n"));
    let base = repo.commit(repo.tree(&base), &[]);
    let head = repo.commit_saying(message, repo.tree(&head), &[base]);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/heads/topic", head);
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    let tests = [("shows @feature:43 @step:1", "")];
    std::fs::write(repo.path().join("reports/junit.xml"), junit(&tests)).unwrap();
    repo
}

#[test]
fn a_change_does_not_choose_the_feature_that_it_is_judged_by() {
    let state = |id: &str| state("QA_READY", "qa").replace("42", id);
    let missing = ["story_validation/failure feature_list.json:7"];
    for (what, repo) in [
        ("nothing is edited", edited("Add sums", |head| head)),
        ("another feature", edited("Add sums", |head| head.with("workflow-state.json", state("43")))),
        ("no feature", edited("Add sums", |head| head.with("workflow-state.json", state("null")))),
        ("no state", edited("Add sums", |head| head.without("workflow-state.json"))),
        ("no JSON", edited("Add sums", |head| head.with("workflow-state.json", "{"))),
        ("a trailer of another feature", edited("Add sums\n\nFeature: 43", |head| head)),
    ] {
        let said = repo.judge().run().expect(1);
        assert_eq!(repo.run_dir().findings(), missing, "{what}: {}", said.text());
        repo.run_dir().verify().run().expect(0);
    }
    let repo = edited("Add sums\n\nFeature: 44", |head| head);
    repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings().len(), 2, "a trailer adds a feature");
    assert_eq!(qa_report(&repo)["feature_id"], 44);
    edited("Add sums\n\nFeature: 9", |head| head).judge().run().expect(3);
}

#[test]
fn what_passes_at_the_base_is_shown_whatever_the_list_at_head_says() {
    // Nobody shows feature 43 here, and it is the only one that is asked for.
    let list = features(true);
    let state = state("QA_READY", "qa").replace("42", "null");
    let policy = format!("[lenses.feature-guard]\nenabled = false\nrequired = false\n{POLICY}");
    let base = [
        (".qa-skill/policy.toml", policy.as_str()),
        ("feature_list.json", list.as_str()),
        ("workflow-state.json", state.as_str()),
    ];
    let fewer = list.replace(",\n      \"Step 2: add none\"", "");
    assert_ne!(fewer, list);
    for (head, findings) in [
        (list.replace("true", "false"), vec!["story_validation/failure feature_list.json:9"]),
        (fewer, vec!["story_validation/failure feature_list.json:7"]),
    ] {
        let repo = Repo::new();
        let head = Files::from_texts(&base).with("feature_list.json", head);
        repo.change(&Files::from_texts(&base), &head);
        std::fs::create_dir(repo.path().join("reports")).unwrap();
        std::fs::write(repo.path().join("reports/junit.xml"), junit(&[(ADDS, "")])).unwrap();
        let said = repo.judge().run().expect(1);
        assert_eq!(repo.run_dir().findings(), findings, "{}", said.text());
    }
}
