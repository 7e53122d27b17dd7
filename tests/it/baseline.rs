//! Reports of a stored run of the base, which tell findings that a change introduces from those that were there.

use serde_json::{Value, json};

use crate::support::fake_github::{Artifact, FakeGitHub, LATER, Run};
use crate::support::origin::{NAME, Origin};
use crate::support::step::{Step, TOKEN};
use crate::support::world::World;
use crate::support::{Files, Repo, RunDir, archive, qa_skill, tamper};

const POLICY: &str = ".qa-skill/policy.toml";
const REPORT: &str = "reports/eslint.json";

fn policy(settings: &str) -> String {
    let report = format!("{{ path = \"{REPORT}\", tool = \"eslint\"{settings} }}");
    format!("[observer]\nenabled = true\n[gates.lint]\nreports = [{report}]\n")
}

/// ESLint's report about `src/a.js`, with an error for each name.
fn eslint(names: &[&str]) -> String {
    let messages: Vec<Value> = (1..)
        .zip(names)
        .map(|(line, name)| {
            json!({
                "ruleId": "no-unused-vars", "severity": 2, "line": line, "column": 7, "endLine": line,
                "endColumn": 8, "messageId": "unusedVar", "message": format!("'{name}' is never used.")
            })
        })
        .collect();
    json!([{
        "filePath": "/github/workspace/src/a.js", "messages": messages, "suppressedMessages": [],
        "errorCount": names.len(), "fatalErrorCount": 0, "warningCount": 0,
        "fixableErrorCount": 0, "fixableWarningCount": 0, "usedDeprecatedRules": []
    }])
    .to_string()
}

fn report(checkout: &std::path::Path, names: &[&str]) {
    let path = checkout.join(REPORT);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, eslint(names)).unwrap();
}

/// Three commits, `first`, `main` and `topic`, each with another line; `first` has a policy of its own.
fn history(first: &str, policy: &str) -> Repo {
    let repo = Repo::new();
    let mut parents = Vec::new();
    for (name, policy, lines) in [
        ("first", first, "let x;\n"),
        ("main", policy, "let x;\nlet y;\n"),
        ("topic", policy, "let x;\nlet y;\nlet z;\n"),
    ] {
        let files = Files::from_texts(&[(POLICY, policy), ("src/a.js", lines)]);
        parents = vec![repo.commit(repo.tree(&files), &parents)];
        repo.reference(&format!("refs/heads/{name}"), parents[0]);
    }
    repo
}

/// Judges one branch against another with a report, and returns where the run is stored.
fn judge(
    repo: &Repo,
    [base, head]: [&str; 2],
    names: &[&str],
    baseline: Option<&RunDir>,
    exit: i32,
) -> RunDir {
    report(&repo.path(), names);
    let count = std::fs::read_dir(repo.path().parent().unwrap()).unwrap().count();
    let out = repo.beside(&format!("out-{count}"));
    let run = qa_skill(["run", "--base", base, "--head", head, "--repo"]).arg(repo.path());
    let run = run.arg("--out").arg(&out);
    let run = match baseline {
        Some(baseline) => run.arg("--baseline").arg(&baseline.0),
        None => run,
    };
    run.run().expect(exit);
    RunDir::only(&out)
}

fn blocking(run: &RunDir) -> Vec<String> {
    let results = run.json("lens-results.json");
    let findings =
        results["lensResults"].as_array().unwrap().iter().flat_map(|it| it["findings"].as_array().unwrap());
    findings
        .filter(|finding| finding["blocking"] == true)
        .map(|finding| finding["summary"].as_str().unwrap().to_owned())
        .collect()
}

const CHANGE: [&str; 2] = ["main", "topic"];

#[test]
fn only_what_the_base_does_not_report_blocks() {
    let repo = history(&policy(""), &policy(""));
    let base = judge(&repo, ["first", "main"], &["x", "y"], None, 1);
    for (names, baseline, exit, expected) in [
        (
            ["x", "y"].as_slice(),
            None,
            1,
            ["eslint: no-unused-vars: 'x' is never used.", "eslint: no-unused-vars: 'y' is never used."]
                .as_slice(),
        ),
        (&["x", "y"], Some(&base), 0, &[]),
        (&["x", "y", "z"], Some(&base), 1, &["eslint: no-unused-vars: 'z' is never used."]),
        (&["x", "x"], Some(&base), 1, &["eslint: no-unused-vars: 'x' is never used."]),
        (&[], Some(&base), 0, &[]),
    ] {
        let run = judge(&repo, CHANGE, names, baseline, exit);
        assert_eq!(blocking(&run), expected, "{names:?}");
        assert_eq!(run.json("recordings/gates.json")["baseline"].is_object(), baseline.is_some());
        run.verify().run().expect(0);
        run.verify().arg("--repo").arg(repo.path()).run().expect(0);
        let fixed = run.bytes("qa-report.json").windows(26).any(|text| text == b"2 findings of the base fix");
        assert_eq!(fixed, names.is_empty());
    }
}

#[test]
fn a_run_of_another_commit_or_another_reading_excuses_nothing() {
    let repo = history(&policy(""), &policy(""));
    let base = judge(&repo, ["first", "main"], &["x"], None, 1);
    let named = policy(", base = \"reports/base.json\"");
    let named = history(&named, &named);
    let elsewhere = history(&policy(", directory = \"src\""), &policy(""));
    let of_named = judge(&named, ["first", "main"], &["x"], None, 1);
    let of_elsewhere = judge(&elsewhere, ["first", "main"], &["x"], None, 1);
    for (repo, change, baseline) in
        [(&repo, ["first", "topic"], &base), (&named, CHANGE, &of_named), (&elsewhere, CHANGE, &of_elsewhere)]
    {
        let run = judge(repo, change, &["x"], Some(baseline), 1);
        assert_eq!(run.json("recordings/gates.json").get("baseline"), None);
    }
}

#[test]
fn whatever_plans_a_run_takes_the_baseline() {
    let repo = history(&policy(""), &policy(""));
    let base = judge(&repo, ["first", "main"], &["x"], None, 1);
    let command =
        |name: &str| qa_skill([name, "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
    let with_baseline = |name: &str| command(name).arg("--baseline").arg(&base.0);
    let config = |program: crate::support::Program| {
        program.args(["--format", "input"]).run().expect(0).json()["configHash"].clone()
    };
    assert_ne!(config(command("plan")), config(with_baseline("plan")));
    let (parts, out) = (repo.beside("parts"), repo.beside("joined"));
    with_baseline("run").args(["--shard", "1/1", "--out"]).arg(&parts).run().expect(0);
    let join =
        |program: crate::support::Program| program.arg("--parts").arg(&parts).arg("--out").arg(&out).run();
    join(command("aggregate")).expect_code(3, "SHARD_MISSING");
    join(with_baseline("aggregate")).expect(0);
}

/// The author of a change chooses the commit that it starts from.
#[test]
fn what_the_base_mended_since_is_not_excused_by_the_commit_before() {
    let repo = history(&policy(""), &policy(""));
    let files = Files::from_texts(&[(POLICY, &policy("")), ("src/a.js", "let w;\nlet x;\nlet y;\n")]);
    let mended = repo.commit(repo.tree(&files), &[repo.tip("main")]);
    repo.reference("refs/heads/mended", mended);
    let before = judge(&repo, ["first", "main"], &["x"], None, 1);
    let tip = judge(&repo, ["main", "mended"], &[], None, 0);
    for baseline in [&before, &tip] {
        let run = judge(&repo, ["mended", "topic"], &["x"], Some(baseline), 1);
        assert_eq!(blocking(&run).len(), 1);
    }
}

#[test]
fn a_run_that_was_edited_or_read_no_report_is_no_baseline() {
    let repo = history(&policy(""), &policy(""));
    let base = judge(&repo, ["first", "main"], &["x"], None, 1);
    tamper(&base, "recordings/gates.json", "/reports/0/path", "reports/other.json".into());
    let rules = history("", "");
    let without = judge(&rules, ["first", "main"], &[], None, 0);
    for (baseline, exit, code) in [(&base, 3, "ARTIFACT_SCHEMA_INVALID"), (&without, 3, "RECORDING_MISSING")]
    {
        let run = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]).arg(repo.path());
        run.arg("--baseline").arg(&baseline.0).run().expect_code(exit, code);
    }
}

#[test]
fn a_step_takes_the_run_of_the_push_and_of_nothing_else() {
    let start = Files::from_texts(&[("src/a.js", "let x;\n"), (POLICY, &policy(""))]);
    let origin = Origin::from_start(&start, &start.clone().with("src/a.js", "let x;\nlet z;\n"));
    let repo = std::rc::Rc::clone(&origin.repo);
    let parent = repo.git.find_commit(origin.base).unwrap().parent_id(0).unwrap();
    let [parent, tip, fork_point] = [parent, origin.base, origin.fork_point].map(|commit| commit.to_string());
    let base = judge(&repo, [&parent, &tip], &["x"], None, 1);
    let github = FakeGitHub::new(NAME, TOKEN);
    let api = github.clone();
    let world = World::around(origin, github, move |request| api.answer(request));
    let stored = Artifact {
        id: 1,
        name: "qa-skill-run".to_owned(),
        zip: archive(&base),
        expired: false,
        digest: None,
        created_at: LATER.to_owned(),
        head_sha: tip.clone(),
        head_repository_id: 7,
        run_id: 11,
    };
    world.github.state().artifacts.push(stored);
    let pushed = Run {
        id: 11,
        head_sha: tip,
        event: Some("push"),
        status: "completed".to_owned(),
        head_repository_id: 7,
        branch: Some("main".to_owned()),
        ..Run::default()
    };
    for (name, run, exit) in [
        ("push", pushed.clone(), 0),
        ("branch", Run { branch: Some("again".to_owned()), ..pushed.clone() }, 1),
        ("pull-request", Run { event: None, ..pushed.clone() }, 1),
        ("fork", Run { head_repository_id: 8, ..pushed.clone() }, 1),
        ("other", Run { head_sha: fork_point, ..pushed }, 1),
    ] {
        world.github.state().runs = vec![run];
        let place = world.origin.repo.beside(name);
        let checkout = world.origin.checkout_at(place, &world.proxy, 2);
        let step = Step::on_pull_request_in(checkout, &world.origin, &world.proxy);
        report(&step.checkout, &["x"]);
        let workflow = format!("{NAME}/.github/workflows/qa.yml@refs/pull/7/merge");
        let outcome = world.program(&step).env("GITHUB_WORKFLOW_REF", workflow).run();
        let outcome = outcome.expect(exit);
        let is_missing = outcome.text().contains("OBSERVER_BASELINE_UNAVAILABLE");
        assert_eq!(is_missing, exit == 1, "{name}: {}", outcome.text());
    }
}
