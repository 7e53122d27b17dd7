//! Drives on GitHub from the comment to the gate's check run, with what the image has: no shell and no interpreter.

use crate::drives_on_github::{MENDED, POLICY, Stage};

const AGENT: (&str, &str) = ("agent", "builtin:fix");

#[test]
fn a_comment_leads_to_the_check_run_of_the_pushed_head() {
    let stage = Stage::new(POLICY, "exit 1");
    assert!(stage.comment("/qa fix").contains("is started"));
    let head = stage.world.origin.head.to_string();
    stage.drive(&[("head", &head), AGENT]).expect(0);
    stage.store();
    stage.propose_with(&[AGENT]).expect(0);
    let results = stage.results();
    let [(branch, commit)] = &results[..] else { panic!("{results:?}") };
    assert_eq!(stage.text(commit, "src/app.py"), MENDED);
    stage.judge_result(branch);
}

#[test]
fn a_comment_lets_a_drive_go_on_that_waits() {
    let stage = Stage::new(POLICY, "exit 1");
    stage.comment("/qa fix");
    for (exit, comment) in [(3, "/qa approve"), (0, "")] {
        let [driven, proposed] = stage.go_on_with(&[AGENT]);
        driven.expect(exit);
        proposed.expect(exit);
        if !comment.is_empty() {
            assert!(stage.comment(comment).contains("goes on"));
        }
    }
    let results = stage.results();
    let [(branch, _)] = &results[..] else { panic!("{results:?}") };
    stage.judge_result(branch);
}
