//! A run by its document: the same run as by options, no other run, and the drift that a run looks for itself.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Program, Repo, change, conflict, qa_skill, repair, runs_in, tamper};

fn repository() -> Repo {
    change(&[("a.py", "a = 1\n")], &[("a.py", &format!("a = 2\n{}", conflict()))])
}

/// The document that `plan` prints for a repository and options.
fn planned(repo: &Repo, options: &[&str]) -> Value {
    let plan = qa_skill(["plan", "--base=main", "--head=topic", "--format=input", "--repo"]).arg(repo.path());
    options.iter().fold(plan, |plan, option| plan.arg(option)).run().expect(0).json()
}

fn run_document(repo: &Repo, document: &Value) -> Program {
    let path = repo.beside("input.json");
    std::fs::write(&path, document.to_string()).unwrap();
    qa_skill(["run", "--quiet", "--input"])
        .arg(path)
        .arg("--repo")
        .arg(repo.path())
        .arg("--out")
        .arg(repo.beside("out"))
}

/// Joins the parts that a document's shards left, and verifies the run.
fn joined(repo: &Repo, document: &Path) -> Program {
    let program =
        qa_skill(["aggregate", "--verify-drift", "--input"]).arg(document).arg("--repo").arg(repo.path());
    program.arg("--parts").arg(repo.beside("out")).arg("--out").arg(repo.beside("joined"))
}

#[test]
fn a_run_from_a_document_is_the_run_by_options() {
    let repo = repository();
    let options = ["--preset=advisory", "--mode=best_effort", "--lens=merge-leftover", "--jobs=3"];
    let by_options = options.iter().fold(repo.judge(), |judge, option| judge.arg(option));
    by_options.run().expect(3);
    let (digests, stored) = (repo.run_dir().digests(), repo.run_dir().json("input.normalized.json"));
    let document = planned(&repo, &options);
    assert_eq!(document["configHash"], stored["configHash"]);
    for document in [document, stored] {
        let outcome = run_document(&repo, &document).run().expect(3);
        assert!(
            outcome.text().contains("an earlier run of the same key has the same result"),
            "{}",
            outcome.text()
        );
        assert_eq!(repo.run_dir().digests(), digests);
    }
    // The document's own workers, unless the command line says otherwise.
    std::fs::remove_dir_all(repo.beside("out")).unwrap();
    run_document(&repo, &planned(&repo, &options)).run().expect(3);
    assert_eq!(repo.run_dir().json("input.normalized.json")["maxConcurrency"], 3);
    std::fs::remove_dir_all(repo.beside("out")).unwrap();
    run_document(&repo, &planned(&repo, &options)).arg("--jobs=5").run().expect(3);
    assert_eq!(repo.run_dir().json("input.normalized.json")["maxConcurrency"], 5);
}

#[test]
fn a_document_is_read_from_standard_input() {
    let repo = repository();
    let document = planned(&repo, &[]).to_string();
    let mut command = qa_skill(["run", "--quiet", "--input=-", "--format=json", "--repo"])
        .arg(repo.path())
        .arg("--out")
        .arg(repo.beside("out"))
        .command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(document.as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(1));
    assert_eq!(repo.run_dir().json("final-verdict.json")["conclusion"], "fail");
}

/// A change to a document.
type Edit = fn(&mut Value);

#[test]
fn a_document_of_another_run_is_not_judged() {
    let repo = repository();
    let document = planned(&repo, &[]);
    let edits: &[(&str, Edit)] = &[
        ("/repoId", |document| document["repoId"] = json!("acme/other")),
        ("/runMode", |document| document["runMode"] = json!("best_effort")),
        ("/preset", |document| document["preset"] = json!("advisory")),
        ("/configHash", |document| document["configHash"] = json!("0".repeat(64))),
        ("/mergeBaseSha", |document| document["mergeBaseSha"] = document["headSha"].clone()),
        ("/landingTree", |document| document["landingTree"] = json!("0".repeat(40))),
        ("/runBudgetMaxTokens", |document| document["runBudgetMaxTokens"] = json!(1)),
        ("/runBudgetMaxCostUsd", |document| document["runBudgetMaxCostUsd"] = Value::Null),
        ("/permissionProfiles/0/readOnly", |document| {
            document["permissionProfiles"][0]["readOnly"] = json!(false);
        }),
        ("/allowExecutionLensClasses", |document| document["allowExecutionLensClasses"] = json!(["style"])),
        // An override is followed, and what follows from it is not what the document says.
        ("/preset", |document| document["overrides"]["preset"] = json!("advisory")),
        ("/runMode", |document| document["overrides"]["mode"] = json!("best_effort")),
    ];
    for (pointer, edit) in edits {
        let mut edited = document.clone();
        edit(&mut edited);
        let outcome = run_document(&repo, &edited).run().expect_code(4, "EXPECTATION_UNMET");
        assert!(
            outcome.stderr.contains(pointer) && outcome.stdout.is_empty(),
            "{pointer}: {}",
            outcome.stderr
        );
    }
    assert!(runs_in(&repo.beside("out")).is_empty());
    // What differs between machines does not matter.
    let mut elsewhere = document;
    for (member, value) in [
        ("repoRoot", json!("/elsewhere")),
        ("artifactRoot", json!("/elsewhere/.qa-skill")),
        ("baseRef", Value::Null),
        ("headRef", json!("HEAD")),
        ("settings", json!([])),
    ] {
        elsewhere[member] = value;
    }
    run_document(&repo, &elsewhere).run().expect(1);
}

#[test]
fn a_shard_is_held_to_the_document_too() {
    let repo = repository();
    let mut document = planned(&repo, &[]);
    run_document(&repo, &document).arg("--shard=1/1").run().expect(0);
    document["runMode"] = json!("best_effort");
    run_document(&repo, &document).arg("--shard=1/1").run().expect_code(4, "EXPECTATION_UNMET");
}

#[test]
fn joined_parts_are_held_to_the_document_and_verified() {
    let repo = repository();
    let mut document = planned(&repo, &[]);
    let path = repo.beside("input.json");
    run_document(&repo, &document).arg("--shard=1/1").run().expect(0);
    let outcome = joined(&repo, &path).run().expect(1);
    assert!(outcome.stderr.contains("no drift: "), "{}", outcome.stderr);
    document["runMode"] = json!("best_effort");
    std::fs::write(&path, document.to_string()).unwrap();
    joined(&repo, &path).run().expect_code(4, "EXPECTATION_UNMET");
}

#[test]
fn what_is_no_document_is_refused_with_its_place() {
    let repo = repository();
    let document = planned(&repo, &[]);
    let edits: &[(&str, Edit)] = &[
        ("unexpected", |document| document["unexpected"] = json!(1)),
        ("/overrides", |document| document["overrides"]["jobs"] = json!(1)),
        ("headSha", |document| drop(document.as_object_mut().unwrap().remove("headSha"))),
        ("/headSha", |document| document["headSha"] = json!("HEAD")),
        ("/vcs", |document| document["vcs"] = json!("hg")),
        ("/maxConcurrency", |document| document["maxConcurrency"] = json!(0)),
        ("/schemaVersion", |document| document["schemaVersion"] = json!("skill-input.v2")),
    ];
    for (place, edit) in edits {
        let mut edited = document.clone();
        edit(&mut edited);
        let outcome = run_document(&repo, &edited).run().expect_code(2, "INPUT_INVALID");
        assert!(outcome.stderr.contains(place), "{place}: {}", outcome.stderr);
    }
    let path = repo.beside("broken.json");
    for bytes in [&b""[..], b"{", b"[]", b"{\"a\":1,\"a\":1}", b"\xff", &vec![b' '; 2 << 20]] {
        std::fs::write(&path, bytes).unwrap();
        let run = qa_skill(["run", "--input"]).arg(&path).arg("--repo").arg(repo.path());
        run.run().expect_code(2, "INPUT_INVALID");
    }
    for path in ["nowhere.json", "/"] {
        let run = qa_skill(["run", "--input", path, "--repo"]).arg(repo.path());
        run.run().expect_code(2, "INPUT_INVALID");
    }
    // A commit that is not here cannot be judged.
    let mut gone = document;
    gone["headSha"] = json!("1".repeat(40));
    let outcome = run_document(&repo, &gone).run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    assert!(outcome.stderr.contains("`git fetch origin 1111"), "{}", outcome.stderr);
}

#[test]
fn options_that_the_document_answers_are_refused() {
    for option in ["--base=main", "--head=topic", "--mode=strict", "--preset=default", "--lens=secret-token"]
    {
        let outcome = qa_skill(["run", "--input=input.json", option]).run().expect(2);
        assert!(outcome.stderr.contains("cannot be used with"), "{option}: {}", outcome.stderr);
    }
}

#[test]
fn a_run_that_verifies_itself_says_so_and_leaves_the_report() {
    let repo = repository();
    let outcome = repo.judge().args(["--quiet", "--verify-drift", "--format=json"]).run().expect(1);
    assert!(outcome.stderr.contains("no drift: "), "{}", outcome.stderr);
    let report = std::fs::read(repo.beside("out/runs/drift-report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let replays: Vec<_> = report["runs"].as_array().unwrap().iter().collect();
    let sources: Vec<_> = replays.iter().map(|run| (&run["source"], &run["status"])).collect();
    assert_eq!(sources, [(&json!("recording"), &json!("same")), (&json!("repository"), &json!("same"))]);
    assert_eq!(replays[0]["executionKey"], outcome.json()["executionKey"]);
    // The report is beside the runs, so the run stays what it is without it.
    repo.run_dir().verify().run().expect(0);
    let outcome = repo.judge().arg("--quiet").run().expect(1);
    assert!(!outcome.stderr.contains("drift"), "{}", outcome.stderr);
}

/// A policy with a review by each of the models.
fn reviewed(models: &[&str]) -> String {
    let reviews = ["security", "performance"];
    let mut policy = "version = 1\n".to_owned();
    for (number, (model, review)) in models.iter().zip(reviews).enumerate() {
        policy.push_str(&format!("[models.m{number}]\nprovider = \"openai-codex\"\n{model}"));
        policy.push_str(&format!("[lenses.review-{review}]\nenabled = true\nmodel = \"m{number}\"\n"));
    }
    policy
}

#[test]
fn budgets_and_replies_are_as_the_models_allow() {
    const PRICED: &str = "model = \"gpt-4.1\"\n";
    const REASONING: &str = "model = \"gpt-5.5\"\n";
    const UNPRICED: &str = "model = \"ours\"\nendpoint = \"https://models.example.com/v1\"\n\
        capabilities = { sampling = \"always\", efforts = [], max-output-tokens = 12000 }\n";
    let cases: [(&[&str], Value, &[u64]); 5] = [
        (&[], json!(12), &[]),
        (&[PRICED], json!(12), &[8000]),
        (&[REASONING], json!(12), &[16_000]),
        (&[UNPRICED], Value::Null, &[8000]),
        (&[UNPRICED, PRICED], json!(12), &[8000, 8000]),
    ];
    for (models, budget, replies) in cases {
        let policy = reviewed(models);
        let files = [(".qa-skill/policy.toml", policy.as_str()), ("a.py", "a = 1\n")];
        let repo = change(&files, &[files[0], ("a.py", "a = 2\n")]);
        let document = planned(&repo, &[]);
        let bindings = document["providerBindings"].as_array().unwrap().iter().skip(1);
        let most: Vec<u64> = bindings.map(|binding| binding["maxTokens"].as_u64().unwrap()).collect();
        assert_eq!((&document["runBudgetMaxCostUsd"], most.as_slice()), (&budget, replies), "{models:?}");
    }
}

/// Bytes that a pipe of Linux holds.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1 << 16;

/// Returns whether a process waits in a write to its standard error.
#[cfg(target_os = "linux")]
fn waits_to_log(process: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{process}/syscall")).unwrap_or_default();
    // The numbers of `write` on x86-64 and arm64.
    ["1 0x2 ", "64 0x2 "].iter().any(|write| call.starts_with(write))
}

#[test]
#[cfg(target_os = "linux")]
fn a_stored_run_that_does_not_follow_from_its_inputs_gets_no_verdict() {
    let repo = repository();
    let (mut reader, mut writer) = std::io::pipe().unwrap();
    let mut command = repo.judge().args(["--verbose", "--verify-drift"]).bare_command();
    let errors = writer.try_clone().unwrap();
    let child = command.stdout(Stdio::piped()).stderr(errors).spawn().unwrap();
    drop(command);
    // The next line after the verdict says that the run is stored. It finds the pipe full, and the run waits there.
    let mut log = Vec::new();
    while !(String::from_utf8_lossy(&log).contains(" verdict: ") && log.ends_with(b"\n")) {
        let mut byte = [0];
        reader.read_exact(&mut byte).unwrap();
        log.push(byte[0]);
    }
    let filler = std::thread::spawn(move || writer.write_all(&[b'.'; PIPE_BYTES]));
    while !waits_to_log(child.id()) || runs_in(&repo.beside("out")).is_empty() {
        std::thread::yield_now();
    }
    tamper(&repo.run_dir(), "final-verdict.json", "/conclusion", json!("pass"));
    repair(&repo.run_dir(), false);
    let rest = std::thread::spawn(move || {
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).map(|_| rest)
    });
    let output = child.wait_with_output().unwrap();
    filler.join().unwrap().unwrap();
    let rest = String::from_utf8_lossy(&rest.join().unwrap().unwrap()).into_owned();
    assert_eq!((output.status.code(), output.stdout), (Some(4), Vec::new()), "{rest}");
    assert!(rest.contains("error[DETERMINISM_DRIFT_DETECTED]"), "{rest}");
    let report = std::fs::read(repo.beside("out/runs/drift-report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    for run in report["runs"].as_array().unwrap() {
        let difference = (&run["status"], &run["difference"]["file"], &run["difference"]["pointer"]);
        assert_eq!(difference, (&json!("drift"), &json!("final-verdict.json"), &json!("/conclusion")));
    }
}

#[test]
fn a_verdict_that_cannot_be_verified_is_not_printed() {
    let repo = repository();
    // The report of the drift check cannot be written, so nothing says that the run was verified.
    std::fs::create_dir_all(repo.beside("out/runs/drift-report.json/full")).unwrap();
    let outcome =
        repo.judge().args(["--quiet", "--verify-drift"]).run().expect_code(3, "ARTIFACT_WRITE_FAILED");
    assert!(outcome.stdout.is_empty(), "{}", outcome.text());
    let outcome = repo.judge().args(["--shard=1/1", "--verify-drift"]).run().expect(2);
    assert!(outcome.stderr.contains("--verify-drift"), "{}", outcome.stderr);
}
