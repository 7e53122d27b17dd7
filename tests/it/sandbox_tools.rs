//! Tools people use, inside the fence and without a network; and the tree they find there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fence::{As, Yard, can_be};
use crate::support::parts::skip;
use crate::support::{Files, Repo};

fn has(program: &str) -> bool {
    let there =
        ["/usr/local/bin", "/usr/bin", "/bin"].iter().any(|place| Path::new(place).join(program).exists());
    if !there {
        skip(&format!("{program} is not installed for all users"));
    }
    there
}

/// Runs a command in the tree of `topic`, as root: whoever else could is tested elsewhere.
fn in_tree(files: &Files, options: &[&str], command: &[&str]) -> Option<String> {
    if !can_be(As::Root) {
        return None;
    }
    let repo = Repo::new();
    repo.change(&Files::new(), files);
    let yard = Yard::new(As::Root);
    let path = repo.path();
    let mut all = vec!["--repo", path.to_str().unwrap(), "--rev", "topic"];
    all.extend(options);
    Some(yard.prints(&all, command))
}

#[test]
fn the_environment_is_ours_and_the_same_everywhere() {
    let yard = Yard::new(As::Nobody);
    let printed = yard.prints(&["--env", "CI=1"], &["sh", "-c", "env | sort; umask; pwd; ls -A ~ $TMPDIR"]);
    let private = yard.path("scratch");
    let lines: Vec<String> = printed
        .lines()
        .map(|line| line.replace(private.to_str().unwrap(), "@"))
        .map(|line| {
            line.split("qa-skill-room").next().unwrap().to_owned() + line.rsplit('/').next().unwrap_or("")
        })
        .collect();
    let text = lines.join("\n");
    for expected in ["CI=1", "LC_ALL=C.UTF-8", "TZ=UTC", "HOME=@/home", "TMPDIR=@/tmp", "0022", "@/tree"] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    let names: Vec<&str> = printed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert_eq!(names, ["CI", "HOME", "LC_ALL", "LOGNAME", "PATH", "PWD", "TMPDIR", "TZ", "USER"]);
}

#[test]
fn a_tree_is_written_from_objects_as_they_are() {
    let files = Files::new()
        .with("dir/file", "text\r\n")
        .mode("100755", "run", "#!/bin/sh\necho ran\n")
        .mode("120000", "dir/inside", "../run")
        .mode("120000", "outside", "/etc/passwd")
        .mode("120000", "above", "dir/../../x")
        .object("160000", "module", git2::Oid::from_str(&"1".repeat(40)).unwrap())
        // Nothing of these is obeyed: not the line ends, not the filter.
        .with(".gitattributes", "* text eol=lf filter=evil\n")
        .with(".gitmodules", "[submodule \"module\"]\n\tpath = module\n\turl = ext::touch /tmp/evil\n");
    let script =
        "find . | sort; stat -c '%n %a %Y' dir dir/file run; cat dir/inside | head -1; ./run; od -c dir/file";
    let Some(printed) = in_tree(&files, &[], &["sh", "-c", script]) else { return };
    let expected = ".\n./.gitattributes\n./.gitmodules\n./dir\n./dir/file\n./dir/inside\n./run\n\
                    dir 755 1714564800\ndir/file 644 1714564800\nrun 755 1714564800\n\
                    #!/bin/sh\nran\n";
    assert!(printed.starts_with(expected), "{printed}");
    assert!(printed.contains("\\r  \\n"), "{printed}");
}

#[test]
fn a_tree_with_a_path_git_would_refuse_is_not_written() {
    let repo = Repo::new();
    let inside = repo.tree(&Files::from_texts(&[("hooks", "x")]));
    let head = repo.raw_tree([("40000", &b".git"[..], inside)]);
    repo.change_trees(repo.tree(&Files::new()), head);
    let yard = Yard::new(As::Root);
    let path = repo.path();
    let outcome = yard.run(&["--repo", path.to_str().unwrap(), "--rev", "topic"], &["true"]);
    outcome.expect_code(3, "PATH_REFUSED");
    assert_eq!(fs::read_dir(yard.path("scratch")).unwrap().count(), 0);
}

#[test]
fn python_runs_tests_with_processes_and_temporary_files() {
    let test = "import multiprocessing, subprocess, sys, tempfile, threading, unittest\n\
        def double(number):\n\
        \x20   return number * 2\n\
        class Tests(unittest.TestCase):\n\
        \x20   def test_pool(self):\n\
        \x20       with multiprocessing.Pool(2) as pool:\n\
        \x20           self.assertEqual(pool.map(double, [1, 2]), [2, 4])\n\
        \x20   def test_queue(self):\n\
        \x20       queue = multiprocessing.Queue(); queue.put(1); self.assertEqual(queue.get(), 1)\n\
        \x20   def test_child(self):\n\
        \x20       self.assertEqual(subprocess.check_output([sys.executable, '-c', 'print(1)']), b'1\\n')\n\
        \x20   def test_temporary(self):\n\
        \x20       with tempfile.NamedTemporaryFile() as file: file.write(b'x')\n";
    if !has("python3") {
        return;
    }
    let files = Files::from_texts(&[("test_all.py", test)]);
    let command = ["sh", "-c", "python3 -m unittest test_all 2>&1 | tail -1"];
    let Some(printed) = in_tree(&files, &[], &command) else { return };
    assert_eq!(printed, "OK\n");
}

#[test]
fn node_runs_its_tests() {
    if !has("node") {
        return;
    }
    let test = "const test = require('node:test'), assert = require('node:assert');\n\
        const { execFileSync } = require('node:child_process'), { Worker } = require('node:worker_threads');\n\
        test('child', () => assert.equal(execFileSync(process.execPath, ['-p', '1']).toString(), '1\\n'));\n\
        test('worker', async () => { const w = new Worker('require(\"worker_threads\").parentPort.postMessage(1)', { eval: true });\n\
        \x20 assert.equal(await new Promise((done) => w.on('message', done)), 1); });\n";
    let files = Files::from_texts(&[("all.test.js", test)]);
    let Some(printed) = in_tree(&files, &[], &["node", "--test", "--test-reporter=tap"]) else { return };
    assert!(printed.contains("# pass 2") || printed.contains("# pass 1\n# fail 0"), "{printed}");
    assert!(printed.contains("# fail 0"), "{printed}");
}

/// The compiler's directory, when everybody may enter it.
fn toolchain() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let ours = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let others = fs::read_dir("/usr/local/rustup/toolchains").into_iter().flatten().flatten();
    let all = std::iter::once(ours).chain(others.map(|entry| entry.path()));
    let open = |path: &PathBuf| {
        path.join("bin/cargo").exists()
            && path.ancestors().all(|part| {
                use std::os::unix::fs::PermissionsExt;
                fs::metadata(part).is_ok_and(|metadata| metadata.permissions().mode() & 0o005 == 0o005)
            })
    };
    let found = all.into_iter().find(open);
    if found.is_none() {
        eprintln!("SKIPPED: there is no Rust toolchain that every user may enter");
    }
    found
}

#[test]
fn cargo_builds_and_tests_offline() {
    let Some(toolchain) = toolchain() else { return };
    let files = Files::from_texts(&[
        ("Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        ("src/lib.rs", "#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n"),
    ]);
    let path = format!("PATH={}/bin:/usr/bin:/bin", toolchain.display());
    let options = ["--readable", toolchain.to_str().unwrap(), "--env", &path];
    let Some(printed) = in_tree(&files, &options, &["cargo", "test", "--offline"]) else { return };
    assert!(printed.contains("test adds ... ok"), "{printed}");
}

#[test]
fn options_choose_the_tree_where_it_lies_and_where_a_command_starts() {
    let yard = Yard::new(As::Nobody);
    assert_eq!(yard.prints(&[], &["ls", "-A"]), "", "a tree that is --empty has no file");
    let place = yard.prints(&[], &["pwd"]);
    assert!(place.starts_with(yard.path("scratch").to_str().unwrap()), "--scratch: {place}");
    let files = Files::from_texts(&[("src/a.txt", "a\n"), ("b.txt", "b\n")]);
    if let Some(printed) = in_tree(&files, &["--cwd", "src"], &["ls"]) {
        assert_eq!(printed, "a.txt\n");
    }
    let files = files.with("only-here", "");
    if let Some(printed) = in_tree(&files, &[], &["ls"]) {
        assert_eq!(printed, "b.txt\nonly-here\nsrc\n");
    }
}
