//! Bounds and rights of `[execution]`, as the commands of a gate meet them, and what a record without its commands proves.

use serde_json::{Value, json};

use crate::gates_run::{EXECUTION, Scene, kinds, runs};
use crate::support::{Files, Repo, follow_differences, write_json};

/// A policy that runs the linter's stub, with another line among the limits.
fn policy(limit: &str) -> String {
    let execution = EXECUTION.replace("timeout-seconds = 60", &format!("timeout-seconds = 60, {limit}"));
    format!("{}\n{}", execution.replace(", }", " }"), runs(&kinds()[0], true))
}

#[test]
fn a_command_over_a_limit_of_the_policy_is_stopped_and_proves_nothing() {
    let holds = "head -c 200000000 /dev/zero | tail -c 200000000 | { sleep 2; cat > /dev/null; }";
    let cases = [
        ("max-stderr-bytes = 4096", "head -c 100000 /dev/zero >&2", "output"),
        ("disk-mib = 2", "head -c 9000000 /dev/zero > large; sleep 2", "disk"),
        ("memory-mib = 48", holds, "memory"),
    ];
    for (limit, does, over) in cases {
        for (limit, exit) in [("", 0), (limit, 3)] {
            let Some(scene) = Scene::new(&policy(limit), &format!("{does}; echo '[]'")) else { return };
            let outcome = scene.judge().expect(exit);
            let stopped = scene.codes().contains(&"EXECUTION_LIMIT_EXCEEDED".to_owned());
            assert_eq!(stopped, exit == 3, "{limit}: {:?}", scene.codes());
            let text = outcome.text();
            assert_eq!(text.contains(&format!("over its limit of {over}")), stopped, "{text}");
            scene.replays();
        }
    }
}

#[test]
fn a_command_that_has_no_time_left_is_stopped_and_proves_nothing() {
    let deadline = "[limits]\ndeadline-seconds = 25\n";
    let policy = format!(
        "mode = \"best_effort\"\n{deadline}{}",
        policy("").replace("required = true", "required = false")
    );
    let Some(scene) = Scene::new(&policy, "sleep 60; echo '[]'") else { return };
    let outcome = scene.judge().expect(3);
    assert!(scene.codes().contains(&"RUN_DEADLINE_NEAR".to_owned()), "{:?}", scene.codes());
    assert!(outcome.text().contains("the run's deadline was near"), "{}", outcome.text());
    scene.replays();
}

#[test]
fn a_command_starts_no_more_processes_than_the_policy_lets_it() {
    let does = "for each in 1 2 3 4 5 6 7 8; do sleep 1 & done; wait; echo '[]'";
    for (limit, exit) in [("", 0), ("processes = 4", 3)] {
        let Some(scene) = Scene::new(&policy(limit), does) else { return };
        scene.judge().expect(exit);
    }
}

#[test]
fn a_gate_of_more_commands_than_the_policy_allows_rejects_the_run() {
    // One on head and one on the base.
    for (most, exit) in [(2, 0), (1, 3)] {
        let limit = format!("max-commands-per-plan = {most}");
        let Some(scene) = Scene::new(&policy(&limit), &kinds()[0].passes) else { return };
        scene.judge().expect(exit);
        let rejected = scene.codes().contains(&"EXECUTION_POLICY_VIOLATION".to_owned());
        assert_eq!(rejected, exit == 3, "{:?}", scene.codes());
    }
}

#[test]
fn a_variable_of_the_policy_is_in_the_environment_of_commands() {
    let set = policy("").replace("limits = {", "environment = { GREETING = \"hello\" }\nlimits = {");
    for (policy, exit) in [(policy(""), 3), (set, 0)] {
        let does = "[ \"$GREETING\" = hello ] || exit 77; echo '[]'";
        let Some(scene) = Scene::new(&policy, does) else { return };
        scene.judge().expect(exit);
    }
}

/// Somebody drops the commands from a record and makes the results fit, difference by difference, as the program names
/// them: what is left says that nothing is known of the commands.
#[test]
fn a_record_without_its_commands_proves_nothing() {
    let Some(scene) = Scene::new(&policy(""), &kinds()[0].passes) else { return };
    scene.judge().expect(0);
    let run = scene.repo.run_dir();
    let mut recorded = run.json("recordings/execution.json");
    recorded["commands"] = json!([]);
    write_json(&run, "recordings/execution.json", &recorded);
    follow_differences(&run, "EXECUTION_AUDIT_UNAVAILABLE");
}

/// Reports of four gates with five faults each, all in one file.
#[test]
fn fixes_are_three_of_a_gate_and_ten_in_all() {
    let reports = ["lint", "type_check", "unit_tests", "browser_tests"].map(|gate| {
        let tool = match gate {
            "lint" => "tool = \"eslint\", format = \"sarif\"",
            "type_check" => "tool = \"tsc\"",
            "unit_tests" => "tool = \"pytest\"",
            _ => "tool = \"playwright\", format = \"junit\"",
        };
        let entry = format!("{{ path = \"{gate}.txt\", {tool} }}");
        format!("[gates.{gate}]\nreports = [{entry}]\n")
    });
    let base = Files::from_texts(&[(".qa-skill/policy.toml", &reports.concat()), ("src/a.js", "a\n")]);
    let repo = Repo::new();
    repo.change(&base, &base.clone().with("src/a.js", "b\n"));
    let results: Vec<Value> = (1..=5)
        .map(|line| {
            let place = json!({"artifactLocation": {"uri": "src/a.js"}, "region": {"startLine": line}});
            json!({"ruleId": "r", "level": "error", "message": {"text": "wrong"},
                   "locations": [{"physicalLocation": place}]})
        })
        .collect();
    let sarif = json!({"version": "2.1.0", "runs": [{
        "tool": {"driver": {"name": "ESLint", "rules": []}}, "results": results,
        "invocations": [{"executionSuccessful": true}],
    }]});
    let types: String = (1..=5).map(|line| format!("src/a.js({line},1): error TS2322: wrong\n")).collect();
    let cases: String = (1..=5)
        .map(|line| {
            let failure = format!("<failure message=\"wrong\">src/a.js:{line}: wrong</failure>");
            format!("<testcase classname=\"a\" name=\"t{line}\" file=\"src/a.js\" line=\"{line}\" time=\"0\">{failure}</testcase>")
        })
        .collect();
    let suite = |name: &str| {
        format!(
            "<testsuites><testsuite name=\"{name}\" tests=\"5\" failures=\"5\" errors=\"0\" skipped=\"0\">{cases}</testsuite></testsuites>"
        )
    };
    for (gate, text) in [
        ("lint", sarif.to_string()),
        ("type_check", types),
        ("unit_tests", suite("pytest")),
        ("browser_tests", suite("playwright")),
    ] {
        std::fs::write(repo.path().join(format!("{gate}.txt")), text).unwrap();
    }
    repo.judge().run().expect(1);
    let qa = repo.run_dir().json("qa-report.json");
    let fixes: Vec<&str> =
        qa["priority_fixes"].as_array().unwrap().iter().map(|fix| fix.as_str().unwrap()).collect();
    let of = |gate: &str| fixes.iter().filter(|fix| fix.starts_with(&format!("[{gate}] src/a.js:"))).count();
    assert_eq!([of("lint"), of("type_check"), of("unit_tests"), of("browser_tests")], [3, 3, 3, 1], "{qa}");
    assert_eq!((fixes.len(), &qa["priority_fixes_omitted"]), (10, &json!(10)));
    assert_eq!(fixes[0], "[lint] src/a.js:1 - eslint: r: wrong");
}
