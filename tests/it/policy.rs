//! Settings of the policy: each changes what a run concludes, and nothing else does here.

use serde_json::{Value, json};

use crate::limits::judge;
use crate::support::{Repo, RunDir, conflict, qa_skill};

fn finding_of_a_gate(repo: &Repo) -> Value {
    let results = repo.run_dir().json("lens-results.json");
    let all = results["lensResults"].as_array().unwrap().iter();
    all.flat_map(|result| result["findings"].as_array().unwrap()).next().cloned().unwrap_or_default()
}

/// Judges the change once more, to another artifact root.
fn judge_again(repo: &Repo, options: &[&str]) -> RunDir {
    let program = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
    let program = program.arg("--out").arg(repo.beside("again"));
    options.iter().fold(program, |program, option| program.arg(option)).run();
    RunDir::only(&repo.beside("again"))
}

#[test]
fn another_version_of_the_format_is_refused() {
    for (version, exit) in [(1, 0), (2, 2)] {
        judge(&format!("version = {version}\n"), &[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")])
            .1
            .expect(exit);
    }
}

/// The workflow's state is not needed either.
#[test]
fn no_gate_runs_unless_the_policy_names_it() {
    let package = "{\"devDependencies\": {\"eslint\": \"9.0.0\", \"vitest\": \"3.0.0\"}}\n";
    let files = |text: &'static str| [("package.json", package), ("src/a.js", text)];
    let (repo, outcome) = judge("", &files("const a = 1;\n"), &files("const a = 2;\n"));
    outcome.expect(0);
    let run = repo.run_dir();
    assert!(!run.path("qa-report.json").exists() && !run.path("recordings/execution.json").exists());
    let plans = run.json("lens-plan.json").to_string();
    for gate in ["lint", "type_check", "unit_tests", "browser_tests", "story_validation"] {
        assert!(!plans.contains(&format!("\"lensId\":\"{gate}\"")), "{gate}");
    }
}

#[test]
fn a_preset_decides_what_blocks_where_no_rule_says_so() {
    let text = conflict();
    for (preset, exit) in [("default", 1), ("guarded", 1), ("advisory", 0)] {
        let policy = format!("preset = \"{preset}\"\n");
        judge(&policy, &[("a.toml", "a = 1\n")], &[("a.toml", &text)]).1.expect(exit);
    }
}

#[test]
fn a_finding_blocks_by_the_strength_of_its_rule_or_by_its_severity() {
    let advise = "[rules.\"merge-leftover/conflict-marker\"]\nstrength = \"advise\"\n";
    let text = conflict();
    for (policy, threshold, exit) in [
        ("rule_defined", "info", 0),
        ("severity_threshold", "low", 1),
        ("severity_threshold", "critical", 0),
        ("mixed", "low", 1),
        ("mixed", "critical", 0),
    ] {
        let setting = format!("blocking-policy = \"{policy}\"\nblocking-threshold = \"{threshold}\"\n");
        let (repo, outcome) =
            judge(&format!("{setting}{advise}"), &[("a.toml", "a = 1\n")], &[("a.toml", &text)]);
        outcome.expect(exit);
        assert_eq!(finding_of_a_gate(&repo)["severity"], "high", "{policy} {threshold}");
    }
    let (_, strong) = judge(
        "blocking-policy = \"mixed\"\nblocking-threshold = \"critical\"\n",
        &[("a.toml", "a = 1\n")],
        &[("a.toml", &text)],
    );
    strong.expect(1);
}

#[test]
fn a_lens_judges_only_where_it_is_enabled_and_does_not_ignore_the_file() {
    let text = conflict();
    for (settings, exit) in [
        ("", 1),
        ("enabled = false\nrequired = false", 0),
        ("ignore = [\"*.toml\"]", 0),
        ("ignore = [\"docs/**\"]", 1),
    ] {
        let policy = format!("[lenses.merge-leftover]\n{settings}\n");
        judge(&policy, &[("a.toml", "a = 1\n")], &[("a.toml", &text)]).1.expect(exit);
    }
}

#[test]
fn a_lens_that_is_not_required_may_be_left_out() {
    for (required, missing) in [(true, true), (false, false)] {
        let policy = format!("[lenses.costly-loop]\nrequired = {required}\n");
        let (repo, _) = judge(&policy, &[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        let run = judge_again(&repo, &["--lens", "secret-token"]);
        let lenses = run.json("final-verdict.json")["missingRequiredLensIds"].clone();
        assert_eq!(lenses.as_array().unwrap().contains(&json!("costly-loop")), missing, "{lenses}");
    }
}

#[test]
fn a_glob_of_the_policy_gives_its_files_their_scope_and_the_scope_its_strength() {
    let text = conflict();
    let strengths =
        "[rules.\"merge-leftover/conflict-marker\"]\nscopes = { docs = \"off\", product = \"block\" }\n";
    for (scopes, scope, findings) in [("", "product", 1), ("[scopes]\ndocs = [\"manual/**\"]\n", "docs", 0)] {
        let (repo, outcome) = judge(
            &format!("{scopes}{strengths}"),
            &[("manual/a.toml", "a = 1\n")],
            &[("manual/a.toml", &text)],
        );
        outcome.expect(findings);
        assert_eq!(repo.run_dir().changed()["manual/a.toml"]["scope"], scope);
        assert_eq!(repo.run_dir().findings().len(), usize::try_from(findings).unwrap());
    }
}

#[test]
fn a_file_that_a_boundary_excepts_may_import_what_others_may_not() {
    let import = "import { view } from \"../app/view\";\nexport const model = view;\n";
    let view = ("app/view.ts", "export const view = 1;\n");
    for (except, exit) in [("", 1), ("except = [\"core/wiring.ts\"]\n", 0)] {
        let boundary =
            "[[import-boundary]]\nfrom = [\"core/**\"]\nmust-not-import = [\"app/**\"]\nreason = \"r\"\n";
        judge(&format!("{boundary}{except}"), &[view], &[view, ("core/wiring.ts", import)]).1.expect(exit);
    }
}

/// A report of `go test` whose paths are relative to its packages.
#[test]
fn where_a_tool_ran_is_the_beginning_of_the_paths_in_its_report() {
    let line = |action: &str, test: Option<&str>, output: Option<&str>| {
        let mut event = json!({"Action": action, "Package": "example.com/sum/calc"});
        for (name, value) in [("Test", test), ("Output", output)] {
            if let Some(value) = value {
                event[name] = json!(value);
            }
        }
        format!("{event}\n")
    };
    let events = [
        line("start", None, None),
        line("run", Some("TestAdd"), None),
        line("output", Some("TestAdd"), Some("    calc_test.go:2: sum is 2\n")),
        line("output", Some("TestAdd"), Some("--- FAIL: TestAdd (0.00s)\n")),
        line("fail", Some("TestAdd"), None),
        line("fail", None, None),
    ];
    let path = "services/sum/calc/calc_test.go";
    for (place, file) in [
        ("directory = \"services/sum\", module = \"example.com/sum\"", path),
        ("directory = \"services/sum\", module = \"example.com\"", "services/sum/sum/calc/calc_test.go"),
    ] {
        let policy = format!(
            "[gates.unit_tests]\nreports = [{{ path = \"test.json\", tool = \"go-test\", {place} }}]\n"
        );
        let (repo, _) = judge(&policy, &[(path, "package calc\n")], &[(path, "package calc\n\n")]);
        std::fs::write(repo.path().join("test.json"), events.concat()).unwrap();
        let run = judge_again(&repo, &[]);
        let qa = run.json("qa-report.json")["gates"]["unit_tests"]["errors"].clone();
        assert_eq!(qa[0]["file"], file, "{qa}");
    }
}

#[test]
fn a_ratchet_blocks_where_enough_files_of_the_base_keep_the_rule() {
    let rule = "[rules.\"merge-leftover/debugger-statement\"]\nstrength = \"ratchet\"\n";
    let (kept, broken) = ("value = 1\n", "breakpoint()\n");
    let base = [("a.py", kept), ("b.py", kept), ("c.py", kept), ("d.py", broken)];
    let head = [&base[1..], &[("a.py", "value = 1\nbreakpoint()\n")]].concat();
    // Three of four files keep it.
    for (theta, support, exit) in [(750, 4, 1), (751, 4, 0), (750, 5, 0)] {
        let numbers = format!("[ratchet]\ntheta-permille = {theta}\nmin-support = {support}\n");
        let (repo, outcome) = judge(&format!("{numbers}{rule}"), &base, &head);
        outcome.expect(exit);
        assert_eq!(repo.run_dir().findings(), ["merge-leftover/debugger-statement a.py:2"]);
    }
}

#[test]
fn the_name_of_the_repository_is_in_the_key_and_the_number_of_workers_is_not() {
    let key = |policy: &str| {
        let (repo, outcome) = judge(policy, &[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        outcome.expect(0);
        let run = repo.run_dir();
        let trace = run.json("trace.json");
        let config = trace["configPreimage"]["policy"]["maxConcurrency"].clone();
        assert_eq!(config, Value::Null, "{trace}");
        let name = trace["executionKeyPreimage"]["repoId"].clone();
        (name, run.json("input.normalized.json")["maxConcurrency"].clone())
    };
    assert_eq!(key(""), (json!("local"), json!(4)));
    assert_eq!(key("repo-id = \"acme/widget\"\n"), (json!("acme/widget"), json!(4)));
    assert_eq!(key("run.max-concurrency = 2\n"), (json!("local"), json!(2)));
}
