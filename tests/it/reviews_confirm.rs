//! Findings of a model that would block are put to a second one: two answers in a row decide, and without one they block.

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, answer};
use crate::support::confirming::{BLOCK, Models, answered, claims, confirming, surface, verdicts};
use crate::support::reviews::{
    FAULT, KEY, QUOTE, finding, findings, has_no_key, model_finding, only, packet, repository, result, run,
};
use crate::support::server::Request;
use crate::support::{Repo, Response, RunDir, Server, copy_tree, qa_skill, runs_in};

const REQUIRED: &str = "required = true";

/// The only confirmation of a run: its outcome, and what each round says.
fn confirmation(run: &RunDir) -> (Value, Vec<Value>) {
    let result = result(run);
    let all = result["review"]["confirmations"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{result}");
    assert_eq!(
        (&all[0]["ruleId"], &all[0]["file"], &all[0]["line"]),
        (&json!("review-security/injection"), &json!("app.py"), &json!(5))
    );
    let rounds = all[0]["rounds"].as_array().unwrap();
    (all[0]["outcome"].clone(), rounds.iter().map(|round| round["upheld"].clone()).collect())
}

/// The run is derived again from its recording and from the repository, without any model.
fn verified(repo: &Repo, run: &RunDir) {
    run.verify().run().expect(0);
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
}

#[test]
fn a_finding_that_the_second_model_upholds_blocks() {
    let models = Models::new("upheld", "rejected");
    let repo = models.faulty(REQUIRED);
    let outcome = run(&repo).run().expect(1);
    assert_eq!(models.asked(), ["review", "second"]);
    let directory = only(&repo);
    assert_eq!(confirmation(&directory), (json!("upheld"), vec![json!(true)]));
    let result = result(&directory);
    let found = &result["findings"][0];
    assert_eq!((&found["blocking"], &found["codes"]), (&json!(true), &json!([])));
    let summary = found["summary"].as_str().unwrap();
    assert!(summary.ends_with("(upheld by second: By the file it is upheld.)"), "{summary}");
    // Both models are paid for, and both stand in the key.
    assert_eq!(
        (&result["usage"]["inputTokens"], &result["usage"]["outputTokens"]),
        (&json!(2000), &json!(200))
    );
    let plans = directory.json("lens-plan.json").to_string();
    assert!(plans.contains("\"confirmBindingId\":\"second\""), "{plans}");
    has_no_key(&outcome, &repo.beside("out"));
    verified(&repo, &directory);
}

#[test]
fn a_finding_that_both_models_reject_advises() {
    let models = Models::new("rejected", "rejected");
    let repo = models.faulty(REQUIRED);
    let outcome = run(&repo).run().expect(0);
    assert_eq!(models.asked(), ["review", "second", "own"]);
    let directory = only(&repo);
    assert_eq!(confirmation(&directory), (json!("rejected"), vec![json!(false), json!(false)]));
    let found = &result(&directory)["findings"][0];
    assert_eq!((&found["blocking"], &found["codes"]), (&json!(false), &json!(["REVIEW_REJECTED"])));
    let summary = found["summary"].as_str().unwrap();
    assert!(
        summary.contains("(rejected by second: By the file it is rejected.; rejected by review: "),
        "{summary}"
    );
    assert_eq!(directory.json("final-verdict.json")["warningCodes"], json!(["REVIEW_REJECTED"]));
    assert!(outcome.text().contains("rejected by second"), "{}", outcome.text());
    verified(&repo, &directory);
    // Without a second model it blocks.
    let policy = confirming(&models.server.url(), REQUIRED).replace("confirm-model = \"second\"\n", "");
    let repo = repository(&policy, &[("app.py", FAULT)]);
    run(&repo).run().expect(1);
    assert_eq!(result(&only(&repo))["review"]["confirmations"], json!([]));
}

#[test]
fn a_finding_that_the_reviews_own_model_upholds_again_is_unstable() {
    let models = Models::new("rejected", "upheld");
    let repo = models.faulty(REQUIRED);
    let outcome = run(&repo).run().expect(0);
    assert_eq!(models.asked(), ["review", "second", "own"]);
    let directory = only(&repo);
    assert_eq!(confirmation(&directory), (json!("unstable"), vec![json!(false), json!(true)]));
    let found = &result(&directory)["findings"][0];
    assert_eq!((&found["blocking"], &found["codes"]), (&json!(false), &json!(["REVIEW_UNSTABLE"])));
    assert_eq!(directory.json("final-verdict.json")["warningCodes"], json!(["REVIEW_UNSTABLE"]));
    assert!(outcome.text().contains("upheld by review"), "{}", outcome.text());
    verified(&repo, &directory);
}

#[test]
fn the_question_is_the_finding_and_its_file_and_nothing_else() {
    let models = Models::new("rejected", "rejected");
    let policy = confirming(&models.server.url(), REQUIRED);
    let repo = repository(&policy, &[("app.py", FAULT), ("other.py", "unrelated = 1\n")]);
    run(&repo).run().expect(0);
    let [review, second, own]: [Request; 3] = models.server.requests().try_into().unwrap();
    assert!(packet(&review).contains("unrelated"));
    for (request, model) in [(&second, "claude-opus-5-5"), (&own, "gpt-4.1-2025-04-14")] {
        let (text, body) = (packet(request), request.json());
        assert_eq!(body["model"], model);
        assert!(text.contains("    5 + |") && text.contains("file \"app.py\" line 5\n"), "{text}");
        assert!(!text.contains("unrelated") && !text.contains("other.py"), "{text}");
        let whole = body.to_string();
        assert!(
            whole.contains("An added line") || whole.contains("`review-security/injection`: "),
            "{whole}"
        );
        assert!(!whole.contains("weak-cryptography") && !whole.contains("(1 of 1"), "{whole}");
        let own = claims(request).into_iter().find(|claim| claim.file == "app.py").unwrap();
        assert_eq!(
            (own.text.as_str(), own.says.as_str()),
            (QUOTE, "The name becomes part of the statement.")
        );
    }
    let labels = |request: &Request| claims(request).into_iter().map(|claim| claim.label).collect::<Vec<_>>();
    assert!(labels(&second).iter().all(|label| !labels(&own).contains(label)), "no answer fits both rounds");
}

/// An answer to a request to confirm a finding, with the code that it comes to.
type Broken = (fn(&Request) -> Response, &'static str);

fn with_member(request: &Request, name: &str, value: &Value) -> Response {
    let mut all = verdicts(request, "rejected");
    all.iter_mut().for_each(|verdict| verdict[name] = value.clone());
    answered(request, &all)
}

const BROKEN: &[Broken] = &[
    (|_| Response::json(500, &json!({})).header("x-should-retry", "false"), "PROVIDER_UNAVAILABLE"),
    (|_| Response::json(504, &json!({})).header("x-should-retry", "false"), "PROVIDER_TIMEOUT"),
    (|_| Response::json(401, &json!({})), "PROVIDER_AUTH_ERROR"),
    (|request| Response::json(200, &answer(surface(request), "rejected")), "PROVIDER_OUTPUT_INVALID"),
    (
        |request| Response::json(200, &answer(surface(request), "{\"findings\":[]}")),
        "PROVIDER_OUTPUT_INVALID",
    ),
    (|request| answered(request, &[]), "PROVIDER_OUTPUT_INVALID"),
    (|request| with_member(request, "more", &json!(1)), "PROVIDER_OUTPUT_INVALID"),
    (|request| with_member(request, "verdict", &json!("unsure")), "PROVIDER_OUTPUT_INVALID"),
    (|request| with_member(request, "reason", &json!(" ")), "PROVIDER_OUTPUT_INVALID"),
    (|request| with_member(request, "claim", &json!("00000000")), "PROVIDER_OUTPUT_INVALID"),
    // The planted claim alone, and the claim alone.
    (|request| answered(request, &verdicts(request, "rejected")[..1]), "PROVIDER_OUTPUT_INVALID"),
    (|request| answered(request, &verdicts(request, "rejected")[1..]), "PROVIDER_OUTPUT_INVALID"),
    // Everything is rejected, the planted claim too.
    (|request| with_member(request, "verdict", &json!("rejected")), "REVIEW_CANARY_MISSED"),
    (|request| with_member(request, "evidenceQuote", &json!(QUOTE)), "REVIEW_CANARY_MISSED"),
    (unproven, "EVIDENCE_UNVERIFIED"),
    (
        |request| {
            let mut refused = answer(surface(request), "");
            match surface(request) {
                MESSAGES => refused["stop_reason"] = "refusal".into(),
                _ => refused["choices"][0]["message"]["refusal"] = "no".into(),
            }
            Response::json(200, &refused)
        },
        "PROVIDER_REFUSAL",
    ),
    (
        |request| {
            let mut other =
                answer(surface(request), &json!({"verdicts": verdicts(request, "rejected")}).to_string());
            other["model"] = "another-model".into();
            Response::json(200, &other)
        },
        "PROVIDER_OUTPUT_INVALID",
    ),
];

/// A rejection that quotes what is not in the file.
fn unproven(request: &Request) -> Response {
    let mut all = verdicts(request, "rejected");
    for verdict in &mut all {
        if verdict["verdict"] == "rejected" {
            verdict["evidenceQuote"] = "name = escaped(name)".into();
        }
    }
    answered(request, &all)
}

#[test]
fn without_a_valid_answer_a_finding_blocks() {
    for (number, (broken, code)) in BROKEN.iter().enumerate() {
        // The second model fails, or rejects and the review's own fails.
        for (failing, rounds) in [(MESSAGES, vec![Value::Null]), (CHAT, vec![json!(false), Value::Null])] {
            let server = Server::start(move |request| match claims(request).is_empty() {
                true => findings(CHAT, &[finding()]),
                false if surface(request) == failing => broken(request),
                false => answered(request, &verdicts(request, "rejected")),
            });
            let repo = repository(&confirming(&server.url(), REQUIRED), &[("app.py", FAULT)]);
            let outcome = run(&repo).run().expect(1);
            let directory = only(&repo);
            assert_eq!(confirmation(&directory), (json!("unanswered"), rounds), "{number} {code}");
            let result = result(&directory);
            let last = result["review"]["confirmations"][0]["rounds"].as_array().unwrap().last().unwrap();
            assert_eq!(last["code"], *code, "{number}");
            assert_eq!(result["findings"][0]["blocking"], true);
            let warnings = directory.json("final-verdict.json")["warningCodes"].to_string();
            assert!(warnings.contains("REVIEW_NOT_CONFIRMED"), "{warnings}");
            assert!(outcome.text().contains(code), "{}", outcome.text());
            verified(&repo, &directory);
        }
    }
}

#[test]
fn without_a_key_for_the_second_model_a_finding_blocks() {
    let models = Models::new("rejected", "rejected");
    let repo = models.faulty(REQUIRED);
    repo.judge().env("OPENAI_API_KEY", KEY).run().expect(1);
    assert_eq!(models.asked(), ["review"]);
    let rounds = &result(&only(&repo))["review"]["confirmations"][0]["rounds"];
    assert_eq!(rounds[0]["code"], "PROVIDER_AUTH_ERROR");
    verified(&repo, &only(&repo));
    // Without any model there is no finding and nothing to confirm.
    let repo = models.faulty(REQUIRED);
    run(&repo).arg("--no-model").run().expect(3);
    assert_eq!(models.asked(), ["review"]);
    assert_eq!(result(&only(&repo))["review"]["confirmations"], json!([]));
}

#[test]
fn a_finding_that_would_not_block_is_not_asked_about() {
    let models = Models::new("upheld", "upheld");
    // By its rule, by too few answers, and by a quote that is not there.
    let policy = confirming(&models.server.url(), REQUIRED);
    let repo = repository(&policy.replace(BLOCK, ""), &[("app.py", FAULT)]);
    run(&repo).run().expect(0);
    assert_eq!(models.asked(), ["review"]);
    let invented = model_finding("review-security/injection", "app.py", 5, "os.system(name)");
    *models.finds.lock().unwrap() = vec![invented];
    let repo = models.faulty(REQUIRED);
    run(&repo).run().expect(3);
    assert_eq!(models.asked(), ["review", "review"]);
    // A waiver of the base is asked before a model is.
    *models.finds.lock().unwrap() = vec![finding()];
    let repo = models.faulty(REQUIRED);
    run(&repo).run().expect(1);
    let hash = result(&only(&repo))["findings"][0]["evidenceHash"].as_str().unwrap().to_owned();
    let waivers = format!(
        "[[waiver]]\nrule = \"review-security/injection\"\nevidence-hash = \"{hash}\"\nowner = \"a\"\nreason = \"b\"\nexpires = \"2099-12-31\"\n"
    );
    let both = [(".qa-skill/policy.toml", policy.as_str()), (".qa-skill/waivers.toml", waivers.as_str())];
    let base = [&both[..], &[("app.py", "import db\n\n\ndef find(name):\n    pass\n")]].concat();
    let waived = crate::support::change(&base, &[&both[..], &[("app.py", FAULT)]].concat());
    let before = models.asked().len();
    run(&waived).run().expect(0);
    assert_eq!(models.asked()[before..], ["review"]);
}

#[test]
fn findings_over_the_bound_and_over_the_budget_block_unasked() {
    let lines: String = (0..12).map(|line| format!("run_{line}(\"select \" + name)\n")).collect();
    let quote = |line: u64| format!("run_{line}(\"select \" + name)");
    let rule =
        |line: u64| ["review-security/injection", "review-security/path-traversal"][(line % 2) as usize];
    let all: Vec<Value> =
        (0..12).map(|line| model_finding(rule(line), "lib/queries.py", 1 + line, &quote(line))).collect();
    let second_rule = BLOCK.replace("injection", "path-traversal");
    for (budget, asked) in [("[budget]\nmax-tokens = 1000000\n", 10), ("[budget]\nmax-tokens = 52000\n", 1)] {
        let models = Models::new("rejected", "rejected");
        models.finds.lock().unwrap().clone_from(&all);
        let policy = format!("{budget}{}{second_rule}", confirming(&models.server.url(), REQUIRED));
        let repo = repository(&policy, &[("lib/queries.py", &lines)]);
        run(&repo).run().expect(1);
        let count = |kind: &str| models.asked().iter().filter(|asked| **asked == kind).count();
        assert_eq!((count("review"), count("second"), count("own")), (1, asked, asked), "{budget}");
        let result = result(&only(&repo));
        let findings = result["findings"].as_array().unwrap();
        let blocking: Vec<&Value> = findings.iter().filter(|found| found["blocking"] == true).collect();
        assert_eq!((findings.len(), blocking.len()), (12, 12 - asked));
        assert!(blocking.iter().all(|found| found["summary"].as_str().unwrap().contains("(not confirmed: ")));
        assert!(result["warningCodes"].to_string().contains("REVIEW_NOT_CONFIRMED"));
        verified(&repo, &only(&repo));
    }
}

#[test]
fn stored_answers_are_replayed_and_a_failure_is_not_stored() {
    let models = Models::new("rejected", "unsure");
    let repo = models.faulty(REQUIRED);
    run(&repo).run().expect(1);
    // What was no answer is asked for again, and nothing else is.
    models.words.lock().unwrap().own = "rejected".to_owned();
    run(&repo).run().expect(0);
    assert_eq!(models.asked(), ["review", "second", "own", "own"]);
    let runs: Vec<RunDir> = runs_in(&repo.beside("out")).into_iter().map(RunDir).collect();
    let live = runs.iter().find(|run| run.json("final-verdict.json")["status"] == "PASS").unwrap();
    let out = repo.beside("again");
    copy_tree(&repo.beside("out").join("replies"), &out.join("replies"));
    let replay = |exit: i32| {
        let replay =
            qa_skill(["run", "--base", "main", "--head", "topic", "--replies", "replay", "--refresh"]);
        replay.arg("--repo").arg(repo.path()).arg("--out").arg(&out).run().expect(exit);
    };
    replay(0);
    assert_eq!(RunDir::only(&out).digests(), live.digests());
    // A round that is not stored is not asked for, and the finding blocks.
    let hash = result(live)["review"]["confirmations"][0]["rounds"][1]["requestHash"].clone();
    std::fs::remove_file(out.join(format!("replies/{}-1.json", hash.as_str().unwrap()))).unwrap();
    replay(1);
    assert_eq!(models.asked().len(), 4);
}
