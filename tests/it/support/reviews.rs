//! A reviewing model: its requests and answers, and repositories whose policy uses it.

use std::path::Path;

use serde_json::{Value, json};

use super::answers::{answer, policy};
use super::server::Request;
use super::{Outcome, Program, Repo, Response, RunDir, Server, change};

/// The key that every test sends; it may stand nowhere else.
pub(crate) const KEY: &str = "local-key-of-a-test-31415926";

/// A policy with one review, `review-security`, that asks the model `review` at an address.
pub(crate) fn reviewing(surface: &str, url: &str, settings: &str) -> String {
    format!("[lenses.review-security]\nmodel = \"review\"\n{settings}\n{}", policy(surface, url, ""))
}

/// A change of one Python file under a policy.
pub(crate) fn repository(policy: &str, files: &[(&str, &str)]) -> Repo {
    let path = ".qa-skill/policy.toml";
    let base = [(path, policy), ("app.py", "import db\n\n\ndef find(name):\n    pass\n")];
    let mut head = vec![(path, policy)];
    head.extend_from_slice(files);
    change(&base, &head)
}

/// Text that a reviewer may stop at, on line 5 of `app.py`.
pub(crate) const FAULT: &str = "import db\n\n\ndef find(name):\n    return db.run(\"select * from users where name = '\" + name + \"'\")\n";
/// The faulty line.
pub(crate) const QUOTE: &str = "return db.run(\"select * from users where name = '\" + name + \"'\")";

/// The change that has [`FAULT`].
pub(crate) fn faulty(surface: &str, server: &Server, settings: &str) -> Repo {
    repository(&reviewing(surface, &server.url(), settings), &[("app.py", FAULT)])
}

/// A finding about [`FAULT`].
pub(crate) fn finding() -> Value {
    model_finding("review-security/injection", "app.py", 5, QUOTE)
}

pub(crate) fn model_finding(rule: &str, file: &str, line: u64, quote: &str) -> Value {
    json!({
        "ruleId": rule, "file": file, "startLine": line, "endLine": line, "evidenceQuote": quote,
        "severity": "high", "summary": "The name becomes part of the statement.", "suggestion": null,
    })
}

/// An answer with findings.
pub(crate) fn findings(surface: &str, findings: &[Value]) -> Response {
    Response::json(200, &answer(surface, &json!({ "findings": findings }).to_string()))
}

/// Returns the packet of a request, in any dialect.
pub(crate) fn packet(request: &Request) -> String {
    let body = request.json();
    let places = ["/input/0/content", "/messages/1/content", "/messages/0/content"];
    let found = places.iter().find_map(|place| body.pointer(place)?.as_str());
    found.unwrap_or_else(|| panic!("{body}")).to_owned()
}

/// A run with the key of the tests.
pub(crate) fn run(repo: &Repo) -> Program {
    repo.judge().env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY)
}

/// The result of a review in the newest run.
pub(crate) fn result(run: &RunDir) -> Value {
    let results = run.json("lens-results.json");
    let all = results["lensResults"].as_array().unwrap();
    all.iter().find(|result| result["lensId"] == "review-security").unwrap().clone()
}

/// The only run of a repository.
pub(crate) fn only(repo: &Repo) -> RunDir {
    repo.run_dir()
}

/// Every byte below a directory has no key in it.
pub(crate) fn has_no_key(outcome: &Outcome, root: &Path) {
    for said in [outcome.text(), outcome.stderr.clone()] {
        assert!(!said.contains(KEY), "{said}");
    }
    let mut pending = vec![root.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap();
                let found = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
                assert!(!found, "{}", path.display());
            }
        }
    }
}
