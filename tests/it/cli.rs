//! The command line: what goes to which stream, which exit codes, and that no one else's text gets through raw.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::support::tamper;
use crate::support::{
    Files, Outcome, Repo, change, conflict, formats, git, qa_skill, rendered_files, runs_in, temp, token,
};

fn judged() -> Repo {
    change(&[("a.py", "a = 1\n")], &[("a.py", &conflict())])
}

#[test]
fn help_and_version_go_to_standard_output_with_exit_0() {
    for arguments in [vec!["--help"], vec!["-h"], vec!["help"], vec!["run", "--help"], vec!["help", "verify"]]
    {
        let outcome = qa_skill(&arguments).run().expect(0);
        assert!(outcome.text().contains("Usage: qa-skill") && outcome.stderr.is_empty(), "{arguments:?}");
    }
    let outcome = qa_skill(["--version"]).run().expect(0);
    let version = outcome.text();
    let sources = version
        .trim_end()
        .strip_prefix(concat!("qa-skill ", env!("CARGO_PKG_VERSION"), " (sources "))
        .unwrap();
    assert_eq!(sources.trim_end_matches(')').len(), 64, "{version}");
}

#[test]
fn a_wrong_command_line_is_exit_2_and_says_nothing_on_standard_output() {
    let cases: &[&[&str]] = &[
        &[],
        &["rum"],
        &["run", "--bse", "main"],
        &["run", "--base"],
        &["run", "--base", "a", "--base", "b"],
        &["run", "--jobs", "0"],
        &["run", "--jobs", "65"],
        &["run", "--jobs", "many"],
        &["run", "--mode", "lax"],
        &["run", "--preset", "none"],
        &["run", "--format", "yaml"],
        &["run", "--format", "json="],
        &["run", "--format", "sarif", "--format", "sarif"],
        &["run", "--color", "sometimes"],
        &["run", "extra"],
        &["plan", "--format", "sarif"],
        &["verify"],
        &["explain"],
        &["schema", "nothing"],
        &["completions", "tcsh"],
    ];
    for arguments in cases {
        let outcome = qa_skill(*arguments).run().expect(2);
        assert!(outcome.stdout.is_empty() && !outcome.stderr.is_empty(), "{arguments:?}");
    }
}

/// Programs that ask for JSON get the error as JSON, beside its text for people.
#[test]
fn a_failure_of_a_command_that_prints_json_is_json() {
    let stored = judged();
    stored.judge().run().expect(1);
    let empty = Repo::new();
    let outside = empty.path();
    for (arguments, code, exit) in [
        (&["run", "--format", "json", "--format", "sarif"][..], Value::Null, 2),
        (&["run", "--format=json", "--bse", "main"], Value::Null, 2),
        (&["run", "--base", "nope", "--format", "json"], "BASE_REF_RESOLUTION_FAILED".into(), 3),
        (&["plan", "--base", "nope", "--format", "json"], "BASE_REF_RESOLUTION_FAILED".into(), 3),
        (&["drift-check", "--format", "json", "/nowhere"], Value::Null, 2),
    ] {
        let outcome = qa_skill(arguments).within(&outside).run().expect(exit);
        let error = outcome.json();
        assert_eq!((&error["code"], &error["exitCode"]), (&code, &exit.into()), "{arguments:?}: {error}");
        assert_eq!(error["schemaVersion"], "error.v1");
        assert!(outcome.stderr.contains(error["message"].as_str().unwrap()), "{arguments:?}: {error}");
    }
    // A report that was printed is the document, whatever comes after it.
    tamper(&stored.run_dir(), "final-verdict.json", "/degraded", true.into());
    let drift = qa_skill(["drift-check", "--format", "json"]).arg(&stored.run_dir().0).run();
    assert!(drift.exit > 1 && drift.json()["runs"].is_array(), "{}", drift.text());
}

/// `line:column` of the finding of a rule in `a.py`, as `head` has it, in each output that has places.
fn places(repo: &Repo, head: &str, rule: &str) -> Vec<(&'static str, String)> {
    let path = |format: &str| repo.beside(format);
    let judge = formats().into_iter().fold(repo.judge(), |judge, format| {
        judge.arg("--format").arg(format!("{format}={}", path(format).display()))
    });
    judge.run().expect(1);
    let mut found = Vec::new();
    for format in formats() {
        let text = std::fs::read_to_string(path(format)).unwrap();
        let json = || serde_json::from_str::<Value>(&text).unwrap();
        let place = match format {
            "json" => {
                let results = json()["lensResults"].clone();
                let all =
                    results.as_array().unwrap().iter().flat_map(|each| each["findings"].as_array().unwrap());
                let finding = all.into_iter().find(|finding| finding["ruleId"] == rule).unwrap();
                format!("{}:{}", finding["startLine"], finding["evidence"]["startColumn"])
            }
            "sarif" => {
                let run = json()["runs"][0].clone();
                assert_eq!(run["columnKind"], "unicodeCodePoints");
                let all = run["results"].as_array().unwrap();
                let result = all.iter().find(|result| result["ruleId"] == rule).unwrap();
                let region = &result["locations"][0]["physicalLocation"]["region"];
                format!("{}:{}", region["startLine"], region["startColumn"])
            }
            "github" => {
                let line = text.lines().find(|line| line.contains(rule)).unwrap();
                let number =
                    |name: &str| line.split([',', ' ', ':']).find_map(|part| part.strip_prefix(name));
                format!("{}:{}", number("line=").unwrap(), number("col=").unwrap())
            }
            "rdjson" => {
                let document = json();
                let mut all = document["diagnostics"].as_array().unwrap().iter();
                let found = all.find(|each| each["code"]["value"] == rule).unwrap();
                let start = &found["location"]["range"]["start"];
                let (line, column) = (start["line"].as_u64().unwrap(), start["column"].as_u64().unwrap());
                let text = head.lines().nth(line as usize - 1).unwrap();
                // Its columns count bytes.
                format!("{line}:{}", text[..column as usize - 1].chars().count() + 1)
            }
            "gitlab" => {
                let issues = json();
                let mut all = issues.as_array().unwrap().iter();
                let found = all.find(|each| each["check_name"] == rule).unwrap();
                found["location"]["lines"]["begin"].to_string()
            }
            // Any other format has the place as text.
            _ => {
                let after = text.find(rule).map(|at| &text[at..]).unwrap();
                let place = after.split("a.py:").nth(1).or(text.split("a.py:").nth(1)).unwrap();
                place.chars().take_while(|each| each.is_ascii_digit() || *each == ':').collect()
            }
        };
        found.push((format, place.trim_end_matches(':').to_owned()));
    }
    found
}

#[test]
fn every_output_has_the_line_and_the_column_that_an_editor_opens() {
    let rule = "dangerous-call/tls-verification-off";
    let call = "requests.get(u, verify=False)\n";
    // Characters before the argument, a tab being one.
    let before =
        ["", "\t", "\t\t", "x\t=\t", "x = '漢字', ", "x = '😀', ", "x = 'e\u{301}', ", "x = '<&>', "];
    let long = format!("x = '{}', ", "a b ".repeat(200));
    for before in before.iter().copied().chain([long.as_str()]) {
        let line = format!("{before}{call}");
        let opening = if before.starts_with('\t') { "if True:\n" } else { "\n" };
        let head = format!("import requests\n{opening}{line}");
        let repo = change(&[("a.py", "import requests\n")], &[("a.py", &head)]);
        let column = line.split("verify").next().unwrap().chars().count() + 1;
        for (format, place) in places(&repo, &head, rule) {
            // GitLab has lines alone.
            let expected = if format == "gitlab" { "3".to_owned() } else { format!("3:{column}") };
            assert_eq!(place, expected, "{format} {before:?}");
        }
    }
}

#[test]
fn json_on_standard_output_is_the_stored_result_and_nothing_else() {
    let repo = judged();
    let outcome = repo.judge().args(["--format", "json"]).run().expect(1);
    assert_eq!(outcome.stdout, repo.run_dir().bytes("skill-result.json"));
    assert_eq!(outcome.stderr, "");
}

#[test]
fn every_format_goes_to_its_file_and_one_to_standard_output() {
    let repo = judged();
    let directory = temp();
    let place = |format: &str| directory.path().join(format);
    let all = formats().into_iter().fold(repo.judge(), |program, format| {
        program.arg("--format").arg(format!("{format}={}", place(format).display()))
    });
    let outcome = all.args(["--format", "json"]).run().expect(1);
    let run = repo.run_dir();
    assert_eq!(outcome.stdout, run.bytes("skill-result.json"));
    for (format, file) in rendered_files().into_iter().chain([("json", "skill-result.json")]) {
        assert_eq!(std::fs::read(place(format)).unwrap(), run.bytes(file), "{format}");
    }
    for format in formats() {
        let text = std::fs::read_to_string(place(format)).unwrap();
        assert!(text.contains("conflict"), "{format}: {text}");
    }
    let nowhere = format!("html={}", directory.path().join("no/such/place").display());
    repo.judge().args(["--format", &nowhere]).run().expect(2);
}

#[test]
fn a_report_of_an_earlier_run_does_not_stay_where_a_run_has_none() {
    let repo = judged();
    let directory = temp();
    let report = directory.path().join("issues.json");
    let format = format!("gitlab={}", report.display());
    repo.judge().args(["--format", &format]).run().expect(1);
    assert!(report.is_file());
    qa_skill(["run", "--base", "nope", "--format", &format, "--repo"]).arg(repo.path()).run().expect(3);
    assert!(!report.exists());
}

#[test]
fn a_plan_is_the_one_a_run_would_follow_and_always_the_same_bytes() {
    let repo = judged();
    let plan = || qa_skill(["plan", "--base", "main", "--repo"]).arg(repo.path());
    let table = plan().run().expect(0).text();
    assert!(table.contains("execution key") && table.contains("merge-leftover"), "{table}");
    assert!(table.contains("\nLENS_NOT_APPLICABLE  "), "{table}");
    let rows =
        table.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit() || first == '#'));
    assert!(rows.clone().count() > 20 && rows.clone().all(|row| row.len() <= 80), "{table}");
    repo.judge().run().expect(1);
    let stored = repo.run_dir().bytes("lens-plan.json");
    for _ in 0..5 {
        assert_eq!(plan().args(["--format", "json"]).run().expect(0).stdout, stored);
    }
    assert!(table.contains(repo.run_dir().0.file_name().unwrap().to_str().unwrap()));
    assert!(!repo.path().join(".qa-skill").exists(), "planning writes nothing");
}

#[test]
fn policy_check_shows_what_is_in_force_and_what_is_wrong_with_a_file() {
    let repo = change(
        &[("a", "a\n"), (".qa-skill/policy.toml", "preset = \"guarded\"\n")],
        &[("a", "b\n"), (".qa-skill/policy.toml", "preset = \"advisory\"\n")],
    );
    let check = || qa_skill(["policy-check", "--base", "main", "--repo"]).arg(repo.path());
    let text = check().run().expect(0).text();
    let preset = text.lines().find(|line| line.starts_with("preset")).unwrap();
    assert_eq!(preset.split_whitespace().collect::<Vec<_>>(), ["preset", "guarded", "policy"]);
    let short = text.lines().count();
    let all = check().arg("--all").run().expect(0).text();
    assert!(short < 15 && all.lines().count() > 250, "{short}: {text}");
    assert!(all.contains("limits.max-files") && !text.contains("limits.max-files"), "{text}");
    assert!(
        text.contains("\nEverything else is as the preset `guarded` has it; --all lists it.\n"),
        "{text}"
    );
    let file = repo.beside("draft.toml");
    std::fs::write(&file, "mode = \"strict\"\nblocking-polcy = \"mixed\"\n").unwrap();
    let check = |file: &Path| qa_skill(["policy-check", "--file"]).arg(file);
    let outcome = check(&file).run().expect_code(2, "POLICY_INVALID");
    assert!(
        outcome.stderr.contains("line 2") && outcome.stderr.contains("did you mean `blocking-policy`?"),
        "{}",
        outcome.stderr
    );
    std::fs::write(&file, "[scopes]\ntest = [\"a[\"]\n").unwrap();
    let outcome = check(&file).run().expect_code(2, "POLICY_INVALID");
    assert!(outcome.stderr.contains("draft.toml:2:9: glob \"a[\": "), "{}", outcome.stderr);
    std::fs::write(&file, "mode = \"best_effort\"\n").unwrap();
    assert!(check(&file).run().expect(0).text().contains("best_effort"));
    check(Path::new("/does/not/exist")).run().expect_code(2, "POLICY_INVALID");
    let waivers = repo.beside("waivers.toml");
    let hash = "ab".repeat(32);
    let entry = |owner: &str| {
        format!(
            "[[waiver]]\nrule = \"secret-token/provider-token\"\nevidence-hash = \"{hash}\"\n\
             owner = \"{owner}\"\nreason = \"a sample\"\nexpires = 2099-01-31\n"
        )
    };
    std::fs::write(&waivers, entry("alice")).unwrap();
    let text = check(&waivers).run().expect(0).text();
    assert!(text.contains("1 waiver") && text.contains("until 2099-01-31, by alice: a sample"), "{text}");
    assert!(!text.contains("has passed"), "{text}");
    std::fs::write(&waivers, entry("alice").replace("2099", "2020")).unwrap();
    let text = check(&waivers).run().expect(0).text();
    assert!(text.contains("until 2020-01-31 (this date has passed: "), "{text}");
    std::fs::write(&waivers, entry("person or team")).unwrap();
    let refused = check(&waivers).run().expect_code(2, "POLICY_INVALID");
    assert!(refused.stderr.contains("line 4: replace `person or team`"), "{}", refused.stderr);
}

#[test]
fn a_range_of_git_and_a_value_with_a_hyphen_lead_to_the_options() {
    let range = qa_skill(["run", "main..HEAD"]).run().expect(2);
    assert!(range.stderr.contains("--base main --head HEAD"), "{}", range.stderr);
    let value = qa_skill(["run", "--base", "-x"]).run().expect(2);
    assert!(value.stderr.contains("--base=-x"), "{}", value.stderr);
}

#[test]
fn policy_check_lists_what_the_policy_changes_and_how_the_working_tree_differs() {
    let strict = "preset = \"guarded\"\n[rules.\"secret-token/generic-credential\".scopes]\ntest = \"off\"\n\
                  [lenses.trojan-source]\nignore = [\"locales/**\"]\n";
    let repo = change(&[("a", "a\n"), (".qa-skill/policy.toml", strict)], &[("a", "b\n")]);
    let check =
        || qa_skill(["policy-check", "--base", "main", "--repo"]).arg(repo.path()).run().expect(0).text();
    let text = check();
    let starts = |text: &str, word: &str| text.lines().filter(|line| line.starts_with(word)).count();
    assert_eq!([starts(&text, "trojan-source "), starts(&text, "secret-token/")], [1, 1], "{text}");
    assert_eq!(starts(&text, "merge-leftover"), 0, "{text}");
    // The checkout of this repository has no file at all.
    let gone = "\nThe working tree has no .qa-skill/policy.toml. The one of the base stays in force until its removal is merged.\n";
    assert!(text.ends_with(gone), "{text}");
    let file = repo.path().join(".qa-skill/policy.toml");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    for (draft, end) in [
        (strict.to_owned(), "has it; --all lists it.\n"),
        (format!("# Ours.\n{strict}"), "has it; --all lists it.\n"),
        (
            strict.replace("test = \"off\"", "test = \"off\"\ndocs = \"off\"")
                + "[limits]\ndeadline-seconds = 900\n",
            "is not the one in force: it is once it is on the base branch.\n\
             2 settings would change, 1 of them weakened:\n  \
             limits.deadline-seconds: 1200 -> 900\n  \
             rules.secret-token/generic-credential: @@OLD@@ -> @@NEW@@\n",
        ),
        (format!("presett = 1\n{strict}"), "did you mean `preset`?\n"),
    ] {
        std::fs::write(&file, &draft).unwrap();
        let text = check();
        let words =
            |docs: &str| format!("product block, test off, docs {docs}, generated block, vendored advise");
        let end = end.replace("@@OLD@@", &words("advise")).replace("@@NEW@@", &words("off"));
        assert!(text.ends_with(&end), "{draft}\n{end}\n{text}");
    }
}

#[test]
fn every_listed_schema_is_printed_as_json() {
    let names = qa_skill(["schema"]).run().expect(0).text();
    assert!(names.lines().count() > 15, "{names}");
    for name in names.lines() {
        let document: Value = qa_skill(["schema", name]).run().expect(0).json();
        assert!(document.is_object(), "{name}");
    }
}

#[test]
fn every_rule_and_lens_is_explained_and_a_typo_is_corrected() {
    let registry = qa_skill(["schema", "registry"]).run().expect(0).json();
    let mut explained = 0;
    for lens in registry["lenses"].as_array().unwrap() {
        let rules = lens["rules"].as_array().unwrap().iter().map(|rule| &rule["ruleId"]);
        for id in rules.chain([&lens["lensId"]]) {
            let id = id.as_str().unwrap();
            let text = qa_skill(["explain", id]).run().expect(0).text();
            assert!(text.contains(id) && text.len() > 100 && !text.contains("~~~"), "{id}: {text}");
            explained += 1;
        }
    }
    assert!(explained > 10);
    let outcome = qa_skill(["explain", "merge-leftover/conflict-markr"]).run().expect(2);
    assert!(outcome.stderr.contains("did you mean `merge-leftover/conflict-marker`?"), "{}", outcome.stderr);
    let by_own_name = qa_skill(["explain", "conflict-marker"]).run().expect(0).text();
    assert!(by_own_name.contains("merge-leftover/conflict-marker"), "{by_own_name}");
    let outcome = qa_skill(["explain", "nope/rule"]).run().expect(2);
    assert!(!outcome.stderr.contains("did you mean"), "{}", outcome.stderr);
}

#[test]
fn a_mistyped_run_directory_is_a_mistake_of_the_command_line() {
    let outcome = qa_skill(["verify", "/nowhere/at/all"]).run().expect(2);
    assert!(outcome.stderr.contains("there is no directory /nowhere/at/all"), "{}", outcome.stderr);
    assert!(!outcome.stderr.contains("delete"), "{}", outcome.stderr);
}

#[test]
fn a_finding_is_explained_by_the_beginning_of_its_id() {
    let repo = judged();
    repo.judge().run().expect(1);
    let id = repo.run_dir().json("final-verdict.json")["blockingFindings"][0]["findingId"].clone();
    let id = id.as_str().unwrap();
    let out = repo.beside("out");
    for length in [6, 12, 64] {
        let text = qa_skill(["explain", &id[..length], "--out"]).arg(&out).run().expect(0).text();
        assert!(text.contains(id) && text.contains("a.py:1") && text.contains("evidence hash"), "{text}");
    }
    let text = qa_skill(["explain", id, "--out"]).arg(&out).env("COLUMNS", "80").run().expect(0).text();
    let begins = |label: &str| text.lines().find(|line| line.trim_start().starts_with(label)).unwrap();
    assert_eq!(begins("finding "), format!(" finding        {id}"));
    assert_eq!(begins("evidence hash ").len(), 80);
    assert!(begins("run ").contains("runs/"), "{text}");
    qa_skill(["explain", &"0".repeat(12), "--out"]).arg(&out).run().expect(2);
    // A run that was tampered with explains nothing.
    std::fs::write(repo.run_dir().path("summary.md"), "forged").unwrap();
    qa_skill(["explain", &id[..12], "--out"]).arg(&out).run().expect(2);
}

#[test]
fn completions_are_made_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let text = qa_skill(["completions", shell]).run().expect(0).text();
        assert!(text.contains("policy-check"), "{shell}");
    }
}

/// Starts a run long enough to be interrupted.
fn long_run() -> (Repo, Child) {
    let repo = Repo::new();
    let blob = repo.blob(b"a = 1\n");
    let names: Vec<String> = (0..19_000).map(|number| format!("f{number:06}.py")).collect();
    let head = repo.raw_tree(names.iter().map(|name| ("100644", name.as_bytes(), blob)));
    repo.change_trees(repo.raw_tree([("100644", &b"a"[..], blob)]), head);
    let mut command = repo.judge().bare_command();
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    (repo, child)
}

fn send(signal: &str, child: &Child) {
    let status = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Waits until a condition holds, without a clock: the condition is asked again and again.
fn until(mut child_ended: impl FnMut() -> bool, condition: impl Fn() -> bool) {
    while !condition() {
        assert!(!child_ended(), "the run ended before it could be interrupted");
        std::thread::yield_now();
    }
}

#[test]
fn a_run_that_is_interrupted_ends_without_a_verdict_and_leaves_nothing() {
    for (signal, in_store) in [("-INT", false), ("-TERM", false), ("-INT", true)] {
        let (repo, mut child) = long_run();
        let runs = repo.beside("out/runs");
        let status = format!("/proc/{}/status", child.id());
        // Bits 1 and 14: handlers for SIGINT and SIGTERM are in place.
        let caught = || {
            let text = std::fs::read_to_string(&status).unwrap_or_default();
            let mask = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
            mask & 0x4002 == 0x4002
        };
        let names = || {
            let entries = std::fs::read_dir(&runs).into_iter().flatten();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        let staged = || names().iter().any(|name| name.starts_with(".tmp-"));
        until(|| child.try_wait().unwrap().is_some(), || if in_store { staged() } else { caught() });
        send(signal, &child);
        Outcome::from_output(&child.wait_with_output().unwrap()).expect_code(3, "CANCELLED");
        assert!(runs_in(&repo.beside("out")).is_empty());
        if in_store {
            // A process that does not end by itself in time leaves a staging directory, which any next run removes.
            let other = change(&[("a", "1\n")], &[("a", "2\n")]);
            other
                .judge()
                .without(other.beside("out").to_str().unwrap())
                .arg(repo.beside("out"))
                .run()
                .expect(0);
            std::fs::remove_dir_all(runs_in(&repo.beside("out")).remove(0)).unwrap();
        }
        let mut left = names();
        // Nobody holds the lock, and the next run of the key takes it over.
        left.retain(|name| name != ".gitignore" && !name.starts_with(".lock-"));
        assert!(left.is_empty(), "{left:?}");
    }
}

/// A run with one long piece of work, 64 MB of tokens in a file, so that nothing in it looks for a signal for minutes.
/// `timeout` passes signals on and kills the run when it still works 20 seconds after the first one.
fn run_over_many_tokens() -> (Repo, Child) {
    let line = format!("t = \"{}\"\n", token());
    let text = line.repeat((64 << 20) / line.len());
    let policy = (".qa-skill/policy.toml", "version = 1\n[limits]\nmax-blob-bytes = 100000000\n");
    let repo = change(&[policy, ("a.py", "1\n")], &[policy, ("a.py", &text)]);
    let program = repo.judge().under(["timeout", "--foreground", "--kill-after=20", "600"]);
    let child = program.bare_command().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    (repo, child)
}

/// Processor time that the only child of a process has used, in ticks of the kernel.
fn processor_ticks(parent: u32) -> Option<u64> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).ok()?;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", children.trim())).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(11)?.parse().ok()
}

#[test]
fn a_signal_ends_a_run_that_computes() {
    for signal in ["-INT", "-TERM"] {
        let (repo, mut child) = run_over_many_tokens();
        // A hundred ticks are a second of work, so reading the repository is over.
        let parent = child.id();
        let works = || processor_ticks(parent).is_some_and(|ticks| ticks >= 100);
        until(|| child.try_wait().unwrap().is_some(), works);
        send(signal, &child);
        Outcome::from_output(&child.wait_with_output().unwrap()).expect_code(3, "CANCELLED");
        assert!(runs_in(&repo.beside("out")).is_empty());
    }
}

/// Bytes that a pipe of Linux holds.
const PIPE_BYTES: usize = 1 << 16;

#[test]
fn a_run_that_waits_in_the_kernel_ends_at_a_signal_all_the_same() {
    for signal in ["-INT", "-TERM"] {
        let repo = judged();
        // Nobody reads from a pipe that is full.
        let (_reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(&[b'.'; PIPE_BYTES]).unwrap();
        let mut child = repo.judge().bare_command().stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let waits = format!("/proc/{}/wchan", child.id());
        let is_writing = || std::fs::read_to_string(&waits).is_ok_and(|call| call.contains("pipe_write"));
        until(|| child.try_wait().unwrap().is_some(), is_writing);
        send(signal, &child);
        let outcome = Outcome::from_output(&child.wait_with_output().unwrap());
        outcome.expect_code(3, "CANCELLED");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_reason_to_panic() {
    let repo = judged();
    for format in formats() {
        let mut command = repo.judge().args(["--format", format]).command();
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let outcome = Outcome::from_output(&child.wait_with_output().unwrap()).expect(1);
        assert_eq!(outcome.stderr, "", "{format}");
    }
    let mut command = qa_skill(["--help"]).command();
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    child.wait().unwrap();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = repo.judge().command().stdout(full).stderr(Stdio::piped()).output().unwrap();
    Outcome::from_output(&output).expect_code(3, "ARTIFACT_WRITE_FAILED");
}

/// Characters that change how the text around them looks.
fn raw_controls(text: &str) -> Vec<char> {
    let raw = |character: &char| {
        *character != '\n' && character.is_control()
            || matches!(*character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().filter(raw).collect()
}

/// Takes our own colours away: SGR sequences and nothing else.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap().to_owned();
    for part in parts {
        let end = part.find(|character: char| !character.is_ascii_digit() && character != ';').unwrap_or(0);
        match part[end..].strip_prefix('m') {
            Some(rest) => plain.push_str(rest),
            None => plain.push_str(&format!("\u{1b}[{part}")),
        }
    }
    plain
}

fn hostile() -> Repo {
    let odd = "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}\u{2066}\u{9b}31m\r\u{8}\u{7f}";
    let command = "::error file=x::injected";
    let names = [
        format!("{odd}.py"),
        format!("new\n{command}\nline.py"),
        format!("{command}.py"),
        "##[group]x.py".to_owned(),
        "<script>alert(1)</script>.py".replace('/', "_"),
        "](javascript:alert(1)) @everyone | `x`.md".to_owned(),
        "x\" y='z'&amp;.py".to_owned(),
    ];
    let text = format!("{}x = 1 # {odd}\n{command}\nkey = \"{}\" # {odd}\n", conflict(), token());
    let mut head =
        Files::from_texts(&[("keep", "x\n"), (".qa-skill/policy.toml", "\u{202e}\u{1b}[31m = 1\n")]);
    for name in names {
        head = head.with(name, &text);
    }
    let repo = Repo::new();
    repo.change(&Files::from_texts(&[("keep", "x\n")]), &head);
    repo
}

#[test]
fn nothing_a_repository_says_reaches_a_terminal_raw() {
    let repo = hostile();
    for format in formats() {
        let outcome = repo.judge().args(["--format", format]).run().expect(1);
        let text = String::from_utf8(outcome.stdout).unwrap();
        assert_eq!(raw_controls(&text), [' '; 0], "{format}");
        assert_eq!(raw_controls(&outcome.stderr), [' '; 0], "{format}");
        let injected = text.lines().find(|line| {
            let line = line.trim_start();
            line.starts_with("::error file=x::")
                || line.starts_with("##[")
                || format != "github" && line.starts_with("::")
        });
        assert_eq!(injected, None, "{format}: {text}");
        // Markdown has names in code spans, where no renderer looks.
        assert!(format != "html" || !text.contains("<script>alert"), "{format}");
    }
    let coloured = repo.judge().args(["--color", "always"]).run().expect(1).text();
    assert!(coloured.contains("\u{1b}[1"), "{coloured}");
    assert_eq!(raw_controls(&uncoloured(&coloured)), [' '; 0]);
    let run = repo.run_dir();
    // Recordings hold the text itself, or nothing could be derived from them again.
    for name in run.files().into_iter().filter(|name| !name.starts_with("recordings/")) {
        let text = String::from_utf8(run.bytes(&name)).unwrap();
        assert_eq!(raw_controls(&text), [' '; 0], "{name}");
    }
    for arguments in [["plan", "--format", "table"], ["plan", "--format", "json"]] {
        let outcome = qa_skill(arguments).args(["--base", "main", "--repo"]).arg(repo.path()).run().expect(0);
        assert_eq!(raw_controls(&outcome.text()), [' '; 0]);
    }
}

#[test]
fn what_a_person_or_a_caller_types_is_shown_harmless_too() {
    let odd = "\u{1b}[31m\u{202e}x\r";
    let repo = judged();
    let programs = [
        repo.judge().arg(format!("--lens={odd}")),
        qa_skill(["run", "--base"]).arg(odd).arg("--repo").arg(repo.path()),
        qa_skill(["run", "--base", "main", "--head"]).arg(odd).arg("--repo").arg(repo.path()),
        qa_skill(["run", "--repo"]).arg(odd),
        qa_skill(["verify"]).arg(odd),
        qa_skill(["explain"]).arg(odd),
        qa_skill(["schema"]).arg(odd),
        qa_skill(["policy-check", "--file"]).arg(odd),
        qa_skill(["run", "--format"])
            .arg(format!("json=/nowhere/{odd}"))
            .args(["--base", "main"])
            .arg("--repo")
            .arg(repo.path()),
    ];
    for program in programs {
        let outcome = program.run();
        assert_ne!(outcome.exit, 0);
        assert_eq!(raw_controls(&outcome.stderr), [' '; 0], "{}", outcome.stderr);
        assert_eq!(outcome.stdout, b"");
    }
    // A path that the tree refuses is quoted on the way out.
    let refused = Repo::new();
    let blob = refused.blob(b"x\n");
    let name = format!("..\\{odd}");
    refused.change_trees(refused.raw_tree([]), refused.raw_tree([("100644", name.as_bytes(), blob)]));
    let outcome = refused.judge().run().expect_code(3, "PATH_REFUSED");
    assert_eq!(raw_controls(&outcome.stderr), [' '; 0], "{}", outcome.stderr);
}

#[test]
fn a_run_without_options_works_from_inside_the_checkout() {
    let repo = judged();
    git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    let base = repo.git.refname_to_id("refs/heads/main").unwrap();
    repo.reference("refs/remotes/origin/main", base);
    let outcome = qa_skill(["run"]).within(&repo.path()).run().expect(1);
    assert!(outcome.text().starts_with("FAIL"), "{}", outcome.text());
    let ignored =
        std::process::Command::new("git").arg("-C").arg(repo.path()).args(["status", "--porcelain"]).output();
    assert_eq!(String::from_utf8_lossy(&ignored.unwrap().stdout), "", "the artifact root ignores itself");
}

#[test]
fn an_option_that_would_change_nothing_is_not_taken() {
    for line in [
        ["plan", "--out", "runs"],
        ["policy-check", "--out", "runs"],
        ["policy-check", "--jobs", "2"],
        ["policy-check", "--lens", "secret-token"],
        ["aggregate", "--parts=parts", "--shard=1/2"],
        ["policy-check", "--head", "topic"],
        ["policy-check", "--file=policy.toml", "--base=main"],
        ["policy-check", "--file=policy.toml", "--repo=."],
        ["doctor", "--file=policy.toml", "--base=main"],
        ["doctor", "--file=policy.toml", "--repo=."],
        ["run", "--shard=1/2", "--format=json"],
        ["run", "--shard=1/2", "--refresh"],
        ["run", "--shard=1/2", "--since=runs"],
        ["run", "--shard=1/2", "--replies=record"],
        ["run", "--shard=1/2", "--pull-request=7"],
        ["run", "--shard=1/2", "--no-model"],
        ["run", "--shard=1/2", "--color=never"],
        ["drift-check", "runs", "--since-days=3"],
        ["drift-check", "runs", "--limit=3"],
        ["drift-check", "runs", "--name=others"],
        ["drift-check", "runs", "--samples=3"],
        ["record", "--tool=vitest", "--report=report.json"],
        #[cfg(target_os = "linux")]
        ["sandbox", "--empty", "--repo=."],
        #[cfg(target_os = "linux")]
        ["sandbox", "--empty", "--rev=main"],
    ] {
        let outcome = qa_skill(line).run().expect(2);
        assert!(outcome.stderr.starts_with("error: "), "{line:?}: {}", outcome.stderr);
        let named = [line[1], line[2]].map(|word| word.split('=').next().unwrap());
        assert!(named.iter().any(|name| outcome.stderr.contains(name)), "{line:?}: {}", outcome.stderr);
    }
}
