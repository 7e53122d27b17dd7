//! Drives on a laptop: safe edits as an agent, lines that a person reads and copies, and turns that wait for a person.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::drive::{MEND, POLICY, PRODUCT, Scene, end_reason};
use crate::observe::measured;
use crate::support::kept::keep_document;
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

#[test]
fn a_manual_drive_waits_for_a_person_whose_word_reaches_the_agent_and_the_session() {
    // The first turn changes nothing, so that a second one follows.
    let script = format!("cat >&2; if grep -q '\"turn\":2,' $QA_SKILL_ENVELOPE; then {MEND}; fi");
    let scene = Scene::new(POLICY, &script);
    let manual =
        |options: &[&str]| scene.drive(&[&["--fix", "--continue", "manual"], options].concat()).run();
    assert!(manual(&["--approve"]).expect(2).stderr.contains("has no turn that waits"));
    let waits = manual(&[]).expect(3).text();
    assert!(
        waits.starts_with("WAITS before turn 1 of 5: the agent gets the finding that blocks\n"),
        "{waits}"
    );
    assert_eq!(scene.session()["turns"], json!([]));
    assert!(scene.drive(&["--fix", "--approve"]).run().expect(2).stderr.contains("--continue manual"));
    assert!(manual(&["--edit", " "]).expect(2).stderr.contains("is empty"));

    assert!(manual(&["--approve"]).expect(3).text().starts_with("WAITS before turn 2 of 5"));
    assert!(scene.status().expect(0).text().contains("waits for a person"));
    scene.verify().run().expect(0);
    manual(&["--edit", "Keep the signature."]).expect(0);
    let session = scene.session();
    let turns = session["turns"].as_array().unwrap();
    assert_eq!(turns[0]["person"], json!({"by": null, "text": null}));
    assert_eq!(turns[1]["person"], json!({"by": null, "text": "Keep the signature."}));
    let notes = |turn: &Value| {
        let envelope = turn["stderr"]["text"].as_str().unwrap();
        keep_document(envelope.as_bytes());
        serde_json::from_str::<Value>(envelope).unwrap()["notes"].clone()
    };
    assert_eq!((notes(&turns[0]), notes(&turns[1])), (json!([]), json!(["Keep the signature."])));
    scene.verify().run().expect(0);
    // The envelope follows from what the person said.
    let mut edited = session.clone();
    edited["turns"][1]["person"]["text"] = "Change the signature.".into();
    scene.write_session(&edited);
    let refused = scene.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED").stderr;
    assert!(refused.contains("turn 2: its envelope is another"), "{refused}");
}

#[test]
fn a_person_stops_a_drive_and_keeps_what_it_brought() {
    let script = "if grep -q '\"turn\":1,' $QA_SKILL_ENVELOPE; then echo 'C = 1' > src/c.py; fi";
    let scene = Scene::new(POLICY, script);
    let manual =
        |options: &[&str]| scene.drive(&[&["--fix", "--continue", "manual"], options].concat()).run();
    manual(&[]).expect(3);
    manual(&["--approve"]).expect(3);
    let stopped = manual(&["--stop"]).expect(1).text();
    assert!(stopped.starts_with("NOT PASSED after 1 turn: a person stopped the drive\n"), "{stopped}");
    assert!(scene.directory().join("result.patch").is_file());
    assert_eq!(end_reason(&scene.session()), "stopped");
    scene.verify().run().expect(0);
}

#[test]
fn a_head_that_moves_during_the_pause_ends_the_drive() {
    let scene = Scene::new(POLICY, MEND);
    let mut command = scene.drive(&["--fix", "--continue", "10s"]).command();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "turn 1 begins in 10 s; Ctrl-C interrupts the drive"));
    let moved = scene.repo.tip("main").to_string();
    git(&scene.repo.path(), &["update-ref", "refs/heads/topic", &moved]);
    let rest: Vec<String> = lines.collect();
    assert_eq!(rest, [""; 0]);
    assert_eq!(child.wait().unwrap().code(), Some(3));
    assert_eq!(end_reason(&scene.session()), "head_moved");
    scene.verify().run().expect(0);
}

#[test]
fn the_status_of_any_drive_is_shown_as_text_markdown_and_a_page() {
    let script = "printf '<b>done</b>\\n%0900d\\n' 7; if grep -q '\"turn\":1,' $QA_SKILL_ENVELOPE; then \
                  sed -i 's/assert mul.*/pass/' tests/test_a.py; else sed -i /breakpoint/d src/a.py; fi";
    let scene = Scene::new(POLICY, script);
    let printed = scene.fix().expect(0).text();
    let directory = scene.directory();
    let page = fs::read_to_string(directory.join("drive.html")).unwrap();
    assert!(printed.contains("\npage     ") && printed.contains("/drive.html\n"), "{printed}");
    let show = |format: &str| {
        let program = qa_skill(["drive", "--status"]).arg(&directory).args(["--format", format]);
        program.run().expect(0).text()
    };
    assert_eq!(show("html"), page);
    assert!(page.contains("DRIVE_CHECK_WEAKENED") && page.contains("&lt;b&gt;done&lt;/b&gt;"), "{page}");
    // The refused turn has its diff as well, of which nothing is in the result.
    for line in ["breakpoint()", "assert mul(2, 3) == 6"] {
        assert!(page.contains(&format!("<td class=\"c\">    {line}</td>")), "{page}");
    }
    for link in ["result.patch", "result.bundle"] {
        assert!(page.contains(&format!("href=\"{link}\"")) && directory.join(link).is_file(), "{link}");
    }
    let reports: Vec<&str> =
        page.split("href=\"").filter_map(|part| part.split_once("/report.html")).map(|part| part.0).collect();
    assert_eq!(reports.len(), 5);
    for report in reports {
        assert!(directory.join(report).join("report.html").is_file(), "{report}");
    }
    if let Some(widths) = measured(&directory.join("drive.html")) {
        assert_eq!(widths, json!([[360, 0], [360, 0], [1200, 0], [1200, 0]]));
    }
    let summary = show("markdown");
    assert!(
        summary.starts_with("**PASS** after 2 turns (1 accepted, 1 refused): the tree passes the gate.\n"),
        "{summary}"
    );
    assert_eq!(show("text"), scene.status().expect(0).text());
    let options = qa_skill(["drive", "--fix", "--agent", "x", "--format", "html"]).run().expect(2);
    assert!(options.stderr.contains("cannot be used with '--format"), "{}", options.stderr);
}

#[test]
fn a_turn_of_safe_edits_is_derived_again_from_the_repository() {
    let scene = Scene::new(POLICY, &format!("{MEND}; echo '# mended' >> src/a.py"));
    scene.fix().expect(0);
    let other = scene.session();
    let bundle = fs::read(scene.directory().join("turn-001.bundle")).unwrap();
    fs::remove_dir_all(scene.repo.beside("out")).unwrap();
    let program = qa_skill(["drive", "--fix", "--base", "main", "--head", "topic", "--agent", "builtin:fix"]);
    program.arg("--repo").arg(scene.repo.path()).arg("--out").arg(scene.repo.beside("out")).run().expect(0);
    let verify = || scene.verify().arg("--repo").arg(scene.repo.path()).run();
    verify().expect(0);
    // The commit of another drive changes the same file of the same head, and was no safe edit.
    let mut session = scene.session();
    session["turns"][0]["commit"] = other["turns"][0]["commit"].clone();
    scene.write_session(&session);
    fs::write(scene.directory().join("turn-001.bundle"), bundle).unwrap();
    let refused = verify().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    assert!(refused.stderr.contains("turn 1 did not apply safe edits alone"), "{}", refused.stderr);
}

#[test]
fn a_branch_that_lacks_the_newest_policy_is_driven_under_it() {
    let scene = Scene::new(POLICY, MEND);
    let path = scene.repo.path();
    git(&path, &["checkout", "-q", "main"]);
    let policy = format!("{POLICY}[drive]\nmax-turns = 2\n");
    fs::write(path.join(".qa-skill/policy.toml"), policy).unwrap();
    let person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    git(&path, &[&person[..], &["commit", "-q", "-a", "-m", "Bound drives"]].concat());
    scene.fix().expect(0);
    assert_eq!(scene.session()["start"]["limits"]["maxTurns"], 2);
    scene.verify().run().expect(0);
}
