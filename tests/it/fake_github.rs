//! The stand-in for GitHub over a real socket: it pages, refuses, spoils and holds as the tests that rely on it expect.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::fake_github::{Artifact, Comment, FakeGitHub, Fault, LATER, Permission, Route, Run};
use crate::support::server::{Server, Spoilt};

const TOKEN: &str = "token-of-the-test";

/// Sends one request and reads until the server closes; none when there is no whole answer.
fn exchange(server: &Server, method: &str, target: &str, body: &str) -> Option<(u16, String, Value)> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nauthorization: Bearer {TOKEN}\r\ncontent-length: {length}\r\n\r\n{body}",
        server.port
    )
    .unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length = head.split("content-length: ").nth(1)?.lines().next()?.parse::<usize>().ok()?;
    (body.len() == length)
        .then(|| (status, head.to_owned(), serde_json::from_str(body).unwrap_or(Value::Null)))
}

fn ask(server: &Server, method: &str, route: &str, body: &Value) -> (u16, String, Value) {
    exchange(server, method, &format!("/repos/owner/name{route}"), &body.to_string()).unwrap()
}

fn new_check() -> Value {
    json!({ "name": "gate", "head_sha": "a1".repeat(20), "external_id": "key", "status": "in_progress" })
}

fn note(line: u64) -> Value {
    json!({ "path": "a b.rs", "start_line": line, "end_line": line, "annotation_level": "notice", "message": "m" })
}

#[test]
fn annotations_are_added_and_come_in_pages() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    assert_eq!(ask(&server, "POST", "/check-runs", &new_check()).0, 201);
    let change = |from: u64| {
        let notes: Vec<Value> = (from..from + 50).map(note).collect();
        json!({ "status": "in_progress", "output": { "title": "t", "summary": "s", "annotations": notes } })
    };
    assert_eq!(ask(&server, "PATCH", "/check-runs/1", &change(1)).0, 200);
    let (_, _, check) = ask(&server, "PATCH", "/check-runs/1", &change(51));
    assert_eq!(check["output"]["annotations_count"], 100);
    let (_, head, page) = ask(&server, "GET", "/check-runs/1/annotations?per_page=60", &Value::Null);
    assert_eq!((page.as_array().unwrap().len(), &page[59]["start_line"]), (60, &json!(60)));
    assert!(head.contains("page=2>; rel=\"next\""), "{head}");
    let (_, head, page) = ask(&server, "GET", "/check-runs/1/annotations?per_page=60&page=2", &Value::Null);
    assert_eq!((page.as_array().unwrap().len(), head.contains("link:")), (40, false));
}

#[test]
fn what_github_refuses_is_refused() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    ask(&server, "POST", "/check-runs", &new_check());
    let output = |output: Value| json!({ "status": "in_progress", "output": output });
    let annotated = |annotations: Vec<Value>| output(json!({ "summary": "s", "annotations": annotations }));
    let with = |name: &str, value: Value| {
        let mut one = note(1);
        one[name] = value;
        annotated(vec![one])
    };
    let wrong = [
        json!({ "status": "completed" }),
        json!({ "status": "completed", "conclusion": "fine" }),
        output(json!({ "title": "no summary" })),
        output(json!({ "summary": "x".repeat(65_536) })),
        annotated((1..=51).map(note).collect()),
        with("start_line", json!(0)),
        with("end_line", json!(0)),
        with("path", json!("/etc/passwd")),
        with("message", json!("")),
        with("title", json!("x".repeat(256))),
        with("annotation_level", json!("error")),
        with("start_column", json!(1)),
    ];
    for body in wrong {
        assert_eq!(ask(&server, "PATCH", "/check-runs/1", &body).0, 422, "{body}");
    }
    assert_eq!(ask(&server, "PATCH", "/check-runs/2", &annotated(vec![])).0, 404);
    fake.read_only();
    assert_eq!(ask(&server, "PATCH", "/check-runs/1", &annotated(vec![])).0, 403);
    assert!(fake.state().checks[0].annotations.is_empty());
}

#[test]
fn faults_hit_the_call_they_are_meant_for() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    fake.fault(Route::CreateCheck, 1, Fault::Refuse(503));
    fake.fault(Route::CreateCheck, 2, Fault::ActThenAnswer(502));
    fake.fault(Route::CreateCheck, 3, Fault::ActThenSpoil(Spoilt::Truncated));
    fake.fault(Route::CreateCheck, 4, Fault::Drop);
    fake.fault(
        Route::CreateCheck,
        5,
        Fault::Limit { status: 429, headers: vec![("retry-after", "7".to_owned())] },
    );
    let create = || exchange(&server, "POST", "/repos/owner/name/check-runs", &new_check().to_string());
    assert_eq!(create().map(|answer| answer.0), Some(503));
    assert_eq!((create().map(|answer| answer.0), fake.state().checks.len()), (Some(502), 1));
    assert_eq!((create(), fake.state().checks.len()), (None, 2));
    assert_eq!((create(), fake.state().checks.len()), (None, 2));
    let (status, head, _) = create().unwrap();
    assert_eq!((status, head.contains("retry-after: 7")), (429, true));
    assert_eq!((create().map(|answer| answer.0), fake.state().checks.len()), (Some(201), 3));
}

#[test]
fn a_call_can_be_held_until_the_test_has_done_its_part() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    let reached = fake.hold(2, true);
    let (status, _, _) = ask(&server, "POST", "/check-runs", &new_check());
    assert_eq!(status, 201);
    std::thread::scope(|scope| {
        let waiting = scope
            .spawn(|| exchange(&server, "POST", "/repos/owner/name/check-runs", &new_check().to_string()));
        assert_eq!(reached.recv().as_deref(), Ok("CreateCheck"));
        assert_eq!(fake.state().checks.len(), 2, "done, and not answered");
        fake.release();
        assert_eq!(waiting.join().unwrap(), None);
    });
}

#[test]
fn a_download_leads_to_another_host_where_no_token_belongs() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    fake.state().artifacts.push(Artifact {
        id: 4,
        name: "run".to_owned(),
        zip: b"PK".to_vec(),
        expired: false,
        digest: None,
        created_at: LATER.to_owned(),
        head_sha: "a1".repeat(20),
        head_repository_id: 7,
        run_id: 14,
    });
    let (_, _, list) = ask(&server, "GET", "/actions/artifacts?name=run", &Value::Null);
    assert_eq!((&list["total_count"], &list["artifacts"][0]["id"]), (&json!(1), &json!(4)));
    let (status, head, _) = ask(&server, "GET", "/actions/artifacts/4/zip", &Value::Null);
    assert!(status == 302 && head.contains("location: http://localhost:"), "{head}");
    assert_eq!(exchange(&server, "GET", "/blobs/4", "").unwrap().0, 400, "with a token");
    fake.state().artifacts[0].expired = true;
    assert_eq!(ask(&server, "GET", "/actions/artifacts/4/zip", &Value::Null).0, 410);
}

#[test]
fn a_run_is_run_again_or_cancelled_as_github_allows() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    let head = "a1".repeat(20);
    fake.state().runs.push(Run {
        id: 11,
        head_sha: head.clone(),
        status: "in_progress".to_owned(),
        head_repository_id: 7,
        ..Run::default()
    });
    let post = |route: &str| ask(&server, "POST", route, &json!({})).0;
    assert_eq!(post("/actions/runs/11/rerun"), 403, "it goes on");
    assert_eq!((post("/actions/runs/11/cancel"), post("/actions/runs/11/cancel")), (202, 409));
    assert_eq!((post("/actions/runs/11/rerun-failed-jobs"), post("/actions/runs/12/cancel")), (201, 404));
    let list = |workflow: &str| format!("/actions/workflows/{workflow}/runs?head_sha={head}");
    let (_, _, runs) = ask(&server, "GET", &list("qa.yml"), &Value::Null);
    assert_eq!((&runs["total_count"], &runs["workflow_runs"][0]["status"]), (&json!(1), &json!("queued")));
    assert_eq!(ask(&server, "GET", &list("deploy.yml"), &Value::Null).0, 404);
    let counts = fake.state().runs.iter().map(|run| [run.reruns, run.reruns_of_failed, run.cancels]).next();
    assert_eq!(counts, Some([0, 1, 1]));
}

#[test]
fn a_reaction_is_kept_once_and_everybody_reads_unless_a_role_says_more() {
    let fake = FakeGitHub::new("owner/name", TOKEN);
    let server = fake.serve();
    fake.state().comments.push(Comment { id: 5, number: 7, author: "kim".to_owned(), body: "hi".to_owned() });
    let react =
        |content: &str| ask(&server, "POST", "/issues/comments/5/reactions", &json!({"content": content})).0;
    assert_eq!([react("eyes"), react("eyes"), react("wave")], [201, 200, 422]);
    assert_eq!(fake.state().reactions[&5].len(), 1);
    let triage = Permission { permission: "read".to_owned(), role_name: "triage".to_owned() };
    fake.state().roles.insert("kim".to_owned(), triage);
    let role = |login: &str| {
        let (_, _, shown) = ask(&server, "GET", &format!("/collaborators/{login}/permission"), &Value::Null);
        shown["role_name"].clone()
    };
    assert_eq!((role("kim"), role("eve")), (json!("triage"), json!("read")));
    fake.state().edited.insert(5);
    let (_, _, comment) = ask(&server, "GET", "/issues/comments/5", &Value::Null);
    assert_ne!(comment["created_at"], comment["updated_at"]);
}
