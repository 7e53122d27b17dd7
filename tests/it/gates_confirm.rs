//! Gates whose passes count only after a second run.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::gates_run::{EXECUTION, Kind, Scene, kinds, pytest, runs};
use crate::support::{follow_differences, write_json};

/// Runs of a gate's command on head: whether each ended with status 0.
fn attempts(scene: &Scene) -> Vec<bool> {
    let commands = scene.commands().into_iter().filter(|command| command["ordinal"] == 0);
    commands.map(|command| command["exitCode"] == 0).collect()
}

fn policy(kind: &Kind, settings: &str) -> String {
    format!("{EXECUTION}\n{}{settings}\n", runs(kind, true))
}

/// A tool that fails in half of its runs. Runs share nothing that could count them, so chance has to do.
fn unsteady(kind: &Kind) -> String {
    let case = format!("case $(cat /proc/sys/kernel/random/uuid) in [0-7]*) {};; esac", kind.fails);
    let passes = match kind.gate {
        "unit_tests" => pytest(&[("one", true), ("two", true)]),
        _ => kind.passes.clone(),
    };
    format!("{}\n{passes}", case.replace("exit 1\n;;", "exit 1;;"))
}

#[test]
fn a_pass_that_a_second_run_does_not_confirm_is_named() {
    for kind in [&kinds()[0], &kinds()[2]] {
        let policy = policy(kind, "run-base = false\nconfirm = true");
        let is_test = kind.gate == "unit_tests";
        let mut seen = BTreeSet::new();
        while !seen.contains(&vec![true, true]) || !seen.contains(&vec![true, false]) {
            let Some(scene) = Scene::new(&policy, &unsteady(kind)) else { return };
            let outcome = scene.judge();
            let attempts = attempts(&scene);
            let (exit, findings, flaky): (i32, &[&str], bool) = match attempts.as_slice() {
                [true, true] => (0, &[], false),
                [true, false] if is_test => (0, &["unit_tests/flaky src/a.py:2"], true),
                [true, false] => (1, &[kind.finding], true),
                // Tests are tried again, and not once more.
                [false, .., true] => (0, &["unit_tests/flaky src/a.py:2"], false),
                _ => (1, &[kind.finding], false),
            };
            outcome.expect(exit);
            assert_eq!(scene.repo.run_dir().findings(), findings, "{attempts:?}");
            assert_eq!(scene.warnings().contains(&json!("GATE_FLAKY")), flaky, "{attempts:?}");
            scene.replays();
            seen.insert(attempts);
        }
    }
}

#[test]
fn a_pass_runs_twice_in_every_mode_and_a_failure_once() {
    let lint = &kinds()[0];
    for (settings, says, mode, expected) in [
        ("", &lint.passes, "cross-check", [true].as_slice()),
        ("confirm = true\n", &lint.passes, "cross-check", &[true, true]),
        ("confirm = true\n", &lint.passes, "bootstrap", &[true, true]),
        ("run-base = false\nconfirm = true\n", &lint.fails, "cross-check", &[false]),
    ] {
        let observer = "[observer]\nenabled = true\nexecute = [\"bootstrap\", \"cross-check\"]\n";
        let Some(scene) = Scene::new(&policy(lint, &format!("{settings}{observer}")), says) else { return };
        scene.repo.judge().args(["--observer-mode", mode]).run().expect(i32::from(!expected[0]));
        assert_eq!(attempts(&scene), expected, "{settings} {mode}");
        scene.replays();
    }
}

#[test]
fn a_pass_without_its_second_run_proves_nothing() {
    let Some(scene) = Scene::new(&policy(&kinds()[0], "confirm = true"), &kinds()[0].passes) else { return };
    scene.judge().expect(0);
    let run = scene.repo.run_dir();
    let mut recorded = run.json("recordings/execution.json");
    let commands: &mut Vec<Value> = recorded["commands"].as_array_mut().unwrap();
    let second = commands.iter().position(|command| command["attempt"] == 2).unwrap();
    commands.remove(second);
    write_json(&run, "recordings/execution.json", &recorded);
    follow_differences(&run, "EXECUTION_AUDIT_UNAVAILABLE");
}
