//! Installing the skill for coding agents and their hooks: what is written where, that other settings stay, and that nothing of
//! anybody else is replaced.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Outcome, Program, temp};
use crate::uncommitted::Checkout;

const AGENTS: [[&str; 3]; 5] = [
    ["claude-code", ".claude/skills/qa-skill/SKILL.md", ".claude/settings.json"],
    ["codex", ".agents/skills/qa-skill/SKILL.md", ".codex/hooks.json"],
    ["gemini", ".gemini/skills/qa-skill/SKILL.md", ".gemini/settings.json"],
    ["cursor", ".cursor/skills/qa-skill/SKILL.md", ".cursor/hooks.json"],
    ["copilot", ".github/skills/qa-skill/SKILL.md", ".github/hooks/qa-skill.json"],
];

fn program(checkout: &Checkout, arguments: &[&str]) -> Program {
    checkout.program(&[&["skill"], arguments].concat())
}

fn skill(checkout: &Checkout, arguments: &[&str]) -> Outcome {
    program(checkout, arguments).run()
}

fn read(checkout: &Checkout, path: &str) -> String {
    std::fs::read_to_string(checkout.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn published() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("SKILL.md")).unwrap()
}

/// Returns every command that a settings file has for an event.
fn commands(settings: &Value) -> Vec<String> {
    let text = |name: &str| settings.get(name).and_then(Value::as_str).map(str::to_owned);
    let members = settings.as_object().into_iter().flat_map(|members| members.values());
    let items = settings.as_array().into_iter().flatten();
    let below = members.chain(items).flat_map(commands);
    text("command").into_iter().chain(text("bash")).chain(below).collect()
}

#[test]
fn the_skill_is_printed_and_installed_with_hooks_that_work() {
    let checkout = Checkout::new("");
    assert_eq!(skill(&checkout, &[]).expect(0).text(), published());
    let mut arguments = vec!["--hooks", "--yes"];
    arguments.extend(AGENTS.iter().flat_map(|[agent, ..]| ["--agent", agent]));
    let text = skill(&checkout, &arguments).expect(0).text();
    assert!(text.ends_with("\nWrote 10 files.\n"), "{text}");
    for [agent, file, settings] in AGENTS {
        assert!(text.contains(&format!("  new        {file}\n")), "{text}");
        assert!(read(&checkout, file).starts_with(&published()), "{agent}");
        let settings: Value = serde_json::from_str(&read(&checkout, settings)).unwrap();
        let commands = commands(&settings);
        assert_eq!(commands.len(), 2, "{agent}: {settings}");
        for command in commands {
            // The command line is one that the program takes, by the shell of the agent.
            let path = Path::new(env!("CARGO_BIN_EXE_qa-skill")).parent().unwrap().display().to_string();
            let output = Command::new("sh")
                .args(["-c", &command])
                .current_dir(checkout.path())
                .env("PATH", format!("{path}:/usr/bin:/bin"))
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                text.starts_with("error[INPUT_INVALID]: failed to read the event: EOF"),
                "{command}: {text}"
            );
            // Whoever has no binary is told so, and not kept from work.
            let output = Command::new("/bin/sh")
                .args(["-c", &command])
                .env("PATH", "/nowhere")
                .stdin(Stdio::null())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(text, "qa-skill is not installed, so this hook judged nothing\n", "{command}");
            assert!(output.status.success() && output.stdout.is_empty(), "{command}");
        }
    }
    let again = skill(&checkout, &arguments).expect(0).text();
    assert!(again.ends_with("\nNothing to write.\n") && !again.contains("  new  "), "{again}");
}

#[test]
fn other_settings_and_comments_stay() {
    let checkout = Checkout::new("mkdir .claude");
    let old = "{\n  // mine\n  \"model\": \"x\",\n  \"hooks\": { \"Stop\": [{ \"hooks\": [] }] }\n}\n";
    std::fs::write(checkout.path().join(".claude/settings.json"), old).unwrap();
    skill(&checkout, &["--agent", "claude-code", "--hooks", "--yes"]).expect(0);
    let new = read(&checkout, ".claude/settings.json");
    let kept: Vec<&str> = new.lines().filter(|line| old.contains(line)).collect();
    assert!(["  // mine", "  \"model\": \"x\","].iter().all(|line| kept.contains(line)), "{new}");
    let plain: Value = serde_json::from_str(&new.replace("// mine", "")).unwrap();
    assert_eq!(plain["hooks"]["Stop"][1], json!({ "hooks": [] }), "{new}");
    assert_eq!(plain["hooks"]["PostToolUse"][0]["matcher"], "Edit|MultiEdit|Write|NotebookEdit", "{new}");
    let again = skill(&checkout, &["--agent", "claude-code", "--hooks", "--yes"]).expect(0).text();
    assert!(again.contains("  unchanged  .claude/settings.json\n"), "{again}");
}

#[test]
fn nothing_of_anybody_else_is_replaced() {
    let checkout = Checkout::new("");
    let file = ".claude/skills/qa-skill/SKILL.md";
    let arguments = ["--agent", "claude-code", "--hooks", "--yes"];
    skill(&checkout, &arguments).expect(0);
    let ours = read(&checkout, file);
    let edited = format!("mine\n{ours}");
    std::fs::write(checkout.path().join(file), &edited).unwrap();
    skill(&checkout, &["--agent", "claude-code", "--yes"]).expect_code(2, "INIT_FILE_NOT_OURS");
    assert_eq!(read(&checkout, file), edited);
    let text = skill(&checkout, &["--agent", "claude-code", "--yes", "--force"]).expect(0).text();
    assert!(text.contains("  changed    ") && text.contains("      -mine\n"), "{text}");
    assert_eq!(read(&checkout, file), ours);
    for settings in ["{", "[]", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": 1}}"] {
        std::fs::write(checkout.path().join(".claude/settings.json"), settings).unwrap();
        std::fs::remove_file(checkout.path().join(file)).unwrap_or(());
        skill(&checkout, &arguments).expect_code(2, "INIT_FILE_NOT_OURS");
        assert_eq!(read(&checkout, ".claude/settings.json"), settings);
        assert!(!checkout.path().join(file).exists(), "nothing is written unless all is");
    }
}

#[test]
fn hooks_are_written_beside_a_skill_that_was_edited() {
    let checkout = Checkout::new("mkdir -p .claude/skills/qa-skill");
    let (file, settings) = (".claude/skills/qa-skill/SKILL.md", ".claude/settings.json");
    let arguments = ["--agent", "claude-code", "--hooks", "--yes"];
    for (bytes, reason) in [(&b"mine\n"[..], "--force replaces it"), (&[0xff], "it is not UTF-8")] {
        std::fs::write(checkout.path().join(file), bytes).unwrap();
        std::fs::remove_file(checkout.path().join(settings)).unwrap_or(());
        let text = skill(&checkout, &arguments).expect(0).text();
        assert!(text.contains(&format!("  left       {file}: it ")) && text.contains(reason), "{text}");
        assert!(text.ends_with(&format!("\nWrote 1 file.\n{file} was left as it is.\n")), "{text}");
        assert!(read(&checkout, settings).contains("qa-skill hook --agent claude-code"));
        assert_eq!(std::fs::read(checkout.path().join(file)).unwrap(), bytes);
        let again = skill(&checkout, &arguments).expect(0).text();
        assert!(again.contains("  left  ") && again.ends_with("\nNothing to write.\n"), "{again}");
    }
}

#[test]
fn what_is_not_utf_8_is_never_replaced_and_no_hint_says_so() {
    let checkout = Checkout::new("mkdir -p .claude/skills/qa-skill");
    let arguments = ["--agent", "claude-code", "--yes", "--force"];
    let file = checkout.path().join(".claude/skills/qa-skill/SKILL.md");
    std::fs::write(&file, [0xff]).unwrap();
    let outcome = skill(&checkout, &arguments).expect_code(2, "INIT_FILE_NOT_OURS");
    assert!(outcome.stderr.contains("--force does not replace it"), "{}", outcome.stderr);
    std::fs::remove_file(&file).unwrap();
    std::fs::write(checkout.path().join(".claude/settings.json"), [0xff]).unwrap();
    let outcome = skill(&checkout, &[&arguments[..], &["--hooks"]].concat());
    let outcome = outcome.expect_code(2, "INIT_FILE_NOT_OURS");
    assert!(outcome.stderr.contains("which --force does not replace"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("pass --force"), "{}", outcome.stderr);
}

#[test]
fn hooks_of_another_form_are_brought_up_to_date_and_not_doubled() {
    let checkout = Checkout::new("mkdir -p .claude .cursor");
    let old = "{\r\n  \"hooks\": {\r\n    \"Stop\": [\r\n      { \"hooks\": [{ \"command\": \"first\" }] },\r\n      { \"hooks\": [{ \"command\": \"/opt/qa-skill hook --base main --agent claude-code\" }] }\r\n    ]\r\n  }\r\n}";
    std::fs::write(checkout.path().join(".claude/settings.json"), old).unwrap();
    std::fs::write(checkout.path().join(".cursor/hooks.json"), "{\"hooks\":{}}").unwrap();
    let arguments = ["--agent", "claude-code", "--agent", "cursor", "--hooks", "--yes"];
    skill(&checkout, &arguments).expect(0);
    let new = read(&checkout, ".claude/settings.json");
    assert!(!new.replace("\r\n", "").contains('\n') && new.ends_with("}\r\n}"), "{new:?}");
    let new: Value = serde_json::from_str(&new).unwrap();
    assert_eq!(commands(&new["hooks"]["PostToolUse"]).len(), 1, "{new}");
    let stop = commands(&new["hooks"]["Stop"]);
    assert_eq!(
        stop,
        [
            "first",
            "command -v /opt/qa-skill >/dev/null 2>&1 || { echo 'qa-skill is not installed, so this hook judged nothing' >&2; exit 0; }; \
             /opt/qa-skill hook --agent claude-code --repo \"${CLAUDE_PROJECT_DIR:-.}\" --base main"
        ]
    );
    assert_eq!(new["hooks"]["Stop"][1]["hooks"][0]["timeout"], 1_260, "{new}");
    let cursor: Value = serde_json::from_str(&read(&checkout, ".cursor/hooks.json")).unwrap();
    assert_eq!(cursor["version"], 1, "{cursor}");
    let again = skill(&checkout, &arguments).expect(0).text();
    assert!(again.ends_with("\nNothing to write.\n"), "{again}");
}

#[test]
fn links_are_not_followed_and_nothing_is_written_unasked() {
    let outside = temp();
    let cases = [
        (".claude", outside.path().to_owned()),
        (".claude/skills", outside.path().to_owned()),
        (".claude/settings.json", outside.path().join("settings.json")),
    ];
    for (link, target) in cases {
        let checkout = Checkout::new("");
        let link = checkout.path().join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &link).unwrap();
        let outcome = skill(&checkout, &["--agent", "claude-code", "--hooks", "--yes"]);
        let outcome = outcome.expect_code(3, "ARTIFACT_WRITE_FAILED");
        assert!(outcome.stderr.contains("is a link"), "{}", outcome.stderr);
        assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
    }
    let checkout = Checkout::new("");
    skill(&checkout, &["--agent", "codex"]).expect_code(2, "INIT_NOT_CONFIRMED");
    let text = skill(&checkout, &["--agent", "codex", "--dry-run"]).expect(0).text();
    assert!(text.ends_with("\nNothing was written.\n"), "{text}");
    assert!(!checkout.path().join(".agents").exists());
    let bare = temp();
    git2::Repository::init_bare(bare.path()).unwrap();
    let bare = skill(&checkout, &["--agent", "codex", "--yes", "--repo", bare.path().to_str().unwrap()]);
    assert!(bare.expect(2).stderr.contains("bare repository"));
}

#[test]
fn an_account_gets_the_skill_for_all_of_its_repositories() {
    let (checkout, home) = (Checkout::new(""), temp());
    let arguments = ["--agent", "copilot", "--hooks", "--user", "--yes"];
    program(&checkout, &arguments).env("HOME", home.path()).run().expect(0);
    for path in [".copilot/skills/qa-skill/SKILL.md", ".copilot/hooks/qa-skill.json"] {
        assert!(home.path().join(path).is_file(), "{path}");
    }
    assert_eq!(checkout.run("git status --porcelain"), "");
    let nowhere = program(&checkout, &arguments).env("HOME", "/nowhere").run().expect(2);
    assert!(nowhere.stderr.contains("no home directory"), "{}", nowhere.stderr);
}

#[test]
fn links_in_the_home_directory_are_refused_wherever_the_program_starts() {
    let (checkout, folder, target) = (Checkout::new(""), temp(), temp());
    let home = folder.path().join("kim");
    // The home directory itself may be a link; what is below it may not.
    let real = folder.path().join("real");
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &home).unwrap();
    let arguments = ["--agent", "codex", "--user", "--yes"];
    for place in [checkout.path(), folder.path().to_owned(), real.clone(), home.clone()] {
        program(&checkout, &arguments).env("HOME", &home).within(&place).run().expect(0);
        assert!(real.join(".agents/skills/qa-skill/SKILL.md").is_file());
        std::fs::remove_dir_all(real.join(".agents")).unwrap();
        std::os::unix::fs::symlink(target.path(), real.join(".agents")).unwrap();
        let outcome = program(&checkout, &arguments).env("HOME", &home).within(&place).run();
        let outcome = outcome.expect_code(3, "ARTIFACT_WRITE_FAILED");
        assert!(outcome.stderr.contains(".agents is a link"), "{}", outcome.stderr);
        assert_eq!(std::fs::read_dir(target.path()).unwrap().count(), 0);
        std::fs::remove_file(real.join(".agents")).unwrap();
    }
}
