//! Commands of pull requests, answered on a terminal from local runs.

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
    // A run that was edited is none.
    let copy = run.copy_to(&repo.beside("edited").join(run.0.file_name().unwrap()));
    tamper(&copy, "final-verdict.json", "/status", "PASS".into());
    repair(&copy, false);
    assert!(qa_skill(["route", "/qa status"]).arg("--run").arg(&copy.0).run().exit >= 3);
}
