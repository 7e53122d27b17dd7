//! Tests that staged content and working trees are judged as commits of them would be, and that nothing of them is kept.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use git2::{ObjectType, Oid};
use serde_json::Value;

use crate::gates_run::{EXECUTION, Scene, kinds, runs};
use crate::support::answers::CHAT;
use crate::support::reviews::{self, findings};
use crate::support::{Outcome, Program, Server, conflict, git, qa_skill, temp, token};

/// A checkout with a commit, and what a script makes of it.
struct Case {
    name: &'static str,
    /// Runs before the commit.
    base: &'static str,
    /// Runs after the commit.
    change: &'static str,
}

const CASES: &[Case] = &[
    Case { name: "edits", base: "", change: "cp $CONFLICT a.py; echo b = 2 > src/b.py; rm src/c.py" },
    Case { name: "renames", base: "", change: "mv src/b.py src/moved.py; git mv a.py b.py; echo x >> b.py" },
    Case {
        name: "modes",
        base: "",
        change: "chmod +x a.py; git add a.py; chmod +x src/b.py; chmod 600 src/c.py",
    },
    Case {
        name: "modes that are not trusted",
        base: "git config core.fileMode false",
        change: "chmod +x a.py; echo x >> a.py; printf '#!/bin/sh\n' > run.sh; chmod +x run.sh",
    },
    Case {
        name: "links",
        base: "ln -s a.py link; ln -s src dir; ln -s a.py turned",
        change: "ln -sf src/b.py link; rm dir; mkdir dir; echo x > dir/x; rm turned; echo t > turned; \
                 ln -sf /etc/passwd a.py; ln -s nowhere dangling",
    },
    Case {
        name: "binary",
        base: "printf 'a\\0b' > bin",
        change: "printf 'a\\0c' > bin; printf '\\0' > new.bin",
    },
    Case {
        name: "line ends by attributes",
        base: "printf '*.txt text\n*.sh text eol=lf\n*.dat -text\n*.id ident\n' > .gitattributes; printf 'a\r\n' > d.dat",
        change: "printf 'one\r\ntwo\r\n' > t.txt; printf 'x\r\n' > s.sh; printf 'b\r\n' > d.dat; \
                 printf '$Id: 123$\n' > k.id; git add t.txt; printf 'three\r\n' >> t.txt",
    },
    Case {
        name: "line ends by configuration",
        base: "printf 'lf\n' > lf.txt; printf 'old\r\n' > crlf.txt; git add -A; git config core.autocrlf true",
        change: "printf 'lf\r\nmore\r\n' > lf.txt; printf 'old\r\nmore\r\n' > crlf.txt; printf 'n\r\n' > new.txt",
    },
    Case {
        name: "ignored files",
        base: "printf 'build/\n*.log\n!keep.log\n' > .gitignore; echo t > tracked.log; git add -f tracked.log",
        change: "mkdir build; cp $TOKEN build/x; cp $TOKEN y.log; echo k > keep.log; echo u >> tracked.log; \
                 echo local > .git/info/exclude; cp $TOKEN local; mkdir empty sub; echo s > sub/.gitignore",
    },
    Case {
        name: "nested repositories",
        base: "",
        change: "git init -q in/ner; git -C in/ner commit -q --allow-empty -m x; echo y > in/ner/y; echo z > in/z",
    },
    Case {
        name: "submodules",
        base: "git init -q ../s; git -C ../s commit -q --allow-empty -m 1; git clone -q ../s moved; \
               git clone -q ../s gone; git clone -q ../s same; git clone -q ../s empty; git clone -q ../s file",
        change: "git -C moved commit -q --allow-empty -m 2; rm -rf gone; echo dirt > same/dirt; \
                 rm -rf empty; mkdir empty; rm -rf file; echo f > file",
    },
    Case {
        name: "files that become directories",
        base: "mkdir d; echo x > d/x; echo y > d/y",
        change: "rm a.py; mkdir a.py; echo in > a.py/in; rm -r d; cp $TOKEN d",
    },
    Case {
        name: "paths without content",
        base: "",
        change: "echo n > n.py; echo m > src/m.py; : > e.py; git add -N n.py src/m.py e.py; rm src/m.py",
    },
    Case {
        name: "entries that are not compared",
        base: "for f in 1 2 3 4; do echo $f > $f; done",
        change: "git update-index --assume-unchanged 1 2; git update-index --skip-worktree 3 4; \
                 echo x > 1; rm 2; echo x > 3; rm 4; echo 5 > 5",
    },
    Case {
        name: "a sparse checkout",
        base: "mkdir in out; echo 1 > in/1; echo 1 > out/1; echo 2 > out/2",
        change: "git sparse-checkout set --no-sparse-index in; echo 2 > in/2; mkdir -p out; echo 3 > out/2",
    },
    Case {
        name: "changes on top of what is staged",
        base: "",
        change: "cp $CONFLICT a.py; git add a.py; echo a = 3 > a.py; echo s > s; git add s; cp $TOKEN s; \
                 git rm -q --cached src/b.py; rm src/c.py; git add src/c.py; echo back > src/c.py",
    },
    Case {
        name: "names",
        base: "",
        change: "echo 1 > -dash; echo 2 > 'new\nline'; echo 3 > $'latin\\xe9'; echo 4 > ' space '; echo 5 > 'q\"uote\\'; \
                 mkdir 'Ümlaut'; echo 6 > 'Ümlaut/é'; echo 7 > ':(top)x'; echo 8 > '*'",
    },
    Case {
        name: "a touched file",
        base: "",
        change: "sleep 0.01; touch a.py; cp src/b.py b; mv b src/b.py; : > empty",
    },
    Case {
        name: "a merge in progress",
        base: "",
        change: "git checkout -q -b other; echo o > o.py; git add o.py; git commit -q -m o; git checkout -q -; \
                 echo a = 5 > a.py; git commit -q -am a; git merge -q --no-commit --no-ff other; echo m >> o.py",
    },
    Case {
        name: "a policy that is not committed",
        base: "",
        change: "mkdir .qa-skill; echo 'preset = \"advisory\"' > .qa-skill/policy.toml; cp $TOKEN t; git add .",
    },
];

/// Environment of git, which has nothing of the account.
const GIT: [(&str, &str); 9] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_AUTHOR_NAME", "A U Thor"),
    ("GIT_AUTHOR_EMAIL", "a@example.com"),
    ("GIT_AUTHOR_DATE", "1714564800 +0000"),
    ("GIT_COMMITTER_NAME", "A U Thor"),
    ("GIT_COMMITTER_EMAIL", "a@example.com"),
    ("GIT_COMMITTER_DATE", "1714564800 +0000"),
    ("GIT_ADVICE", "0"),
];

/// A checkout in a directory of its own.
pub(crate) struct Checkout {
    home: tempfile::TempDir,
}

impl Checkout {
    /// A checkout with a commit of a few files, and those of a script.
    pub(crate) fn new(base: &str) -> Self {
        let checkout = Self { home: temp() };
        for (name, text) in [("conflict", conflict()), ("token", format!("key = \"{}\"\n", token()))] {
            std::fs::write(checkout.home.path().join(name), text).unwrap();
        }
        std::fs::create_dir(checkout.path()).unwrap();
        checkout.run("git init -q -b topic; echo a = 1 > a.py; mkdir src; echo b = 1 > src/b.py; echo c = 1 > src/c.py");
        checkout.run(base);
        checkout.run("git add -A; git commit -q -m base");
        checkout
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.home.path().join("repo")
    }

    /// Runs a script, and returns its output.
    pub(crate) fn run(&self, script: &str) -> String {
        run_in(&self.path(), self.home.path(), script)
    }

    pub(crate) fn program(&self, arguments: &[&str]) -> Program {
        GIT.iter()
            .fold(qa_skill(arguments).within(&self.path()), |program, (name, value)| program.env(name, value))
    }

    /// Copies the checkout, with the times of its files.
    pub(crate) fn copy(&self) -> PathBuf {
        let copy = self.home.path().join("copy");
        run_in(self.home.path(), self.home.path(), "rm -rf copy; cp -a repo copy");
        copy
    }

    /// Names and bytes of every file, those of the git directory too.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut pending = vec![self.path()];
        while let Some(path) = pending.pop() {
            let found = std::fs::symlink_metadata(&path).unwrap();
            if found.is_dir() {
                pending.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                files.insert(path, Vec::new());
            } else if found.is_symlink() {
                let target = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                files.insert(path, target);
            } else if found.is_file() {
                let bytes = std::fs::read(&path).unwrap();
                files.insert(path, bytes);
            }
        }
        files
    }
}

fn run_in(directory: &Path, home: &Path, script: &str) -> String {
    let output = Command::new("bash")
        .args(["-euc", script])
        .current_dir(directory)
        .envs(GIT)
        .env("CONFLICT", home.join("conflict"))
        .env("TOKEN", home.join("token"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// Stages what an option judges, and returns the tree.
fn git_tree(copy: &Path, option: &str) -> String {
    let stage = if option == "--worktree" { "git add -A 2> ../warnings; " } else { "" };
    run_in(copy, copy.parent().unwrap(), &format!("{stage}git write-tree"))
}

/// Returns the id of the commit that stands for a tree on top of parents.
fn stand_in(tree: &str, parents: &[String]) -> String {
    let parents: String = parents.iter().map(|parent| format!("parent {parent}\n")).collect();
    let who = "qa-skill <qa-skill> 1714564800 +0000";
    let text = format!("tree {tree}\n{parents}author {who}\ncommitter {who}\n\nuncommitted content");
    Oid::hash_object(ObjectType::Commit, text.as_bytes()).unwrap().to_string()
}

/// Findings, plans with their hunks, and the verdict of a result, without what names the commit.
fn judgement(outcome: &Outcome) -> Value {
    let mut result: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    let notes = ["STAGED_JUDGED", "WORKTREE_JUDGED"];
    let warnings = result["finalVerdict"]["warningCodes"].as_array_mut().unwrap();
    warnings.retain(|code| !notes.contains(&code.as_str().unwrap()));
    let text = serde_json::to_string(&result).unwrap();
    let key = result["executionKey"].as_str().unwrap();
    let input = result["normalizedInputHash"].as_str().unwrap();
    serde_json::from_str(&text.replace(key, "KEY").replace(input, "INPUT")).unwrap()
}

#[test]
fn uncommitted_content_is_judged_as_its_commit_would_be() {
    for Case { name, base, change } in CASES {
        let checkout = Checkout::new(base);
        checkout.run(change);
        let parents: Vec<String> = checkout
            .run("git rev-parse HEAD; cat .git/MERGE_HEAD 2> /dev/null || true")
            .lines()
            .map(str::to_owned)
            .collect();
        for option in ["--staged", "--worktree"] {
            let copy = checkout.copy();
            let tree = git_tree(&copy, option);
            let before = checkout.files();
            let plan = checkout.program(&["plan", option]).run().expect(0).text();
            let expected = stand_in(&tree, &parents);
            assert!(
                plan.contains(&format!(" to {}\n", &expected[..12])),
                "{name} {option}: tree {tree} in\n{plan}"
            );
            let uncommitted = checkout.program(&["run", option, "--format=json", "--quiet"]).run();
            assert!(before == checkout.files(), "{name} {option}: a file changed");

            let parents: String = parents.iter().map(|parent| format!("-p {parent} ")).collect();
            let commit =
                run_in(&copy, checkout.home.path(), &format!("git commit-tree {tree} {parents} -m x"));
            let committed = Checkout::committed(&copy, &parents, &commit);
            assert_eq!(uncommitted.exit, committed.exit, "{name} {option}");
            assert_eq!(judgement(&uncommitted), judgement(&committed), "{name} {option}");
        }
    }
}

impl Checkout {
    /// Judges a commit on top of the first of its parents.
    fn committed(copy: &Path, parents: &str, commit: &str) -> Outcome {
        let base = parents.split(' ').nth(1).unwrap();
        qa_skill(["run", "--base", base, "--head", commit, "--format=json", "--quiet"]).within(copy).run()
    }
}

/// Content that cannot be judged, with the options that refuse it and words of the message.
struct Refused {
    change: &'static str,
    options: &'static [&'static str],
    words: &'static [&'static str],
}

const REFUSED: &[Refused] = &[
    Refused {
        change: "git checkout -q -b other; echo a = 2 > a.py; git commit -qam o; git checkout -q -; \
                 echo a = 3 > a.py; git commit -qam t; git merge -q other || true",
        options: &["--staged", "--worktree"],
        words: &["a.py has a merge conflict", "resolve the conflicts"],
    },
    Refused {
        change: "printf '*.nb filter=strip\n' > .gitattributes; git config filter.strip.clean cat; echo x > x.nb",
        options: &["--worktree"],
        words: &["x.nb passes a program", "the filter `strip`", "--staged"],
    },
    Refused {
        change: "printf '*.big filter=lfs\n' > .gitattributes; git config filter.lfs.clean 'git-lfs clean -- %f'; \
                 echo x > x.big",
        options: &["--worktree"],
        words: &["x.big passes a program", "the filter `lfs`", "--staged"],
    },
    Refused {
        change: "echo x.py > rules; ln -s rules .gitignore; echo x > x.py",
        options: &["--worktree"],
        words: &[".gitignore is a link", "--staged"],
    },
    Refused {
        change: "git config 'includeIf.hasconfig:remote.*.url:x.path' ../other; echo x > x.py",
        options: &["--worktree"],
        words: &["`includeIf` with `hasconfig`", "--staged"],
    },
    Refused {
        change: "printf '*.u working-tree-encoding=UTF-16\n' > .gitattributes; echo x > x.u",
        options: &["--worktree"],
        words: &["x.u in another encoding", "--staged"],
    },
    Refused {
        change: "git init -q inner; echo x > inner/x",
        options: &["--worktree"],
        words: &["the repository in inner has no commit", "commit in it"],
    },
    Refused {
        change: "rm a.py; mkfifo a.py",
        options: &["--worktree"],
        words: &["a.py is a pipe", "remove it"],
    },
    Refused {
        change: "git update-index --split-index",
        options: &["--staged", "--worktree"],
        words: &["the index cannot be read", "--no-split-index"],
    },
];

#[test]
fn what_git_would_not_commit_as_it_stands_is_refused_with_a_way_out() {
    for Refused { change, options, words } in REFUSED {
        let checkout = Checkout::new("");
        checkout.run(change);
        for option in *options {
            let outcome = checkout.program(&["run", option]).run().expect_code(3, "NOT_COMMITTABLE");
            for word in *words {
                assert!(outcome.stderr.contains(word), "`{word}` is not in {}", outcome.stderr);
            }
        }
    }
    let checkout = Checkout::new("");
    let index = checkout.home.path().join("index");
    std::fs::copy(checkout.path().join(".git/index"), &index).unwrap();
    let elsewhere = checkout.program(&["run", "--staged"]).env("GIT_INDEX_FILE", &index).run();
    let elsewhere = elsewhere.expect_code(3, "NOT_COMMITTABLE");
    assert!(elsewhere.stderr.contains("unset GIT_INDEX_FILE"), "{}", elsewhere.stderr);
    let bare = checkout.program(&["run", "--staged", "--repo", ".git/bare"]);
    checkout.run("git init -q --bare .git/bare");
    let bare = bare.run().expect_code(3, "NOT_COMMITTABLE");
    assert!(bare.stderr.contains("a bare repository has no index"), "{}", bare.stderr);
}

#[test]
fn rules_that_are_a_pipe_are_refused_before_anything_waits_for_a_writer() {
    for (change, named) in [
        ("mkfifo .gitignore", "/.gitignore"),
        ("mkdir new; mkfifo new/.gitignore; echo x > new/x", "new/.gitignore"),
        ("mkfifo rules; ln -s rules .gitattributes", "/.gitattributes"),
        ("mkfifo rules; git config core.excludesFile \"$PWD/rules\"", "/rules"),
        ("mkdir -p .git/info; rm -f .git/info/exclude; mkfifo .git/info/exclude", "info/exclude"),
    ] {
        let checkout = Checkout::new("");
        checkout.run(change);
        let outcome = checkout.program(&["run", "--worktree"]).run().expect_code(3, "REPOSITORY_UNSAFE");
        assert!(outcome.stderr.contains(named), "{change}: {}", outcome.stderr);
    }
}

#[test]
fn files_in_a_directory_that_cannot_be_read_are_not_taken_for_none() {
    for (change, named) in [
        ("mkdir -p new/deep && cp a.py new/deep/b.py && chmod 000 new/deep", "new/deep"),
        ("mkdir old && cp a.py old && git add old && echo 'x = 2' > old/a.py && chmod 000 old", "old"),
    ] {
        let checkout = Checkout::new("");
        checkout.run(change);
        checkout.run("echo 'y = 1' > other.py");
        let mut program = checkout.program(&["run", "--worktree"]);
        if std::fs::metadata(checkout.path()).unwrap().uid() == 0 {
            // Root reads everything, unless it may not.
            program = program.under(["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]);
        }
        let refused = program.run().expect_code(3, "NOT_COMMITTABLE");
        assert!(
            refused.stderr.contains(&format!("the directory {named} cannot be read")),
            "{}",
            refused.stderr
        );
        // What is ignored is no part of a commit.
        checkout.run(&format!("git rm -rqf --cached old || true; echo {named}/ >> .git/info/exclude"));
        program.run().expect(0);
        checkout.run(&format!("chmod 755 {named}"));
    }
}

#[test]
fn a_program_that_filters_a_file_is_not_run_and_not_needed_once_it_is_staged() {
    let checkout =
        Checkout::new("printf '*.nb filter=strip\n*.none filter=unknown\n' > .gitattributes; echo x > x.nb");
    let clean = "git config filter.strip.clean 'touch ../was-run; cat'";
    checkout.run(clean);
    checkout.run("echo y > y.none");
    // A file that did not change since it was staged is not filtered again.
    checkout.program(&["run", "--worktree"]).run().expect(0);
    checkout.run("echo y >> x.nb");
    checkout.program(&["run", "--worktree"]).run().expect_code(3, "NOT_COMMITTABLE");
    assert!(!checkout.home.path().join("was-run").exists());
    checkout.run("git add x.nb");
    checkout.program(&["run", "--staged"]).run().expect(0);
}

/// A program that makes pointers of Git LFS, by its specification.
const LFS: &str = r#"
    file=$(mktemp); cat > $file
    if [ ! -s $file ] || head -c 200 $file | grep -q '^version https://git-lfs.github.com/spec/v1$'; then cat $file
    else printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%s\nsize %s\n' \
        $(sha256sum < $file | cut -d' ' -f1) $(stat -c %s $file); fi
"#;

#[test]
fn files_of_git_lfs_are_judged_as_their_pointers() {
    let checkout = Checkout::new("");
    std::fs::write(checkout.home.path().join("lfs"), LFS).unwrap();
    checkout.run("git config filter.lfs.clean \"bash $PWD/../lfs\"; git config filter.lfs.required true");
    checkout.run("printf '*.big filter=lfs diff=lfs merge=lfs -text\n' > .gitattributes; cp $TOKEN t.big");
    checkout.run("head -c 200000 /dev/zero > z.big; : > e.big; chmod +x z.big; bash ../lfs < z.big > p.big");
    let copy = checkout.copy();
    // The name under which it is installed; nothing runs it here.
    checkout.run("git config filter.lfs.clean 'git-lfs clean -- %f'");
    let expected = stand_in(&git_tree(&copy, "--worktree"), &[checkout.run("git rev-parse HEAD")]);
    let plan = checkout.program(&["plan", "--worktree"]).run().expect(0).text();
    assert!(plan.contains(&format!(" to {}\n", &expected[..12])), "{plan}");
    // A token in the file is not in what is committed.
    checkout.program(&["run", "--worktree"]).run().expect(0);
}

#[test]
fn a_hook_judges_the_index_of_the_commit_that_is_being_made() {
    let checkout = Checkout::new("");
    let hook = format!("#!/bin/sh\nexec '{}' run --staged --quiet >&2\n", env!("CARGO_BIN_EXE_qa-skill"));
    std::fs::write(checkout.path().join(".git/hooks/pre-commit"), hook).unwrap();
    checkout.run("chmod +x .git/hooks/pre-commit; cp $CONFLICT a.py");
    let refused = |command: &str| {
        checkout.run(&format!("if git commit -q -m x {command} 2> ../said; then exit 9; fi; cat ../said"))
    };
    // Nothing is staged, and each of these commits would have the conflict.
    for command in ["--all", "a.py", "--include a.py"] {
        let said = refused(command);
        assert!(said.starts_with("FAIL  Staged changes: "), "{command}: {said}");
    }
    checkout.run("git add a.py; echo b = 2 > src/b.py; git commit -q -m b src/b.py 2> ../said");
    assert!(refused("").contains("merge-leftover/conflict-marker"));
}

#[test]
fn before_the_first_commit_the_base_is_empty() {
    let checkout = Checkout { home: temp() };
    std::fs::create_dir(checkout.path()).unwrap();
    std::fs::write(checkout.home.path().join("conflict"), conflict()).unwrap();
    checkout.run("git init -q -b topic; cp $CONFLICT a.py");
    checkout.program(&["run", "--staged"]).run().expect(3);
    let text = checkout.program(&["run", "--worktree", "--quiet"]).run().expect(1).text();
    assert!(text.starts_with("FAIL  Working tree: 1 finding blocks"), "{text}");
    assert!(text.contains("because there is no commit yet") && text.contains("head    no commit"), "{text}");
    checkout.run("git add a.py");
    let text = checkout.program(&["run", "--staged", "--quiet"]).run().expect(1).text();
    assert!(text.starts_with("FAIL  Staged changes: 1 finding blocks"), "{text}");
    checkout.program(&["run", "--staged", "--base=main"]).run().expect(3);
}

#[test]
fn options_that_need_another_head_or_a_stored_run_conflict_with_uncommitted_content() {
    let checkout = Checkout::new("");
    let conflicting: [&[&str]; 10] = [
        &["--head=HEAD"],
        &["--input=x"],
        &["--out=x"],
        &["--verify-drift"],
        &["--refresh"],
        &["--since=x"],
        &["--replies=off"],
        &["--pull-request=1"],
        &["--no-model"],
        &["--shard=1/1"],
    ];
    for content in ["--staged", "--worktree"] {
        for options in conflicting {
            let arguments = [&["run", content], options].concat();
            let outcome = checkout.program(&arguments).run().expect(2);
            assert!(outcome.stderr.contains("cannot be used with"), "{}", outcome.stderr);
        }
        let outcome = checkout.program(&["plan", content, "--format=input"]).run().expect(2);
        assert!(outcome.stderr.contains("has no input document"), "{}", outcome.stderr);
        checkout.program(&["plan", content, "--shards=2"]).run().expect(2);
        checkout.program(&["plan", content, "--head=HEAD"]).run().expect(2);
    }
    checkout.program(&["run", "--staged", "--worktree"]).run().expect(2);
    checkout.program(&["plan", "--staged", "--worktree"]).run().expect(2);
}

#[test]
fn uncommitted_content_is_sent_to_no_model_and_kept_nowhere() {
    let server = Server::start(|_| findings(CHAT, &[]));
    let repo = reviews::repository(&reviews::reviewing(CHAT, &server.url(), ""), &[("app.py", "a = 1\n")]);
    git(&repo.path(), &["checkout", "-q", "-f", "topic"]);
    std::fs::write(repo.path().join("app.py"), reviews::FAULT).unwrap();
    for option in ["--worktree", "--staged"] {
        git(&repo.path(), &["add", "app.py"]);
        let run = qa_skill(["run", option, "--format=json"]).within(&repo.path());
        let outcome = run.env("OPENAI_API_KEY", reviews::KEY).run().expect(3);
        let result: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        let codes = result["lensResults"].to_string();
        assert!(codes.contains("REVIEW_NOT_ASKED"), "{result}");
    }
    assert!(server.requests().is_empty() && !repo.path().join(".qa-skill/replies").exists());
    assert!(!repo.path().join(".qa-skill/runs").exists());
}

#[test]
fn commands_of_gates_run_on_what_is_judged() {
    let kind = &kinds()[0];
    let policy = format!("{EXECUTION}\n{}", runs(kind, true));
    let Some(scene) = Scene::new(&policy, &kind.passes) else { return };
    git(&scene.repo.path(), &["checkout", "-q", "-f", "topic"]);
    std::fs::write(scene.repo.path().join("says"), &kind.fails).unwrap();
    std::fs::write(scene.repo.path().join("src/a.py"), "a = 1\nimport b\n").unwrap();
    let judge = |option: &str| qa_skill(["run", option, "--quiet"]).within(&scene.repo.path()).run();
    let outcome = judge("--worktree").expect(1);
    assert!(outcome.text().contains("lint/error"), "{}", outcome.text());
    git(&scene.repo.path(), &["add", "src/a.py"]);
    judge("--staged").expect(0);
}

#[test]
fn a_report_that_was_there_before_is_of_another_commit() {
    let checkout = Checkout::new(
        "mkdir .qa-skill; printf '[gates.lint]\nreports = [{ path = \"r.json\", tool = \"eslint\" }]\n' > \
         .qa-skill/policy.toml; echo /r.json > .gitignore; echo 'const a = 1;' > a.js",
    );
    checkout.run("echo 'const b = 1;' >> a.js; git add a.js; echo '[]' > r.json");
    for option in ["--staged", "--worktree"] {
        let outcome = checkout.program(&["run", option, "--quiet"]).run().expect(3);
        assert!(outcome.text().contains("GATE_REPORT_STALE"), "{}", outcome.text());
    }
}

#[test]
fn ignored_files_attributes_and_line_ends_of_the_account_hold() {
    let checkout = Checkout::new("");
    let home = checkout.home.path().join("account");
    std::fs::create_dir_all(home.join(".config/git")).unwrap();
    for (name, text) in [
        (".gitconfig", "[core]\n\tautocrlf = input\n[include]\n\tpath = ~/more\n"),
        ("more", "[core]\n\tfileMode = false\n[filter \"strip\"]\n\tclean = cat\n"),
        (".config/git/ignore", "*.swp\n"),
        (".config/git/attributes", "*.raw -text\n"),
    ] {
        std::fs::write(home.join(name), text).unwrap();
    }
    checkout.run("printf 'x\r\n' > t.txt; printf 'y\r\n' > y.raw; cp $TOKEN z.swp");
    let account =
        format!("export HOME={}; unset GIT_CONFIG_GLOBAL XDG_CONFIG_HOME; git add -A", home.display());
    let copy = checkout.copy();
    let tree = run_in(&copy, checkout.home.path(), &format!("{account}; git write-tree"));
    let expected = stand_in(&tree, &[checkout.run("git rev-parse HEAD")]);
    let judge = |command: &str| {
        let program = qa_skill([command, "--worktree"]).within(&checkout.path());
        program.env("HOME", &home).env("GIT_CONFIG_NOSYSTEM", "true").run()
    };
    let plan = judge("plan").expect(0).text();
    assert!(plan.contains(&format!(" to {}\n", &expected[..12])), "{plan}");
    judge("run").expect(0);
    checkout.run("printf '*.nb filter=strip\n' > .gitattributes; echo n > n.nb");
    judge("run").expect_code(3, "NOT_COMMITTABLE");
}
