//! Every member of a published schema says something: over the documents of many tests it takes two values, or a table says
//! why it has one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::consistency::{World, everything};
use crate::drift::nightly;
use crate::gates_run::{EXECUTION, Scene, kinds};
use crate::proofs::rows;
use crate::support::answers::{self, CHAT, MESSAGES, RESPONSES, answer};
use crate::support::kept::{KEEP, SOURCES, TEST};
use crate::support::{Files, Repo, Response, Server, qa_skill, reviews, runs_in, temp};

/// Files that people write, whose members have tests of what they do, and the manifest, which there is one of.
const OTHERS: &[&str] = &[
    "feature-list.v1",
    "manifest.v1",
    "policy.v1",
    "rubric-decisions.v1",
    "story-bindings.v1",
    "waivers.v1",
];

/// Values of a member, by `Type.member`.
type Values = BTreeMap<String, BTreeSet<String>>;

/// The documents of all schemas, with what is known of their members.
struct Members {
    /// Members that the schemas have, but for constants.
    declared: BTreeSet<String>,
    seen: Values,
}

/// Returns the name of the type that a schema describes: `LensPlan` for `lens-plan.v1`.
fn type_name(schema: &str) -> String {
    let words = schema.split('.').next().unwrap().split('-');
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

/// A schema, and the node of it that describes a value.
#[derive(Clone, Copy)]
struct Place<'a> {
    schema: &'a Value,
    node: &'a Value,
    /// The type that the node belongs to.
    owner: &'a str,
}

impl<'a> Place<'a> {
    fn at(self, node: &'a Value) -> Self {
        Self { node, ..self }
    }

    /// Follows a reference.
    fn resolved(self) -> Self {
        match self.node["$ref"].as_str().and_then(|target| target.strip_prefix('#')) {
            Some(pointer) => {
                let node = self.schema.pointer(pointer).expect("references lead somewhere");
                Self { node, owner: pointer.rsplit('/').next().unwrap(), ..self }
            }
            None => self,
        }
    }

    fn choices(self) -> impl Iterator<Item = Self> {
        let choices =
            ["anyOf", "oneOf"].into_iter().filter_map(move |name| self.node[name].as_array()).flatten();
        choices.map(move |choice| self.at(choice).resolved())
    }

    fn is_constant(self) -> bool {
        let place = self.resolved();
        let one = place.node["enum"].as_array().is_some_and(|words| words.len() == 1);
        place.node.get("const").is_some() || one
    }
}

impl Members {
    fn declare(&mut self, schema: &Value, owner: &str, node: &Value) {
        for (name, member) in node["properties"].as_object().into_iter().flatten() {
            if !(Place { schema, node: member, owner }).is_constant() {
                self.declared.insert(format!("{owner}.{name}"));
            }
        }
    }

    /// Notes the values of all members of a document.
    fn note(&mut self, place: Place<'_>, value: &Value) {
        let place = place.resolved();
        for choice in place.choices().filter(|_| !value.is_null()) {
            self.note(choice, value);
        }
        for item in value.as_array().into_iter().flatten().filter(|_| place.node["items"].is_object()) {
            self.note(place.at(&place.node["items"]), item);
        }
        let properties = &place.node["properties"];
        for (name, value) in value.as_object().into_iter().flatten() {
            match properties.get(name) {
                Some(member) => {
                    self.see(&format!("{}.{name}", place.owner), value);
                    self.note(place.at(member), value);
                }
                None if place.node["additionalProperties"].is_object() => {
                    self.note(place.at(&place.node["additionalProperties"]), value);
                }
                None => {}
            }
        }
        let members = properties.as_object().into_iter().flatten();
        for (name, _) in members.filter(|(name, _)| value.is_object() && value.get(name.as_str()).is_none()) {
            self.see(&format!("{}.{name}", place.owner), &"absent".into());
        }
    }

    fn see(&mut self, member: &str, value: &Value) {
        let values = self.seen.entry(member.to_owned()).or_default();
        match value {
            Value::Array(items) if items.is_empty() => {
                values.insert("[]".to_owned());
            }
            Value::Array(items) => items.iter().for_each(|item| self.see(member, item)),
            Value::Object(members) => {
                values.insert(if members.is_empty() { "{}" } else { "{…}" }.to_owned());
            }
            // A few are enough, and a recorded text may be long.
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                if values.len() < 3 {
                    values.insert(value.to_string().chars().take(60).collect());
                }
            }
        }
    }

    /// Members that were seen with one value at most. A member that is another type's only is looked at there.
    fn constant(&self) -> BTreeMap<String, String> {
        let all = self.declared.iter().filter_map(|member| {
            let values: Vec<&str> = self.seen.get(member).into_iter().flatten().map(String::as_str).collect();
            let is_constant = values.len() < 2 && values != ["{…}"];
            is_constant.then(|| (member.clone(), values.join("")))
        });
        all.collect()
    }
}

/// Runs the sources, whose documents are then in a directory.
fn run_sources(directory: &Path) {
    let mut tests = Command::new(std::env::current_exe().unwrap());
    let tests = tests.arg("--exact").args(SOURCES).env(KEEP, directory).env_remove(TEST);
    let ran = tests.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn every_member_of_an_artifact_takes_two_values() {
    let own = temp();
    // `scripts/test.sh` has all tests run once, and this one after them.
    let kept = std::env::var_os(KEEP).map(PathBuf::from).unwrap_or_else(|| {
        run_sources(own.path());
        own.path().to_owned()
    });
    let schemas: Vec<_> =
        qa_contracts::schema::ALL.iter().filter(|schema| !OTHERS.contains(&schema.name)).collect();
    let mut members = Members { declared: BTreeSet::new(), seen: Values::new() };
    let parsed: BTreeMap<&str, Value> =
        schemas.iter().map(|schema| (schema.name, serde_json::from_str(schema.text).unwrap())).collect();
    for (name, schema) in &parsed {
        members.declare(schema, &type_name(name), schema);
        for (owner, node) in schema["$defs"].as_object().into_iter().flatten() {
            members.declare(schema, owner, node);
        }
    }
    for entry in std::fs::read_dir(kept).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        // A test damages some of them.
        let Ok(document) = serde_json::from_slice::<Value>(&bytes) else { continue };
        let name = if document.get("current_state").is_some() {
            Some("workflow-state.v1")
        } else if document.get("predicateType").is_some() {
            Some("statement.v1")
        } else {
            document["schemaVersion"].as_str()
        };
        let Some(name) = name else { continue };
        let Some((name, schema)) = parsed.get_key_value(name) else { continue };
        if qa_contracts::schema::find(name).unwrap().faults(&document).is_empty() {
            members.note(Place { schema, node: schema, owner: &type_name(name) }, &document);
        }
    }
    let constant = members.constant();
    let listed: BTreeMap<String, Vec<String>> =
        rows("tests/proofs/constant-members.txt").into_iter().collect();
    let mut faults = Vec::new();
    for (member, value) in &constant {
        if listed.get(member).is_none_or(Vec::is_empty) {
            let seen = if value.is_empty() { "is in no document" } else { value };
            faults.push(format!("{member}: {seen}"));
        }
    }
    let varying = listed.keys().filter(|member| !constant.contains_key(*member));
    faults.extend(varying.map(|member| format!("{member} is not constant")));
    assert!(faults.is_empty(), "{} of {}\n{}\n", faults.len(), members.declared.len(), faults.join("\n"));
}

fn policy_of(path: &str, policy: &str, text: &str) -> Files {
    Files::from_texts(&[(".qa-skill/policy.toml", policy), (path, text)])
}

/// Models with settings that no other test has, and a review in parts, each of which finds something.
#[test]
fn reviews_of_other_settings_are_stored() {
    let own = "model = \"ours\"\ncapabilities = { sampling = \"never\", efforts = [\"low\", \"high\"], max-output-tokens = 9000 }";
    for (surface, settings, provider) in [
        (MESSAGES, "auth-scheme = \"x-api-key\"\nservice-tier = \"auto\"\neffort = \"low\"", ""),
        (CHAT, "seed = 7", ""),
        (RESPONSES, &format!("{own}\neffort = \"high\""), ""),
        (MESSAGES, "endpoint = \"anthropic\"", "without a key"),
    ] {
        let server = Server::start(move |_| {
            let mut answer = answer(surface, &json!({"findings": [reviews::finding()]}).to_string());
            answer["reasoning"] = json!({"effort": "high"});
            answer["system_fingerprint"] = json!("fp_1");
            answer["model"] = if surface == RESPONSES { json!("ours") } else { answer["model"].clone() };
            Response::json(200, &answer).header("x-request-id", "req_1")
        });
        let review = "[lenses.review-security]\nmodel = \"review\"\n";
        let policy = format!("{review}{}", answers::policy(surface, &server.url(), settings));
        let large: String = (0..2000).map(|line| format!("value_{line} = {line}\n")).collect();
        let mut files = vec![("app.py", reviews::FAULT)];
        files.extend(["one.py", "two.py", "three.py"].map(|path| (path, large.as_str())));
        let repo = reviews::repository(&policy, &files);
        let program = if provider.is_empty() { reviews::run(&repo) } else { repo.judge() };
        program.run();
        let plans = repo.run_dir().json("lens-plan.json").to_string();
        assert!(plans.contains("part-002"), "{plans}");
    }
}

/// Commands with a network, in a project below the root, over their time, and of a report with a version.
#[test]
fn commands_of_other_settings_are_stored() {
    let lint = "[gates.lint]\nrun = [\"ruff\"]\n";
    let network = EXECUTION.replace("exec_sandboxed_network_off", "exec_sandboxed").replace("= 60", "= 2");
    let policy = format!("{network}{lint}");
    for (says, code) in [("sleep 9\n", "EXECUTION_TIMEOUT"), ("kill -9 $$\n", "EXECUTION_EXIT_NONZERO")] {
        let tree = |text: &str| {
            let files = policy_of("sub/a.py", &policy, text).with("sub/pyproject.toml", "[tool.ruff]\n");
            files.with("sub/says", says)
        };
        let Some(scene) = Scene::from_files(&tree("a = 1\n"), &tree("a = 2\n")) else { return };
        scene.judge().expect(3);
        assert!(scene.codes().contains(&code.to_owned()), "{:?}", scene.codes());
    }
}

/// A command whose test leaves a picture.
#[test]
fn a_picture_of_a_command_is_stored() {
    let policy = format!("{EXECUTION}[gates.browser_tests]\nrun = [\"playwright\"]\n");
    let picture =
        json!([{"name": "screenshot", "contentType": "image/png", "path": "/github/workspace/shot.png"}]);
    let report = kinds()[3].passes.replace("\"attachments\":[]", &format!("\"attachments\":{picture}"));
    let says = format!("printf '\\211PNG\\r\\n\\032\\n' > shot.png\n{report}");
    let tree = |text: &str| {
        let files = policy_of("src/a.py", &policy, text).with("says", &says).with("playwright.config.js", "");
        files.with("package.json", "{\"devDependencies\": {\"@playwright/test\": \"1\"}}")
    };
    let Some(scene) = Scene::from_files(&tree("a = 1\n"), &tree("a = 2\n")) else { return };
    scene.judge().expect(0);
    let execution = scene.repo.run_dir().json("recordings/execution.json");
    assert!(execution["commands"][0]["pictures"][0]["sha256"].is_string(), "{execution}");
}

/// The step of another feature, bound to a test of a project below the root that checks nothing.
#[test]
fn stories_of_another_feature_are_stored() {
    let policy = "[lenses.feature-guard]\nenabled = false\nrequired = false\n[gates.story_validation]\n\
        reports = [{ path = \"reports/web.xml\", tool = \"pytest\", directory = \"web\", record = \"optional\" }]\n";
    let list = json!([{"id": 7, "description": "It is sent", "steps": ["Step 1: send it"], "passes": false}]);
    let base = policy_of("web/m.py", policy, "a = 1\n")
        .with("feature_list.json", list.to_string())
        .with("workflow-state.json", crate::gates_story::state("QA_READY", "qa").replace("42", "7"))
        .with("stories/7.json", "{ \"1\": \"web/test_m.py::test_sends\" }")
        .with("web/test_m.py", "def test_sends():\n    pass\n");
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("web/m.py", "a = 2\n"));
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    let case = "<testcase classname=\"test_m\" name=\"test_sends\" file=\"test_m.py\"/>";
    let report = format!("<testsuite name=\"pytest\" tests=\"1\">{case}</testsuite>");
    std::fs::write(repo.path().join("reports/web.xml"), report).unwrap();
    let said = repo.judge().run().expect(1).text();
    assert!(said.contains("passes and checks nothing"), "{said}");
}

/// A ratchet of another rule and language, a waiver of somebody else, and imports of every form.
#[test]
fn changes_of_other_kinds_are_stored() {
    let ratchet = "[limits]\nmax-blob-bytes = 100000\n[rules.\"merge-leftover/debugger-statement\"]\nstrength = \"ratchet\"\n\
        [rules.\"blocking-call/in-async-function\"]\nstrength = \"ratchet\"\n";
    let waiver = "[[waiver]]\nrule = \"secret-token/provider-token\"\nevidence-hash = \"@\"\nowner = \"bob\"\nreason = \"another\"\nexpires = \"2031-02-03\"\n";
    let key = format!("key = \"{}\"\n", crate::support::token());
    let other = "export * from \"./third\";\nexport function late() {\n  return require(\"./third\");\n}\nimport { used } from \"./used\";\n";
    let python = "from app.used import *\n\ntry:\n    import app.third\nexcept ImportError:\n    pass\n\n\ndef late():\n    import app.fourth\n";
    let base = policy_of("src/used.ts", ratchet, "export const used = 1;\n")
        .with("src/third.ts", "export const third = 3;\n")
        .with("src/data.json", "{}\n")
        .with("app/used.py", "a = 1\n")
        .with("app/__init__.py", "")
        .with("app/other.py", python)
        .with("src/other.ts", other);
    let head = base
        .clone()
        .with("src/used.ts", "import { late } from \"./other\";\nimport data from \"./data.json\";\nimport gone from \"./gone\";\nexport const used = late(data, gone);\ndebugger;\n")
        .with("app/used.py", "from app.other import late\n\na = late()\n")
        .with("app/slow.py", "import time\n\n\nasync def load():\n    time.sleep(1)\n")
        .with("test/used.test.ts", "describe.only(\"used\", () => {\n  it(\"is\", () => expect(1).toBe(1));\n});\n")
        .with("config.py", key);
    let repo = Repo::new();
    repo.change(&base, &head);
    repo.judge().run().expect(1);
    let verdict = repo.run_dir().json("final-verdict.json");
    let blocking = verdict["blockingFindings"].as_array().unwrap().iter();
    let token = { blocking }.find(|finding| finding["ruleId"] == "secret-token/provider-token").unwrap();
    let waived = waiver.replace('@', token["evidenceHash"].as_str().unwrap());
    let with = |files: &Files| files.clone().with(".qa-skill/waivers.toml", &waived);
    repo.change(&with(&base), &with(&head));
    repo.judge().run();
    assert_eq!(runs_in(&repo.beside("out")).len(), 2);
    // What was found before is compared with what is found of another kind.
    let clean = repo.commit(repo.tree(&base), &[repo.tip("topic")]);
    repo.reference("refs/heads/topic", clean);
    repo.judge().arg("--since").arg(repo.beside("out")).run();
    // Each change of the history by itself, and one that changes nothing.
    let conflicts = head.clone().with("b.toml", crate::support::conflict());
    let large = base.clone().with("src/used.ts", "export const used = 1;\n".repeat(5000));
    let trees = [&base, &base, &head, &conflicts, &large].map(|files| repo.tree(files));
    let more = trees.into_iter().zip(1..).fold(clean, |parent, (tree, number)| {
        repo.commit_saying(&format!("Change number {number}"), tree, &[parent])
    });
    repo.reference("refs/heads/topic", more);
    for preset in ["default", "guarded"] {
        let calibrate =
            qa_skill(["calibrate", "--head", "topic", "--preset", preset, "--format", "json", "--repo"]);
        let cost = calibrate.arg(repo.path()).run().expect(0).json();
        assert!(!cost["blocked"].as_array().unwrap().is_empty(), "{cost}");
    }
}

/// A finding that comes late, and what is kept of each answer for the next push.
#[test]
fn what_reviews_said_before_is_stored() {
    let says = Arc::new(Mutex::new(Vec::new()));
    let said = Arc::clone(&says);
    let server = Server::start(move |_| reviews::findings(CHAT, &said.lock().unwrap()));
    let review = reviews::reviewing(CHAT, &server.url(), "samples = 2");
    let policy = format!("[lenses.review-performance]\nmodel = \"review\"\n{review}");
    let text = format!("{}extra = find(\"x\")\nmore = find(extra)\n", reviews::FAULT);
    let repo = reviews::repository(&policy, &[("app.py", &text)]);
    let out = repo.beside("out");
    let judge = || reviews::run(&repo).args(["--pull-request", "7", "--since"]).arg(&out).run();
    judge().expect(0);
    let mut late =
        reviews::model_finding("review-security/path-traversal", "app.py", 7, "more = find(extra)");
    (late["severity"], late["suggestion"]) = (json!("low"), json!("Check the name."));
    late["summary"] = json!("The name is a path.");
    says.lock().unwrap().push(late);
    let files = Files::from_texts(&[(".qa-skill/policy.toml", &policy), ("app.py", &text)]);
    let push = |path: &str| {
        let next = repo.commit(repo.tree(&files.clone().with(path, "b = 1\n")), &[repo.tip("topic")]);
        repo.reference("refs/heads/topic", next);
        judge();
    };
    push("b.py");
    let delta: Value = serde_json::from_slice(&std::fs::read(out.join("runs/delta.json")).unwrap()).unwrap();
    assert_eq!(delta["new"][0]["late"], true, "{delta}");
    push("c.py");
}

/// A second version of a rubric, of a later commit.
#[test]
fn a_later_rubric_is_stored() {
    let mut world = World::held(&[]);
    let broken = "def readItem(itemCount):\n    return itemCount\n";
    world.change(&[("src/app/lateItem.py", broken)], &[]);
    let repo = &world.repo;
    let later = repo.commit_at(repo.tree_at_tip("main"), &[repo.tip("main")], 1_800_000_000);
    repo.reference("refs/heads/main", later);
    let draft = world.drafted("again");
    world.approve(&draft, &everything()).expect(0);
    assert!(world.repo.path().join(".qa-skill/rubrics/2.json").exists());
}

/// Reports of nights, with conventions that hold no longer, and a list of artifacts that ends too early.
#[test]
fn reports_of_nights_are_stored() {
    for files in [
        crate::consistency::fallen(),
        crate::consistency::fallen().with("src/app/more.py", "def readMore():\n    pass\n"),
    ] {
        let repo = Repo::new();
        repo.reference("refs/heads/topic", repo.commit(repo.tree(&files), &[]));
        let server = Server::start(|_| Response::json(200, &json!({"total_count": 0, "artifacts": []})));
        let name = format!("acme/of-{}", repo.tip("topic"));
        let night = nightly(&server, &repo.path()).env("GITHUB_REPOSITORY", name).args(["--format", "json"]);
        let night = night.run().expect(0);
        assert!(!night.json()["rubric"]["fallen"].as_array().unwrap().is_empty(), "{}", night.text());
    }
}
