//! What a policy would have said about what was merged: the same as runs say, rule by rule.

use serde_json::{Value, json};

use crate::support::{Files, Outcome, Repo, conflict, qa_skill};

const ADVISES: &str = "\
[rules.\"merge-leftover/conflict-marker\"]
strength = \"advise\"
[gates.lint]
reports = [{ path = \"reports/ruff.json\", tool = \"ruff\" }]
";

/// Five changes on `topic`, of which the third merges a branch. The second leaves a conflict behind; so does a commit of
/// the branch, which nobody merged alone.
pub(crate) fn merged() -> (Repo, Vec<String>) {
    let repo = Repo::new();
    let start = Files::from_texts(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
    let commit = |files: &Files, parents: &[git2::Oid]| repo.commit(repo.tree(files), parents);
    let first = commit(&start, &[]);
    let more = start.clone().with("a.py", "a = 2\n");
    let one = commit(&more, &[first]);
    let two = commit(&more.clone().with("b.py", conflict()), &[one]);
    let side = commit(&more.clone().with("c.py", conflict()), &[one]);
    let mended = more.with("b.py", "b = 2\n").with("c.py", "c = 1\n");
    let three = commit(&mended, &[two, side]);
    let four = commit(&mended.clone().with(".qa-skill/policy.toml", ADVISES), &[three]);
    let five = commit(&mended.with(".qa-skill/policy.toml", ADVISES).with("a.py", "a = 3\n"), &[four]);
    repo.reference("refs/heads/topic", five);
    (repo, [five, four, three, two, one].map(|id| id.to_string()).to_vec())
}

fn calibrate(repo: &Repo, arguments: &[&str]) -> Outcome {
    let all = qa_skill(["calibrate", "--repo"]).arg(repo.path());
    arguments.iter().fold(all, |all, argument| all.arg(argument)).run()
}

fn cost(repo: &Repo, arguments: &[&str]) -> Value {
    calibrate(repo, &[arguments, &["--format", "json"]].concat()).expect(0).json()
}

#[test]
fn each_merged_change_costs_what_a_run_of_it_says() {
    let (repo, commits) = merged();
    let file = repo.beside("policy.toml");
    std::fs::write(&file, "").unwrap();
    let strict = cost(&repo, &["--file", file.to_str().unwrap()]);
    assert_eq!(
        json!([strict["changes"], strict["headSha"], strict["withoutVerdict"]]),
        json!([5, commits[0], []])
    );
    assert_eq!(
        strict["blocked"],
        json!([{
            "commit": commits[3], "subject": "A commit", "blocking": 1,
            "rules": ["merge-leftover/conflict-marker"],
            "findings": [{
                "ruleId": "merge-leftover/conflict-marker", "file": "b.py", "line": 1,
                "summary": strict["blocked"][0]["findings"][0]["summary"],
            }],
        }])
    );
    assert!(strict["engine"].as_str().unwrap().contains(" (sources "), "{strict}");
    let lenses: Vec<Value> = strict["lenses"].as_array().unwrap().clone();
    let mine = lenses.iter().find(|lens| lens["lensId"] == "merge-leftover").unwrap();
    assert!(mine["lensVersion"].as_str().unwrap().parse::<u64>().is_ok(), "{mine}");
    let rule = &strict["rules"][0];
    assert_eq!(
        json!([rule["ruleId"], rule["blockedChanges"], rule["blockedAlone"], rule["advisedChanges"]]),
        json!(["merge-leftover/conflict-marker", 1, 1, 0])
    );
    for (commit, exit) in [(&commits[3], 1), (&commits[2], 0), (&commits[4], 0)] {
        let base = format!("{commit}^");
        let run = qa_skill(["run", "--quiet", "--base", &base, "--head", commit, "--repo"]);
        run.arg(repo.path()).arg("--out").arg(repo.beside("out")).run().expect(exit);
    }
}

#[test]
fn the_policy_is_the_one_in_force_now_and_its_gates_are_left_out() {
    let (repo, commits) = merged();
    // The report of the gate is not there, which no change is to blame for.
    let now = cost(&repo, &[]);
    assert_eq!(json!([now["blocked"], now["withoutVerdict"]]), json!([[], []]));
    let rules: Vec<Value> = now["rules"].as_array().unwrap().clone();
    let rules =
        rules.iter().map(|rule| json!([rule["ruleId"], rule["blockedChanges"], rule["advisoryFindings"]]));
    // The policy itself came with one of the changes.
    let expected =
        [json!(["merge-leftover/conflict-marker", 0, 1]), json!(["policy-weakening/policy-weakened", 0, 1])];
    assert_eq!(rules.collect::<Vec<_>>(), expected);
    let before = cost(&repo, &["--head", &commits[2]]);
    assert_eq!(json!([before["changes"], before["blocked"][0]["commit"]]), json!([3, commits[3]]));
    assert_eq!(cost(&repo, &["--head", &commits[2], "--last", "1"])["blocked"], json!([]));
}

#[test]
fn the_cost_depends_on_no_number_of_threads_and_follows_its_schema() {
    let (repo, _) = merged();
    let of = |jobs| calibrate(&repo, &["--jobs", jobs, "--format", "json"]).expect(0).stdout;
    let cost = of("1");
    assert_eq!(cost, of("4"));
    let schema = qa_skill(["schema", "calibration"]).run().expect(0).json();
    let value: Value = serde_json::from_slice(&cost).unwrap();
    assert!(jsonschema::is_valid(&schema, &value));
}

#[test]
fn a_person_reads_the_rate_with_its_interval_the_rules_and_the_changes() {
    let (repo, commits) = merged();
    let text = calibrate(&repo, &["--head", &commits[2]]).expect(0).text();
    for part in [
        "3 merged changes up to",
        "blocked     1: 333.3 per 1,000 (95 % interval 61.5 to 792.3)",
        "merge-leftover/conflict-marker",
        &format!("{} A commit", &commits[3][..12]),
        "b.py:1",
        "Quality gates are not included",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn what_cannot_be_calibrated_is_told_with_a_way_out() {
    let repo = Repo::new();
    let only = repo.commit(repo.tree(&Files::from_texts(&[("a.py", "a = 1\n")])), &[]);
    repo.reference("refs/heads/topic", only);
    let outcome = calibrate(&repo, &[]).expect(2);
    assert!(outcome.stderr.contains("no change to judge"), "{}", outcome.stderr);
    let (repo, _) = merged();
    for (arguments, exit, said) in [
        (&["--head", "nowhere"][..], 3, "nowhere"),
        (&["--file", "nowhere.toml"], 2, "nowhere.toml"),
        (&["--last", "0"], 2, "--last"),
        (&["--jobs", "65"], 2, "--jobs"),
    ] {
        let outcome = calibrate(&repo, arguments).expect(exit);
        assert!(outcome.stdout.is_empty() && outcome.stderr.contains(said), "{}", outcome.stderr);
    }
}
