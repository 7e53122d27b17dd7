//! Faults of the base excuse the same faults of head, and nothing beside them: no other exit status, no other file, and
//! no fault that a report only counts.

use serde_json::{Value, json};

use crate::gates_command::{COMMAND, EXECUTION, Scene, leaves, suite};
use crate::support::{Files, Outcome, Repo, qa_skill};

const HEAD: &str = "reports/head.xml";
const BASE: &str = "reports/base.xml";

fn summary(repo: &Repo) -> String {
    String::from_utf8(repo.run_dir().bytes("summary.md")).unwrap()
}

#[test]
fn a_command_that_ends_with_another_status_than_at_the_base_fails() {
    let policy = format!("{EXECUTION}\n{COMMAND}");
    let bad = suite("one", &[("adds", false)]);
    let ends = |status| leaves(&[("1.xml", &bad)], status);
    for (before, after, exit) in [(1, 1, 0), (3, 3, 0), (1, 3, 1), (3, 1, 1), (0, 1, 1), (1, 0, 0)] {
        let Some(scene) = Scene::new(&policy, &ends(before), &ends(after)) else { return };
        let text = scene.judge().expect(exit).text();
        if exit == 1 {
            let expected =
                format!("its command ended with status {after}, and that of the base with status {before}");
            assert!(text.contains(&expected), "{text}");
            assert!(
                scene
                    .repo
                    .run_dir()
                    .findings()
                    .contains(&"unit_tests/error .qa-skill/policy.toml:1".to_owned())
            );
        }
    }
    // The faults of a command that broke are kept beside the reason for which it has no result, and the base, which
    // broke likewise, excuses none.
    let scene = Scene::new(&policy, &ends(127), &ends(127)).unwrap();
    let text = scene.judge().text();
    assert!(scene.verdict("errorCodes").to_string().contains("EXECUTION_EXIT_NONZERO"), "{text}");
    assert!(scene.repo.run_dir().findings().contains(&"unit_tests/failure src/a.kt:2".to_owned()), "{text}");
    assert_ne!(scene.verdict("conclusion"), json!("pass"));
    let attempts = scene.commands().iter().filter(|it| it["ordinal"] == 0).count();
    assert_eq!(attempts, 1, "a command that broke is not tried again");
}

/// A change with a checkout, judged by reports of head and base.
fn reported(tool: &str, gate: &str) -> Repo {
    let policy =
        format!("[gates.{gate}]\nreports = [{{ path = \"{HEAD}\", tool = {tool}, base = \"{BASE}\" }}]\n");
    let repo = Repo::new();
    let base = Files::from_texts(&[(".qa-skill/policy.toml", policy.as_str()), ("src/a.kt", "a = 1\n")]);
    repo.change(&base, &base.clone().with("src/a.kt", "a = 2\n"));
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    repo
}

/// Writes a report, by `qa-skill record` where its command's status is recorded.
fn write(repo: &Repo, gate: &str, path: &str, report: &str, status: Option<i32>) {
    let Some(status) = status else { return std::fs::write(repo.path().join(path), report).unwrap() };
    std::fs::write(repo.path().join("report"), report).unwrap();
    let script = format!("cp report {path}; exit {status}");
    let step = qa_skill(["record", "--gate", gate, "--report", path, "--", "sh", "-c", &script]);
    Outcome::from_output(&step.within(&repo.path()).bare_command().output().unwrap()).expect(status);
}

#[test]
fn an_imported_report_is_excused_with_the_status_of_its_command() {
    let bad = suite("one", &[("adds", false)]);
    let unknown = "the exit status at the base is not recorded";
    let other = "its command ended with status 3, and that of the base with status 1";
    for (tool, head, base, exit, said) in [
        ("\"junit\", name = \"runner\"", Some(1), Some(1), 0, ""),
        ("\"junit\", name = \"runner\"", Some(3), Some(1), 1, other),
        ("\"junit\", name = \"runner\"", Some(1), None, 1, unknown),
        // The failures that are shown may stand beside one that is not.
        ("\"junit\", name = \"runner\"", None, Some(1), 1, "junit does not show every failure of runner"),
        ("\"vitest\", format = \"junit\"", None, None, 1, "junit does not show every failure of vitest"),
        // The policy says that the status does not matter.
        ("\"junit\", name = \"runner\", record = \"optional\"", None, None, 0, ""),
        // Vitest has one status for failures, with which it ended at the base as well.
        ("\"vitest\", format = \"junit\"", Some(1), None, 0, ""),
        // pytest has two.
        ("\"pytest\"", Some(1), None, 1, unknown),
        ("\"pytest\"", Some(1), Some(1), 0, ""),
    ] {
        let repo = reported(tool, "unit_tests");
        write(&repo, "unit_tests", BASE, &bad, base);
        write(&repo, "unit_tests", HEAD, &bad, head);
        let text = repo.judge().run().expect(exit).text();
        let all = format!("{text}{}", summary(&repo));
        assert!(all.contains(said), "{tool} {head:?} {base:?}: {all}");
        repo.run_dir().verify().run().expect(0);
    }
}

/// Checkstyle's report of one fault at each place.
fn checkstyle(places: &[(&str, u32)]) -> String {
    let files: String = places
        .iter()
        .map(|(file, line)| {
            format!("<file name=\"{file}\"><error line=\"{line}\" severity=\"error\" message=\"no\" source=\"R1\"/></file>")
        })
        .collect();
    format!("<checkstyle version=\"1\">{files}</checkstyle>")
}

#[test]
fn a_fault_of_a_file_in_a_container_excuses_none_of_another_and_each_once() {
    let lint = "\"checkstyle\", name = \"kt.lint\", covers = [\"src/**\"], record = \"optional\"";
    let (one, other) = ("/app/src/a.kt", "/app/src/b.kt");
    for (base, head, exit) in [
        (&[(one, 1)][..], &[(one, 2)][..], 0),
        (&[(one, 1)], &[(other, 1)], 1),
        (&[(one, 1)], &[(one, 1), (one, 2)], 1),
        (&[(one, 1)], &[(one, 1), (other, 1)], 1),
        (&[(one, 1), (other, 1)], &[(one, 1), (other, 1)], 0),
    ] {
        let repo = reported(lint, "lint");
        write(&repo, "lint", BASE, &checkstyle(base), None);
        write(&repo, "lint", HEAD, &checkstyle(head), None);
        let text = repo.judge().run().expect(exit).text();
        assert!(
            exit == 0 || text.contains(&format!("kt.lint: {}: R1: no", head.last().unwrap().0)),
            "{text}"
        );
    }
}

#[test]
fn a_test_of_a_file_in_a_container_excuses_none_of_another_file() {
    let case = |file: &str, passes: bool| {
        let inside = if passes { "" } else { "<failure message=\"no\"/>" };
        format!("<testcase name=\"adds\" file=\"{file}\">{inside}</testcase>")
    };
    let both = |first, second| {
        let cases = [case("/app/a.test.ts", first), case("/app/b.test.ts", second)];
        format!("<testsuite name=\"sums\">{}</testsuite>", cases.concat())
    };
    for (head, exit) in [(both(false, true), 0), (both(true, false), 1), (both(false, false), 1)] {
        let repo = reported("\"junit\", name = \"runner\", record = \"optional\"", "unit_tests");
        write(&repo, "unit_tests", BASE, &both(false, true), None);
        write(&repo, "unit_tests", HEAD, &head, None);
        repo.judge().run().expect(exit);
    }
}

#[test]
fn faults_that_a_suite_only_counts_are_not_excused() {
    let counted = |count: u32| {
        format!("<testsuite name=\"one\" errors=\"{count}\"><testcase name=\"adds\"/></testsuite>")
    };
    for count in [1, 5] {
        let repo = reported("\"junit\", name = \"runner\", record = \"optional\"", "unit_tests");
        write(&repo, "unit_tests", BASE, &counted(1), None);
        write(&repo, "unit_tests", HEAD, &counted(count), None);
        let text = repo.judge().run().expect(1).text();
        assert!(text.contains("more faults than it shows"), "{text}");
        assert!(summary(&repo).contains("so nothing of it is excused by the base"), "{}", summary(&repo));
    }
}

/// The record of a report, changed by hand.
fn edit(repo: &Repo, path: &str, change: impl FnOnce(&mut Value)) {
    let path = repo.path().join(format!("{path}.record.json"));
    let mut record: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut record);
    std::fs::write(&path, record.to_string()).unwrap();
}

#[test]
fn a_record_of_a_merge_is_of_head_only_where_it_is_the_merge_into_the_base() {
    let policy = format!("[gates.unit_tests]\nreports = [{{ path = \"{HEAD}\", tool = \"pytest\" }}]\n");
    let files = Files::from_texts(&[(".qa-skill/policy.toml", policy.as_str()), ("a.py", "a = 1\n")]);
    let repo = Repo::new();
    let start = repo.commit(repo.tree(&files), &[]);
    let main = repo.commit(repo.tree(&files.clone().with("b.py", "b = 1\n")), &[start]);
    let other = repo.commit(repo.tree(&files.clone().with("c.py", "c = 1\n")), &[start]);
    let topic = repo.commit(repo.tree(&files.clone().with("a.py", "a = 2\n")), &[start]);
    repo.reference("refs/heads/main", main);
    repo.reference("refs/heads/topic", topic);
    std::fs::create_dir(repo.path().join("reports")).unwrap();
    write(&repo, "unit_tests", HEAD, &suite("one", &[("adds", true)]), Some(0));
    let merged = files.clone().with("a.py", "a = 2\n").with("b.py", "b = 1\n");
    let tree = repo.tree(&merged);
    let with_another = repo.tree(&merged.clone().with("tests.py", "weaker\n"));
    for (parents, tree, exit) in [
        (vec![main, topic], tree, 0),
        // Another tree than the merge has, another branch, the other way round, and a commit that is no merge.
        (vec![main, topic], with_another, 3),
        (vec![other, topic], tree, 3),
        (vec![topic, main], tree, 3),
        (vec![main, topic, other], tree, 3),
        (vec![topic], tree, 3),
    ] {
        edit(&repo, HEAD, |record| {
            record["head"] = json!("1".repeat(40));
            record["parents"] = parents.iter().map(ToString::to_string).collect();
            record["tree"] = json!(tree.to_string());
        });
        let text = repo.judge().arg("--refresh").run().expect(exit).text();
        assert!(exit == 0 || text.contains("is about another commit"), "{parents:?}: {text}");
    }
}
