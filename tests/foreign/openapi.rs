//! GitHub's own description of its API, held by Prism against each request of ours and each answer of our fake.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::fake_github::{Artifact, FakeGitHub, Fault, Route};
use crate::support::origin::{NAME, Origin};
use crate::support::server::Request;
use crate::support::step::{Step, TOKEN, faulty};
use crate::support::{Response, RunDir, Server, repair, sha256, tamper};

/// Prism between the program and a GitHub, ended with the test.
struct Prism {
    process: Child,
    log: BufReader<ChildStdout>,
    address: String,
}

impl Prism {
    fn start(github: &Server) -> Option<Self> {
        let program = crate::packages(&["@stoplight/prism-cli"])?
            .join("node_modules/@stoplight/prism-cli/dist/index.js");
        let description = crate::part("target/foreign/github.json")?;
        let mut process = Command::new("node")
            .arg(program)
            .args(["proxy", "--host", "127.0.0.1", "--port", "0", "--errors", "--multiprocess", "false"])
            .arg(description)
            .arg(github.url())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(process.stdout.take().unwrap());
        let mut prism = Self { process, log, address: String::new() };
        let line = prism.read_until("Prism is listening on ").pop().unwrap();
        let (_, url) = line.split_once("listening on http://").unwrap();
        prism.address = url.trim().to_owned();
        Some(prism)
    }

    /// The log up to the first line that has these words.
    fn read_until(&mut self, words: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        while lines.last().is_none_or(|line| !line.contains(words)) {
            let mut line = String::new();
            let read = self.log.read_line(&mut line).unwrap();
            assert!(read > 0, "Prism ended: {lines:?}");
            lines.push(line);
        }
        lines
    }

    /// Sends a request by hand and gives the status and the text of the answer.
    fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, String) {
        let headers =
            [("authorization", format!("Bearer {TOKEN}")), ("content-type", "application/json".into())];
        let request = Request {
            method: method.to_owned(),
            target: format!("/repos/{NAME}{path}"),
            headers: headers.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            body: body.map_or_else(Vec::new, |body| body.to_string().into_bytes()),
        };
        let answer = forward(&self.address, &request);
        (answer.status, String::from_utf8(answer.body).unwrap())
    }
}

/// Sends a request to an address and gives the answer.
fn forward(address: &str, request: &Request) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    let mut head = format!("{} {} HTTP/1.1\r\nhost: {address}\r\n", request.method, request.target);
    let ours = ["host", "connection", "content-length"];
    for (name, value) in request.headers.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\nconnection: close\r\n\r\n", request.body.len()));
    stream.write_all(&[head.as_bytes(), &request.body].concat()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(answer[..end].to_vec()).unwrap().to_ascii_lowercase();
    assert!(head.contains("content-length: ") || end + 4 == answer.len(), "{head}");
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response::new(status, &answer[end + 4..]).header("content-type", "application/json")
}

impl Drop for Prism {
    fn drop(&mut self) {
        let _already_ended = self.process.kill();
        let _already_ended = self.process.wait();
    }
}

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
    let Some(mut prism) = Prism::start(&api) else { return };

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

/// The archive of a run as an upload makes it: one directory, named by the key.
fn archive(run: &RunDir) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in run.files() {
        let path = format!("{}/{name}", run.0.file_name().unwrap().to_str().unwrap());
        writer.start_file(path, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(&run.bytes(&name)).unwrap();
    }
    writer.finish().unwrap().into_inner()
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
        head_sha: origin.head.to_string(),
        head_repository_id: 7,
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
    let read = [Route::ListArtifacts, Route::DownloadArtifact, Route::Blob, Route::ListIssues];
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
