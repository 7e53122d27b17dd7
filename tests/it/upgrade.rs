//! Differences between two versions over merged changes, of which the older program tells its own part.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::calibrate::merged;
use crate::support::{Files, Outcome, Repo, qa_skill};

const PROGRAM: &str = env!("CARGO_BIN_EXE_qa-skill");
const CONFLICT: &str = "merge-leftover/conflict-marker";

fn upgrade(repo: &Repo, from: &str, arguments: &[&str]) -> Outcome {
    let all = qa_skill(["upgrade", "--from", from, "--repo"]).arg(repo.path());
    arguments.iter().fold(all, |all, argument| all.arg(argument)).run()
}

/// A program of these lines of a shell.
fn script(repo: &Repo, lines: &str) -> String {
    let path = repo.beside("older");
    std::fs::write(&path, format!("#!/bin/sh\n{lines}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path.display().to_string()
}

/// A program that prints a document.
fn printing(repo: &Repo, document: &Value) -> String {
    let path = repo.beside("recorded");
    std::fs::write(&path, document.to_string()).unwrap();
    script(repo, &format!("exec cat '{}'", path.display()))
}

/// The calibration of this version.
fn own(repo: &Repo, head: &str) -> Value {
    let calibrate = qa_skill(["calibrate", "--format", "json", "--head", head, "--repo"]);
    calibrate.arg(repo.path()).run().expect(0).json()
}

#[test]
fn the_same_program_says_the_same() {
    let (repo, commits) = merged();
    let head = ["--head", &commits[2], "--format", "json"];
    let same = upgrade(&repo, PROGRAM, &head).expect(0).json();
    let rule = json!({
        "ruleId": CONFLICT, "newlyBlocked": [], "noLongerBlocked": [], "blockedInBoth": 1,
        "advisoryBefore": 0, "advisoryNow": 0,
    });
    assert_eq!(same["fromEngine"], same["toEngine"]);
    assert_eq!(
        json!([same["changes"], same["headSha"], same["lenses"], same["rules"], same["notCompared"]]),
        json!([3, commits[2], [], [rule], []])
    );
    // The newest one mends what the one before left behind.
    let last = upgrade(&repo, PROGRAM, &[&head[..], &["--last", "1"]].concat()).expect(0).json();
    assert_eq!(json!([last["changes"], last["rules"]]), json!([1, []]));
    // A link to it from another directory is the same program, and the newest change is HEAD.
    let text = upgrade(&repo, &script(&repo, &format!("exec '{PROGRAM}' \"$@\"")), &[]).expect(0).text();
    assert!(text.contains("5 merged changes") && text.contains("newly blocks       0\n"), "{text}");
}

/// A calibration of an older version of three changes: it blocks the newest by a rule that is gone and by a lens that failed,
/// not the second, and has no verdict about the oldest.
fn older(repo: &Repo, commits: &[String]) -> Value {
    let mut older = own(repo, &commits[2]);
    older["engine"] = json!("0.0.9 (sources x)");
    let blocked = |rules: Value| json!({"commit": commits[2], "subject": "Mend", "blocking": 1, "findings": [], "rules": rules});
    older["blocked"] = json!([blocked(json!(["gone/rule"]))]);
    older["withoutVerdict"] =
        json!([{"commit": commits[4], "subject": "Begin", "codes": ["LENS_REQUIRED_FAILED"]}]);
    older["rules"] = json!([{
        "ruleId": CONFLICT, "blockedChanges": 0, "blockedAlone": 0, "advisedChanges": 1, "advisoryFindings": 2,
    }]);
    let lenses = older["lenses"].as_array_mut().unwrap();
    lenses.retain(|lens| lens["lensId"] != "secret-token");
    let merge = lenses.iter_mut().find(|lens| lens["lensId"] == "merge-leftover").unwrap();
    merge["lensVersion"] = json!("0");
    older
}

#[test]
fn the_difference_is_told_by_rule_and_change() {
    let (repo, commits) = merged();
    let versions = own(&repo, &commits[2])["lenses"].clone();
    let version = |id: &str| {
        let all = versions.as_array().unwrap();
        all.iter().find(|lens| lens["lensId"] == id).unwrap()["lensVersion"].clone()
    };
    let document = older(&repo, &commits);
    let from = printing(&repo, &document);
    let head = ["--head", &commits[2]];
    let difference = upgrade(&repo, &from, &[&head[..], &["--format", "json"]].concat()).expect(0).json();
    let change = |commit: &str, subject: &str| json!({"commit": commit, "subject": subject});
    let rule = |id: Value, newly: Value, gone: Value, advice: [u64; 2]| {
        json!({
            "ruleId": id, "newlyBlocked": newly, "noLongerBlocked": gone, "blockedInBoth": 0,
            "advisoryBefore": advice[0], "advisoryNow": advice[1],
        })
    };
    assert_eq!(
        difference["rules"],
        json!([
            rule(json!("gone/rule"), json!([]), json!([change(&commits[2], "Mend")]), [0, 0]),
            rule(json!(CONFLICT), json!([change(&commits[3], "A commit")]), json!([]), [2, 0]),
        ])
    );
    assert_eq!(difference["notCompared"], json!([change(&commits[4], "Begin")]));
    assert_eq!(
        difference["lenses"],
        json!([
            {"lensId": "merge-leftover", "from": "0", "to": version("merge-leftover")},
            {"lensId": "secret-token", "from": null, "to": version("secret-token")},
        ])
    );
    let schema = qa_skill(["schema", "upgrade"]).run().expect(0).json();
    assert!(jsonschema::is_valid(&schema, &difference), "{difference}");
    let text = upgrade(&repo, &from, &head).expect(0).text();
    for part in [
        "from 0.0.9 (sources x)\n",
        "newly blocks       1\nno longer blocks   1\nblocks in both     0\nnot compared       1\n",
        &format!("  newly blocked:\n    {} A commit\n", &commits[3][..12]),
        &format!("  no longer blocked:\n    {} Mend\n", &commits[2][..12]),
        "secret-token                     none -> ",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    // Advice differs as well.
    let mut silent = own(&repo, &commits[0]);
    silent["rules"] = json!([]);
    let advice = upgrade(&repo, &printing(&repo, &silent), &["--format", "json"]).expect(0).json();
    assert_eq!(advice["rules"][0], rule(json!(CONFLICT), json!([]), json!([]), [0, 1]));
    // A lens that failed is no rule.
    let mut failed = document;
    failed["blocked"][0]["rules"] = json!([]);
    let difference = upgrade(&repo, &printing(&repo, &failed), &[&head[..], &["--format", "json"]].concat())
        .expect(0)
        .json();
    let gone = json!([change(&commits[2], "Mend")]);
    assert_eq!(difference["rules"][0], rule(Value::Null, json!([]), gone, [0, 0]));
    failed["withoutVerdict"][0]["commit"] = json!(commits[3]);
    let difference = upgrade(&repo, &printing(&repo, &failed), &[&head[..], &["--format", "json"]].concat())
        .expect(0)
        .json();
    // What one of the two did not judge is neither newly blocked nor the same.
    assert_eq!(difference["rules"].as_array().unwrap().len(), 2);
    assert_eq!(difference["rules"][1], rule(json!(CONFLICT), json!([]), json!([]), [2, 0]));
}

#[test]
fn a_program_that_cannot_be_compared_with_is_told_by_its_code() {
    let (repo, commits) = merged();
    let head = ["--head", &commits[2], "--timeout", "2"];
    let fails = |from: &str, code: &str, said: &str| {
        let outcome = upgrade(&repo, from, &head).expect_code(3, code);
        assert!(outcome.stdout.is_empty() && outcome.stderr.contains(said), "{said}: {}", outcome.stderr);
    };
    fails("./nowhere", "UPGRADE_PROGRAM_FAILED", "does not start");
    let refuses = script(&repo, "echo \"no command calibrate\" >&2; exit 2");
    fails(&refuses, "UPGRADE_PROGRAM_FAILED", "no command calibrate");
    fails(&script(&repo, "exec head -c 17000000 /dev/zero"), "UPGRADE_PROGRAM_FAILED", "16 MiB");
    fails(&script(&repo, "kill -9 $$"), "UPGRADE_PROGRAM_FAILED", "signal");
    fails(&script(&repo, "exec sleep 100"), "UPGRADE_PROGRAM_TIMED_OUT", "within 2 s");
    fails(&script(&repo, "echo hello"), "UPGRADE_PROGRAM_UNKNOWN", "not qa-skill");
    fails(&script(&repo, "echo '[]'"), "UPGRADE_PROGRAM_UNKNOWN", "not qa-skill");
    // An empty answer is none.
    fails(&script(&repo, "true"), "UPGRADE_PROGRAM_UNKNOWN", "not qa-skill");
    let document = own(&repo, &commits[2]);
    let with = |member: &str, value: Value| {
        let mut document = document.clone();
        document[member] = value;
        printing(&repo, &document)
    };
    fails(&with("schemaVersion", json!("calibration.v2")), "UPGRADE_PROGRAM_UNKNOWN", "calibration.v2");
    fails(&with("rules", json!(1)), "UPGRADE_PROGRAM_UNKNOWN", "another one");
    fails(&with("headSha", json!(commits[1])), "UPGRADE_PROGRAM_UNKNOWN", "other changes");
    fails(&with("changes", json!(2)), "UPGRADE_PROGRAM_UNKNOWN", "other changes");
    fails(&with("preset", json!("guarded")), "UPGRADE_PROGRAM_UNKNOWN", "preset");
    fails(&with("engine", json!("99.0.0")), "UPGRADE_PROGRAM_NEWER", "99.0.0");
    let change = |commit: &str| json!({"commit": commit, "subject": "x", "codes": []});
    let foreign = with("withoutVerdict", json!([change(&"1".repeat(40))]));
    fails(&foreign, "UPGRADE_PROGRAM_UNKNOWN", "none of the changes");
    // A change of the repository that is newer than those that were asked for is none of them either.
    let newer = with("withoutVerdict", json!([change(&commits[0])]));
    fails(&newer, "UPGRADE_PROGRAM_UNKNOWN", "none of the changes");
    let twice = with("withoutVerdict", json!([change(&commits[4]), change(&commits[4])]));
    fails(&twice, "UPGRADE_PROGRAM_UNKNOWN", "twice");
    let mut later = document.clone();
    later["lenses"][0]["lensVersion"] = json!("999");
    fails(&printing(&repo, &later), "UPGRADE_PROGRAM_NEWER", "is version");
    // A document in which everything fits is compared.
    upgrade(&repo, &printing(&repo, &document), &head).expect(0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_program_that_takes_too_long_ends_with_all_that_it_started() {
    let (repo, _) = merged();
    let id = repo.beside("id");
    let from = script(&repo, &format!("sleep 1000 & echo $! > '{}'; wait", id.display()));
    upgrade(&repo, &from, &["--timeout", "1"]).expect_code(3, "UPGRADE_PROGRAM_TIMED_OUT");
    let id = std::fs::read_to_string(id).unwrap();
    let stat = || std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    // It ends when the kernel delivers the signal, and whoever adopts it may not have taken its status yet.
    let is_gone = (0..200_000).any(|_| stat().is_empty() || stat().contains(") Z "));
    assert!(is_gone, "{}", stat());
}

#[test]
fn a_change_that_is_not_read_in_full_is_not_compared() {
    let repo = Repo::new();
    let policy = "[limits]\nmax-files = 1\nallow-omitted = true\n";
    let files = Files::from_texts(&[("a.py", "a = 1\n"), (".qa-skill/policy.toml", policy)]);
    let first = repo.commit(repo.tree(&files), &[]);
    let files = files.with("b.py", "b = 1\n").with("c.py", "c = 1\n");
    let big = repo.commit(repo.tree(&files), &[first]);
    repo.reference("refs/heads/main", big);
    repo.git.set_head("refs/heads/main").unwrap();
    let document = own(&repo, "HEAD");
    assert_eq!(document["withoutVerdict"][0]["commit"], json!(big.to_string()), "{document}");
    let same = upgrade(&repo, PROGRAM, &["--format", "json"]).expect(0).json();
    assert_eq!(same["notCompared"][0]["commit"], json!(big.to_string()), "{same}");
}

#[test]
fn the_workflow_of_init_says_how_its_pin_moves() {
    let repo = Repo::new();
    let files =
        Files::from_texts(&[("a.py", "a = 1\n"), (".qa-skill/policy.toml", "preset = \"guarded\"\n")]);
    let first = repo.commit(repo.tree(&files), &[]);
    let second = repo.commit(repo.tree(&files.with("a.py", "a = 2\n")), &[first]);
    repo.reference("refs/heads/main", second);
    repo.git.set_head("refs/heads/main").unwrap();
    let pin = format!("acme/qa-skill@{}", "1".repeat(40));
    qa_skill(["init", "--yes", "--uses", &pin, "--repo"]).arg(repo.path()).run().expect(0);
    let text = upgrade(&repo, PROGRAM, &[]).expect(0).text();
    assert!(text.contains(&pin) && text.contains("qa-skill init --uses acme/qa-skill@COMMIT\n"), "{text}");
    let pinned = || upgrade(&repo, PROGRAM, &["--format", "json"]).expect(0).json()["pinned"].clone();
    assert_eq!(pinned(), json!(pin));
    // A workflow that a person keeps is left to that person.
    let path = repo.path().join(".github/workflows/qa-skill.yml");
    let written = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, written.split_once('\n').unwrap().1).unwrap();
    assert_eq!(pinned(), Value::Null);
}
