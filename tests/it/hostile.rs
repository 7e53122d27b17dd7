//! Repositories that someone made to crash, blind or mislead the reader.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use git2::{ObjectType, Oid};

use crate::support::{
    Files, GIT_FILES, Outcome, Random, Repo, change, conflict, marker, qa_skill, token, tokens,
};

/// 1 GiB.
const MEMORY_KIB: u64 = 1 << 20;

/// Judges the two trees against each other; nothing may take much memory, or longer than any program may here.
fn judge_trees(name: &str, build: impl FnOnce(&Repo, Oid) -> (Oid, Oid)) -> (Repo, Outcome) {
    let repo = Repo::new();
    let blob = repo.blob(b"one\n");
    let (base, head) = build(&repo, blob);
    repo.change_trees(base, head);
    let outcome = judge_bounded(name, &repo);
    (repo, outcome)
}

fn judge_bounded(name: &str, repo: &Repo) -> Outcome {
    let outcome = repo.judge().run();
    assert!(outcome.exit != 0 || !repo.beside("out/runs").exists() || peak(repo) < MEMORY_KIB, "{name}");
    if outcome.exit != 3 || outcome.code().is_empty() {
        let used = peak(repo);
        assert!(used < MEMORY_KIB, "{name} used {used} KiB");
        println!("{name}: exit {}, {used} KiB", outcome.exit);
    } else {
        println!("{name}: {}", outcome.code());
        assert!(crate::support::runs_in(&repo.beside("out")).is_empty(), "{name} stored a run");
    }
    outcome
}

fn peak(repo: &Repo) -> u64 {
    repo.run_dir().json("metrics.json")["machine"]["peakRssKib"].as_u64().unwrap()
}

type Entries<'a> = &'a [(&'a str, &'a [u8])];

#[test]
fn trees_that_git_would_not_write_are_refused_with_a_code() {
    let cases: &[(&str, Entries<'_>, &str)] = &[
        ("a .git directory", &[("40000", b".git")], "PATH_REFUSED"),
        ("a .GiT directory", &[("40000", b".GiT")], "PATH_REFUSED"),
        ("an NTFS short name", &[("40000", b"GIT~1")], "PATH_REFUSED"),
        ("an HFS ignorable", &[("40000", b".g\xe2\x80\x8cit")], "PATH_REFUSED"),
        ("a stream", &[("100644", b".git::$INDEX_ALLOCATION")], "PATH_REFUSED"),
        ("dot dot", &[("40000", b"..")], "PATH_REFUSED"),
        ("dot", &[("40000", b".")], "PATH_REFUSED"),
        ("dot dot as a file", &[("100644", b"..")], "PATH_REFUSED"),
        ("dot dot and a backslash", &[("100644", b"..\\x")], "PATH_REFUSED"),
        ("dot dot between backslashes", &[("100644", b"a\\..\\x")], "PATH_REFUSED"),
        ("a .git directory before a backslash", &[("100644", b".git\\config")], "PATH_REFUSED"),
        ("a .git directory behind a backslash", &[("100644", b"a\\.GIT")], "PATH_REFUSED"),
        ("a slash in a name", &[("100644", b"../x")], "TREE_MALFORMED"),
        ("an absolute name", &[("100644", b"/etc/passwd")], "TREE_MALFORMED"),
        ("an empty name", &[("100644", b"")], "TREE_MALFORMED"),
        ("a bad mode", &[("100000", b"a")], "TREE_MALFORMED"),
        ("a mode that is no number", &[("x", b"a")], "TREE_MALFORMED"),
        ("no mode", &[("", b"a")], "TREE_MALFORMED"),
        ("a name twice", &[("100644", b"a"), ("100644", b"a")], "TREE_MALFORMED"),
        ("a link and a directory of one name", &[("120000", b"a"), ("40000", b"a")], "TREE_MALFORMED"),
        (
            "a file and a directory apart",
            &[("100644", b"a"), ("100644", b"a.b"), ("40000", b"a")],
            "TREE_MALFORMED",
        ),
        ("names out of order", &[("100644", b"z"), ("100644", b"a")], "TREE_MALFORMED"),
    ];
    for (name, entries, code) in cases {
        let (_, outcome) = judge_trees(name, |repo, blob| {
            let inner = repo.raw_tree([("100644", &b"pwn"[..], blob)]);
            let id = |mode: &str| if mode == "40000" { inner } else { blob };
            let head = repo.raw_tree(entries.iter().map(|(mode, path)| (*mode, *path, id(mode))));
            (repo.raw_tree([("100644", &b"a"[..], repo.blob(b"other\n"))]), head)
        });
        outcome.expect_code(3, code);
    }
}

#[test]
fn objects_that_are_missing_or_something_else_are_no_change_to_pass() {
    let absent = || Oid::from_str("1234567890123456789012345678901234567890").unwrap();
    type Make<'a> = &'a dyn Fn(&Repo, Oid) -> Oid;
    let cases: &[(&str, Make<'_>, &str)] = &[
        ("a missing blob", &|repo, _| repo.raw_tree([("100644", &b"a"[..], absent())]), "OBJECT_MISSING"),
        ("a missing tree", &|repo, _| repo.raw_tree([("40000", &b"a"[..], absent())]), "OBJECT_MISSING"),
        ("a missing root", &|_, _| absent(), "OBJECT_MISSING"),
        (
            "a tree that is a blob",
            &|repo, blob| repo.raw_tree([("40000", &b"a"[..], blob)]),
            "TREE_MALFORMED",
        ),
        (
            "a blob that is a tree",
            &|repo, blob| {
                let tree = repo.raw_tree([("100644", &b"x"[..], blob)]);
                repo.raw_tree([("100644", &b"a"[..], tree)])
            },
            "OBJECT_MISSING",
        ),
        ("a tree cut short", &|repo, _| repo.write(ObjectType::Tree, b"100644 a\0short"), "TREE_MALFORMED"),
        ("a tree of noise", &|repo, _| repo.write(ObjectType::Tree, &[0xff; 100]), "TREE_MALFORMED"),
    ];
    for (name, head, code) in cases {
        let (_, outcome) =
            judge_trees(name, |repo, blob| (repo.raw_tree([("100644", &b"b"[..], blob)]), head(repo, blob)));
        outcome.expect_code(3, code);
    }
    // An object on disk that does not unpack.
    let repo = change(&[("a", "1\n")], &[("a", "2\n")]);
    let id = repo.blob(b"2\n").to_string();
    let path = repo.path().join(".git/objects").join(&id[..2]).join(&id[2..]);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&path, b"\x78\x9cnonsense").unwrap();
    judge_bounded("a corrupt blob", &repo).expect_code(3, "OBJECT_MISSING");
}

#[test]
fn trees_made_to_exhaust_the_reader_are_bounded() {
    let empty = |repo: &Repo| repo.raw_tree([("100644", &b"a"[..], repo.blob(b"1\n"))]);
    let (_, outcome) = judge_trees("a tree 5,000 deep", |repo, blob| {
        let leaf = repo.raw_tree([("100644", &b"x"[..], blob)]);
        let deep = (0..5000).fold(leaf, |inner, _| repo.raw_tree([("40000", &b"d"[..], inner)]));
        (empty(repo), deep)
    });
    outcome.expect_code(3, "TREE_MALFORMED");

    let (_, outcome) = judge_trees("ten objects, 10^10 files", |repo, blob| {
        let names: Vec<String> = (0..10).map(|number| format!("n{number}")).collect();
        let wide = |mode, id| repo.raw_tree(names.iter().map(|name| (mode, name.as_bytes(), id)));
        let bomb = (0..9).fold(wide("100644", blob), |inner, _| wide("40000", inner));
        (empty(repo), bomb)
    });
    outcome.expect_code(3, "TREE_MALFORMED");
}

#[test]
fn more_files_than_the_limit_in_one_directory_are_counted_and_not_passed() {
    let names: Vec<String> = (0..25_000).map(|number| format!("f{number:06}")).collect();
    let (repo, outcome) = judge_trees("25,000 files", |repo, blob| {
        let head = repo.raw_tree(names.iter().map(|name| ("100644", name.as_bytes(), blob)));
        (repo.raw_tree([("100644", &b"a"[..], blob)]), head)
    });
    outcome.expect(3);
    let verdict = repo.run_dir().json("final-verdict.json");
    assert!(verdict["errorCodes"].as_array().unwrap().contains(&"DIFF_TOO_LARGE".into()), "{verdict}");
}

#[test]
fn blobs_made_to_exhaust_the_reader_are_bounded() {
    let judge = |name: &str, file: &str, base: Vec<u8>, head: Vec<u8>| {
        let repo = Repo::new();
        repo.change(&Files::new().with(file, base), &Files::new().with(file, head));
        let outcome = judge_bounded(name, &repo);
        (repo, outcome)
    };
    let (repo, outcome) = judge("64 MB of short lines", "a.py", vec![], b"a\n".repeat(32 << 20));
    outcome.expect(3);
    let verdict = repo.run_dir().json("final-verdict.json");
    assert!(verdict["errorCodes"].as_array().unwrap().contains(&"BLOB_TOO_LARGE".into()), "{verdict}");
    let (_, outcome) = judge("64 MB of zeros", "a.py", vec![], vec![0; 64 << 20]);
    outcome.expect(3);

    let shuffled = |bytes: usize, seed: u64| {
        let mut lines: Vec<String> =
            (0..bytes / 40).map(|line| format!("line number {line:026}\n")).collect();
        let mut random = Random(seed);
        for index in (1..lines.len()).rev() {
            lines.swap(index, random.below(index + 1));
        }
        lines.concat().into_bytes()
    };
    let (_, outcome) = judge("8 MB of shuffled lines", "a.py", shuffled(7 << 20, 1), shuffled(7 << 20, 2));
    outcome.expect(0);
    let (_, outcome) =
        judge("1 MB of shuffled lines", "a.py", shuffled(1_000_000, 1), shuffled(1_000_000, 2));
    outcome.expect(0);
}

/// Whether a trick to hide a line failed: the line is found, or its file is listed as not looked at and nothing passes.
#[track_caller]
fn seen(name: &str, repo: &Repo, file: &str) {
    assert_ne!(reported(name, repo, file).exit, 0, "{name} passed");
}

/// Expects that a file is reported or listed as not read.
fn reported(name: &str, repo: &Repo, file: &str) -> Outcome {
    let outcome = judge_bounded(name, repo);
    let run = repo.run_dir();
    let found = run.findings().iter().any(|finding| finding.contains(&format!(" {file}:")));
    let plans = run.json("lens-plan.json");
    let omitted = plans["lensPlans"]
        .as_array()
        .unwrap()
        .iter()
        .any(|plan| plan["omittedFiles"].as_array().unwrap().contains(&file.into()));
    assert!(found || omitted, "{name}: {file} is neither reported nor omitted: {}", outcome.text());
    outcome
}

#[test]
fn a_planted_line_cannot_be_hidden() {
    let line = format!("key = \"{}\"\n", token());
    let plain = |file: &str, text: &[u8]| {
        let repo = Repo::new();
        repo.change(&Files::new().with("z", "z\n"), &Files::new().with("z", "z\n").with(file, text));
        repo
    };
    let attributes = plain("a.py", line.as_bytes());
    let hidden = "* -diff -text binary linguist-generated export-ignore\n";
    let with = Files::from_texts(&[("z", "z\n"), ("a.py", &line), (".gitattributes", hidden)]);
    attributes.change(&Files::from_texts(&[("z", "z\n"), (".gitattributes", hidden)]), &with);
    seen("attributes", &attributes, "a.py");
    seen("a NUL byte", &plain("a.py", format!("\0\n{line}\0").as_bytes()), "a.py");
    seen(
        "old Mac line ends",
        &plain("a.py", format!("a = 1\rb = 2\r{}", line.replace('\n', "\r")).as_bytes()),
        "a.py",
    );
    seen("CR LF", &plain("a.py", line.replace('\n', "\r\n").as_bytes()), "a.py");
    seen("a form feed", &plain("a.py", format!("\x0c\x0b{line}").as_bytes()), "a.py");
    seen("no newline at the end", &plain("a.py", line.trim_end().as_bytes()), "a.py");
    seen("a huge line", &plain("a.py", format!("{}{line}", "x ".repeat(1 << 20)).as_bytes()), "a.py");
    seen("a huge file", &plain("a.py", format!("{}{line}", "x\n".repeat(5 << 20)).as_bytes()), "a.py");
    seen("a byte order mark", &plain("a.py", format!("\u{feff}{line}").as_bytes()), "a.py");
    for (name, mark, order) in [
        ("UTF-16 LE", [0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ("UTF-16 BE", [0xfe, 0xff], u16::to_be_bytes),
    ] {
        let bytes: Vec<u8> = mark.into_iter().chain(line.encode_utf16().flat_map(order)).collect();
        seen(name, &plain("a.py", &bytes), "a.py");
    }
    seen("stray bytes", &plain("a.py", &[b"\xff\xfa\x80 ", line.as_bytes()].concat()), "a.py");
    seen("a bidirectional override", &plain("a.py", "a = 1 # \u{202e}x\n".as_bytes()), "a.py");
    seen("an unknown extension", &plain("a.weird", line.as_bytes()), "a.weird");
    seen("a dot file", &plain(".env", line.as_bytes()), ".env");
    seen("an executable", &plain("bin/tool", line.as_bytes()), "bin/tool");
    seen("a conflict of CR LF", &plain("a.py", conflict().replace('\n', "\r\n").as_bytes()), "a.py");
    seen("a marker alone", &plain("a.py", marker().as_bytes()), "a.py");
}

/// A file that is no text by its bytes, with a line of text in it.
fn dense(line: &str) -> Vec<u8> {
    [b"#".as_slice(), &[0, 1, 2, 3].repeat(200), b"\n", line.as_bytes()].concat()
}

#[test]
fn a_planted_line_cannot_be_hidden_by_other_bytes_of_a_file_that_something_runs() {
    let line = format!("key = \"{}\"\n", token());
    for name in ["tests/test_a.py", "docs/conf.py", "tests/Makefile", ".husky/pre-commit", "install.sh.png"] {
        let repo = Repo::new();
        repo.change(
            &Files::from_texts(&[("z", "z\n")]),
            &Files::from_texts(&[("z", "z\n")]).with(name, dense(&line)),
        );
        let outcome = reported("a comment of control bytes", &repo, name);
        // A token in a test or in documentation is advice.
        let is_advice = name.starts_with("tests/") || name.starts_with("docs/");
        assert!(outcome.exit != 0 || is_advice, "{name} passed");
    }
    let files = || Files::new().with("z", "z\n");
    let case = |name: &str, file: &str, base: Files, head: Files| {
        let repo = Repo::new();
        repo.change(&base, &head);
        seen(name, &repo, file);
    };
    let with_nul = format!("{line}\0\n");
    case("an asset's name and one NUL", "a.png", files(), files().with("a.png", with_nul));
    let late = [b"\0\0\0\0 ".repeat(2000), "x = 1\n".repeat(50_000).into_bytes(), line.clone().into_bytes()];
    case("text behind many NULs", "a.dat", files(), files().with("a.dat", late.concat()));
    case("an executable bit", "a", files(), files().mode("100755", "a", dense(&line)));
    case("a shebang", "a", files(), files().with("a", [b"#!/bin/sh\n".to_vec(), dense(&line)].concat()));
    let bytes = dense(&line);
    case(
        "a data file renamed to a script",
        "a.sh",
        files().with("a.dat", &bytes),
        files().with("a.sh", &bytes),
    );
    case("data made executable", "a", files().with("a", &bytes), files().mode("100755", "a", &bytes));
}

#[test]
fn a_planted_line_cannot_be_hidden_by_what_happens_to_its_file() {
    let line = format!("key = \"{}\"\n", token());
    let body: String = (0..40).map(|number| format!("value_{number} = {number}\n")).collect();
    let case = |name: &str, file: &str, base: Files, head: Files| {
        let repo = Repo::new();
        repo.change(&base, &head);
        seen(name, &repo, file);
    };
    let files = Files::new;
    case(
        "rename and edit",
        "b.py",
        files().with("a.py", &body),
        files().with("b.py", format!("{body}{line}")),
    );
    case(
        "mode change and edit",
        "a.py",
        files().with("a.py", &body),
        files().mode("100755", "a.py", format!("{line}{body}")),
    );
    case(
        "a link becomes a file",
        "a.py",
        files().mode("120000", "a.py", "b.py"),
        files().with("a.py", &line),
    );
    case("a link's own target", "a", files().mode("120000", "a", "b"), files().mode("120000", "a", &line));
    case("a directory becomes a file", "a", files().with("a/b", "x\n"), files().with("a", &line));
    case(
        "binary becomes text",
        "logo.png",
        files().with("logo.png", b"\x89PNG\0\0"),
        files().with("logo.png", &line),
    );
    let repo = Repo::new();
    let module = repo.commit(repo.tree(&Files::new().with("a", &line)), &[]);
    repo.change(&files().object("160000", "a.py", module), &files().with("a.py", &line));
    seen("a submodule becomes a file", &repo, "a.py");
    let repo = Repo::new();
    repo.change_trees(repo.raw_tree([]), repo.tree(&files().with("a.py", &line)));
    seen("from an empty tree", &repo, "a.py");
}

#[test]
fn nothing_a_repository_configures_is_ever_run() {
    let repo =
        change(&[("a.py", "a\n")], &[("a.py", "b\n"), (".gitattributes", "* filter=evil diff=evil\n")]);
    let canary = repo.beside("canary");
    let script = repo.beside("evil.sh");
    std::fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", canary.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let evil = script.display();
    let included = repo.beside("included");
    std::fs::write(&included, format!("[core]\npager = {evil}\nsshCommand = {evil}\n")).unwrap();
    let config = format!(
        "[core]\nfsmonitor = {evil}\nhooksPath = {hooks}\neditor = {evil}\nworktree = {work}\n[diff]\nexternal = {evil}\n\
         [diff \"evil\"]\ntextconv = {evil}\ncommand = {evil}\n[filter \"evil\"]\nclean = {evil}\nsmudge = {evil}\nprocess = {evil}\nrequired = true\n\
         [include]\npath = {include}\n[includeIf \"gitdir:/\"]\npath = {include}\n[credential]\nhelper = {evil}\n[gpg]\nprogram = {evil}\n\
         [uploadpack]\npackObjectsHook = {evil}\n[remote \"origin\"]\nurl = ext::{evil}\npromisor = true\n[extensions]\npartialClone = origin\n",
        hooks = repo.beside("hooks").display(),
        work = repo.path().display(),
        include = included.display(),
    );
    std::fs::create_dir(repo.beside("hooks")).unwrap();
    for hook in ["post-checkout", "reference-transaction", "fsmonitor-watchman", "post-index-change"] {
        std::fs::copy(&script, repo.beside("hooks").join(hook)).unwrap();
        std::fs::copy(&script, repo.path().join(".git/hooks").join(hook)).ok();
    }
    let path = repo.path().join(".git/config");
    let before = std::fs::read_to_string(&path)
        .unwrap()
        .replace("repositoryformatversion = 0", "repositoryformatversion = 1");
    std::fs::write(&path, before + &config).unwrap();
    repo.judge().run().expect(0);
    repo.run_dir().verify().arg("--repo").arg(repo.path()).run().expect(0);
    assert!(!canary.exists(), "something the configuration names was run");
    // The trap works: git itself falls into it.
    let status =
        std::process::Command::new("git").arg("-C").arg(repo.path()).args(["status"]).output().unwrap();
    assert!(canary.exists(), "{}", String::from_utf8_lossy(&status.stderr));
}

#[test]
fn a_checkout_of_another_user_and_an_unreadable_home_are_no_obstacle() {
    let repo = change(&[("a.py", "a\n")], &[("a.py", "b\n")]);
    let home = repo.beside("home");
    std::fs::create_dir(&home).unwrap();
    std::fs::write(home.join(".gitconfig"), "[core\nbroken").unwrap();
    let run = |out: &str| {
        qa_skill(["run", "--base", "main", "--repo"])
            .arg(repo.path())
            .arg("--out")
            .arg(repo.beside(out))
            .env("HOME", &home)
    };
    run("broken-config").run().expect(0);
    if std::fs::metadata(repo.path()).unwrap().uid() != 0 {
        eprintln!("skipped: only root can give a checkout to another user");
        return;
    }
    std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o000)).unwrap();
    let chown =
        std::process::Command::new("chown").args(["-R", "1001:1001"]).arg(repo.path()).status().unwrap();
    assert!(chown.success());
    run("other-owner").run().expect(0);
    // The other way round: someone who may not read HOME, over a checkout that is not theirs.
    let out = repo.beside("as-nobody");
    std::fs::create_dir(&out).unwrap();
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o777)).unwrap();
    std::fs::set_permissions(repo.beside(""), std::fs::Permissions::from_mode(0o755)).unwrap();
    let reachable = std::process::Command::new("setpriv")
        .args([
            "--reuid=65532",
            "--regid=65532",
            "--clear-groups",
            env!("CARGO_BIN_EXE_qa-skill"),
            "--version",
        ])
        .output()
        .is_ok_and(|output| output.status.success());
    if !reachable {
        eprintln!("skipped: the program cannot be started by another user here");
        return;
    }
    run("as-nobody").under(["setpriv", "--reuid=65532", "--regid=65532", "--clear-groups"]).run().expect(0);
}

/// Something that is no regular file, at a path.
#[derive(Clone, Copy, Debug)]
enum Odd {
    Pipe,
    Socket,
    /// A link to a device without an end.
    Endless,
}

fn put(odd: Odd, path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _was_a_file = std::fs::remove_file(path);
    match odd {
        Odd::Pipe => assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        Odd::Socket => drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        Odd::Endless => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
    }
}

/// Adds a text to the end of a file.
fn add_to(path: &std::path::Path, text: &str) {
    let before = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, before + text).unwrap();
}

#[test]
fn what_is_no_file_among_gits_files_is_refused_and_not_waited_for() {
    let head_blob = |repo: &Repo| repo.blob(b"a = 2\n").to_string();
    let names = [
        "objects/info/commit-graph",
        "objects/pack/pack-1234567890123456789012345678901234567890.idx",
        "objects/pack/pack-1234567890123456789012345678901234567890.pack",
        "objects/pack/multi-pack-index",
        "",
        "a loose object",
        "an alternate's loose object",
        "an included file",
        "a file included by another",
        "an included file below the home directory",
        "an included file behind quotes and a comment",
        "an included file on two lines",
        "HEAD behind a gitfile",
        "the index of a repository around",
        "the branch of a repository around",
    ];
    for odd in [Odd::Pipe, Odd::Socket, Odd::Endless] {
        for name in names.into_iter().chain(GIT_FILES) {
            let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
            let git = repo.path().join(".git");
            let id = head_blob(&repo);
            let loose = std::path::Path::new(&id[..2]).join(&id[2..]);
            let mut judged = repo.judge();
            match name {
                "" => {
                    std::fs::rename(&git, repo.beside("git")).unwrap();
                    put(odd, &git);
                }
                "a loose object" => put(odd, &git.join("objects").join(loose)),
                "an alternate's loose object" => {
                    put(odd, &repo.beside("other").join(loose));
                    let line = format!("{}\n", repo.beside("other").display());
                    std::fs::write(git.join("objects/info/alternates"), line).unwrap();
                }
                "an included file" => {
                    put(odd, &repo.beside("more"));
                    add_to(&git.join("config"), "\n[IncludeIf \"gitdir:**\"] Path = ../../more\n");
                }
                "a file included by another" => {
                    put(odd, &repo.beside("more"));
                    std::fs::write(repo.beside("first"), "[include]\n\tpath = \"more\"\n").unwrap();
                    add_to(&git.join("config"), "\n[include]\npath = ../../first\n");
                }
                "an included file below the home directory" => {
                    put(odd, &repo.beside("more"));
                    add_to(&git.join("config"), "\n[include]\npath = ~/more\n");
                }
                "an included file behind quotes and a comment" => {
                    put(odd, &repo.beside("more"));
                    add_to(&git.join("config"), "\n[include]\npath = \"../..\"/more # a comment\n");
                }
                "an included file on two lines" => {
                    put(odd, &repo.beside("more"));
                    add_to(&git.join("config"), "\n[include]\npath = ../../mo\\\nre\n");
                }
                "the index of a repository around" | "the branch of a repository around" => {
                    let inner = repo.path().join("inner");
                    crate::support::git(&repo.path(), &["clone", "-q", "--bare", ".", "inner"]);
                    put(odd, &git.join(if name.contains("index") { "index" } else { "refs/heads/topic" }));
                    judged = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]).arg(inner);
                }
                "HEAD behind a gitfile" => {
                    std::fs::rename(&git, repo.beside("git")).unwrap();
                    std::fs::write(&git, "gitdir: ../git\n").unwrap();
                    put(odd, &repo.beside("git").join("HEAD"));
                }
                name => put(odd, &git.join(name)),
            }
            let judged = judged.env("HOME", repo.beside(""));
            let outcome = judged.run().expect_code(3, "REPOSITORY_UNSAFE");
            assert!(
                outcome.stderr.contains("a pipe, a device or a socket"),
                "{odd:?} {name}: {}",
                outcome.stderr
            );
        }
    }
}

/// So many conflicts, one below the other.
fn conflicts(count: usize) -> String {
    conflict().repeat(count)
}

#[test]
fn a_text_made_of_faults_is_counted_and_costs_little() {
    let repo = change(&[("a.py", "1\n")], &[("a.py", "1\n"), ("tokens.py", &tokens(16_000))]);
    let outcome = repo.judge().run().expect(1);
    let run = repo.run_dir();
    let listed = run.findings().len();
    assert!((200..300).contains(&listed), "{listed} are listed");
    assert!(peak(&repo) < MEMORY_KIB / 4, "{} KiB", peak(&repo));
    let verdict = run.json("final-verdict.json");
    let found: u64 = run.json("metrics.json")["findingsBySeverity"]["critical"].as_u64().unwrap();
    assert!(found > 15_000, "every token counts: {found}");
    assert!(outcome.text().contains("FAIL") && outcome.text().contains(",0"), "{}", outcome.text());
    assert!(verdict["warningCodes"].as_array().unwrap().contains(&"FINDINGS_UNLISTED".into()), "{verdict}");
    assert_eq!(run.json("coverage.json")["incompleteCells"], 0);
    run.verify().run().expect(0);
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
}

#[test]
fn seven_megabytes_of_tokens_take_memory_by_their_bytes() {
    let text = tokens(150_000);
    assert!(text.len() > 7_000_000, "{}", text.len());
    let repo = change(&[("a.py", "1\n")], &[("a.py", "1\n"), ("tokens.py", &text)]);
    repo.judge().run().expect(1);
    assert!(peak(&repo) < MEMORY_KIB / 3, "{} KiB", peak(&repo));
    let found = repo.run_dir().json("metrics.json")["findingsBySeverity"]["critical"].as_u64().unwrap();
    assert!(found > 149_000, "every token counts: {found}");
    assert_eq!(repo.run_dir().json("coverage.json")["incompleteCells"], 0);
}

#[test]
fn what_is_not_listed_cannot_hide_what_blocks() {
    // Moved text does not block; a new fault below more of it than is listed does.
    let moved = conflicts(150);
    let clean = change(&[("old.py", &moved)], &[("new.py", &moved)]);
    clean.judge().run().expect(0);
    let many = conflicts(300);
    let repo = change(&[("old.py", &many)], &[("new.py", &format!("{many}{}", conflict()))]);
    repo.judge().run().expect(1);

    // Places that only advise come first, and more of them than a run lists.
    let policy = "version = 1\n[rules.\"merge-leftover/conflict-marker\".scopes]\ntest = \"advise\"\n";
    let base = Files::from_texts(&[(".qa-skill/policy.toml", policy), ("a.py", "1\n")]);
    let tests = (0..60)
        .fold(base.clone(), |files, number| files.with(format!("tests/test_{number:02}.py"), conflicts(190)));
    let repo = Repo::new();
    repo.change(&base, &tests);
    repo.judge().run().expect(0);
    let repo = Repo::new();
    repo.change(&base, &tests.with("zz.py", conflict()));
    let outcome = repo.judge().run().expect(1);
    assert!(outcome.text().contains("zz.py"), "what blocks is listed first: {}", outcome.text());
    let run = repo.run_dir();
    assert!(run.findings().len() <= 5_100, "{} are listed", run.findings().len());
    run.verify().run().expect(0);
}

#[test]
fn size_hides_neither_a_text_named_as_an_asset_nor_a_small_head() {
    let line = "a = 1\n";
    let large = line.repeat((9 << 20) / line.len());
    let mut opaque = vec![0; 9 << 20];
    opaque[..8].copy_from_slice(b"\x89PNG\r\n\x1a\n");
    let start = Files::from_texts(&[("b.py", "b = 1\n")]);
    let cases: [(&str, Files, Files, i32); 5] = [
        ("a text named as a picture", start.clone(), start.clone().with("a.png", &large), 3),
        ("a picture", start.clone(), start.clone().with("a.png", &opaque), 0),
        ("a picture goes", start.clone().with("a.png", &opaque), start.clone(), 0),
        (
            "a large text shrinks",
            start.clone().with("a.py", &large),
            start.clone().with("a.py", conflict()),
            1,
        ),
        ("a large text goes", start.clone().with("a.py", &large), start.clone(), 3),
    ];
    for (what, base, head, exit) in cases {
        let repo = Repo::new();
        repo.change(&base, &head.with("b.py", "b = 2\n"));
        let outcome = repo.judge().run();
        assert_eq!(outcome.exit, exit, "{what}: {}{}", outcome.text(), outcome.stderr);
    }
}

#[test]
fn no_link_of_the_checkout_is_written_through() {
    let repo = change(&[("a.py", "a = 1\n")], &[("a.py", "a = 2\n")]);
    let outside = repo.beside("outside");
    std::fs::create_dir_all(outside.join("directory")).unwrap();
    std::fs::write(outside.join("file"), "mine").unwrap();
    std::os::unix::fs::symlink(outside.join("file"), repo.path().join("report.html")).unwrap();
    std::os::unix::fs::symlink(outside.join("nothing"), repo.path().join("new.html")).unwrap();
    std::os::unix::fs::symlink(outside.join("directory"), repo.path().join("out")).unwrap();
    let run = || qa_skill(["run", "--base", "main", "--head", "topic"]).within(&repo.path());
    for format in ["html=report.html", "html=new.html", "html=out/report.html"] {
        let outcome = run().arg("--out").arg(repo.beside("runs")).arg("--format").arg(format).run();
        outcome.expect_code(3, "ARTIFACT_WRITE_FAILED");
    }
    run().arg("--out").arg("out/qa").run().expect_code(3, "ARTIFACT_ROOT_UNSAFE");
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "mine");
    assert!(!outside.join("nothing").exists());
    assert_eq!(std::fs::read_dir(outside.join("directory")).unwrap().count(), 0);
}
