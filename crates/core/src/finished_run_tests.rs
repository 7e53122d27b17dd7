//! Tests of the change that a finished run is about, and of runs that are refused.

use serde_json::json;

use super::*;

const HEAD: &str = "1111111111111111111111111111111111111111";
const OTHER: &str = "2222222222222222222222222222222222222222";
const BASE: &str = "3333333333333333333333333333333333333333";

fn commit(text: &str) -> CommitId {
    CommitId::parse(text).unwrap()
}

fn named() -> NamedRun {
    NamedRun { id: 5, head: commit(HEAD) }
}

/// A completed run of a fork's pull request.
fn answer() -> Value {
    json!({
        "id": 5, "event": "pull_request", "status": "completed", "conclusion": "failure", "run_attempt": 1,
        "head_sha": HEAD, "head_branch": "topic", "repository": {"id": 7, "full_name": "acme/widget"},
        "head_repository": {"id": 8, "full_name": "kim/widget"}
    })
}

fn pull(number: u64, repository: u64, head: &str, base: &str) -> Value {
    json!({
        "number": number, "state": "open", "draft": false, "labels": [],
        "head": {"sha": head, "ref": "topic", "repo": {"id": repository}},
        "base": {"sha": BASE, "ref": base, "repo": {"id": 7}}
    })
}

#[track_caller]
fn run_of(answer: &Value) -> FinishedRun {
    match FinishedRun::from_answer(&named(), "Acme/Widget", answer) {
        Ok(RunTask::Judge(run)) => run,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_of_a_fork_is_about_the_pull_request_with_its_head() {
    let open = [pull(6, 8, OTHER, "main"), pull(7, 8, HEAD, "main"), pull(9, 7, OTHER, "release")];
    let change = run_of(&answer()).pull_request(&open).unwrap();
    let expected = Change {
        head: commit(HEAD),
        bases: vec![BaseRule::Branch("main".to_owned())],
        pull_request: Some(7),
        from_fork: true,
        beside_secrets: true,
        scanning_ref: "refs/pull/7/head".to_owned(),
        label_features: BTreeSet::new(),
        occasion: Occasion::Final("the pull request is no draft"),
        head_before: None,
        opens: false,
        stage: Some(RunStage::Reviews),
    };
    assert_eq!(change, expected);
}

#[test]
fn a_run_that_is_not_the_named_one_or_goes_on_is_refused() {
    let cases = [
        ("/id", json!(6)),
        ("/id", json!(null)),
        ("/repository/full_name", json!("acme/other")),
        ("/repository", json!(null)),
        ("/status", json!("in_progress")),
        ("/status", json!(null)),
        ("/head_sha", json!(OTHER)),
        ("/head_sha", json!("$(id)")),
        ("/head_branch", json!(null)),
        ("/head_repository", json!(null)),
    ];
    for (pointer, value) in cases {
        let mut answer = answer();
        *answer.pointer_mut(pointer).unwrap() = value.clone();
        let refused = FinishedRun::from_answer(&named(), "acme/widget", &answer);
        assert!(refused.is_err(), "{pointer} {value}: {refused:?}");
    }
    for event in [json!("push"), json!("pull_request_target"), json!("schedule"), json!(null)] {
        let mut answer = answer();
        answer["event"] = event.clone();
        let nothing = FinishedRun::from_answer(&named(), "acme/widget", &answer);
        assert!(matches!(nothing, Ok(RunTask::Nothing(_))), "{event}: {nothing:?}");
    }
}

#[test]
fn the_pull_request_has_head_branch_and_repository_of_the_run() {
    let run = run_of(&answer());
    let code = |open: &[Value]| run.pull_request(open).unwrap_err().code();
    assert_eq!(code(&[]), Code::EventUnusable);
    assert_eq!(
        code(&[pull(7, 9, HEAD, "main")]),
        Code::EventUnusable,
        "another repository has the commit too"
    );
    assert_eq!(code(&[pull(7, 8, OTHER, "main")]), Code::HeadSuperseded);
    let mut renamed = pull(7, 8, HEAD, "main");
    renamed["head"]["ref"] = json!("other");
    assert_eq!(code(&[renamed]), Code::EventUnusable);
    let mut deleted = pull(7, 8, HEAD, "main");
    deleted["head"]["repo"] = json!(null);
    assert_eq!(code(&[deleted]), Code::EventUnusable);
}

#[test]
fn one_head_with_two_bases_is_judged_for_neither() {
    let run = run_of(&answer());
    for other in [pull(8, 8, HEAD, "lax"), pull(8, 9, HEAD, "lax")] {
        let refused = run.pull_request(&[pull(7, 8, HEAD, "main"), other]).unwrap_err();
        assert!(refused.to_string().contains("pull requests 7, 8"), "{refused}");
    }
    // Against the same base the verdict is the same.
    let change = run.pull_request(&[pull(6, 9, HEAD, "main"), pull(7, 8, HEAD, "main")]).unwrap();
    assert_eq!(change.pull_request, Some(7));
}

#[test]
fn a_draft_waits_unless_the_first_stage_was_started_again() {
    let mut draft = pull(7, 8, HEAD, "main");
    draft["draft"] = json!(true);
    let change = run_of(&answer()).pull_request(std::slice::from_ref(&draft)).unwrap();
    assert_eq!(change.occasion, Occasion::Draft { begins: false });
    let mut again = answer();
    again["run_attempt"] = json!(2);
    let change = run_of(&again).pull_request(&[draft]).unwrap();
    assert!(matches!(change.occasion, Occasion::Final(_)));
}

#[test]
fn a_merge_group_is_judged_while_the_queue_has_it() {
    let mut answer = answer();
    answer["event"] = json!("merge_group");
    answer["head_branch"] = json!(format!("gh-readonly-queue/main/pr-7-{BASE}"));
    let run = run_of(&answer);
    assert_eq!(run.queued_ref(), Some(format!("refs/heads/gh-readonly-queue/main/pr-7-{BASE}")));
    let change = run.merge_group(Some(&commit(HEAD))).unwrap();
    assert_eq!((change.bases, change.pull_request), (vec![BaseRule::Named(commit(BASE))], None));
    assert!(change.beside_secrets && change.from_fork);
    for tip in [None, Some(commit(OTHER))] {
        assert_eq!(run.merge_group(tip.as_ref()).unwrap_err().code(), Code::HeadSuperseded);
    }
    assert!(run.pull_request(&[pull(7, 8, HEAD, "main")]).is_err());
    for branch in ["topic", &format!("topic-{BASE}"), "gh-readonly-queue/main/pr-7"] {
        answer["head_branch"] = json!(branch);
        let refused = FinishedRun::from_answer(&named(), "acme/widget", &answer);
        assert!(matches!(refused, Err(RunError::Malformed { .. })), "{branch}: {refused:?}");
    }
}

#[test]
fn a_change_with_another_base_or_number_is_not_the_one_that_was_judged() {
    let of =
        |number: u64, base: &str| run_of(&answer()).pull_request(&[pull(number, 8, HEAD, base)]).unwrap();
    let judged = of(7, "main");
    assert_eq!(confirm(&judged, &of(7, "main")), Ok(()));
    for now in [of(7, "release"), of(8, "main")] {
        assert_eq!(confirm(&judged, &now).unwrap_err().code(), Code::HeadSuperseded);
    }
}
