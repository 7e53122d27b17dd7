//! Quality gates by import: what reports of earlier steps do to a verdict, and what they must never do.

use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::{Files, Outcome, Repo, other_token, qa_skill, token};

const POLICY: &str = ".qa-skill/policy.toml";
const ESLINT: &str = "[gates.lint]\nreports = [{ path = \"reports/eslint.json\", tool = \"eslint\" }]\n";
const PYTEST: &str = "[gates.unit_tests]\nreports = [{ path = \"reports/junit.xml\", tool = \"pytest\", record = \"optional\" }]\n";

/// A change of one line under a policy.
fn under(policy: &str) -> Repo {
    let repo = Repo::new();
    let base = Files::from_texts(&[(POLICY, policy), ("src/a.js", "const a = 1;\n")]);
    let head = Files::from_texts(&[(POLICY, policy), ("src/a.js", "const a = 1;\nconst x = 2;\n")]);
    repo.change(&base, &head);
    repo
}

fn report(repo: &Repo, path: &str, text: impl AsRef<[u8]>) {
    let full = repo.path().join(path);
    std::fs::create_dir_all(full.parent().unwrap()).unwrap();
    std::fs::write(full, text).unwrap();
}

/// ESLint's report about `src/a.js`.
fn eslint(messages: &[Value]) -> String {
    let count = |severity: u8| messages.iter().filter(|message| message["severity"] == severity).count();
    json!([{
        "filePath": "/github/workspace/src/a.js", "messages": messages, "suppressedMessages": [],
        "errorCount": count(2), "fatalErrorCount": 0, "warningCount": count(1),
        "fixableErrorCount": 0, "fixableWarningCount": 0, "usedDeprecatedRules": []
    }])
    .to_string()
}

fn unused(line: u64, severity: u8) -> Value {
    json!({
        "ruleId": "no-unused-vars", "severity": severity, "message": "'x' is assigned a value but never used.",
        "line": line, "column": 7, "messageId": "unusedVar", "endLine": line, "endColumn": 8
    })
}

/// A JUnit report of tests by name and what stands inside each.
fn junit(tests: &[(&str, &str)]) -> String {
    let failures = tests.iter().filter(|(_, inside)| inside.contains("<failure")).count();
    let cases: String = tests
        .iter()
        .map(|(name, inside)| {
            format!(
                r#"<testcase classname="sum" name="{name}" file="src/a.js" time="0.1">{inside}</testcase>"#
            )
        })
        .collect();
    format!(
        r#"<?xml version="1.0"?><testsuites tests="{0}" failures="{failures}"><testsuite name="sum" tests="{0}" failures="{failures}" errors="0" skipped="0">{cases}</testsuite></testsuites>"#,
        tests.len()
    )
}

fn verdict(repo: &Repo) -> Value {
    repo.run_dir().json("final-verdict.json")
}

fn codes(repo: &Repo) -> Vec<String> {
    let verdict = verdict(repo);
    verdict["errorCodes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect()
}

fn judge(repo: &Repo) -> Outcome {
    repo.judge().run()
}

#[test]
fn a_clean_report_passes_and_one_with_an_error_fails_at_its_line() {
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[]));
    judge(&repo).expect(0);
    let qa = repo.run_dir().json("qa-report.json");
    assert_eq!(json!([qa["status"], qa["summary"]]), json!(["PASSED", "1 of 1 gates passed"]));
    let summary = String::from_utf8(repo.run_dir().bytes("summary.md")).unwrap();
    assert!(summary.contains("| `lint` | passed | eslint in"), "{summary}");
    let page = String::from_utf8(repo.run_dir().bytes("report.html")).unwrap();
    assert!(page.contains("1 of 1 passed"), "{page}");

    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[unused(2, 2)]));
    judge(&repo).expect(1);
    assert_eq!(repo.run_dir().findings(), ["lint/error src/a.js:2"]);
    let qa = repo.run_dir().json("qa-report.json");
    assert_eq!(json!([qa["status"], qa["summary"]]), json!(["FAILED", "0 of 1 gates passed"]));
    assert_eq!(qa["gates"]["lint"]["errors"][0]["step"], Value::Null);
    assert_eq!(
        qa["priority_fixes"],
        json!(["[lint] src/a.js:2 - eslint: no-unused-vars: 'x' is assigned a value but never used."])
    );
}

#[test]
fn a_warning_is_told_and_blocks_nothing() {
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[unused(2, 1)]));
    judge(&repo).expect(0);
    assert_eq!(repo.run_dir().findings(), ["lint/warning src/a.js:2"]);
}

#[test]
fn a_report_that_proves_nothing_is_never_a_pass() {
    let whole = eslint(&[unused(2, 2)]);
    let cut = &whole[..whole.len() - 4];
    let cases: [(&str, &str); 6] = [
        ("", "GATE_REPORT_INCOMPLETE"),
        ("no JSON at all", "GATE_REPORT_INCOMPLETE"),
        ("{}", "GATE_REPORT_INCOMPLETE"),
        (cut, "GATE_REPORT_INCOMPLETE"),
        (r#"[{"filePath": "a.js"}]"#, "GATE_REPORT_INCOMPLETE"),
        ("[]", "GATE_NOTHING_RAN"),
    ];
    for (text, code) in cases {
        let repo = under(ESLINT);
        report(&repo, "reports/eslint.json", text);
        judge(&repo).expect(3);
        assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", code], "{text}");
        assert_eq!(repo.run_dir().json("qa-report.json")["status"], "ERROR", "{text}");
    }
}

#[test]
fn a_report_that_is_not_there_or_not_to_be_trusted_is_never_a_pass() {
    let clean = eslint(&[]);
    let path = "reports/eslint.json";

    let missing = under(ESLINT);

    let committed = under(ESLINT);
    let files = [(POLICY, ESLINT), ("src/a.js", "const a = 1;\n"), (path, clean.as_str())];
    committed.change(&Files::from_texts(&[(POLICY, ESLINT)]), &Files::from_texts(&files));
    report(&committed, path, &clean);

    // A file of the base that head does not have yet stands in a checkout of both.
    let of_base = under(ESLINT);
    let base = [(POLICY, ESLINT), (path, clean.as_str())];
    of_base.change(
        &Files::from_texts(&base),
        &Files::from_texts(&[(POLICY, ESLINT), ("src/a.js", "const a = 1;\n")]),
    );
    report(&of_base, path, &clean);

    // What a submodule brings is of the change as well.
    let in_submodule = under(ESLINT);
    let elsewhere = in_submodule.git.head().unwrap().target().unwrap();
    let head = Files::from_texts(&[(POLICY, ESLINT)]).object("160000", "reports", elsewhere);
    in_submodule.change(&Files::from_texts(&[(POLICY, ESLINT)]), &head);
    report(&in_submodule, path, &clean);

    let linked = under(ESLINT);
    report(&linked, "elsewhere.json", &clean);
    std::fs::create_dir_all(linked.path().join("reports")).unwrap();
    symlink(linked.path().join("elsewhere.json"), linked.path().join(path)).unwrap();

    let below_link = under(ESLINT);
    report(&below_link, "elsewhere/eslint.json", &clean);
    symlink(below_link.path().join("elsewhere"), below_link.path().join("reports")).unwrap();

    let directory = under(ESLINT);
    std::fs::create_dir_all(directory.path().join(path)).unwrap();

    let old = under(ESLINT);
    report(&old, path, &clean);
    let file = std::fs::File::options().append(true).open(old.path().join(path)).unwrap();
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)).unwrap();

    let binary = under(ESLINT);
    report(&binary, path, b"[\xff]");

    let cases = [
        (missing, "GATE_REPORT_MISSING"),
        (committed, "GATE_REPORT_REFUSED"),
        (of_base, "GATE_REPORT_REFUSED"),
        (in_submodule, "GATE_REPORT_REFUSED"),
        (linked, "GATE_REPORT_REFUSED"),
        (below_link, "GATE_REPORT_REFUSED"),
        (directory, "GATE_REPORT_REFUSED"),
        (old, "GATE_REPORT_STALE"),
        (binary, "GATE_REPORT_REFUSED"),
    ];
    for (repo, code) in cases {
        let outcome = judge(&repo).expect(3);
        assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", code]);
        let text = outcome.text();
        assert!(text.contains(code) && text.contains("lint no result") && text.contains(path), "{text}");
    }
}

#[test]
fn without_the_report_of_an_optional_gate_only_best_effort_passes() {
    for (mode, exit, expected) in [
        ("strict", 3, &["GATE_REPORT_MISSING", "LENS_OPTIONAL_FAILED"][..]),
        ("best_effort", 0, &["GATE_REPORT_MISSING"]),
    ] {
        let repo = under(&format!("mode = \"{mode}\"\n{ESLINT}required = false\n"));
        judge(&repo).expect(exit);
        assert_eq!(verdict(&repo)["degraded"], json!(true));
        assert_eq!(codes(&repo), expected);
    }
}

#[test]
fn a_failing_test_fails_and_no_test_at_all_proves_nothing() {
    let failure = r#"<failure message="expected 2, got 3">at src/a.js:2</failure>"#;
    for (tests, exit) in [
        (&[("adds", "")][..], 0),
        (&[("adds", ""), ("doubles", failure)][..], 1),
        (&[("adds", "<skipped/>")][..], 3),
        (&[][..], 3),
    ] {
        let repo = under(PYTEST);
        report(&repo, "reports/junit.xml", junit(tests));
        judge(&repo).expect(exit);
        match exit {
            1 => assert!(repo.run_dir().findings()[0].starts_with("unit_tests/failure src/a.js:")),
            3 => assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", "GATE_NOTHING_RAN"]),
            _ => {}
        }
    }
}

#[test]
fn what_the_base_has_too_is_not_held_against_the_change_once_for_each_time() {
    let policy = "[gates.lint]\nreports = [{ path = \"reports/eslint.json\", tool = \"eslint\", base = \"reports/base.json\" }]\n";
    for (head, base, exit) in [
        (vec![unused(9, 2)], vec![unused(2, 2)], 0),
        (vec![unused(2, 2), unused(9, 2)], vec![unused(2, 2)], 1),
    ] {
        let repo = under(policy);
        report(&repo, "reports/eslint.json", eslint(&head));
        report(&repo, "reports/base.json", eslint(&base));
        judge(&repo).expect(exit);
        let qa = repo.run_dir().json("qa-report.json");
        let old = qa["gates"]["lint"]["errors"].as_array().unwrap().iter();
        assert_eq!(old.filter(|error| error["pre_existing"] == true).count(), 1);
    }
    // The same words about another file are something else.
    let repo = under(policy);
    report(&repo, "reports/eslint.json", eslint(&[unused(2, 2)]));
    report(&repo, "reports/base.json", eslint(&[unused(2, 2)]).replace("src/a.js", "src/b.js"));
    judge(&repo).expect(1);
    // Without the base's report everything counts.
    let repo = under(policy);
    report(&repo, "reports/eslint.json", eslint(&[unused(9, 2)]));
    judge(&repo).expect(1);
}

#[test]
fn the_verdict_is_replayed_from_the_record_when_the_report_is_gone() {
    for messages in [vec![], vec![unused(2, 2)]] {
        let repo = under(ESLINT);
        report(&repo, "reports/eslint.json", eslint(&messages));
        judge(&repo).expect(i32::from(!messages.is_empty()));
        let run = repo.run_dir();
        std::fs::remove_dir_all(repo.path().join("reports")).unwrap();
        qa_skill(["verify"]).arg(&run.0).run().expect(0);
        qa_skill(["verify", "--repo"]).arg(repo.path()).arg(&run.0).run().expect(0);
    }
}

#[test]
fn the_place_of_the_checkout_changes_nothing() {
    let keys: Vec<Value> = (0..2)
        .map(|_| {
            let repo = under(ESLINT);
            let here = repo.path().canonicalize().unwrap();
            let text = eslint(&[unused(2, 2)]).replace("/github/workspace", here.to_str().unwrap());
            report(&repo, "reports/eslint.json", text);
            judge(&repo).expect(1);
            assert_eq!(repo.run_dir().findings(), ["lint/error src/a.js:2"]);
            repo.run_dir().json("trace.json")["executionKey"].clone()
        })
        .collect();
    assert_eq!(keys[0], keys[1]);
}

#[test]
fn another_report_is_another_key() {
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[]));
    judge(&repo).expect(0);
    let first = repo.run_dir().json("trace.json")["executionKey"].clone();
    std::fs::remove_dir_all(repo.run_dir().0).unwrap();
    report(&repo, "reports/eslint.json", eslint(&[unused(2, 2)]));
    judge(&repo).expect(1);
    assert_ne!(repo.run_dir().json("trace.json")["executionKey"], first);
}

#[test]
fn a_secret_that_a_test_prints_is_recorded_masked() {
    let secret = token();
    let failure = format!(r#"<failure message="refused">{secret}</failure>"#);
    let repo = under(PYTEST);
    report(&repo, "reports/junit.xml", junit(&[("logs in", &failure)]));
    let outcome = judge(&repo).expect(1);
    assert!(!outcome.text().contains(&secret));
    for entry in repo.run_dir().digests().keys() {
        let bytes = repo.run_dir().bytes(entry);
        assert!(!String::from_utf8_lossy(&bytes).contains(&secret), "{entry}");
    }
}

#[test]
fn a_report_that_masking_would_change_is_not_taken() {
    let mut message = unused(2, 1);
    message["meta"] = json!({token(): 1, other_token(): 2});
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[message]));
    judge(&repo).expect(3);
    assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", "GATE_REPORT_REFUSED"]);
}

#[test]
fn a_policy_that_no_report_could_satisfy_is_refused_with_the_way_out() {
    let gate = |reports: &str| format!("[gates.lint]\nreports = [{reports}]\n");
    for (policy, says) in [
        (gate(""), "neither names a report nor runs a tool"),
        (gate("{ path = \"../a.json\", tool = \"eslint\" }"), "not a path below the repository's root"),
        (gate("{ path = \"/tmp/a.json\", tool = \"eslint\" }"), "not a path below the repository's root"),
        (gate("{ path = \"a.json\", tool = \"eslnt\" }"), "did you mean `eslint`?"),
        (gate("{ path = \"a.json\", tool = \"pytest\" }"), "no tool of gate lint `pytest`"),
        (gate("{ path = \"a.json\", tool = \"eslint\", format = \"eslint\" }"), "no report format of eslint"),
        (
            gate("{ path = \"a\", tool = \"eslint\" }, { path = \"a\", tool = \"ruff\" }"),
            "names the report `a` twice",
        ),
        ("[gates.lnt]\nreports = []\n".to_owned(), "did you mean `lint`?"),
        ("[lenses.lint]\nrequired = true\n".to_owned(), "its settings are in [gates.lint]"),
    ] {
        let repo = under(&policy);
        let outcome = judge(&repo).expect(2);
        assert_eq!(outcome.code(), "POLICY_INVALID");
        assert!(outcome.stderr.contains(says), "{policy}: {}", outcome.stderr);
    }
}

#[test]
fn what_the_policy_turns_off_or_down_does_not_block() {
    for (strength, findings) in [("advise", 1), ("off", 0)] {
        let policy = format!("{ESLINT}[rules.\"lint/error\"]\nstrength = \"{strength}\"\n");
        let repo = under(&policy);
        report(&repo, "reports/eslint.json", eslint(&[unused(2, 2)]));
        judge(&repo).expect(0);
        assert_eq!(repo.run_dir().findings().len(), findings);
    }
}

#[test]
fn a_gate_is_softened_by_the_base_alone() {
    let repo = Repo::new();
    let softer = "[rules.\"lint/error\"]\nstrength = \"advise\"\n";
    repo.change(
        &Files::from_texts(&[(POLICY, ESLINT), ("src/a.js", "const a = 1;\n")]),
        &Files::from_texts(&[(POLICY, softer), ("src/a.js", "const a = 1;\nconst x = 2;\n")]),
    );
    report(&repo, "reports/eslint.json", eslint(&[unused(2, 2)]));
    judge(&repo).expect(1);
    let preview = &verdict(&repo)["policyPreview"];
    assert!(preview.to_string().contains("gates.lint"), "{preview}");
}

/// A SARIF report of one error in `src/a.js` that names a commit.
fn sarif(commit: &str) -> String {
    let place = json!({"physicalLocation": {
        "artifactLocation": {"uri": "src/a.js"}, "region": {"startLine": 2, "startColumn": 7}
    }});
    json!({
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "ESLint", "semanticVersion": "9.1.0", "rules": []}},
            "invocations": [{"executionSuccessful": true}],
            "artifacts": [{"location": {"uri": "src/a.js"}}],
            "versionControlProvenance": [{"repositoryUri": "https://example.com/a", "revisionId": commit}],
            "results": [{
                "ruleId": "no-unused-vars", "level": "error", "message": {"text": "x is not used"},
                "locations": [place]
            }]
        }]
    })
    .to_string()
}

fn commit(repo: &Repo, name: &str) -> String {
    repo.git.revparse_single(name).unwrap().id().to_string()
}

#[test]
fn a_report_about_the_base_that_names_another_commit_excuses_nothing_and_is_told() {
    let policy = "[gates.lint]\nreports = [{ path = \"reports/head.sarif\", tool = \"eslint\", format = \"sarif\", base = \"reports/base.sarif\" }]\n";
    for (named, exit, warnings) in [("main", 0, vec![]), ("topic", 1, vec![json!("GATE_REPORT_STALE")])] {
        let repo = under(policy);
        report(&repo, "reports/head.sarif", sarif(&commit(&repo, "topic")));
        report(&repo, "reports/base.sarif", sarif(&commit(&repo, named)));
        judge(&repo).expect(exit);
        let results = repo.run_dir().json("lens-results.json")["lensResults"].take();
        let lint = results.as_array().unwrap().iter().find(|result| result["lensId"] == "lint").unwrap();
        assert_eq!(lint["warningCodes"], json!(warnings), "{lint}");
        assert_eq!((&lint["status"], &lint["errorCodes"]), (&json!("completed"), &json!([])));
    }
    // What is said of the base may be as old as the base; of head it may not be of another commit.
    let repo = under(policy);
    report(&repo, "reports/head.sarif", sarif(&commit(&repo, "main")));
    judge(&repo).expect(3);
    assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", "GATE_REPORT_STALE"]);
}

#[test]
fn a_commit_that_is_dated_back_does_not_make_an_old_report_new() {
    const OLD: i64 = 1_000_000_000;
    let old = SystemTime::UNIX_EPOCH + Duration::from_secs(OLD.unsigned_abs() + 60);
    let repo = under(ESLINT);
    let base = repo.git.revparse_single("main").unwrap().id();
    let files = Files::from_texts(&[(POLICY, ESLINT), ("src/a.js", "const a = 1;\nconst x = 3;\n")]);
    repo.reference("refs/heads/topic", repo.commit_at(repo.tree(&files), &[base], OLD));
    report(&repo, "reports/eslint.json", eslint(&[]));
    let path = repo.path().join("reports/eslint.json");
    std::fs::File::options().append(true).open(&path).unwrap().set_modified(old).unwrap();
    judge(&repo).expect(3);
    assert_eq!(codes(&repo), ["LENS_REQUIRED_FAILED", "GATE_REPORT_STALE"]);
}

/// Returns the looks of gates at changed files, as `coverage.json` has them.
fn looks(repo: &Repo) -> Vec<String> {
    let coverage = repo.run_dir().json("coverage.json");
    let rows = coverage["rows"].as_array().unwrap().iter();
    rows.flat_map(|row| {
        let cells = row["gates"].as_array().unwrap().iter();
        cells
            .map(|cell| [&row["file"], &cell["gate"], &cell["look"]].map(|it| it.as_str().unwrap()).join(" "))
    })
    .collect()
}

#[test]
fn a_report_that_does_not_cover_a_changed_file_is_no_pass() {
    let elsewhere = eslint(&[]).replace("src/a.js", "src/b.js");
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", &elsewhere);
    let said = judge(&repo).expect(3);
    assert!(codes(&repo).contains(&"GATE_SCOPE_INCOMPLETE".to_owned()), "{:?}", codes(&repo));
    assert!(said.text().contains("no report covers src/a.js"), "{}", said.text());
    assert_eq!(looks(&repo), ["src/a.js lint omitted"]);
    repo.run_dir().verify().run().expect(0);

    // ESLint lists a file that it was given and ignored, with a warning.
    let ignored = json!({
        "ruleId": null, "fatal": false, "severity": 1, "nodeType": null,
        "message": "File ignored because of a matching ignore pattern. Use \"--no-ignore\" to override."
    });
    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[ignored]));
    judge(&repo).expect(3);

    let repo = under(&format!("{ESLINT}except = [\"src/*.js\"]\n"));
    report(&repo, "reports/eslint.json", &elsewhere);
    judge(&repo).expect(0);
    assert_eq!(looks(&repo), ["src/a.js lint excepted"]);

    let repo = under(ESLINT);
    report(&repo, "reports/eslint.json", eslint(&[]));
    judge(&repo).expect(0);
    assert_eq!(looks(&repo), ["src/a.js lint listed"]);
}

#[test]
fn a_list_of_files_of_tsc_has_to_have_the_changed_ones() {
    let policy = "[gates.type_check]\nreports = [{ path = \"reports/tsc.txt\", tool = \"tsc\" }]\n";
    for (listed, exit) in [("src/a.ts", 0), ("src/b.ts", 3), ("node_modules/src/a.ts", 3)] {
        let repo = Repo::new();
        let base = Files::from_texts(&[(POLICY, policy), ("src/a.ts", "export const a = 1;\n")]);
        let head = base.clone().with("src/a.ts", "export const a = 2;\n");
        repo.change(&base, &head);
        report(
            &repo,
            "reports/tsc.txt",
            format!("/github/workspace/{listed}\n/github/workspace/src/main.ts\n"),
        );
        judge(&repo).expect(exit);
    }
}

#[test]
fn what_a_report_without_a_list_covers_is_said_by_the_policy() {
    for (covers, exit, look) in [
        ("", 0, "app/a.py lint declared"),
        (", covers = [\"app/**\"]", 0, "app/a.py lint declared"),
        (", covers = [\"lib/**\"]", 3, "app/a.py lint omitted"),
    ] {
        let policy = format!(
            "[gates.lint]\nreports = [{{ path = \"reports/ruff.json\", tool = \"ruff\"{covers} }}]\n"
        );
        let repo = Repo::new();
        let base = Files::from_texts(&[(POLICY, policy.as_str()), ("app/a.py", "A = 1\n")]);
        let head = base.clone().with("app/a.py", "A = 2\n");
        repo.change(&base, &head);
        report(&repo, "reports/ruff.json", "[]");
        let said = judge(&repo).expect(exit);
        assert_eq!(looks(&repo), [look], "{covers}");
        if exit == 0 {
            let summary = String::from_utf8(repo.run_dir().bytes("summary.md")).unwrap();
            assert!(summary.contains("is only declared"), "{summary}\n{}", said.text());
        }
    }
}
