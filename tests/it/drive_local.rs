//! Drives on a laptop: safe edits as an agent, lines that a person reads and copies, and turns that wait for a person.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::drive::{MEND, POLICY, PRODUCT, Scene, end_reason};
use crate::support::{conflict, git, qa_skill};

#[test]
fn safe_edits_are_an_agent_alone_and_before_another() {
    let builtin = |scene: &Scene, agents: &[&str]| {
        let mut program = qa_skill(["drive", "--fix", "--base", "main", "--head", "topic"]);
        for agent in agents {
            program = program.args(["--agent", agent]);
        }
        program.arg("--repo").arg(scene.repo.path()).arg("--out").arg(scene.repo.beside("out")).run()
    };
    let scene = Scene::new(POLICY, "exit 3");
    let outcome = builtin(&scene, &["builtin:fix"]).expect(0);
    assert!(outcome.stderr.contains("turn 1 of 5: 1 finding for builtin:fix"), "{}", outcome.stderr);
    let turn = &scene.session()["turns"][0];
    assert_eq!(
        (&turn["executor"], &turn["changed"], &turn["answer"]["outcome"]),
        (&json!("safe_edits"), &json!(["src/a.py"]), &json!("done"))
    );
    let verified = scene.verify().run().expect(0).text();
    assert!(verified.contains("agent          builtin:fix"), "{verified}");

    // A merge leftover has no edit that guesses nothing.
    let fault = PRODUCT.replace("    return a + b", "    breakpoint()\n    return a + b") + &conflict();
    let base = [(".qa-skill/policy.toml", POLICY), ("src/a.py", PRODUCT)];
    let head = [base[0], ("src/a.py", fault.as_str())];
    let clean =
        "sed -i '/^<<<<<<<\\|^=======\\|^>>>>>>>\\|^ours\\|^theirs/d' src/a.py; mkdir -p out; touch out/x";
    let scene = Scene::of(&base, &head, clean);
    builtin(&scene, &["builtin:fix"]).expect(1);
    assert_eq!(end_reason(&scene.session()), "stuck");
    scene.verify().run().expect(0);
    fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    let agent = scene.agent.to_str().unwrap();
    builtin(&scene, &["builtin:fix", agent]).expect(0);
    let session = scene.session();
    let executors: Vec<&Value> =
        session["turns"].as_array().unwrap().iter().map(|turn| &turn["executor"]).collect();
    assert_eq!(executors, [&json!("safe_edits"), &json!("program")]);
    scene.verify().run().expect(0);

    assert!(builtin(&scene, &["builtin:fix", "builtin:fix"]).expect(2).stderr.contains("more than one"));
    let goal = qa_skill(["drive", "--goal", "x", "--base", "main", "--agent", "builtin:fix", "--repo"]);
    assert!(goal.arg(scene.repo.path()).run().expect(2).stderr.contains("reaches no goal"));
}

#[test]
fn new_files_that_ignore_rules_name_are_left_out_and_said() {
    let script =
        format!("printf 'build/\\n*.log\\n' > .gitignore; mkdir build; touch build/a build/b x.log; {MEND}");
    let scene = Scene::new(POLICY, &script);
    let outcome = scene.fix().expect(0);
    let line = "  left out: build, x.log, because .gitignore names them\n";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    let turn = &scene.session()["turns"][0];
    assert_eq!(turn["ignored"], json!({"count": 2, "first": ["build", "x.log"]}));
    assert_eq!(turn["changed"], json!([".gitignore", "src/a.py"]));
}

#[test]
fn printed_paths_and_commands_can_be_copied() {
    let scene = Scene::new(POLICY, MEND);
    let out = scene.repo.beside("it's here");
    let program = qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent"]);
    let program = program.arg(&scene.agent).arg("--repo").arg(scene.repo.path()).arg("--out").arg(&out);
    let text = program.run().expect(0).text();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    git(&scene.repo.path(), &["checkout", "-qf", "topic"]);
    for command in &commands[..2] {
        git(&scene.repo.path(), &["reset", "-q", "--hard", &scene.repo.tip("topic").to_string()]);
        let ran = Command::new("sh").args(["-c", command]).current_dir(scene.repo.path()).output().unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
        let now = fs::read_to_string(scene.repo.path().join("src/a.py")).unwrap();
        assert_eq!(now, PRODUCT, "{command}");
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_named() {
    let policy = format!("{POLICY}[drive]\nmax-turns = 1\n");
    let scene = Scene::new(&policy, &format!("mkdir shut; chmod 0 shut; {MEND}"));
    let outcome = scene.fix();
    // The owner of a directory that nobody may read is root's equal where no other user runs agents.
    if outcome.exit != 0 {
        assert!(
            outcome.stderr.contains("the tree cannot be taken: shut: Permission denied"),
            "{}",
            outcome.stderr
        );
    }
}
