//! Bounds of the policy: what each leaves out or refuses, and what is recorded of a file that was not read line by line.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::server::Spoilt;
use crate::support::{Files, Outcome, Repo, Response, Server, answers, change, reviews, token};

const POLICY: &str = ".qa-skill/policy.toml";

/// Judges a change under a policy.
pub(crate) fn judge(policy: &str, base: &[(&str, &str)], head: &[(&str, &str)]) -> (Repo, Outcome) {
    let with = |files: &[(&str, &str)]| Files::from_texts(files).with(POLICY, policy);
    let repo = Repo::new();
    repo.change(&with(base), &with(head));
    let outcome = repo.judge().run();
    (repo, outcome)
}

fn warnings(repo: &Repo) -> Vec<Value> {
    repo.run_dir().json("final-verdict.json")["warningCodes"].as_array().unwrap().clone()
}

/// Returns a text of 40 lines with other words in some of them.
fn lines(changed: &[usize]) -> String {
    (1..=40)
        .map(|line| if changed.contains(&line) { "other\n".into() } else { format!("{line}\n") })
        .collect()
}

#[test]
fn a_bound_of_hunks_files_or_lines_leaves_the_rest_out_with_its_reason() {
    let bounds = [
        ("limits.max-files", 1, 2, "HARD_FILE_LIMIT", "DIFF_TOO_LARGE"),
        ("limits.max-hunks", 2, 3, "HARD_HUNK_LIMIT", "DIFF_TOO_LARGE"),
        ("limits.context.max-files", 1, 2, "FILE_LIMIT", "CONTEXT_BOUND_EXCEEDED"),
        ("limits.context.max-hunks", 2, 3, "HUNK_LIMIT", "CONTEXT_BOUND_EXCEEDED"),
        ("limits.context.max-changed-lines", 5, 6, "LINE_LIMIT", "CONTEXT_BOUND_EXCEEDED"),
    ];
    let (base, two, one) = (lines(&[]), lines(&[2, 30]), lines(&[7]));
    for (key, less, enough, reason, code) in bounds {
        for (number, exit) in [(less, 3), (enough, 0)] {
            let (repo, outcome) = judge(
                &format!("{key} = {number}\n"),
                &[("a.py", &base), ("b.py", &base)],
                &[("a.py", &two), ("b.py", &one)],
            );
            outcome.expect(exit);
            let plans = repo.run_dir().json("lens-plan.json")["lensPlans"].clone();
            let omitted =
                plans.as_array().unwrap().iter().flat_map(|plan| plan["omittedHunks"].as_array().unwrap());
            let reasons: std::collections::BTreeSet<_> =
                omitted.map(|hunk| hunk["reason"].as_str().unwrap()).collect();
            let errors = repo.run_dir().json("final-verdict.json")["errorCodes"].to_string();
            assert_eq!(
                reasons.into_iter().collect::<Vec<_>>(),
                [reason; 1][..usize::from(exit == 3)],
                "{key}"
            );
            assert_eq!(errors.contains(code), exit == 3, "{key} = {number}: {errors}");
        }
    }
}

#[test]
fn a_file_over_the_limit_of_a_line_diff_is_one_hunk_from_the_first_to_the_last_difference() {
    let (base, head) = (lines(&[]), lines(&[2, 30]));
    for (limit, hunks) in [(10, vec![json!(2)]), (1000, vec![json!(2), json!(30)])] {
        let policy = format!("limits.max-line-diff-bytes = {limit}\n");
        let (repo, outcome) = judge(&policy, &[("a.py", &base)], &[("a.py", &head)]);
        outcome.expect(0);
        let file = repo.run_dir().changed()["a.py"].clone();
        let starts: Vec<Value> =
            file["hunks"].as_array().unwrap().iter().map(|hunk| hunk["newStart"].clone()).collect();
        assert_eq!(starts, hunks);
        let coarse = hunks.len() == 1;
        assert_eq!(file["codes"], if coarse { json!(["COARSE_DIFF"]) } else { json!([]) });
        assert_eq!(warnings(&repo).contains(&json!("COARSE_DIFF")), coarse);
    }
}

#[test]
fn too_many_pairs_of_moved_files_are_not_compared_and_that_is_said() {
    let text = |word: &str| format!("{}{word}\n", lines(&[]));
    let (one, two) = (text("one"), text("two"));
    for (pairs, limited) in [(3, true), (4, false)] {
        let (repo, outcome) = judge(
            &format!("limits.max-rename-pairs = {pairs}\n"),
            &[("a.py", &one), ("b.py", &two)],
            &[("src/a.py", &format!("{one}more\n")), ("src/b.py", &format!("{two}more\n"))],
        );
        outcome.expect(0);
        let renames = repo.run_dir().json("change-set.json")["renames"].clone();
        let expected = if limited { [0, 4] } else { [2, 0] };
        assert_eq!(renames, json!({"exact": 0, "inexact": expected[0], "notCompared": expected[1]}));
        assert_eq!(warnings(&repo).contains(&json!("RENAME_DETECTION_LIMITED")), limited);
    }
}

#[test]
fn a_change_of_more_entries_than_the_policy_walks_is_refused() {
    let base: Vec<(String, &str)> = (0..20).map(|number| (format!("{number}.py"), "a = 1\n")).collect();
    let base: Vec<(&str, &str)> = base.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let head = [&base[..], &[("new.py", "a = 2\n")]].concat();
    let (_, outcome) = judge("limits.max-tree-entries = 30\n", &base, &head);
    outcome.expect_code(3, "TREE_MALFORMED");
    judge("limits.max-tree-entries = 60\n", &base, &head).1.expect(0);
}

#[test]
fn a_file_without_text_and_a_name_with_a_secret_say_so() {
    let (image, named) = ("image.bin", format!("{}.txt", token()));
    let repo =
        change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n"), (image, "\0\u{1}\0"), (&named, "text\n")]);
    // The name itself is a finding.
    repo.judge().run().expect(1);
    let changed = repo.run_dir().changed();
    assert_eq!(changed[image]["codes"], json!(["BINARY_CONTENT"]));
    assert!(warnings(&repo).contains(&json!("BINARY_CONTENT")));
    let masked = changed.iter().find(|(path, _)| path.ends_with(".txt")).unwrap();
    assert_eq!(masked.1["codes"], json!(["SECRET_IN_NAME"]));
    assert!(!masked.0.contains(&token()), "{}", masked.0);
}

/// The model holds each connection for longer than the run may take.
#[test]
fn near_the_deadline_a_run_judges_what_it_knows_and_never_passes() {
    let silent = Server::start(|_| Response::new(200, "").spoilt(Spoilt::Slow(Duration::from_secs(90))));
    let optional = "required = false\n[limits]\ndeadline-seconds = 25\n";
    let policy =
        format!("mode = \"best_effort\"\n{}", reviews::reviewing(answers::CHAT, &silent.url(), optional));
    let faulty = "import db\n<<<<<<< HEAD\n";
    // Both at once, since each of them waits until its time is nearly over.
    let cases = [(reviews::FAULT, 3), (faulty, 1)].map(|(text, exit)| {
        let repo = reviews::repository(&policy, &[("app.py", text)]);
        std::thread::spawn(move || {
            let outcome = reviews::run(&repo).run().expect(exit);
            (repo, outcome)
        })
    });
    for case in cases {
        let (repo, outcome) = case.join().unwrap();
        let run = reviews::only(&repo);
        assert_eq!(reviews::result(&run)["errorCodes"], json!(["RUN_DEADLINE_NEAR"]));
        assert!(outcome.stderr.contains("the end of the 25 s of this run is near"), "{}", outcome.stderr);
        assert!(outcome.text().contains("RUN_DEADLINE_NEAR"), "{}", outcome.text());
        run.verify().run().expect(0);
    }
}
