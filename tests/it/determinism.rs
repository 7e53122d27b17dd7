//! One change, judged under every circumstance that must not matter: one key, one digest, the same bytes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::{
    Files, Program, Random, Repo, RunDir, conflict, copy_tree, git, own_pids, qa_skill, temp, token,
};

pub(crate) fn lines(seed: &str, count: usize) -> String {
    (0..count).map(|line| format!("let {seed}_{line} = {};\n", line * 7)).collect()
}

pub(crate) fn utf16(text: &str) -> Vec<u8> {
    let mut bytes = vec![0xff, 0xfe];
    bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
    bytes
}

/// A change with something of everything, and more files than one worker takes at a time.
fn rich() -> Repo {
    let repo = Repo::new();
    let mut base = Files::from_texts(&[
        ("src/gone.py", "print('gone')\n"),
        ("lib/exact.js", &lines("exact", 30)),
        ("lib/inexact.go", &lines("inexact", 30)),
        ("tool.sh", "#!/bin/sh\n"),
        ("docs/crlf.txt", "one\r\ntwo\r\n"),
        ("nofinal.txt", "no final newline"),
        ("tests/test_a.py", "def test_a():\n    assert 1 == 1\n"),
    ])
    .with("utf16.txt", utf16("one\ntwo\n"))
    .with(b"caf\xe9.txt", "latin\n")
    .with("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    .mode("120000", "link", "src/a0.rs");
    let mut head = base
        .clone()
        .without("src/gone.py")
        .without("lib/exact.js")
        .without("lib/inexact.go")
        .with("lib/moved.js", lines("exact", 30))
        .with("lib/inexact2.go", lines("inexact", 28) + "let other = 1;\n")
        .mode("100755", "tool.sh", "#!/bin/sh\n")
        .mode("120000", "link", "src/a1.rs")
        .with("docs/crlf.txt", "one\r\nthree\r\n")
        .with("nofinal.txt", "still no final newline")
        .with("utf16.txt", utf16("one\nthree\n"))
        .with(b"caf\xe9.txt", b"latin \xe9\n")
        .with("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\x0eIHDR")
        .with("src/config.py", format!("TOKEN = \"{}\"\n", token()))
        .with("src/conflict.py", conflict())
        .with("src/bidi.rs", "// \u{202e} } \u{2066}\n")
        .with("tests/test_a.py", "import pytest\n\n@pytest.mark.skip\ndef test_a():\n    assert True\n")
        .with(".gitattributes", "* -diff -text binary\n");
    for number in 0..60 {
        let path = format!("src/a{number}.rs");
        base = base.with(&path, lines("a", 40));
        head = head.with(&path, lines("a", 20) + &format!("breakpoint({number});\n") + &lines("b", 20));
    }
    let root = repo.commit(repo.tree(&Files::from_texts(&[("README", "root\n")])), &[]);
    let base = repo.commit(repo.tree(&base), &[root]);
    let head = repo.commit(repo.tree(&head), &[base]);
    repo.reference("refs/heads/main", base);
    repo.reference("refs/heads/topic", head);
    repo
}

struct Case {
    name: String,
    program: Program,
    out: PathBuf,
}

struct Cases {
    home: tempfile::TempDir,
    repo: PathBuf,
    cases: Vec<Case>,
}

impl Cases {
    fn out(&self) -> PathBuf {
        self.home.path().join(format!("out{}", self.cases.len()))
    }

    /// A run of a repository with a change to how the program is called.
    fn add(&mut self, name: &str, repo: &Path, change: impl FnOnce(Program) -> Program) {
        let out = self.out();
        let program = qa_skill(["run", "--base", "main", "--head", "topic", "--repo"]);
        let program = change(program.arg(repo).arg("--out").arg(&out));
        self.cases.push(Case { name: name.to_owned(), program, out });
    }

    fn call(&mut self, name: &str, change: impl FnOnce(Program) -> Program) {
        let repo = self.repo.clone();
        self.add(name, &repo, change);
    }

    fn copy(&mut self, name: &str, to: &str, change: impl FnOnce(&Path)) {
        let copy = self.home.path().join(to);
        copy_tree(&self.repo, &copy);
        change(&copy);
        self.add(name, &copy, |program| program);
    }
}

fn places(cases: &mut Cases) {
    cases.copy("a path of 150 characters", &"long/".repeat(30), |_| {});
    cases.copy("a path with spaces", "with some  spaces", |_| {});
    cases.copy("a path that is not ASCII", "ünïcödé/日本", |_| {});
    let link = cases.home.path().join("link");
    std::os::unix::fs::symlink(&cases.repo, &link).unwrap();
    cases.add("a path through a link", &link, |program| program);
    let (repo, inside) = (cases.repo.clone(), cases.repo.join("deeper"));
    std::fs::create_dir(&inside).unwrap();
    cases.add("a directory inside the checkout", &inside, |program| program);
    cases.add("the current directory", Path::new("."), |program| program.within(&repo));
}

fn storage(cases: &mut Cases) {
    let mirror = |cases: &mut Cases, name: &str, options: &[&str], scheme: &str| {
        let to = cases.home.path().join(format!("mirror{}", cases.cases.len()));
        let from = format!("{scheme}{}", cases.repo.display());
        let arguments = [&["clone", "-q", "--mirror"], options, &[&from, to.to_str().unwrap()]].concat();
        git(cases.home.path(), &arguments);
        cases.add(name, &to, |program| program);
    };
    mirror(cases, "a bare mirror", &[], "");
    mirror(cases, "objects in an alternate", &["--shared"], "");
    mirror(cases, "shallow, with the base", &["--depth", "2", "--no-single-branch"], "file://");
    cases.copy("packed", "packed", |copy| git(copy, &["gc", "-q", "--prune=now"]));
    cases.copy("packed deep with a commit graph", "packed-deep", |copy| {
        git(copy, &["repack", "-q", "-a", "-d", "-f", "--depth=250", "--window=50"]);
        git(copy, &["commit-graph", "write", "--reachable"]);
    });
    cases.copy("base checked out", "at-base", |copy| git(copy, &["checkout", "-q", "-f", "main"]));
    cases.copy("head checked out", "at-head", |copy| git(copy, &["checkout", "-q", "-f", "topic"]));
    cases.copy("a dirty checkout", "dirty", |copy| {
        git(copy, &["checkout", "-q", "-f", "topic"]);
        std::fs::write(copy.join(".gitattributes"), "* binary filter=evil diff=evil\n").unwrap();
        std::fs::write(copy.join("src/a0.rs"), "dirty\n").unwrap();
        std::fs::create_dir_all(copy.join(".qa-skill")).unwrap();
        std::fs::write(copy.join(".qa-skill/policy.toml"), "preset = \"advisory\"\n").unwrap();
        std::fs::remove_file(copy.join("src/a1.rs")).unwrap();
    });
    let tree = cases.home.path().join("linked");
    cases.copy("beside a linked worktree", "has-linked", |copy| {
        git(copy, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap(), "main"]);
    });
    cases.add("a linked worktree", &tree, |program| program);
    cases.copy("configured by its owner", "configured", |copy| {
        let config = "[core]\nautocrlf = true\nquotePath = true\nignoreCase = true\nprecomposeUnicode = true\n\
             [diff]\nalgorithm = patience\nrenames = false\nnoprefix = true\ncontext = 0\n[i18n]\ncommitEncoding = latin1\n";
        let path = copy.join(".git/config");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(path, before + config).unwrap();
    });
}

fn environments(cases: &mut Cases) {
    for zone in ["UTC", "Asia/Kathmandu", "America/St_Johns", "Pacific/Chatham"] {
        cases.call(zone, |program| program.env("TZ", zone));
    }
    for locale in ["C", "C.UTF-8", "tr_TR.UTF-8", "de_DE", "ar_EG"] {
        cases.call(locale, |program| program.env("LC_ALL", locale).env("LANG", locale));
    }
    for mask in ["000", "022", "077"] {
        let script = format!("umask {mask}; exec \"$@\"");
        cases.call(&format!("umask {mask}"), |program| program.under(["sh", "-c", &script, "sh"]));
    }
    for jobs in ["1", "2", "4", "16"] {
        cases.call(&format!("{jobs} jobs"), |program| program.args(["--jobs", jobs]));
    }
    let home = cases.home.path().join("home");
    std::fs::create_dir(&home).unwrap();
    let config = "[core]\nautocrlf = true\nattributesFile = ~/attributes\n[diff]\nalgorithm = histogram\nrenames = copies\nmnemonicPrefix = true\n[safe]\ndirectory = /nowhere\n";
    std::fs::write(home.join(".gitconfig"), config).unwrap();
    std::fs::write(home.join("attributes"), "* -diff\n").unwrap();
    cases.call("a HOME with a configuration", |program| program.env("HOME", &home));
    cases.call("a HOME that is not there", |program| program.env("HOME", "/does/not/exist"));
    cases.call("no PATH", |program| program.under(["env", "-u", "PATH"]));
    cases.call("one core", |program| program.under(["taskset", "-c", "0"]));
    cases.call("no address randomisation", |program| program.under(["setarch", "-R"]));
    cases.call("no colour", |program| program.env("NO_COLOR", "1").env("TERM", "dumb"));
    cases.call("forced colour", |program| {
        program.env("CLICOLOR_FORCE", "1").env("COLUMNS", "43").args(["--color", "always"])
    });
    cases.call("other commits by environment", |program| {
        [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
            "GIT_NAMESPACE",
            "GIT_COMMON_DIR",
        ]
        .iter()
        .fold(program, |program, name| program.env(name, "/does/not/exist"))
    });
    cases.call("configuration by environment", |program| {
        let pairs = [("COUNT", "1"), ("KEY_0", "diff.algorithm"), ("VALUE_0", "minimal")];
        let program = pairs
            .iter()
            .fold(program, |program, (name, value)| program.env(format!("GIT_CONFIG_{name}"), value));
        program.env("GIT_EXTERNAL_DIFF", "false").env("GIT_ATTR_SOURCE", "topic")
    });
    let mut random = Random(20_240_501);
    cases.call("fifty random variables", |program| {
        (0..50).fold(program, |program, _| {
            program.env(format!("V{:x}", random.next()), format!("{:x}", random.next()))
        })
    });
    cases.call("another format", |program| program.args(["--format", "sarif", "--quiet"]));
}

fn roots(cases: &mut Cases) {
    let other = crate::support::change(&[("a", "1\n")], &[("a", "2\n")]);
    let out = cases.out();
    qa_skill(["run", "--base", "main"])
        .arg("--repo")
        .arg(other.path())
        .arg("--out")
        .arg(&out)
        .run()
        .expect(0);
    std::fs::remove_dir_all(crate::support::runs_in(&out).remove(0)).unwrap();
    cases.call("a root that was used", |program| program);
    let out = cases.out();
    std::fs::create_dir_all(out.join("runs/.tmp-0000-4194305/recordings")).unwrap();
    std::fs::write(out.join("runs/.tmp-0000-4194305/change-set.json"), "{").unwrap();
    cases.call("a root with an interrupted run", |program| program);
    let out = cases.out();
    std::fs::create_dir_all(out.join("runs")).unwrap();
    std::fs::write(out.join("runs/.gitignore"), "").unwrap();
    std::fs::write(out.join("other"), "").unwrap();
    cases.call("a root with strangers", |program| program);
}

#[test]
fn nothing_but_the_change_and_the_policy_matters() {
    let repo = rich();
    let mut cases = Cases { home: temp(), repo: repo.path(), cases: Vec::new() };
    cases.call("plain", |program| program);
    environments(&mut cases);
    places(&mut cases);
    storage(&mut cases);
    roots(&mut cases);
    assert!(cases.cases.len() >= 40, "only {} combinations", cases.cases.len());

    let mut first: Option<(PathBuf, BTreeMap<String, String>, String)> = None;
    let mut faults = Vec::new();
    for case in &cases.cases {
        let outcome = case.program.run();
        assert_eq!(outcome.exit, 1, "{}: {}", case.name, outcome.stderr);
        let run = RunDir::only(&case.out);
        let key = PathBuf::from(run.0.file_name().unwrap());
        let this = (key, run.digests(), run.run_digest());
        let Some(first) = &first else {
            first = Some(this);
            continue;
        };
        let files = this.1.iter().filter(|(path, digest)| first.1.get(*path) != Some(digest));
        let differ: Vec<&String> = files.map(|(path, _)| path).collect();
        if this != *first {
            faults.push(format!("{}: key {:?}, other files {differ:?}", case.name, this.0));
        }
    }
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    println!("{} combinations, one result", cases.cases.len());

    let run = RunDir::only(&cases.cases[0].out);
    let findings = run.findings();
    for expected in ["src/config.py:1", "src/conflict.py:1", "src/bidi.rs:1"] {
        assert!(findings.iter().any(|finding| finding.ends_with(expected)), "{findings:#?}");
    }
    assert_eq!(run.json("change-set.json")["renames"]["exact"], 1);
    assert_eq!(run.json("change-set.json")["renames"]["inexact"], 1);
    run.verify().run().expect(0);
}

#[test]
fn a_hundred_runs_agree() {
    let repo = crate::support::change(&[("a.py", "a = 1\n")], &[("a.py", &conflict()), ("b.py", "b = 1\n")]);
    repo.judge().run().expect(1);
    for _ in 0..99 {
        let outcome = repo.judge().args(["--format", "json"]).run().expect(1);
        assert_eq!(outcome.stdout, repo.run_dir().bytes("skill-result.json"));
    }
}

#[test]
fn a_container_that_was_killed_does_not_lock_out_the_next_one() {
    let Some(own_pids) = own_pids() else { return };
    let repo = crate::support::judged();
    let reference = repo.run_dir().run_digest();
    std::fs::remove_dir_all(repo.beside("out")).unwrap();
    let key = RunDir::only(&{
        repo.judge().run().expect(1);
        repo.beside("out")
    });
    let short = key.0.file_name().unwrap().to_str().unwrap()[..12].to_owned();
    std::fs::remove_dir_all(&key.0).unwrap();
    // Leftovers of a killed process with PID 1, by the old and the new naming scheme.
    for name in [format!(".tmp-{short}-1"), format!(".tmp-{short}-abcdef")] {
        let left = repo.beside("out/runs").join(name);
        std::fs::create_dir_all(left.join("recordings")).unwrap();
        std::fs::write(left.join("change-set.json"), "{").unwrap();
    }
    repo.judge().under(own_pids).run().expect(1);
    assert_eq!(repo.run_dir().run_digest(), reference);
    let names: Vec<_> = std::fs::read_dir(repo.beside("out/runs")).unwrap().collect();
    assert_eq!(names.len(), 2, "the run and .gitignore: {names:?}");
}

#[test]
fn two_containers_in_one_workspace_agree_on_one_run() {
    let Some(own_pids) = own_pids() else { return };
    let repo = crate::support::judged();
    let reference = repo.run_dir().run_digest();
    for round in 0..12 {
        std::fs::remove_dir_all(repo.beside("out")).unwrap();
        let writers: Vec<_> = (0..4)
            .map(|_| {
                let mut command = repo.judge().under(own_pids).command();
                command
                    .stdout(std::process::Stdio::piped())
                    .stderr(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for writer in writers {
            let outcome = crate::support::Outcome::from_output(&writer.wait_with_output().unwrap());
            assert_eq!(outcome.exit, 1, "round {round}: {}", outcome.stderr);
        }
        assert_eq!(repo.run_dir().run_digest(), reference, "round {round}");
        let names: Vec<_> = std::fs::read_dir(repo.beside("out/runs")).unwrap().collect();
        assert_eq!(names.len(), 2, "round {round}: {names:?}");
    }
}
