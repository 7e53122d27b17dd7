//! Reports in formats of many writers: what each may hide, from an imported report with and without its record.

use crate::support::{Files, Repo, qa_skill};

/// A gate with one report, whose writer is known by its format alone or is a tool of the table.
struct Import {
    gate: &'static str,
    tool: &'static str,
    report: &'static str,
}

const ESLINT: Import =
    Import { gate: "lint", tool: "tool = \"eslint\", format = \"sarif\"", report: "r.sarif" };
const JUNIT: Import = Import { gate: "unit_tests", tool: "tool = \"junit\", name = \"x\"", report: "r.xml" };
const TAP: Import = Import { gate: "unit_tests", tool: "tool = \"tap\", name = \"x\"", report: "r.tap" };

impl Import {
    /// Judges a report that an earlier step left; with `is_recorded`, by a command that ends with status 0.
    fn check(&self, text: &str, is_recorded: bool, expected: i32, said: &str) {
        let policy = format!(
            "[gates.{}]\nreports = [{{ path = {:?}, covers = [\"src/**\"], {} }}]\n",
            self.gate, self.report, self.tool
        );
        let policy = if self.gate == "lint" { policy } else { policy.replace("covers = [\"src/**\"], ", "") };
        let repo = Repo::new();
        let base = Files::from_texts(&[(".qa-skill/policy.toml", &policy), ("src/a.js", "const a = 1;\n")]);
        repo.change(&base, &base.clone().with("src/a.js", "const a = 2;\n"));
        std::fs::create_dir(repo.path().join(".qa-skill")).unwrap();
        std::fs::write(repo.path().join(".qa-skill/policy.toml"), &policy).unwrap();
        let head = repo.git.revparse_single("topic").unwrap().id().to_string();
        let main = repo.git.revparse_single("main").unwrap().id().to_string();
        let text = text.replace("HEAD", &head).replace("BASE", &main);
        if is_recorded {
            std::fs::write(repo.path().join("written"), &text).unwrap();
            let command = ["record", "--gate", self.gate, "--", "cp", "written", self.report];
            qa_skill(command).within(&repo.path()).run().expect(0);
        } else {
            std::fs::write(repo.path().join(self.report), &text).unwrap();
        }
        let outcome = repo.judge().run();
        assert_eq!(outcome.exit, expected, "{text}: {}", outcome.text());
        assert!(outcome.text().contains(said), "{said}: {}", outcome.text());
    }
}

/// SARIF of one run with its members.
fn sarif(members: &str) -> String {
    let extension = r#"{"name":"plugin","rules":[{"id":"P1","defaultConfiguration":{"level":"error"}}]}"#;
    let driver = r#"{"name":"ESLint","rules":[{"id":"W1"}]}"#;
    format!(
        r#"{{"version":"2.1.0","runs":[{{"tool":{{"driver":{driver},"extensions":[{extension}]}},{members}}}]}}"#
    )
}

#[test]
fn the_level_of_a_result_of_sarif_is_where_its_rule_is() {
    let result = |reference: &str| {
        let place =
            r#"{"physicalLocation":{"artifactLocation":{"uri":"src/a.js"},"region":{"startLine":1}}}"#;
        sarif(&format!(
            r#""results":[{{"message":{{"text":"no such thing"}},"locations":[{place}],{reference}}}]"#
        ))
    };
    ESLINT.check(&result(r#""ruleId":"W1""#), false, 0, "no such thing");
    let extension = r#""ruleId":"P1","ruleIndex":0,"rule":{"toolComponent":{"index":0}}"#;
    ESLINT.check(&result(extension), false, 1, "no such thing");
    ESLINT.check(&result(r#""ruleId":"unknown""#), false, 1, "no such thing");
    ESLINT.check(&result(r#""ruleId":"W1","severity":"error""#), false, 3, "`severity`");
}

#[test]
fn a_doubt_about_the_end_of_a_tool_is_lifted_by_its_record() {
    let ended = |invocation: &str| {
        sarif(&format!(r#""results":[],"invocations":[{{"executionSuccessful":true,{invocation}}}]"#))
    };
    let of_status = ended(r#""exitCode":2"#);
    ESLINT.check(&ended(r#""exitCode":0"#), false, 0, "");
    ESLINT.check(&of_status, false, 3, "`exitCode` 2");
    ESLINT.check(&of_status, true, 0, "");
    let error =
        r#""toolConfigurationNotifications":[{"level":"error","message":{"text":"no such plug-in"}}]"#;
    ESLINT.check(&ended(error), true, 3, "no such plug-in");
    ESLINT.check(&ended(r#""exitSignalName":"SIGKILL""#), true, 3, "exitSignalName");
}

#[test]
fn a_report_of_two_commits_is_of_none() {
    let of = |revisions: &str| sarif(&format!(r#""results":[],"versionControlProvenance":[{revisions}]"#));
    ESLINT.check(&of(r#"{"revisionId":"HEAD"},{"revisionId":"HEAD"}"#), false, 0, "");
    ESLINT.check(&of(r#"{"revisionId":"HEAD"},{"revisionId":"BASE"}"#), false, 3, "two commits");
    ESLINT.check(&of(r#"{"revisionId":"main"}"#), false, 3, "no full id");
    let suites = |second: &str| {
        let suite = |commit: &str| {
            format!(
                r#"<testsuite name="s"><properties><property name="commit" value="{commit}"/></properties><testcase name="a"/></testsuite>"#
            )
        };
        format!("<testsuites>{}{}</testsuites>", suite("HEAD"), suite(second))
    };
    JUNIT.check(&suites("HEAD"), true, 0, "");
    JUNIT.check(&suites("BASE"), true, 3, "two commits");
}

#[test]
fn a_word_of_junit_that_nobody_knows_is_no_pass() {
    let case =
        |inside: &str| format!(r#"<testsuite><testcase name="a"/><testcase name="b" {inside}</testsuite>"#);
    JUNIT.check(&case(r#"status="run" result="completed"/>"#), true, 0, "");
    JUNIT.check(&case(r#"status="run" result="crashed"/>"#), true, 1, "crashed");
    JUNIT.check(&case("><rerunFailure message=\"again\"/></testcase>"), true, 1, "again");
    JUNIT.check(&case("><outcome><failure/></outcome></testcase>"), true, 3, "outcome");
}

#[test]
fn a_file_or_suite_without_tests_of_node_shows_nothing() {
    let file = "# Subtest: empty.test.mjs\nok 1 - empty.test.mjs\n  ---\n  duration_ms: 179.408711\n  type: 'test'\n  ...\n1..1\n";
    let suite = "ok 1 - no tests\n  ---\n  duration_ms: 0.704264\n  type: 'suite'\n  ...\n1..1\n";
    let banner = "\n> demo@1.0.0 test\n> node --test --test-reporter=tap\n\n";
    for empty in [file, suite] {
        TAP.check(&format!("{banner}TAP version 13\n{empty}"), true, 3, "no test ran");
    }
    TAP.check(&format!("{banner}TAP version 13\nok 1 - adds\n1..1\n"), true, 0, "");
}

#[test]
fn a_name_of_bats_that_looks_like_a_directive_excuses_nothing() {
    let failed = "# (in test file a.bats, line 1)\n#   `false' failed\n";
    TAP.check(
        &format!("1..2\nok 1 adds\nnot ok 2 counts # todo items\n{failed}"),
        true,
        1,
        "counts # todo items",
    );
    TAP.check("1..2\nok 1 adds\nnot ok 2 later # TODO not yet\n", true, 0, "");
}
