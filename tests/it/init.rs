//! Setting up the gate: what is found, proposed, asked and written, and that nothing else is.

use std::path::Path;
use std::process::Stdio;

use crate::support::kinds::{KINDS, Kind, write};
use crate::support::parts::skip;
use crate::support::{Files, Outcome, Program, Repo, conflict, git, qa_skill, temp};

const SHA: &str = "3d3c42e5aac5ba805825da76410c181273ba90b1";
const OTHER: &str = "0123456789abcdef0123456789abcdef01234567";
const GATE: &str = ".github/workflows/qa-skill.yml";
const NIGHTLY: &str = ".github/workflows/qa-skill-nightly.yml";
const POLICY: &str = ".qa-skill/policy.toml";

fn uses(commit: &str) -> String {
    format!("acme/qa-skill@{commit}")
}

fn program(at: &Path, arguments: &[&str]) -> Program {
    let all = qa_skill(["init", "--repo"]).arg(at);
    arguments.iter().fold(all, |all, argument| all.arg(argument))
}

fn init(repo: &Repo, arguments: &[&str]) -> Outcome {
    program(&repo.path(), arguments).run()
}

fn init_with(repo: &Repo, arguments: &[&str]) -> Outcome {
    init(repo, &[&["--uses", &uses(SHA)], arguments].concat())
}

fn read(repo: &Repo, path: &str) -> String {
    std::fs::read_to_string(repo.path().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn exists(repo: &Repo, path: &str) -> bool {
    std::fs::symlink_metadata(repo.path().join(path)).is_ok()
}

fn kind(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).unwrap()
}

/// Commits the written files on `main`, and a change on `topic`.
fn commit_written(repo: &Repo, files: &Files) {
    let written =
        [GATE, NIGHTLY, POLICY].iter().fold(files.clone(), |files, path| files.with(path, read(repo, path)));
    let base = repo.commit(repo.tree(&written), &[repo.tip("main")]);
    let head = repo.commit(repo.tree(&written.with("added.txt", "More.\n")), &[base]);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/heads/topic", head);
}

#[test]
fn every_kind_of_repository_gets_files_that_judge_its_next_change() {
    for kind in &KINDS {
        let repo = kind.repository();
        let outcome = init_with(&repo, &["--yes"]).expect(0);
        let text = outcome.text();
        for part in kind.said.iter().chain(&[
            "would have stopped 0 of 1 (0.0 %; by the 95 % interval at most 79.3 %)",
            "Wrote 3 files. Next:",
        ]) {
            assert!(text.contains(part), "{}: {part} is missing in\n{text}", kind.name);
        }
        let policy = repo.path().join(POLICY);
        qa_skill(["policy-check", "--file"]).arg(&policy).run().expect(0);
        let again = init(&repo, &["--yes"]).expect(0).text();
        assert!(again.ends_with("\nNothing to write.\n"), "{}: {again}", kind.name);
        commit_written(&repo, &kind.files());
        let run = repo.judge().args(["--format", "json"]).run().expect(0).json();
        assert_eq!(run["finalVerdict"]["conclusion"], "pass", "{}", kind.name);
        // The gate that is set up has no problem that a file could mend, but owners.
        let doctor = qa_skill(["doctor", "--repository", "--base", "main"]).within(&repo.path()).run().text();
        let problems = doctor.lines().filter(|line| line.starts_with("  problem"));
        assert!(problems.clone().all(|line| line.contains(" unowned:")), "{}: {doctor}", kind.name);
    }
}

#[test]
fn a_person_reads_what_was_found_what_each_preset_costs_and_each_line_to_write() {
    let repo = Repo::new();
    let start = Files::from_texts(&[("a.py", "A = 1\n"), ("b.py", "B = 1  # noqa\n")]);
    let first = repo.commit_saying("Begin", repo.tree(&start), &[]);
    let faulty = start.clone().with("b.py", conflict());
    let second = repo.commit_saying("Merge\u{1b}[31m the other side", repo.tree(&faulty), &[first]);
    let third = repo.commit_saying("Mend it", repo.tree(&start), &[second]);
    repo.reference("refs/heads/main", third);
    repo.git.set_head("refs/heads/main").unwrap();
    let outcome = init_with(&repo, &["--dry-run", "--no-nightly"]).expect(0);
    let text = outcome.text();
    let (found, planned) = text.split_once("\nFiles\n").unwrap();
    let expected = "\
Found at @@THIRD@@
  files         2 files
  languages     python 2
  tests         0 test files
  linters       none that is known
  CI            none that is known
  suppressions  1 of 2 source files silence a linter; only what a change adds is reported

Presets, measured on the last 2 merged changes of the default branch (main), up to @@THIRD@@
  advisory  would have stopped none: it reports and blocks nothing
  default   would have stopped 1 of 2 (50.0 %; by the 95 % interval at most 90.5 %)
  guarded   would have stopped 2 of 2 (100.0 %; by the 95 % interval at most 100.0 %)
  default only advises on skipped tests, softened CI, loosened linters and a weaker policy; guarded blocks them

Stopped by default, newest first
  @@SECOND@@ Merge\\u{1b}[31m the other side
      merge-leftover/conflict-marker b.py:1

Stopped by guarded besides, newest first
  @@THIRD@@ Mend it
      suppression/unexplained b.py:1

Rules that stopped most by guarded; these lines in the policy would let each advise
  [rules.\"merge-leftover/conflict-marker\"]
  strength = \"advise\"  # 1 change, 1 by this rule alone
  [rules.\"suppression/unexplained\"]
  strength = \"advise\"  # 1 change, 1 by this rule alone

Preset: default (proposed)
  rule: guarded if, by the 95 % interval, it stops at most 4 % of the changes, else default if it would have stopped at most 5 %, else advisory; default where fewer than 20 changes were judged
";
    let shown = |id: git2::Oid| id.to_string()[..12].to_owned();
    let expected = expected.replace("@@SECOND@@", &shown(second)).replace("@@THIRD@@", &shown(third));
    assert_eq!(found, expected);
    assert!(
        planned.starts_with(&format!("  new        {GATE}\n      +# Written by qa-skill init")),
        "{planned}"
    );
    assert!(planned.contains(&format!("\n      +      - uses: acme/qa-skill@{SHA}\n")), "{planned}");
    assert!(planned.contains("\n      +preset = \"default\"\n"), "{planned}");
    assert!(planned.ends_with("\n\nNothing was written.\n"), "{planned}");
    // Standard error is no terminal here, and says all the same what takes its time.
    assert!(outcome.stderr.starts_with("judging merged changes: 0 of 2\n"), "{}", outcome.stderr);
    assert!(
        planned.contains("\nTo write these files without measuring again, add --yes --preset default.\n")
    );
    assert!(!exists(&repo, ".github") && !exists(&repo, ".qa-skill"));
}

#[test]
fn presets_that_are_measured_together_cost_what_each_costs_alone() {
    let repo = Repo::new();
    let start = Files::from_texts(&[
        ("a.py", "A = 1\n"),
        ("test_a.py", "def test_a():\n    assert 1 == 1\n    assert 2 == 2\n"),
    ]);
    let mut tip = repo.commit(repo.tree(&start), &[]);
    let more = |text: &str| start.clone().with("b.py", text);
    for files in [
        more("B = 1  # noqa\n"),
        more(&conflict()),
        more("import os\n\n\ndef run(name):\n    os.system(\"ls \" + name)\n"),
        start
            .clone()
            .with("test_a.py", "import pytest\n\n\n@pytest.mark.skip\ndef test_a():\n    assert 1 == 1\n"),
        start.clone(),
        more("def run(name):\n    try:\n        return name\n    except Exception:\n        pass\n"),
    ] {
        tip = repo.commit(repo.tree(&files), &[tip]);
    }
    repo.reference("refs/heads/main", tip);
    repo.git.set_head("refs/heads/main").unwrap();
    let text = init_with(&repo, &["--dry-run"]).expect(0).text();
    let mut stopped = Vec::new();
    for preset in ["default", "guarded"] {
        let calibrate =
            qa_skill(["calibrate", "--format", "json", "--preset", preset, "--repo"]).arg(repo.path());
        let alone = calibrate.run().expect(0).json();
        let blocked = alone["blocked"].as_array().unwrap();
        let line = format!("  {preset:<8}  would have stopped {} of 6 ", blocked.len());
        assert!(text.contains(&line), "{line} is missing in\n{text}");
        // The three rules that stop most are listed.
        for rule in alone["rules"].as_array().unwrap().iter().take(3) {
            let count = rule["blockedChanges"].as_u64().unwrap();
            let shown = format!("\"]\n  strength = \"advise\"  # {count} change");
            let shown = format!("  [rules.\"{}{shown}", rule["ruleId"].as_str().unwrap());
            assert!(
                count == 0 || preset == "default" || text.contains(&shown),
                "{shown} is missing in\n{text}"
            );
        }
        stopped.push(blocked.len());
    }
    assert!(0 < stopped[0] && stopped[0] < stopped[1], "{stopped:?}");
}

#[test]
fn a_preset_that_is_chosen_is_not_measured() {
    let repo = kind("go").repository();
    let outcome = init_with(&repo, &["--yes", "--preset", "default"]).expect(0);
    let text = outcome.text();
    assert!(text.contains("\nPresets\n  not measured, because --preset names one;"), "{text}");
    assert!(!text.contains("would have stopped") && outcome.stderr.is_empty(), "{text}");
    assert!(
        read(&repo, POLICY)
            .contains("# Measured by init: nothing, because the preset was chosen by --preset\n")
    );
    let again = init(&repo, &["--yes", "--uses", &uses(OTHER)]).expect(0);
    let text = again.text();
    assert!(
        text.contains("  not measured again, because the policy has one;") && again.stderr.is_empty(),
        "{text}"
    );
    // The policy of somebody else says nothing of what it costs.
    write(&repo, POLICY, "version = 1\n");
    let text = init_with(&repo, &["--dry-run"]).expect(0).text();
    assert!(text.contains("  guarded   would have stopped 0 of 1 "), "{text}");
}

#[test]
fn nothing_is_written_where_nobody_agreed() {
    let repo = kind("go").repository();
    let outcome = init_with(&repo, &[]).expect_code(2, "INIT_NOT_CONFIRMED");
    assert!(outcome.text().contains(&format!("  new        {NIGHTLY}\n")), "{}", outcome.text());
    assert!(!exists(&repo, ".github") && !exists(&repo, ".qa-skill"));
}

#[test]
fn lines_for_people_fit_80_columns_and_commands_are_whole() {
    let repo = kind("documentation").repository();
    let narrow = |arguments: &[&str]| program(&repo.path(), arguments).env("COLUMNS", "80").run();
    let shown = narrow(&["--dry-run"]).expect(2).text();
    let written = narrow(&["--yes", "--uses", &uses(SHA)]).expect(0).text();
    let is_of_a_file = |line: &&str| line.starts_with("      +") || line.starts_with("      -");
    for line in shown.lines().chain(written.lines()).filter(|line| !is_of_a_file(line)) {
        assert!(line.chars().count() <= 80, "{line}");
    }
    for command in [
        "\n  2. git ls-remote https://github.com/OWNER/qa-skill vX.Y.Z  prints COMMIT\n",
        "\n  3. qa-skill init --uses OWNER/qa-skill@COMMIT  shows the plan and asks\n",
    ] {
        assert!(shown.contains(command), "{shown}");
    }
    for step in ["\n  3. make the job `qa-skill` a required", "\n  4. `qa-skill doctor --repository` names "]
    {
        let line = written.split_once(step).unwrap_or_else(|| panic!("{written}")).1;
        assert!(line.lines().next().is_some_and(|line| line.ends_with(['`', 'n'])), "{written}");
    }
}

/// Runs `init` on a terminal that answers.
fn on_a_terminal(repo: &Repo, answer: &str) -> Option<String> {
    let line = format!("{} init --quiet --uses {}", env!("CARGO_BIN_EXE_qa-skill"), uses(SHA));
    let mut command = std::process::Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]).current_dir(repo.path());
    let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skip("there is no `script` to make a terminal with");
        return None;
    };
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), answer.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap().replace('\r', ""))
}

#[test]
fn on_a_terminal_the_answer_decides() {
    for (answer, written) in [("n\n", false), ("\n", false), ("y\n", true)] {
        let repo = kind("documentation").repository();
        let Some(text) = on_a_terminal(&repo, answer) else { return };
        assert!(text.contains("Write these 3 files? [y/N] "), "{text}");
        let end = if written { "Wrote 3 files. Next:" } else { "Nothing was written." };
        assert!(text.contains(end), "{answer:?}: {text}");
        assert_eq!(exists(&repo, GATE), written, "{answer:?}");
    }
}

#[test]
fn the_action_is_named_in_full_or_nothing_is_written() {
    let repo = kind("go").repository();
    for arguments in [&["--yes"][..], &["--dry-run"], &[]] {
        let outcome = init(&repo, arguments).expect_code(2, "INIT_ACTION_UNKNOWN");
        assert!(outcome.stderr.contains("--uses OWNER/qa-skill@COMMIT"), "{}", outcome.stderr);
        // The plan is shown, with the way to the commit; only files that are written at once are refused before.
        if !arguments.contains(&"--yes") {
            let text = outcome.text();
            assert!(text.contains(&format!("  withheld   {GATE}: COMMIT is not known\n")), "{text}");
            assert!(text.contains("      +      - uses: OWNER/qa-skill@COMMIT\n"), "{text}");
            assert!(text.contains("  2. git ls-remote https://github.com/OWNER/qa-skill vX.Y.Z "), "{text}");
        }
    }
    for named in ["acme/qa-skill@v1", "acme/qa-skill", "OWNER/qa-skill@COMMIT", "acme/qa-skill@\u{1b}[31m"] {
        let outcome = init(&repo, &["--yes", "--uses", named]).expect_code(2, "INIT_ACTION_UNKNOWN");
        assert!(!outcome.stderr.contains('\u{1b}'), "{}", outcome.stderr);
    }
    assert!(!exists(&repo, ".github") && !exists(&repo, ".qa-skill"));
}

#[test]
fn a_commit_that_is_taken_from_a_workflow_is_shown_with_its_place() {
    let repo = kind("go").repository();
    let nightly = format!("on: push\njobs:\n  a:\n    steps:\n      - uses: {}\n", uses(OTHER));
    write(&repo, ".github/workflows/other.yml", &nightly);
    let text = init(&repo, &["--dry-run"]).expect(0).text();
    let line = format!("\nAction: {}, which .github/workflows/other.yml names; ", uses(OTHER));
    assert!(text.contains(&line), "{text}");
    let text = init_with(&repo, &["--dry-run"]).expect(0).text();
    assert!(!text.contains("\nAction: "), "{text}");
}

#[test]
fn a_repository_of_gitlab_gets_a_policy_and_no_workflow() {
    let repo = kind("documentation").repository();
    std::fs::remove_dir_all(repo.path().join(".github")).unwrap_or(());
    write(&repo, ".gitlab-ci.yml", "test: { script: [make] }\n");
    let text = init(&repo, &["--yes", "--codeowners", "@sam"]).expect(0).text();
    assert!(text.contains("docs/other-ci.md, \"GitLab\", has the job for .gitlab-ci.yml.\n"), "{text}");
    assert!(text.contains("\nWrote 2 files. Next:\n  1. add the job of docs/other-ci.md"), "{text}");
    assert!(exists(&repo, POLICY) && exists(&repo, "CODEOWNERS") && !exists(&repo, ".github"));
    // An origin at GitHub, or an action that is named, is a repository of GitHub.
    let text = init_with(&repo, &["--dry-run"]).expect(0).text();
    assert!(text.contains(&format!("  new        {GATE}\n")), "{text}");
    git2::Repository::open(repo.path()).unwrap().remote("origin", "https://github.com/a/b").unwrap();
    init(&repo, &["--dry-run"]).expect_code(2, "INIT_ACTION_UNKNOWN");
}

#[test]
fn a_later_run_updates_what_init_wrote_and_keeps_edits_of_the_policy() {
    let repo = kind("rust").repository();
    init_with(&repo, &["--yes", "--codeowners", "@acme/security", "--codeowners", "@sam"]).expect(0);
    let owners = read(&repo, ".github/CODEOWNERS");
    assert!(owners.contains("/.github/ ") && owners.contains(" @acme/security @sam\n"), "{owners}");
    let policy =
        read(&repo, POLICY) + "[rules.\"test-weakening/test-skipped\"]\nstrength = \"block\" # ours\n";
    write(&repo, POLICY, &policy);
    let ci = read(&repo, ".github/workflows/ci.yml");
    let outcome = init(&repo, &["--yes", "--uses", &uses(OTHER)]).expect(0);
    assert!(outcome.text().contains(&format!("      -      - uses: {}\n", uses(SHA))), "{}", outcome.text());
    assert!(outcome.text().contains(&format!("      +      - uses: {}\n", uses(OTHER))));
    assert_eq!(read(&repo, POLICY), policy.replace(SHA, OTHER));
    assert!(read(&repo, GATE).contains(OTHER) && read(&repo, NIGHTLY).contains(OTHER));
    assert_eq!([read(&repo, ".github/CODEOWNERS"), read(&repo, ".github/workflows/ci.yml")], [owners, ci]);
    let modified = |path: &str| std::fs::metadata(repo.path().join(path)).unwrap().modified().unwrap();
    let before = [GATE, NIGHTLY, POLICY].map(modified);
    init(&repo, &["--yes"]).expect(0);
    assert_eq!(before, [GATE, NIGHTLY, POLICY].map(modified));
    // Leftovers of writing would be committed with the rest.
    let names = std::fs::read_dir(repo.path().join(".github/workflows")).unwrap();
    assert_eq!(names.count(), 3);
}

#[test]
fn the_preset_is_chosen_and_never_made_weaker() {
    let repo = kind("ruby").repository();
    init_with(&repo, &["--yes", "--preset", "default"]).expect(0);
    assert!(read(&repo, POLICY).ends_with("\npreset = \"default\"\n"));
    let outcome = init(&repo, &["--yes", "--preset", "advisory"]).expect(2);
    assert!(outcome.stderr.contains("would weaken .qa-skill/policy.toml"), "{}", outcome.stderr);
    assert!(read(&repo, POLICY).ends_with("\npreset = \"default\"\n"));
    init(&repo, &["--yes", "--preset", "guarded"]).expect(0);
    assert!(read(&repo, POLICY).ends_with("\npreset = \"guarded\"\n"));
    write(&repo, POLICY, "presett = \"guarded\"\n");
    init(&repo, &["--yes"]).expect_code(2, "POLICY_INVALID");
}

#[test]
fn a_package_that_leaves_files_out_leaves_the_policy_out_too() {
    let repo = kind("php").repository();
    write(&repo, ".gitattributes", "/tests export-ignore\r\n");
    let text = init_with(&repo, &["--yes"]).expect(0).text();
    assert!(
        text.contains("  changed    .gitattributes\n      +/.qa-skill export-ignore\n      note: keeps"),
        "{text}"
    );
    assert_eq!(read(&repo, ".gitattributes"), "/tests export-ignore\r\n/.qa-skill export-ignore\r\n");
    assert!(init(&repo, &["--yes"]).expect(0).text().ends_with("\nNothing to write.\n"));
    let repo = kind("php").repository();
    write(&repo, ".gitattributes", "*.php text\n");
    assert!(!init_with(&repo, &["--yes"]).expect(0).text().contains(".gitattributes"));
}

#[test]
fn the_hook_of_pre_commit_is_added_and_other_entries_stay() {
    let repo = kind("ruby").repository();
    let theirs = "repos:\n- repo: local\n  hooks: [{id: a, name: a, entry: 'true', language: system}]\n";
    write(&repo, ".pre-commit-config.yaml", theirs);
    assert!(!init_with(&repo, &["--dry-run"]).expect(0).text().contains(".pre-commit-config.yaml\n"));
    let text = init_with(&repo, &["--yes", "--pre-commit"]).expect(0).text();
    assert!(
        text.contains(
            "  changed    .pre-commit-config.yaml\n      +- repo: https://github.com/acme/qa-skill\n"
        ),
        "{text}"
    );
    let written = read(&repo, ".pre-commit-config.yaml");
    assert!(written.starts_with(theirs) && written.contains(&format!("\n  rev: {SHA}\n")), "{written}");
    assert!(text.contains("\n  5. in each clone with qa-skill installed: `pre-commit install`\n"), "{text}");
    assert!(init(&repo, &["--yes", "--pre-commit"]).expect(0).text().ends_with("\nNothing to write.\n"));
    // A later run moves the entry together with the workflows, without the option.
    let text = init(&repo, &["--yes", "--uses", &uses(OTHER)]).expect(0).text();
    assert_eq!(read(&repo, ".pre-commit-config.yaml"), written.replace(SHA, OTHER));
    assert!(text.contains("`pre-commit install`\n"), "{text}");
    init_with(&repo, &["--yes"]).expect(0);
    let text = init(&kind("ruby").repository(), &["--dry-run", "--pre-commit"])
        .expect_code(2, "INIT_ACTION_UNKNOWN")
        .text();
    assert!(text.contains("+    rev: COMMIT\n"), "{text}");
    write(&repo, ".pre-commit-config.yaml", "repos: []\n");
    let text = init(&repo, &["--yes", "--pre-commit"]).expect(0).text();
    assert!(text.contains("its `repos` is no list in block form"), "{text}");
}

#[test]
fn files_of_others_are_kept_or_replaced_when_told_so() {
    let repo = kind("php").repository();
    write(&repo, GATE, "on: push\njobs: {}\n");
    let outcome = init_with(&repo, &["--yes"]).expect_code(2, "INIT_FILE_NOT_OURS");
    assert!(outcome.stderr.contains(GATE), "{}", outcome.stderr);
    assert!(!exists(&repo, POLICY) && read(&repo, GATE) == "on: push\njobs: {}\n");
    init_with(&repo, &["--yes", "--force"]).expect(0);
    assert!(read(&repo, GATE).contains(&uses(SHA)));
    let repo = kind("php").repository();
    let own = format!("on: pull_request\njobs:\n  gate:\n    steps:\n      - uses: {}\n", uses(OTHER));
    write(&repo, ".github/workflows/gate.yml", &own);
    let text = init(&repo, &["--yes"]).expect(0).text();
    let left =
        format!("  left       {GATE}: .github/workflows/gate.yml runs the action on pull requests already\n");
    assert!(text.contains(&left), "{text}");
    assert!(!exists(&repo, GATE) && read(&repo, NIGHTLY).contains(OTHER));
}

#[test]
fn no_link_of_the_checkout_is_written_through() {
    for path in [".github", ".github/workflows", GATE, ".qa-skill", POLICY, "CODEOWNERS"] {
        let repo = kind("go").repository();
        let victim = repo.beside("victim");
        std::fs::create_dir(&victim).unwrap();
        let full = repo.path().join(path);
        std::fs::create_dir_all(full.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(&victim, &full).unwrap();
        let outcome =
            init_with(&repo, &["--yes", "--codeowners", "@sam"]).expect_code(3, "ARTIFACT_WRITE_FAILED");
        assert!(outcome.stderr.contains("is a link"), "{path}: {}", outcome.stderr);
        assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0, "{path}");
    }
}

#[test]
fn links_that_are_not_written_do_not_matter_and_nothing_is_written_if_one_file_cannot_be() {
    let repo = kind("go").repository();
    let workflows = repo.path().join(".github/workflows");
    std::fs::create_dir_all(&workflows).unwrap();
    std::os::unix::fs::symlink("/nowhere", workflows.join("other.yml")).unwrap();
    std::os::unix::fs::symlink("/nowhere", repo.path().join("CODEOWNERS")).unwrap();
    std::fs::create_dir(repo.path().join(NIGHTLY)).unwrap();
    init_with(&repo, &["--yes"]).expect_code(3, "ARTIFACT_WRITE_FAILED");
    assert!(!exists(&repo, GATE) && !exists(&repo, POLICY));
    std::fs::remove_dir(repo.path().join(NIGHTLY)).unwrap();
    init_with(&repo, &["--yes"]).expect(0);
    assert!(exists(&repo, GATE) && exists(&repo, POLICY));
}

#[test]
fn a_file_that_is_updated_keeps_its_rights() {
    use std::os::unix::fs::PermissionsExt;
    let repo = kind("go").repository();
    init_with(&repo, &["--yes"]).expect(0);
    let gate = repo.path().join(GATE);
    std::fs::set_permissions(&gate, std::fs::Permissions::from_mode(0o666)).unwrap();
    std::fs::write(&gate, read(&repo, GATE) + "# more\n").unwrap();
    init_with(&repo, &["--yes"]).expect(0);
    assert!(!read(&repo, GATE).contains("# more"));
    assert_eq!(std::fs::metadata(&gate).unwrap().permissions().mode() & 0o777, 0o666);
}

#[test]
fn repositories_without_history_or_checkout_say_so() {
    let empty = Repo::new();
    let outcome = init_with(&empty, &["--yes"]).expect(3);
    assert!(outcome.stderr.contains("no commit yet"), "{}", outcome.stderr);
    let single = Repo::new();
    let only = single.commit(single.tree(&Files::from_texts(&[("a.py", "A = 1\n")])), &[]);
    single.git.set_head_detached(only).unwrap();
    let text = init_with(&single, &["--yes"]).expect(0).text();
    assert!(text.contains("HEAD has no commit with a parent"), "{text}");
    assert!(
        read(&single, POLICY).contains("has no merged change to measure presets on\npreset = \"default\"\n")
    );
    let home = temp();
    let bare = home.path().join("bare.git");
    git(
        home.path(),
        &["clone", "-q", "--bare", kind("go").repository().path().to_str().unwrap(), "bare.git"],
    );
    let outcome = program(&bare, &["--yes", "--uses", &uses(SHA)]).run().expect(2);
    assert!(outcome.stderr.contains("is a bare repository"), "{}", outcome.stderr);
    let outcome = program(home.path(), &["--yes", "--uses", &uses(SHA)]).run().expect(3);
    assert_eq!(outcome.code(), "REPOSITORY_NOT_FOUND");
}

#[test]
fn the_history_is_that_of_the_default_branch_and_as_long_as_asked() {
    let repo = kind("go").repository();
    let files = kind("go").files();
    let mut tip = repo.tip("main");
    for number in 0..4 {
        let files = files.clone().with("n.txt", format!("{number}\n"));
        tip = repo.commit(repo.tree(&files), &[tip]);
    }
    repo.reference("refs/remotes/origin/main", tip);
    let presets = |arguments: &[&str]| {
        let text = init_with(&repo, &[&["--dry-run", "--jobs", "1"], arguments].concat()).expect(0).text();
        text.lines().find(|line| line.starts_with("Presets, measured")).unwrap().to_owned()
    };
    assert!(presets(&[]).contains("last 5 merged changes of the default branch (origin/main)"));
    assert!(presets(&["--last", "2"]).contains("last 2 merged changes of the default branch (origin/main)"));
    assert!(presets(&["--head", "main"]).contains("last 1 merged change of main"));
    init_with(&repo, &["--dry-run", "--head", "nowhere"]).expect(3);
    let home = temp();
    let from = format!("file://{}", repo.path().display());
    git(home.path(), &["clone", "-q", "--depth", "1", "--branch", "main", &from, "shallow"]);
    let shallow = home.path().join("shallow");
    let text = program(&shallow, &["--yes", "--uses", &uses(SHA)]).run().expect(0).text();
    assert!(
        text.contains("the default branch (origin/main) has no commit with a parent")
            || text.contains("(origin/HEAD) has no"),
        "{text}"
    );
}

#[test]
fn hostile_names_are_shown_and_nothing_else() {
    let repo = Repo::new();
    let hostile = "src/\u{1b}]0;x\u{7}\u{202e}.py";
    let files = Files::from_texts(&[(hostile, "a = 1\n")]);
    let first = repo.commit(repo.tree(&files), &[]);
    let faulty = files.with(hostile, conflict());
    repo.reference("refs/heads/topic", repo.commit(repo.tree(&faulty), &[first]));
    write(
        &repo,
        &format!(".github/workflows/{}.yml", "\u{1b}[31m"),
        "on: pull_request\njobs:\n  a:\n    steps:\n      - uses: acme/qa-skill@v1\n",
    );
    let outcome = init_with(&repo, &["--dry-run"]).expect(0);
    let text = outcome.text();
    assert!(text.contains("\\u{1b}") && text.contains("\\u{202e}"), "{text}");
    let hidden = text.chars().chain(outcome.stderr.chars()).any(|each| "\u{1b}\u{7}\u{202e}".contains(each));
    assert!(!hidden, "{text}");
}

#[test]
fn owners_that_are_none_are_refused() {
    let repo = kind("go").repository();
    for owner in ["sam", "@sam @kim", "@sam\n* @kim", ""] {
        let outcome = init_with(&repo, &["--yes", "--codeowners", owner]).expect(2);
        assert!(outcome.stderr.contains("is no owner"), "{owner}: {}", outcome.stderr);
    }
    assert!(!exists(&repo, GATE));
}
