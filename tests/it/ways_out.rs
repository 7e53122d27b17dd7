//! Mistakes of people who are new to the program: each message names what is wrong here and a way out that works.

use std::path::Path;

use crate::support::{Outcome, Program, Repo, change, conflict, git, qa_skill, runs_in, temp};

/// A change on `topic`, which is checked out, without a remote.
fn checkout() -> Repo {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    repo
}

fn within(directory: &Path, arguments: &[&str]) -> Program {
    qa_skill(arguments.iter().copied()).within(directory)
}

#[track_caller]
fn says(outcome: &Outcome, words: &[&str]) {
    for word in words {
        assert!(outcome.stderr.contains(word), "`{word}` is not in {}", outcome.stderr);
    }
}

#[track_caller]
fn never_says(outcome: &Outcome, words: &[&str]) {
    for word in words {
        assert!(!outcome.stderr.contains(word), "`{word}` is in {}", outcome.stderr);
    }
}

#[test]
fn a_mistyped_name_is_corrected_from_the_refs_there_are() {
    let repo = checkout();
    let base = repo.git.refname_to_id("refs/heads/main").unwrap();
    repo.reference("refs/remotes/origin/release/2", base);
    repo.reference("refs/tags/v1.0.0", base);
    git(&repo.path(), &["pack-refs", "--all"]);
    repo.reference("refs/heads/feature/login", base);
    let cases = [
        ("mian", "did you mean `main`?"),
        ("mian~1", "did you mean `main~1`?"),
        ("orgin/release/2", "did you mean `origin/release/2`?"),
        ("v1.0.1", "did you mean `v1.0.0`?"),
        ("feature/logn", "did you mean `feature/login`?"),
        ("develop", "`git fetch origin develop:refs/remotes/origin/develop`"),
        ("refs/heads/develop", "`git fetch origin develop:refs/remotes/origin/develop`"),
        ("origin/develop", "`git fetch origin develop:refs/remotes/origin/develop`"),
        ("$(id)", "--base takes a branch, a tag or a commit id"),
        ("main~5", "before the first commit"),
        ("main..topic", "which is a range and no commit"),
        ("main^{tree}", "which is no commit"),
        ("", "``: the name is empty"),
    ];
    for (name, way_out) in cases {
        let outcome = within(&repo.path(), &["run", "--base", name]).run();
        let outcome = outcome.expect_code(3, "BASE_REF_CONFIGURED_NOT_FOUND");
        says(&outcome, &[way_out]);
        let outcome = within(&repo.path(), &["run", "--base=main", "--head", name]).run().expect(3);
        says(&outcome, &[&way_out.replace("--base", "--head")]);
    }
    let id = "1".repeat(40);
    let outcome = within(&repo.path(), &["run", "--base", &id]).run().expect(3);
    says(&outcome, &[&format!("`git fetch origin {id}`")]);
}

#[test]
fn a_suggestion_opens_no_pipe_among_the_refs() {
    let repo = checkout();
    let pipe = repo.path().join(".git/refs/heads/mian");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let outcome = within(&repo.path(), &["run", "--base=maim"]).run().expect(3);
    says(&outcome, &["did you mean `main`?"]);
}

#[test]
fn without_a_base_the_way_out_fits_the_clone() {
    let repo = checkout();
    let run = |repo: &Repo| within(&repo.path(), &["run"]).run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    // Without a remote there is nothing that a local branch could be behind.
    let outcome = within(&repo.path(), &["run"]).run().expect(0);
    assert!(outcome.text().contains(" by main\n"), "{}", outcome.text());
    git(&repo.path(), &["checkout", "-q", "-f", "main"]);
    let outcome = run(&repo);
    says(&outcome, &["`--base HEAD~1`"]);
    git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    git(&repo.path(), &["remote", "add", "upstream", "https://git.example/acme/widget"]);
    says(&run(&repo), &["`--base main`"]);
    git(&repo.path(), &["remote", "rename", "upstream", "origin"]);
    let outcome = run(&repo);
    says(&outcome, &["`--base main`"]);
    never_says(&outcome, &["fetch"]);
    git(&repo.path(), &["branch", "-q", "-D", "main"]);
    says(&run(&repo), &["`git fetch origin BRANCH:refs/remotes/origin/BRANCH`", "fetch-depth: 0"]);
}

#[test]
fn a_repository_without_a_commit_is_told_to_commit() {
    let repo = Repo::new();
    for command in ["run", "plan", "policy-check"] {
        let outcome = within(&repo.path(), &[command]).run().expect(3);
        says(&outcome, &["HEAD, which has no commit yet", "commit first"]);
        never_says(&outcome, &["fetch"]);
    }
}

#[test]
fn without_a_repository_the_checkout_is_what_is_missing() {
    let nowhere = temp();
    std::fs::write(nowhere.path().join("file"), "").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["run"], "it has no .git, and neither has a directory above it"),
        (&["plan"], "it has no .git"),
        (&["policy-check"], "it has no .git"),
        (&["run", "--repo=missing"], "at missing: there is no such directory"),
        (&["run", "--repo=file"], "at file: it is not a directory"),
    ];
    for (arguments, problem) in cases {
        let outcome = within(nowhere.path(), arguments).run().expect_code(3, "REPOSITORY_NOT_FOUND");
        says(&outcome, &[problem, "actions/checkout"]);
    }
    let repo = checkout();
    std::fs::write(repo.path().join(".git/HEAD"), "nonsense").unwrap();
    let outcome = within(&repo.path(), &["run"]).run().expect_code(3, "REPOSITORY_UNSUPPORTED");
    says(&outcome, &["`git status`"]);
}

/// A repository with a branch `topic` of two commits over `main`, as a server that sends parts of it.
fn server() -> Repo {
    let repo = checkout();
    git(&repo.path(), &["config", "uploadpack.allowFilter", "true"]);
    git(&repo.path(), &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    git(&repo.path(), &["checkout", "-q", "-f", "main"]);
    repo
}

fn clone(repo: &Repo, name: &str, options: &[&str]) -> std::path::PathBuf {
    let (url, to) = (format!("file://{}", repo.path().display()), repo.beside(name));
    let arguments = [&["clone", "-q"], options, &[url.as_str(), to.to_str().unwrap()]].concat();
    git(&repo.path(), &arguments);
    to
}

#[test]
fn a_shallow_clone_is_completed_as_its_message_says() {
    let repo = server();
    let shallow = clone(&repo, "shallow", &["--depth=1", "--no-single-branch"]);
    for arguments in [&["run", "--head=origin/topic"][..], &["run", "--head=origin/topic", "--base=HEAD~1"]] {
        let outcome = within(&shallow, arguments).run().expect(3);
        says(&outcome, &["`git fetch --unshallow`", "`fetch-depth: 0`"]);
    }
    git(&shallow, &["fetch", "-q", "--unshallow"]);
    within(&shallow, &["run", "--head=origin/topic"]).run().expect(0);
}

#[test]
fn a_clone_of_one_branch_is_completed_as_its_message_says() {
    let repo = server();
    let single = clone(&repo, "single", &["--single-branch", "--branch=topic"]);
    let outcome = within(&single, &["run", "--base=main"]).run().expect(3);
    let fetch = "git fetch origin main:refs/remotes/origin/main";
    says(&outcome, &[&format!("`{fetch}`"), "name it origin/main"]);
    git(&single, &fetch.split(' ').skip(1).collect::<Vec<_>>());
    within(&single, &["run", "--base=origin/main"]).run().expect(0);
}

#[test]
fn a_partial_clone_is_completed_as_its_message_says() {
    let repo = server();
    for filter in ["blob:none", "tree:0"] {
        let partial = clone(&repo, &filter.replace(':', "-"), &[&format!("--filter={filter}")]);
        let outcome =
            within(&partial, &["run", "--head=origin/topic"]).run().expect_code(3, "OBJECT_MISSING");
        let fetch = "git fetch --refetch --no-filter origin";
        says(&outcome, &["this clone does not have it", &format!("`{fetch}`")]);
        // A fetch by the clone's own filter leaves out the same again.
        git(&partial, &["fetch", "-q", "--refetch", "origin"]);
        within(&partial, &["run", "--head=origin/topic"]).run().expect_code(3, "OBJECT_MISSING");
        git(&partial, &fetch.split(' ').skip(1).collect::<Vec<_>>());
        within(&partial, &["run", "--head=origin/topic"]).run().expect(0);
    }
}

#[test]
fn the_base_and_the_rule_that_chose_it_are_in_the_output() {
    let repo = checkout();
    let base = repo.git.refname_to_id("refs/heads/main").unwrap();
    let short = &base.to_string()[..12];
    let outcome = within(&repo.path(), &["run", "--base=main", "--quiet"]).run().expect(0);
    assert!(outcome.text().contains(&format!("base    {short} as requested\n")), "{}", outcome.text());
    const HEAD_GONE: &str = "BASE_REF_FALLBACK_ORIGIN_HEAD_UNAVAILABLE";
    let rules: [(&str, &[&str]); 3] = [
        ("origin/master", &[HEAD_GONE, "BASE_REF_FALLBACK_ORIGIN_MASTER"]),
        ("origin/main", &[HEAD_GONE, "BASE_REF_FALLBACK_ORIGIN_MAIN"]),
        ("origin/HEAD", &[]),
    ];
    for (rule, codes) in rules {
        repo.reference(&format!("refs/remotes/{rule}"), base);
        let text = within(&repo.path(), &["run", "--quiet"]).run().expect(0).text();
        assert!(text.contains(&format!("base    {short} by {rule}\n")), "{text}");
        assert_eq!(text.matches("BASE_REF_FALLBACK").count(), codes.len(), "{text}");
        assert!(codes.iter().all(|code| text.contains(code)), "{text}");
        for command in ["plan", "policy-check"] {
            let text = within(&repo.path(), &[command]).run().expect(0).text();
            assert!(text.contains(&format!("base {short} by {rule}\n")), "{text}");
        }
    }
    // The rule differs between machines, so nothing of a run's digest has it.
    assert_eq!(runs_in(&repo.path().join(".qa-skill")).len(), 1);
}

#[test]
fn who_judges_what_is_checked_out_is_told_that_only_commits_are_judged() {
    let repo = checkout();
    std::fs::write(repo.path().join("a.py"), conflict()).unwrap();
    let text = within(&repo.path(), &["run", "--base=main", "--quiet"]).run().expect(0).text();
    assert!(text.contains("; what is not committed is not judged; --worktree judges it\n"), "{text}");
    let text =
        within(&repo.path(), &["run", "--base=main", "--head=topic", "--quiet"]).run().expect(0).text();
    assert!(!text.contains("not committed"), "{text}");
    let text = within(&repo.path(), &["run", "--base=topic", "--quiet"]).run().expect(3).text();
    assert!(text.contains("NOTHING_TO_JUDGE") && text.contains("commit what is to be judged"), "{text}");
}

#[test]
fn a_head_that_the_base_contains_is_told_from_one_without_a_change() {
    let repo = checkout();
    let text = within(&repo.path(), &["run", "--base=topic", "--head=main"]).run().expect(3).text();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(words.matches("is already contained in base").count(), 1, "{text}");
    assert!(words.contains("which is ahead of it; swap --base and --head, or fetch"), "{text}");
    assert!(!words.contains("same files") && !words.contains("nothing changed"), "{text}");
    let text = within(&repo.path(), &["run", "--base=main", "--head=main"]).run().expect(3).text();
    assert_eq!(text.matches("nothing changed between base and head").count(), 1, "{text}");
    // `fix` has no report, so it gives the reason and the code itself.
    let fix = within(&repo.path(), &["fix", "--base=topic", "--head=main"]).run().expect(3).text();
    assert!(
        fix.contains("is already contained in base") && fix.contains("error[NOTHING_TO_JUDGE]\n"),
        "{fix}"
    );
    let diff = within(&repo.path(), &["fix", "--base=main", "--head=main", "--diff"]).run().expect(3);
    assert!(diff.stderr.contains("error[NOTHING_TO_JUDGE]\n") && diff.text().is_empty(), "{}", diff.stderr);
}

#[test]
fn a_path_that_is_no_run_is_not_told_to_be_deleted() {
    let repo = checkout();
    within(&repo.path(), &["run", "--base=main"]).run().expect(0);
    std::fs::create_dir(repo.path().join("empty")).unwrap();
    let run = runs_in(&repo.path().join(".qa-skill")).remove(0);
    let name = run.file_name().unwrap().to_str().unwrap();
    let first = format!(".qa-skill/runs/{name}");
    let cases: &[(&str, &str, &str)] = &[
        ("nowhere", "there is no directory nowhere", "`qa-skill run` prints its path"),
        ("a.py", "a.py is a file", "`qa-skill run` prints its path"),
        ("empty", "empty is not a run directory", "`qa-skill run` prints its path"),
        (".qa-skill", ".qa-skill is not a run directory", &first),
        (".qa-skill/runs", "is not a run directory", "`qa-skill drift-check .qa-skill/runs`"),
    ];
    for (path, problem, way_out) in cases {
        let outcome = within(&repo.path(), &["verify", path]).run().expect(2);
        says(&outcome, &[problem, way_out]);
        never_says(&outcome, &["delete"]);
    }
    let outcome = within(&repo.path(), &["drift-check", "nowhere"]).run().expect(2);
    says(&outcome, &["there is no file or directory nowhere"]);
    let outcome = within(&repo.path(), &["drift-check", "empty"]).run().expect_code(3, "RECORDING_MISSING");
    never_says(&outcome, &["delete"]);
    within(&repo.path(), &["drift-check", ".qa-skill"]).run().expect(0);
    // A run that lost its manifest is damaged, and not mistyped.
    std::fs::remove_file(run.join("hashes.json")).unwrap();
    within(&repo.path(), &["verify", &first]).run().expect_code(3, "ARTIFACT_SCHEMA_INVALID");
    let outcome = within(&repo.path(), &["verify", &first, "--expect=pass"]).run().expect(3);
    says(&outcome, &["hashes.json"]);
}

#[test]
fn an_output_that_cannot_be_written_is_known_before_anything_is_judged() {
    let repo = checkout();
    for (output, problem) in
        [("sarif=missing/out.sarif", "there is no directory missing"), ("json=.", "is a directory")]
    {
        let outcome = within(&repo.path(), &["run", "--base=main", "--format", output]).run().expect(2);
        says(&outcome, &[problem]);
    }
    assert!(runs_in(&repo.path().join(".qa-skill")).is_empty());
    for arguments in [&["--help"][..], &["run", "--base=main", "--quiet"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = within(&repo.path(), arguments).command().stdout(full).output().unwrap();
        let outcome = Outcome::from_output(&output).expect_code(3, "ARTIFACT_WRITE_FAILED");
        says(&outcome, &["standard output", "a run that was already judged is stored"]);
    }
    assert_eq!(runs_in(&repo.path().join(".qa-skill")).len(), 1);
}

#[test]
fn a_comparison_with_nothing_says_so() {
    let repo = checkout();
    let outcome = within(&repo.path(), &["run", "--base=main", "--quiet", "--since=before"]).run().expect(0);
    says(&outcome, &["before has no run of an earlier head to compare with"]);
}

#[test]
fn what_is_to_be_copied_stays_whole_at_any_width() {
    let name = "long name of a file [[waiver]] rule = 1 owner = 2 reason = 3.py";
    let repo = change(&[(name, "a = 1\n")], &[(name, &conflict())]);
    let out = repo.beside("an artifact root's place");
    let run = qa_skill(["run", "--base=main", "--head=topic", "--quiet", "--repo"]).arg(repo.path());
    let text = run.arg("--out").arg(&out).env("COLUMNS", "40").run().expect(1).text();
    let verdict = std::fs::read_to_string(runs_in(&out)[0].join("final-verdict.json")).unwrap();
    let verdict: serde_json::Value = serde_json::from_str(&verdict).unwrap();
    let hash = verdict["blockingFindings"][0]["evidenceHash"].as_str().unwrap();
    let setting = format!("\nevidence-hash = \"{hash}\"\n");
    let id = &verdict["blockingFindings"][0]["findingId"].as_str().unwrap()[..12];
    assert!(text.contains(&format!("= more: qa-skill explain {id}\n")), "{text}");
    let explained = qa_skill(["explain", id, "--out"]).arg(&out).env("COLUMNS", "40").run().expect(0).text();
    assert!(explained.contains(setting.trim()), "{explained}");
    let summary = std::fs::read_to_string(runs_in(&out)[0].join("summary.md")).unwrap();
    assert!(summary.contains(&setting), "{summary}");
    // Nothing of a name is a setting of the copy.
    let copy = summary.split("```toml\n").nth(1).unwrap().split("\n```").next().unwrap();
    let lines: Vec<&str> = copy.lines().collect();
    assert!(lines[0].starts_with("# ") && lines[1] == "[[waiver]]" && lines.len() == 7, "{lines:?}");
    // The line works in a shell as it is.
    let line = text.lines().find_map(|line| line.trim().strip_prefix("verify  qa-skill ")).unwrap();
    let line = format!("{} {line}", env!("CARGO_BIN_EXE_qa-skill"));
    let status = std::process::Command::new("sh").args(["-c", &line]).output().unwrap();
    assert!(status.status.success(), "{line}: {}", String::from_utf8_lossy(&status.stderr));
}

#[test]
fn a_mistyped_word_is_corrected_and_another_gets_the_list() {
    let repo = checkout();
    let cases: &[(&[&str], &str)] = &[
        (&["run", "--base=main", "--lens=secret-tokn"], "did you mean `secret-token`?"),
        (&["run", "--base=main", "--lens=zzz"], "known lenses: "),
        (&["schema", "skill-inpt"], "did you mean `skill-input`?"),
        (&["explain", "secret-tokn"], "did you mean `secret-token`?"),
        (&["explain", "secret-token/none-such-rule"], "the rules of secret-token: "),
        (&["explain", "zzz"], "`qa-skill schema registry` lists every lens"),
        (&["explain", "abcdef"], "run `qa-skill run` first"),
        (&["aggregate", "--base=main", "--parts=nowhere"], "`run --shard` prints the file"),
        (&["consistency-approve", "nowhere.json"], "`qa-skill consistency-init` prints where"),
        (&["policy-check", "--file=nowhere"], "name the policy file with --file"),
    ];
    for (arguments, way_out) in cases {
        let outcome = within(&repo.path(), arguments).run();
        assert!([2, 3].contains(&outcome.exit), "{arguments:?}");
        says(&outcome, &[way_out]);
    }
}

#[test]
fn a_finding_is_explained_from_anywhere_in_the_checkout() {
    let repo = change(&[("d/a.py", "a = 1\n")], &[("d/a.py", &conflict())]);
    git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    let inside = repo.path().join("d");
    within(&inside, &["run", "--base=main", "--quiet"]).run().expect(1);
    let run = runs_in(&repo.path().join(".qa-skill")).remove(0);
    let verdict = std::fs::read_to_string(run.join("final-verdict.json")).unwrap();
    let verdict: serde_json::Value = serde_json::from_str(&verdict).unwrap();
    let id = verdict["blockingFindings"][0]["findingId"].as_str().unwrap();
    let text = within(&inside, &["explain", &id[..12]]).run().expect(0).text();
    assert!(text.contains("d/a.py:1"), "{text}");
}
