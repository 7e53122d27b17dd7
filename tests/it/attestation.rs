//! The statement of a run, and attestations that a run is held against.

use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::gates_run::{EXECUTION, Scene, kinds, runs};
use crate::support::answers::CHAT;
use crate::support::reviews::{self, findings, reviewing};
use crate::support::{
    Program, Repo, RunDir, Server, canonical, change, judged, qa_skill, repair, sha256, tamper, write_json,
};

const STATEMENT: &str = "statement.intoto.json";

fn passing() -> Repo {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    repo.judge().run().expect(0);
    repo
}

/// Verdict and levels of a run's statement, whose file verifies.
fn stated(run: &RunDir) -> [Value; 2] {
    run.verify().arg("--attestation").arg(run.path(STATEMENT)).run().expect(0);
    let predicate = &run.json(STATEMENT)["predicate"];
    [predicate["verificationResult"].clone(), predicate["verifiedLevels"].clone()]
}

fn levels<const N: usize>(names: [&str; N]) -> [Value; 2] {
    let names: Vec<String> = names.iter().map(|name| format!("urn:qa-skill:level:{name}")).collect();
    [json!("PASSED"), json!(names)]
}

fn failed() -> [Value; 2] {
    [json!("FAILED"), json!(["FAILED"])]
}

fn git_says(repo: &Repo, revision: &str) -> String {
    let mut git = std::process::Command::new("git");
    let output = git.args(["rev-parse", revision]).current_dir(repo.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn a_run_states_what_it_judged_in_the_published_form() {
    let repo = passing();
    let run = repo.run_dir();
    let (hashes, trace) = (run.json("hashes.json"), run.json("trace.json"));
    let config = &trace["configPreimage"];
    let statement = run.json(STATEMENT);
    assert_eq!(
        statement,
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [
                {"name": "head", "digest": {"gitCommit": git_says(&repo, "topic")}},
                {"name": "tree", "digest": {"gitTree": git_says(&repo, "topic^{tree}")}}
            ],
            "predicateType": "https://slsa.dev/verification_summary/v1",
            "predicate": {
                "verifier": {
                    "id": "urn:qa-skill:verifier",
                    "version": {"qa-skill": config["engineVersion"], "qa-skill-sources": config["sourceHash"]}
                },
                "resourceUri": "urn:qa-skill:repository:local",
                "policy": {
                    "uri": format!("urn:qa-skill:policy:{}", git_says(&repo, "main")),
                    "digest": {"sha256": config["policyHash"]}
                },
                "inputAttestations": [{
                    "uri": format!("urn:qa-skill:run:{}", hashes["executionKey"].as_str().unwrap()),
                    "digest": {"sha256": hashes["runDigest"]}
                }],
                "verificationResult": "PASSED",
                "verifiedLevels": ["urn:qa-skill:level:complete", "urn:qa-skill:level:rules"],
                "slsaVersion": "1.1"
            }
        })
    );
    assert_eq!(run.bytes(STATEMENT), [canonical(&statement), b"\n".to_vec()].concat());
    let schema: Value =
        serde_json::from_str(&qa_skill(["schema", "statement"]).run().expect(0).text()).unwrap();
    assert!(jsonschema::is_valid(&schema, &statement));
    assert!(!hashes["files"].to_string().contains(STATEMENT), "no digest of the run covers it");
}

#[test]
fn every_verdict_has_its_levels() {
    assert_eq!(stated(&passing().run_dir()), levels(["complete", "rules"]));
    assert_eq!(stated(&judged().run_dir()), failed());
    // Nothing was looked at, and the policy lets that pass.
    let empty = change(&[(".qa-skill/policy.toml", "empty-change = \"pass\"\n")], &[]);
    let tree = empty.tree_at_tip("main");
    empty.change_trees(tree, tree);
    empty.judge().run().expect(0);
    assert_eq!(stated(&empty.run_dir()), levels([]));
    // Selected lenses are not the policy.
    let one = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    one.judge().args(["--lens", "merge-leftover"]).run();
    let [_, selected] = stated(&one.run_dir());
    assert!(!selected.to_string().contains("complete"), "{selected}");
}

#[test]
fn what_was_deferred_or_not_answered_is_failed_and_replies_are_a_level() {
    let model = Server::start(|_| findings(CHAT, &[]));
    let policy =
        format!("[observer]\nenabled = true\ndefer = [\"review-*\"]\n{}", reviewing(CHAT, &model.url(), ""));
    let repo = reviews::repository(&policy, &[("app.py", reviews::FAULT)]);
    let judge = |mode: &str| {
        let program = reviews::run(&repo).without("--out").without(repo.beside("out").to_str().unwrap());
        let out = repo.beside(mode);
        program.arg("--out").arg(&out).args(["--observer-mode", mode]).run();
        RunDir::only(&out)
    };
    assert_eq!(stated(&judge("cadence")), failed());
    assert_eq!(stated(&judge("cross-check")), levels(["complete", "rules", "reviews"]));
}

#[test]
fn commands_of_gates_are_a_level() {
    let [kind, ..] = kinds();
    let policy = format!("mode = \"strict\"\n{EXECUTION}\n{}", runs(&kind, true));
    let Some(scene) = Scene::new(&policy, &kind.passes) else { return };
    scene.judge().expect(0);
    assert_eq!(stated(&scene.repo.run_dir()), levels(["complete", "rules", "gates-executed"]));
}

/// Each string and each list below a value, by pointer.
fn places(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            found.push(format!("{pointer}/{name}"));
            places(member, &format!("{pointer}/{name}"), found);
        }),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, item)| {
            found.push(format!("{pointer}/{index}"));
            places(item, &format!("{pointer}/{index}"), found);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Statements that differ from one in a member each: changed, or, in the outer objects, missing or one too many.
fn edited(statement: &Value) -> Vec<(String, Value)> {
    let mut pointers = Vec::new();
    places(statement, "", &mut pointers);
    let mut all = Vec::new();
    for pointer in pointers {
        let mut changed = statement.clone();
        *changed.pointer_mut(&pointer).unwrap() = json!("another");
        all.push((pointer.clone(), changed));
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        if !["", "/predicate", "/subject"].contains(&parent) {
            continue;
        }
        let (mut fewer, mut more) = (statement.clone(), statement.clone());
        match [&mut fewer, &mut more].map(|copy| copy.pointer_mut(parent).unwrap()) {
            [Value::Object(fewer), Value::Object(more)] => {
                fewer.remove(name);
                more.insert(format!("{name}2"), json!(true));
            }
            [Value::Array(fewer), Value::Array(more)] => {
                fewer.remove(name.parse().unwrap());
                more.push(json!({}));
            }
            _ => unreachable!("only these have members"),
        }
        all.extend([fewer, more].map(|copy| (pointer.clone(), copy)));
    }
    all
}

#[test]
fn every_edit_of_a_statement_is_noticed_by_verify() {
    let repo = passing();
    let run = repo.run_dir();
    let statement = run.json(STATEMENT);
    let original = run.bytes(STATEMENT);
    let beside = repo.beside("edited.json");
    let all = edited(&statement);
    assert!(all.len() > 50, "{}", all.len());
    for (pointer, other) in all {
        write_json(&run, STATEMENT, &other);
        let refused = run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        assert!(refused.stderr.contains("statement.intoto.json#/"), "{}", refused.stderr);
        std::fs::rename(run.path(STATEMENT), &beside).unwrap();
        std::fs::write(run.path(STATEMENT), &original).unwrap();
        let refused = run.verify().arg("--attestation").arg(&beside).run();
        assert!([3, 4].contains(&refused.exit) && refused.stdout.is_empty(), "{pointer}: {}", refused.stderr);
        assert!(["ATTESTATION_INVALID", "EXPECTATION_UNMET"].contains(&refused.code()), "{}", refused.stderr);
    }
    // Other bytes of the same value, and what is no statement.
    let spaced = serde_json::to_vec_pretty(&statement).unwrap();
    for bytes in [&spaced[..], b"", b"{}\n", &original[..original.len() - 1]] {
        std::fs::write(run.path(STATEMENT), bytes).unwrap();
        run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        let again = repo.judge().run();
        assert_eq!(again.code(), "DETERMINISM_DRIFT_DETECTED", "{}", again.stderr);
        qa_skill(["drift-check"]).arg(&run.0).run().expect(4);
    }
    std::fs::remove_file(run.path(STATEMENT)).unwrap();
    std::os::unix::fs::symlink(&beside, run.path(STATEMENT)).unwrap();
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    std::fs::remove_file(run.path(STATEMENT)).unwrap();
    let refused = run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    assert!(refused.stderr.contains("statement.intoto.json# was absent, is present"), "{}", refused.stderr);
}

/// It does not record the tree of its head either.
#[test]
fn a_run_of_an_earlier_version_has_no_statement_and_verifies() {
    let repo = passing();
    let run = repo.run_dir();
    let attestation = written(&repo, run.bytes(STATEMENT));
    let mut change_set = run.json("change-set.json");
    change_set.as_object_mut().unwrap().remove("headTree").unwrap();
    write_json(&run, "change-set.json", &change_set);
    std::fs::remove_file(run.path(STATEMENT)).unwrap();
    repair(&run, false);
    let text = run.verify().run().expect(0).text();
    assert!(text.contains("the run has no statement"), "{text}");
    let refused = held(&run, &attestation).run().expect_code(4, "EXPECTATION_UNMET");
    assert!(refused.stderr.contains("does not record the tree of its head"), "{}", refused.stderr);
    // Nothing follows from it that one could be compared with.
    std::fs::copy(&attestation, run.path(STATEMENT)).unwrap();
    run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
}

#[test]
fn a_forged_verdict_needs_more_than_a_statement_that_fits() {
    let repo = judged();
    let run = repo.run_dir();
    let mut statement = run.json(STATEMENT);
    statement["predicate"]["verificationResult"] = json!("PASSED");
    statement["predicate"]["verifiedLevels"] = json!(["urn:qa-skill:level:complete"]);
    write_json(&run, STATEMENT, &statement);
    tamper(&run, "final-verdict.json", "/conclusion", json!("pass"));
    repair(&run, false);
    run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    // Neither is it listed in the manifest.
    let run = passing().run_dir().copy_to(&repo.beside("listed"));
    let mut hashes = run.json("hashes.json");
    let bytes = run.bytes(STATEMENT);
    hashes["files"].as_array_mut().unwrap().push(json!({
        "path": STATEMENT, "bytes": bytes.len(), "full": sha256(&bytes), "deterministic": sha256(&bytes)
    }));
    write_json(&run, "hashes.json", &hashes);
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
}

/// The bundle that GitHub's action makes: its subject is the file, and its predicate that of the file.
fn bundle(run: &RunDir) -> Value {
    let statement = run.json(STATEMENT);
    let signed = json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": STATEMENT, "digest": {"sha256": sha256(&run.bytes(STATEMENT))}}],
        "predicateType": statement["predicateType"],
        "predicate": statement["predicate"]
    });
    sealed(&signed)
}

fn sealed(statement: &Value) -> Value {
    json!({
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"certificate": {"rawBytes": "MIIG"}, "tlogEntries": []},
        "dsseEnvelope": {
            "payload": STANDARD.encode(statement.to_string()),
            "payloadType": "application/vnd.in-toto+json",
            "signatures": [{"sig": "MEUC", "keyid": ""}]
        }
    })
}

fn held(run: &RunDir, path: &Path) -> Program {
    run.verify().arg("--attestation").arg(path)
}

fn written(repo: &Repo, text: impl AsRef<[u8]>) -> PathBuf {
    let path = repo.beside("attestation.jsonl");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn verify_holds_an_attestation_against_the_run() {
    let repo = passing();
    let run = repo.run_dir();
    let one = bundle(&run).to_string();
    for text in [one.clone(), format!("{one}\n{one}\n"), sealed(&run.json(STATEMENT)).to_string()] {
        let said = held(&run, &written(&repo, text)).run().expect(0).text();
        assert!(said.contains("attestation    it is about this run: PASSED at complete, rules; "), "{said}");
    }
    let other_repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 3\n")]);
    other_repo.judge().run().expect(0);
    let other = other_repo.run_dir();
    for text in [bundle(&other).to_string(), format!("{one}\n{}\n", bundle(&other))] {
        let refused = held(&run, &written(&repo, text)).run().expect_code(4, "EXPECTATION_UNMET");
        assert!(refused.stderr.contains("the execution key of the attestation is "), "{}", refused.stderr);
        assert!(refused.stdout.is_empty());
    }
    let refused = held(&run, &other.path(STATEMENT)).run().expect_code(4, "EXPECTATION_UNMET");
    let head = git_says(&repo, "topic");
    assert!(refused.stderr.contains("the head of the attestation is ") && refused.stderr.contains(&head));
    let mut renamed = bundle(&run);
    let digest = sha256(&run.bytes(STATEMENT));
    let payload = STANDARD.decode(renamed["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
    let payload = String::from_utf8(payload).unwrap().replace(&digest, &"0".repeat(64));
    renamed["dsseEnvelope"]["payload"] = STANDARD.encode(payload).into();
    let refused = held(&run, &written(&repo, renamed.to_string())).run().expect_code(4, "EXPECTATION_UNMET");
    assert!(refused.stderr.contains(&format!("that of the run is {digest}")), "{}", refused.stderr);
    // Text of the file is escaped.
    let mut hostile = run.json(STATEMENT);
    hostile["predicate"]["resourceUri"] = json!("\u{1b}[31m\u{202e}urn");
    let refused = held(&run, &written(&repo, hostile.to_string())).run().expect_code(4, "EXPECTATION_UNMET");
    assert!(!refused.stderr.contains(['\u{1b}', '\u{202e}']), "{}", refused.stderr);
    let failing = judged();
    let text = held(&failing.run_dir(), &failing.run_dir().path(STATEMENT)).run().expect(0).text();
    assert!(text.contains("it is about this run: FAILED; "), "{text}");
}

#[test]
fn an_attestation_that_cannot_be_read_is_refused_by_its_code() {
    let repo = passing();
    let run = repo.run_dir();
    let refuse = |path: &Path| {
        let refused = held(&run, path).run().expect_code(3, "ATTESTATION_INVALID");
        assert!(refused.stdout.is_empty() && !refused.stderr.contains('\u{202e}'), "{}", refused.stderr);
    };
    refuse(&repo.beside("nowhere.json"));
    refuse(&repo.path());
    let pipe = repo.beside("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    refuse(&pipe);
    let text = String::from_utf8(run.bytes(STATEMENT)).unwrap();
    for bad in [
        String::new(),
        "{}".to_owned(),
        text.replacen('{', "{\"_type\":\"https://in-toto.io/Statement/v1\",", 1),
        text.replace("verification_summary/v1", "provenance/v1"),
        text.replace("\"_type\"", "\"\\u202etype\""),
        format!("{text}{}", "[".repeat(100)),
        format!("{}{text}", " ".repeat(1 << 20)),
    ] {
        refuse(&written(&repo, bad));
    }
    refuse(&written(&repo, [0xff, 0xfe]));
}

#[test]
fn the_statement_verifies_elsewhere_without_the_repository() {
    let repo = passing();
    let run = repo.run_dir();
    let attestation = written(&repo, bundle(&run).to_string());
    let home = crate::support::temp();
    let copy = run.copy_to(&home.path().join(run.0.file_name().unwrap()));
    std::fs::remove_dir_all(repo.path().join(".git")).unwrap();
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for name in copy.files() {
        let file = std::fs::File::options().write(true).open(copy.path(&name)).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    held(&copy, &attestation).run().expect(0);
}

#[test]
fn the_tree_of_the_head_is_read_again_from_the_repository() {
    let repo = passing();
    let run = repo.run_dir();
    let place = repo.path();
    let from_repository = || run.verify().args(["--repo", place.to_str().unwrap()]).run();
    from_repository().expect(0);
    tamper(&run, "change-set.json", "/headTree", json!("0".repeat(40)));
    let mut statement = run.json(STATEMENT);
    statement["subject"][1]["digest"]["gitTree"] = json!("0".repeat(40));
    write_json(&run, STATEMENT, &statement);
    repair(&run, false);
    run.verify().run().expect(0);
    let refused = from_repository().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    assert!(refused.stderr.contains("change-set.json#/headTree"), "{}", refused.stderr);
}
