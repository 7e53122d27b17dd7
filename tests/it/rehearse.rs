//! Fault injection: the list in the environment, and rehearsals with every operation struck.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::fence::{As, can_be};
use crate::support::{Files, Outcome, Repo, qa_skill};

/// A repository whose HEAD has a policy.
fn repository(policy: &str) -> Repo {
    let repo = Repo::new();
    let files = Files::from_texts(&[
        ("src/app.py", "value = 1\n"),
        ("pyproject.toml", "[project]\nname = \"a\"\n[tool.ruff]\n"),
        (".qa-skill/policy.toml", policy),
    ]);
    let commit = repo.commit_at(repo.tree(&files), &[], 1_714_000_000);
    repo.reference("refs/heads/main", commit);
    repo.git.set_head("refs/heads/main").unwrap();
    repo
}

/// A policy with a model's review and, for root, a gate whose command runs; its tool is a script.
fn with_review_and_gate() -> Repo {
    let mut policy = "[lenses.review-security]\nmodel = \"review\"\n\n\
        [models.review]\nprovider = \"openai-codex\"\nmodel = \"gpt-4.1-2025-04-14\"\nsurface = \"openai.chat\"\n"
        .to_owned();
    if can_be(As::Root) {
        policy.push_str(
            "\n[execution]\nprofile = \"exec_sandboxed_network_off\"\nlens-classes = [\"style\"]\n\
             toolchains = [{ path = \"stubs\", provide = \"copy\" }]\n\n\
             [[execution.allow]]\nprefix = [\"ruff\", \"check\"]\nmatch = [[\"ruff\", \"check\", \".\"]]\n\
             not-match = [[\"ruff\", \"format\"]]\n\n[gates.lint]\nrequired = true\nrun = [\"ruff\"]\n",
        );
    }
    let repo = repository(&policy);
    let program = repo.path().join("stubs/bin/ruff");
    fs::create_dir_all(program.parent().unwrap()).unwrap();
    fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && echo ruff 1.2.3 && exit\necho '[]'\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    repo
}

fn rehearse(repository: &Path, options: &[&str]) -> Outcome {
    let program = qa_skill(["rehearse", "--repository"]).arg(repository);
    options.iter().fold(program, |program, option| program.arg(option)).run()
}

/// A line of the table.
struct Row<'a> {
    change: &'a str,
    kind: &'a str,
    operation: &'a str,
    judgement: &'a str,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let rows = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (fault, _) = words.get(1)?.rsplit_once(':')?;
        let (kind, operation) = fault.split_once(':')?;
        let judgement = ["same", "no verdict", "FAIL by fault", "PASS by fault", "not met", "no end"];
        let judgement = judgement.into_iter().find(|judgement| line.ends_with(judgement))?;
        Some(Row { change: words[0], kind, operation, judgement })
    });
    rows.collect()
}

#[test]
fn no_fault_at_any_operation_makes_a_pass() {
    let repo = repository("");
    let outcome = rehearse(&repo.path(), &["--shard", "3/13"]);
    let table = outcome.text();
    let rows = rows(&table);
    assert_eq!(outcome.exit, 0, "{table}{}", outcome.stderr);
    let made: Vec<&str> = table.lines().filter(|line| line.ends_with("by fault")).collect();
    assert!(rows.iter().all(|row| ["same", "no verdict"].contains(&row.judgement)), "{made:#?}");
    let kinds: BTreeSet<&str> = rows.iter().map(|row| row.kind).collect();
    let operations: BTreeSet<&str> = rows.iter().map(|row| row.operation).collect();
    assert!(kinds.len() >= 12 && operations.len() >= 15, "{kinds:?} {operations:?}");
    for operation in
        ["fetch", "start-the-check-run", "complete-the-check-run", "store-write", "git", "output"]
    {
        assert!(operations.contains(operation), "{operation}: {operations:?}");
    }
    for change in ["clean", "planted"] {
        for judgement in ["same", "no verdict"] {
            let found = rows.iter().any(|row| row.change == change && row.judgement == judgement);
            assert!(found, "{change}: {judgement}");
        }
    }
}

#[test]
fn no_fault_of_a_model_or_a_command_makes_a_pass() {
    let repo = with_review_and_gate();
    let outcome =
        rehearse(&repo.path(), &["--fault", "cut", "--fault", "died", "--fault", "silent", "--shard", "2/3"]);
    let table = outcome.text();
    assert_eq!(outcome.exit, 0, "{table}{}", outcome.stderr);
    let of = |operation: &str| rows(&table).into_iter().filter(|row| row.operation == operation).count();
    assert!(of("openai-chat") > 0, "{table}");
    assert!(!can_be(As::Root) || of("command") > 0, "{table}");
}

#[test]
fn a_rehearsal_plays_the_faults_and_the_share_that_it_is_asked_for() {
    let repo = repository("");
    let played = |options: &[&str]| {
        let outcome = rehearse(&repo.path(), options).expect(0);
        rows(&outcome.text())
            .iter()
            .map(|row| format!("{} {} {}", row.change, row.kind, row.operation))
            .collect()
    };
    let all: Vec<String> = played(&["--fault", "clock-ahead", "--fault", "missing"]);
    let second: Vec<String> = played(&["--fault", "clock-ahead", "--fault", "missing", "--shard", "2/4"]);
    assert!(all.iter().all(|row| row.contains(" clock-ahead ") || row.contains(" missing ")), "{all:?}");
    assert!(all.contains(&"planted clock-ahead clock".to_owned()), "{all:?}");
    assert_eq!(second, all.iter().skip(1).step_by(4).cloned().collect::<Vec<_>>());
    let outcome = rehearse(&repo.path(), &["--fault", "hung"]);
    assert_eq!(outcome.exit, 2, "{}", outcome.stderr);
}

#[test]
fn a_rehearsal_without_a_verdict_to_lose_shows_nothing() {
    // A required gate without a report: no run passes or fails.
    let repo = repository(
        "[gates.lint]\nrequired = true\nreports = [{ path = \"eslint.json\", tool = \"eslint\" }]\n",
    );
    let outcome = rehearse(&repo.path(), &["--fault", "503"]);
    assert_eq!(outcome.exit, 3, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the undisturbed run has no verdict"), "{}", outcome.stderr);
}

/// A run of a change that passes, with faults.
fn run_with(faults: &str) -> Outcome {
    let repo = crate::support::change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    repo.judge().env("QA_FAULTS", faults).run()
}

#[test]
fn a_list_of_faults_that_strikes_nothing_is_an_error_with_the_way_out() {
    for (faults, exit, text) in [
        ("", 0, "warning: QA_FAULTS is set"),
        ("enospace", 2, "the kinds are refused, disconnect,"),
        ("enospc:store:0", 2, "is not KIND[:OPERATION][:CALL]"),
        ("enospc:stores", 2, "no call met the fault `enospc:stores`; the calls of this run were"),
        ("enospc:store", 3, "error[ARTIFACT_WRITE_FAILED]"),
        ("missing:git:1", 3, "error[OBJECT_MISSING]"),
        ("cancel:git:1", 3, "error[CANCELLED]"),
    ] {
        let outcome = run_with(faults);
        assert_eq!(outcome.exit, exit, "{faults}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(text), "{faults}: {}", outcome.stderr);
    }
}

#[test]
fn the_same_list_gives_the_same_calls() {
    let logs: Vec<String> = (0..2)
        .map(|_| {
            let repo = crate::support::change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
            let log = repo.beside("log");
            let program = repo.judge().env("QA_FAULTS", "eio:store-write:3").env("QA_FAULTS_LOG", &log);
            program.arg("--jobs").arg("1").run().expect(3);
            std::fs::read_to_string(log).unwrap()
        })
        .collect();
    assert_eq!(logs[0], logs[1]);
    let struck: Vec<&str> = logs[0].lines().filter(|line| !line.ends_with(" -")).collect();
    assert_eq!(struck, ["storage store-write active eio"]);
}

/// The feature is for tests and whoever asks for it.
#[test]
fn a_program_built_for_users_has_no_faults() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let features = manifest.split_once("[features]\n").unwrap().1.split_once("\n\n").unwrap().0;
    assert!(features.contains("dev-faults = []") && !features.contains("\ndefault"), "{features}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let plain =
        ["tree", "--offline", "--locked", "-p", "qa-skill", "-e", "no-dev", "--depth", "0", "-f", "{p} {f}"];
    let tree = std::process::Command::new(cargo).args(plain).current_dir(root).output().unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    assert!(tree.starts_with("qa-skill ") && !tree.contains("dev-faults"), "{tree}");
    for built in ["Dockerfile", "scripts/release.sh", "scripts/with-binary.sh"] {
        let text = std::fs::read_to_string(root.join(built)).unwrap();
        assert!(!text.contains("--features") && !text.contains("--all-features"), "{built}");
    }
}
