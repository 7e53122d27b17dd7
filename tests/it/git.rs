//! Which commits are compared, which paths come out, and what a repository must be to be read.

use serde_json::{Value, json};

use crate::support::{Files, Program, Repo, change, conflict, git, qa_skill, temp, token};

fn run_in(repo: &Repo) -> Program {
    qa_skill(["run", "--out"]).arg(repo.beside("out")).arg("--repo").arg(repo.path())
}

/// The rule, codes and commits of the run, as its own record says.
fn base_of(repo: &Repo) -> Value {
    let run = repo.run_dir();
    let (trace, changes) = (run.json("trace.json"), run.json("change-set.json"));
    json!([trace["baseRule"], trace["baseCodes"], changes["baseSha"], changes["mergeBaseSha"]])
}

#[test]
fn the_base_comes_from_the_first_rule_that_names_a_commit() {
    const HEAD_GONE: &str = "BASE_REF_FALLBACK_ORIGIN_HEAD_UNAVAILABLE";
    let cases: &[(&[&str], &str, &[&str])] = &[
        (&["HEAD", "main", "master"], "origin/HEAD", &[]),
        (&["main", "master"], "origin/main", &[HEAD_GONE, "BASE_REF_FALLBACK_ORIGIN_MAIN"]),
        (&["master"], "origin/master", &[HEAD_GONE, "BASE_REF_FALLBACK_ORIGIN_MASTER"]),
    ];
    for (references, rule, codes) in cases {
        let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        let base = repo.git.refname_to_id("refs/heads/main").unwrap();
        repo.git.find_reference("refs/heads/main").unwrap().delete().unwrap();
        for name in *references {
            repo.reference(&format!("refs/remotes/origin/{name}"), base);
        }
        run_in(&repo).run().expect(0);
        assert_eq!(base_of(&repo), json!([rule, codes, base.to_string(), base.to_string()]));
    }
}

#[test]
fn a_configured_base_is_used_or_nothing_is() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let base = repo.git.refname_to_id("refs/heads/main").unwrap();
    repo.reference("refs/remotes/origin/main", base);
    run_in(&repo).args(["--base", "main"]).run().expect(0);
    let id = base.to_string();
    assert_eq!(base_of(&repo), json!(["configured", [], id, id]));

    for missing in
        ["nowhere", "origin/nowhere", "0123456789abcdef", "main~7", "main^2", "HEAD^{/A}", "main@{1}", ""]
    {
        let outcome = run_in(&repo).arg(format!("--base={missing}")).run();
        let outcome = outcome.expect_code(3, "BASE_REF_CONFIGURED_NOT_FOUND");
        assert!(outcome.stderr.contains(missing) && outcome.stdout.is_empty(), "{}", outcome.stderr);
    }
    let outcome = run_in(&repo).args(["--base", "main", "--head", "nowhere"]).run();
    outcome.expect_code(3, "BASE_REF_RESOLUTION_FAILED");
}

#[test]
fn a_revision_that_no_one_would_write_is_not_found_and_nothing_worse() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    for odd in [
        "HEAD^é",
        "HEAD~é",
        "HEAD~99999999999999999999",
        "HEAD^99999999999",
        "^",
        "~",
        "HEAD^~^~^",
        "\u{202e}",
        "a\nb",
    ] {
        let outcome = run_in(&repo).arg(format!("--base={odd}")).run();
        outcome.expect_code(3, "BASE_REF_CONFIGURED_NOT_FOUND");
    }
}

#[test]
fn no_base_at_all_is_its_own_code_and_names_the_way_out() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    // Without a remote there is nothing that the local branch could be behind.
    run_in(&repo).run().expect(0);
    let main = repo.tip("main").to_string();
    assert_eq!(base_of(&repo), json!(["main", [], main, main]));
    repo.git.remote("origin", "https://example.com/a/b.git").unwrap();
    let outcome = run_in(&repo).run().expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    assert!(outcome.stderr.contains("`--base main`"), "{}", outcome.stderr);
    let stranger = repo.commit(repo.tree(&Files::from_texts(&[("z", "z\n")])), &[]);
    let outcome = run_in(&repo).arg("--base").arg(stranger.to_string()).run();
    outcome.expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    let outcome = qa_skill(["run"]).within(temp().path()).run();
    outcome.expect_code(3, "REPOSITORY_NOT_FOUND");
}

#[test]
fn what_the_base_did_after_the_fork_is_not_part_of_the_change() {
    let repo = Repo::new();
    let at = |files: &[(&str, &str)], parents: &[git2::Oid]| {
        repo.commit(repo.tree(&Files::from_texts(files)), parents)
    };
    let fork = at(&[("a.py", "a = 1\n"), ("b.py", "b = 1\n")], &[]);
    let main = at(&[("a.py", "a = 1\n"), ("b.py", &conflict()), ("only-in-main", "x\n")], &[fork]);
    let topic = at(&[("a.py", "a = 2\n"), ("b.py", "b = 1\n")], &[fork]);
    repo.reference("refs/heads/main", main);
    repo.reference("refs/heads/topic", topic);
    run_in(&repo).args(["--base", "main"]).run().expect(0);
    let changed: Vec<String> = repo.run_dir().changed().into_keys().collect();
    assert_eq!(changed, ["a.py"]);
    assert_eq!(base_of(&repo), json!(["configured", [], main.to_string(), fork.to_string()]));
}

/// Path bytes and how artifacts write them.
const PATHS: &[(&[u8], &str)] = &[
    (b"-leading-dash.py", "-leading-dash.py"),
    (b"__proto__", "__proto__"),
    (b"\"quoted\".py", "\"quoted\".py"),
    (b"'single'.py", "'single'.py"),
    (b"$(touch x);.py", "$(touch x);.py"),
    (b"::error file=x::y", "::error file=x::y"),
    (b"100%.py", "100%25.py"),
    (b"\x1b[31mred", "%1B[31mred"),
    (b"caf\xc3\xa9.py", "caf\u{e9}.py"),
    (b"cafe\xcc\x81.py", "cafe\u{301}.py"),
    (b"latin\xe9.py", "latin%E9.py"),
    (b"new\nline.py", "new%0Aline.py"),
    (b"right\xe2\x80\xaeto-left.py", "right%E2%80%AEto-left.py"),
    (b"tab\tstop.py", "tab%09stop.py"),
    (b"with  two spaces.py", "with  two spaces.py"),
    (b"dir with space/in side.py", "dir with space/in side.py"),
    (b"con/aux.txt", "con/aux.txt"),
    (b"back\\slash.py", "back\\slash.py"),
    (b"dir\\ectory/in\\side.py", "dir\\ectory/in\\side.py"),
    (b".gitmodules", ".gitmodules"),
    (b".gitattributes", ".gitattributes"),
];

#[test]
fn every_path_git_knows_is_judged_under_its_own_name() {
    let long = ["d".repeat(250).as_str(); 16].join("/") + "/end.py";
    assert!((4000..=4096).contains(&long.len()));
    let (mut base, mut head) = (Files::new().with("x", "x\n"), Files::new().with("x", "x\n"));
    for (path, _) in PATHS.iter().copied().chain([(long.as_bytes(), "")]) {
        base = base.with(path, "one\n");
        head = head.with(path, format!("one\n{}", conflict()));
    }
    let repo = Repo::new();
    repo.change(&base, &head);
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    let changed: Vec<String> = run.changed().into_keys().collect();
    let mut expected: Vec<String> = PATHS.iter().map(|(_, shown)| (*shown).to_owned()).collect();
    expected.push(long);
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    assert_eq!(sorted(changed), sorted(expected.clone()));
    let found =
        run.findings().iter().filter(|finding| finding.starts_with("merge-leftover/conflict")).count();
    assert_eq!(found, expected.len(), "{:#?}", run.findings());
    run.verify().run().expect(0);
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
}

#[test]
fn a_path_git_would_not_check_out_is_refused() {
    let too_long = ["d".repeat(250).as_str(); 20].join("/");
    assert!(too_long.len() > 5000);
    let component = "c".repeat(256);
    for path in [too_long.as_str(), component.as_str()] {
        let repo = Repo::new();
        repo.change(&Files::from_texts(&[("a", "1\n")]), &Files::from_texts(&[("a", "1\n"), (path, "2\n")]));
        repo.judge().run().expect_code(3, "PATH_REFUSED");
    }
}

#[test]
fn a_path_with_a_backslash_can_be_deleted() {
    let repo = Repo::new();
    let base = Files::from_texts(&[("a", "1\n"), ("old\\name.py", "a = 1\n")]);
    repo.change(&base, &base.clone().without("old\\name.py"));
    repo.judge().run().expect(0);
    assert_eq!(repo.run_dir().changed()["old\\name.py"]["kind"], "deleted");
}

#[test]
fn a_checkout_at_any_path_keeps_its_runs_in_itself() {
    use std::os::unix::ffi::OsStrExt;
    let names: [&[u8]; 5] =
        [b"plain", b"with space", b"line\nbreak", b"\x1b[31mred", b"latin\xe9 and \\u{1b}"];
    for name in names {
        let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
        let home = temp();
        let path = home.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::rename(repo.path(), &path).unwrap();
        qa_skill(["run", "--base", "main", "--head", "topic"]).within(&path).run().expect(0);
        assert_eq!(crate::support::runs_in(&path.join(".qa-skill")).len(), 1, "{path:?}");
        let beside: Vec<_> = std::fs::read_dir(home.path()).unwrap().collect();
        assert_eq!(beside.len(), 1, "{beside:?}");
    }
}

#[test]
fn bytes_of_git_files_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let path = repo.beside("").join(std::ffi::OsStr::from_bytes(b"latin\xe9"));
    std::fs::rename(repo.path(), &path).unwrap();
    let judge = |directory: &std::path::Path| {
        let out = repo.beside("out");
        qa_skill(["run", "--base", "main", "--head", "topic", "--out"]).arg(out).within(directory).run()
    };
    // A linked worktree names the directory of its repository.
    let linked = repo.beside("linked");
    git(&path, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap(), "topic"]);
    judge(&linked).expect(0);
    let config = path.join(".git/config");
    let text = [std::fs::read(&config).unwrap(), b"[user]\n\tname = Jos\xe9\n".to_vec()].concat();
    std::fs::write(config, text).unwrap();
    judge(&path).expect(0);
}

#[test]
fn no_setting_of_a_checkout_moves_where_its_runs_are_kept() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    std::fs::create_dir(repo.beside("elsewhere")).unwrap();
    repo.git.config().unwrap().set_str("core.worktree", "../../elsewhere").unwrap();
    qa_skill(["run", "--base", "main", "--head", "topic"]).within(&repo.path()).run().expect(0);
    assert_eq!(crate::support::runs_in(&repo.path().join(".qa-skill")).len(), 1);
}

#[test]
fn every_kind_of_change_is_told_apart() {
    let repo = Repo::new();
    let module = repo.commit(repo.tree(&Files::from_texts(&[("m", "m\n")])), &[]);
    let base = Files::from_texts(&[
        ("mode.sh", "#!/bin/sh\n"),
        ("deleted.py", "gone = 1\n"),
        ("crlf.txt", "a\r\nb\r\n"),
        ("no-final-newline.txt", "a"),
        ("to-link", "a\n"),
        ("to-module", "a\n"),
        ("to-directory", "a\n"),
    ])
    .with("binary.png", b"\x89PNG\r\n\x1a\n\0\0")
    .mode("120000", "link", "crlf.txt");
    let head = Files::from_texts(&[
        ("crlf.txt", "a\r\nc\r\n"),
        ("no-final-newline.txt", "b"),
        ("empty.txt", ""),
        ("to-directory/inside", "b\n"),
    ])
    .mode("100755", "mode.sh", "#!/bin/sh\n")
    .with("binary.png", b"\x89PNG\r\n\x1a\n\0\x01")
    .mode("120000", "link", "mode.sh")
    .mode("120000", "to-link", "crlf.txt")
    .object("160000", "module", module)
    .object("160000", "to-module", module);
    repo.change(&base, &head);
    repo.judge().run().expect(0);
    let run = repo.run_dir();
    let shown: Vec<String> = run
        .changed()
        .into_iter()
        .map(|(path, file)| {
            let hunks: Vec<String> = file["hunks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|hunk| {
                    format!(
                        "-{},{} +{},{}",
                        hunk["oldStart"], hunk["oldLines"], hunk["newStart"], hunk["newLines"]
                    )
                })
                .collect();
            format!("{path}: {} text={} {hunks:?}", file["kind"].as_str().unwrap(), file["text"])
        })
        .collect();
    let expected = [
        "binary.png: modified text=false []",
        "crlf.txt: modified text=true [\"-2,1 +2,1\"]",
        "deleted.py: deleted text=true [\"-1,1 +0,0\"]",
        "empty.txt: added text=true []",
        "link: modified text=true [\"-1,1 +1,1\"]",
        "mode.sh: mode_changed text=true []",
        "module: added text=true []",
        "no-final-newline.txt: modified text=true [\"-1,1 +1,1\"]",
        "to-directory: deleted text=true [\"-1,1 +0,0\"]",
        "to-directory/inside: added text=true [\"-0,0 +1,1\"]",
        "to-link: type_changed text=true [\"-1,1 +1,1\"]",
        "to-module: type_changed text=true [\"-1,1 +0,0\"]",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_secret_at_the_end_of_a_line_of_five_megabytes_is_found() {
    let line = format!("x = \"{}\"; y = \"{}\"\n", "ab ".repeat((5 << 20) / 3), token());
    let repo = change(&[("a.py", "x = 1\n")], &[("a.py", &line)]);
    repo.judge().run().expect(1);
    assert_eq!(repo.run_dir().findings(), ["secret-token/provider-token a.py:1"]);
}

/// A repository of one commit in another storage format.
fn stored_as(home: &std::path::Path, name: &str, option: &str) -> std::path::PathBuf {
    let path = home.join(name);
    let commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "m"];
    git(home, &["init", "-q", option, "-b", "main", name]);
    git(&path, &commit);
    std::fs::write(path.join("a.py"), "a = 1\n").unwrap();
    git(&path, &["add", "."]);
    git(&path, &commit);
    path
}

#[test]
fn storage_that_cannot_be_read_says_so_with_a_code_and_a_way_out() {
    let home = temp();
    let path = stored_as(home.path(), "sha256", "--object-format=sha256");
    let outcome = qa_skill(["run", "--base", "main"]).arg("--repo").arg(&path).run();
    outcome.expect_code(3, "REPOSITORY_UNSUPPORTED");
}

#[test]
fn a_repository_that_keeps_refs_in_a_reftable_is_judged_by_commit_ids() {
    let home = temp();
    let path = stored_as(home.path(), "reftable", "--ref-format=reftable");
    for base in [&["--base", "main"][..], &[]] {
        let outcome = qa_skill(["run"].iter().chain(base)).arg("--repo").arg(&path).run();
        let outcome = outcome.expect_code(3, "REPOSITORY_UNSUPPORTED");
        assert!(
            outcome.stderr.contains("git rev-parse")
                && outcome.stderr.contains("git clone --ref-format=files")
        );
    }
    let id = |name: &str| {
        let output = std::process::Command::new("git").current_dir(&path).args(["rev-parse", name]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
    };
    let judged = qa_skill(["run", "--base", &id("main~1"), "--head", &id("main")]).arg("--repo").arg(&path);
    judged.run().expect(0);
    assert_eq!(crate::support::runs_in(&path.join(".qa-skill")).len(), 1);
    git(home.path(), &["clone", "-q", "--ref-format=files", path.to_str().unwrap(), "clone"]);
    let clone = qa_skill(["run", "--base", "main~1", "--head", "main"]).arg("--repo");
    clone.arg(home.path().join("clone")).run().expect(0);
}

#[test]
fn a_clone_without_the_objects_of_the_change_is_not_an_empty_change() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n"), ("b.py", "b = 1\n")]);
    git(&repo.path(), &["config", "uploadpack.allowFilter", "true"]);
    let home = temp();
    let from = format!("file://{}", repo.path().display());
    let clone = |name: &str, options: &[&str]| {
        let arguments = [&["clone", "-q", "--mirror"], options, &[&from, name]].concat();
        git(home.path(), &arguments);
        qa_skill(["run", "--base", "main", "--head", "topic", "--out"])
            .arg(home.path().join("out"))
            .arg("--repo")
            .arg(home.path().join(name))
            .run()
    };
    let outcome = clone("no-blobs", &["--filter=blob:none"]).expect_code(3, "OBJECT_MISSING");
    assert!(outcome.stderr.contains("--filter"), "{}", outcome.stderr);
    clone("no-trees", &["--filter=tree:0"]).expect_code(3, "OBJECT_MISSING");
    let outcome = clone("shallow", &["--depth", "1", "--no-single-branch"]);
    let outcome = outcome.expect_code(3, "BASE_REF_RESOLUTION_FAILED");
    assert!(outcome.stderr.contains("shallow"), "{}", outcome.stderr);
    let single = clone("single", &["--depth", "1", "--single-branch"]);
    single.expect_code(3, "BASE_REF_CONFIGURED_NOT_FOUND");
}

#[test]
fn the_object_store_of_a_run_that_was_killed_is_removed_by_the_next_one() {
    let left = tempfile::Builder::new().prefix("qa-skill-objects-").tempdir_in("/tmp").unwrap().keep();
    std::fs::create_dir_all(left.join("objects/pack")).unwrap();
    change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]).judge().run().expect(0);
    assert!(!left.exists(), "{}", left.display());
}
