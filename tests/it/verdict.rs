//! What passes, what fails and what could not be completed, from the outside.

use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::support::{Files, Repo, change, conflict, git, other_token, qa_skill, token};

const POLICY: &str = ".qa-skill/policy.toml";
const WAIVERS: &str = ".qa-skill/waivers.toml";

/// A change with more files on the base side.
fn with_base(extra: &[(&str, &str)], base: &[(&str, &str)], head: &[(&str, &str)]) -> Repo {
    let join = |files: &[(&str, &str)]| Files::from_texts(&[extra, files].concat());
    let repo = Repo::new();
    repo.change(&join(base), &join(head));
    repo
}

fn verdict(repo: &Repo) -> Value {
    repo.run_dir().json("final-verdict.json")
}

fn list(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

#[test]
fn a_change_of_documents_passes_with_evidence() {
    let repo = change(&[("docs/guide.md", "# Guide\n")], &[("docs/guide.md", "# Guide\n\nMore.\n")]);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    let verdict = verdict(&repo);
    assert_eq!(
        json!([
            verdict["status"],
            verdict["conclusion"],
            verdict["degraded"],
            verdict["vacuous"],
            verdict["errorCodes"]
        ]),
        json!(["PASS", "pass", false, false, []])
    );
    assert_eq!((&verdict["missingRequiredLensIds"], &verdict["warningCodes"]), (&json!([]), &json!([])));
    assert_eq!(verdict["failedRequiredLensIds"], json!([]));
    for result in run.json("lens-results.json")["lensResults"].as_array().unwrap() {
        assert_eq!(result["status"], "completed", "{result}");
        assert!(!result["evidenceSummary"].as_array().unwrap().is_empty(), "{result}");
    }
    assert!(run.json("coverage.json")["fullCells"].as_u64().unwrap() > 0);
    assert_eq!(run.json("coverage.json")["incompleteCells"], 0);
}

#[test]
fn an_empty_change_could_not_be_completed_unless_the_policy_lets_it_pass() {
    let files = [("a.py", "a = 1\n")];
    let repo = change(&files, &files);
    let outcome = repo.judge().run().expect(3);
    assert!(outcome.text().contains("NOTHING_TO_JUDGE"), "{}", outcome.text());
    let found = verdict(&repo);
    assert_eq!(
        json!([found["status"], found["conclusion"], found["vacuous"], found["errorCodes"]]),
        json!(["FAIL", "could_not_complete", true, ["NOTHING_TO_JUDGE"]])
    );
    let repo = with_base(&[(POLICY, "empty-change = \"pass\"\n")], &files, &files);
    repo.judge().run().expect(0);
    let found = verdict(&repo);
    assert_eq!(json!([found["status"], found["vacuous"]]), json!(["PASS", true]));
}

#[test]
fn a_required_lens_that_was_not_asked_for_keeps_the_run_from_passing() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let outcome = repo.judge().args(["--lens", "merge-leftover"]).run().expect(3);
    assert!(outcome.text().contains("LENS_REQUIRED_MISSING"), "{}", outcome.text());
    let missing = verdict(&repo)["missingRequiredLensIds"].clone();
    assert!(
        list(&missing).contains(&"secret-token") && !list(&missing).contains(&"merge-leftover"),
        "{missing}"
    );
    for wrong in [["--lens", "merge-leftovers"], ["--lens", ""]] {
        let outcome = repo.judge().args(wrong).run().expect(2);
        assert!(outcome.stderr.contains("merge-leftover"), "{}", outcome.stderr);
    }
    repo.judge().args(["--lens", "secret-token", "--lens", "secret-token"]).run().expect(2);
}

#[test]
fn what_is_over_a_limit_is_listed_and_nothing_passes() {
    for mode in ["strict", "best_effort"] {
        let policy = format!("mode = \"{mode}\"\n[limits]\nmax-files = 1\n");
        let repo = with_base(
            &[(POLICY, &policy)],
            &[("a.py", "a = 1\n"), ("b.py", "b = 1\n")],
            &[("a.py", "a = 2\n"), ("b.py", "b = 2\n")],
        );
        let outcome = repo.judge().run().expect(3);
        assert!(outcome.text().contains("b.py"), "what is missing is named: {}", outcome.text());
        let run = repo.run_dir();
        assert!(list(&verdict(&repo)["errorCodes"]).contains(&"DIFF_TOO_LARGE"));
        let plans = run.json("lens-plan.json");
        let concerned = |plan: &&Value| plan["planningCodes"] != json!(["LENS_NOT_APPLICABLE"]);
        let plans = plans["lensPlans"].as_array().unwrap();
        assert!(
            plans.iter().any(|plan| !concerned(&plan)),
            "no workflow changed, and one lens is about those"
        );
        for plan in plans.iter().filter(concerned) {
            assert_eq!(plan["omittedFiles"].as_array().unwrap().len(), 1, "{plan}");
            let hunks = plan["omittedHunks"].as_array().unwrap();
            assert!(hunks.iter().all(|hunk| hunk["reason"].is_string()) && !hunks.is_empty(), "{plan}");
        }
        let coverage = run.json("coverage.json");
        assert!(coverage["incompleteCells"].as_u64().unwrap() > 0, "{coverage}");
        let cells = coverage["rows"][1]["cells"].as_array().unwrap();
        assert!(
            cells.iter().all(|cell| cell["status"] == "omitted" && cell["code"] == "DIFF_TOO_LARGE"),
            "{coverage}"
        );
    }
}

#[test]
fn a_change_that_edits_the_policy_is_judged_by_the_one_of_the_base() {
    let weak = "preset = \"advisory\"\nempty-change = \"pass\"\n[lenses.merge-leftover]\nenabled = false\nrequired = false\n";
    let repo = change(&[("a.py", "a\n")], &[("a.py", &conflict()), (POLICY, weak)]);
    let outcome = repo.judge().run().expect(1);
    assert!(outcome.text().contains("POLICY_CHANGED_IN_PR"), "{}", outcome.text());
    let verdict = verdict(&repo);
    assert!(list(&verdict["warningCodes"]).contains(&"POLICY_CHANGED_IN_PR"), "{verdict}");
    let preview = &verdict["policyPreview"];
    assert_eq!(
        json!([preview["conclusion"], preview["blockingFindings"], preview["error"]]),
        json!(["pass", 0, null])
    );
    let weakened: Vec<&str> = preview["weakened"]
        .as_array()
        .unwrap()
        .iter()
        .map(|setting| setting["name"].as_str().unwrap())
        .collect();
    for expected in [
        "empty-change",
        "lenses.merge-leftover.enabled",
        "lenses.merge-leftover.required",
        "rules.merge-leftover/conflict-marker.product",
    ] {
        assert!(weakened.contains(&expected), "{expected} is not among {weakened:#?}");
    }
    // One that could not be read after the merge would stop every later verdict, so it blocks now.
    let repo = change(&[("a.py", "a\n")], &[("a.py", "b\n"), (POLICY, "mod = 1\n")]);
    repo.judge().run().expect(1);
    assert_eq!(self::verdict(&repo)["blockingFindings"][0]["ruleId"], "policy-weakening/policy-unreadable");
    let error = self::verdict(&repo)["policyPreview"]["error"].clone();
    assert!(error.as_str().unwrap().contains("line 1"), "{error}");
    // The same when the policy goes away.
    let repo = change(&[("a.py", "a\n"), (POLICY, "mode = \"strict\"\n")], &[("a.py", "b\n")]);
    repo.judge().run().expect(0);
    assert!(list(&self::verdict(&repo)["warningCodes"]).contains(&"POLICY_CHANGED_IN_PR"));
}

#[test]
fn a_head_that_the_next_run_could_not_read_is_no_head_without_a_policy() {
    let base = Files::from_texts(&[("a.py", "a\n"), (POLICY, "version = 1\n")]);
    let below = |path: &str| format!("{path}/x");
    let heads = [
        (base.clone().without(POLICY).with(".qa-skill", "x\n"), ".qa-skill is not a directory"),
        (base.clone().without(POLICY).mode("120000", ".qa-skill", "x"), ".qa-skill is not a directory"),
        (base.clone().mode("120000", POLICY, "x"), "policy.toml is not a regular file"),
        (base.clone().without(POLICY).with(below(POLICY), "x\n"), "policy.toml is not a regular file"),
        (base.clone().with(POLICY, b"version = 1\n# \xff\n"), "policy.toml is not UTF-8"),
        (base.clone().with(WAIVERS, "x = [\n"), "waivers.toml: line 1"),
        (base.clone().mode("120000", WAIVERS, "x"), "waivers.toml is not a regular file"),
        (base.clone().with(below(WAIVERS), "x\n"), "waivers.toml is not a regular file"),
    ];
    for (head, expected) in heads {
        let repo = Repo::new();
        repo.change(&base, &head);
        repo.judge().run();
        let preview = self::verdict(&repo)["policyPreview"].clone();
        let error = preview["error"].as_str().unwrap_or_default();
        assert!(error.contains(expected), "{expected}: {preview}");
        assert_eq!(preview["conclusion"], Value::Null, "{expected}");
        repo.run_dir().verify().run().expect(0);
        // That is how the next run ends.
        let topic = repo.git.revparse_single("topic").unwrap().id();
        let next = repo.commit(repo.tree(&head.with("b.py", "b\n")), &[topic]);
        repo.reference("refs/heads/main", topic);
        repo.reference("refs/heads/topic", next);
        let refused = repo.judge().run();
        assert!(refused.exit >= 2, "{expected}");
        let is_hinted = refused.stderr.contains("commit a regular file there on the base branch");
        assert_eq!(is_hinted, expected.ends_with("a regular file"), "{expected}: {}", refused.stderr);
    }
}

fn waiver(hash: &str, expires: &str) -> String {
    format!(
        "version = 1\n[[waiver]]\nrule = \"merge-leftover/conflict-marker\"\nevidence-hash = \"{hash}\"\nowner = \"ann\"\nreason = \"a fixture\"\nexpires = \"{expires}\"\n"
    )
}

#[test]
fn a_waiver_counts_only_on_the_base_for_its_evidence_and_until_its_day() {
    let (base, head) = ([("a.py", "a\n")], [("a.py", conflict())]);
    let head = [("a.py", head[0].1.as_str())];
    let repo = change(&base, &head);
    repo.judge().run().expect(1);
    let hash = verdict(&repo)["blockingFindings"][0]["evidenceHash"].as_str().unwrap().to_owned();

    // The base commit is of 2024-05-01.
    let good = waiver(&hash, "2024-05-01");
    let repo = with_base(&[(WAIVERS, &good)], &base, &head);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    let results = run.json("lens-results.json");
    let finding = &results["lensResults"][run.position("merge-leftover")]["findings"][0];
    assert_eq!(
        json!([finding["blocking"], finding["waiver"]]),
        json!([false, {"owner": "ann", "reason": "a fixture", "expires": "2024-05-01"}])
    );
    repo.judge().args(["--format", "markdown"]).run().expect(0).text().contains("ann").then_some(()).unwrap();

    let repo = with_base(&[(WAIVERS, &waiver(&hash, "2024-04-30"))], &base, &head);
    repo.judge().run().expect(1);
    assert!(list(&verdict(&repo)["warningCodes"]).contains(&"WAIVER_EXPIRED"));
    let other = with_base(&[(WAIVERS, &waiver(&"0".repeat(64), "2030-01-01"))], &base, &head);
    other.judge().run().expect(1);
    assert!(list(&verdict(&other)["warningCodes"]).contains(&"WAIVER_UNMATCHED"));
    assert!(!list(&verdict(&repo)["warningCodes"]).contains(&"WAIVER_UNMATCHED"));

    let forged = change(&base, &[head[0], (WAIVERS, &waiver(&hash, "2030-01-01"))]);
    forged.judge().run().expect(1);
    let preview = verdict(&forged)["policyPreview"].clone();
    assert_eq!(preview["weakened"][0]["name"], "waivers.merge-leftover/conflict-marker", "{preview}");
    // The preview is of head's own waivers: what they waive would pass.
    assert_eq!(json!([preview["conclusion"], preview["blockingFindings"]]), json!(["pass", 0]), "{preview}");
    let half = change(&base, &[head[0], ("b.py", head[0].1), (WAIVERS, &waiver(&hash, "2030-01-01"))]);
    half.judge().run().expect(1);
    let preview = verdict(&half)["policyPreview"].clone();
    assert_eq!(json!([preview["conclusion"], preview["blockingFindings"]]), json!(["fail", 1]), "{preview}");
    git(&forged.path(), &["checkout", "-q", "-f", "topic"]);
    qa_skill(["run", "--base", "main"]).within(&forged.path()).run().expect(1);
}

#[test]
fn a_policy_that_cannot_be_read_is_a_usage_error_with_line_and_suggestion() {
    let cases = [
        (POLICY, "preset = \"default\"\nmod = \"strict\"\n", "line 2", "did you mean `mode`?"),
        (POLICY, "[lenses.merge-leftovers]\nenabled = true\n", "line 1", "did you mean `merge-leftover`?"),
        (WAIVERS, "[[waiver]]\nrule = \"x\"\n", "line ", ""),
        (POLICY, "\u{202e}\u{1b}[31m = 1\n", "line 1", ""),
    ];
    for (path, text, line, suggestion) in cases {
        let repo = with_base(&[(path, text)], &[("a.py", "a\n")], &[("a.py", "b\n")]);
        let outcome = repo.judge().run().expect_code(2, "POLICY_INVALID");
        let said = &outcome.stderr;
        assert!(said.contains(path) && said.contains(line) && said.contains(suggestion), "{said}");
        assert!(!said.contains(['\u{202e}', '\u{1b}']), "{said:?}");
    }
    let repo = Repo::new();
    let big = "# comment\n".repeat(200_000);
    let base = Files::from_texts(&[(POLICY, big.as_str())]);
    repo.change(&base, &base.clone().with("a", "a\n"));
    repo.judge().run().expect_code(2, "POLICY_INVALID");
    let base = Files::new().with(POLICY, b"# \xff\n");
    repo.change(&base, &base.clone().with("a", "a\n"));
    repo.judge().run().expect_code(2, "POLICY_INVALID");
    let base =
        Files::from_texts(&[("weak.toml", "preset = \"advisory\"\n")]).mode("120000", POLICY, "../weak.toml");
    repo.change(&base, &base.clone().with("a", conflict()));
    assert_ne!(repo.judge().run().exit, 0);
}

#[test]
fn an_artifact_root_that_is_a_link_is_refused_and_its_target_untouched() {
    for linked in [".qa-skill", ".qa-skill/runs"] {
        let repo = change(&[("a.py", "a\n")], &[("a.py", "b\n")]);
        git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
        let target = repo.beside("target");
        std::fs::create_dir(&target).unwrap();
        let link = repo.path().join(linked);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(&target, &link).unwrap();
        let outcome = qa_skill(["run", "--base", "main"]).within(&repo.path()).run();
        outcome.expect_code(3, "ARTIFACT_ROOT_UNSAFE");
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0);
        // A link that leads nowhere is no directory to be made either.
        std::fs::remove_dir(&target).unwrap();
        let outcome = qa_skill(["run", "--base", "main"]).within(&repo.path()).run();
        outcome.expect_code(3, "ARTIFACT_ROOT_UNSAFE");
        assert!(!target.exists());
    }
    let repo = change(&[("a.py", "a\n")], &[("a.py", "b\n")]);
    std::fs::write(repo.path().join(".qa-skill"), "a file").unwrap();
    let outcome = qa_skill(["run", "--base", "main"]).within(&repo.path()).run();
    outcome.expect_code(3, "ARTIFACT_ROOT_UNSAFE");
}

#[test]
fn a_rotated_secret_blocks_and_a_moved_one_does_not() {
    let line = |secret: &str| format!("KEY = \"{secret}\"\n");
    let rotated = change(&[("a.py", &line(&token()))], &[("a.py", &line(&other_token()))]);
    rotated.judge().run().expect(1);
    assert_eq!(rotated.run_dir().findings(), ["secret-token/provider-token a.py:1"]);

    let moved = change(
        &[("a.py", &line(&token())), ("b.py", "b = 1\n")],
        &[("a.py", "a = 1\n"), ("b.py", &format!("b = 1\n{}", line(&token())))],
    );
    moved.judge().run().expect(0);
    let run = moved.run_dir();
    let results = run.json("lens-results.json");
    assert_eq!(results["lensResults"][run.position("secret-token")]["findings"][0]["origin"], "pre_existing");

    let copied =
        change(&[("a.py", &line(&token()))], &[("a.py", &line(&token())), ("b.py", &line(&token()))]);
    copied.judge().run().expect(1);
    let twice = change(&[("a.py", &line(&token()))], &[("b.py", &line(&token())), ("c.py", &line(&token()))]);
    twice.judge().run().expect(1);
}

#[test]
fn a_file_that_guards_something_is_not_let_go_by_a_rename_into_other_peoples_code() {
    let owners = "* @all\n/auth/ @security\n";
    let lock = "version = 4\n";
    for (old, new, text, rule) in [
        (".github/CODEOWNERS", "vendor/CODEOWNERS", owners, "policy-weakening/codeowners-weakened"),
        ("Cargo.lock", "vendor/Cargo.lock", lock, "policy-weakening/lockfile-removed"),
        ("ruff.toml", "third_party/ruff.toml", "lint.select = [\"ALL\"]\n", "lint-weakening/lint-disabled"),
        ("ruff.toml", "third_party/ruff.toml", "no TOML\n", "lint-weakening/lint-disabled"),
    ] {
        let policy = (POLICY, "preset = \"guarded\"\n");
        let repo = change(&[policy, (old, text)], &[policy, (new, text)]);
        repo.judge().run().expect(1);
        let run = repo.run_dir();
        // A lockfile is generated where it stands, and so one that goes.
        let file = if old == "Cargo.lock" { old } else { new };
        assert_eq!(run.findings(), [format!("{rule} {file}:1")], "{old}");
        run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    }
}

#[test]
fn a_file_of_tests_that_is_too_large_to_parse_does_not_pass() {
    let rest = format!("def test_sum():\n    assert add(1, 2) == 3\n{}", "# more\n".repeat(200_000));
    let skipped = format!("@pytest.mark.skip\n{rest}");
    let path = "tests/test_sum.py";
    let repo = change(&[(path, &rest)], &[(path, &skipped)]);
    let outcome = repo.judge().run().expect(3);
    assert!(outcome.text().contains("test-weakening degraded: SOURCE_UNREAD"), "{}", outcome.text());
    let named = "tests/test_sum.py: test-weakening looked at only what needs no parsing";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&outcome.text()).contains(named), "{}", outcome.text());
    let summary = String::from_utf8(repo.run_dir().bytes("summary.md")).unwrap();
    assert!(summary.contains("| `tests/test_sum.py` | `test-weakening` |"), "{summary}");
}

#[test]
fn a_check_that_looks_at_less_is_not_advised_to_fail() {
    let workflow = |run: &str| {
        format!("on: pull_request\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: {run}\n")
    };
    let path = ".github/workflows/ci.yml";
    let fix = |run: &str| {
        let repo = change(&[(path, &workflow("go test ./..."))], &[(path, &workflow(run))]);
        let result = repo.judge().args(["--format", "json"]).run().json();
        let findings = result["lensResults"].as_array().unwrap().iter();
        let mut findings = findings.flat_map(|lens| lens["findings"].as_array().unwrap());
        findings.find(|finding| finding["ruleId"] == "ci-weakening/ci-softened").unwrap()["fix"].to_string()
    };
    assert!(fix("go test -run XXX ./...").contains("all that it looked at before"));
    assert!(fix("go test ./... || true").contains("Let the step fail"));
}
