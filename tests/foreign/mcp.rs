//! The official SDK of the Model Context Protocol, as a client of the server.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::parts::part;
use crate::support::{change, conflict};

#[test]
fn the_sdk_lists_and_calls_the_tools() {
    let Some(python) = part("target/foreign/sdks/bin/python") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign/mcp_client.py");
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", &conflict())]);
    let calls = json!([
        ["run", { "content": "commits", "base": "main", "head": "topic" }],
        ["plan", { "content": "commits", "base": "main", "head": "topic" }],
        ["explain", { "subject": "merge-leftover/conflict-marker" }],
        ["verify", { "run": "nowhere" }],
    ]);
    let mut client = Command::new(python)
        .args([script, env!("CARGO_BIN_EXE_qa-skill"), "mcp", "--repo"])
        .arg(repo.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    client.stdin.take().unwrap().write_all(calls.to_string().as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    assert!(output.status.success());
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(read["server"]["name"], "qa-skill");
    assert_eq!(read["tools"].as_array().unwrap().len(), 4);
    let results = read["results"].as_array().unwrap();
    assert_eq!(results[0]["structuredContent"]["finalVerdict"]["conclusion"], "fail", "{}", results[0]);
    assert_eq!(results[1]["structuredContent"]["schemaVersion"], "lens-plan-list.v1", "{}", results[1]);
    let errors: Vec<bool> = results.iter().map(|result| result["isError"] == true).collect();
    assert_eq!(errors, [false, false, false, true]);
}
