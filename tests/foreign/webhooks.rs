//! GitHub's own examples of events, each given to the program as a runner gives it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::Outcome;
use crate::support::origin::Origin;
use crate::support::parts::part;
use crate::support::step::{Step, faulty};

/// What an event must come to: exit, verdict, and the code of the failure.
type Expected = (i32, &'static str, &'static str);

const JUDGED: Expected = (1, "fail", "");
const NOTHING: Expected = (0, "none", "");
const REFUSED: Expected = (2, "could-not-complete", "EVENT_UNUSABLE");
/// The change is to be asked for, and there is no API.
const UNANSWERED: Expected = (3, "could-not-complete", "PUBLISH_FAILED");

/// The examples by name of event.
fn examples() -> Option<BTreeMap<String, Vec<Value>>> {
    let text = std::fs::read(part("target/foreign/webhooks.json")?).unwrap();
    let events: Vec<Value> = serde_json::from_slice(&text).unwrap();
    let of = |event: Value| {
        (event["name"].as_str().unwrap().to_owned(), event["examples"].as_array().unwrap().clone())
    };
    Some(events.into_iter().map(of).collect())
}

/// A repository that has what the examples name: pull request 2 and a branch `master`.
fn origin() -> Origin {
    let origin = Origin::with_topic(&faulty());
    origin.repo.reference("refs/heads/master", origin.base);
    origin.repo.reference("refs/pull/2/head", origin.head);
    origin.repo.reference("refs/pull/2/merge", origin.merge);
    origin
}

fn git_ref(name: &str, event: &Value) -> String {
    match name {
        "pull_request" => format!("refs/pull/{}/merge", event["number"]),
        "merge_group" => {
            let base = event["merge_group"]["base_sha"].as_str().unwrap();
            format!("refs/heads/gh-readonly-queue/master/pr-2-{base}")
        }
        "push" | "workflow_dispatch" => event["ref"].as_str().unwrap().to_owned(),
        _ => "refs/heads/master".to_owned(),
    }
}

/// Runs a step on another event and gives how it ended and its verdict.
fn run(like: &Step<'_>, name: &str, event: &Value, sha: &str) -> (Outcome, String) {
    std::fs::remove_dir_all(like.checkout.join(".qa-skill")).ok();
    std::fs::remove_file(like.origin.repo.beside("output")).ok();
    let git_ref = git_ref(name, event);
    let (event, checkout) = (event.clone(), like.checkout.clone());
    let step = Step { origin: like.origin, server: like.server, checkout, name, git_ref: &git_ref, event };
    let base_ref = step.event["pull_request"]["base"]["ref"].as_str().unwrap_or_default().to_owned();
    let outcome = step.program().env("GITHUB_SHA", sha).env("GITHUB_BASE_REF", &base_ref).run();
    (outcome, step.output("verdict"))
}

fn seen((outcome, verdict): &(Outcome, String)) -> (i32, &str, &str) {
    (outcome.exit, verdict, outcome.code())
}

/// Puts commits that exist where the example names some.
fn with_commits(event: &Value, origin: &Origin) -> Value {
    let mut event = event.clone();
    let commits = [
        ("/pull_request/head/sha", origin.head),
        ("/pull_request/base/sha", origin.fork_point),
        ("/merge_group/head_sha", origin.merge),
        ("/merge_group/base_sha", origin.base),
        ("/after", origin.merge),
        ("/before", origin.fork_point),
    ];
    for (pointer, commit) in commits {
        if let Some(member) = event.pointer_mut(pointer) {
            let is_none = member.as_str().is_some_and(|id| id.bytes().all(|byte| byte == b'0'));
            if !is_none {
                *member = json!(commit.to_string());
            }
        }
    }
    event
}

fn expected(name: &str, event: &Value) -> Expected {
    let tag = event["ref"].as_str().is_some_and(|name| name.starts_with("refs/tags/"));
    match name {
        "push" if tag => NOTHING,
        "push" if event["deleted"] == true => REFUSED,
        "issue_comment" => REFUSED,
        "workflow_run" => UNANSWERED,
        _ => JUDGED,
    }
}

#[test]
fn every_example_of_an_event_is_judged_or_refused_as_what_it_is() {
    let Some(examples) = examples() else { return };
    let origin = origin();
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 2);
    let sha = origin.merge.to_string();
    let mut count = 0;
    for name in ["pull_request", "merge_group", "push", "workflow_dispatch", "issue_comment", "workflow_run"]
    {
        for (number, example) in examples[name].iter().enumerate() {
            let event = with_commits(example, &origin);
            let ended = run(&step, name, &event, &sha);
            let place = format!("{name} {number} {}: {}", event["action"], ended.0.stderr);
            assert_eq!(seen(&ended), expected(name, &event), "{place}");
            count += 1;
        }
    }
    assert!(count >= 50, "{count}");
}

#[test]
fn every_example_of_a_comment_is_routed_and_none_is_a_command() {
    let Some(examples) = examples() else { return };
    let origin = origin();
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 2);
    let examples = &examples["issue_comment"];
    assert!(!examples.is_empty());
    for (number, example) in examples.iter().enumerate() {
        let before = server.requests().len();
        std::fs::remove_file(origin.repo.beside("output")).ok();
        let (event, checkout) = (example.clone(), step.checkout.clone());
        let step = Step {
            origin: &origin,
            server: &server,
            checkout,
            name: "issue_comment",
            git_ref: "refs/heads/master",
            event,
        };
        let outcome = step.program().env("INPUT_COMMAND", "route").env("INPUT_WORKFLOW", "qa.yml").run();
        assert_eq!((outcome.exit, &*step.output("verdict")), (0, "none"), "{number}: {}", outcome.stderr);
        assert!(outcome.text().contains("nothing to do: "), "{}", outcome.text());
        assert_eq!(server.requests().len(), before, "a comment that is no command needs no request");
    }
}

#[test]
fn an_event_about_commits_that_nobody_has_is_an_error_and_no_verdict() {
    let Some(examples) = examples() else { return };
    let origin = origin();
    let server = origin.serve();
    let step = Step::on_pull_request(&origin, &server, 2);
    let nowhere = "6113728f27ae82c7b1a177c8d03f9e96e0adf246";
    let mut count = 0;
    for name in ["pull_request", "merge_group", "push", "workflow_dispatch"] {
        for (number, event) in examples[name].iter().enumerate() {
            if expected(name, event) != JUDGED {
                continue;
            }
            let ended = run(&step, name, event, nowhere);
            let place = format!("{name} {number} {}: {}", event["action"], ended.0.stderr);
            assert!([2, 3].contains(&ended.0.exit), "{place}");
            assert_eq!(ended.1, "could-not-complete", "{place}");
            assert!(!ended.0.code().is_empty() && ended.0.stderr.contains("\n  help: "), "{place}");
            count += 1;
        }
    }
    assert!(count >= 30, "{count}");
}
