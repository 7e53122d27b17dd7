//! Reports whose command left a record of its end, and reports that need one.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Files, Outcome, Repo, qa_skill};

const REPORT: &str = "reports/vitest.json";
const RECORD: &str = "reports/vitest.json.record.json";

fn policy(more: &str) -> String {
    format!("[gates.unit_tests]\nreports = [{{ path = \"{REPORT}\", tool = \"vitest\"{more} }}]\n")
}

/// A change under a policy, with a checkout of both files.
fn under(policy: &str) -> Repo {
    let repo = Repo::new();
    let base = Files::from_texts(&[(".qa-skill/policy.toml", policy), ("src/a.js", "const a = 1;\n")]);
    let head = base.clone().with("src/a.js", "const a = 2;\n");
    repo.change(&base, &head);
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    std::fs::create_dir(repo.path().join(".qa-skill")).unwrap();
    std::fs::write(repo.path().join(".qa-skill/policy.toml"), policy).unwrap();
    std::fs::write(repo.path().join("report"), vitest()).unwrap();
    repo
}

/// Report of Vitest beside an error that no test caught: everything passed.
fn vitest() -> String {
    json!({
        "numTotalTests": 1, "numPassedTests": 1, "numFailedTests": 0, "success": true,
        "testResults": [{
            "name": "/github/workspace/src/a.test.js", "status": "passed", "message": "",
            "assertionResults": [{
                "ancestorTitles": [], "title": "adds", "status": "passed", "failureMessages": []
            }]
        }]
    })
    .to_string()
}

/// Runs a script by `qa-skill record`.
fn record(repo: &Repo, script: &str) -> Outcome {
    qa_skill(["record", "--gate", "unit_tests", "--tool", "vitest", "--", "sh", "-c", script])
        .within(&repo.path())
        .run()
}

fn codes(repo: &Repo) -> String {
    repo.run_dir().json("final-verdict.json")["errorCodes"].to_string()
}

fn write(repo: &Repo, path: &str, value: &Value) {
    std::fs::write(repo.path().join(path), value.to_string()).unwrap();
}

fn stored(repo: &Repo, path: &str) -> Value {
    serde_json::from_slice(&std::fs::read(repo.path().join(path)).unwrap()).unwrap()
}

#[test]
fn a_report_that_can_hide_a_failure_is_no_result_without_a_record() {
    for tool in ["vitest", "jest"] {
        let repo = under(&policy("").replace("tool = \"vitest\"", &format!("tool = {tool:?}")));
        std::fs::copy(repo.path().join("report"), repo.path().join(REPORT)).unwrap();
        let said = repo.judge().run().expect(3);
        assert!(codes(&repo).contains("GATE_REPORT_INCOMPLETE"), "{}", codes(&repo));
        assert!(said.text().contains("qa-skill record"), "{}", said.text());
    }

    let repo = under(&policy(", record = \"optional\""));
    std::fs::copy(repo.path().join("report"), repo.path().join(REPORT)).unwrap();
    repo.judge().run().expect(0);
    let summary = String::from_utf8(repo.run_dir().bytes("summary.md")).unwrap();
    assert!(summary.contains("ended is not recorded"), "{summary}");
}

#[test]
fn a_record_has_the_end_of_its_command_and_the_step_ends_alike() {
    for exit in [0, 1, 3] {
        let repo = under(&policy(""));
        let script = format!("cp report {REPORT}; echo said; echo complained >&2; exit {exit}");
        let step = record(&repo, &script).expect(exit);
        assert_eq!((step.text().as_str(), step.stderr.as_str()), ("said\n", "complained\n"));
        let record = stored(&repo, RECORD);
        assert_eq!(record["exitCode"], exit);
        assert_eq!(record["argv"], json!(["sh", "-c", script]));
        assert_eq!(record["head"], repo.tip("topic").to_string());
        let said = repo.judge().run();
        match exit {
            0 => drop(said.expect(0)),
            1 => {
                assert!(said.expect(1).text().contains("ended with status 1 and reported no error"));
                assert_eq!(repo.run_dir().findings(), [format!("unit_tests/error {REPORT}:1")]);
            }
            _ => drop(said.expect(3)),
        }
        repo.run_dir().verify().run().expect(0);
    }
}

#[test]
fn a_record_names_its_commit_so_that_no_clock_decides() {
    let repo = under(&policy(""));
    record(&repo, &format!("cp report {REPORT}")).expect(0);
    let report = std::fs::File::options().write(true).open(repo.path().join(REPORT)).unwrap();
    report.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    repo.judge().run().expect(0);
    let good = stored(&repo, RECORD);

    // The merge of a pull request has the base and the judged commit as parents, and here head's tree.
    let mut merge = good.clone();
    merge["head"] = json!("1".repeat(40));
    merge["parents"] = json!([repo.tip("main").to_string(), good["head"]]);
    write(&repo, RECORD, &merge);
    repo.judge().arg("--refresh").run().expect(0);
    // A commit on top of the judged one is another.
    merge["parents"] = json!([good["head"]]);
    write(&repo, RECORD, &merge);
    repo.judge().arg("--refresh").run().expect(3);
}

#[test]
fn a_committer_whose_clock_is_ahead_needs_a_record_and_is_told_so() {
    let repo = under(&policy(", record = \"optional\""));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let ahead = i64::try_from(now).unwrap() + 3600;
    let head = repo.commit_at(repo.tree_at_tip("topic"), &[repo.tip("main")], ahead);
    repo.reference("refs/heads/topic", head);
    std::fs::copy(repo.path().join("report"), repo.path().join(REPORT)).unwrap();
    let said = repo.judge().run().expect(3).text();
    assert!(codes(&repo).contains("GATE_REPORT_STALE"), "{}", codes(&repo));
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "s ahead of this machine's clock; run its command by `qa-skill record`, whose record names the commit";
    assert!(said.contains(expected), "{said}");
    std::fs::remove_dir_all(repo.beside("out")).unwrap();
    record(&repo, &format!("cp report {REPORT}")).expect(0);
    repo.judge().run().expect(0);
}

#[test]
fn a_record_of_something_else_is_no_result() {
    for (pointer, value, code) in [
        ("/head", json!("1".repeat(40)), "GATE_REPORT_STALE"),
        ("/reports/0/sha256", json!("1".repeat(64)), "GATE_REPORT_STALE"),
        ("/exitCode", json!("0"), "GATE_REPORT_INCOMPLETE"),
        ("/exitCode", json!(127), "GATE_REPORT_INCOMPLETE"),
        // A signal ended it.
        ("/exitCode", Value::Null, "GATE_REPORT_INCOMPLETE"),
    ] {
        let repo = under(&policy(""));
        record(&repo, &format!("cp report {REPORT}")).expect(0);
        let mut record = stored(&repo, RECORD);
        record["parents"] = json!([]);
        *record.pointer_mut(pointer).unwrap() = value;
        write(&repo, RECORD, &record);
        repo.judge().run().expect(3);
        assert!(codes(&repo).contains(code), "{pointer}: {}", codes(&repo));
        repo.run_dir().verify().run().expect(0);
    }
    // A command that leaves no report leaves no record of an earlier one either.
    let repo = under(&policy(""));
    record(&repo, &format!("cp report {REPORT}")).expect(0);
    let step = record(&repo, "exit 3").expect(3);
    assert!(step.stderr.contains("so there is no record"), "{}", step.stderr);
    assert!(!repo.path().join(RECORD).exists() && !repo.path().join(REPORT).exists());
}

#[test]
fn a_record_of_another_report_has_the_version_that_its_tool_prints() {
    let repo = under(&policy(""));
    let words = ["--report", "reports/other.json", "--version-of", "echo", "--version-of", "1.2.3"];
    let step =
        qa_skill(["record", "--gate", "lint"]).args(words).args(["--", "cp", "report", "reports/other.json"]);
    step.within(&repo.path()).run().expect(0);
    let record = stored(&repo, "reports/other.json.record.json");
    assert_eq!((&record["gate"], &record["toolVersion"]), (&json!("lint"), &json!("1.2.3 --version")));
    let repo = under(&policy(", record = \"required\""));
    let step =
        qa_skill(["record", "--gate", "unit_tests", "--version-of", "echo", "--", "cp", "report", REPORT]);
    step.within(&repo.path()).run().expect(0);
    repo.judge().run().expect(0);
    let step = repo.run_dir().json("recordings/gates.json")["reports"][0]["step"].clone();
    assert!(step["toolVersion"].is_string(), "{step}");
}
