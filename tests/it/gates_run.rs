//! Quality gates that run tools themselves: what a command does to a verdict, and what it must never do.
//!
//! The tools here are scripts that do what a file of the commit tells them, so that each way to end can be had.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::support::canaries::{Canaries, Recorded};
use crate::support::fence::{As, Yard, can_be};
use crate::support::origin::Origin;
use crate::support::step::Step;
use crate::support::{Files, Outcome, Repo, RunDir, git, qa_skill, runs_in};

const POLICY: &str = ".qa-skill/policy.toml";
/// A Python project that uses every tool for Python, and Playwright beside.
const PROJECT: &str = "[project]\nname = \"a\"\n[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n";
pub(crate) const EXECUTION: &str = r#"
[execution]
profile = "exec_sandboxed_network_off"
lens-classes = ["style", "architecture", "consistency"]
toolchains = [{ path = "stubs", provide = "copy" }]
limits = { timeout-seconds = 60 }

[[execution.allow]]
prefix = ["ruff", "check"]
match = [["ruff", "check", "."]]
not-match = [["ruff", "format"]]
[[execution.allow]]
prefix = ["mypy"]
match = [["mypy", "."]]
not-match = [["dmypy"]]
[[execution.allow]]
prefix = ["pytest"]
match = [["pytest"]]
not-match = [["python", "-m", "pytest"]]
[[execution.allow]]
prefix = ["playwright", "test"]
match = [["playwright", "test", "--reporter=json"]]
not-match = [["playwright", "install"]]
"#;

/// A gate, its tool, and what the tool's stub has to do for each way to end.
pub(crate) struct Kind {
    pub(crate) gate: &'static str,
    pub(crate) tool: &'static str,
    pub(crate) passes: String,
    pub(crate) fails: String,
    pub(crate) nothing: String,
    pub(crate) finding: &'static str,
}

fn junit(tests: &[(&str, bool)]) -> String {
    let failures = tests.iter().filter(|(_, passes)| !passes).count();
    let cases: String = tests
        .iter()
        .map(|(name, passes)| {
            let inside = if *passes { "" } else { r#"<failure message="no">src/a.py:2: no</failure>"# };
            format!(r#"<testcase classname="a" name="{name}" file="src/a.py" line="1" time="0.1">{inside}</testcase>"#)
        })
        .collect();
    format!(
        r#"<?xml version="1.0"?><testsuites><testsuite name="pytest" tests="{0}" failures="{failures}" errors="0" skipped="0">{cases}</testsuite></testsuites>"#,
        tests.len()
    )
}

/// What pytest's stub does to leave a report of some tests.
pub(crate) fn pytest(tests: &[(&str, bool)]) -> String {
    let status = i32::from(tests.iter().any(|(_, passes)| !passes));
    format!("cat > .qa-skill-gate-pytest.xml <<'END'\n{}\nEND\nexit {status}\n", junit(tests))
}

fn playwright(test: Option<bool>) -> String {
    let report = json!({
        "config": {
            "configFile": "/github/workspace/playwright.config.js", "rootDir": "/github/workspace/src",
            "version": "1.65.1", "projects": []
        },
        "suites": test.map(|passes| json!({
            "title": "a.py", "file": "a.py", "column": 0, "line": 0,
            "specs": [{
                "title": "adds", "ok": passes, "tags": [], "id": "1", "file": "a.py", "line": 2, "column": 1,
                "tests": [{
                    "timeout": 30000, "annotations": [], "expectedStatus": "passed", "projectId": "", "projectName": "",
                    "results": [{
                        "status": if passes { "passed" } else { "failed" }, "retry": 0, "annotations": [], "attachments": [],
                        "errors": if passes { json!([]) } else { json!([{ "message": "no" }]) }
                    }],
                    "status": if passes { "expected" } else { "unexpected" }
                }]
            }]
        })).into_iter().collect::<Vec<_>>(),
        "errors": if test.is_none() { json!([{ "message": "Error: No tests found" }]) } else { json!([]) },
        "stats": {
            "expected": u8::from(test == Some(true)), "skipped": 0,
            "unexpected": u8::from(test == Some(false)), "flaky": 0
        }
    });
    format!("cat <<'END'\n{report}\nEND\nexit {}\n", i32::from(test != Some(true)))
}

pub(crate) fn kinds() -> [Kind; 4] {
    let ruff = r#"[{"cell": null, "code": "F401", "end_location": {"column": 10, "row": 2}, "filename": "'"$PWD"'/src/a.py", "fix": null, "location": {"column": 8, "row": 2}, "message": "unused", "noqa_row": 2, "url": null}]"#;
    [
        Kind {
            gate: "lint",
            tool: "ruff",
            passes: "echo '[]'".to_owned(),
            fails: format!("echo '{ruff}'; exit 1"),
            nothing: "echo '[]'; echo 'warning: No Python files found under the given path(s)' >&2"
                .to_owned(),
            finding: "lint/error src/a.py:2",
        },
        Kind {
            gate: "type_check",
            tool: "mypy",
            passes: "echo 'Success: no issues found in 1 source file'".to_owned(),
            fails: "echo 'src/a.py:2:1:2:5: error: Wrong  [misc]'; \
                    echo 'Found 1 error in 1 file (checked 1 source file)'; exit 1"
                .to_owned(),
            nothing: "echo \"There are no .py[i] files in directory '.'\" >&2; exit 2".to_owned(),
            finding: "type_check/error src/a.py:2",
        },
        Kind {
            gate: "unit_tests",
            tool: "pytest",
            passes: pytest(&[("one", true)]),
            fails: pytest(&[("one", true), ("two", false)]),
            nothing: format!("{}\nexit 5", pytest(&[]).replace("exit 0", "")),
            finding: "unit_tests/failure src/a.py:2",
        },
        Kind {
            gate: "browser_tests",
            tool: "playwright",
            passes: playwright(Some(true)),
            fails: playwright(Some(false)),
            nothing: playwright(None),
            finding: "browser_tests/failure src/a.py:2",
        },
    ]
}

/// A repository whose change touches one file, and where tools do what the commit's file `says` tells them.
pub(crate) struct Scene {
    pub(crate) repo: Repo,
}

fn files(policy: &str, says: &str, more: &str) -> Files {
    Files::from_texts(&[
        (POLICY, policy),
        ("pyproject.toml", PROJECT),
        ("package.json", "{\"devDependencies\": {\"@playwright/test\": \"1\"}}"),
        ("playwright.config.js", ""),
        (".gitignore", "/stubs\n/.qa-skill/runs\n"),
        ("says", says),
        ("src/a.py", &format!("a = 1\nb = 2\n{more}")),
    ])
}

/// A tool that does what the commit's file `says` tells it.
fn stub(checkout: &Path, tool: &str) {
    let program = checkout.join("stubs/bin").join(tool);
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo {tool} 1.2.3 && exit\n. ./says\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

impl Scene {
    pub(crate) fn from_files(base: &Files, head: &Files) -> Option<Self> {
        if !can_be(As::Root) {
            return None;
        }
        let repo = Repo::new();
        repo.change(base, head);
        let scene = Self { repo };
        for kind in kinds() {
            stub(&scene.repo.path(), kind.tool);
        }
        Some(scene)
    }

    pub(crate) fn new(policy: &str, says: &str) -> Option<Self> {
        Self::from_files(&files(policy, says, ""), &files(policy, says, "c = 3\n"))
    }

    pub(crate) fn judge(&self) -> Outcome {
        self.repo.judge().run()
    }

    fn verdict(&self) -> Value {
        self.repo.run_dir().json("final-verdict.json")
    }

    pub(crate) fn codes(&self) -> Vec<String> {
        let verdict = self.verdict();
        let codes = verdict["errorCodes"].as_array().unwrap();
        codes.iter().map(|code| code.as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn warnings(&self) -> Vec<Value> {
        self.verdict()["warningCodes"].as_array().unwrap().clone()
    }

    pub(crate) fn commands(&self) -> Vec<Value> {
        self.repo.run_dir().json("recordings/execution.json")["commands"].as_array().unwrap().clone()
    }

    /// A replay has neither tools nor a fence, and still comes to the same.
    pub(crate) fn replays(&self) {
        fs::remove_dir_all(self.repo.path().join("stubs")).unwrap();
        self.repo.run_dir().verify().run().expect(0);
        let repo = self.repo.path();
        self.repo.run_dir().verify().args(["--repo", repo.to_str().unwrap()]).run().expect(0);
    }
}

fn policy(mode: &str, gates: &str) -> String {
    format!("mode = \"{mode}\"\n{EXECUTION}\n{gates}")
}

pub(crate) fn runs(kind: &Kind, required: bool) -> String {
    format!("[gates.{}]\nrequired = {required}\nrun = [\"{}\"]\n", kind.gate, kind.tool)
}

#[test]
fn every_gate_passes_and_fails_at_a_line_in_both_modes() {
    for kind in kinds() {
        for mode in ["strict", "best_effort"] {
            let policy = policy(mode, &runs(&kind, true));
            let Some(scene) = Scene::new(&policy, &kind.passes) else { return };
            scene.judge().expect(0);
            let qa = scene.repo.run_dir().json("qa-report.json");
            assert_eq!(qa["summary"], "1 of 1 gates passed", "{}", kind.gate);
            assert!(qa["gates"][kind.gate]["duration_ms"].is_u64(), "{qa}");
            scene.replays();

            let clean = files(&policy, &kind.passes, "");
            let scene = Scene::from_files(&clean, &files(&policy, &kind.fails, "c = 3\n")).unwrap();
            scene.judge().expect(1);
            assert_eq!(scene.repo.run_dir().findings(), [kind.finding], "{}", kind.gate);
            scene.replays();
        }
    }
}

#[test]
fn what_did_not_come_to_an_end_is_never_a_pass() {
    for kind in kinds() {
        let endings = [
            (kind.nothing.as_str(), "GATE_NOTHING_RAN"),
            ("exit 0", "GATE_REPORT_INCOMPLETE"),
            ("echo garbage; echo garbage > .qa-skill-gate-pytest.xml; exit 0", "GATE_REPORT_INCOMPLETE"),
            ("kill -9 $$", "EXECUTION_EXIT_NONZERO"),
            ("exit 77", "EXECUTION_EXIT_NONZERO"),
            ("yes; exit 0", "EXECUTION_LIMIT_EXCEEDED"),
            ("while :; do :; done", "EXECUTION_TIMEOUT"),
        ];
        for (index, (says, code)) in endings.into_iter().enumerate() {
            let mode = ["strict", "best_effort"][(index + kind.gate.len()) % 2];
            let limits =
                EXECUTION.replace("timeout-seconds = 60", "timeout-seconds = 2, max-stdout-bytes = 65536");
            let policy = format!("mode = \"{mode}\"\n{limits}\n{}", runs(&kind, true));
            let Some(scene) = Scene::new(&policy, says) else { return };
            scene.judge().expect(3);
            let codes = scene.codes();
            // An error outside tests is a finding where the tool can say so.
            assert!(
                codes.iter().any(|found| found == code),
                "{} {says}: {codes:?} without {code}",
                kind.gate
            );
            assert!(codes.iter().any(|found| found == "LENS_REQUIRED_FAILED"), "{codes:?}");
            scene.replays();
        }
    }
}

#[test]
fn a_tool_that_is_not_there_is_named_and_never_taken_from_the_commit() {
    for kind in kinds() {
        let policy = policy("strict", &runs(&kind, true));
        let with = |more: &str| {
            let planted = "#!/bin/sh\necho '[]'\n";
            files(&policy, &kind.passes, more)
                .mode("100755", format!("bin/{}", kind.tool), planted)
                .mode("100755", format!("node_modules/.bin/{}", kind.tool), planted)
                .mode("100755", kind.tool, planted)
        };
        let Some(scene) = Scene::from_files(&with(""), &with("c = 3\n")) else { return };
        fs::remove_file(scene.repo.path().join("stubs/bin").join(kind.tool)).unwrap();
        let outcome = scene.judge().expect(3);
        assert!(scene.codes().contains(&"GATE_TOOL_MISSING".to_owned()), "{:?}", scene.codes());
        assert!(outcome.text().contains(&format!("start {}", kind.tool)), "{}", outcome.text());
        scene.replays();
    }
}

#[test]
fn without_a_gate_that_is_not_required_only_best_effort_passes() {
    let cases: [(&str, i32, &[&str]); 2] = [
        ("strict", 3, &["EXECUTION_EXIT_NONZERO", "LENS_OPTIONAL_FAILED"]),
        ("best_effort", 0, &["EXECUTION_EXIT_NONZERO"]),
    ];
    for (mode, exit, codes) in cases {
        let kind = &kinds()[0];
        let Some(scene) = Scene::new(&policy(mode, &runs(kind, false)), "exit 77") else { return };
        scene.judge().expect(exit);
        assert_eq!(scene.verdict()["degraded"], true);
        assert_eq!(scene.codes(), codes);
    }
}

#[test]
fn without_profile_and_class_nothing_is_executed() {
    let kind = &kinds()[0];
    let denied = [
        ("profile = \"exec_sandboxed_network_off\"\n", ""),
        ("\"exec_sandboxed_network_off\"", "\"read_only\""),
        ("\"style\", ", ""),
    ];
    for (from, to) in denied {
        for (mode, required, exit) in [("strict", true, 3), ("strict", false, 3), ("best_effort", false, 0)] {
            let policy = policy(mode, &runs(kind, required)).replace(from, to);
            let Some(scene) = Scene::new(&policy, &kind.passes) else { return };
            scene.judge().expect(exit);
            assert!(scene.codes().contains(&"EXECUTION_DENIED".to_owned()), "{:?}", scene.codes());
            assert_eq!(scene.commands(), [Value::Null; 0]);
            scene.replays();
        }
    }
}

#[test]
fn a_command_outside_every_prefix_rejects_the_run_in_both_modes() {
    let (lint, types) = (&kinds()[0], &kinds()[1]);
    for mode in ["strict", "best_effort"] {
        let gates = format!("{}{}", runs(lint, false), runs(types, true));
        let policy = policy(mode, &gates)
            .replace("prefix = [\"ruff\", \"check\"]", "prefix = [\"ruff\", \"check\", \"src\"]");
        let policy = policy.replace("[\"ruff\", \"check\", \".\"]", "[\"ruff\", \"check\", \"src\"]");
        let Some(scene) = Scene::new(&policy, &types.passes) else { return };
        scene.judge().expect(3);
        assert_eq!(scene.verdict()["status"], "FAIL");
        assert!(scene.codes().contains(&"EXECUTION_POLICY_VIOLATION".to_owned()), "{:?}", scene.codes());
        assert_eq!(scene.commands(), [Value::Null; 0], "nothing of any gate is run");
        scene.replays();
    }
}

#[test]
fn what_the_base_says_too_is_not_held_against_the_change() {
    let kind = &kinds()[0];
    for (gate, exit) in [("", 0), ("run-base = false\n", 1)] {
        let policy = policy("strict", &format!("{}{gate}", runs(kind, true)));
        let Some(scene) = Scene::new(&policy, &kind.fails) else { return };
        scene.judge().expect(exit);
        assert_eq!(scene.repo.run_dir().findings(), [kind.finding]);
        scene.replays();
    }
    // A base that cannot be judged excuses nothing.
    let policy = policy("best_effort", &runs(kind, true));
    let (base, head) = (files(&policy, "exit 77", ""), files(&policy, &kind.fails, "c = 3\n"));
    let scene = Scene::from_files(&base, &head).unwrap();
    scene.judge().expect(1);
    assert_eq!(scene.verdict()["warningCodes"], json!(["EXECUTION_EXIT_NONZERO"]));
    scene.replays();
}

#[test]
fn a_test_that_passes_when_tried_again_is_flaky_and_one_that_never_does_fails() {
    let kind = &kinds()[2];
    let policy = policy("strict", &runs(kind, true));
    let clean = files(&policy, &kind.passes, "");
    let attempts = |scene: &Scene| -> Vec<(Value, Value)> {
        let head = scene.commands().into_iter().filter(|it| it["ordinal"] == 0);
        head.map(|it| (it["attempt"].clone(), it["exitCode"].clone())).collect()
    };
    let never = pytest(&[("one", true), ("two", false)]);
    let Some(scene) = Scene::from_files(&clean, &files(&policy, &never, "c = 3\n")) else { return };
    scene.judge().expect(1);
    assert_eq!(attempts(&scene), [(json!(1), json!(1)), (json!(2), json!(1)), (json!(3), json!(1))]);
    assert_eq!(scene.repo.run_dir().findings(), [kind.finding]);
    scene.replays();

    // Attempts share nothing that could count them, so chance has to do.
    let always = pytest(&[("one", true), ("two", true)]);
    let says = format!("case $(cat /proc/sys/kernel/random/uuid) in [0-7]*) {never};; esac\n{always}");
    let says = says.replace("exit 1\n;;", "exit 1;;");
    let mut seen = std::collections::BTreeSet::new();
    while !seen.contains("flaky") || !seen.contains("passed") {
        let scene = Scene::from_files(&clean, &files(&policy, &says, "c = 3\n")).unwrap();
        let outcome = scene.judge();
        let attempts = attempts(&scene);
        let passed = attempts.last().is_some_and(|(_, exit)| exit == 0);
        let expected: &[&str] = match (passed, attempts.len()) {
            (true, 1) => &[],
            (true, _) => &["unit_tests/flaky src/a.py:2"],
            (false, _) => &[kind.finding],
        };
        outcome.expect(i32::from(!passed));
        assert_eq!(scene.repo.run_dir().findings(), expected, "{attempts:?}");
        let qa = scene.repo.run_dir().json("qa-report.json");
        assert_eq!(qa["retry_count"], attempts.len() as u64 - 1);
        scene.replays();
        seen.insert(if expected.is_empty() { "passed" } else { if passed { "flaky" } else { "failed" } });
    }
}

#[test]
fn a_report_is_only_what_the_command_itself_wrote() {
    let kind = &kinds()[2];
    let policy = policy("strict", &runs(kind, true));
    let forged = |says: &str, more: &str| {
        files(&policy, says, more).with(".qa-skill-gate-pytest.xml", junit(&[("forged", true)]))
    };
    for says in
        ["exit 0", "ln -s /etc/hostname .qa-skill-gate-pytest.xml", "mkfifo .qa-skill-gate-pytest.xml"]
    {
        let Some(scene) = Scene::from_files(&forged(says, ""), &forged(says, "c = 3\n")) else { return };
        scene.judge().expect(3);
        scene.replays();
    }
}

#[test]
fn a_tool_that_the_change_removes_from_its_project_is_no_pass() {
    let kind = &kinds()[0];
    let policy = policy("best_effort", &runs(kind, true));
    let head = files(&policy, &kind.passes, "").with("pyproject.toml", "[project]\nname = \"a\"\n");
    let Some(scene) = Scene::from_files(&files(&policy, &kind.passes, ""), &head) else { return };
    scene.judge().expect(3);
    assert!(scene.codes().contains(&"GATE_NOTHING_RAN".to_owned()), "{:?}", scene.codes());
    scene.replays();
}

#[test]
fn a_change_outside_every_project_passes_only_where_the_policy_says_so() {
    let kind = &kinds()[0];
    for (untouched, exit) in
        [("", 3), ("untouched = \"could_not_complete\"\n", 3), ("untouched = \"pass\"\n", 0)]
    {
        let policy = policy("strict", &format!("{}{untouched}", runs(kind, true)));
        let tree = |text: &str| {
            Files::from_texts(&[
                (POLICY, policy.as_str()),
                ("python/pyproject.toml", PROJECT),
                ("docs/a.md", text),
            ])
        };
        let Some(scene) = Scene::from_files(&tree("a"), &tree("b")) else { return };
        scene.judge().expect(exit);
        scene.replays();
    }
}

#[test]
fn a_toolchain_that_is_committed_is_refused() {
    let kind = &kinds()[0];
    let policy = policy("strict", &runs(kind, true));
    let with = |more: &str| files(&policy, &kind.passes, more).with("stubs/readme", "x");
    let Some(scene) = Scene::from_files(&with(""), &with("c = 3\n")) else { return };
    scene.judge().expect(3);
    assert!(scene.codes().contains(&"EXECUTION_DENIED".to_owned()), "{:?}", scene.codes());
}

#[test]
fn secrets_that_a_command_prints_are_kept_nowhere() {
    let kind = &kinds()[0];
    let mut canaries = Canaries::default();
    let (errors, output) = (canaries.hatch("standard error"), canaries.hatch("standard output"));
    let fails = kind.fails.replace("unused", &output);
    let policy = policy("strict", &runs(kind, true));
    // The file that says it is no text to the lenses, or they would find the token themselves.
    for (says, exit) in [
        (format!("echo {errors} >&2; {}", kind.passes), 0),
        // The base says it too, so that it blocks nothing.
        (format!("echo {errors} >&2; {fails}"), 0),
        (format!("echo {errors} >&2; echo {output}; exit 2"), 3),
    ] {
        let Some(scene) = Scene::new(&policy, &says) else { return };
        let mut said = Recorded::default();
        said.streams("the run", &scene.judge().expect(exit));
        said.run(&scene.repo.run_dir());
        canaries.assert_no_leak(&said);
        scene.replays();
    }
}

/// The end of what is kept lies within the secret, of which no detector knows the half.
#[test]
fn a_secret_across_the_end_of_what_is_kept_of_an_output_is_kept_nowhere() {
    let kind = &kinds()[0];
    let mut canaries = Canaries::default();
    let limit = "max-stdout-bytes = 200, max-stderr-bytes = 300";
    let limits = EXECUTION.replace("timeout-seconds = 60", &format!("timeout-seconds = 60, {limit}"));
    let says = format!(
        "echo 'begin {}'; echo 'begin {}' >&2; exit 2\n",
        canaries.hatch_across("standard output", 194),
        canaries.hatch_across("standard error", 294)
    );
    let policy = format!("mode = \"strict\"\n{limits}\n{}", runs(kind, true));
    let Some(scene) = Scene::new(&policy, &says) else { return };
    let mut said = Recorded::default();
    said.streams("the run", &scene.judge().expect(3));
    said.run(&scene.repo.run_dir());
    let commands = scene.commands();
    for (name, limit) in [("stdout", 200), ("stderr", 300)] {
        let kept = commands[0][name]["text"].as_str().unwrap();
        assert!(kept.starts_with("begin x") && kept.len() < limit, "{name}: {kept}");
    }
    canaries.assert_no_leak(&said);
    scene.replays();
}

#[test]
fn a_version_that_a_tool_states_has_no_secret() {
    let kind = &kinds()[0];
    let Some(scene) = Scene::new(&policy("strict", &runs(kind, true)), &kind.passes) else { return };
    let mut canaries = Canaries::default();
    let program = scene.repo.path().join("stubs/bin").join(kind.tool);
    for version in [canaries.hatch("a version"), canaries.hatch_across("a long version", 200)] {
        let script = fs::read_to_string(&program).unwrap();
        let line = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}' && exit\n. ./says\n");
        assert_ne!(script, line);
        fs::write(&program, line).unwrap();
        let mut said = Recorded::default();
        said.streams("the run", &scene.repo.judge().arg("--refresh").run().expect(0));
        for run in runs_in(&scene.repo.beside("out")) {
            said.run(&RunDir(run));
        }
        canaries.assert_no_leak(&said);
    }
}

#[test]
fn a_rule_that_its_own_examples_contradict_is_refused_with_its_line() {
    let kind = &kinds()[0];
    let wrong = [
        ("not-match = [[\"ruff\", \"format\"]]", "not-match = [[\"ruff\", \"check\", \"--fix\"]]"),
        ("match = [[\"ruff\", \"check\", \".\"]]", "match = [[\"ruff\", \"format\"]]"),
        ("not-match = [[\"dmypy\"]]", "not-match = []"),
        ("run = [\"ruff\"]", "run = [\"rufff\"]"),
        ("run = [\"ruff\"]", "run = [\"mypy\"]"),
        ("path = \"stubs\"", "path = \"../stubs\""),
        ("limits = {", "environment = { PATH = \"/tmp\" }\nlimits = {"),
        ("timeout-seconds = 60", "timeout-seconds = 0"),
    ];
    for (from, to) in wrong {
        let text = policy("strict", &runs(kind, true));
        assert!(text.contains(from), "{from}");
        let Some(scene) = Scene::new(&text.replace(from, to), &kind.passes) else { return };
        let outcome = scene.judge().expect_code(2, "POLICY_INVALID");
        assert!(outcome.stderr.contains("line "), "{}", outcome.stderr);
    }
}

#[test]
fn a_policy_that_lets_more_run_or_runs_less_is_reported_as_weaker() {
    let kind = &kinds()[0];
    let before = policy("strict", &format!("{}confirm = true\n", runs(kind, true)));
    let after = before
        .replace("confirm = true\n", "")
        .replace("\"exec_sandboxed_network_off\"", "\"exec_sandboxed\"\nfork-heads = true")
        .replace("[[execution.allow]]\nprefix = [\"mypy\"]", "[[execution.allow]]\nprefix = [\"sh\"]\nmatch = [[\"sh\", \"a\"]]\nnot-match = [[\"bash\"]]\n[[execution.allow]]\nprefix = [\"mypy\"]")
        .replace("run = [\"ruff\"]", "reports = [{ path = \"ruff.json\", tool = \"ruff\" }]\nuntouched = \"pass\"")
        .replace("path = \"stubs\"", "path = \"more\" }, { path = \"stubs\"");
    let Some(scene) =
        Scene::from_files(&files(&before, &kind.passes, ""), &files(&after, &kind.passes, "c = 3\n"))
    else {
        return;
    };
    scene.judge().expect(0);
    let verdict = scene.verdict();
    let weakened = verdict["policyPreview"]["weakened"].as_array().unwrap();
    let names: Vec<&str> = weakened.iter().filter_map(|setting| setting["name"].as_str()).collect();
    let expected = [
        "execution.allow",
        "execution.fork-heads",
        "execution.profile",
        "execution.toolchains",
        "gates.lint.confirm",
        "gates.lint.run",
        "gates.lint.untouched",
    ];
    assert_eq!(names, expected);
}

/// A pull request on a main branch that has gone on since, with a policy that runs a tool.
fn pull_request(policy: &str, kind: &Kind) -> Option<Origin> {
    if !can_be(As::Root) {
        return None;
    }
    let repo = Repo::new();
    let commit = |files: &Files, parents: &[git2::Oid], time: i64| {
        repo.commit_at(repo.tree(files), parents, 1_714_564_800 + time)
    };
    let start = files(policy, &kind.passes, "");
    let topic = files(policy, &kind.passes, "c = 3\n");
    let fork_point = commit(&start, &[], 0);
    let base = commit(&start.clone().with("docs/a.md", "on main"), &[fork_point], 60);
    let head = commit(&topic.clone().with("only-head", "text"), &[fork_point], 120);
    let merge = commit(&topic.with("only-head", "text").with("docs/a.md", "on main"), &[base, head], 180);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/pull/7/head", head);
    repo.reference("refs/pull/7/merge", merge);
    git(&repo.path(), &["config", "uploadpack.allowFilter", "true"]);
    let merge_ref = "refs/pull/7/merge".to_owned();
    Some(Origin { repo: Rc::new(repo), number: 7, merge_ref, base, fork_point, head, merge })
}

#[test]
fn a_step_runs_tools_at_every_depth_of_checkout() {
    let kind = &kinds()[0];
    let Some(origin) = pull_request(&policy("strict", &runs(kind, true)), kind) else { return };
    let server = origin.serve();
    for depth in [1, 2, 0] {
        let step = Step::on_pull_request(&origin, &server, depth);
        stub(&step.checkout, kind.tool);
        step.run().expect(0);
        let commands = step.run_dir().json("recordings/execution.json")["commands"].clone();
        assert_eq!(commands.as_array().unwrap().len(), 1, "depth {depth}");
    }
}

#[test]
fn code_of_a_fork_is_run_only_where_the_policy_says_so_and_never_beside_secrets() {
    let kind = &kinds()[0];
    for (fork_heads, event, exit) in
        [(false, "pull_request", 3), (true, "pull_request", 0), (true, "pull_request_target", 3)]
    {
        let text = policy("strict", &runs(kind, true))
            .replace("lens-classes", &format!("fork-heads = {fork_heads}\nlens-classes"));
        let Some(origin) = pull_request(&text, kind) else { return };
        let server = origin.serve();
        let mut step = Step::on_pull_request(&origin, &server, 0);
        step.name = event;
        step.event["pull_request"]["head"]["repo"] = json!({"id": 2});
        stub(&step.checkout, kind.tool);
        step.run().expect(exit);
        let execution = step.run_dir().json("recordings/execution.json");
        let commands = execution["commands"].as_array().unwrap();
        assert_eq!(commands.len(), usize::from(exit == 0), "{event} {fork_heads}");
        assert_eq!(execution["denied"].is_string(), exit != 0);
        step.run_dir().verify().run().expect(0);
    }
}

#[test]
fn shards_run_nothing_and_the_one_that_joins_them_does() {
    let kind = &kinds()[0];
    let Some(scene) = Scene::new(&policy("strict", &runs(kind, true)), &kind.passes) else { return };
    let with = |command: &str, root: &str| {
        qa_skill([command, "--base", "main", "--head", "topic", "--repo"])
            .arg(scene.repo.path())
            .arg("--out")
            .arg(scene.repo.beside(root))
    };
    let stub = scene.repo.path().join("stubs");
    let elsewhere = scene.repo.beside("stubs");
    fs::rename(&stub, &elsewhere).unwrap();
    with("run", "parts").args(["--shard", "1/1"]).run().expect(0);
    fs::rename(&elsewhere, &stub).unwrap();
    with("aggregate", "out").arg("--parts").arg(scene.repo.beside("parts")).run().expect(0);
    assert_eq!(scene.commands().len(), 1);
    scene.replays();
}

#[test]
fn steps_of_features_are_shown_by_the_tests_of_other_gates() {
    let kind = &kinds()[2];
    let list = json!([{
        "id": 1, "category": "functional", "description": "Sums", "steps": ["Step 1: add"], "passes": true
    }]);
    let gates = format!("{}[gates.story_validation]\ntests-of = [\"unit_tests\"]\n", runs(kind, true));
    let policy = policy("strict", &gates);
    for (says, exit, finding) in [
        (pytest(&[("adds @feature:1 @step:1", true)]), 0, None),
        // A test that names no step shows none.
        (pytest(&[("adds", true)]), 1, Some("story_validation/failure feature_list.json:1")),
        ("exit 3".to_owned(), 3, None),
    ] {
        let with = |more: &str| files(&policy, &says, more).with("feature_list.json", list.to_string());
        let Some(scene) = Scene::from_files(&with(""), &with("c = 3\n")) else { return };
        scene.judge().expect(exit);
        assert_eq!(scene.repo.run_dir().findings(), finding.into_iter().collect::<Vec<_>>(), "{says}");
        scene.replays();
    }
}

#[test]
fn whoever_is_not_root_runs_tools_too_or_is_told_why_not() {
    let kind = &kinds()[0];
    let Some(scene) = Scene::new(&policy("strict", &runs(kind, true)), &kind.passes) else { return };
    let yard = Yard::new(As::Nobody);
    for directory in [scene.repo.path(), scene.repo.path().parent().unwrap().to_owned()] {
        fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let out = scene.repo.beside("out");
    fs::create_dir(&out).unwrap();
    fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
    scene.repo.judge().by_user(1001, &yard.binary()).run().expect(0);
    let execution = scene.repo.run_dir().json("recordings/execution.json");
    assert_eq!(execution["layers"]["identity"], "own-uid");
}

#[test]
fn what_kept_a_tool_from_looking_is_not_excused_by_the_base() {
    let [_, types, tests, _] = kinds();
    let stopped = "echo 'src/a.py:1:1:1:2: error: Duplicate module  [misc]'; \
                   echo 'Found 1 error in 1 file (errors prevented further checking)'; exit 2";
    let report = r#"<testsuites><testsuite name="pytest" tests="1" failures="0" errors="1" skipped="0"><testcase classname="" name="a" time="0.1"><error message="collection failure">no</error></testcase></testsuite></testsuites>"#;
    let interrupted = format!("echo '{report}' > .qa-skill-gate-pytest.xml; exit 2");
    for (kind, says) in [(&types, stopped), (&tests, interrupted.as_str())] {
        let Some(scene) = Scene::new(&policy("strict", &runs(kind, true)), says) else { return };
        scene.judge().expect(1);
        let qa = scene.repo.run_dir().json("qa-report.json");
        let notes = qa["gates"][kind.gate]["notes"].to_string();
        assert!(notes.contains("nothing of it is excused"), "{notes}");
        scene.replays();
    }
}

#[test]
fn two_honest_runs_of_one_commit_agree_although_commands_take_their_time() {
    let [lint, ..] = kinds();
    let policy = policy("strict", &runs(&lint, true));
    let says =
        "read up rest < /proc/uptime; echo \"Finished in ${up}s\" >&2; sleep 0.0\"${up#*.}\"; echo '[]'";
    let Some(scene) = Scene::new(&policy, says) else { return };
    for _ in 0..2 {
        let outcome = scene.judge();
        assert_eq!(outcome.exit, 0, "{}{}", outcome.text(), outcome.stderr);
    }
    let runs = crate::support::runs_in(&scene.repo.beside("out"));
    let [first, second] = &runs[..] else { panic!("{runs:?}") };
    let read = |run: &Path| std::fs::read(run.join("recordings/execution.json")).unwrap();
    assert_ne!(read(first), read(second), "the clock went on");
    let compared = crate::support::qa_skill(["drift-check"]).arg(first).arg(second).run().expect(0);
    assert!(compared.text().contains("same"), "{}", compared.text());
}
