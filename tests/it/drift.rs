//! Stored runs are replayed wherever they are, and each way of not being the same has its own name.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::hub::{Hub, runtime_token};
use crate::support::{
    Program, Repo, Response, RunDir, Server, copy_tree, git, judged, qa_skill, rekey, repair, tamper, temp,
    write_json,
};

fn drift_check(paths: &[&Path]) -> Program {
    paths.iter().fold(qa_skill(["drift-check"]), Program::arg)
}

/// The only entry of a JSON report.
fn only(program: &Program, exit: i32) -> Value {
    let report = program.clone().args(["--format", "json"]).run().expect(exit).json();
    assert_eq!(report["runs"].as_array().unwrap().len(), 1, "{report}");
    report["runs"][0].clone()
}

fn copy(repo: &Repo, name: &str) -> RunDir {
    let key = repo.run_dir().0.file_name().unwrap().to_owned();
    repo.run_dir().copy_to(&repo.beside(name).join(key))
}

#[test]
fn two_runs_of_one_key_are_compared_and_only_the_machine_may_differ() {
    let repo = judged();
    let elsewhere = temp();
    qa_skill(["run", "--base", "main", "--head", "topic", "--jobs", "3", "--out"])
        .arg(elsewhere.path().join("out"))
        .arg("--repo")
        .arg(repo.path())
        .run()
        .expect(1);
    let (left, right) = (repo.run_dir(), RunDir::only(&elsewhere.path().join("out")));
    let entry = only(&drift_check(&[&left.0, &right.0]), 0);
    assert_eq!(
        (&entry["status"], &entry["source"], &entry["mover"]),
        (&json!("same"), &json!("run"), &json!("environment"))
    );

    tamper(&right, "final-verdict.json", "/status", "PASS".into());
    repair(&right, false);
    let program = drift_check(&[&left.0, &right.0]);
    program.run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    let entry = only(&program, 4);
    assert_eq!(
        (&entry["mover"], &entry["difference"]),
        (
            &json!("unexplained"),
            &json!({"file": "final-verdict.json", "pointer": "/status", "recorded": "\"FAIL\"", "derived": "\"PASS\""})
        )
    );
}

#[test]
fn runs_are_found_below_a_root_and_replayed_offline_and_from_the_repository() {
    let repo = judged();
    qa_skill(["run", "--base", "main", "--head", "topic", "--lens", "merge-leftover", "--out"])
        .arg(repo.beside("out"))
        .arg("--repo")
        .arg(repo.path())
        .run()
        .expect(1);
    let program = drift_check(&[&repo.beside("out")]).args(["--format", "json"]);
    for (program, source) in
        [(program.clone(), "recording"), (program.arg("--repo").arg(repo.path()), "repository")]
    {
        let report = program.run().expect(0).json();
        let runs = report["runs"].as_array().unwrap();
        assert_eq!((runs.len(), &report["status"]), (2, &json!("same")), "{report}");
        assert!(runs.iter().all(|run| run["source"] == source && run["code"].is_null()), "{report}");
    }
}

#[test]
fn each_way_of_not_being_the_same_has_its_own_outcome() {
    let repo = judged();
    let flipped = copy(&repo, "flipped");
    let mut bytes = flipped.bytes("coverage.json");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(flipped.path("coverage.json"), bytes).unwrap();

    let missing = copy(&repo, "missing");
    std::fs::remove_file(missing.path("recordings/00000.json")).unwrap();
    let forgotten = copy(&repo, "forgotten");
    std::fs::remove_file(forgotten.path("recordings/00000.json")).unwrap();
    repair(&forgotten, false);
    let headless = copy(&repo, "headless");
    std::fs::remove_file(headless.path("hashes.json")).unwrap();

    let mut lens = copy(&repo, "lens");
    tamper(&lens, "trace.json", "/executionKeyPreimage/selectedLensVersions/1/lensVersion", "0".into());
    rekey(&mut lens);
    let mut engine = copy(&repo, "engine");
    tamper(&engine, "trace.json", "/configPreimage/engineVersion", "0.0.9".into());
    rekey(&mut engine);
    let mut build = copy(&repo, "build");
    tamper(&build, "trace.json", "/configPreimage/sourceHash", "0".repeat(64).into());
    rekey(&mut build);

    let edited = copy(&repo, "edited");
    tamper(&edited, "final-verdict.json", "/conclusion", "pass".into());
    repair(&edited, false);
    let policy = copy(&repo, "policy");
    tamper(&policy, "recordings/inputs.json", "/basePolicy", "blocking-policy = \"mixed\"\n".into());
    repair(&policy, false);

    let cases: &[(&RunDir, i32, &str, &str, &str, &str)] = &[
        (&flipped, 3, "ARTIFACT_SCHEMA_INVALID", "could_not_replay", "recording", "coverage.json"),
        (&missing, 3, "RECORDING_MISSING", "could_not_replay", "recording", "recordings/00000.json"),
        (&forgotten, 3, "RECORDING_MISSING", "could_not_replay", "recording", "a.py"),
        (&headless, 3, "ARTIFACT_SCHEMA_INVALID", "could_not_replay", "recording", "hashes.json"),
        (&lens, 4, "ENGINE_CHANGED", "engine_changed", "lens_version", " 0 → "),
        (&engine, 4, "ENGINE_CHANGED", "engine_changed", "engine", "0.0.9 → "),
        (&build, 4, "ENGINE_CHANGED", "engine_changed", "engine", "another engine build"),
        (&edited, 4, "DETERMINISM_DRIFT_DETECTED", "drift", "unexplained", "final-verdict.json#/conclusion"),
        (&policy, 4, "DETERMINISM_DRIFT_DETECTED", "drift", "policy", "the policy differs"),
    ];
    for (run, exit, code, status, mover, said) in cases {
        let lenient = drift_check(&[&run.0]);
        let program = lenient.clone().arg("--fail-on-engine-change");
        let outcome = program.run().expect_code(*exit, code);
        assert!(outcome.stderr.contains(said) && outcome.text().contains(said), "{}", outcome.stderr);
        let entry = only(&program, *exit);
        assert_eq!(
            (&entry["status"], &entry["code"], &entry["mover"]),
            (&json!(status), &json!(code), &json!(mover))
        );
        let allowed = lenient.run();
        assert_eq!(allowed.exit, if *code == "ENGINE_CHANGED" { 0 } else { *exit }, "{}", allowed.text());
        let verified = run.verify().run().expect_code(*exit, code);
        assert!(*mover == "policy" || verified.stderr.contains(said), "{}", verified.stderr);
    }
    let all: Vec<&Path> = cases.iter().map(|case| case.0.0.as_path()).collect();
    drift_check(&all).run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    drift_check(&all[..4]).run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
}

#[test]
fn what_another_engine_wrote_in_another_form_is_not_called_damaged() {
    let repo = judged();
    let run = copy(&repo, "newer");
    let mut trace = run.json("trace.json");
    trace["configPreimage"]["engineVersion"] = "99.0.0".into();
    trace["somethingNew"] = json!({"a": 1});
    write_json(&run, "trace.json", &trace);
    repair(&run, false);
    let entry = only(&drift_check(&[&run.0]).arg("--fail-on-engine-change"), 4);
    assert_eq!((&entry["code"], &entry["madeBy"]), (&json!("ENGINE_CHANGED"), &json!("99.0.0")));
    run.verify().run().expect_code(4, "ENGINE_CHANGED");
    // With one byte changed it is damaged, whoever made it.
    let mut bytes = run.bytes("trace.json");
    bytes[20] ^= 1;
    std::fs::write(run.path("trace.json"), bytes).unwrap();
    assert_eq!(only(&drift_check(&[&run.0]), 3)["code"], "ARTIFACT_SCHEMA_INVALID");
}

#[test]
fn a_report_for_people_shows_nothing_of_an_artifact_unescaped() {
    let repo = judged();
    let mut run = copy(&repo, "hostile");
    tamper(&run, "trace.json", "/configPreimage/engineVersion", "0](x)|\u{1b}[1m<b>::error::@team".into());
    rekey(&mut run);
    let markdown = repo.beside("drift.md");
    let outcome = drift_check(&[&run.0])
        .arg("--format")
        .arg(format!("markdown={}", markdown.display()))
        .arg("--format")
        .arg("text")
        .arg("--fail-on-engine-change")
        .run()
        .expect(4);
    let document = std::fs::read_to_string(markdown).unwrap();
    assert!(document.starts_with("## Drift check: 1 run: 1 engine changed\n"), "{document}");
    let prose = document.lines().filter(|line| !line.contains('`')).collect::<String>();
    for text in [&document, &outcome.text(), &outcome.stderr] {
        assert!(!text.contains('\u{1b}') && !text.contains("\n::error::"), "{text}");
    }
    assert!(!prose.contains("<b>") && !prose.contains("](x)"), "{document}");
    qa_skill(["drift-check", "x", "--format", "json", "--format", "text"]).run().expect(2);
    qa_skill(["drift-check"]).run().expect(2);
}

const CANARY: &str = "ghs-canary-of-the-api";

pub(crate) fn upload(server: &Server, paths: &[&Path]) -> Program {
    paths
        .iter()
        .fold(qa_skill(["upload"]), Program::arg)
        .env("GITHUB_SERVER_URL", "http://github.localhost")
        .env("ACTIONS_RESULTS_URL", server.url())
        .env("ACTIONS_RUNTIME_TOKEN", runtime_token())
}

pub(crate) fn nightly(server: &Server, checkout: &Path) -> Program {
    qa_skill(["drift-check", "--repo"])
        .arg(checkout)
        .env("GITHUB_API_URL", server.url())
        .env("GITHUB_SERVER_URL", server.url())
        .env("GITHUB_REPOSITORY", "o/r")
        .env("GITHUB_TOKEN", CANARY)
}

pub(crate) fn packed(run: &RunDir) -> Vec<u8> {
    let hub = Hub::default();
    let server = hub.start();
    upload(&server, &[&run.0]).run().expect(0);
    let mut state = hub.0.lock().unwrap();
    state.blobs.remove("qa-skill-run").unwrap()
}

#[test]
fn an_archive_has_the_same_bytes_whoever_makes_it_and_replays() {
    let repo = judged();
    let hub = Hub::default();
    let server = hub.start();
    let first = upload(&server, &[&repo.beside("out")]).run().expect(0);
    assert!(first.text().starts_with("uploaded: artifact 7 (qa-skill-run)"), "{}", first.text());

    let other = copy(&repo, "other place");
    let script = "umask 077; cp -r \"$0\" \"$1\"; touch -d 2001-02-03 \"$1\"/*; shift; exec \"$@\"";
    let third = repo.beside("third").join(other.0.file_name().unwrap());
    std::fs::create_dir(repo.beside("third")).unwrap();
    upload(&server, &[&third])
        .args(["--shard", "2/3", "--retention-days", "30"])
        .env("TZ", "Asia/Kathmandu")
        .env("GITHUB_RETENTION_DAYS", "5")
        .under(
            ["sh", "-c", script]
                .map(std::ffi::OsString::from)
                .into_iter()
                .chain([other.0.into(), third.clone().into()]),
        )
        .run()
        .expect(0);
    let blobs = hub.0.lock().unwrap().blobs.clone();
    assert_eq!(blobs.keys().collect::<Vec<_>>(), ["qa-skill-run", "qa-skill-run-2of3"]);
    assert!(blobs["qa-skill-run"] == blobs["qa-skill-run-2of3"]);

    let archive = repo.beside("a.zip");
    std::fs::write(&archive, &blobs["qa-skill-run"]).unwrap();
    let entry = only(&drift_check(&[&archive]), 0);
    let key = repo.run_dir().json("trace.json")["executionKey"].clone();
    assert_eq!((&entry["status"], &entry["executionKey"]), (&json!("same"), &key));
    // The same again is no fault, and other contents under the name are refused.
    assert!(upload(&server, &[&repo.beside("out")]).run().expect(0).text().starts_with("already uploaded"));
    tamper(&repo.run_dir(), "input.normalized.json", "/maxConcurrency", 7.into());
    repair(&repo.run_dir(), false);
    upload(&server, &[&repo.beside("out")]).run().expect_code(3, "ARTIFACT_NAME_TAKEN");
    for request in server.requests() {
        assert_eq!(
            request.header("authorization").is_some(),
            request.path() != "/store",
            "{}",
            request.target
        );
    }
}

#[test]
fn nothing_is_sent_when_it_should_not_be() {
    let repo = judged();
    let hub = Hub::default();
    let server = hub.start();
    let head =
        repo.run_dir().json("trace.json")["executionKeyPreimage"]["headSha"].as_str().unwrap().to_owned();
    let refused = |program: Program, code: &str| {
        let outcome = program.run().expect_code(3, code);
        assert!(
            !outcome.stderr.contains(&head) && !outcome.stderr.contains(&runtime_token()),
            "{}",
            outcome.stderr
        );
        assert!(server.requests().is_empty());
        outcome.stderr
    };
    // The head's name stands in most files; as a token it is a secret in them.
    refused(upload(&server, &[&repo.beside("out")]).env("INPUT_TOKEN", &head), "ARTIFACT_SECRET_FOUND");
    let stderr = refused(
        upload(&server, &[&repo.beside("out")]).env("GITHUB_SERVER_URL", "https://ghes.example"),
        "ARTIFACT_UPLOAD_UNSUPPORTED",
    );
    assert!(stderr.contains("include-hidden-files: true"), "{stderr}");
    refused(
        upload(&server, &[&repo.beside("out")]).env("ACTIONS_RUNTIME_TOKEN", ""),
        "ARTIFACT_UPLOAD_FAILED",
    );
    refused(upload(&server, &[&repo.beside("out")]).args(["--name", "a/b"]), "ARTIFACT_UPLOAD_FAILED");
    std::fs::write(repo.run_dir().path("junit.xml"), "").unwrap();
    refused(upload(&server, &[&repo.beside("out")]), "ARTIFACT_SCHEMA_INVALID");
    upload(&server, &[&repo.beside("nothing")]).run().expect(2);
}

#[test]
fn an_archive_that_is_damaged_or_holds_no_run_is_not_replayed() {
    let repo = judged();
    let bytes = packed(&repo.run_dir());
    let (archive, scratch) = (repo.beside("a.zip"), repo.beside("scratch"));
    std::fs::create_dir(&scratch).unwrap();
    let check = |bytes: &[u8], code: &str| {
        std::fs::write(&archive, bytes).unwrap();
        let entry = only(&drift_check(&[&archive]).env("RUNNER_TEMP", &scratch), 3);
        assert_eq!((&entry["code"], &entry["mover"]), (&json!(code), &json!("recording")), "{entry}");
    };
    // Inside the first file's data: some bytes of the headers before it stand in the directory once more.
    let number = |at: usize| usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let data = 30 + number(26) + number(28);
    for at in [data + 2, bytes.len() - 10, bytes.len() - 30] {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        check(&damaged, "ARTIFACT_ARCHIVE_REFUSED");
    }
    check(&bytes[..bytes.len() / 2], "ARTIFACT_ARCHIVE_REFUSED");
    check(b"", "ARTIFACT_ARCHIVE_REFUSED");
    check(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", "RECORDING_MISSING");
    assert_eq!(std::fs::read_dir(&scratch).unwrap().count(), 0);
    // One flipped byte inside a file is that file's fault, and named so.
    let run = copy(&repo, "flipped");
    let mut inside = run.bytes("summary.md");
    inside[9] ^= 1;
    std::fs::write(run.path("summary.md"), inside).unwrap();
    let root = repo.beside("artifact/runs");
    copy_tree(&repo.beside("flipped"), &root);
    assert_eq!(only(&drift_check(&[&repo.beside("artifact")]), 3)["code"], "ARTIFACT_SCHEMA_INVALID");
}

#[test]
fn the_nightly_form_fetches_what_is_recent_and_its_own_and_replays_it() {
    let repo = judged();
    let bytes = packed(&repo.run_dir());
    let hub = Hub::default();
    let server = hub.start();
    let store = Server::start({
        let hub = hub.clone();
        move |request| hub.answer(request)
    });
    hub.0.lock().unwrap().store = store.url();
    hub.list(1, &bytes, |_| {});
    hub.list(2, &bytes, |item| item["workflow_run"]["head_repository_id"] = 10.into());
    hub.list(3, &bytes, |item| item["expired"] = true.into());
    hub.list(4, &bytes, |item| item["created_at"] = "2001-01-01T00:00:00Z".into());
    hub.list(5, &bytes, |item| item["name"] = "other".into());

    let outcome = nightly(&server, &repo.path()).args(["--format", "json"]).run().expect(0);
    let report = outcome.json();
    assert_eq!(
        report["listing"],
        json!({"repository": "o/r", "artifactName": "qa-skill-run", "sinceDays": 7, "found": 3, "expired": 1,
               "foreign": 1, "beyondLimit": 0, "complete": true})
    );
    let runs = report["runs"].as_array().unwrap();
    let shown = |run: &Value| {
        [&run["artifactId"], &run["workflowRunId"], &run["source"], &run["foreign"]].map(Value::clone)
    };
    let expected = [(1, false), (2, true)];
    let expected = expected.map(|(id, foreign)| [json!(id), json!(5), json!("repository"), json!(foreign)]);
    assert_eq!(runs.iter().map(shown).collect::<Vec<_>>(), expected);

    for (option, value, member, expected) in [
        ("--since-days", "3", "sinceDays", json!(3)),
        ("--limit", "1", "beyondLimit", json!(1)),
        ("--name", "other", "artifactName", json!("other")),
    ] {
        let outcome =
            nightly(&server, &repo.path()).args([option, value, "--format", "json"]).run().expect(0);
        assert_eq!(outcome.json()["listing"][member], expected, "{option}");
        let replayed = outcome.json()["runs"].as_array().unwrap().len();
        assert_eq!(replayed, if option == "--since-days" { 2 } else { 1 }, "{option}");
    }

    // Without the commits, here or at the remote, the recording has to do, and the report says so.
    let empty = repo.beside("empty");
    std::fs::create_dir(&empty).unwrap();
    git(&empty, &["init", "-q"]);
    let outcome = nightly(&server, &empty).run().expect(0);
    assert!(outcome.text().contains("from the recording only"), "{}", outcome.text());
    for request in store.requests() {
        assert_eq!(request.header("authorization"), None, "{}", request.target);
    }
    assert!(server.requests().iter().all(|request| request.header("authorization").is_some()));
    assert!(!outcome.text().contains(CANARY) && !outcome.stderr.contains(CANARY));
}

#[test]
fn a_night_that_checked_nothing_is_not_a_night_without_drift() {
    let repo = judged();
    let bytes = packed(&repo.run_dir());
    let hub = Hub::default();
    let server = hub.start();
    hub.0.lock().unwrap().store = server.url();
    let outcome = nightly(&server, &repo.path()).run().expect(0);
    assert!(
        outcome.text().contains("0 artifacts named qa-skill-run in o/r")
            && outcome.text().contains("no runs"),
        "{}",
        outcome.text()
    );
    hub.list(1, &bytes, |item| item["expired"] = true.into());
    nightly(&server, &repo.path()).run().expect_code(3, "ARTIFACT_UNAVAILABLE");
    // Forks alone are replayed; who made a run whose origin nobody names is not known either.
    hub.list(3, &bytes, |item| item["workflow_run"] = Value::Null);
    let outcome = nightly(&server, &repo.path()).run().expect(0);
    assert!(outcome.text().contains("same (of a fork)"), "{}", outcome.text());
    hub.list(2, &bytes, |item| item["digest"] = format!("sha256:{}", "0".repeat(64)).into());
    let outcome = nightly(&server, &repo.path()).run().expect_code(3, "ARTIFACT_UNAVAILABLE");
    assert!(outcome.text().contains("is listed"), "{}", outcome.text());
    let gone = Server::start(|_| Response::json(404, &json!({"message": "Not Found"})));
    let outcome = nightly(&gone, &repo.path()).run().expect_code(3, "ARTIFACT_UNAVAILABLE");
    assert!(outcome.stderr.contains("actions: read") && outcome.stdout.is_empty(), "{}", outcome.stderr);
}

#[test]
fn a_repository_that_says_something_else_is_drift_although_the_recording_agrees_with_itself() {
    let repo = judged();
    let run = copy(&repo, "forged");
    let text = String::from_utf8(run.bytes("recordings/00000.json")).unwrap();
    std::fs::write(run.path("recordings/00000.json"), text.replace("b = 5", "b = 6")).unwrap();
    repair(&run, false);
    only(&drift_check(&[&run.0]), 0);
    let program = drift_check(&[&run.0]).arg("--repo").arg(repo.path());
    let entry = only(&program, 4);
    assert_eq!((&entry["mover"], &entry["code"]), (&json!("input"), &json!("DETERMINISM_DRIFT_DETECTED")));
    assert!(entry["difference"]["pointer"].as_str().unwrap().contains("/text"), "{entry}");
}
