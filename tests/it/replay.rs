//! A stored verdict can be derived again, and nothing that was changed in it goes unnoticed.

use std::path::Path;

use serde_json::Value;

use crate::support::{
    Files, Outcome, Repo, RunDir, change, conflict, judged, qa_skill, rendered_files, repair, runs_in,
    tamper, temp,
};

fn refused(outcome: &Outcome, what: &str) {
    assert!([3, 4].contains(&outcome.exit), "{what} was accepted: {}", outcome.text());
    assert!(!outcome.code().is_empty() && outcome.stdout.is_empty(), "{what}: {}", outcome.stderr);
}

#[test]
fn a_second_run_replays_the_first_and_says_so() {
    let repo = judged();
    let digest = repo.run_dir().run_digest();
    let again = repo.judge().run().expect(1);
    assert!(again.text().contains("replay"), "{}", again.text());
    assert_eq!(repo.run_dir().run_digest(), digest);
    let refreshed = repo.judge().arg("--refresh").run().expect(1);
    assert!(!refreshed.text().contains("replayed"), "{}", refreshed.text());
    let runs = runs_in(&repo.beside("out"));
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert_eq!(RunDir(runs[1].clone()).run_digest(), digest);
}

#[test]
fn a_run_verifies_offline_and_against_the_repository() {
    let repo = judged();
    let run = repo.run_dir();
    let text = run.verify().run().expect(0).text();
    assert!(text.contains(&run.run_digest()) && text.contains("from the recording"), "{text}");
    assert!(text.contains("masks secrets"), "{text}");
    let text = run.verify().arg("--repo").arg(repo.path()).run().expect(0).text();
    assert!(text.contains("from the repository"), "{text}");
    // The directory alone is enough: neither the repository nor the place it was written to is needed.
    let elsewhere = temp();
    let copy = run.copy_to(&elsewhere.path().join("copy"));
    drop(repo);
    copy.verify().run().expect(0);
}

#[test]
fn several_runs_are_verified_up_to_the_first_that_does_not_hold() {
    let repo = judged();
    let run = repo.run_dir();
    let (first, second) = (temp(), temp());
    let copies = [&first, &second].map(|place| run.copy_to(&place.path().join("copy")));
    let both = |options: &[&str]| {
        let directories = copies.iter().map(|copy| copy.0.to_str().unwrap());
        qa_skill(["verify"].into_iter().chain(directories).chain(options.iter().copied())).run()
    };
    let text = both(&["--expect", "fail"]).expect(0).text();
    let changes = run.json("change-set.json");
    let [base, head] = ["baseSha", "headSha"].map(|name| changes[name].as_str().unwrap()[..12].to_owned());
    let lines = copies.each_ref().map(|copy| {
        let (digest, place) = (run.run_digest(), copy.0.display());
        let digest = &digest[..12];
        format!("verdict fail  {base}..{head}  digest {digest}  {place}  (not named by its execution key)\n")
    });
    let count = "2 runs are verified from the recordings; the commits themselves are not checked, `verify --repo` reads them\n";
    assert_eq!(text, lines.concat() + count);
    let refused = both(&["--expect", "pass"]).expect_code(4, "EXPECTATION_UNMET");
    assert!(refused.stderr.contains(copies[0].0.to_str().unwrap()), "{}", refused.stderr);
    assert!(!refused.text().contains(" verified"), "{}", refused.text());
    let path = copies[1].0.join("summary.md");
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + " ").unwrap();
    let refused = both(&[]).expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    assert!(refused.stderr.contains(copies[1].0.to_str().unwrap()), "{}", refused.stderr);
    let ledger = both(&["--ledger", "x.json"]).expect(2);
    assert!(ledger.stderr.contains("name the directory of that run alone"), "{}", ledger.stderr);
}

#[test]
fn one_changed_byte_in_any_file_is_noticed() {
    let repo = judged();
    let run = repo.run_dir();
    for name in run.files() {
        let original = run.bytes(&name);
        for position in [0, original.len() / 2, original.len() - 2, original.len() - 1] {
            let mut bytes = original.clone();
            bytes[position] ^= 1;
            std::fs::write(run.path(&name), &bytes).unwrap();
            refused(&run.verify().run(), &format!("{name} with byte {position} changed"));
        }
        for bytes in [&original[..original.len() - 1], b"", &[&original[..], b"\n"].concat()] {
            std::fs::write(run.path(&name), bytes).unwrap();
            refused(&run.verify().run(), &format!("{name} with {} bytes", bytes.len()));
        }
        std::fs::remove_file(run.path(&name)).unwrap();
        refused(&run.verify().run(), &format!("{name} removed"));
        std::fs::write(run.path(&name), &original).unwrap();
    }
    run.verify().run().expect(0);
}

#[test]
fn a_file_that_was_edited_by_hand_is_named_as_changed() {
    let repo = judged();
    let run = repo.run_dir();
    for name in ["lens-results.json", "final-verdict.json", "recordings/00000.json", "report.html"] {
        let original = run.bytes(name);
        let mut bytes = original.clone();
        bytes[original.len() / 2] ^= 1;
        std::fs::write(run.path(name), bytes).unwrap();
        let refused = run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID").stderr;
        assert!(
            refused.contains(&format!("accept {name}: it was changed after it was written")),
            "{refused}"
        );
        std::fs::write(run.path(name), original).unwrap();
    }
    std::fs::write(run.path("notes.txt"), "PASS").unwrap();
    let refused = run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID").stderr;
    assert!(refused.contains("accept notes.txt: it was added after the run was written"), "{refused}");
}

#[test]
fn a_forger_who_repairs_the_manifest_is_caught_with_the_place_named() {
    let repo = judged();
    let elsewhere = temp();
    let pass = || Value::from("pass");
    let findings = format!("/lensResults/{}/findings", repo.run_dir().position("secret-token"));
    let in_findings = format!("lens-results.json#{findings}");
    let cases: &[(&str, &str, Value, &str)] = &[
        ("final-verdict.json", "/conclusion", pass(), "final-verdict.json#/conclusion"),
        ("final-verdict.json", "/status", "PASS".into(), "final-verdict.json#/status"),
        (
            "final-verdict.json",
            "/blockingFindings",
            Value::Array(vec![]),
            "final-verdict.json#/blockingFindings",
        ),
        (
            "skill-result.json",
            "/finalVerdict/status",
            "PASS".into(),
            "skill-result.json#/finalVerdict/status",
        ),
        ("skill-result.json", "/executionKey", "0".repeat(64).into(), "skill-result.json#/executionKey"),
        (
            "lens-results.json",
            "/lensResults/0/status",
            "degraded".into(),
            "lens-results.json#/lensResults/0/status",
        ),
        ("lens-results.json", &findings, Value::Array(vec![]), &in_findings),
        ("coverage.json", "/fullCells", 99.into(), "coverage.json#/fullCells"),
        ("coverage.json", "/rows/0/hunks", 7.into(), "coverage.json#/rows/0/hunks"),
        ("cross-check.json", "/items/0/detail", "fine".into(), "cross-check.json#/items/0/detail"),
        ("lens-plan.json", "/lensPlans/0/required", false.into(), "lens-plan.json#/lensPlans/0/required"),
        ("change-sensitivity.json", "/changedLines", 1.into(), "change-sensitivity.json#/changedLines"),
        ("metrics.json", "/conclusion", pass(), "metrics.json#/conclusion"),
        (
            "trace.json",
            "/executionKeyPreimage/repoId",
            "other".into(),
            "trace.json#/executionKeyPreimage/repoId",
        ),
        ("trace.json", "/events/0/detail", "fine".into(), "trace.json#/events/0/detail"),
        ("input.normalized.json", "/headSha", "0".repeat(40).into(), "input.normalized.json#/headSha"),
        ("input.normalized.json", "/configHash", "0".repeat(64).into(), "input.normalized.json#/configHash"),
        ("recordings/inputs.json", "/basePolicy", "blocking-policy = \"mixed\"\n".into(), "trace.json#/"),
        ("change-set.json", "/headSha", "0".repeat(40).into(), "trace.json#/"),
    ];
    for (number, (name, pointer, to, expected)) in cases.iter().enumerate() {
        for keep in [false, true] {
            let run = repo.run_dir().copy_to(&elsewhere.path().join(format!("{number}-{keep}")));
            tamper(&run, name, pointer, to.clone());
            repair(&run, keep);
            let outcome = run.verify().run();
            refused(&outcome, &format!("{name}#{pointer}, kept digests {keep}"));
            if !keep {
                assert_eq!(outcome.exit, 4, "{name}#{pointer}: {}", outcome.stderr);
                assert!(outcome.stderr.contains(expected), "{name}#{pointer}: {}", outcome.stderr);
            }
        }
    }
    let run = repo.run_dir().copy_to(&elsewhere.path().join("untouched"));
    repair(&run, false);
    run.verify().run().expect(0);
}

#[test]
fn a_forged_report_or_stranger_in_the_manifest_is_caught() {
    let repo = judged();
    let elsewhere = temp();
    for (_, name) in rendered_files() {
        for keep in [false, true] {
            let run = repo.run_dir().copy_to(&elsewhere.path().join(format!("{name}-{keep}")));
            let text = String::from_utf8(run.bytes(name)).unwrap();
            let forged = text.replace("merge-leftover/conflict-marker", "merge-leftover/editor-file");
            assert_ne!(text, forged, "{name}");
            std::fs::write(run.path(name), forged).unwrap();
            repair(&run, keep);
            refused(&run.verify().run(), name);
        }
    }
    for name in ["extra.json", "recordings/99999.json", "recordings/extra.txt"] {
        let run = repo.run_dir().copy_to(&elsewhere.path().join(name.replace('/', "-")));
        std::fs::write(run.path(name), "{}").unwrap();
        refused(&run.verify().run(), name);
        repair(&run, false);
        refused(&run.verify().run(), &format!("{name}, named by the manifest"));
    }
    let run = repo.run_dir().copy_to(&elsewhere.path().join("key"));
    tamper(&run, "hashes.json", "/executionKey", "0".repeat(64).into());
    refused(&run.verify().run(), "another key in the manifest");
}

#[test]
fn a_manifest_or_artifact_that_is_only_formally_wrong_is_refused() {
    let repo = judged();
    let elsewhere = temp();
    let run = repo.run_dir().copy_to(&elsewhere.path().join("digest"));
    tamper(&run, "hashes.json", "/runDigest", "0".repeat(64).into());
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    // Of the right type, in a member that no digest compares: only the schema knows that it cannot be.
    let run = repo.run_dir().copy_to(&elsewhere.path().join("schema"));
    tamper(&run, "input.normalized.json", "/maxConcurrency", 0.into());
    repair(&run, false);
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    // The same value in other bytes is not what this program writes.
    let run = repo.run_dir().copy_to(&elsewhere.path().join("form"));
    let pretty = serde_json::to_vec_pretty(&run.json("input.normalized.json")).unwrap();
    std::fs::write(run.path("input.normalized.json"), pretty).unwrap();
    repair(&run, false);
    run.verify().run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
}

/// Every place of a recording that holds a text: as a JSON pointer.
fn recorded_texts(recording: &Value) -> Vec<String> {
    let places = (0..recording["files"].as_array().unwrap().len())
        .flat_map(|file| ["text", "fullBase", "fullHead"].map(|place| format!("/files/{file}/text/{place}")));
    places.filter(|place| recording.pointer(place).is_some_and(Value::is_string)).collect()
}

#[test]
fn recorded_text_that_was_changed_is_caught() {
    // Of a workflow the whole versions are recorded, of a file without a grammar its hunks.
    let workflow = |value: &str| format!("on: push\njobs:\n  a:\n    steps:\n      - run: echo {value}\n");
    let (base, head) = ("a = 1\nb = 2\n", format!("a = 1\nb = 5\n{}", conflict()));
    let path = ".github/workflows/a.yml";
    let repo = change(
        &[("a.csv", base), (path, &workflow("b = 2"))],
        &[("a.csv", &head), (path, &workflow("b = 5"))],
    );
    repo.judge().run().expect(1);
    let elsewhere = temp();
    let recording: Value = serde_json::from_slice(&repo.run_dir().bytes("recordings/00000.json")).unwrap();
    let forge = |name: &str, place: &str, from: &str, to: &str| {
        let run = repo.run_dir().copy_to(&elsewhere.path().join(name));
        let text = recording.pointer(place).unwrap().as_str().unwrap();
        assert!(text.contains(from), "{place}: {text}");
        tamper(&run, "recordings/00000.json", place, text.replace(from, to).into());
        repair(&run, false);
        run
    };
    let places = recorded_texts(&recording);
    let kinds: Vec<&str> = places.iter().filter_map(|place| place.rsplit('/').next()).collect();
    assert_eq!(kinds, ["text", "fullBase", "fullHead", "text"], "{places:?}");
    let run = forge("evidence", "/files/1/text/text", &"<".repeat(7), "-------");
    run.verify().run().expect_code(4, "DETERMINISM_DRIFT_DETECTED");
    // A change that no lens minds can only be seen where the true text is.
    for (number, place) in places.iter().enumerate() {
        let run = forge(&number.to_string(), place, "b = ", "c = ");
        let outcome = run.verify().arg("--repo").arg(repo.path()).run();
        let outcome = outcome.expect_code(4, "DETERMINISM_DRIFT_DETECTED");
        assert!(outcome.stderr.contains(&format!("recordings/00000.json#{place}")), "{}", outcome.stderr);
    }
}

#[test]
fn a_missing_recording_is_named() {
    let repo = judged();
    let run = repo.run_dir();
    std::fs::remove_file(run.path("recordings/00000.json")).unwrap();
    run.verify().run().expect_code(3, "RECORDING_MISSING");
    repair(&run, false);
    let outcome = run.verify().run().expect_code(3, "RECORDING_MISSING");
    assert!(outcome.stderr.contains("a.py"), "{}", outcome.stderr);
}

#[test]
fn a_directory_planted_before_the_run_is_never_believed() {
    let plant = |forge: &dyn Fn(&RunDir)| {
        let repo = judged();
        forge(&repo.run_dir());
        let outcome = repo.judge().run();
        refused(&outcome, "a planted run");
        outcome.exit
    };
    let pass = |run: &RunDir| {
        tamper(run, "final-verdict.json", "/status", "PASS".into());
        tamper(run, "skill-result.json", "/finalVerdict/status", "PASS".into());
    };
    assert_eq!(plant(&|run| pass(run)), 3);
    assert_eq!(
        plant(&|run| {
            pass(run);
            repair(run, false);
        }),
        4
    );
    assert_eq!(
        plant(&|run| {
            pass(run);
            repair(run, true);
        }),
        3
    );
    assert_eq!(plant(&|run| std::fs::remove_file(run.path("hashes.json")).unwrap()), 3);
    assert_eq!(plant(&|run| tamper(run, "hashes.json", "/executionKey", "0".repeat(64).into())), 3);
    assert_eq!(
        plant(&|run| {
            std::fs::remove_dir_all(&run.0).unwrap();
            std::fs::write(&run.0, "PASS").unwrap();
        }),
        3
    );
    assert_eq!(
        plant(&|run| {
            std::fs::remove_dir_all(&run.0).unwrap();
            std::os::unix::fs::symlink("/etc", &run.0).unwrap();
        }),
        3
    );
}

#[test]
fn a_run_directory_committed_in_head_has_no_effect() {
    let other = judged();
    let name = other.run_dir().0.file_name().unwrap().to_str().unwrap().to_owned();
    let forged = String::from_utf8(other.run_dir().bytes("skill-result.json")).unwrap();
    let place = format!(".qa-skill/runs/{name}/skill-result.json");
    let repo =
        change(&[("a.py", "a\n")], &[("a.py", &conflict()), (&place, &forged.replace("FAIL", "PASS"))]);
    crate::support::git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    let run = || qa_skill(["run", "--base", "main"]).within(&repo.path()).run();
    let first = run().expect(1).text();
    assert!(first.contains("merge-leftover/conflict-marker"), "{first}");
    run().expect(1);
    assert!(Path::new(&repo.path().join(place)).exists());
}

/// The value of a row that `verify` prints.
fn row(text: &str, name: &str) -> String {
    let row = text.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
    row.unwrap_or_else(|| panic!("no row {name}: {text}")).trim().to_owned()
}

#[test]
fn verify_says_what_was_judged_against_what_and_under_which_policy() {
    let repo = judged();
    let run = repo.run_dir();
    let text = run.verify().run().expect(0).text();
    let changes = run.json("change-set.json");
    for (name, member) in [("base", "baseSha"), ("merge base", "mergeBaseSha"), ("head", "headSha")] {
        assert_eq!(row(&text, name), changes[member].as_str().unwrap(), "{name}");
    }
    let config = &run.json("trace.json")["configPreimage"];
    assert_eq!(row(&text, "policy"), config["policyHash"].as_str().unwrap());
    assert_eq!((row(&text, "verdict"), row(&text, "overrides")), ("fail".to_owned(), "none".to_owned()));
    assert!(text.contains("preset default, mode strict; no policy file, defaults"), "{text}");
    // The digest is the one of `policy-check`.
    let check = qa_skill(["policy-check", "--base", "main"]).arg("--repo").arg(repo.path());
    let check = check.run().expect(0).text();
    assert!(check.contains(config["policyHash"].as_str().unwrap()), "{check}");

    let _from_before = std::fs::remove_dir_all(repo.beside("out"));
    repo.judge().args(["--preset", "advisory", "--mode", "best_effort"]).run();
    let lax = repo.run_dir();
    let text = lax.verify().run().expect(0).text();
    assert_eq!(row(&text, "overrides"), "mode=best_effort preset=advisory", "{text}");
    let policy = config["policyHash"].as_str().unwrap();
    lax.verify().args(["--expect-policy", policy]).run().expect_code(4, "EXPECTATION_UNMET");
}

#[test]
fn verify_fails_where_the_run_is_not_the_one_that_was_expected() {
    let repo = judged();
    let run = repo.run_dir();
    let text = run.verify().run().expect(0).text();
    let [base, head, policy] = ["base", "head", "policy"].map(|name| row(&text, name));
    let expected = [
        ("--expect-base", &base),
        ("--expect-head", &head),
        ("--expect-policy", &policy),
        ("--expect", &"fail".to_owned()),
    ];
    let all = expected.iter().fold(run.verify(), |program, (option, value)| program.arg(option).arg(value));
    all.run().expect(0);
    let others = [head.as_str(), &base, &"0".repeat(64), "pass"];
    for ((option, _), other) in expected.iter().zip(others) {
        let outcome = run.verify().arg(option).arg(other).run().expect_code(4, "EXPECTATION_UNMET");
        assert!(outcome.stderr.contains(other) && outcome.stdout.is_empty(), "{}", outcome.stderr);
    }
    for (option, wrong) in [("--expect-base", "main"), ("--expect-policy", "x"), ("--expect", "green")] {
        run.verify().arg(option).arg(wrong).run().expect(2);
    }
    // A selection of lenses is not the policy, even if its digest is.
    let selected = repo.judge().args(["--lens", "secret-token"]).run();
    assert_eq!(selected.exit, 1, "{}", selected.stderr);
    let selected = runs_in(&repo.beside("out")).into_iter().find(|path| *path != run.0).unwrap();
    RunDir(selected).verify().args(["--expect-policy", &policy]).run().expect_code(4, "EXPECTATION_UNMET");
}

#[test]
fn verify_says_that_a_pass_is_degraded_and_expect_pass_refuses_it() {
    let unread = "[limits]\nmax-files = 1\nallow-omitted = true\n";
    let optional = "mode = \"best_effort\"\n[gates.lint]\nrequired = false\nreports = [{ path = \"a\", tool = \"ruff\" }]\n";
    for (policy, verdict) in [
        (unread, "pass (degraded: 1 file not read in full)"),
        (optional, "pass (degraded: an optional plan is incomplete)"),
        ("", "pass"),
    ] {
        let base =
            Files::from_texts(&[(".qa-skill/policy.toml", policy), ("a.py", "a = 1\n"), ("b.py", "b = 1\n")]);
        let repo = Repo::new();
        repo.change(&base, &base.clone().with("a.py", "a = 2\n").with("b.py", "b = 2\n"));
        repo.judge().run().expect(0);
        let run = repo.run_dir();
        for program in [run.verify(), run.verify().arg("--repo").arg(repo.path())] {
            let text = program.run().expect(0).text();
            assert_eq!(row(&text, "verdict"), verdict);
            program.clone().args(["--expect", "degraded-pass"]).run().expect(0);
            let outcome = program.args(["--expect", "pass"]).run();
            if verdict == "pass" {
                outcome.expect(0);
            } else {
                let outcome = outcome.expect_code(4, "EXPECTATION_UNMET");
                assert!(outcome.stderr.contains(verdict), "{}", outcome.stderr);
                assert!(outcome.stderr.contains("--expect degraded-pass"), "{}", outcome.stderr);
            }
        }
        run.verify().args(["--expect", "fail"]).run().expect_code(4, "EXPECTATION_UNMET");
    }
    let failed = judged();
    failed.run_dir().verify().args(["--expect", "degraded-pass"]).run().expect_code(4, "EXPECTATION_UNMET");
}

#[test]
fn a_run_over_another_merge_base_does_not_follow_from_the_repository() {
    // The first commit of `topic` is faulty and the second is clean, so a run over the second alone passes.
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", &format!("a = 1\n{}", conflict()))]);
    let first = repo.git.refname_to_id("refs/heads/topic").unwrap();
    let main = repo.git.refname_to_id("refs/heads/main").unwrap();
    let files = [("a.py", format!("a = 1\n{}", conflict())), ("b.py", "b = 1\n".to_owned())];
    let files = files.iter().fold(Files::new(), |files, (path, text)| files.with(path, text));
    repo.reference("refs/heads/topic", repo.commit(repo.tree(&files), &[first]));
    repo.judge().run().expect(1);
    repo.run_dir().verify().arg("--repo").arg(repo.path()).run().expect(0);
    std::fs::remove_dir_all(repo.beside("out")).unwrap();
    qa_skill(["run", "--head", "topic", "--base", &first.to_string(), "--out"])
        .arg(repo.beside("out"))
        .arg("--repo")
        .arg(repo.path())
        .run()
        .expect(0);
    let run = repo.run_dir();
    tamper(&run, "change-set.json", "/baseSha", main.to_string().into());
    repair(&run, false);
    let outcome = run.verify().arg("--repo").arg(repo.path()).run().expect(4);
    assert!(outcome.stderr.contains("mergeBaseSha"), "{}", outcome.stderr);
}

#[test]
fn the_name_of_a_run_directory_and_an_empty_one_inside_are_noticed() {
    let repo = judged();
    let run = repo.run_dir();
    let key = run.0.file_name().unwrap().to_str().unwrap().to_owned();
    let elsewhere = temp();
    let named = |name: &str| run.copy_to(&elsewhere.path().join(name)).verify().run();
    assert!(!named(&key).expect(0).text().contains("is not its execution key"));
    assert!(!named(&format!("{key}.attempt-2")).expect(0).text().contains("is not its execution key"));
    assert!(named("copy").expect(0).text().contains("is not its execution key"));
    for other in ["0".repeat(64), format!("{}.attempt-2", "0".repeat(64))] {
        refused(&named(&other), &other);
    }
    let copy = run.copy_to(&elsewhere.path().join("empty"));
    std::fs::create_dir(copy.path("extra")).unwrap();
    refused(&copy.verify().run(), "an empty directory");
}

#[test]
fn a_change_of_preset_or_mode_in_the_policy_verifies() {
    let policy = |text: &str| format!("version = 1\n{text}");
    let cases = [
        ("", "preset = \"advisory\"\n"),
        ("preset = \"guarded\"\n", ""),
        ("mode = \"strict\"\n", "mode = \"best_effort\"\n"),
        ("preset = \"default\"\n", "preset = \"guarded\"\nmode = \"best_effort\"\n"),
    ];
    for (base, head) in cases {
        let (base, head) = (policy(base), policy(head));
        let repo = change(&[(".qa-skill/policy.toml", &base)], &[(".qa-skill/policy.toml", &head)]);
        for overrides in [&[][..], &["--preset", "advisory"], &["--mode", "best_effort"]] {
            let _from_before = std::fs::remove_dir_all(repo.beside("out"));
            let judged = overrides.iter().fold(repo.judge(), |program, word| program.arg(word)).run();
            assert!([0, 1].contains(&judged.exit), "{head}: {}", judged.stderr);
            let run = repo.run_dir();
            run.verify().run().expect(0);
            run.verify().arg("--repo").arg(repo.path()).run().expect(0);
            qa_skill(["drift-check"]).arg(&run.0).run().expect(0);
        }
    }
}
