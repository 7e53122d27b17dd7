//! Commands of pull requests, answered on a terminal from local runs.

use serde_json::json;

use crate::support::{copy_tree, judged, qa_skill, repair, tamper};

#[test]
fn a_terminal_answers_from_the_newest_run_and_shows_what_a_comment_would_do() {
    let repo = judged();
    let run = repo.run_dir();
    let route = |line: &str| qa_skill(["route", line]).arg("--run").arg(&run.0).run();
    let status = route("/qa status").expect(0).text();
    assert!(status.starts_with("**FAIL** for "), "{status}");
    assert!(route("/QA report").expect(0).text().starts_with("```text\nFAIL at "));
    assert!(route("/qa where am i").expect(0).text() == status);
    let finding =
        run.json("final-verdict.json")["blockingFindings"][0]["findingId"].as_str().unwrap().to_owned();
    let waiver = route(&format!("/qa waive {finding} It is KNOWN")).expect(0).text();
    assert!(waiver.contains("reason = \"It is KNOWN\""), "{waiver}");
    assert!(route("/qa rerun").expect(0).text().contains("`qa-skill run --refresh`"));
    assert!(route("/qa nonsense").expect(0).text().contains("| Command | For | Effect |"));
    assert!(route("status").expect(2).stderr.contains("does not begin with `/qa`"));
    // Without --run the newest run of the checkout.
    qa_skill(["route", "/qa status"]).within(&repo.path()).run().expect(2);
    copy_tree(&run.0, &repo.path().join(".qa-skill/runs").join(run.0.file_name().unwrap()));
    let newest = qa_skill(["route", "/qa status"]).within(&repo.path()).run().expect(0);
    assert_eq!(newest.text(), status);
}

#[test]
fn a_run_that_was_edited_answers_nothing_although_its_digests_were_made_again() {
    let repo = judged();
    let run = repo.run_dir();
    let results = run.json("skill-result.json");
    let results = results["lensResults"].as_array().unwrap();
    let blocked = results.iter().position(|result| result["findings"] != json!([])).unwrap();
    let findings = format!("/lensResults/{blocked}/findings");
    for (number, (file, pointer, value, reason)) in [
        ("final-verdict.json", "/status", json!("PASS"), "its two verdicts differ"),
        ("skill-result.json", "/finalVerdict/status", json!("PASS"), "its two verdicts differ"),
        ("skill-result.json", &findings, json!([]), "it has two lists of results"),
        (
            "skill-result.json",
            "/normalizedInputHash",
            json!("0".repeat(64)),
            "its result is that of another input",
        ),
        ("input.normalized.json", "/repoId", json!("other"), "its result is that of another input"),
        ("input.normalized.json", "/headSha", json!("0".repeat(40)), "its parts name different commits"),
        ("input.normalized.json", "/configHash", json!("0".repeat(64)), "its configuration is another"),
        ("trace.json", "/configPreimage/diffAlgorithm", json!("other"), "its configuration is another"),
        ("trace.json", "/executionKeyPreimage/repoId", json!("other"), "its key is another"),
    ]
    .into_iter()
    .enumerate()
    {
        let copy = run.copy_to(&repo.beside(&number.to_string()).join(run.0.file_name().unwrap()));
        tamper(&copy, file, pointer, value);
        repair(&copy, false);
        let outcome = qa_skill(["route", "/qa status"]).arg("--run").arg(&copy.0).run();
        assert!(outcome.exit >= 3 && outcome.stderr.contains(reason), "{file}{pointer}: {}", outcome.stderr);
    }
}
