//! Reports that the tools themselves leave and that prove less than they seem to, or whose faults have to be found.

use std::path::Path;
use std::process::Command;

use crate::support::parts::part;
use crate::support::{Files, Outcome, Repo};

/// A change under a policy, checked out beside the packages of a tool.
fn checkout(policy: &str, base: &[(&str, &str)], head: &[(&str, &str)]) -> Repo {
    let repo = Repo::new();
    let files = Files::from_texts(base).with(".qa-skill/policy.toml", policy);
    let changed = head.iter().fold(files.clone(), |files, (path, text)| files.with(*path, *text));
    repo.change(&files, &changed);
    for (path, text) in base.iter().chain(head) {
        let path = repo.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    repo
}

/// Runs a tool in the checkout, and leaves what it printed as the report if it wrote none.
fn leave(repo: &Repo, programs: &Path, command: &[&str]) {
    if programs.ends_with(".bin") && !repo.path().join("node_modules").exists() {
        std::os::unix::fs::symlink(programs.parent().unwrap(), repo.path().join("node_modules")).unwrap();
    }
    let program =
        Command::new(programs.join(command[0])).args(&command[1..]).current_dir(repo.path()).output();
    let report = repo.path().join("reports/report");
    if !report.exists() {
        std::fs::write(report, program.unwrap().stdout).unwrap();
    }
}

fn codes(repo: &Repo) -> String {
    repo.run_dir().json("final-verdict.json")["errorCodes"].to_string()
}

#[test]
fn a_report_of_eslint_or_tsc_about_another_file_is_no_pass() {
    let Some(node) = part("target/foreign/node/node_modules/.bin") else { return };
    let config = "module.exports = [{ rules: { 'no-undef': 'error' } }];\n";
    let compiler = r#"{"compilerOptions": {"strict": true, "types": []}, "include": ["other.ts"]}"#;
    for (gate, tool, configuration, path, fault, command) in [
        (
            "lint",
            "eslint",
            ("eslint.config.js", config),
            "src/a.js",
            "undefinedCall();\n",
            &["eslint", "other.js", "--format", "json", "--output-file", "reports/report"][..],
        ),
        (
            "type_check",
            "tsc",
            ("tsconfig.json", compiler),
            "src/a.ts",
            "export const a: number = 'text';\n",
            &["tsc", "--noEmit", "--pretty", "false", "--listFiles"],
        ),
    ] {
        let policy =
            format!("[gates.{gate}]\nreports = [{{ path = \"reports/report\", tool = \"{tool}\" }}]\n");
        let other = if gate == "lint" { "other.js" } else { "other.ts" };
        let base = [configuration, (path, "export const a = 1;\n"), (other, "export const other = 1;\n")];
        let repo = checkout(&policy, &base, &[(path, fault)]);
        leave(&repo, &node, command);
        let outcome: Outcome = repo.judge().run().expect(3);
        assert!(codes(&repo).contains("GATE_SCOPE_INCOMPLETE"), "{}", outcome.text());
        assert!(outcome.text().contains(path), "{}", outcome.text());
    }
}

const STORY: &str = "[gates.story_validation]\nreports = [{ path = \"reports/report\", tool = \"pytest\", record = \"optional\" }]\n";
const LIST: &str =
    r#"[{"id": 42, "description": "A sum can be had", "steps": ["Step 1: add"], "passes": false}]"#;
const STATE: &str = r#"{"current_state": "QA_READY", "next_agent": "qa", "current_feature_id": 42, "qa_retries": 0, "last_transition": "2024-05-01T12:00:00Z", "history": []}"#;

#[test]
fn a_test_of_pytest_shows_its_step_only_where_it_checks_something() {
    let Some(python) = part("target/foreign/python/bin") else { return };
    for (body, exit) in [("assert sums.add(1, 2) == 3", 0), ("pass", 1)] {
        let base = [
            ("feature_list.json", LIST),
            ("workflow-state.json", STATE),
            ("stories/42.json", "{ \"1\": \"test_sums.py::test_add\" }"),
            ("sums.py", "def add(*all):\n    return 0\n"),
        ];
        let test = format!("import sums\n\n\ndef test_add():\n    {body}\n");
        let head = [("sums.py", "def add(*all):\n    return sum(all)\n"), ("test_sums.py", test.as_str())];
        let repo = checkout(STORY, &base, &head);
        leave(&repo, &python, &["pytest", "-q", "--junitxml=reports/report"]);
        repo.judge().run().expect(exit);
    }
}

#[test]
fn a_failure_in_the_junit_of_pytest_or_bats_is_at_its_line() {
    let bats = Path::new("/usr/bin");
    let cases = [
        (
            part("target/foreign/python/bin"),
            "\"pytest\"",
            ("tests/test_a.py", "def test_one():\n    value = 1\n    assert value == 2\n"),
            &["pytest", "-q", "--junitxml=reports/report"][..],
        ),
        (
            bats.join("bats").exists().then(|| bats.to_owned()),
            "\"junit\", name = \"bats\"",
            ("tests/sum.bats", "@test \"adds\" {\n  true\n  [ 1 -eq 2 ]\n}\n"),
            &["bats", "--formatter", "junit", "tests"],
        ),
    ];
    for (programs, tool, test, command) in cases {
        let Some(programs) = programs else { continue };
        let policy =
            format!("[gates.unit_tests]\nreports = [{{ path = \"reports/report\", tool = {tool} }}]\n");
        let repo = checkout(&policy, &[("a.txt", "one\n")], &[test]);
        leave(&repo, &programs, command);
        repo.judge().run().expect(1);
        assert_eq!(repo.run_dir().findings(), [format!("unit_tests/failure {}:3", test.0)]);
    }
}
