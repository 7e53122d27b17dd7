//! The feature of a change, as its trailer, its labels, the policy's paths and the base's state name it together.

use serde_json::{Value, json};

use crate::gates_story::{POLICY, junit, state};
use crate::support::origin::Origin;
use crate::support::step::Step;
use crate::support::{Files, Repo};

/// Paths of features 42 and 44, which do not pass yet, and of 43, which does.
const PATHS: &str = "\
[[gates.story_validation.features]]
id = 42
paths = [\"sums/**\"]
[[gates.story_validation.features]]
id = 43
paths = [\"shown/**\"]
[[gates.story_validation.features]]
id = 44
paths = [\"sent/**\", \"mail/**\"]
[[gates.story_validation.features]]
id = 9
paths = [\"gone/**\"]
";

/// Files of the base: the policy, three features and a state at one of them.
fn base(current: &str) -> Files {
    let list = json!([
        {"id": 42, "description": "A sum can be had", "steps": ["Step 1: add"], "passes": false},
        {"id": 43, "description": "A sum is shown", "steps": ["Step 1: show it"], "passes": true},
        {"id": 44, "description": "A sum is sent", "steps": ["Step 1: send it"], "passes": false}
    ]);
    Files::from_texts(&[
        (".qa-skill/policy.toml", format!("{POLICY}{PATHS}").as_str()),
        ("feature_list.json", serde_json::to_string_pretty(&list).unwrap().as_str()),
        ("workflow-state.json", state("QA_READY", "qa").replace("42", current).as_str()),
        ("mail/old.py", "sent = 1\nreceived = 2\n"),
    ])
}

/// A report in which the steps of features pass.
fn shown(features: &[u64]) -> String {
    let names: Vec<String> = features.iter().map(|id| format!("shows @feature:{id} @step:1")).collect();
    junit(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>())
}

/// A change of files with a message, where the base's state is at `current`.
fn change(current: &str, message: &str, edit: impl FnOnce(Files) -> Files, features: &[u64]) -> Repo {
    let repo = Repo::new();
    let files = base(current);
    let start = repo.commit(repo.tree(&files), &[]);
    let head = repo.commit_saying(message, repo.tree(&edit(files)), &[start]);
    repo.reference("refs/heads/main", start);
    repo.reference("refs/heads/topic", head);
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    std::fs::write(repo.path().join("reports/junit.xml"), shown(features)).unwrap();
    repo
}

/// Adds a file in each directory.
fn touching<'a>(directories: &'a [&'a str]) -> impl FnOnce(Files) -> Files + 'a {
    |files| directories.iter().fold(files, |files, name| files.with(format!("{name}/new.py"), "value = 1\n"))
}

/// Judges a change that shows every step, and returns the feature of its report.
#[track_caller]
fn feature_of(current: &str, message: &str, directories: &[&str]) -> Value {
    let repo = change(current, message, touching(directories), &[42, 43, 44]);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    run.verify().run().expect(0);
    run.json("qa-report.json")["feature_id"].clone()
}

/// Judges a change that shows every step and still has no result.
#[track_caller]
fn refused(current: &str, message: &str, directories: &[&str], code: &str, problem: &str) {
    let repo = change(current, message, touching(directories), &[42, 43, 44]);
    let outcome = repo.judge().run().expect(3);
    let verdict = repo.run_dir().json("final-verdict.json");
    assert!(verdict["errorCodes"].to_string().contains(code), "{verdict}");
    assert!(outcome.text().contains(problem), "{}", outcome.text());
    repo.run_dir().verify().run().expect(0);
}

#[test]
fn a_trailer_precedes_the_paths_of_the_policy_and_these_the_state_of_the_base() {
    assert_eq!(feature_of("42", "Add", &["docs"]), 42);
    assert_eq!(feature_of("null", "Add", &["docs"]), Value::Null);
    assert_eq!(feature_of("42", "Add", &["sent"]), 44);
    assert_eq!(feature_of("42", "Add\n\nFeature: 44", &["docs"]), 44);
    assert_eq!(feature_of("null", "Add\n\nFeature: 44", &["sums", "sent"]), 44);
    // The state says which of two is worked on.
    assert_eq!(feature_of("42", "Add", &["sums", "sent"]), 42);
    // What passes has to be shown anyway, and is not what the change is about.
    assert_eq!(feature_of("42", "Add", &["shown"]), 42);
    assert_eq!(feature_of("42", "Add\n\nFeature: 44", &["shown"]), 44);
}

#[test]
fn a_change_about_two_features_has_no_result() {
    let conflict = "FEATURE_CONFLICT";
    refused(
        "42",
        "Add\n\nFeature: 42\nFeature: 44",
        &["docs"],
        conflict,
        "a trailer of the change names feature 42, and a trailer of the change names feature 44",
    );
    refused(
        "null",
        "Add\n\nFeature: 42",
        &["sent"],
        conflict,
        "the policy, by sent/new.py, names feature 44",
    );
    refused("null", "Add", &["sums", "sent"], conflict, "the policy, by sums/new.py, names feature 42");
    refused(
        "null",
        "Add",
        &["gone"],
        "FEATURE_LIST_INVALID",
        "does not have feature 9, which the policy, by gone/new.py, names",
    );
}

#[test]
fn a_trailer_that_names_no_feature_by_its_number_is_an_error() {
    for value in ["42, 44", "login", "-1", "", "42 and 44"] {
        let message = format!("Add\n\nFeature: {value}\nFeature: 44");
        let problem = format!("the trailer `{}`, which names no feature", format!("Feature: {value}").trim());
        refused("42", &message, &["docs"], "FEATURE_TRAILER_INVALID", &problem);
    }
    // A subject is no trailer, and without the gate nobody reads one.
    assert_eq!(feature_of("42", "Feature: add sums", &["docs"]), 42);
    let repo = Repo::new();
    let files = Files::from_texts(&[("a.py", "a = 1\n")]);
    let start = repo.commit(repo.tree(&files), &[]);
    let tree = repo.tree(&files.with("a.py", "a = 2\n"));
    repo.reference("refs/heads/main", start);
    repo.reference("refs/heads/topic", repo.commit_saying("Add\n\nFeature: none", tree, &[start]));
    repo.judge().run().expect(0);
}

#[test]
fn trailers_of_all_commits_of_a_change_count_and_those_of_the_base_do_not() {
    for (messages, exit, code, expected) in [
        (["Begin", "Add\n\nFeature: 44", "Mend"], 0, "", json!(44)),
        (["Begin\n\nFeature: none", "Add", "Mend"], 0, "", json!(42)),
        (["Begin\n\nFeature: 43", "Add\n\nFeature: 44", "Mend\n\nFeature: 44"], 0, "", json!(44)),
        (["Begin", "Add\n\nFeature: 42", "Mend\n\nFeature: 44"], 3, "FEATURE_CONFLICT", Value::Null),
        (["Begin", "Add\n\nFeature: none", "Mend\n\nFeature: 44"], 3, "FEATURE_TRAILER_INVALID", Value::Null),
    ] {
        let repo = change("42", "Replaced", touching(&["docs"]), &[42, 43, 44]);
        let files = base("42");
        let start = repo.commit_saying(messages[0], repo.tree(&files), &[]);
        let added = repo.commit_saying(messages[1], repo.tree(&touching(&["docs"])(files.clone())), &[start]);
        let mended = repo.tree(&touching(&["docs", "more"])(files));
        repo.reference("refs/heads/main", start);
        repo.reference("refs/heads/topic", repo.commit_saying(messages[2], mended, &[added]));
        repo.judge().run().expect(exit);
        let run = repo.run_dir();
        assert_eq!(run.json("qa-report.json")["feature_id"], expected, "{messages:?}");
        assert!(run.json("final-verdict.json")["errorCodes"].to_string().contains(code), "{messages:?}");
        run.verify().run().expect(0);
    }
}

#[test]
fn every_source_adds_steps_to_show_and_none_takes_any_away() {
    let file = "story_validation/failure feature_list.json";
    for (message, directories, missing) in [
        ("Add", &["docs"][..], vec![format!("{file}:7")]),
        ("Add", &["sent"], vec![format!("{file}:7"), format!("{file}:23")]),
        ("Add\n\nFeature: 44", &["docs"], vec![format!("{file}:7"), format!("{file}:23")]),
    ] {
        let repo = change("42", message, touching(directories), &[43]);
        repo.judge().run().expect(1);
        assert_eq!(repo.run_dir().findings(), missing, "{message} {directories:?}");
    }
    // A file that leaves its feature's directory is of the feature.
    let moved = |files: Files| files.without("mail/old.py").with("other/old.py", "sent = 1\nreceived = 2\n");
    let repo = change("null", "Move", moved, &[43]);
    repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings(), [format!("{file}:23")]);
}

#[test]
fn a_change_does_not_take_a_path_off_a_feature_unseen() {
    let fewer = format!("{POLICY}{PATHS}").replace(", \"mail/**\"", "");
    let repo = change("42", "Add", |files| files.with(".qa-skill/policy.toml", fewer), &[42, 43, 44]);
    repo.judge().run().expect(0);
    assert_eq!(repo.run_dir().findings(), ["policy-weakening/policy-weakened .qa-skill/policy.toml:11"]);
    let verdict = repo.run_dir().json("final-verdict.json");
    let preview = verdict["policyPreview"].to_string();
    assert!(preview.contains("gates.story_validation.features"), "{preview}");
}

#[test]
fn features_without_paths_and_of_another_gate_are_refused() {
    let tests = "[gates.unit_tests]\nreports = [{ path = \"a.xml\", tool = \"pytest\" }]\n";
    for (policy, says) in [
        (
            format!("{POLICY}[[gates.story_validation.features]]\nid = 1\npaths = []\n"),
            "feature 1 has no paths",
        ),
        (format!("{POLICY}[[gates.story_validation.features]]\nid = 1\npaths = [\"{{\"]\n"), "glob \"{\""),
        (format!("{tests}[[gates.unit_tests.features]]\nid = 1\npaths = [\"a\"]\n"), "is about no feature"),
    ] {
        let repo = Repo::new();
        let base = Files::from_texts(&[(".qa-skill/policy.toml", policy.as_str())]);
        repo.change(&base, &base.clone().with("a.py", "a = 1\n"));
        let outcome = repo.judge().run().expect_code(2, "POLICY_INVALID");
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
    }
}

/// Line breaks of a test's message are line breaks wherever it is shown.
#[test]
fn a_message_of_several_lines_is_shown_in_lines() {
    let repo = change("42", "Add", |files| files.with("docs/new.md", "text\n"), &[42]);
    let fault = r#"<failure message="expected 0&#10;  and 1&#10;::error::x">test_sum.py:7</failure>"#;
    std::fs::write(repo.path().join("reports/junit.xml"), junit(&[("adds", fault)])).unwrap();
    let policy = "[gates.unit_tests]\nreports = [{ path = \"reports/junit.xml\", tool = \"pytest\" }]\n";
    let base = Files::from_texts(&[(".qa-skill/policy.toml", policy), ("a.py", "a = 1\n")]);
    repo.change(&base, &base.clone().with("a.py", "a = 2\n"));
    let text = repo.judge().run().expect(1).text();
    assert!(text.contains("= message: expected 0\n"), "{text}");
    assert!(text.contains("|   and 1\n") && text.contains("| ::error::x\n"), "{text}");
    let run = repo.run_dir();
    for (name, expected) in [
        ("junit.xml", "Message:\n  | expected 0\n  |   and 1\n  | ::error::x\n"),
        ("report.html", "<pre class=\"said\">expected 0\n  and 1\n::error::x</pre>"),
        ("summary.md", "\nexpected 0\\\n  and 1\\\n"),
    ] {
        let output = String::from_utf8(run.bytes(name)).unwrap();
        assert!(output.contains(expected), "{name}: {output}");
        assert!(!output.contains("\\u{a}"), "{name}: {output}");
    }
}

#[test]
fn a_label_names_the_feature_and_a_replay_needs_no_event() {
    for (labels, exit, expected) in [
        (json!([{"name": "bug"}, {"name": "feature:44"}]), 0, json!(44)),
        (json!([]), 0, json!(42)),
        (json!([{"name": "feature:44"}, {"name": "Feature: 42"}]), 3, Value::Null),
    ] {
        let files = base("42");
        let origin = Origin::from_start(&files, &files.clone().with("docs/b.md", "two\n"));
        let server = origin.serve();
        let mut step = Step::on_pull_request(&origin, &server, 1);
        step.event["pull_request"]["labels"] = labels.clone();
        std::fs::create_dir(step.checkout.join("reports")).unwrap();
        std::fs::write(step.checkout.join("reports/junit.xml"), shown(&[42, 43, 44])).unwrap();
        let outcome = step.run().expect(exit);
        let run = step.run_dir();
        assert_eq!(run.json("qa-report.json")["feature_id"], expected, "{}", outcome.text());
        let codes = run.json("final-verdict.json")["errorCodes"].to_string();
        assert_eq!(codes.contains("FEATURE_CONFLICT"), exit == 3, "{labels}: {codes}");
        run.verify().run().expect(0);
    }
}
