//! The server of the Model Context Protocol: a client's lines go in, and what comes back is what the commands say.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::support::{conflict, temp};
use crate::uncommitted::Checkout;

/// A client that speaks the protocol line by line.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

impl Client {
    fn start(checkout: &Checkout, arguments: &[&str]) -> Self {
        let program = checkout.program(&[&["mcp"], arguments].concat());
        let mut child = program
            .command()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, requests: 0 };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" }
        });
        let answer = client.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "qa-skill", "{answer}");
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        assert!(answer["result"]["capabilities"]["tools"].is_object(), "{answer}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        client
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and returns the answer to it.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server ended");
            // Nothing but messages of the protocol is on standard output.
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"));
            if message["id"] == id {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Expects a call to fail with a code.
    #[track_caller]
    fn fails(&mut self, tool: &str, arguments: &Value, code: &Value) {
        let result = self.call(tool, arguments);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), code),
            "{result}"
        );
        assert_ne!(result["structuredContent"]["hint"], "", "{result}");
    }

    /// Closes the client's end and expects the server to end well.
    fn close(mut self) {
        drop(self.input.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

fn is_valid(document: &Value, schema: &str) {
    let schema = qa_contracts::schema::find(schema).unwrap();
    assert_eq!(schema.faults(document), []);
}

#[test]
fn the_tools_say_what_the_commands_say() {
    let checkout = Checkout::new("");
    checkout.run("cp $CONFLICT a.py");
    let before = checkout.run("git status --porcelain --ignored; ls .git");
    let mut client = Client::start(&checkout, &[]);
    let listed = client.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["run", "plan", "explain", "verify"]);
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        // A run starts the commands of gates.
        assert_eq!(tool["annotations"]["readOnlyHint"], tool["name"] != "run", "{tool}");
    }

    let run = client.call("run", &json!({ "base": "HEAD" }));
    let expected =
        checkout.program(&["run", "--worktree", "--format=json", "--quiet"]).run().expect(1).json();
    assert_eq!(run["structuredContent"]["finalVerdict"], expected["finalVerdict"]);
    assert_eq!(run["isError"], false, "a verdict is no error");
    is_valid(&run["structuredContent"], "skill-result.v1");
    assert!(run["content"][0]["text"].as_str().unwrap().starts_with("FAIL  "), "{}", run["content"]);

    let plan = client.call("plan", &json!({ "content": "worktree", "base": "HEAD" }));
    is_valid(&plan["structuredContent"], "lens-plan-list.v1");
    let explained = client.call("explain", &json!({ "subject": "merge-leftover/conflict-marker" }));
    let page = explained["structuredContent"]["text"].as_str().unwrap();
    assert!(page.starts_with("## merge-leftover/conflict-marker\n"), "{page}");
    assert_eq!(explained["content"][0]["text"], page);
    client.close();
    assert_eq!(checkout.run("git status --porcelain --ignored; ls .git"), before);
}

#[test]
fn commits_are_judged_without_a_trace_and_stored_runs_verified() {
    let checkout = Checkout::new("");
    checkout.run("git branch main; cp $CONFLICT a.py; git commit -qam x");
    let mut client = Client::start(&checkout, &["--repo", "src"]);
    // What is committed does not leave the change.
    let both = client.call("run", &json!({}));
    assert_eq!(both["structuredContent"]["finalVerdict"]["conclusion"], "fail", "{both}");
    let run = client.call("run", &json!({ "content": "commits", "base": "main", "head": "topic" }));
    assert_eq!(run["structuredContent"]["finalVerdict"]["conclusion"], "fail", "{run}");
    assert!(!checkout.path().join(".qa-skill").exists());
    checkout.program(&["run", "--base", "main", "--quiet"]).run().expect(1);
    let path = std::fs::read_dir(checkout.path().join(".qa-skill/runs")).unwrap();
    let path =
        path.map(|entry| entry.unwrap().path()).find(|path| path.join("hashes.json").exists()).unwrap();
    let relative = path.strip_prefix(checkout.path()).unwrap();
    for (directory, from_repository) in [(path.as_path(), false), (relative, true)] {
        let arguments = json!({ "run": directory, "fromRepository": from_repository });
        let verified = client.call("verify", &arguments);
        assert_eq!(verified["structuredContent"]["conclusion"], "fail", "{verified}");
        let source = if from_repository { "repository" } else { "recording" };
        assert_eq!(verified["structuredContent"]["source"], source);
        assert_eq!(verified["structuredContent"]["ofRepository"], true, "{verified}");
        assert_eq!(verified["structuredContent"]["executionKey"], run["structuredContent"]["executionKey"]);
    }
    // A run of another repository is reproduced as well, and says nothing about this one.
    let other = Checkout::new("");
    other.run("echo other > other.txt; git add .; git commit -qm other");
    let mut elsewhere = Client::start(&other, &[]);
    let verified = elsewhere.call("verify", &json!({ "run": path }));
    assert_eq!(verified["structuredContent"]["ofRepository"], false, "{verified}");
    let text = verified["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("are not in the repository of this server\n"), "{text}");
    elsewhere.close();
    let result = path.join("lens-results.json");
    let text = std::fs::read_to_string(&result).unwrap();
    std::fs::write(&result, text.replace("\"blocking\":true", "\"blocking\":false")).unwrap();
    let damaged = client.call("verify", &json!({ "run": relative }));
    assert_eq!(damaged["isError"], true, "{damaged}");
    client.close();
}

#[test]
fn a_call_that_fails_says_its_code_and_the_server_goes_on() {
    let checkout = Checkout::new("");
    checkout.run("echo a = 2 > a.py");
    let mut client = Client::start(&checkout, &[]);
    let none = Value::Null;
    client.fails("run", &json!({ "base": "nowhere" }), &json!("BASE_REF_CONFIGURED_NOT_FOUND"));
    client.fails("run", &json!({ "content": "commits" }), &json!("BASE_REF_RESOLUTION_FAILED"));
    client.fails("run", &json!({}), &json!("BASE_REF_RESOLUTION_FAILED"));
    client.fails("run", &json!({ "head": "HEAD" }), &none);
    client.fails("run", &json!({ "command": "rm -rf /" }), &none);
    client.fails("plan", &json!({ "content": "everything" }), &none);
    client.fails("explain", &json!({}), &none);
    client.fails("explain", &json!({ "subject": "no-such-rule" }), &none);
    client.fails("verify", &json!({ "run": "/nowhere" }), &none);
    let unknown = client.ask("tools/call", &json!({ "name": "drive", "arguments": {} }));
    assert!(
        unknown["error"]["message"].as_str().unwrap().contains("run, plan, explain, verify"),
        "{unknown}"
    );
    let unknown = client.ask("resources/read", &json!({ "uri": "file:///etc/passwd" }));
    assert!(unknown["error"].is_object(), "{unknown}");
    checkout.run("mkdir .qa-skill; echo 'preset = 1' > .qa-skill/policy.toml; git add .; git commit -qm policy; echo b > b");
    client.fails("run", &json!({ "base": "HEAD" }), &json!("POLICY_INVALID"));
    // A run that did not complete is a result, and no pass.
    checkout.run("git rm -rq --cached .qa-skill; rm -r .qa-skill b; git commit -qm none");
    let empty = client.call("run", &json!({ "base": "HEAD" }));
    assert_eq!(empty["structuredContent"]["finalVerdict"]["conclusion"], "could_not_complete", "{empty}");
    client.close();
    let outside = temp();
    let mut client = Client::start(&checkout, &["--repo", outside.path().to_str().unwrap()]);
    client.fails("run", &json!({}), &json!("REPOSITORY_NOT_FOUND"));
    client.close();
}

#[test]
fn lines_that_are_no_messages_and_hostile_names_do_no_harm() {
    let checkout = Checkout::new("");
    let name = "x\n{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\u{1b}[31m.py";
    std::fs::write(checkout.path().join(name), conflict()).unwrap();
    let mut client = Client::start(&checkout, &[]);
    for line in ["", "{", "[]", "null", "\u{7f}", "{\"jsonrpc\":\"2.0\",\"method\":\"unknown\"}"] {
        client.send(line);
    }
    let run = client.call("run", &json!({ "base": "HEAD" }));
    assert_eq!(run["structuredContent"]["finalVerdict"]["conclusion"], "fail", "{run}");
    assert!(!run["content"][0]["text"].as_str().unwrap().contains('\u{1b}'), "{run}");
    client.close();
}
