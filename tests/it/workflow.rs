//! The work on features as scripts see it: what comes next, what is stored, and what is refused.

use std::path::Path;

use serde_json::Value;

use crate::support::{Outcome, change, qa_skill, temp};

const LIST: &str = "[\r\n\t{\"id\": 42, \"description\": \"User can log in\", \"passes\": false},\r\n\t{\"id\": 43, \"description\": \"Cart keeps its items\", \"passes\": true}\r\n]";

fn step(folder: &Path, arguments: &[&str]) -> Outcome {
    let quoted: Vec<&str> = std::iter::once("workflow").chain(arguments.iter().copied()).collect();
    qa_skill(quoted).within(folder).run()
}

fn state(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("workflow-state.json")).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn report(status: &str, passed: [bool; 2]) -> String {
    let count = passed.iter().filter(|passed| **passed).count();
    serde_json::json!({
        "feature_id": 42,
        "status": status,
        "gates": {"lint": {"passed": passed[0]}, "unit_tests": {"passed": passed[1]}},
        "summary": format!("{count} of 2 gates passed"),
    })
    .to_string()
}

#[test]
fn a_story_from_the_first_push_to_a_list_that_passes_is_told_right_at_each_step() {
    let folder = temp();
    let folder = folder.path();
    std::fs::write(folder.join("feature_list.json"), LIST).unwrap();
    let told =
        |outcome: Outcome| outcome.expect(0).text().lines().take(2).map(str::to_owned).collect::<Vec<_>>();
    let expect =
        |state: &str, agent: &str| vec![format!("state        {state}"), format!("next agent   {agent}")];

    let begun = step(
        folder,
        &["--feature-list", "feature_list.json", "--feature", "42", "--event", "push", "--write"],
    );
    assert_eq!(told(begun), expect("START -> INITIALIZER -> DEV_READY -> DEV -> QA_READY", "qa"));

    std::fs::write(folder.join("qa-report.json"), report("FAILED", [true, false])).unwrap();
    let failed = step(folder, &["--report", "qa-report.json", "--write"]);
    assert_eq!(told(failed), expect("QA_READY -> QA -> DEV_FEEDBACK", "dev"));
    assert_eq!(state(folder)["qa_retries"], 1);

    let pushed = step(folder, &["--event", "push", "--write"]);
    assert_eq!(told(pushed), expect("DEV_FEEDBACK -> DEV -> QA_READY", "qa"));

    std::fs::write(folder.join("qa-report.json"), report("PASSED", [true, true])).unwrap();
    let listed = ["--report", "qa-report.json", "--feature-list", "feature_list.json", "--write"];
    assert_eq!(told(step(folder, &listed)), expect("QA_READY -> QA -> QA_PASSED", "dev"));
    // After the merge the list has QA's result.
    std::fs::write(folder.join("feature_list.json"), LIST.replace("false", "true")).unwrap();
    let passed = step(folder, &["--feature-list", "feature_list.json", "--write"]);
    assert_eq!(told(passed), expect("QA_PASSED -> COMPLETE", "dev"));

    let state = state(folder);
    assert_eq!((&state["qa_retries"], &state["current_feature_id"]), (&Value::from(0), &Value::from(42)));
    let triggers: Vec<&str> = state["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["triggered_by"].as_str().unwrap())
        .collect();
    assert_eq!(
        triggers,
        [
            "feature_list",
            "feature_list",
            "push",
            "push",
            "qa",
            "qa",
            "push",
            "push",
            "qa",
            "qa",
            "all_features_pass"
        ]
    );
    assert_eq!(names(folder), ["feature_list.json", "qa-report.json", "workflow-state.json"]);
}

#[test]
fn without_write_nothing_is_stored_and_json_is_the_state_itself() {
    let folder = temp();
    let outcome = step(folder.path(), &["--event", "draft", "--format", "json"]).expect(0);
    let state: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!((&state["current_state"], &state["next_agent"]), (&"DEV".into(), &"dev".into()));
    assert_eq!(names(folder.path()), Vec::<String>::new());
    std::fs::write(folder.path().join("state.json"), &outcome.stdout).unwrap();
    let again = step(folder.path(), &["--state", "state.json", "--format", "json"]).expect(0);
    assert_eq!(again.text(), outcome.text());
}

#[test]
fn an_error_of_qa_keeps_its_state() {
    let folder = temp();
    let folder = folder.path();
    std::fs::write(folder.join("feature_list.json"), LIST).unwrap();
    let listed = ["--feature-list", "feature_list.json", "--feature", "42", "--write"];
    let error = step(folder, &[&listed[..], &["--event", "push", "--verdict", "error"]].concat()).expect(0);
    assert!(error.text().contains("-> QA_READY -> QA\n"), "{}", error.text());
    assert_eq!(names(folder), ["feature_list.json", "workflow-state.json"]);
    let again = step(folder, &["--verdict", "error", "--write"]).expect(0);
    assert!(again.text().starts_with("state        QA\n"), "{}", again.text());
}

#[test]
fn what_cannot_follow_or_cannot_be_read_is_refused_with_its_code_and_changes_nothing() {
    let folder = temp();
    let folder = folder.path();
    let passing = r#"{"current_state":"QA_PASSED","next_agent":"dev","current_feature_id":1,"qa_retries":0,"last_transition":"","history":[]}"#;
    let twice = "[\n{\"id\":1,\"description\":\"d\",\"passes\":true},\n{\"id\":1,\"description\":\"d\",\"passes\":false}]";
    for (name, text) in [
        ("forged.json", passing),
        ("list.json", LIST),
        ("twice.json", twice),
        ("lying.json", &report("PASSED", [true, false])),
        ("other.json", &report("PASSED", [true, true])),
    ] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let before = names(folder);
    let cases: &[(&[&str], &str)] = &[
        (
            &["--verdict", "passed"],
            "error[WORKFLOW_INVALID_TRANSITION]: failed to find the next state: the workflow does not go from START to QA_PASSED",
        ),
        (
            &["--state", "forged.json", "--event", "push"],
            "error[WORKFLOW_STATE_INVALID]: failed to read forged.json: /history: nothing leads to QA_PASSED",
        ),
        (&["--state", "list.json"], "error[WORKFLOW_STATE_INVALID]: failed to read list.json: "),
        (
            &["--event", "push", "--report", "lying.json"],
            "error[WORKFLOW_STATE_INVALID]: failed to read lying.json: /status: it says something else than the gates",
        ),
        (&["--event", "push", "--report", "none.json"], "error: there is no file none.json"),
        (
            &["--feature-list", "twice.json"],
            "error[FEATURE_LIST_INVALID]: failed to read twice.json: line 3, /1/id: the id 1 stands twice",
        ),
        (
            &["--feature-list", "list.json", "--feature", "7"],
            "error[FEATURE_LIST_INVALID]: failed to read the feature list: no feature has the id 7",
        ),
        (
            &["--report", "other.json", "--feature", "43"],
            "error: --feature is 43, and the report is about feature 42",
        ),
    ];
    for (arguments, expected) in cases {
        let outcome = step(folder, &[*arguments, &["--write"]].concat()).expect(2);
        assert!(outcome.stderr.starts_with(expected), "{arguments:?}: {}", outcome.stderr);
        assert!(outcome.stdout.is_empty() && outcome.stderr.contains("  help: "), "{arguments:?}");
    }
    // A report is a file that anybody can write: only a stored run changes the list.
    let listed = ["--feature-list", "list.json", "--report", "other.json", "--propose", "p.json"];
    let outcome = step(folder, &[&listed[..], &["--event", "push"]].concat()).expect(2);
    assert!(outcome.stderr.contains("cannot be used with"), "{}", outcome.stderr);
    let outcome =
        step(folder, &listed[..2].iter().chain(&listed[4..]).copied().collect::<Vec<_>>()).expect(2);
    assert!(outcome.stderr.contains("--run <DIR>"), "{}", outcome.stderr);
    assert_eq!(names(folder), before);
}

#[test]
fn a_change_to_results_or_to_where_they_stand_fails_the_run() {
    let flipped = LIST.replace("false", "true");
    let cases = [
        ("feature_list.json", flipped.as_str(), "feature-guard/passes-set", 2),
        ("vendor/done.json", LIST, "feature-guard/list-removed", 1),
        ("tests/feature_list.json", LIST, "feature-guard/list-removed", 1),
    ];
    for (path, text, rule, line) in cases {
        let repo = change(&[("feature_list.json", LIST)], &[(path, text)]);
        let result = repo.judge().args(["--format", "json"]).run().expect(1).json();
        let findings: Vec<(&str, u64, bool)> = result["lensResults"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|lens| lens["findings"].as_array().unwrap())
            .map(|finding| {
                let rule = finding["ruleId"].as_str().unwrap();
                (rule, finding["startLine"].as_u64().unwrap(), finding["blocking"].as_bool().unwrap())
            })
            .collect();
        assert_eq!(findings, [(rule, line, true)], "{path}");
    }
}
