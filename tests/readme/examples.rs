//! Builds the repository of the examples, has each branch judged, and compares the verdicts with the page.

use serde_json::Value;

use crate::generated::is_current;
use crate::scratch::{project, run_bash};

/// Returns the words for how a run ended.
fn verdict(conclusion: &str) -> &'static str {
    match conclusion {
        "pass" => "PASS",
        "fail" => "FAIL",
        "could_not_complete" => "could not complete",
        other => panic!("{other} is no conclusion of an example"),
    }
}

/// Returns the cell of the table with what decided a verdict: rules with their places, or codes.
fn reasons(result: &Value) -> String {
    let verdict = &result["finalVerdict"];
    let findings = verdict["blockingFindings"].as_array().expect("a list of findings");
    let text = |finding: &Value, member: &str| finding[member].as_str().expect("a text").to_owned();
    let mut reasons: Vec<String> = findings
        .iter()
        .map(|finding| {
            let place = format!("`{}:{}`", text(finding, "file"), finding["startLine"]);
            format!("`{}` at {place}", text(finding, "ruleId"))
        })
        .collect();
    if verdict["conclusion"] == "could_not_complete" {
        let codes = verdict["errorCodes"].as_array().expect("a list of codes");
        reasons.extend(codes.iter().map(|code| format!("`{}`", code.as_str().expect("a code"))));
    }
    reasons.join("<br>")
}

#[test]
fn generated_page_of_the_examples_is_current() {
    let place = tempfile::tempdir().expect("a temporary directory can be made");
    let built = run_bash(place.path(), &format!("'{}' shop", project().join("examples/build.sh").display()));
    assert!(built.status.success(), "{built:#?}");
    let repository = place.path().join("shop");
    let list = run_bash(&repository, "git for-each-ref --format='%(refname:short)%09%(subject)' refs/heads");
    let list = String::from_utf8(list.stdout).expect("the list is UTF-8");

    let mut rows = String::new();
    let mut seen = Vec::new();
    for (branch, subject) in list.lines().filter_map(|line| line.split_once('\t')) {
        if branch == "main" {
            continue;
        }
        let judged =
            run_bash(&repository, &format!("qa-skill run --base main --head {branch} --format json"));
        let result: Value = serde_json::from_slice(&judged.stdout).unwrap_or_else(|_| panic!("{judged:#?}"));
        let verdict = verdict(result["finalVerdict"]["conclusion"].as_str().expect("a conclusion"));
        rows.push_str(&format!("| `{branch}` | {subject} | {verdict} | {} |\n", reasons(&result)));
        seen.push(verdict);
        let verified =
            run_bash(&repository, "for run in .qa-skill/runs/*/; do qa-skill verify \"$run\" --repo .; done");
        assert!(verified.status.success(), "{branch}: {verified:#?}");
        assert!(run_bash(&repository, "rm -r .qa-skill/runs").status.success());
    }
    for verdict in ["PASS", "FAIL", "could not complete"] {
        assert!(seen.contains(&verdict), "an example ends with {verdict}");
    }
    let page = format!(
        "# Examples\n\nWritten by `make registry` from what the program says; do not edit. `examples/build.sh DIRECTORY` builds a \
         small repository whose branches are pull requests, with git alone; everyone gets the same commits. The policy on its \
         `main` has the preset `guarded`.\n\n\
         ```sh no-run\n# not run here: tests/readme/examples.rs builds it, and judges every branch\n\
         examples/build.sh shop\ncd shop\nqa-skill run --base main --head skipped-test\n\
         qa-skill explain test-weakening/test-skipped\n```\n\n\
         | Branch | The change | Verdict | Because of |\n|---|---|---|---|\n{rows}"
    );
    is_current("examples/README.md", &page);
}
