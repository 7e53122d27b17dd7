//! Reviews: what a model says about a change counts by its proof, and a model that fails never makes a change pass.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, RESPONSES, SURFACES, answer};
use crate::support::reviews::{
    FAULT, KEY, QUOTE, faulty, finding, findings, has_no_key, model_finding, only, packet, repository,
    result, reviewing, run,
};
use crate::support::server::Request;
use crate::support::{
    Files, Outcome, Repo, Response, RunDir, Server, change, qa_skill, repair, runs_in, write_json,
};

const BLOCK: &str = "[rules.\"review-security/injection\"]\nstrength = \"block\"\n";
const REQUIRED: &str = "required = true";

#[test]
fn a_proven_finding_counts_by_its_rule_in_each_dialect_and_is_derived_again_without_the_model() {
    for surface in SURFACES {
        let server = Server::start(move |_| findings(surface, &[finding()]));
        let repo = faulty(surface, &server, &format!("{REQUIRED}\n{BLOCK}"));
        let outcome = run(&repo).run().expect(1);
        assert_eq!(server.requests().len(), 1);
        let directory = only(&repo);
        assert_eq!(directory.findings(), ["review-security/injection app.py:5"]);
        let result = result(&directory);
        let found = &result["findings"][0];
        assert_eq!((found["blocking"].as_bool(), &found["evidence"]["quote"]), (Some(true), &json!(QUOTE)));
        assert_eq!(result["usage"]["inputTokens"], 1000);
        assert!(result["usage"]["costUsd"].as_f64().unwrap() > 0.0);
        assert_eq!(result["review"]["samples"][0]["code"], Value::Null);
        has_no_key(&outcome, &repo.beside("out"));
        drop(server);
        directory.verify().run().expect(0);
        directory.verify().arg("--repo").arg(repo.path()).run().expect(0);
    }
}

#[test]
fn by_default_a_finding_advises_and_no_finding_is_no_noise() {
    let server = Server::start(|_| findings(RESPONSES, &[finding()]));
    let repo = faulty(RESPONSES, &server, "");
    run(&repo).run().expect(0);
    assert_eq!(only(&repo).findings(), ["review-security/injection app.py:5"]);
    let server = Server::start(|_| findings(RESPONSES, &[]));
    let repo = faulty(RESPONSES, &server, REQUIRED);
    run(&repo).run().expect(0);
    assert_eq!(only(&repo).findings(), [""; 0]);
    assert_eq!(only(&repo).json("final-verdict.json")["degraded"], false);
}

#[test]
fn what_does_not_stand_there_does_not_block_and_too_much_of_it_leaves_the_review_incomplete() {
    let elsewhere = model_finding("review-security/injection", "app.py", 1, QUOTE);
    let invented = model_finding("review-security/injection", "app.py", 5, "os.system(name)");
    let gone = model_finding("review-security/injection", "app.py", 5, "pass");
    let no_file = model_finding("review-security/injection", "other.py", 5, QUOTE);
    for wrong in [elsewhere, invented, gone, no_file] {
        // Half of what it says is proven: the proven half counts.
        let own = wrong.clone();
        let server = Server::start(move |_| findings(MESSAGES, &[finding(), own.clone()]));
        let repo = faulty(MESSAGES, &server, &format!("{REQUIRED}\n{BLOCK}"));
        run(&repo).run().expect(1);
        let halved = result(&only(&repo));
        assert_eq!((&halved["status"], &halved["review"]["unverified"]), (&json!("completed"), &json!(1)));
        // None is: it could not complete, and nothing blocks.
        let server = Server::start(move |_| findings(MESSAGES, std::slice::from_ref(&wrong)));
        let repo = faulty(MESSAGES, &server, &format!("{REQUIRED}\n{BLOCK}"));
        run(&repo).run().expect(3);
        let doubtful = result(&only(&repo));
        assert_eq!(doubtful["errorCodes"], json!(["EVIDENCE_UNVERIFIED"]));
        let all = doubtful["findings"].as_array().unwrap();
        assert!(all.iter().all(|found| found["blocking"] == false), "{doubtful}");
    }
}

/// An answer, and what it comes to.
fn outcomes() -> Vec<(&'static str, Response, &'static str)> {
    let text = |surface, text: &str| Response::json(200, &answer(surface, text));
    let with = |surface, at: &str, value: Value| {
        let mut body = answer(surface, "{\"findings\":[]}");
        *body.pointer_mut(at).unwrap() = value;
        Response::json(200, &body)
    };
    let refusal = json!([{"type": "refusal", "refusal": "no"}]);
    let mut cut = answer(RESPONSES, "{\"findings\":[]}");
    cut["status"] = "incomplete".into();
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let mut failed = answer(RESPONSES, "");
    failed["status"] = "failed".into();
    failed["error"] = json!({"code": "invalid_prompt", "message": "no"});
    vec![
        (RESPONSES, text(RESPONSES, "no finding"), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, text(RESPONSES, "[]"), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, text(RESPONSES, "{}"), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, text(RESPONSES, "{\"findings\":[],\"findings\":[]}"), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, text(RESPONSES, "{\"findings\":[],\"approved\":true}"), "PROVIDER_OUTPUT_INVALID"),
        (
            CHAT,
            findings(CHAT, &[model_finding("security/made-up", "app.py", 5, QUOTE)]),
            "PROVIDER_OUTPUT_INVALID",
        ),
        (RESPONSES, Response::json(200, &cut), "PROVIDER_INCOMPLETE"),
        (RESPONSES, with(RESPONSES, "/status", "thinking".into()), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, with(RESPONSES, "/output/1/content", refusal), "PROVIDER_REFUSAL"),
        (RESPONSES, with(RESPONSES, "/model", "gpt-4o".into()), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, Response::json(200, &failed), "PROVIDER_REFUSAL"),
        (CHAT, with(CHAT, "/choices/0/finish_reason", "length".into()), "PROVIDER_INCOMPLETE"),
        (CHAT, with(CHAT, "/choices/0/finish_reason", "content_filter".into()), "PROVIDER_REFUSAL"),
        (CHAT, with(CHAT, "/choices/0/finish_reason", "tool_calls".into()), "PROVIDER_OUTPUT_INVALID"),
        (CHAT, with(CHAT, "/choices/0/message/refusal", "no".into()), "PROVIDER_REFUSAL"),
        (MESSAGES, with(MESSAGES, "/stop_reason", "max_tokens".into()), "PROVIDER_INCOMPLETE"),
        (MESSAGES, with(MESSAGES, "/stop_reason", "refusal".into()), "PROVIDER_REFUSAL"),
        (MESSAGES, with(MESSAGES, "/stop_reason", "unheard_of".into()), "PROVIDER_OUTPUT_INVALID"),
        (RESPONSES, Response::json(401, &json!({"error": {"message": KEY}})), "PROVIDER_AUTH_ERROR"),
        (MESSAGES, Response::json(402, &json!({})), "PROVIDER_QUOTA_EXHAUSTED"),
        (CHAT, Response::json(404, &json!({})), "PROVIDER_MODEL_UNAVAILABLE"),
        (CHAT, Response::json(413, &json!({})), "CONTEXT_BOUND_EXCEEDED"),
        (CHAT, Response::json(400, &json!({})), "PROVIDER_REQUEST_REJECTED"),
        (MESSAGES, Response::json(529, &json!({})).header("x-should-retry", "false"), "PROVIDER_UNAVAILABLE"),
        (MESSAGES, Response::json(429, &json!({})).header("retry-after", "900"), "PROVIDER_RATE_LIMIT"),
        (MESSAGES, Response::json(504, &json!({})).header("x-should-retry", "false"), "PROVIDER_TIMEOUT"),
        (CHAT, Response::new(200, "<html>"), "PROVIDER_OUTPUT_INVALID"),
    ]
}

#[test]
fn a_required_review_without_an_answer_never_passes_and_its_record_says_why() {
    for (surface, response, code) in outcomes() {
        for mode in ["strict", "best_effort"] {
            let answered = response.clone();
            let server = Server::start(move |_| answered.clone());
            let repo = faulty(surface, &server, REQUIRED);
            let outcome = run(&repo).args(["--mode", mode]).run().expect(3);
            let directory = only(&repo);
            assert_eq!(result(&directory)["errorCodes"], json!([code]), "{surface} {mode}");
            assert_eq!(result(&directory)["status"], "failed");
            assert!(outcome.text().contains(code), "{}", outcome.text());
            has_no_key(&outcome, &repo.beside("out"));
            drop(server);
            directory.verify().run().expect(0);
        }
    }
}

#[test]
fn without_an_optional_review_only_best_effort_passes_and_says_what_is_missing() {
    for (mode, exit, status) in [("strict", 3, "FAIL"), ("best_effort", 0, "PASS")] {
        let server = Server::start(|_| Response::json(503, &json!({})));
        let repo = faulty(CHAT, &server, "");
        let outcome = run(&repo).args(["--mode", mode]).run().expect(exit);
        assert!(outcome.text().contains("review-security"), "{}", outcome.text());
        assert_eq!(server.requests().len(), 3, "asked again twice and no more");
        let verdict = only(&repo).json("final-verdict.json");
        assert_eq!((&verdict["status"], &verdict["degraded"]), (&json!(status), &json!(true)));
        let codes = verdict["errorCodes"].as_array().unwrap();
        assert_eq!(codes.contains(&json!("LENS_OPTIONAL_FAILED")), mode == "strict", "{codes:?}");
        assert!(verdict["errorCodes"].as_array().unwrap().contains(&json!("PROVIDER_UNAVAILABLE")));
        let attempts = &only(&repo).json("recordings/replies.json")["replies"][0]["attempts"];
        assert_eq!(
            *attempts,
            json!([{"code": "PROVIDER_UNAVAILABLE", "status": 503}, {"code": "PROVIDER_UNAVAILABLE", "status": 503}, {"code": "PROVIDER_UNAVAILABLE", "status": 503}])
        );
    }
}

#[test]
fn without_a_key_or_told_so_nothing_is_sent_and_the_other_lenses_still_judge() {
    let server = Server::start(|_| findings(CHAT, &[]));
    for (settings, mode, exit) in
        [("", "best_effort", 0), ("", "strict", 3), (REQUIRED, "best_effort", 3), (REQUIRED, "strict", 3)]
    {
        let repo = faulty(CHAT, &server, settings);
        let outcome = repo.judge().args(["--mode", mode]).run().expect(exit);
        assert_eq!(result(&only(&repo))["errorCodes"], json!(["PROVIDER_AUTH_ERROR"]));
        assert!(outcome.text().contains("OPENAI_API_KEY is not set"), "{}", outcome.text());
        let repo = faulty(CHAT, &server, settings);
        run(&repo).args(["--no-model", "--mode", mode]).run().expect(exit);
        assert_eq!(result(&only(&repo))["errorCodes"], json!(["REVIEW_NOT_ASKED"]));
    }
    assert_eq!(server.requests(), []);
}

#[test]
fn an_answer_is_kept_for_whoever_has_the_key_and_an_outage_is_not() {
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let server = Server::start(move |_| match is_down.load(Ordering::SeqCst) {
        true => Response::json(404, &json!({})),
        false => findings(CHAT, &[finding()]),
    });
    let repo = faulty(CHAT, &server, REQUIRED);
    run(&repo).run().expect(0);
    let first = only(&repo).run_digest();
    run(&repo).run().expect(0);
    assert_eq!(server.requests().len(), 1, "the second run asks nothing");
    let replies = repo.beside("out").join("replies");
    let kept: Vec<_> = std::fs::read_dir(&replies).unwrap().map(|entry| entry.unwrap().path()).collect();
    let ends = |path: &&PathBuf| path.to_string_lossy().ends_with("-1.json");
    let kept = kept.iter().find(ends).unwrap();
    // Another key: what is kept could be anybody's.
    run(&repo).env("OPENAI_API_KEY", "another-key-27182818284").run().expect(0);
    assert_eq!(server.requests().len(), 2);
    // Whoever writes there without the key is not believed.
    let planted = std::fs::read_to_string(kept).unwrap().replace("injection", "path-traversal");
    std::fs::write(kept, planted).unwrap();
    run(&repo).run().expect(0);
    assert_eq!(server.requests().len(), 3);
    run(&repo).args(["--replies", "off"]).run().expect(0);
    run(&repo).args(["--replies", "record"]).run().expect(0);
    assert_eq!(server.requests().len(), 5);
    // An outage does not take the place of an answer.
    down.store(true, Ordering::SeqCst);
    run(&repo).args(["--replies", "record"]).run().expect(3);
    // With the server gone only what is kept counts, byte for byte as before.
    drop(server);
    run(&repo).args(["--replies", "replay"]).run().expect(0);
    repo.judge().args(["--replies", "replay"]).run().expect(0);
    let runs = runs_in(&repo.beside("out"));
    let others = runs.into_iter().filter(|directory| RunDir(directory.clone()).run_digest() != first);
    assert_eq!(others.count(), 1, "the outage alone is another run");
    std::fs::remove_file(kept).unwrap();
    run(&repo).args(["--replies", "replay"]).run().expect(3);
}

#[test]
fn an_unchanged_tree_asks_nothing_again_wherever_it_is_committed() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let repo = faulty(CHAT, &server, REQUIRED);
    run(&repo).run().expect(0);
    let tree = repo.git.revparse_single("topic^{tree}").unwrap().id();
    let base = repo.git.revparse_single("main^{commit}").unwrap().id();
    let base_tree = repo.git.revparse_single("main^{tree}").unwrap().id();
    let newer = repo.commit_at(base_tree, &[base], 1_714_650_000);
    let rebased = repo.commit_at(tree, &[newer], 1_714_660_000);
    repo.git.reference("refs/heads/main", newer, true, "").unwrap();
    repo.git.reference("refs/heads/topic", rebased, true, "").unwrap();
    run(&repo).run().expect(0);
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn several_answers_have_to_agree_before_a_finding_blocks() {
    for (agreeing, exit) in [(3, 1), (2, 1), (1, 0)] {
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let server = Server::start(move |_| {
            let number = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            findings(CHAT, &if number < agreeing { vec![finding()] } else { Vec::new() })
        });
        let repo = faulty(CHAT, &server, &format!("{REQUIRED}\nsamples = 3\nagree = 2\n{BLOCK}"));
        run(&repo).run().expect(exit);
        assert_eq!(server.requests().len(), 3);
        let bodies: std::collections::BTreeSet<_> =
            server.requests().into_iter().map(|request| request.body).collect();
        assert_eq!(bodies.len(), 1, "the same question");
        let result = result(&only(&repo));
        let summary = result["findings"][0]["summary"].as_str().unwrap();
        assert!(summary.ends_with(&format!("({agreeing} of 3 answers)")), "{summary}");
        let codes = &result["findings"][0]["codes"];
        assert_eq!(*codes, if agreeing == 1 { json!(["REVIEW_NOT_AGREED"]) } else { json!([]) });
    }
}

#[test]
fn a_model_that_does_not_see_the_canary_did_not_look() {
    let blind = Server::start(|_| findings(CHAT, &[]));
    let repo = faulty(CHAT, &blind, &format!("{REQUIRED}\ncanary = true"));
    run(&repo).run().expect(3);
    assert_eq!(result(&only(&repo))["errorCodes"], json!(["REVIEW_CANARY_MISSED"]));
    // Lines of its file are not enough: its fault has to be quoted.
    let guess = Server::start(|request| findings(CHAT, &canary_lines(request, |_| "x = 1".to_owned())));
    let repo = faulty(CHAT, &guess, &format!("{REQUIRED}\ncanary = true"));
    run(&repo).run().expect(3);
    let sharp = Server::start(|request| {
        let mut all = canary_lines(request, |line| line.to_owned());
        all.push(finding());
        findings(CHAT, &all)
    });
    let repo = faulty(CHAT, &sharp, &format!("{REQUIRED}\ncanary = true\n{BLOCK}"));
    run(&repo).run().expect(1);
    let result = result(&only(&repo));
    assert_eq!(result["review"]["canaryFound"], true);
    assert_eq!(only(&repo).findings(), ["review-security/injection app.py:5"]);
}

/// What a model says that reports every line of the file that nobody wrote.
fn canary_lines(request: &Request, quote: impl Fn(&str) -> String) -> Vec<Value> {
    let packet = packet(request);
    let begins =
        |line: &&str| line.starts_with("file \"") && !line.contains("app.py") && !line.contains(".toml");
    let mut lines = packet.lines().skip_while(|line| !begins(line));
    let file = lines.next().unwrap().split('"').nth(1).unwrap().to_owned();
    let texts = lines.skip(1).map_while(|line| line.split_once(" + | ").map(|(_, text)| text.to_owned()));
    (1..)
        .zip(texts)
        .map(|(line, text)| model_finding("review-security/injection", &file, line, &quote(&text)))
        .collect()
}

#[test]
fn what_a_budget_does_not_allow_is_not_asked() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let limits = ["[budget]\nmax-tokens = 1000\n", "[budget]\nmax-cost-micro-usd = 10\n"];
    for limit in limits {
        // As docs/policy.md has it: in strict mode the review stops the run, in best effort its overflow decides.
        for (mode, settings, exit, status, warnings) in [
            ("strict", "", 3, "failed", json!([])),
            ("strict", REQUIRED, 3, "failed", json!([])),
            ("best_effort", REQUIRED, 3, "failed", json!([])),
            ("best_effort", "", 3, "failed", json!([])),
            ("best_effort", "overflow = \"stop\"", 3, "failed", json!([])),
            ("best_effort", "overflow = \"skip\"", 0, "skipped", json!([])),
            ("best_effort", "overflow = \"escalate\"", 0, "skipped", json!(["BUDGET_ESCALATED"])),
        ] {
            let reviewing = reviewing(CHAT, &server.url(), settings);
            let repo = repository(&format!("mode = \"{mode}\"\n{limit}{reviewing}"), &[("app.py", FAULT)]);
            let outcome = run(&repo).run().expect(exit);
            let result = result(&only(&repo));
            assert_eq!(result["errorCodes"], json!(["BUDGET_RUN_EXCEEDED"]), "{limit} {mode} {settings}");
            assert_eq!((&result["status"], &result["warningCodes"]), (&json!(status), &warnings));
            let is_escalated = outcome.text().contains("BUDGET_ESCALATED");
            assert_eq!(is_escalated, warnings != json!([]), "{}", outcome.text());
            only(&repo).verify().run().expect(0);
        }
    }
    let repo = faulty(CHAT, &server, &format!("{REQUIRED}\nmax-input-tokens = 1000"));
    run(&repo).run().expect(3);
    assert_eq!(result(&only(&repo))["errorCodes"], json!(["CONTEXT_BOUND_EXCEEDED"]));
    assert_eq!(server.requests(), []);
}

#[test]
fn a_large_change_is_asked_about_in_parts_that_follow_from_the_change_alone() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let text: String = (0..900).map(|line| format!("value_{line} = {line}\n")).collect();
    let sensitive = text.replace("value_1 =", "password_of_the_session =");
    let names: Vec<String> = (0..10).map(|file| format!("part_{file}.py")).collect();
    let text_of = |name: &str| if name == "part_7.py" { sensitive.as_str() } else { text.as_str() };
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text_of(name))).collect();
    let policy = reviewing(CHAT, &server.url(), REQUIRED);
    let repo = repository(&policy, &files);
    let mut bodies = Vec::new();
    for jobs in ["1", "8"] {
        run(&repo).args(["--jobs", jobs, "--replies", "off", "--refresh"]).run().expect(3);
        let mut asked: Vec<Vec<u8>> = server.requests().into_iter().map(|request| request.body).collect();
        asked.sort();
        bodies.push(asked);
    }
    let first = bodies[0].len();
    assert!(first > 1, "several parts");
    let again: Vec<_> = bodies[1].chunks(2).map(|pair| pair[0].clone()).collect();
    assert_eq!((bodies[1].len(), again), (2 * first, bodies[0].clone()));
    let runs = runs_in(&repo.beside("out"));
    let results = RunDir(runs[0].clone()).json("lens-results.json");
    let over = results["lensResults"].as_array().unwrap().iter();
    let over = over.filter(|result| result["errorCodes"] == json!(["BUDGET_LENS_EXCEEDED"])).count();
    assert!(over > 0, "what the review may read at most is not more");
    // The budget is spent on what is most sensitive.
    let plans = RunDir(runs[0].clone()).json("lens-plan.json");
    let is_first = |part: &&Value| part["subLensId"] == "part-001";
    let first = plans["lensPlans"].as_array().unwrap().iter().find(is_first).unwrap();
    assert!(first["changedFiles"].as_array().unwrap().contains(&json!("part_7.py")), "{first}");
    let first = results["lensResults"].as_array().unwrap().iter().find(is_first).unwrap();
    assert_eq!(first["status"], "completed");
}

#[test]
fn a_setting_that_means_nothing_is_an_error_of_the_policy() {
    let model = crate::support::answers::policy(CHAT, "http://127.0.0.1:9", "");
    for (lens, words) in [
        ("[lenses.review-security]\nmodel = \"reviev\"", "there is no [models.reviev]"),
        ("[lenses.review-security]\nenabled = true", "names no `model`"),
        ("[lenses.review-security]\nrequired = true", "names no `model`"),
        ("[lenses.secret-token]\nenabled = false", "is disabled and required, so no change could pass"),
        ("[lenses.secret-token]\noverflow = \"stop\"", "asks no model, so `overflow` means nothing there"),
        ("[lenses.review-security]\noverflow = \"skip\"", "cannot act: mode `strict` needs every review"),
        (
            "[lenses.review-security]\nrequired = true\noverflow = \"escalate\"",
            "cannot act: a required review that does not fit ends the run",
        ),
        ("[lenses.review-security]\nmodel = \"review\"\nsamples = 10", "samples of `review-security` is 10"),
        ("[lenses.review-security]\nmodel = \"review\"\nagree = 2", "agree of `review-security` is 2"),
        ("[lenses.review-consistency]\nmodel = \"review\"", "[consistency] names none"),
        ("[lenses.secret-token]\nmodel = \"review\"", "asks no model"),
        ("[lenses.secret-token]\ncanary = true", "asks no model"),
    ] {
        let repo = repository(&format!("{lens}\n{model}"), &[("app.py", FAULT)]);
        let outcome = run(&repo).run().expect(2);
        assert!(
            outcome.stderr.contains(words) && outcome.stderr.contains("POLICY_INVALID"),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn secrets_of_a_change_do_not_leave_the_machine() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let token = crate::support::token();
    let text = format!("{FAULT}token = \"{token}\"\n");
    let repo = repository(&reviewing(CHAT, &server.url(), REQUIRED), &[("app.py", &text)]);
    run(&repo).run().expect(1);
    let sent = packet(&server.requests()[0]);
    assert!(sent.contains("token = \"ghp_***") && !sent.contains(&token), "{sent}");
}

/// Commits files on top of the change, as a push does.
fn push(repo: &Repo, policy: &str, files: &[(&str, &str)]) {
    let mut all = vec![(".qa-skill/policy.toml", policy)];
    all.extend_from_slice(files);
    let parent = repo.git.revparse_single("topic^{commit}").unwrap().id();
    let commit = repo.commit(repo.tree(&Files::from_texts(&all)), &[parent]);
    repo.git.reference("refs/heads/topic", commit, true, "").unwrap();
}

/// The findings of the newest of some runs with whether they block and their codes.
fn newest(repo: &Repo) -> Vec<(String, bool, Value)> {
    let head = repo.git.revparse_single("topic^{commit}").unwrap().id().to_string();
    let runs = runs_in(&repo.beside("out")).into_iter().map(RunDir);
    let run = runs.into_iter().find(|run| run.json("change-set.json")["headSha"] == head).unwrap();
    run.verify().run().expect(0);
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    let found = result(&run)["findings"].as_array().unwrap().clone();
    let shown = |found: &Value| {
        let place = format!("{}:{}", found["file"].as_str().unwrap(), found["startLine"]);
        (place, found["blocking"].as_bool().unwrap(), found["codes"].clone())
    };
    found.iter().map(shown).collect()
}

/// A pull request with a policy that blocks, and what the model says of it next.
struct Pushed {
    repo: Repo,
    policy: String,
    says: Arc<Mutex<Vec<Value>>>,
    _server: Server,
}

impl Pushed {
    fn new(first: &[Value]) -> Self {
        let says = Arc::new(Mutex::new(first.to_vec()));
        let said = Arc::clone(&says);
        let server = Server::start(move |_| findings(CHAT, &said.lock().unwrap()));
        let policy = reviewing(CHAT, &server.url(), &format!("{REQUIRED}\n{BLOCK}"));
        let repo = repository(&policy, &[("app.py", FAULT)]);
        Self { repo, policy, says, _server: server }
    }

    fn judge(&self) -> Outcome {
        run(&self.repo).args(["--pull-request", "7"]).run()
    }

    /// Pushes files, and what is said of them.
    fn push(&self, files: &[(&str, &str)], says: &[Value]) -> Vec<(String, bool, Value)> {
        push(&self.repo, &self.policy, files);
        *says_of(self) = says.to_vec();
        self.judge();
        newest(&self.repo)
    }
}

fn says_of(pushed: &Pushed) -> std::sync::MutexGuard<'_, Vec<Value>> {
    pushed.says.lock().unwrap()
}

const FURTHER: (&str, &str) = ("b.py", "b = 1\n");

#[test]
fn what_is_said_late_of_an_unchanged_file_does_not_block() {
    let late = |line: u64| vec![(format!("app.py:{line}"), false, json!(["REVIEW_LATE"]))];
    let blocks = |line: u64| vec![(format!("app.py:{line}"), true, json!([]))];
    let pushed = Pushed::new(&[]);
    pushed.judge().expect(0);
    assert_eq!(pushed.push(&[("app.py", FAULT), FURTHER], &[said_at(5)]), late(5));
    // It stays late, however often it is said.
    let next = ("b.py", "b = 2\n");
    assert_eq!(pushed.push(&[("app.py", FAULT), next], &[said_at(5)]), late(5));
    // And in a run that is made again with the same answers.
    pushed.judge().expect(0);
    // What stands beside the lines is another thing now: what is said of them is said in time.
    let moved = format!("# A line above.\n{FAULT}");
    assert_eq!(pushed.push(&[("app.py", &moved), next], &[said_at(6)]), blocks(6));
    // Another pull request, no pull request, and somebody with another key know nothing of it.
    for (arguments, key) in
        [(["--pull-request", "8"], KEY), (["--pull-request", "7"], "another-key-27182818284")]
    {
        let pushed = Pushed::new(&[]);
        pushed.judge().expect(0);
        push(&pushed.repo, &pushed.policy, &[("app.py", FAULT), FURTHER]);
        *says_of(&pushed) = vec![said_at(5)];
        run(&pushed.repo).args(arguments).env("OPENAI_API_KEY", key).run().expect(1);
        run(&pushed.repo).run().expect(1);
    }
    // Where something was quoted badly nobody knows what was meant.
    let mut invented = said_at(5);
    invented["evidenceQuote"] = "os.system(name)".into();
    let mut proven = said_at(1);
    proven["evidenceQuote"] = "import db".into();
    let pushed = Pushed::new(&[invented]);
    pushed.judge().expect(3);
    assert_eq!(pushed.push(&[("app.py", FAULT), FURTHER], &[said_at(5)]), blocks(5));
}

#[test]
fn what_was_found_stays_while_its_hunk_does() {
    let blocks = |line: u64| vec![(format!("app.py:{line}"), true, json!([]))];
    let pushed = Pushed::new(&[said_at(5)]);
    pushed.judge().expect(1);
    let moved = format!("# A line above.\n{FAULT}");
    for (number, says) in [vec![], vec![said_at(6)], vec![]].iter().enumerate() {
        let text = format!("b = {number}\n");
        assert_eq!(pushed.push(&[("app.py", &moved), ("b.py", &text)], says), blocks(6));
        // The same head again, from what was kept and asked anew: it does not go by trying twice.
        pushed.judge().expect(1);
        run(&pushed.repo).args(["--pull-request", "7", "--replies", "record"]).run().expect(1);
    }
    // The lines changed: what is said now counts alone.
    assert_eq!(pushed.push(&[("app.py", &FAULT.replace("name +", "safe(name) +")), FURTHER], &[]), []);
}

fn said_at(line: u64) -> Value {
    model_finding("review-security/injection", "app.py", line, QUOTE)
}

#[test]
fn a_pull_request_pays_for_all_its_runs_together() {
    let server = Server::start(|_| findings(CHAT, &[]));
    // An answer costs 2,800 millionths, and the bound of one is far higher.
    let policy = format!(
        "[budget]\nmax-pull-request-cost-micro-usd = 140000\n{}",
        reviewing(CHAT, &server.url(), REQUIRED)
    );
    let repo = repository(&policy, &[("app.py", FAULT)]);
    let ask = |number: &str| run(&repo).args(["--pull-request", number]).run();
    ask("7").expect(0);
    // What is kept costs nothing, however often it is looked at.
    ask("7").expect(0);
    let mut asked = 1;
    let refused = (2..30).find(|turn| {
        push(&repo, &policy, &[("app.py", &format!("{FAULT}# {turn}\n"))]);
        let exit = ask("7").exit;
        asked += usize::from(exit == 0);
        exit == 3
    });
    assert!(refused.is_some_and(|turn| turn > 2), "{refused:?}");
    assert_eq!(server.requests().len(), asked);
    assert_eq!(newest_codes(&repo), json!(["BUDGET_PULL_REQUEST_EXCEEDED"]));
    ask("8").expect(0);
}

/// The codes of the review in the run of head.
fn newest_codes(repo: &Repo) -> Value {
    let head = repo.git.revparse_single("topic^{commit}").unwrap().id().to_string();
    let runs = runs_in(&repo.beside("out")).into_iter().map(RunDir);
    let run = runs.into_iter().find(|run| run.json("change-set.json")["headSha"] == head).unwrap();
    result(&run)["errorCodes"].clone()
}

#[test]
fn what_reviews_may_cost_is_told_before_anything_is_asked() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let repo = faulty(CHAT, &server, "samples = 2");
    let plan = |more: &str| {
        let program = qa_skill(["plan", "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
        program.args([more]).run().expect(0).text()
    };
    let text = plan("--cost");
    let row = text.lines().find(|line| line.starts_with("review-security")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!((words[1], words[2], words[4], words[6]), ("review", "2", "16000", "reserved"), "{text}");
    assert!(text.contains("at most 0.1") && text.contains(" of 12 USD"), "{text}");
    let bound = run(&repo).run().expect(0).stderr;
    assert!(
        bound.contains(&format!("sending at most 2 requests to models: about {} tokens in", words[3])),
        "{bound}"
    );
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn the_worst_that_is_said_of_a_place_counts() {
    let milder = |severity: &str| {
        let mut said = finding();
        said["severity"] = severity.into();
        said
    };
    let by_severity = "blocking-policy = \"severity_threshold\"\nblocking-threshold = \"high\"\n";
    for answers in [[milder("info"), milder("critical")], [milder("critical"), milder("info")]] {
        // Two answers, and two findings of one answer.
        let (turns, turn) = (answers.clone(), std::sync::atomic::AtomicUsize::new(0));
        let one_each = Server::start(move |_| {
            let turn = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            findings(CHAT, std::slice::from_ref(&turns[turn]))
        });
        let both = Server::start(move |_| findings(CHAT, &answers));
        for (server, samples) in [(&one_each, 2), (&both, 1)] {
            let policy = reviewing(CHAT, &server.url(), &format!("{REQUIRED}\nsamples = {samples}"));
            let repo = repository(&format!("{by_severity}{policy}"), &[("app.py", FAULT)]);
            run(&repo).args(["--jobs", "1"]).run().expect(1);
        }
    }
}

#[test]
fn what_a_model_was_not_shown_is_not_reviewed() {
    let server = Server::start(|_| findings(CHAT, &[]));
    // A line of any length is shown whole, and what a page calls a comment may be code.
    let long = format!("x = \"{}\"; run(name)\n", "a".repeat(5000));
    let page = "<script>var a = \"<!--\"; run(name)</script>\n";
    let policy = reviewing(CHAT, &server.url(), REQUIRED);
    let repo =
        repository(&policy, &[("app.py", &long), ("page.html", page), ("note.md", "a <!-- hidden -->\n")]);
    run(&repo).run().expect(0);
    let sent = packet(&server.requests()[0]);
    assert!(sent.contains("a\"; run(name)") && sent.contains("\"<!--\"; run(name)"), "{sent}");
    assert!(sent.contains("a [comment removed]"), "{sent}");
    assert_eq!(result(&only(&repo))["warningCodes"], json!(["REVIEW_TEXT_CLEANED"]));
    // A file that is too large to be read, whatever the other lenses say.
    let policy = format!("[limits]\nmax-blob-bytes = 1000\n{policy}");
    let repo = repository(&policy, &[("app.py", &long)]);
    run(&repo).args(["--lens", "review-security"]).run().expect(3);
    assert_eq!(result(&only(&repo))["errorCodes"], json!(["BLOB_TOO_LARGE"]));
    // A new name that nobody would look at does not take what it hides along.
    let policy = reviewing(CHAT, &server.url(), REQUIRED);
    let repo = change(
        &[(".qa-skill/policy.toml", &policy), ("app.py", &FAULT.repeat(4))],
        &[(".qa-skill/policy.toml", &policy), ("vendor/app.py", &format!("{}run(name)\n", FAULT.repeat(4)))],
    );
    let before = server.requests().len();
    run(&repo).run();
    assert!(packet(&server.requests()[before]).contains("vendor/app.py"));
}

#[test]
fn a_record_that_is_not_of_its_plans_is_refused_and_a_shard_asks_nothing() {
    let server = Server::start(|_| findings(CHAT, &[finding()]));
    let repo = faulty(CHAT, &server, &format!("{REQUIRED}\n{BLOCK}"));
    for shard in ["1/2", "2/2"] {
        run(&repo).args(["--shard", shard]).run().expect(0);
    }
    let parts = repo.beside("out").join("parts");
    assert_eq!(server.requests().len(), 0);
    let aggregate = qa_skill(["aggregate", "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
    let joined = repo.beside("joined");
    let aggregate = aggregate.arg("--out").arg(&joined).arg("--parts").arg(&parts);
    aggregate.env("OPENAI_API_KEY", KEY).run().expect(1);
    run(&repo).run().expect(1);
    let (whole, joined) = (only(&repo), RunDir::only(&joined));
    let of = |run: &RunDir, file: &str| run.digests()[file].clone();
    for file in ["lens-results.json", "final-verdict.json", "recordings/replies.json"] {
        assert_eq!(of(&whole, file), of(&joined, file), "{file}");
    }
    type Change = fn(&mut Value);
    let changes: [(&str, Change); 5] = [
        ("another answer", |replies| {
            let body = answer(CHAT, "{\"findings\":[]}").to_string();
            replies["replies"][0]["response"]["body"] = body.into();
        }),
        ("none", |replies| replies["replies"] = json!([])),
        ("twice", |replies| {
            let one = replies["replies"][0].clone();
            replies["replies"].as_array_mut().unwrap().push(one);
        }),
        ("of another request", |replies| replies["replies"][0]["requestHash"] = "0".repeat(64).into()),
        ("another body", |replies| replies["replies"][0]["requestBodySha256"] = "0".repeat(64).into()),
    ];
    for (index, (name, change)) in changes.into_iter().enumerate() {
        let forged = whole.copy_to(&repo.beside(&format!("forged-{index}")));
        let mut replies = forged.json("recordings/replies.json");
        change(&mut replies);
        write_json(&forged, "recordings/replies.json", &replies);
        repair(&forged, false);
        let outcome = forged.verify().run();
        assert!([3, 4].contains(&outcome.exit), "{name}: {} {}", outcome.exit, outcome.stderr);
    }
}
