//! Drives whose agent is a model of the policy, on loopback: it answers with edits, and whatever it answers, the gate decides.

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::support::answers::{SURFACES, answer, policy};
use crate::support::reviews::{KEY, has_no_key, packet};
use crate::support::{Outcome, Program, Repo, Response, Server, change, git, qa_skill, token};

const PRODUCT: &str = "def add(a, b):\n    return a + b\n";
const FAULT: &str =
    "def add(a, b):\n    breakpoint()\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n";

fn edits(edits: &[Value]) -> String {
    json!({"edits": edits, "outcome": "done", "summary": "Removed the debugger statement."}).to_string()
}

fn replace(path: &str, find: &str, text: &str) -> Value {
    json!({"kind": "replace", "path": path, "find": find, "text": text})
}

fn mend() -> String {
    edits(&[replace("src/a.py", "    breakpoint()\n", "")])
}

/// A change with a debugger statement, and a model that gives one text after another, the last one again and again.
struct Scene {
    repo: Repo,
    model: Server,
}

impl Scene {
    fn new(surface: &str, settings: &str, fault: &str, texts: &[String]) -> Self {
        let left = Arc::new(Mutex::new(texts.to_vec()));
        let dialect = surface.to_owned();
        let model = Server::start(move |_| {
            let mut left = left.lock().unwrap();
            let text = if left.len() > 1 { left.remove(0) } else { left[0].clone() };
            Response::json(200, &answer(&dialect, &text))
        });
        let policy = format!(
            "preset = \"guarded\"\n[drive]\nmodel = \"review\"\n{settings}\n{}",
            policy(surface, &model.url(), "")
        );
        let base = [(".qa-skill/policy.toml", policy.as_str()), ("src/a.py", PRODUCT)];
        let head = [base[0], ("src/a.py", fault), ("src/b.py", "VALUE = 1\n")];
        Self { repo: change(&base, &head), model }
    }

    fn drive(&self) -> Program {
        qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:model"])
            .arg("--repo")
            .arg(self.repo.path())
            .arg("--out")
            .arg(self.repo.beside("out"))
            .env("OPENAI_API_KEY", KEY)
            .env("ANTHROPIC_API_KEY", KEY)
    }

    fn directory(&self) -> PathBuf {
        let sessions = fs::read_dir(self.repo.beside("out/drive")).unwrap();
        sessions.map(|entry| entry.unwrap().path()).find(|path| path.is_dir()).unwrap()
    }

    fn session(&self) -> Value {
        serde_json::from_slice(&fs::read(self.directory().join("drive-session.json")).unwrap()).unwrap()
    }

    /// Ends for a reason, and verifies whatever the model did.
    #[track_caller]
    fn ends(&self, exit: i32, reason: &str) -> Outcome {
        let outcome = self.drive().run().expect(exit);
        assert_eq!(self.session()["end"]["reason"], reason, "{}", outcome.stderr);
        qa_skill(["verify"]).arg(self.directory()).run().expect(0);
        has_no_key(&outcome, &self.repo.beside("out"));
        outcome
    }

    fn codes(&self) -> Vec<String> {
        let session = self.session();
        let turns = session["turns"].as_array().unwrap().iter();
        turns
            .flat_map(|turn| turn["refusals"].as_array().unwrap().clone())
            .map(|refusal| refusal["code"].as_str().unwrap().to_owned())
            .collect()
    }
}

#[test]
fn a_model_mends_a_finding_by_an_edit_in_every_dialect() {
    for surface in SURFACES {
        let scene = Scene::new(surface, "", FAULT, &[mend()]);
        scene.ends(0, "passed");
        let session = scene.session();
        let turn = &session["turns"][0];
        assert_eq!((&turn["executor"], &turn["changed"]), (&json!("model"), &json!(["src/a.py"])));
        assert!(turn["costMicroUsd"].as_u64().unwrap() > 0, "{turn}");
        let commit = turn["commit"].as_str().unwrap();
        let path = scene.repo.path();
        git(
            &path,
            &["fetch", "-q", scene.directory().join("result.bundle").to_str().unwrap(), "qa-skill-drive"],
        );
        let object = scene.repo.git.revparse_single(&format!("{commit}:src/a.py")).unwrap();
        let text = String::from_utf8(object.peel_to_blob().unwrap().content().to_vec()).unwrap();
        assert_eq!(text, FAULT.replace("    breakpoint()\n", ""));
        assert_eq!(scene.model.requests().len(), 1);
        let asked = packet(&scene.model.requests()[0]);
        assert!(asked.contains("merge-leftover/debugger-statement") && asked.contains("def sub"), "{asked}");
    }
}

#[test]
fn what_a_model_answers_is_held_to_the_gate() {
    let nonsense = ["", "I fixed it.", "{\"edits\": []}", "[1, 2"].map(str::to_owned);
    let scene = Scene::new(SURFACES[0], "", FAULT, &nonsense);
    scene.ends(1, "no_progress");
    assert!(scene.codes().contains(&"DRIVE_ANSWER_INVALID".to_owned()), "{:?}", scene.codes());

    let cheats = [
        (
            edits(&[
                json!({"kind": "create", "path": ".github/workflows/x.yml", "find": "", "text": "on: push\n"}),
            ]),
            "DRIVE_PATH_REFUSED",
        ),
        (
            edits(&[replace("src/a.py", "    breakpoint()\n", "    breakpoint()  # noqa: T100\n")]),
            "DRIVE_CHECK_WEAKENED",
        ),
        (edits(&[replace("src/a.py", "return", "yield")]), "DRIVE_ANSWER_INVALID"),
        (edits(&[replace("src/none.py", "a", "b")]), "DRIVE_ANSWER_INVALID"),
        (
            edits(&[json!({"kind": "create", "path": "src/a.py/b", "find": "", "text": ""})]),
            "DRIVE_ANSWER_INVALID",
        ),
    ];
    for (cheat, code) in cheats {
        let scene = Scene::new(SURFACES[0], "", FAULT, &[cheat, mend()]);
        scene.ends(0, "passed");
        assert_eq!(scene.codes().first().map(String::as_str), Some(code));
        // The next question says why the turn was refused.
        let second = packet(&scene.model.requests()[1]);
        assert!(second.contains("turn 1 was refused"), "{second}");
    }
    let asks = json!({"edits": [], "outcome": "ask", "summary": "Which one?"}).to_string();
    Scene::new(SURFACES[0], "", FAULT, &[asks]).ends(3, "ask");
    let blocked = json!({"edits": [], "outcome": "blocked", "summary": "No."}).to_string();
    Scene::new(SURFACES[0], "", FAULT, &[blocked]).ends(1, "stuck");
}

#[test]
fn a_model_gets_no_secret_no_more_money_than_allowed_and_is_named_by_the_policy() {
    let secret = token();
    let fault = format!("{FAULT}\nKEY = \"{secret}\"\n");
    let scene = Scene::new(SURFACES[0], "", &fault, &[mend()]);
    scene.drive().run();
    for request in scene.model.requests() {
        assert!(!String::from_utf8_lossy(&request.body).contains(&secret), "a secret was sent");
    }
    let scene = Scene::new(SURFACES[0], "max-cost-micro-usd = 10", FAULT, &[mend()]);
    scene.ends(1, "cost");
    assert_eq!(scene.model.requests().len(), 0);

    let scene = Scene::new(SURFACES[0], "", FAULT, &[mend()]);
    let unset = scene.drive().env("OPENAI_API_KEY", "").run().expect_code(3, "PROVIDER_AUTH_ERROR");
    assert!(unset.stderr.contains("OPENAI_API_KEY is not set"), "{}", unset.stderr);
    let none = change(&[("src/a.py", PRODUCT)], &[("src/a.py", FAULT), ("src/b.py", "VALUE = 1\n")]);
    let program =
        qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:model"]);
    let refused = program.arg("--repo").arg(none.path()).run().expect(2);
    assert!(refused.stderr.contains("names no model for drives"), "{}", refused.stderr);
    let policy = [(".qa-skill/policy.toml", "[drive]\nmodel = \"none\"\n"), ("src/a.py", PRODUCT)];
    let unknown = change(&policy, &[policy[0], ("src/a.py", FAULT)]);
    let program =
        qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:model"]);
    let refused = program.arg("--repo").arg(unknown.path()).run().expect_code(2, "POLICY_INVALID");
    assert!(refused.stderr.contains("drive.model names `none`"), "{}", refused.stderr);
}
