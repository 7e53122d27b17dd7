//! Commands that the policy declares for tools that nobody described, and reports of such tools.
//!
//! The tool here is a script that does what the commit's file `says` tells it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::fence::{As, can_be};
use crate::support::{Files, Outcome, Repo, qa_skill, temp};

const POLICY: &str = ".qa-skill/policy.toml";
pub(crate) const EXECUTION: &str = r#"
[execution]
profile = "exec_sandboxed_network_off"
lens-classes = ["style", "consistency"]
toolchains = [{ path = "stubs", provide = "copy" }]
limits = { timeout-seconds = 60 }
[[execution.allow]]
prefix = ["runner", "test"]
match = [["runner", "test", "all"]]
not-match = [["runner", "deploy"]]
"#;
pub(crate) const COMMAND: &str = r#"
[[gates.unit_tests.command]]
run = ["runner", "test", "all"]
report = "target/reports/*.xml"
format = 'junit'
name = "runner"
"#;

pub(crate) fn suite(name: &str, cases: &[(&str, bool)]) -> String {
    let cases: String = cases
        .iter()
        .map(|(case, passes)| {
            let inside = if *passes { "" } else { "<failure message=\"no\">src/a.kt:2: no</failure>" };
            format!("<testcase classname=\"{name}\" name=\"{case}\" file=\"src/a.kt\">{inside}</testcase>")
        })
        .collect();
    format!("<testsuite name=\"{name}\">{cases}</testsuite>")
}

/// Script by which the tool leaves report files and ends with a status.
pub(crate) fn leaves(files: &[(&str, &str)], status: i32) -> String {
    let mut says = "mkdir -p target/reports\n".to_owned();
    for (path, text) in files {
        says.push_str(&format!("cat > target/reports/{path} <<'END'\n{text}\nEND\n"));
    }
    format!("{says}exit {status}\n")
}

pub(crate) fn files(policy: &str, says: &str, more: &str) -> Files {
    Files::from_texts(&[
        (POLICY, policy),
        (".gitignore", "/stubs\n/target\n/.qa-skill/runs\n"),
        ("says", says),
        ("src/a.kt", &format!("a = 1\nb = 2\n{more}")),
        ("docs/a.md", "text\n"),
    ])
}

pub(crate) struct Scene {
    pub(crate) repo: Repo,
}

impl Scene {
    /// A change of `src/a.kt`, and of what the tool does.
    pub(crate) fn new(policy: &str, before: &str, says: &str) -> Option<Self> {
        Self::from_files(&files(policy, before, ""), &files(policy, says, "c = 3\n"))
    }

    fn from_files(base: &Files, head: &Files) -> Option<Self> {
        if !can_be(As::Root) {
            return None;
        }
        let repo = Repo::new();
        repo.change(base, head);
        let program = repo.path().join("stubs/bin/runner");
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        let script = "#!/bin/sh\n[ \"$1\" = --version ] && echo runner 1.2.3 && exit\n. ./says\n";
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Some(Self { repo })
    }

    pub(crate) fn judge(&self) -> Outcome {
        let outcome = self.repo.judge().run();
        // A replay has no tool and comes to the same.
        if self.repo.beside("out").exists() {
            self.repo.run_dir().verify().run().expect(0);
        }
        outcome
    }

    pub(crate) fn verdict(&self, key: &str) -> Value {
        self.repo.run_dir().json("final-verdict.json")[key].clone()
    }

    /// The recorded commands; a run that calls for none records none.
    pub(crate) fn commands(&self) -> Vec<Value> {
        let run_dir = self.repo.run_dir();
        if !run_dir.path("recordings/execution.json").exists() {
            return Vec::new();
        }
        run_dir.json("recordings/execution.json")["commands"].as_array().unwrap().clone()
    }
}

/// Change of report files after their command, by a name.
type Change = (&'static str, fn(&Path));

fn policy(gate: &str) -> String {
    format!("{EXECUTION}\n{gate}")
}

#[test]
fn a_command_of_the_policy_decides_by_all_of_its_reports() {
    let one = suite("one", &[("adds", true)]);
    let two = suite("two", &[("takes", true)]);
    let bad = suite("two", &[("takes", false)]);
    let idle = "<testsuite name=\"three\" tests=\"0\"/>";
    let passes = leaves(&[("1.xml", &one), ("2.xml", &two), ("3.xml", idle)], 0);
    let Some(scene) = Scene::new(&policy(COMMAND), &passes, &passes) else { return };
    scene.judge().expect(0);
    let recorded = &scene.commands()[0];
    assert_eq!(recorded["toolVersion"], "runner 1.2.3");
    let paths: Vec<&Value> = recorded["reports"].as_array().unwrap().iter().map(|it| &it["path"]).collect();
    assert_eq!(paths, ["target/reports/1.xml", "target/reports/2.xml", "target/reports/3.xml"]);
    let summary = String::from_utf8(scene.repo.run_dir().bytes("summary.md")).unwrap();
    assert!(summary.contains("runner in the root: tests: 2 passed"), "{summary}");

    let fails = leaves(&[("1.xml", &one), ("2.xml", &bad)], 1);
    let scene = Scene::new(&policy(COMMAND), &passes, &fails).unwrap();
    scene.judge().expect(1);
    assert_eq!(scene.repo.run_dir().findings(), ["unit_tests/failure src/a.kt:2"]);
    // Tests are tried three times; then the base is asked, and has no such failure.
    let attempts = scene.commands().iter().filter(|it| it["ordinal"] == 0).count();
    assert_eq!(attempts, 3);
    let sarif = String::from_utf8(scene.repo.run_dir().bytes("results.sarif")).unwrap();
    assert!(sarif.contains("runner"), "{sarif}");

    // What the base says too is not held against the change.
    let scene = Scene::new(&policy(COMMAND), &fails, &fails).unwrap();
    scene.judge().expect(0);
}

#[test]
fn a_command_of_the_policy_never_passes_without_its_whole_report() {
    let one = suite("one", &[("adds", true)]);
    let bad = suite("one", &[("adds", false)]);
    let cut = &one[..one.len() - 5];
    let link = "mkdir -p target/reports; echo '<testsuite/>' > a; ln -s ../../a target/reports/1.xml; exit 0";
    let cases = [
        ("exit 0".to_owned(), 3, "GATE_REPORT_INCOMPLETE"),
        ("exit 1".to_owned(), 3, "EXECUTION_EXIT_NONZERO"),
        ("exit 127".to_owned(), 3, "EXECUTION_EXIT_NONZERO"),
        ("kill -9 $$".to_owned(), 3, "EXECUTION_EXIT_NONZERO"),
        (leaves(&[("1.xml", &one)], 127), 3, "EXECUTION_EXIT_NONZERO"),
        (leaves(&[("1.xml", &one), ("2.xml", cut)], 0), 3, "GATE_REPORT_INCOMPLETE"),
        (leaves(&[("1.xml", &one), ("2.xml", "")], 0), 3, "GATE_REPORT_INCOMPLETE"),
        (leaves(&[("1.xml", "1..1\nok 1\n")], 0), 3, "GATE_REPORT_INCOMPLETE"),
        (leaves(&[("1.xml", "<testsuite/>")], 0), 3, "GATE_NOTHING_RAN"),
        (link.to_owned(), 3, "GATE_REPORT_REFUSED"),
        // The report and the status contradict each other, either way round.
        (leaves(&[("1.xml", &one)], 1), 1, ""),
        (leaves(&[("1.xml", &bad)], 0), 1, ""),
    ];
    for (says, exit, code) in cases {
        let passes = leaves(&[("1.xml", &one)], 0);
        let Some(scene) = Scene::new(&policy(COMMAND), &passes, &says) else { return };
        let outcome = scene.judge().expect(exit);
        let codes = scene.verdict("errorCodes").to_string();
        assert!(codes.contains(code), "{says}: {codes}");
        if says.contains("2.xml") {
            assert!(outcome.text().contains("target/reports/2.xml"), "{}", outcome.text());
        }
        if says.contains("1..1") {
            let hint = "it looks like TAP; set `tool = \"tap\"`";
            assert!(outcome.text().contains(hint), "{}", outcome.text());
        }
    }
}

#[test]
fn tests_that_fail_in_turns_are_no_pass_of_a_command_that_never_succeeds() {
    let one = leaves(&[("1.xml", &suite("one", &[("adds", false), ("takes", true)]))], 3);
    let other = leaves(&[("1.xml", &suite("one", &[("adds", true), ("takes", false)]))], 3);
    let passes = leaves(&[("1.xml", &suite("one", &[("adds", true), ("takes", true)]))], 0);
    // Attempts share nothing that could count them, so chance has to do.
    let says = format!("case $(cat /proc/sys/kernel/random/uuid) in [0-7]*)\n{one};; esac\n{other}");
    for _ in 0..3 {
        let Some(scene) = Scene::new(&policy(COMMAND), &passes, &says) else { return };
        scene.judge().expect(1);
    }
}

#[test]
fn an_interpreter_that_a_script_cannot_find_is_named() {
    let passes = leaves(&[("1.xml", &suite("one", &[("adds", true)]))], 0);
    let Some(scene) = Scene::new(&policy(COMMAND), &passes, &passes) else { return };
    let program = scene.repo.path().join("stubs/bin/runner");
    fs::write(&program, "#!/usr/bin/env own-shell\n. ./says\n").unwrap();
    let text = scene.judge().expect(3).text();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("runner needs `own-shell`, which is not on the PATH of commands"), "{text}");
    assert!(text.contains("declare the toolchain that has it"), "{text}");
    assert!(scene.verdict("errorCodes").to_string().contains("EXECUTION_DENIED"));
    // Programs of a copied toolchain are found by their command, and not by each other.
    std::os::unix::fs::symlink("/bin/sh", program.with_file_name("own-shell")).unwrap();
    fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    let text = scene.judge().expect(3).text();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("declare its toolchain without provide = \"copy\""), "{text}");
}

#[test]
fn a_committed_report_is_refused() {
    let passes = leaves(&[("1.xml", &suite("one", &[("adds", true)]))], 0);
    let forged =
        |more: &str| files(&policy(COMMAND), &passes, more).with("target/reports/old.xml", "<testsuite/>");
    let Some(scene) = Scene::from_files(&forged(""), &forged("c = 3\n")) else { return };
    let outcome = scene.judge().expect(3);
    assert!(scene.verdict("errorCodes").to_string().contains("GATE_REPORT_REFUSED"));
    assert!(outcome.text().contains("target/reports/old.xml is committed"), "{}", outcome.text());
}

#[test]
fn a_linter_says_by_covers_what_it_is_for() {
    let gate = r#"
[gates.lint]
UNTOUCHED
[[gates.lint.command]]
run = ["runner", "test", "all"]
tool = "checkstyle"
name = "kt.lint"
covers = ["src/**/*.kt"]
"#;
    let clean = "echo '<checkstyle version=\"1\"/>'; exit 0";
    let fault = "echo '<checkstyle version=\"1\"><file name=\"src/a.kt\"><error line=\"3\" message=\"no\" source=\"R1\"/></file></checkstyle>'; exit 1";
    let policy = policy(&gate.replace("UNTOUCHED", ""));
    let Some(scene) = Scene::new(&policy, clean, clean) else { return };
    scene.judge().expect(0);
    let coverage = scene.repo.run_dir().json("coverage.json").to_string();
    assert!(coverage.contains("\"declared\""), "{coverage}");
    let scene = Scene::new(&policy, clean, fault).unwrap();
    let outcome = scene.judge().expect(1);
    assert_eq!(scene.repo.run_dir().findings(), ["lint/error src/a.kt:3"]);
    assert!(outcome.text().contains("kt.lint: R1: no"), "{}", outcome.text());
    assert_eq!(scene.commands().len(), 2, "linters are not tried again, and the base is asked once");

    // A change of other files calls for nothing.
    for (untouched, exit) in [("", 3), ("untouched = \"pass\"", 0)] {
        let policy = format!("{EXECUTION}\n{}", gate.replace("UNTOUCHED", untouched));
        let base = files(&policy, fault, "");
        let scene = Scene::from_files(&base, &base.clone().with("docs/a.md", "other\n")).unwrap();
        scene.judge().expect(exit);
        assert_eq!(scene.commands().len(), 0);
    }
}

#[test]
fn a_known_tool_runs_by_a_command_of_the_policy() {
    let gate = r#"
[[gates.unit_tests.command]]
run = ["runner", "test", "all"]
tool = "pytest"
report = "out/report.xml"
"#;
    let report = suite("a", &[("adds", true)]);
    let says = |status: i32| format!("mkdir out; echo '{report}' > out/report.xml; exit {status}");
    // Of pytest's statuses 5 means that nothing ran, and 3 that it broke.
    for (status, exit) in [(0, 0), (1, 1), (3, 3), (5, 3)] {
        let Some(scene) = Scene::new(&policy(gate), &says(0), &says(status)) else { return };
        scene.judge().expect(exit);
    }
}

/// A script that prints what `go test -json` prints of one test.
fn go_test(passes: bool) -> String {
    let action = if passes { "pass" } else { "fail" };
    let mut events = vec![json!({"Action": "start"}), json!({"Action": "run", "Test": "TestAdd"})];
    if !passes {
        let output = "    calc_test.go:2: sum is 2\n";
        events.push(json!({"Action": "output", "Test": "TestAdd", "Output": output}));
    }
    events.extend([json!({"Action": action, "Test": "TestAdd"}), json!({"Action": action})]);
    let mut says = "cat <<'END'\n".to_owned();
    for mut event in events {
        event["Package"] = json!("example.com/sum/calc");
        says.push_str(&format!("{event}\n"));
    }
    format!("{says}END\nexit {}\n", u8::from(!passes))
}

/// A change of a package in a directory, where alone the tool finds what to do.
fn below_a_directory(policy: &str, file: &str, passes: bool) -> Files {
    Files::from_texts(&[
        (POLICY, policy),
        (".gitignore", "/stubs\n/.qa-skill/runs\n"),
        ("services/sum/says", &go_test(passes)),
        (file, if passes { "package calc\n" } else { "package calc\n// sums\n" }),
    ])
}

#[test]
fn a_command_runs_in_its_directory_and_its_module_is_there() {
    for (module, file) in [
        ("example.com/sum", "services/sum/calc/calc_test.go"),
        ("example.com", "services/sum/sum/calc/calc_test.go"),
    ] {
        let policy = policy(&format!(
            "[[gates.unit_tests.command]]\nrun = [\"runner\", \"test\", \"all\"]\ntool = \"go-test\"\n\
             directory = \"services/sum\"\nmodule = \"{module}\"\n"
        ));
        let (base, head) = (below_a_directory(&policy, file, true), below_a_directory(&policy, file, false));
        let Some(scene) = Scene::from_files(&base, &head) else { return };
        scene.judge().expect(1);
        assert_eq!(scene.repo.run_dir().findings(), [format!("unit_tests/failure {file}:2")]);
    }
}

#[test]
fn the_plan_lists_the_commands_of_the_policy() {
    let passes = leaves(&[], 0);
    let Some(scene) = Scene::new(&policy(COMMAND), &passes, &passes) else { return };
    let plan = qa_skill(["plan", "--base", "main", "--head", "topic"]).within(&scene.repo.path()).run();
    let text = plan.expect(0).text();
    assert!(text.contains("unit_tests of head with runner in .: runner test all"), "{text}");
}

#[test]
fn a_declaration_that_means_nothing_is_an_error_with_a_way_out() {
    let command = |more: &str| format!("{EXECUTION}\n[[gates.unit_tests.command]]\n{more}\n");
    let lint = |more: &str| {
        format!("[gates.lint]\n[[gates.lint.reports]]\npath = \"r.xml\"\ntool = \"checkstyle\"\n{more}\n")
    };
    let run = "run = [\"runner\", \"test\"]\n";
    let cases = [
        (lint("covers = [\"**/*.sh\"]"), "needs the `name` of what writes checkstyle"),
        (lint("name = \"shellcheck\""), "gate lint needs `covers`"),
        (lint("name = \"shell check\"\ncovers = [\"*\"]"), "the name `shell check` is not 1 to 40 letters"),
        (
            lint("name = \"shellcheck\"\ncovers = [\"*\"]").replace("checkstyle", "checkstile"),
            "there is no tool of gate lint `checkstile`; there are checkstyle, clippy, eslint, go-vet, junit, ruff, sarif, tap; did you mean `checkstyle`?",
        ),
        (
            lint("name = \"shellcheck\"\ncovers = [\"*\"]\nmodule = \"m\""),
            "`module` is for tools of Go, and checkstyle is none; remove `module`",
        ),
        (
            "[gates.story_validation]\nrun = [\"pytest\"]".to_owned(),
            "there is no tool that gate story_validation runs `pytest`",
        ),
        (
            lint("name = \"eslint\"\ncovers = [\"*\"]"),
            "`eslint` has a reader of its own; set `tool = \"eslint\"`",
        ),
        (
            lint("name = \"ESLint\"\ncovers = [\"*\"]"),
            "`ESLint` has a reader of its own; set `tool = \"eslint\"`",
        ),
        (lint("name = \"x\"").replace("checkstyle", "ruff"), "`ruff` has its own name; remove `name`"),
        (
            lint("name = \"x\"\nformat = \"junit\"\ncovers = [\"*\"]"),
            "there is no report format of checkstyle `junit`; there are checkstyle",
        ),
        (
            "[gates.unit_tests]\nreports = [{ path = \"r\", tool = \"pytest\", covers = [\"*\"] }]"
                .to_owned(),
            "gate unit_tests has tests, which look at no files; remove `covers`",
        ),
        (
            "[gates.unit_tests]\nexcept = [\"docs/**\"]\nreports = [{ path = \"r\", tool = \"pytest\" }]"
                .to_owned(),
            "gate `unit_tests` has tests, which look at no files; remove `except`",
        ),
        (
            "[gates.unit_tests]\nconfirm = true\nreports = [{ path = \"r\", tool = \"pytest\" }]".to_owned(),
            "gate `unit_tests` runs no command that could run once more; remove `confirm`",
        ),
        (
            "[gates.unit_tests]\nreports = [{ path = \"r\", tool = \"sarif\", name = \"x\" }]".to_owned(),
            "there is no tool of gate unit_tests `sarif`",
        ),
        (command(run), "needs `format`, or the `tool` that writes its report"),
        (command(&format!("{run}format = \"junit\"")), "needs the `name` of what writes junit"),
        (
            command(&format!("{run}format = \"junit\"\nname = \"a\"\nreport = \"../x\"")),
            "`../x` is not a path below",
        ),
        (command(&format!("{run}format = \"junit\"\nname = \"a\"\nreport = \"a[.xml\"")), "a[.xml"),
        (
            command("run = [\"./gradlew\", \"test\"]\nformat = \"junit\"\nname = \"a\""),
            "does not begin with the plain name of a program",
        ),
        (
            command("run = [\"runner\", \"deploy\"]\nformat = \"junit\"\nname = \"a\""),
            "no prefix of execution.allow has `runner deploy`, so no change could pass",
        ),
        (
            command(&format!(
                "{run}format = \"junit\"\nname = \"a\"\n[[gates.unit_tests.command]]\n{run}format = \"tap\"\nname = \"a\""
            )),
            "gate `unit_tests` has two commands of `a`; give each a name",
        ),
    ];
    let home = temp();
    for (policy, problem) in cases {
        let file = home.path().join("policy.toml");
        fs::write(&file, &policy).unwrap();
        let outcome = qa_skill(["policy-check", "--file"]).arg(&file).run();
        assert!(outcome.exit != 0 && outcome.stderr.contains(problem), "{policy}\n{}", outcome.stderr);
        assert!(outcome.stderr.contains("POLICY_INVALID"), "{}", outcome.stderr);
    }
}

#[test]
fn reports_of_a_tool_that_nobody_described_need_the_end_of_its_command() {
    let one = suite("one", &[("adds", true)]);
    let two = suite("two", &[("takes", true)]);
    let gate = |more: &str| {
        format!(
            "[gates.unit_tests]\nreports = [{{ path = \"target/reports/*.xml\", tool = \"junit\", name = \"maven\"{more} }}]\n"
        )
    };
    let under = |policy: &str| {
        let repo = Repo::new();
        repo.change(&files(policy, "", ""), &files(policy, "", "c = 3\n"));
        fs::create_dir_all(repo.path().join(".qa-skill")).unwrap();
        fs::write(repo.path().join(POLICY), policy).unwrap();
        repo
    };
    let record = |repo: &Repo, says: &str| {
        let step = qa_skill(["record", "--gate", "unit_tests", "--tool", "maven", "--", "sh", "-c", says]);
        // The step ends as its command does, with statuses that the program itself does not have.
        Outcome::from_output(&step.within(&repo.path()).bare_command().output().unwrap())
    };
    let codes = |repo: &Repo| repo.run_dir().json("final-verdict.json")["errorCodes"].to_string();

    // Without a record neither report says how its command ended.
    for (more, exit) in [("", 3), (", record = \"optional\"", 0)] {
        let repo = under(&gate(more));
        fs::create_dir_all(repo.path().join("target/reports")).unwrap();
        fs::write(repo.path().join("target/reports/1.xml"), &one).unwrap();
        let said = repo.judge().run().expect(exit);
        assert!(exit == 0 || said.text().contains("nothing shows that maven wrote all of its files"));
        repo.run_dir().verify().run().expect(0);
    }

    for (status, exit) in [(0, 0), (1, 1), (127, 3)] {
        let repo = under(&gate(""));
        // What an earlier command left is removed first.
        fs::create_dir_all(repo.path().join("target/reports")).unwrap();
        fs::write(repo.path().join("target/reports/0.xml"), suite("zero", &[("old", false)])).unwrap();
        record(&repo, &leaves(&[("1.xml", &one), ("2.xml", &two)], status)).expect(status);
        let stored = repo.path().join("target/reports/-.xml.record.json");
        let stored: Value = serde_json::from_slice(&fs::read(stored).unwrap()).unwrap();
        assert_eq!(stored["reports"].as_array().unwrap().len(), 2);
        repo.judge().run().expect(exit);
        let report = repo.run_dir().json("recordings/gates.json");
        let paths: Vec<&Value> =
            report["reports"][0]["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
        assert_eq!(paths, ["target/reports/1.xml", "target/reports/2.xml"]);
        repo.run_dir().verify().run().expect(0);
    }

    // A file that came, went or changed after the command.
    let changes: [Change; 3] = [
        ("came", |reports| fs::write(reports.join("3.xml"), "<testsuite/>").unwrap()),
        ("went", |reports| fs::remove_file(reports.join("2.xml")).unwrap()),
        ("changed", |reports| fs::write(reports.join("2.xml"), suite("two", &[("other", true)])).unwrap()),
    ];
    for (name, change) in changes {
        let repo = under(&gate(""));
        record(&repo, &leaves(&[("1.xml", &one), ("2.xml", &two)], 0)).expect(0);
        change(&repo.path().join("target/reports"));
        repo.judge().run().expect(3);
        assert!(codes(&repo).contains("GATE_REPORT_STALE"), "{name}: {}", codes(&repo));
        repo.run_dir().verify().run().expect(0);
    }

    // A link, whatever it leads to, is not passed over.
    let repo = under(&gate(""));
    let link =
        leaves(&[("1.xml", &one)], 0).replace("exit 0", "ln -s ../../says target/reports/2.xml\nexit 0");
    record(&repo, &link).expect(0);
    let linked = repo.judge().run().expect(3);
    assert!(codes(&repo).contains("GATE_REPORT"), "{}", linked.text());

    // No file at all, and one of the commit.
    let repo = under(&gate(""));
    repo.judge().run().expect(3);
    assert!(codes(&repo).contains("GATE_REPORT_MISSING"), "{}", codes(&repo));
    let policy = gate(", record = \"optional\"");
    let base = files(&policy, "", "").with("target/reports/1.xml", &one);
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("src/a.kt", "c = 3\n"));
    fs::create_dir_all(repo.path().join("target/reports")).unwrap();
    fs::write(repo.path().join("target/reports/1.xml"), &one).unwrap();
    repo.judge().run().expect(3);
    assert!(codes(&repo).contains("GATE_REPORT_REFUSED"), "{}", codes(&repo));
    assert_eq!(repo.run_dir().json("recordings/gates.json")["reports"][0]["files"], json!([]));
}
