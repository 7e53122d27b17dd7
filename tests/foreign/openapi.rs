//! GitHub's own description of its API, held by Prism against each request of ours and each answer of our fake.

use serde_json::{Value, json};

use crate::support::fake_github::{
    Artifact, Check, Comment, FakeGitHub, Fault, LATER, Permission, Route, Run,
};
use crate::support::origin::{NAME, Origin};
use crate::support::prism::{Prism, forward};
use crate::support::step::{Step, TOKEN, faulty};
use crate::support::{Outcome, Response, Server, archive, qa_skill, repair, sha256, tamper, temp};

fn check(annotations: usize, conclusion: &str) -> Value {
    let annotation = json!({
        "path": "a.py", "start_line": 1, "end_line": 1, "annotation_level": "failure", "message": "no"
    });
    json!({
        "name": "by hand", "head_sha": "1".repeat(40), "status": "completed", "conclusion": conclusion,
        "output": {"title": "t", "summary": "s", "annotations": vec![annotation; annotations]}
    })
}

#[test]
fn what_is_published_and_what_the_fake_answers_are_as_github_describes_them() {
    let origin = Origin::with_topic(&faulty());
    let git = origin.serve();
    let github = FakeGitHub::new(NAME, TOKEN);
    github.state().pulls.insert(7, origin.head.to_string());
    let api = github.serve();
    let Some(prism) = Prism::start(&api) else { return };

    for attempt in 1..=2 {
        std::fs::remove_dir_all(origin.repo.beside("checkout-2")).ok();
        let step = Step::on_pull_request(&origin, &git, 2);
        let outcome = step
            .program()
            .env("GITHUB_API_URL", format!("http://{}", prism.address))
            .env("GITHUB_RUN_ID", "31337")
            .env("INPUT_COMMENT", "true")
            .env("INPUT_UPLOAD-SARIF", "true")
            .run()
            .expect(1);
        assert_eq!(step.output("published-to"), "check-run");
        assert!(!outcome.text().contains("title=PUBLISH_"), "{}", outcome.text());
        let state = github.state();
        let checks: Vec<_> = state.checks.iter().map(|check| check.conclusion.as_deref()).collect();
        assert_eq!(checks, [Some("failure")]);
        assert_eq!((state.checks[0].annotations.len(), state.comments.len()), (1, 1));
        assert_eq!(state.sarifs.len(), attempt);
    }
    let sent = api.requests().len();
    assert!(sent >= 10, "{sent}");

    // The validator bites in both directions, and nothing that it refuses arrives.
    let refused = [check(51, "failure"), check(1, "splendid"), json!({"head_sha": "1".repeat(40)})];
    for body in &refused {
        let (status, answer) = prism.send("POST", "/check-runs", Some(body));
        assert!(status == 422 && answer.contains("#UNPROCESSABLE_ENTITY"), "{answer}");
    }
    assert_eq!((api.requests().len(), github.state().checks.len()), (sent, 1));
    let (status, _) = prism.send("POST", "/check-runs", Some(&check(50, "failure")));
    assert_eq!((status, github.state().checks.len()), (201, 2));
    let spoilt = Response::json(200, &json!({"number": 7}));
    github.fault(Route::GetPull, 1 + calls(&github, Route::GetPull), Fault::Answer(spoilt));
    let (status, answer) = prism.send("GET", "/pulls/7", None);
    assert!(status == 500 && answer.contains("#VIOLATIONS"), "{answer}");

    // What it wrote down: as many errors as were meant to be, and none before them.
    let log = prism.read_until("#VIOLATIONS");
    let errors: Vec<&String> = log.iter().filter(|line| line.contains("terminated with error")).collect();
    assert_eq!(errors.len(), refused.len() + 1, "{errors:?}");
    let received = log.iter().filter(|line| line.contains("Request received")).count();
    assert_eq!(received, sent + errors.len() + 1, "{log:?}");
}

#[test]
fn what_a_night_reads_and_tells_is_as_github_describes_it() {
    let origin = Origin::with_topic(&faulty());
    let git = origin.serve();
    let github = FakeGitHub::new(NAME, TOKEN);
    let api = github.serve();
    let Some(prism) = Prism::start(&api) else { return };
    // Prism follows the redirect of a download itself, so that only this goes past it.
    let entrance = Server::start({
        let (github, address) = (github.clone(), prism.address.clone());
        move |request| match request.path().ends_with("/zip") || request.path().starts_with("/blobs/") {
            true => github.answer(request),
            false => forward(&address, request),
        }
    });
    let mut step = Step::on_pull_request(&origin, &git, 2);
    step.run().expect(1);
    let run = step.run_dir();
    tamper(&run, "final-verdict.json", "/status", "PASS".into());
    repair(&run, false);
    let zip = archive(&run);
    github.state().artifacts.push(Artifact {
        id: 1,
        name: "qa-skill-run".to_owned(),
        digest: Some(format!("sha256:{}", sha256(&zip))),
        zip,
        expired: false,
        created_at: LATER.to_owned(),
        head_sha: origin.head.to_string(),
        head_repository_id: 7,
        run_id: 11,
    });

    step.name = "schedule";
    step.git_ref = "refs/heads/main";
    step.event = json!({"schedule": "17 3 * * *"});
    for _ in 0..2 {
        let program = step.program().env("GITHUB_API_URL", entrance.url());
        let outcome = program.env("INPUT_OPEN-ISSUE", "true").run();
        let outcome = outcome.expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        assert!(!outcome.text().contains("title=PUBLISH_"), "{}", outcome.text());
        assert_eq!(github.state().issues.len(), 1);
    }
    // A request that was refused would be missing, and one whose answer was refused would be repeated.
    // The second listing is of the name that the artifacts of other jobs have.
    let read =
        [Route::ListArtifacts, Route::ListArtifacts, Route::DownloadArtifact, Route::Blob, Route::ListIssues];
    let expected = [&read[..], &[Route::CreateIssue], &read].concat();
    assert_eq!(github.state().calls, expected);

    let (status, answer) = prism.send("POST", "/issues", Some(&json!({"body": "no title"})));
    assert!(status == 422 && answer.contains("#UNPROCESSABLE_ENTITY"), "{answer}");
    github.fault(Route::ListIssues, 3, Fault::Answer(Response::json(200, &json!([{"number": 7}]))));
    let (status, answer) = prism.send("GET", "/issues", None);
    assert!(status == 500 && answer.contains("#VIOLATIONS"), "{answer}");
}

fn calls(github: &FakeGitHub, route: Route) -> usize {
    github.state().calls.iter().filter(|known| **known == route).count()
}

/// A step that answers a comment, through Prism.
fn answer(prism: &Prism, home: &std::path::Path, body: &str) -> Outcome {
    let event = json!({
        "action": "created", "issue": {"number": 7, "pull_request": {}},
        "comment": {"id": 900, "body": body, "user": {"login": "wes", "type": "User"}},
    });
    std::fs::write(home.join("event.json"), event.to_string()).unwrap();
    qa_skill([""; 0])
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_EVENT_NAME", "issue_comment")
        .env("GITHUB_EVENT_PATH", home.join("event.json"))
        .env("GITHUB_REPOSITORY", NAME)
        .env("GITHUB_API_URL", format!("http://{}", prism.address))
        .env("GITHUB_OUTPUT", home.join("output"))
        .env("RUNNER_TEMP", home)
        .env("INPUT_TOKEN", TOKEN)
        .env("INPUT_COMMAND", "route")
        .env("INPUT_WORKFLOW", "qa.yml")
        .run()
}

#[test]
fn what_commands_send_and_what_the_fake_answers_are_as_github_describes_them() {
    let github = FakeGitHub::new(NAME, TOKEN);
    let api = github.serve();
    let Some(prism) = Prism::start(&api) else { return };
    let (head, home) = ("1".repeat(40), temp());
    let before = "2026-01-02T03:00:00Z".to_owned();
    let write = Permission { permission: "write".to_owned(), role_name: "write".to_owned() };
    for (body, status, words) in [
        ("/qa status", "completed", "no run with an artifact"),
        ("/qa rerun", "completed", "judged again"),
        ("/qa resume", "completed", "The run is resumed"),
        ("/qa stop", "in_progress", "is cancelled"),
    ] {
        let mut state = github.state();
        state.pulls.insert(7, head.clone());
        state.roles.insert("wes".to_owned(), write.clone());
        let conclusion = (status == "completed").then(|| "failure".to_owned());
        state.runs = vec![Run {
            id: 11,
            head_sha: head.clone(),
            status: status.to_owned(),
            conclusion,
            started_at: before.clone(),
            head_repository_id: 7,
            ..Run::default()
        }];
        state.checks = vec![Check {
            id: 800,
            name: "qa-skill verdict".to_owned(),
            head_sha: head.clone(),
            status: "in_progress".to_owned(),
            started_at: Some(before.clone()),
            ..Check::default()
        }];
        let (author, body) = ("wes".to_owned(), body.to_owned());
        state.comments = vec![Comment { id: 900, number: 7, author, body: body.clone() }];
        drop(state);
        let outcome = answer(&prism, home.path(), &body).expect(0);
        let state = github.state();
        let answers = state.comments.iter().filter(|one| one.body.contains(words)).count();
        assert_eq!(answers, 1, "{body}: {} {:?}", outcome.text(), state.comments);
    }
}
