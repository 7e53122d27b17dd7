//! A run's SARIF against the schema of the format, and read by a program that others wrote.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::support::judged;
use crate::support::parts::part;

fn run(program: &Path, arguments: &[&str], path: &Path) -> Output {
    Command::new(program).args(arguments).arg(path).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_results_are_valid_by_the_official_schema() {
    let Some(checker) = part(".venv/bin/check-jsonschema") else { return };
    let Some(schema) = part("target/foreign/sarif-2.1.0.json") else { return };
    let arguments = ["--regex-variant", "nonunicode", "--schemafile", schema.to_str().unwrap()];
    let failing = judged();
    let clean = crate::support::change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    clean.judge().run().expect(0);
    for repo in [&failing, &clean] {
        let output = run(&checker, &arguments, &repo.run_dir().path("results.sarif"));
        assert!(output.status.success(), "{}", said(&output));
    }

    // It finds what is wrong with others.
    let good = failing.run_dir().json("results.sarif");
    let broken: [(&str, Value); 3] = [
        ("/runs/0/results/0/level", json!("fatal")),
        ("/runs/0/tool", json!({})),
        ("/runs/0/results/0/message", json!("text")),
    ];
    for (pointer, to) in broken {
        let mut document = good.clone();
        *document.pointer_mut(pointer).unwrap() = to;
        let path = failing.beside("broken.sarif");
        std::fs::write(&path, document.to_string()).unwrap();
        assert!(!run(&checker, &arguments, &path).status.success(), "{pointer}");
    }
}

/// What `sarif summary` says, and each record; its command line itself would want libraries that draw charts.
const READ: &str = "\
import json, sys
from sarif.loader import load_sarif_files
from sarif.operations.summary_op import generate_summary
files = load_sarif_files(sys.argv[1])
print(json.dumps(files.get_records()))
generate_summary(files, None, False)
";

#[test]
fn another_program_reads_the_same_findings_at_the_same_places() {
    if part(".venv/bin/sarif").is_none() {
        return;
    }
    let Some(python) = part(".venv/bin/python") else { return };
    let repo = judged();
    let run_dir = repo.run_dir();
    let output = run(&python, &["-c", READ], &run_dir.path("results.sarif"));
    assert!(output.status.success(), "{}", said(&output));
    let text = said(&output);
    let (records, summary) = text.split_once('\n').unwrap();
    let records: Vec<Value> = serde_json::from_str(records).unwrap();
    let place = |of: &Value| {
        format!("{} {}:{}", of["Code"].as_str().unwrap(), of["Location"].as_str().unwrap(), of["Line"])
    };
    let mut theirs: Vec<String> = records.iter().map(place).collect();
    let mut ours = run_dir.findings();
    theirs.sort();
    ours.sort();
    assert!(!ours.is_empty() && theirs == ours, "{theirs:?} {ours:?}");
    assert!(records.iter().all(|of| of["Severity"] == "error" && of["Tool"] == "qa-skill"), "{records:?}");
    // Every finding of this change blocks, so that there are errors and nothing else.
    let blocking = run_dir.json("final-verdict.json")["blockingFindings"].as_array().unwrap().len();
    for line in [format!("error: {blocking}"), "warning: 0".to_owned(), "note: 0".to_owned()] {
        assert!(summary.lines().any(|said| said == line), "{line}: {summary}");
    }
}
