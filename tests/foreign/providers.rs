//! The providers' own SDKs: their types take our requests, they send the same, and they read the answers our tests give.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::answers::{CHAT, MESSAGES, RESPONSES, SURFACES, answer, policy};
use crate::support::parts::part;
use crate::support::{change, qa_skill};

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
