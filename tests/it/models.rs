//! Models: what is sent, what every kind of answer comes to, and where a key never goes.

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, RESPONSES, SURFACES, answer, policy};
use crate::support::server::{Request, Spoilt};
use crate::support::{Outcome, Program, Repo, Response, Server, change, qa_skill};

const KEY: &str = "local-key-of-a-test-27182818";
/// A repository whose base has a policy; head has another one, if there is one.
fn repository(base: &str, head: Option<&str>) -> Repo {
    let path = ".qa-skill/policy.toml";
    change(&[(path, base), ("a.py", "a = 1\n")], &[(path, head.unwrap_or(base)), ("a.py", "a = 2\n")])
}

fn doctor(repo: &Repo) -> Program {
    qa_skill(["doctor", "--base", "main", "--repo"])
        .arg(repo.path())
        .env("OPENAI_API_KEY", KEY)
        .env("ANTHROPIC_API_KEY", KEY)
}

/// Asks with a policy for the server; the key is nowhere in what is said.
fn asked(surface: &str, server: &Server, more: &str) -> Outcome {
    let outcome = doctor(&repository(&policy(surface, &server.url(), more), None)).run();
    for said in [outcome.text(), outcome.stderr.clone()] {
        assert!(!said.contains(KEY), "{said}");
    }
    outcome
}

fn right(surface: &str) -> Response {
    Response::json(200, &answer(surface, "{\"sum\": 42}"))
}

/// A pointer into an answer, and what stands there instead.
fn with(surface: &str, at: &str, value: Value) -> Response {
    let mut body = answer(surface, "{\"sum\": 42}");
    *body.pointer_mut(at).unwrap_or_else(|| panic!("{surface} has no {at}")) = value;
    Response::json(200, &body)
}

/// What a thousand tokens in and a hundred out cost, by the makers' lists: 2 and 8 USD, and 4 and 20 USD a million.
fn cost(surface: &str) -> &'static str {
    if surface == MESSAGES { "0.006" } else { "0.0028" }
}

#[test]
fn each_dialect_is_asked_and_understood() {
    for surface in SURFACES {
        let server = Server::start(move |_| right(surface));
        let outcome = asked(surface, &server, "").expect(0);
        let text = outcome.text();
        assert!(text.contains("the reply is correct"), "{text}");
        assert!(text.contains(&format!("1000 tokens in, 100 out, {} USD", cost(surface))), "{text}");
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        let Request { method, target, headers, body } = &requests[0];
        let path = match surface {
            CHAT => "/v1/chat/completions",
            RESPONSES => "/v1/responses",
            _ => "/v1/messages",
        };
        assert_eq!((method.as_str(), target.as_str()), ("POST", path));
        let names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let own = ["accept", "authorization", "content-length", "content-type", "host", "user-agent"];
        let version = (surface == MESSAGES).then_some("anthropic-version");
        let mut expected: Vec<&str> = own.into_iter().chain(version).collect();
        expected.sort_unstable();
        let mut sorted = names.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, expected);
        assert_eq!(requests[0].header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        let shown = text.lines().find_map(|line| line.trim().strip_prefix("body ")).unwrap().trim();
        assert_eq!(shown.as_bytes(), body, "what is shown is what is sent");
    }
}

#[test]
fn a_hundred_runs_would_send_the_same_bytes() {
    for surface in SURFACES {
        let repo = repository(&policy(surface, "http://127.0.0.1:9", ""), None);
        let shown = |zone: &str| doctor(&repo).args(["--dry-run"]).env("TZ", zone).run().expect(0).text();
        let first = shown("UTC");
        assert!(first.contains("  body       {\""), "{first}");
        for index in 1..34 {
            assert_eq!(shown(if index % 2 == 0 { "Asia/Tokyo" } else { "UTC" }), first);
        }
    }
}

/// Status, headers, body, and what it comes to after how many attempts.
type Row = (u16, &'static [(&'static str, &'static str)], Value, &'static str, usize);

#[test]
fn every_status_has_its_code_and_only_what_may_pass_is_asked_again() {
    let openai = |word: &str| json!({"error": {"message": "no", "type": word, "param": null, "code": word}});
    let anthropic =
        |word: &str| json!({"type": "error", "error": {"type": word, "message": "no"}, "request_id": "r"});
    let again: &[(&str, &str)] = &[("x-should-retry", "true")];
    let never: &[(&str, &str)] = &[("x-should-retry", "false")];
    let rows: Vec<(&str, Row)> = vec![
        (RESPONSES, (400, &[], openai("invalid_request_error"), "PROVIDER_REQUEST_REJECTED", 1)),
        (RESPONSES, (400, &[], openai("context_length_exceeded"), "CONTEXT_BOUND_EXCEEDED", 1)),
        (
            CHAT,
            (
                400,
                &[],
                json!({"error": {"code": 400, "type": "exceed_context_size_error", "message": "n_ctx"}}),
                "CONTEXT_BOUND_EXCEEDED",
                1,
            ),
        ),
        (MESSAGES, (400, &[], anthropic("invalid_request_error"), "PROVIDER_REQUEST_REJECTED", 1)),
        (RESPONSES, (401, &[], openai("invalid_api_key"), "PROVIDER_AUTH_ERROR", 1)),
        (MESSAGES, (401, &[], anthropic("authentication_error"), "PROVIDER_AUTH_ERROR", 1)),
        (MESSAGES, (402, &[], anthropic("billing_error"), "PROVIDER_QUOTA_EXHAUSTED", 1)),
        (MESSAGES, (403, &[], anthropic("permission_error"), "PROVIDER_AUTH_ERROR", 1)),
        (RESPONSES, (404, &[], openai("model_not_found"), "PROVIDER_MODEL_UNAVAILABLE", 1)),
        (RESPONSES, (408, &[], openai("timeout"), "PROVIDER_TIMEOUT", 3)),
        (RESPONSES, (409, &[], openai("conflict"), "PROVIDER_UNAVAILABLE", 3)),
        (MESSAGES, (413, &[], anthropic("request_too_large"), "CONTEXT_BOUND_EXCEEDED", 1)),
        (RESPONSES, (422, &[], openai("unprocessable"), "PROVIDER_REQUEST_REJECTED", 1)),
        (RESPONSES, (429, &[], openai("rate_limit_exceeded"), "PROVIDER_RATE_LIMIT", 3)),
        (RESPONSES, (429, &[], openai("insufficient_quota"), "PROVIDER_QUOTA_EXHAUSTED", 1)),
        (RESPONSES, (429, &[("retry-after", "3600")], openai("slow_down"), "PROVIDER_RATE_LIMIT", 1)),
        (RESPONSES, (429, &[("retry-after", "1e300")], openai("slow_down"), "PROVIDER_RATE_LIMIT", 1)),
        (
            RESPONSES,
            (
                429,
                &[("retry-after", "Wed, 21 Oct 2099 07:28:00 GMT")],
                openai("slow_down"),
                "PROVIDER_RATE_LIMIT",
                1,
            ),
        ),
        (RESPONSES, (429, never, openai("slow_down"), "PROVIDER_RATE_LIMIT", 1)),
        (RESPONSES, (500, &[], json!("not what is expected"), "PROVIDER_UNAVAILABLE", 3)),
        (RESPONSES, (503, &[], openai("server_is_overloaded"), "PROVIDER_UNAVAILABLE", 3)),
        (RESPONSES, (504, &[], openai("timeout"), "PROVIDER_TIMEOUT", 3)),
        (MESSAGES, (529, &[], anthropic("overloaded_error"), "PROVIDER_UNAVAILABLE", 3)),
        (RESPONSES, (400, again, openai("invalid_request_error"), "PROVIDER_REQUEST_REJECTED", 3)),
        (RESPONSES, (307, &[("location", "http://127.0.0.1:9/")], json!({}), "PROVIDER_REQUEST_REJECTED", 1)),
    ];
    std::thread::scope(|scope| {
        for (surface, (status, headers, body, code, attempts)) in rows {
            scope.spawn(move || {
                let what = format!("{surface} {status} {headers:?} {body}");
                let server = Server::start(move |_| {
                    let response = Response::json(status, &body);
                    headers.iter().fold(response, |response, (name, value)| response.header(name, *value))
                });
                let outcome = asked(surface, &server, "").expect(3);
                assert!(
                    outcome.text().contains(&format!("result     {code}: ")),
                    "{what}: {}",
                    outcome.text()
                );
                assert_eq!(server.requests().len(), attempts, "{what}");
            });
        }
    });
}

#[test]
fn no_answer_but_a_whole_one_is_one() {
    let policy_refusal = json!({"code": "bio_policy", "message": "no"});
    let failed = |code: &str| json!({"code": code, "message": "no"});
    let refused = json!([{"type": "message", "id": "m", "role": "assistant", "status": "completed",
        "content": [{"type": "refusal", "refusal": "I will not"}]}]);
    let mut rows: Vec<(&str, Response, &str, usize)> = vec![
        (CHAT, with(CHAT, "/choices/0/finish_reason", json!("length")), "PROVIDER_INCOMPLETE", 1),
        (CHAT, with(CHAT, "/choices/0/finish_reason", json!("content_filter")), "PROVIDER_REFUSAL", 1),
        (CHAT, with(CHAT, "/choices/0/finish_reason", json!("tool_calls")), "PROVIDER_OUTPUT_INVALID", 1),
        (CHAT, with(CHAT, "/choices/0/finish_reason", json!("new_reason")), "PROVIDER_OUTPUT_INVALID", 1),
        (CHAT, with(CHAT, "/choices/0/message/refusal", json!("I will not")), "PROVIDER_REFUSAL", 1),
        (CHAT, with(CHAT, "/choices", json!([])), "PROVIDER_OUTPUT_INVALID", 1),
        (MESSAGES, with(MESSAGES, "/stop_reason", json!("max_tokens")), "PROVIDER_INCOMPLETE", 1),
        (
            MESSAGES,
            with(MESSAGES, "/stop_reason", json!("model_context_window_exceeded")),
            "PROVIDER_INCOMPLETE",
            1,
        ),
        (MESSAGES, with(MESSAGES, "/stop_reason", json!("refusal")), "PROVIDER_REFUSAL", 1),
        (MESSAGES, with(MESSAGES, "/stop_reason", json!("pause_turn")), "PROVIDER_OUTPUT_INVALID", 1),
        (MESSAGES, with(MESSAGES, "/stop_reason", json!("new_reason")), "PROVIDER_OUTPUT_INVALID", 1),
        (MESSAGES, with(MESSAGES, "/stop_reason", Value::Null), "PROVIDER_OUTPUT_INVALID", 1),
        (MESSAGES, with(MESSAGES, "/content", json!([])), "PROVIDER_OUTPUT_INVALID", 1),
        (RESPONSES, with(RESPONSES, "/status", json!("queued")), "PROVIDER_OUTPUT_INVALID", 1),
        (RESPONSES, with(RESPONSES, "/output", refused), "PROVIDER_REFUSAL", 1),
        (RESPONSES, with(RESPONSES, "/output", json!([])), "PROVIDER_OUTPUT_INVALID", 1),
    ];
    for (reason, code) in
        [("max_output_tokens", "PROVIDER_INCOMPLETE"), ("content_filter", "PROVIDER_REFUSAL")]
    {
        let mut body = answer(RESPONSES, "{\"sum\": 42}");
        body["status"] = json!("incomplete");
        body["incomplete_details"] = json!({ "reason": reason });
        rows.push((RESPONSES, Response::json(200, &body), code, 1));
    }
    for (error, code, attempts) in [
        (failed("server_error"), "PROVIDER_UNAVAILABLE", 3),
        (failed("rate_limit_exceeded"), "PROVIDER_RATE_LIMIT", 3),
        (policy_refusal, "PROVIDER_REFUSAL", 1),
    ] {
        let mut body = answer(RESPONSES, "{\"sum\": 42}");
        body["status"] = json!("failed");
        body["error"] = error;
        rows.push((RESPONSES, Response::json(200, &body), code, attempts));
    }
    let beside = |surface: &'static str, at: &str, member: &str, value: Value| {
        let mut body = answer(surface, "{\"sum\": 42}");
        body.pointer_mut(at).unwrap()[member] = value;
        (surface, Response::json(200, &body), "PROVIDER_OUTPUT_INVALID", 1)
    };
    let call = json!([{"id": "t", "type": "function", "function": {"name": "a", "arguments": "{}"}}]);
    rows.extend([
        beside(CHAT, "", "error", json!({"code": 502, "message": "no"})),
        beside(CHAT, "/choices/0", "error", json!({"code": 502, "message": "no"})),
        beside(CHAT, "/choices/0/message", "tool_calls", call),
        beside(CHAT, "/choices/0/message", "role", json!("user")),
        beside(RESPONSES, "", "error", json!({"code": "server_error", "message": "no"})),
        beside(RESPONSES, "", "incomplete_details", json!({"reason": "max_output_tokens"})),
        beside(RESPONSES, "/output/1", "status", json!("incomplete")),
    ]);
    let huge = "x".repeat((4 << 20) + 1);
    rows.push((CHAT, Response::new(200, huge.clone()), "PROVIDER_OUTPUT_INVALID", 1));
    rows.push((CHAT, Response::new(503, huge), "PROVIDER_UNAVAILABLE", 3));
    let spent = json!({"error": {"message": "no credits left", "code": 402, "type": "insufficient_quota"}});
    rows.push((CHAT, Response::json(200, &spent), "PROVIDER_QUOTA_EXHAUSTED", 1));
    let spent = json!({"type": "error", "error": {"type": "billing_error", "message": "no"}});
    rows.push((MESSAGES, Response::json(200, &spent), "PROVIDER_QUOTA_EXHAUSTED", 1));
    for surface in SURFACES {
        for text in [
            "The sum is 42.",
            "{\"sum\": \"42\"}",
            "{\"sum\": 42, \"pass\": true}",
            "{\"sum\": 41}",
            "[42]",
            "",
        ] {
            rows.push((surface, Response::json(200, &answer(surface, text)), "PROVIDER_OUTPUT_INVALID", 1));
        }
        for body in ["", "null", "[]", "{", "<html>", "{\"a\":1,\"a\":2}", "\u{0}"] {
            rows.push((surface, Response::new(200, body), "PROVIDER_OUTPUT_INVALID", 1));
        }
        rows.push((surface, right(surface).spoilt(Spoilt::Truncated), "PROVIDER_UNAVAILABLE", 3));
        rows.push((surface, right(surface).spoilt(Spoilt::Reset), "PROVIDER_UNAVAILABLE", 3));
    }
    // A few at a time: each is a repository, a server and a program.
    for few in rows.chunks(8) {
        std::thread::scope(|scope| {
            for (surface, response, code, attempts) in few {
                scope.spawn(move || {
                    let body = String::from_utf8_lossy(&response.body[..response.body.len().min(2000)]);
                    let what = format!("{surface} {} {body}", response.status);
                    let given = response.clone();
                    let server = Server::start(move |_| given.clone());
                    let outcome = asked(surface, &server, "").expect(3);
                    let text = outcome.text();
                    assert!(text.contains(&format!("result     {code}: ")), "{what}: {text}");
                    assert!(!text.contains("the reply is correct"), "{what}: {text}");
                    assert_eq!(server.requests().len(), *attempts, "{what}");
                });
            }
        });
    }
}

#[test]
fn a_second_attempt_may_succeed_and_sends_the_same_bytes() {
    let calls = std::sync::atomic::AtomicUsize::new(0);
    let server = Server::start(move |_| match calls.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
        0 => Response::json(
            529,
            &json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
        )
        .header("retry-after-ms", "10"),
        _ => right(MESSAGES),
    });
    let text = asked(MESSAGES, &server, "").expect(0).text();
    assert!(text.contains("1: status 529, PROVIDER_UNAVAILABLE") && text.contains("2: status 200"), "{text}");
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn an_answer_that_does_not_come_is_a_timeout() {
    let slow = std::time::Duration::from_secs(20);
    let server = Server::start(move |_| right(RESPONSES).spoilt(Spoilt::Slow(slow)));
    let outcome = asked(RESPONSES, &server, "timeout-seconds = 1").expect(3);
    assert!(outcome.text().contains("result     PROVIDER_TIMEOUT: "), "{}", outcome.text());
    assert_eq!(server.requests().len(), 3);
}

#[test]
fn a_key_goes_nowhere_but_to_the_address_of_the_base() {
    let elsewhere = Server::start(|_| right(RESPONSES));
    let there = elsewhere.url();
    let redirects =
        Server::start(move |_| Response::new(307, "").header("location", format!("{there}/v1/responses")));
    asked(RESPONSES, &redirects, "").expect(3);
    // Head names another address, and a run of the change asks nobody.
    let of_base = Server::start(|_| right(RESPONSES));
    let base = policy(RESPONSES, &of_base.url(), "");
    let repo = repository(&base, Some(&policy(RESPONSES, &elsewhere.url(), "")));
    doctor(&repo).run().expect(0);
    let checked =
        qa_skill(["policy-check", "--base", "main", "--repo"]).arg(repo.path()).run().expect(0).text();
    assert!(checked.contains("gpt-4.1-2025-04-14") && checked.contains(&of_base.url()), "{checked}");
    assert_eq!((of_base.requests().len(), elsewhere.requests().len()), (1, 0));
    repo.judge().env("OPENAI_API_KEY", KEY).run().expect(0);
    assert_eq!((of_base.requests().len(), elsewhere.requests().len()), (1, 0));
    let preview = repo.run_dir().json("final-verdict.json")["policyPreview"]["weakened"].clone();
    assert_eq!(preview[0]["name"], "models.review", "{preview}");
    assert!(preview[0]["head"].as_str().unwrap().contains(&elsewhere.url()), "{preview}");
    let other = repository(&base, Some(&policy(RESPONSES, &of_base.url(), "max-output-tokens = 4000")));
    other.judge().run().expect(0);
    let preview = other.run_dir().json("final-verdict.json")["policyPreview"]["weakened"].clone();
    assert!(preview[0]["head"].as_str().unwrap().ends_with(", asked in another way"), "{preview}");
    let kept =
        std::process::Command::new("grep").args(["-rlF", KEY]).arg(repo.beside("out")).output().unwrap();
    assert_eq!((kept.status.code(), kept.stdout.len()), (Some(1), 0), "no artifact has the key");
    // Not even a proxy of this machine sees what is not encrypted.
    let proxy = Server::start(|_| right(RESPONSES));
    let asked_for = doctor(&repo).env("HTTP_PROXY", proxy.url()).env("http_proxy", proxy.url());
    asked_for.env("ALL_PROXY", proxy.url()).run().expect(0);
    assert_eq!((of_base.requests().len(), proxy.requests().len()), (2, 0));
    // What the server says back does not show the key either, in headers and in bodies.
    let announces =
        Server::start(|_| right(RESPONSES).header("deprecation", format!("{}{KEY}", "other ".repeat(9))));
    asked(RESPONSES, &announces, "").expect(0);
    let tells = Server::start(|request| {
        // Where it is shown it is cut, which must not leave half a key.
        let said = request.header("authorization").unwrap_or("").to_owned();
        let said = format!("\u{202e}{}{said}{}", "x".repeat(250), "y".repeat(5000));
        Response::json(400, &json!({"error": {"message": said, "type": "x", "param": null, "code": null}}))
    });
    let text = asked(RESPONSES, &tells, "").expect(3).text();
    assert!(!text.contains(&KEY[..12]) && !text.contains('\u{202e}') && text.len() < 3000, "{text}");
    assert!(text.contains("***"), "{text}");
}

#[test]
fn what_a_model_refuses_is_an_error_of_the_policy_and_nothing_is_sent() {
    let server = Server::start(|_| right(MESSAGES));
    let url = server.url();
    let cases = [
        (policy(MESSAGES, &url, "sampling = \"greedy\""), "models.review.sampling"),
        (policy(MESSAGES, &url, "seed = 1"), "models.review.seed"),
        (policy(RESPONSES, &url, "effort = \"high\""), "models.review.effort"),
        (policy(RESPONSES, &url, "max-output-tokens = 40000"), "models.review.max-output-tokens"),
        (policy(MESSAGES, &url, "").replace("claude-opus-5-5", "claude-opus-latest"), "models.review.model"),
        (policy(MESSAGES, &url, "").replace("claude-opus-5-5", "nobody-knows-1"), "models.review"),
        (policy(MESSAGES, "http://example.org", ""), "models.review.endpoint"),
        (policy(MESSAGES, &url, "").replace(".review", ".Re_view"), "lower-case"),
    ];
    for (text, setting) in cases {
        let repo = repository(&text, None);
        for program in [doctor(&repo), repo.judge().env("ANTHROPIC_API_KEY", KEY)] {
            let outcome = program.run().expect(2);
            assert!(outcome.stderr.contains("POLICY_INVALID"), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(setting), "{setting}: {}", outcome.stderr);
        }
    }
    assert_eq!(server.requests(), []);
}

#[test]
fn without_a_key_nothing_is_sent_and_the_variable_is_named() {
    let server = Server::start(|_| right(RESPONSES));
    let repo = repository(&policy(RESPONSES, &server.url(), ""), None);
    let run = |key: &str| {
        qa_skill(["doctor", "--base", "main", "--repo"]).arg(repo.path()).env("OPENAI_API_KEY", key).run()
    };
    for key in ["", " "] {
        let text = run(key).expect(3).text();
        assert!(text.contains("PROVIDER_AUTH_ERROR: OPENAI_API_KEY is not set"), "{text}");
    }
    let text = run("a\nb").expect(3).text();
    assert!(text.contains("PROVIDER_AUTH_ERROR: the key has characters"), "{text}");
    assert_eq!(server.requests(), []);
}

#[test]
fn a_model_that_answers_for_another_is_said_to_be_an_alias() {
    let server = Server::start(|_| with(RESPONSES, "/model", json!("gpt-4.1-2026-01-01")));
    let alias = "model = \"gpt-4.1\"";
    let text = asked(RESPONSES, &server, alias).expect(0).text();
    assert!(text.contains("MODEL_ALIAS_UNPINNED: gpt-4.1-2026-01-01 answered"), "{text}");
    for other in ["gpt-4.1-mini", "gpt-4.12", "gpt-4.1-5", "gpt-4.1-2026-01-012", "tiny"] {
        let server = Server::start(move |_| with(RESPONSES, "/model", json!(other)));
        let text = asked(RESPONSES, &server, alias).expect(3).text();
        assert!(!text.contains("MODEL_ALIAS_UNPINNED"), "{text}");
        assert!(
            text.contains(&format!("PROVIDER_OUTPUT_INVALID: {other} answered instead of gpt-4.1")),
            "{text}"
        );
    }
}

#[test]
fn a_key_that_is_an_ordinary_word_spoils_no_answer() {
    for key in ["x", "sum", "status", "4", "output_text"] {
        let server = Server::start(|_| right(RESPONSES));
        let repo = repository(&policy(RESPONSES, &server.url(), ""), None);
        let text = doctor(&repo).env("OPENAI_API_KEY", key).run().expect(0).text();
        assert!(text.contains("  result     the reply is correct"), "{text}");
    }
}

#[test]
fn a_policy_without_a_model_asks_nobody() {
    let repo = repository("", None);
    assert!(doctor(&repo).run().expect(0).text().contains("names no model"));
    let outcome = doctor(&repo).arg("review").run().expect(2);
    assert!(outcome.stderr.contains("no model `review`"), "{}", outcome.stderr);
}

#[test]
fn what_a_setting_of_a_model_changes_stands_in_what_is_sent() {
    let request = |surface: &'static str, settings: &str| {
        let server = Server::start(move |_| right(surface));
        asked(surface, &server, settings);
        server.requests().remove(0)
    };
    let own = "model = \"ours\"\ncapabilities = { sampling = \"never\", efforts = [\"low\", \"high\"], max-output-tokens = 9000 }";
    for (surface, setting, pointer, value) in [
        (CHAT, "seed = 7", "/seed", json!(7)),
        (MESSAGES, "service-tier = \"auto\"", "/service_tier", json!("auto")),
        (MESSAGES, "effort = \"low\"", "/output_config/effort", json!("low")),
        (RESPONSES, "max-output-tokens = 4000", "/max_output_tokens", json!(4000)),
        (CHAT, own, "/model", json!("ours")),
    ] {
        assert_ne!(request(surface, "").json().pointer(pointer), Some(&value), "{setting}");
        assert_eq!(request(surface, setting).json().pointer(pointer), Some(&value), "{setting}");
    }
    let chosen = request(RESPONSES, &format!("{own}\neffort = \"high\"")).json();
    assert_eq!(chosen["reasoning"]["effort"], "high", "{chosen}");
    assert_eq!(chosen.get("temperature"), None, "{chosen}");
    let (ours, other) = (Server::start(|_| right(CHAT)), Server::start(|_| right(CHAT)));
    asked(CHAT, &ours, &format!("endpoint = \"{}/v1\"", other.url())).expect(0);
    assert_eq!((ours.requests().len(), other.requests().len()), (0, 1));
    asked(CHAT, &ours, "provider = \"anthropic-claude\"").expect(2);
    for (setting, name, value) in [
        ("api-version = \"2023-06-01\"", "anthropic-version", "2023-06-01"),
        ("auth-scheme = \"x-api-key\"", "x-api-key", KEY),
    ] {
        assert_ne!(request(MESSAGES, "").header(name), Some(value), "{setting}");
        assert_eq!(request(MESSAGES, setting).header(name), Some(value), "{setting}");
    }
}
