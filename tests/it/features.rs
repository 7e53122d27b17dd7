//! What happens after a merge: QA's result is found, checked, set in two files and committed, or nothing changes.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::gates_story::{ADDS, FAILS, NONE, POLICY, features, in_qa, state};
use crate::support::hub::Hub;
use crate::support::{Outcome, Repo, Response, RunDir, Server, archive, git, qa_skill, repair, tamper, temp};

const LIST: &str = "feature_list.json";
const STATE: &str = "workflow-state.json";
const TOKEN: &str = "canary-of-the-step";

/// A merged change whose feature QA passed; the checkout has the files of head.
fn merged() -> Repo {
    let repo = in_qa(POLICY, false, &[(ADDS, ""), (NONE, "")]);
    repo.judge().run().expect(0);
    repo
}

fn head(repo: &Repo) -> String {
    repo.git.revparse_single("topic").unwrap().id().to_string()
}

fn settle(repo: &Repo, run: &RunDir, head: &str) -> Outcome {
    qa_skill(["workflow", "--write", "--feature-list", LIST, "--propose", LIST, "--head", head, "--run"])
        .arg(&run.0)
        .within(&repo.path())
        .run()
}

/// What the two files say.
fn both(folder: &Path) -> [String; 2] {
    [LIST, STATE].map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
}

#[test]
fn the_run_of_a_merged_feature_sets_it_once() {
    let repo = merged();
    let run = repo.run_dir();
    let told = settle(&repo, &run, &head(&repo)).expect(0);
    assert!(told.text().contains("QA_READY -> QA -> QA_PASSED -> COMPLETE\n"), "{}", told.text());
    let after = both(&repo.path());
    let report = run.json("qa-report.json");
    let list: Value = serde_json::from_str(&after[0]).unwrap();
    let feature = &list[0];
    assert_eq!(
        json!([feature["passes"], feature["qa_validated"], feature["last_qa_run"], feature["qa_notes"]]),
        json!([true, true, report["timestamp"], "1 of 1 gates passed"])
    );
    // A job that is run again finds nothing left to do.
    settle(&repo, &run, &head(&repo)).expect(0);
    assert_eq!(both(&repo.path()), after);
}

#[test]
fn a_feature_that_comes_after_all_others_passed_is_set_as_well() {
    let repo = merged();
    let complete = json!({
        "current_state": "COMPLETE", "next_agent": "dev", "current_feature_id": 42, "qa_retries": 0,
        "last_transition": "2024-05-01T12:00:00Z", "history": [
            {"from": "QA", "to": "QA_PASSED", "timestamp": "2024-05-01T12:00:00Z"},
            {"from": "QA_PASSED", "to": "COMPLETE", "timestamp": "2024-05-01T12:00:00Z"}
        ]
    });
    std::fs::write(repo.path().join(STATE), complete.to_string()).unwrap();
    let told = settle(&repo, &repo.run_dir(), &head(&repo)).expect(0);
    let expected = "COMPLETE -> DEV_READY -> DEV -> QA_READY -> QA -> QA_PASSED -> COMPLETE\n";
    assert!(told.text().contains(expected), "{}", told.text());
}

/// A copy of a run that somebody changed, whose digests fit.
fn forged(repo: &Repo, name: &str, change: impl Fn(&RunDir)) -> RunDir {
    let run = repo.run_dir();
    let place = repo.beside(name).join(run.0.file_name().unwrap());
    let copy = run.copy_to(&place);
    change(&copy);
    repair(&copy, false);
    copy
}

#[test]
fn whatever_does_not_agree_sets_nothing_and_has_a_code() {
    let repo = merged();
    let (run, head) = (repo.run_dir(), head(&repo));
    let before = both(&repo.path());
    let refused = |outcome: Outcome, exit: i32, code: &str, said: &str| {
        let outcome = outcome.expect_code(exit, code);
        assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
        assert_eq!(both(&repo.path()), before, "{said}");
    };
    refused(settle(&repo, &run, &"1".repeat(40)), 3, "PROPOSAL_REFUSED", "the run judged");

    let other_list = before[0].replace("A sum can be had", "Nothing has to be done");
    let edited = forged(&repo, "edited", |run| {
        tamper(run, "recordings/gates.json", "/featureList", other_list.as_str().into());
    });
    refused(settle(&repo, &edited, &head), 4, "DETERMINISM_DRIFT_DETECTED", "does not follow");
    let notes = forged(&repo, "notes", |run| tamper(run, "qa-report.json", "/summary", "2 of 2".into()));
    refused(settle(&repo, &notes, &head), 4, "DETERMINISM_DRIFT_DETECTED", "qa-report.json");
    let time = json!("2024-05-01\",\"passes\":true");
    let timed = forged(&repo, "timed", |run| tamper(run, "qa-report.json", "/timestamp", time.clone()));
    refused(settle(&repo, &timed, &head), 3, "PROPOSAL_REFUSED", "timestamp of the report is not valid");

    let failed = in_qa(POLICY, false, &[(ADDS, FAILS), (NONE, "")]);
    failed.judge().run().expect(1);
    refused(settle(&repo, &failed.run_dir(), &head), 3, "PROPOSAL_REFUSED", "verdict is fail");
    let passed = forged(&failed, "passed", |run| {
        tamper(run, "final-verdict.json", "/conclusion", "pass".into());
        tamper(run, "qa-report.json", "/status", "PASSED".into());
    });
    refused(settle(&repo, &passed, &head), 4, "DETERMINISM_DRIFT_DETECTED", "does not follow");
}

#[test]
fn a_milder_mode_another_list_and_another_feature_set_nothing() {
    let mild = in_qa(POLICY, false, &[(ADDS, "")]);
    mild.judge().args(["--mode", "best_effort"]).run().expect(0);
    let outcome = settle(&mild, &mild.run_dir(), &head(&mild)).expect_code(3, "PROPOSAL_REFUSED");
    assert!(outcome.stderr.contains("overrides the mode, preset, lenses or stage"), "{}", outcome.stderr);

    let repo = merged();
    let (run, head) = (repo.run_dir(), head(&repo));
    let list = repo.path().join(LIST);
    std::fs::write(&list, features(false).replace("add none", "add none at all")).unwrap();
    let changed = both(&repo.path());
    let outcome = settle(&repo, &run, &head).expect_code(3, "PROPOSAL_REFUSED");
    assert!(outcome.stderr.contains("the feature list changed since the run"), "{}", outcome.stderr);
    assert_eq!(both(&repo.path()), changed);

    std::fs::write(&list, features(false)).unwrap();
    std::fs::write(repo.path().join(STATE), state("QA_READY", "qa").replace("42", "7")).unwrap();
    let outcome = settle(&repo, &run, &head).expect_code(3, "PROPOSAL_REFUSED");
    assert!(outcome.stderr.contains("the workflow is at feature 7"), "{}", outcome.stderr);

    std::fs::rename(&list, repo.beside("list.json")).unwrap();
    std::os::unix::fs::symlink(repo.beside("list.json"), &list).unwrap();
    settle(&repo, &run, &head).expect(2);
    assert_eq!(std::fs::read_to_string(&list).unwrap(), features(false));
}

/// GitHub as the step after a merge asks it: which pull request, which artifacts, which run.
struct Hosted {
    api: Server,
    hub: Hub,
}

impl Hosted {
    fn start(repo: &Repo, pull: Value, run: Value) -> Self {
        let hub = Hub::default();
        let asked = hub.clone();
        let api = Server::start(move |request| {
            let path = request.path();
            if path.ends_with("/pulls") {
                Response::json(200, &json!([pull])).header("Deprecation", "@1735689600")
            } else if path.contains("/actions/runs/") {
                Response::json(200, &run)
            } else {
                asked.answer(request)
            }
        });
        let head = head(repo);
        hub.0.lock().unwrap().store = api.url();
        hub.list(1, &archive(&repo.run_dir()), |item| item["workflow_run"]["head_sha"] = json!(head));
        Self { api, hub }
    }

    fn step(&self, repo: &Repo) -> Outcome {
        std::fs::create_dir_all(repo.beside("temp")).unwrap();
        qa_skill([""; 0])
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_EVENT_NAME", "push")
            .env("GITHUB_SHA", "2".repeat(40))
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_REPOSITORY", "o/r")
            .env("GITHUB_SERVER_URL", self.api.url())
            .env("GITHUB_API_URL", self.api.url())
            .env("GITHUB_WORKSPACE", repo.path())
            .env("GITHUB_OUTPUT", repo.beside("output"))
            .env("RUNNER_TEMP", repo.beside("temp"))
            .env("INPUT_TOKEN", TOKEN)
            .env("INPUT_COMMAND", "features")
            .within(&repo.path())
            .run()
    }
}

fn pull(repo: &Repo) -> Value {
    json!({
        "number": 7, "merged_at": "2024-05-02T00:00:00Z", "merge_commit_sha": "2".repeat(40),
        "head": {"sha": head(repo), "ref": "topic", "repo": {"id": 9}},
        "base": {"sha": "3".repeat(40), "ref": "main", "repo": {"id": 9}},
    })
}

fn workflow_run(repo: &Repo) -> Value {
    json!({
        "id": 5, "conclusion": "success", "head_sha": head(repo),
        "repository": {"id": 9}, "head_repository": {"id": 9},
    })
}

fn verdict(repo: &Repo) -> String {
    let text = std::fs::read_to_string(repo.beside("output")).unwrap();
    text.lines().last().unwrap().to_owned()
}

#[test]
fn the_step_after_a_merge_takes_the_run_of_the_merged_head() {
    let repo = merged();
    let hosted = Hosted::start(&repo, pull(&repo), workflow_run(&repo));
    let outcome = hosted.step(&repo).expect(0);
    assert_eq!(verdict(&repo), "verdict=pass");
    assert!(both(&repo.path())[0].contains("\"passes\": true"));
    for request in hosted.api.requests() {
        let to_store = request.path().starts_with("/archive/");
        assert_eq!(request.header("authorization").is_none(), to_store, "{}", request.target);
    }
    assert!(!(outcome.text() + &outcome.stderr).contains(TOKEN));
    assert_eq!(std::fs::read_dir(repo.beside("temp")).unwrap().count(), 0);
    hosted.step(&repo).expect(0);
    assert_eq!(verdict(&repo), "verdict=none");
}

#[test]
fn the_step_after_a_merge_takes_no_other_run() {
    let repo = merged();
    let before = both(&repo.path());
    let with = |value: Value, pointer: &str, to: Value| {
        let mut value = value;
        *value.pointer_mut(pointer).unwrap() = to;
        value
    };
    let other = json!("4".repeat(40));
    let cases = [
        ("not merged", with(pull(&repo), "/merged_at", Value::Null), workflow_run(&repo), 0),
        ("by another commit", with(pull(&repo), "/merge_commit_sha", other.clone()), workflow_run(&repo), 0),
        ("into another branch", with(pull(&repo), "/base/ref", "next".into()), workflow_run(&repo), 0),
        ("of a fork", with(pull(&repo), "/head/repo/id", 8.into()), workflow_run(&repo), 0),
        ("with another head", with(pull(&repo), "/head/sha", other.clone()), workflow_run(&repo), 3),
        ("failed", pull(&repo), with(workflow_run(&repo), "/conclusion", "failure".into()), 3),
        ("not over", pull(&repo), with(workflow_run(&repo), "/conclusion", Value::Null), 3),
        ("of a fork's code", pull(&repo), with(workflow_run(&repo), "/head_repository/id", 8.into()), 3),
        ("of another head", pull(&repo), with(workflow_run(&repo), "/head_sha", other), 3),
    ];
    for (what, pull, run, exit) in cases {
        let outcome = Hosted::start(&repo, pull, run).step(&repo);
        let expected = if exit == 0 { "verdict=none" } else { "verdict=could-not-complete" };
        assert_eq!((outcome.exit, verdict(&repo).as_str()), (exit, expected), "{what}: {}", outcome.stderr);
        assert_eq!(outcome.stderr.contains("error[ARTIFACT_UNAVAILABLE]"), exit == 3, "{what}");
        assert_eq!(both(&repo.path()), before, "{what}");
    }
    // An artifact that says it is of the head, and holds the run of another one.
    let policy = format!("mode = \"best_effort\"\n{POLICY}");
    let elsewhere = in_qa(&policy, false, &[(ADDS, ""), (NONE, "")]);
    elsewhere.judge().run().expect(0);
    let hosted = Hosted::start(&repo, pull(&repo), workflow_run(&repo));
    hosted.hub.list(2, &archive(&elsewhere.run_dir()), |item| {
        item["workflow_run"]["head_sha"] = json!(head(&repo));
    });
    let outcome = hosted.step(&repo).expect(3);
    assert!(outcome.stderr.contains("error[PROPOSAL_REFUSED]"), "{}", outcome.stderr);
    assert_eq!(both(&repo.path()), before);
}

#[test]
fn the_end_of_an_endpoint_is_told_once_and_without_what_is_secret() {
    let repo = merged();
    let hosted = Hosted::start(&repo, pull(&repo), workflow_run(&repo));
    let stderr = hosted.step(&repo).expect(0).stderr;
    let told: Vec<&str> = stderr.lines().filter(|line| line.contains("announces the end")).collect();
    let [told] = told[..] else { panic!("{stderr}") };
    assert!(told.starts_with("::warning title=qa-skill::"), "{told}");
    assert!(told.contains("/repos/o/r/commits/") && told.contains("deprecation: @1735689600"), "{told}");
    assert!(!told.contains("per_page") && !told.contains(TOKEN), "{told}");
}

/// The commands of the step that commits, as the workflow has them.
fn commands() -> String {
    let workflow = include_str!("../../.github/workflows/features.yml");
    let (_, block) = workflow.split_once("- name: Commit both files").unwrap();
    let (_, block) = block.split_once("run: |\n").unwrap();
    assert!(!block.contains("${{"), "nothing is put into the commands");
    block.lines().map(|line| line.trim_start_matches(' ')).collect::<Vec<_>>().join("\n")
}

fn commit(checkout: &Path, base: &str, files: &Path) -> Outcome {
    let output = Command::new("bash")
        .args(["-c", &commands()])
        .current_dir(checkout)
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("FILES", files)
        .env("BASE", base)
        .env("TOKEN", TOKEN)
        .env("GITHUB_SHA", base)
        .env("GITHUB_REF", "refs/heads/main")
        .env("GITHUB_SERVER_URL", "https://github.localhost")
        .output()
        .unwrap();
    Outcome::from_output(&output)
}

#[test]
fn both_files_are_committed_by_the_bot_and_a_second_push_is_not_overwritten() {
    let repo = merged();
    let origin = repo.beside("origin.git");
    let place = |name: &str| repo.beside(name).display().to_string();
    let topic = head(&repo);
    repo.reference("refs/heads/main", git2::Oid::from_str(&topic).unwrap());
    git(&repo.path(), &["clone", "-q", "--bare", ".", &place("origin.git")]);
    git(&repo.path(), &["clone", "-q", "-b", "main", &place("origin.git"), &place("first")]);
    git(&repo.path(), &["clone", "-q", "-b", "main", &place("origin.git"), &place("second")]);
    let run = repo.run_dir();
    settle(&repo, &run, &topic).expect(0);
    let files = temp();
    copy_files(&repo.path(), files.path());
    // What the change left to be run is not.
    let hook = repo.beside("first/.git/hooks/pre-push");
    std::fs::write(&hook, "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\nexit 1\n").unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();

    let done = commit(&repo.beside("first"), &topic, files.path()).expect(0);
    assert!(!hook.with_file_name("ran").exists());
    assert!(!(done.text() + &done.stderr).contains(TOKEN));
    let bare = git2::Repository::open_bare(&origin).unwrap();
    let tip = bare.find_reference("refs/heads/main").unwrap().peel_to_commit().unwrap();
    assert_eq!(tip.author().name().unwrap(), "github-actions[bot]");
    assert_eq!(tip.committer().email().unwrap(), "41898282+github-actions[bot]@users.noreply.github.com");
    assert_eq!((tip.parent_count(), tip.parent_id(0).unwrap().to_string()), (1, topic.clone()));
    let diff = bare
        .diff_tree_to_tree(Some(&tip.parent(0).unwrap().tree().unwrap()), Some(&tip.tree().unwrap()), None)
        .unwrap();
    let changed: Vec<_> =
        diff.deltas().map(|delta| delta.new_file().path().unwrap().display().to_string()).collect();
    assert_eq!(changed, [LIST, STATE]);
    let blob = bare.find_blob(tip.tree().unwrap().get_name(LIST).unwrap().id()).unwrap();
    assert_eq!(String::from_utf8_lossy(blob.content()), both(files.path())[0]);

    // A job that began before that.
    std::fs::write(files.path().join(LIST), "[]\n").unwrap();
    let late = commit(&repo.beside("second"), &topic, files.path());
    assert_ne!(late.exit, 0);
    assert!(late.stderr.contains("rejected"), "{}", late.stderr);
    let now = bare.find_reference("refs/heads/main").unwrap().target().unwrap();
    assert_eq!(now, tip.id());
    // What is no file is not taken.
    std::fs::remove_file(files.path().join(LIST)).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", files.path().join(LIST)).unwrap();
    assert_ne!(commit(&repo.beside("first"), &topic, files.path()).exit, 0);
    assert_eq!(bare.find_reference("refs/heads/main").unwrap().target().unwrap(), tip.id());
}

fn copy_files(from: &Path, to: &Path) {
    for name in [LIST, STATE] {
        std::fs::copy(from.join(name), to.join(name)).unwrap();
    }
}
