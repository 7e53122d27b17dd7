//! The providers' own SDKs: their types take our requests, they send the same, and they read the answers our tests give.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, RESPONSES, SURFACES, answer, policy};
use crate::support::parts::part;
use crate::support::reviews::{FAULT, KEY, QUOTE, model_finding, only, repository, run};
use crate::support::server::Request;
use crate::support::{Response, Server, change, qa_skill};

/// What the SDKs make of bodies and answers; null where they are not installed.
fn sdks(cases: &[Value]) -> Option<Vec<Value>> {
    let python = part("target/foreign/sdks/bin/python")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/provider_sdks.py");
    let mut command = Command::new(python);
    command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(json!(cases).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said.len(), cases.len());
    Some(said)
}

/// The body that the program would send, as it shows it.
fn body(surface: &str, more: &str) -> Value {
    let policy = policy(surface, "http://127.0.0.1:9", more);
    let repo = change(&[(".qa-skill/policy.toml", &policy), ("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let shown =
        qa_skill(["doctor", "--dry-run", "--base", "main", "--repo"]).arg(repo.path()).run().expect(0).text();
    let body = shown.lines().find_map(|line| line.trim().strip_prefix("body ")).unwrap();
    serde_json::from_str(body).unwrap()
}

#[test]
fn the_sdks_send_what_we_send_and_read_what_we_read() {
    let cases = [
        (CHAT, ""),
        (CHAT, "seed = 7"),
        (CHAT, "endpoint = \"openai\""),
        (RESPONSES, ""),
        (RESPONSES, "sampling = \"model_fixed\"\nservice-tier = \"default\""),
        (RESPONSES, "model = \"gpt-6-astra\"\neffort = \"high\""),
        (MESSAGES, ""),
        (MESSAGES, "effort = \"high\"\nservice-tier = \"standard_only\""),
    ];
    let text = "{\"sum\": 42}";
    let given = cases.map(|(surface, more)| {
        json!({"surface": surface, "body": body(surface, more), "answer": answer(surface, text)})
    });
    let Some(said) = sdks(&given) else { return };
    for (((surface, more), given), said) in cases.iter().zip(&given).zip(said) {
        let (surface, body) = (*surface, &given["body"]);
        assert_eq!(said["faults"], json!([]), "{surface} {more}: {body}");
        assert_eq!(&said["sent"]["body"], body, "{surface} {more}");
        assert_eq!(said["read"], json!([text, 1000, 100]), "{surface}");
        assert_eq!(said["refused"], Value::Null, "{surface}");
        let path = match surface {
            CHAT => "/v1/chat/completions",
            RESPONSES => "/v1/responses",
            _ => "/v1/messages",
        };
        assert_eq!(said["sent"]["path"], path);
        let version = (surface == MESSAGES).then_some("2026-10-21");
        assert_eq!(said["sent"]["headers"]["anthropic-version"].as_str(), version);
        let key = said["sent"]["headers"]["authorization"].as_str().unwrap();
        assert!(key.starts_with("Bearer "), "{key}");
    }
}

#[test]
fn a_body_that_is_wrong_is_wrong_to_the_sdks() {
    let mut cases = Vec::new();
    for surface in SURFACES {
        let good = body(surface, "");
        let wrong = |pointer: &str, member: &str, value: Value| {
            let mut body = good.clone();
            body.pointer_mut(pointer).unwrap()[member] = value;
            body
        };
        let mut bodies = vec![wrong("", "nobody_knows", json!(1)), wrong("", "model", json!(7))];
        if surface == MESSAGES {
            bodies.push(wrong("", "temperature", json!(0)));
            bodies.push(wrong("/output_config/format", "strict", json!(true)));
        } else {
            bodies.push(wrong("", "service_tier", json!("any")));
        }
        let answer = answer(surface, "{}");
        cases.extend(bodies.iter().map(|body| json!({"surface": surface, "body": body, "answer": answer})));
    }
    for (case, said) in cases.iter().zip(sdks(&cases).unwrap_or_default()) {
        assert_ne!(said["faults"], json!([]), "{case}");
    }
}

/// Where a body has the schema of the answer.
fn place_of_schema(surface: &str) -> &'static str {
    match surface {
        CHAT => "/response_format/json_schema/schema",
        RESPONSES => "/text/format/schema",
        _ => "/output_config/format/schema",
    }
}

/// The reviews that need no conventions.
fn reviews() -> Vec<String> {
    let registry: Value = serde_json::from_str(include_str!("../../skill/registry.v1.json")).unwrap();
    let ids = registry["lenses"].as_array().unwrap().iter().map(|lens| lens["lensId"].as_str().unwrap());
    ids.filter(|id| id.starts_with("review-") && *id != "review-consistency").map(str::to_owned).collect()
}

/// A finding about the first rule that a review may name.
fn answered(surface: &str, body: &Value) -> (String, Value) {
    let rules = format!("{}/properties/findings/items/properties/ruleId/enum/0", place_of_schema(surface));
    let rule = body.pointer(&rules).and_then(Value::as_str).unwrap_or_else(|| panic!("{body}"));
    let text = json!({"findings": [model_finding(rule, "app.py", 5, QUOTE)]}).to_string();
    let answer = answer(surface, &text);
    (text, answer)
}

/// What every review asks one model in a run.
fn asked(surface: &'static str) -> Vec<Request> {
    let server = Server::start(move |request| Response::json(200, &answered(surface, &request.json()).1));
    let model = policy(surface, &server.url(), "");
    let lenses =
        reviews().into_iter().map(|id| format!("[lenses.{id}]\nmodel = \"review\"\nrequired = true\n"));
    let repo = repository(&format!("{}{model}", lenses.collect::<String>()), &[("app.py", FAULT)]);
    run(&repo).run().expect(0);
    let all = only(&repo).findings();
    let mut found: Vec<&str> = all.iter().map(|finding| finding.split('/').next().unwrap()).collect();
    found.sort_unstable();
    assert_eq!(found, reviews(), "{surface}");
    server.requests()
}

/// Takes `type` from where `enum` stands, as Anthropic's SDK does: the words say it already.
fn without_type_beside_enum(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("enum") {
                members.remove("type");
            }
            members.values_mut().for_each(without_type_beside_enum);
        }
        Value::Array(items) => items.iter_mut().for_each(without_type_beside_enum),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A request that was sent, and the text of its answer.
struct Sent {
    surface: &'static str,
    request: Request,
    text: String,
}

/// Holds requests to the SDKs: they send the same and leave the schema of the answer as it is.
fn hold(all: &[Sent]) {
    let given: Vec<Value> = all
        .iter()
        .map(|sent| {
            let answer = answer(sent.surface, &sent.text);
            json!({"surface": sent.surface, "answer": answer, "body": sent.request.json()})
        })
        .collect();
    for ((sent, given), said) in all.iter().zip(&given).zip(sdks(&given).unwrap_or_default()) {
        let (surface, body) = (sent.surface, &given["body"]);
        assert_eq!(said["faults"], json!([]), "{surface}: {body}");
        assert_eq!(&said["sent"]["body"], body, "{surface}");
        assert_eq!(said["sent"]["path"], sent.request.target);
        for name in ["anthropic-version", "content-type"] {
            assert_eq!(said["sent"]["headers"][name].as_str(), sent.request.header(name), "{surface} {name}");
        }
        assert!(sent.request.header("authorization").unwrap().starts_with("Bearer "));
        assert_eq!(said["read"], json!([sent.text, 1000, 100]), "{surface}");
        assert_eq!(said["refused"], Value::Null, "{surface}");
        let mut schema = body.pointer(place_of_schema(surface)).unwrap().clone();
        assert_eq!(said["schema"]["openai"], schema, "{surface}");
        without_type_beside_enum(&mut schema);
        assert_eq!(said["schema"]["anthropic"], schema, "{surface}");
    }
}

#[test]
fn the_sdks_ask_for_reviews_as_we_do_and_leave_their_schemas_as_they_are() {
    let sent: Vec<Sent> = SURFACES
        .into_iter()
        .flat_map(|surface| asked(surface).into_iter().map(move |request| (surface, request)))
        .map(|(surface, request)| Sent { surface, text: answered(surface, &request.json()).0, request })
        .collect();
    assert_eq!(sent.len(), SURFACES.len() * reviews().len());
    hold(&sent);
}

/// The model's part in a drive: a plan, or edits that mend the finding.
fn driven_answer(request: &Request) -> String {
    if String::from_utf8_lossy(&request.body).contains("You plan the next turn") {
        let plan = json!({
            "action": "Mend it.", "expected": "It is gone.", "finished": false, "reasoning": "It is the only one.",
            "tasks": ["finding-01"],
        });
        return plan.to_string();
    }
    let edit =
        json!({"kind": "replace", "path": "app.py", "find": "    breakpoint()\n", "text": "    return 1\n"});
    json!({"edits": [edit], "outcome": "done", "summary": "Mended."}).to_string()
}

#[test]
fn the_sdks_ask_for_plans_and_edits_of_drives_as_we_do() {
    let mut all = Vec::new();
    for surface in SURFACES {
        let server =
            Server::start(move |request| Response::json(200, &answer(surface, &driven_answer(request))));
        let model = policy(surface, &server.url(), "");
        let settings = "preset = \"guarded\"\n[drive]\nmodel = \"review\"\ncoordinator = \"review\"\n";
        let repo =
            repository(&format!("{settings}{model}"), &[("app.py", "def find():\n    breakpoint()\n")]);
        let program =
            qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:model"]);
        let program = program.arg("--repo").arg(repo.path()).arg("--out").arg(repo.beside("out"));
        program.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY).run().expect(0);
        let sent = server.requests().into_iter();
        all.extend(sent.map(|request| Sent { surface, text: driven_answer(&request), request }));
    }
    assert_eq!(all.len(), SURFACES.len() * 2);
    hold(&all);
}

#[test]
fn a_schema_that_a_provider_does_not_take_is_changed_by_its_sdk() {
    let good = body(CHAT, "");
    let changed = |member: &str, value: Value| {
        let mut body = good.clone();
        body.pointer_mut(place_of_schema(CHAT)).unwrap()["properties"]["sum"][member] = value;
        body
    };
    let mut optional = good.clone();
    optional.pointer_mut(place_of_schema(CHAT)).unwrap()["required"] = json!([]);
    let cases = [
        (changed("maximum", json!(7)), "anthropic"),
        (changed("type", json!(["integer", "null"])), "anthropic"),
        (changed("default", Value::Null), "openai"),
        (optional, "openai"),
    ];
    let given =
        cases.clone().map(|(body, _)| json!({"surface": CHAT, "body": body, "answer": answer(CHAT, "{}")}));
    for ((body, sdk), said) in cases.iter().zip(sdks(&given).unwrap_or_default()) {
        assert_ne!(said["schema"][sdk], *body.pointer(place_of_schema(CHAT)).unwrap(), "{sdk}: {body}");
    }
}
