//! Recorded questions asked again: how a model answers now is told, decides nothing, and goes nowhere a stored run says.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, SURFACES, answer};
use crate::support::reviews::{
    FAULT, KEY, faulty, finding, findings, model_finding, only, repository, result, reviewing, run,
};
use crate::support::{Files, Program, Repo, Response, RunDir, Server, copy_tree, qa_skill};

const BLOCK: &str = "required = true\n[rules.\"review-security/injection\"]\nstrength = \"block\"\n";

/// A server whose answers a test changes.
fn server(first: Response) -> (Server, Arc<Mutex<Response>>) {
    let says = Arc::new(Mutex::new(first));
    let next = Arc::clone(&says);
    (Server::start(move |_| next.lock().unwrap().clone()), says)
}

/// The checkout has the policy that is believed.
fn again(repo: &Repo) -> Program {
    let main = repo.git.revparse_single("main").unwrap().id();
    repo.git.set_head_detached(main).unwrap();
    let check = qa_skill(["drift-check", "--live", "--format", "json", "--repo"]).arg(repo.path());
    check.arg(repo.beside("out").join("runs")).env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY)
}

fn models(report: &Value) -> Vec<(String, Value)> {
    let models = report["runs"][0]["models"].as_array().unwrap();
    models.iter().map(|model| (model["class"].as_str().unwrap().to_owned(), model["code"].clone())).collect()
}

#[test]
fn a_model_is_held_against_what_it_said_and_no_run_turns_red() {
    let mut reworded = finding();
    reworded["summary"] = "Other words.".into();
    let elsewhere = model_finding("review-security/path-traversal", "app.py", 5, "    return db.run(");
    let refused = {
        let mut refused = answer(MESSAGES, "");
        refused["stop_reason"] = "refusal".into();
        Response::json(200, &refused)
    };
    let drift = json!("MODEL_DRIFT_DETECTED");
    let cases = [
        (findings(MESSAGES, &[finding()]), "identical", Value::Null),
        (findings(MESSAGES, &[reworded]), "wording", Value::Null),
        (findings(MESSAGES, &[finding(), elsewhere]), "findings", drift.clone()),
        (findings(MESSAGES, &[]), "verdict", drift.clone()),
        (refused, "refusal", drift),
        (Response::json(404, &json!({})), "unavailable", Value::Null),
    ];
    let (server, says) = server(findings(MESSAGES, &[finding()]));
    let repo = faulty(MESSAGES, &server, BLOCK);
    run(&repo).run().expect(1);
    for (response, class, code) in cases {
        *says.lock().unwrap() = response;
        let before = server.requests().len();
        let report: Value = serde_json::from_slice(&again(&repo).run().expect(0).stdout).unwrap();
        assert_eq!(models(&report), [(class.to_owned(), code)], "{report}");
        assert_eq!(report["status"], "same");
        let asked: Vec<_> = server.requests().into_iter().skip(before).map(|request| request.body).collect();
        assert_eq!(
            (asked.len(), &asked[0]),
            (3, &server.requests()[0].body),
            "the recorded question, three times"
        );
    }
    let text = again(&repo).without("--format").without("json").run().expect(0).text();
    assert!(text.contains("review-security by review: unavailable"), "{text}");
    only(&repo).verify().run().expect(0);
}

#[test]
fn what_a_model_never_says_twice_is_no_drift() {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |_| {
        let turn = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let rules = ["injection", "path-traversal", "request-forgery", "weak-cryptography"];
        let rule = format!("review-security/{}", rules[turn % rules.len()]);
        findings(CHAT, &[model_finding(&rule, "app.py", 5, "    return db.run(")])
    });
    let repo = faulty(CHAT, &server, "");
    run(&repo).run().expect(0);
    let report: Value = serde_json::from_slice(&again(&repo).run().expect(0).stdout).unwrap();
    assert_eq!(models(&report), [("findings".to_owned(), Value::Null)], "{report}");
    let before = server.requests().len();
    again(&repo).args(["--samples", "2"]).run().expect(0);
    assert_eq!(server.requests().len(), before + 2);
}

#[test]
fn a_stored_run_does_not_say_where_a_key_goes() {
    let (theirs, _) = server(findings(CHAT, &[]));
    let (ours, _) = server(findings(CHAT, &[]));
    let repo = repository(&reviewing(CHAT, &theirs.url(), ""), &[("app.py", FAULT)]);
    run(&repo).run().expect(0);
    assert_eq!(theirs.requests().len(), 1);
    // The checkout's own policy has another address under the same name.
    let policy = reviewing(CHAT, &ours.url(), "");
    let tree = repo.tree(&Files::from_texts(&[(".qa-skill/policy.toml", &policy)]));
    let parent = repo.git.revparse_single("main").unwrap().id();
    repo.reference("refs/heads/main", repo.commit(tree, &[parent]));
    let report: Value = serde_json::from_slice(&again(&repo).run().expect(0).stdout).unwrap();
    assert_eq!(models(&report), [("unavailable".to_owned(), Value::Null)], "{report}");
    assert_eq!((theirs.requests().len(), ours.requests().len()), (1, 0));
}

#[test]
fn a_replay_without_any_network_is_the_live_run_byte_for_byte() {
    let (server, _) = server(findings(MESSAGES, &[finding()]));
    let repo = faulty(MESSAGES, &server, &format!("samples = 2\n{BLOCK}"));
    run(&repo).run().expect(1);
    assert_eq!(server.requests().len(), 2);
    let live = only(&repo);
    // A namespace of its own has no interface that is up, loopback included.
    let alone = |program: Program| program.under(["unshare", "--map-root-user", "--net"]);
    let reached = alone(run(&repo)).args(["--replies", "off", "--refresh"]).run();
    assert_eq!(reached.exit, 3, "{}", reached.text());
    assert!(reached.text().contains("PROVIDER_UNAVAILABLE"), "{}", reached.text());
    assert_eq!(server.requests().len(), 2, "nothing gets out");
    alone(live.verify()).run().expect(0);
    let out = repo.beside("again");
    copy_tree(&repo.beside("out").join("replies"), &out.join("replies"));
    let replay = qa_skill(["run", "--base", "main", "--head", "topic", "--replies", "replay", "--repo"]);
    alone(replay.arg(repo.path()).arg("--out").arg(&out)).run().expect(1);
    let replayed = RunDir::only(&out);
    assert_eq!((replayed.digests(), replayed.run_digest()), (live.digests(), live.run_digest()));
}

#[test]
fn a_hundred_runs_ask_in_the_same_bytes() {
    for surface in SURFACES {
        let server = Server::start(move |_| findings(surface, &[]));
        let repo = faulty(surface, &server, "");
        for turn in 0..34 {
            let jobs = if turn % 2 == 0 { "1" } else { "4" };
            let zone = if turn % 3 == 0 { "Asia/Tokyo" } else { "UTC" };
            let out = repo.beside(&format!("out-{turn}"));
            let judge = qa_skill(["run", "--base", "main", "--head", "topic", "--replies", "off", "--repo"]);
            let judge = judge.arg(repo.path()).arg("--out").arg(out).args(["--jobs", jobs]).env("TZ", zone);
            judge.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY).run().expect(0);
        }
        let bodies: BTreeSet<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
        assert_eq!((server.requests().len(), bodies.len()), (34, 1), "{surface}");
    }
}

#[test]
fn a_model_that_is_switched_off_soon_is_warned_about_by_the_date_of_the_base() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let repo = faulty(CHAT, &server, "");
    run(&repo).run().expect(0);
    let warnings = |run: &RunDir| result(run)["warningCodes"].clone();
    assert_eq!(warnings(&only(&repo)), json!([]));
    // The table has 2027-01-14 for the model; the base is of the first of December before.
    let tree = |name: &str| repo.git.revparse_single(&format!("{name}^{{tree}}")).unwrap().id();
    let base = repo.commit_at(tree("main"), &[], 1_796_083_200);
    let head = repo.commit_at(tree("topic"), &[base], 1_796_083_300);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/heads/topic", head);
    let out = repo.beside("late");
    let judge = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
    judge.arg("--out").arg(&out).env("OPENAI_API_KEY", KEY).run().expect(0);
    assert_eq!(warnings(&RunDir::only(&out)), json!(["MODEL_RETIRING"]));
}

#[test]
fn committed_answers_are_not_replayed_however_their_place_is_written() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let repo = faulty(CHAT, &server, "required = true");
    run(&repo).run().expect(0);
    // The change brings the very answers along.
    let kept =
        std::fs::read_dir(repo.beside("out").join("replies")).unwrap().map(|entry| entry.unwrap().path());
    let kept: Vec<_> = kept.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    let policy = reviewing(CHAT, &server.url(), "required = true");
    let mut files = Files::from_texts(&[(".qa-skill/policy.toml", &policy), ("app.py", FAULT)]);
    std::fs::create_dir_all(repo.path().join("proof/replies")).unwrap();
    for path in kept {
        let name = format!("proof/replies/{}", path.file_name().unwrap().to_str().unwrap());
        files = files.with(&name, std::fs::read(&path).unwrap());
        std::fs::copy(&path, repo.path().join(&name)).unwrap();
    }
    let parent = repo.git.revparse_single("topic").unwrap().id();
    repo.reference("refs/heads/topic", repo.commit(repo.tree(&files), &[parent]));
    for out in ["proof", "./proof", "proof/../proof"] {
        let replay =
            qa_skill(["run", "--base", "main", "--head", "topic", "--replies", "replay", "--out", out]);
        let outcome = replay.within(&repo.path()).run().expect(2);
        assert!(outcome.stderr.contains("they are committed"), "{out}: {}", outcome.stderr);
    }
}

#[test]
fn a_model_that_does_not_say_what_it_used_is_said_to() {
    let mut silent = answer(CHAT, &json!({ "findings": [] }).to_string());
    silent.as_object_mut().unwrap().remove("usage");
    for (response, warned) in [(Response::json(200, &silent), true), (findings(CHAT, &[]), false)] {
        let (server, _) = server(response);
        let repo = faulty(CHAT, &server, "");
        run(&repo).run().expect(0);
        let result = result(&only(&repo));
        let codes = result["warningCodes"].as_array().unwrap();
        assert_eq!(codes.contains(&json!("PROVIDER_USAGE_UNAVAILABLE")), warned, "{result}");
        let reason = if warned { json!("MISSING_USAGE_DATA") } else { Value::Null };
        assert_eq!(
            (&result["usage"]["unavailableReason"], result["usage"]["totalTokens"].is_null()),
            (&reason, warned)
        );
    }
}

#[test]
fn a_replay_without_a_recorded_answer_asks_nobody_and_does_not_pass() {
    let (server, _) = server(findings(CHAT, &[]));
    let repo = faulty(CHAT, &server, "required = true");
    run(&repo).args(["--replies", "replay"]).run().expect(3);
    assert_eq!(result(&only(&repo))["errorCodes"], json!(["REPLAY_RECORDING_MISSING"]));
    assert_eq!(server.requests(), []);
}
