//! Publishing under faults, limits and sudden ends, against a GitHub in memory.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::conversation::Posted;
use super::*;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::secret::Secret;
use qa_formats::check_run::{Annotation, AnnotationLevel, CheckConclusion, CheckReport};
use qa_run::control::Wait;
use qa_run::http::{HttpError, HttpReply, HttpRequest};

// The fake is one for these tests and for those of the whole program.
#[path = "../../tests/it/support/fake_github.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod fake_github;
#[path = "../../tests/it/support/github_shapes.rs"]
mod github_shapes;
#[path = "../../tests/it/support/hold.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod hold;
#[path = "../../tests/it/support/server.rs"]
#[allow(dead_code, unreachable_pub, clippy::disallowed_methods, reason = "other tests use the rest")]
mod server;

#[path = "lease_tests.rs"]
mod lease;

use lease::{claim, external_id};

use fake_github::{BOT, Check, Comment, FakeGitHub, Fault, Issue, Route};
use server::{Request, Response, Spoilt};

const API: &str = "https://git.example/api/v3";
const TOKEN: &str = "token-of-the-test";
const MARKER: &str = "<!-- qa-skill: report -->";

/// The port over the fake. It never waits, and ends like a killed process where it is told to.
struct Memory {
    fake: FakeGitHub,
    waits: Mutex<Vec<Duration>>,
    /// The call that is the last, and whether the server gets it.
    last_call: Option<(usize, bool)>,
    calls: Mutex<usize>,
    /// Action of another client, before the server gets a call.
    meanwhile: Mutex<Option<Meanwhile>>,
}

struct Meanwhile {
    /// Number of the call, from 1.
    before: usize,
    action: Box<dyn FnOnce() + Send>,
}

impl Http for Memory {
    fn send(&self, request: HttpRequest, sink: &mut dyn Write) -> Result<HttpReply, HttpError> {
        let target = request.url.strip_prefix("https://git.example").expect("another host").to_owned();
        let token = request.authorization.as_ref().map(|secret| secret.expose().to_owned());
        assert_eq!(token.as_deref(), Some("Bearer token-of-the-test"));
        assert!(!format!("{:?} {:?}", request.url, request.headers).contains(TOKEN));
        let mut headers = request.headers.clone();
        headers.push(("authorization".to_owned(), token.unwrap()));
        let message =
            Request { method: request.method.as_str().to_owned(), target, headers, body: request.body };
        let call = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls
        };
        let due = self.meanwhile.lock().unwrap().take_if(|meanwhile| meanwhile.before == call);
        if let Some(meanwhile) = due {
            // The client of that run has a runtime of its own.
            std::thread::spawn(meanwhile.action).join().unwrap();
        }
        if let Some((last, acts)) = self.last_call
            && call >= last
        {
            if call == last && acts {
                self.fake.answer(&message);
            }
            return Err(HttpError::Cancelled);
        }
        let response = self.fake.answer(&message);
        let host = "git.example".to_owned();
        let broken = || HttpError::Unreachable { host: host.clone(), reason: "reset".to_owned() };
        match response.spoilt {
            Spoilt::Reset => return Err(broken()),
            Spoilt::Slow(time) => return Err(HttpError::Timeout { host, seconds: time.as_secs() }),
            Spoilt::Truncated => {
                sink.write_all(&response.body[..response.body.len() / 2]).unwrap();
                return Err(broken());
            }
            Spoilt::Not => {}
        }
        if response.body.len() as u64 > request.max_response_bytes {
            return Err(HttpError::TooLarge { host, limit: request.max_response_bytes, status: 200 });
        }
        sink.write_all(&response.body).unwrap();
        Ok(HttpReply { status: response.status, headers: response.headers })
    }

    fn wait(&self, wait: &Wait<'_>) -> bool {
        self.waits.lock().unwrap().push(wait.time);
        true
    }
}

fn fake() -> FakeGitHub {
    FakeGitHub::new("owner/name", TOKEN).below("/api/v3")
}

fn memory(fake: &FakeGitHub, last_call: Option<(usize, bool)>) -> Arc<Memory> {
    Arc::new(Memory {
        fake: fake.clone(),
        waits: Mutex::default(),
        last_call,
        calls: Mutex::default(),
        meanwhile: Mutex::default(),
    })
}

fn target(repository: &str) -> Target<'_> {
    Target { api_url: API, repository, token: Secret::new(TOKEN).unwrap(), seed: "seed" }
}

fn over(http: &Arc<Memory>) -> GitHub {
    let http: Arc<dyn Http> = Arc::clone(http) as Arc<dyn Http>;
    GitHub::new(http, target("owner/name")).unwrap()
}

fn github(fake: &FakeGitHub) -> GitHub {
    over(&memory(fake, None))
}

fn head() -> CommitId {
    CommitId::parse(&"a1".repeat(20)).unwrap()
}

fn start(github: &GitHub) -> Result<Lease, PublishError> {
    claim(github, "key", 1)
}

fn annotation(line: u64) -> Annotation {
    Annotation {
        path: RepoPath::from_bytes("src/ä b.rs".as_bytes()).unwrap(),
        start_line: line,
        end_line: line,
        columns: Some((3, 9)),
        level: AnnotationLevel::Failure,
        title: "lens/rule".to_owned(),
        message: format!("finding {line}\nFix: it"),
        raw_details: None,
    }
}

fn report(annotations: Vec<Annotation>) -> CheckReport {
    CheckReport {
        conclusion: CheckConclusion::Failure,
        title: "FAIL: 120 findings block this change.".to_owned(),
        summary: "## FAIL".to_owned(),
        text: None,
        annotations,
    }
}

fn comment<'a>(body: &'a str) -> StickyComment<'a> {
    StickyComment { number: 7, ownership: Ownership { marker: MARKER, author_login: BOT }, body }
}

static NONE: std::collections::BTreeSet<String> = std::collections::BTreeSet::new();

fn drift<'a>(body: &'a str) -> DriftIssue<'a> {
    let ownership = Ownership { marker: MARKER, author_login: BOT };
    DriftIssue { ownership, title: "Drift", body, labels: &["qa-skill", "drift"], problems: &NONE }
}

/// Everything one run publishes. Two annotations are alike.
fn publish(github: &GitHub) -> Result<(), PublishError> {
    let run = start(github)?;
    let mut annotations: Vec<Annotation> = (1..=119).map(annotation).collect();
    annotations.push(annotation(60));
    github.finish_check(&run, &report(annotations))?;
    github.sticky_comment(&comment("FAIL"))?;
    github.drift_issue(&drift("moved"))?;
    Ok(())
}

/// Returns the published checks, comments and issues, without the ids that GitHub assigns.
fn published(fake: &FakeGitHub) -> (Vec<Check>, Vec<String>, Vec<(String, String)>) {
    let state = fake.state();
    let checks = state.checks.iter().map(|check| Check { id: 0, ..check.clone() }).collect();
    let comments = state.comments.iter().map(|comment| comment.body.clone()).collect();
    let issues = state.issues.iter().map(|issue| (issue.title.clone(), issue.body.clone())).collect();
    (checks, comments, issues)
}

fn undisturbed() -> (FakeGitHub, usize) {
    let fake = fake();
    publish(&github(&fake)).unwrap();
    let calls = fake.state().calls.len();
    (fake, calls)
}

#[test]
fn a_run_leaves_one_check_run_with_every_annotation_in_order() {
    let (fake, calls) = undisturbed();
    let (checks, comments, issues) = published(&fake);
    let lines: Vec<u64> =
        checks[0].annotations.iter().map(|one| one["start_line"].as_u64().unwrap()).collect();
    assert_eq!(lines, (1..=119).chain([60]).collect::<Vec<u64>>());
    let check = Check { annotations: Vec::new(), ..checks[0].clone() };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        check,
        Check {
            id: 0,
            name: "qa-skill & more".to_owned(),
            head_sha: head().as_str().to_owned(),
            external_id: Some(external_id("key", 1)),
            details_url: text("https://git.example/owner/name/actions/runs/1"),
            status: "completed".to_owned(),
            conclusion: text("failure"),
            title: text("FAIL: 120 findings block this change."),
            summary: text("## FAIL"),
            text: None,
            annotations: Vec::new(),
            ..Check::default()
        }
    );
    assert_eq!(
        (checks.len(), comments, issues),
        (
            1,
            vec![format!("{MARKER}\nFAIL")],
            vec![("Drift".to_owned(), format!("{MARKER}\n<!-- problems:  -->\nmoved"))],
        )
    );
    use Route::{
        CreateCheck, CreateComment, CreateIssue, ListAnnotations, ListChecks, ListComments, ListIssues,
        UpdateCheck,
    };
    let expected = [
        ListChecks,
        CreateCheck,
        ListChecks,
        ListAnnotations,
        UpdateCheck,
        UpdateCheck,
        UpdateCheck,
        ListComments,
        CreateComment,
        ListIssues,
        CreateIssue,
    ];
    assert_eq!((fake.state().calls.as_slice(), calls), (&expected[..], expected.len()));
}

#[test]
fn a_conclusion_never_stands_before_the_last_annotation() {
    let (_, calls) = undisturbed();
    for last in 1..=calls {
        let fake = fake();
        let ended = publish(&over(&memory(&fake, Some((last, true)))));
        assert_eq!(ended.unwrap_err().code().as_str(), "CANCELLED");
        for check in &fake.state().checks {
            assert!(check.conclusion.is_none() || check.annotations.len() == 120, "after call {last}");
        }
    }
}

#[test]
fn a_process_that_ends_after_any_call_is_completed_by_the_next() {
    let (whole, calls) = undisturbed();
    for last in 1..=calls {
        for acts in [false, true] {
            let fake = fake();
            publish(&over(&memory(&fake, Some((last, acts))))).unwrap_err();
            publish(&github(&fake)).unwrap();
            assert_eq!(published(&fake), published(&whole), "call {last}, acts: {acts}");
        }
    }
}

#[test]
fn a_second_run_changes_nothing() {
    let (fake, calls) = undisturbed();
    let before = published(&fake);
    publish(&github(&fake)).unwrap();
    assert_eq!(published(&fake), before);
    let writes = fake.state().calls[calls..].iter().filter(|route| **route == Route::UpdateCheck).count();
    assert_eq!(writes, 1, "the conclusion is said again, the annotations are not");
}

#[test]
fn one_fault_at_any_call_changes_nothing_of_the_outcome() {
    let (whole, _) = undisturbed();
    let routes = whole.state().calls.clone();
    let limit = |status, headers: &[(&'static str, &str)]| Fault::Limit {
        status,
        headers: headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect(),
    };
    let faults = [
        Fault::Refuse(500),
        Fault::Refuse(503),
        Fault::Drop,
        Fault::ActThenAnswer(502),
        Fault::ActThenAnswer(504),
        Fault::ActThenSpoil(Spoilt::Reset),
        Fault::ActThenSpoil(Spoilt::Truncated),
        Fault::ActThenSpoil(Spoilt::Slow(Duration::from_secs(60))),
        Fault::ActThenFlood(17 << 20),
        Fault::Answer(Response::new(200, "<html>sign in</html>")),
        limit(429, &[]),
        limit(403, &[]),
        limit(429, &[("retry-after", "5")]),
        limit(403, &[("retry-after", "5")]),
        limit(
            403,
            &[
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "784111787"),
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ],
        ),
    ];
    for (index, route) in routes.iter().enumerate() {
        let call = routes[..=index].iter().filter(|known| *known == route).count();
        for fault in &faults {
            let fake = fake();
            fake.fault(*route, call, fault.clone());
            let http = memory(&fake, None);
            publish(&over(&http)).unwrap_or_else(|error| panic!("{route:?} {call} {fault:?}: {error}"));
            assert_eq!(published(&fake), published(&whole), "{route:?} {call} {fault:?}");
            assert_eq!(http.waits.lock().unwrap().len(), 1, "{route:?} {call} {fault:?}");
        }
    }
}

/// The error of a run whose first calls of a route go wrong, and the seconds it waited.
fn failing(route: Route, fault: &Fault, times: usize) -> (PublishError, Vec<u64>) {
    let fake = fake();
    (1..=times).for_each(|call| fake.fault(route, call, fault.clone()));
    let http = memory(&fake, None);
    let error = publish(&over(&http)).unwrap_err();
    for check in &fake.state().checks {
        assert_ne!(check.conclusion.as_deref(), Some("success"));
    }
    let waits = http.waits.lock().unwrap().iter().map(Duration::as_secs).collect();
    (error, waits)
}

#[test]
fn seven_attempts_are_made_and_then_it_is_unknown_whether_it_was_published() {
    let (error, waits) = failing(Route::CreateCheck, &Fault::Refuse(502), 9);
    assert_eq!(error.to_string(), "start the check run: git.example answered 502: Server Error");
    assert_eq!((error.code().as_str(), waits.len()), ("PUBLISH_FAILED", 6));
    assert!(!error.is_permission());
}

#[test]
fn a_token_that_may_not_write_names_the_permission() {
    let fake = fake();
    fake.read_only();
    let github = github(&fake);
    let head = head();
    let sarif = SarifUpload {
        commit: &head,
        git_ref: "refs/pull/7/merge",
        sarif: b"{}",
        checkout_uri: "file:///",
        tool: "qa-skill",
    };
    let errors = [
        (start(&github).unwrap_err(), "checks: write"),
        (github.sticky_comment(&comment("x")).unwrap_err(), "pull-requests: write"),
        (github.drift_issue(&drift("x")).unwrap_err(), "issues: write"),
        (github.upload_sarif(&sarif).unwrap_err(), "security-events: write"),
    ];
    for (error, needs) in errors {
        assert!(error.is_permission() && error.hint().contains(needs), "{error}: {}", error.hint());
        assert_eq!(error.code().as_str(), "PUBLISH_FORBIDDEN");
    }
}

#[test]
fn a_wait_that_does_not_fit_ends_at_once_and_one_that_does_is_kept() {
    let limit =
        |seconds: &str| Fault::Limit { status: 403, headers: vec![("retry-after", seconds.to_owned())] };
    let (error, waits) = failing(Route::UpdateCheck, &limit("3600"), 1);
    assert_eq!((error.code().as_str(), waits), ("PUBLISH_RATE_LIMITED", vec![]));
    assert!(error.to_string().ends_with("and asks to wait 3600 s"), "{error}");
    let (error, waits) = failing(Route::UpdateCheck, &limit("50"), 9);
    assert_eq!((error.code().as_str(), waits), ("PUBLISH_RATE_LIMITED", vec![50, 50]));
    let (error, waits) = failing(Route::UpdateCheck, &Fault::Limit { status: 429, headers: vec![] }, 9);
    assert_eq!((error.code().as_str(), waits), ("PUBLISH_RATE_LIMITED", vec![60, 60]));
    let (error, waits) = failing(Route::UpdateCheck, &limit("0"), 9);
    assert_eq!((error.code().as_str(), waits.len()), ("PUBLISH_RATE_LIMITED", 6));
}

#[test]
fn a_redirect_is_named_and_not_followed() {
    for status in [301, 302, 307, 308] {
        let location = format!("https://me:{TOKEN}@evil.example/x?y={TOKEN}");
        let (error, waits) = failing(Route::CreateCheck, &Fault::Redirect { status, location }, 1);
        assert_eq!(
            error.to_string(),
            "start the check run: git.example redirects to evil.example; redirects are not followed"
        );
        assert_eq!((error.code().as_str(), waits.len()), ("PUBLISH_FAILED", 0));
    }
}

#[test]
fn what_github_finds_invalid_is_not_tried_again_and_its_words_show_no_token() {
    let said =
        serde_json::json!({"message": format!("no {TOKEN}\u{1b}[31m"), "errors": [{"message": "because"}]});
    let (error, waits) = failing(Route::UpdateCheck, &Fault::Answer(Response::json(422, &said)), 1);
    assert_eq!(
        error.to_string(),
        "complete the check run: git.example answered 422: no ***\\u{1b}[31m; because"
    );
    assert_eq!((error.code().as_str(), waits.len()), ("PUBLISH_REFUSED", 0));
}

#[test]
fn texts_are_cut_to_what_github_takes() {
    let long = Annotation {
        start_line: 0,
        end_line: 0,
        columns: Some((0, 4)),
        title: "é".repeat(200),
        message: "é".repeat(40_000),
        raw_details: Some("é".repeat(40_000)),
        ..annotation(1)
    };
    let backwards = Annotation { start_line: 9, end_line: 3, columns: Some((5, 2)), ..annotation(1) };
    let wide = Annotation { start_line: 3, end_line: 4, level: AnnotationLevel::Notice, ..annotation(1) };
    let report = CheckReport {
        title: "t".repeat(400),
        summary: "é".repeat(40_000),
        text: Some("line\n".repeat(20_000)),
        ..report(vec![long, backwards, wide])
    };
    let fake = fake();
    let github = github(&fake);
    let run = start(&github).unwrap();
    github.finish_check(&run, &report).unwrap();
    // Again: what was cut is known again.
    github.finish_check(&run, &report).unwrap();
    let state = fake.state();
    let check = &state.checks[0];
    assert_eq!(check.annotations.len(), 3);
    for text in [check.summary.as_deref().unwrap(), check.text.as_deref().unwrap()] {
        assert!(text.len() <= 65_535 && text.contains("cut off at GitHub"), "{}", text.len());
    }
    let places: Vec<_> = check
        .annotations
        .iter()
        .map(|one| [&one["start_line"], &one["end_line"], &one["start_column"]])
        .collect();
    assert_eq!(serde_json::json!(places), serde_json::json!([[1, 1, null], [9, 9, null], [3, 4, null]]));
}

#[test]
fn a_cancelled_run_has_the_conclusion_cancelled() {
    let fake = fake();
    let github = github(&fake);
    let run = start(&github).unwrap();
    github.cancel_check(&run, "stopped by <someone>").unwrap();
    let state = fake.state();
    assert_eq!(state.checks[0].conclusion.as_deref(), Some("cancelled"));
    assert_eq!(state.checks[0].summary.as_deref(), Some("stopped by &lt;someone&gt;"));
}

#[test]
fn only_a_comment_with_the_marker_and_the_author_is_ours() {
    let fake = fake();
    let theirs = [
        ("kim", format!("{MARKER}\nmine")),
        (BOT, format!("{MARKER}x\nother")),
        (BOT, format!("see {MARKER}")),
        ("GitHub-Actions", format!("{MARKER}\nx")),
    ];
    for (id, (author, body)) in theirs.iter().cycle().take(150).enumerate() {
        let comment =
            Comment { id: 1000 + id as u64, number: 7, author: (*author).to_owned(), body: body.clone() };
        fake.state().comments.push(comment);
    }
    let github = github(&fake);
    let before = fake.state().comments.clone();
    assert_eq!(github.sticky_comment(&comment("one")), Ok(Posted::Created));
    assert_eq!(github.sticky_comment(&comment("one")), Ok(Posted::Unchanged));
    assert_eq!(github.sticky_comment(&comment("two")), Ok(Posted::Updated));
    let state = fake.state();
    assert_eq!(state.comments[..150], before);
    assert_eq!(state.comments[150].body, format!("{MARKER}\ntwo"));
    assert_eq!(state.comments.len(), 151);
}

#[test]
fn two_comments_of_two_runs_at_once_become_one_again() {
    let fake = fake();
    for id in [5, 3, 9] {
        let comment = Comment { id, number: 7, author: BOT.to_owned(), body: format!("{MARKER}\nold") };
        fake.state().comments.push(comment);
    }
    fake.fault(Route::DeleteComment, 1, Fault::ActThenAnswer(502));
    fake.fault(Route::DeleteComment, 2, Fault::Refuse(404));
    assert_eq!(github(&fake).sticky_comment(&comment("new")), Ok(Posted::Updated));
    let state = fake.state();
    let left: Vec<_> = state.comments.iter().map(|comment| (comment.id, comment.body.as_str())).collect();
    assert_eq!(left[0], (3, "<!-- qa-skill: report -->\nnew"));
}

#[test]
fn drift_is_one_open_issue_that_is_updated() {
    let fake = fake();
    let issue = |number, author: &str, open, is_pull| Issue {
        number,
        author: author.to_owned(),
        title: "Drift".to_owned(),
        body: format!("{MARKER}\nold"),
        labels: vec!["drift".to_owned(), "qa-skill".to_owned()],
        open,
        is_pull,
    };
    let theirs = [issue(901, "kim", true, false), issue(902, BOT, false, false), issue(903, BOT, true, true)];
    fake.state().issues.extend(theirs.clone());
    let github = github(&fake);
    assert_eq!(github.drift_issue(&drift("one")), Ok(Posted::Created));
    assert_eq!(github.drift_issue(&drift("one")), Ok(Posted::Unchanged));
    assert_eq!(github.drift_issue(&drift("two")), Ok(Posted::Updated));
    assert_eq!(github.drift_issue(&DriftIssue { title: "Drift in 2", ..drift("two") }), Ok(Posted::Updated));
    let state = fake.state();
    assert_eq!((&state.issues[..3], state.issues.len()), (&theirs[..], 4));
    let ours = &state.issues[3];
    assert_eq!(
        (ours.title.as_str(), ours.body.as_str()),
        ("Drift in 2", "<!-- qa-skill: report -->\n<!-- problems:  -->\ntwo")
    );
    assert_eq!(ours.labels, ["qa-skill", "drift"]);
}

#[test]
fn a_closed_issue_stays_closed_until_something_else_is_wrong() {
    let fake = fake();
    let github = github(&fake);
    let ids = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let night = |words: &[&str]| {
        let problems = ids(words);
        github.drift_issue(&DriftIssue { problems: &problems, ..drift("moved") })
    };
    assert_eq!(night(&["aaaa"]), Ok(Posted::Created));
    assert_eq!(night(&["bbbb"]), Ok(Posted::Updated));
    // Both nights are remembered.
    fake.state().issues[0].open = false;
    for again in [&["aaaa"][..], &["bbbb"], &["aaaa", "bbbb"]] {
        assert_eq!(night(again), Ok(Posted::Unchanged), "{again:?}");
    }
    assert_eq!(night(&["aaaa", "cccc"]), Ok(Posted::Created));
    let state = fake.state();
    assert_eq!((state.issues.len(), state.issues[1].open), (2, true));
    assert!(state.issues[1].body.contains("<!-- problems: aaaa cccc -->"), "{}", state.issues[1].body);
}

#[test]
fn sarif_arrives_whole_and_names_the_commit_and_the_reference() {
    let fake = fake();
    let head = head();
    let document = serde_json::json!({"version": "2.1.0", "runs": []});
    let file = document.to_string();
    let upload = SarifUpload {
        commit: &head,
        git_ref: "refs/pull/7/merge",
        sarif: file.as_bytes(),
        checkout_uri: "file:///github/workspace/",
        tool: "qa-skill",
    };
    fake.fault(Route::UploadSarif, 1, Fault::Refuse(502));
    assert!(github(&fake).upload_sarif(&upload).unwrap().is_some());
    let state = fake.state();
    let sarif = &state.sarifs[0];
    assert_eq!((&sarif.document, sarif.commit_sha.as_str()), (&document, head.as_str()));
    assert_eq!((sarif.git_ref.as_str(), sarif.tool_name.as_deref()), ("refs/pull/7/merge", Some("qa-skill")));
    assert_eq!(sarif.checkout_uri.as_deref(), Some("file:///github/workspace/"));
}

#[test]
fn what_is_no_repository_is_refused_before_anything_is_sent() {
    for wrong in ["", "owner", "owner/", "/name", "owner/name/x", "owner/..", "ow ner/name", "owner/na?me"] {
        let http: Arc<dyn Http> = memory(&fake(), None);
        let error = GitHub::new(http, target(wrong)).err().expect(wrong);
        assert_eq!(error.code().as_str(), "PUBLISH_FAILED");
    }
}
