//! The tools themselves, run by gates on small projects: a clean commit, and one with a planted fault for each.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::fence::{As, can_be};
use crate::support::parts::{part, skip};
use crate::support::{Files, Outcome, Repo};

const POLICY: &str = ".qa-skill/policy.toml";

/// A policy that lets these commands run, given as the words they begin with, for gates and their tools.
pub(crate) fn policy(
    toolchains: &[&str],
    more: &str,
    commands: &[&str],
    gates: &[(&str, &[&str])],
) -> String {
    let quoted = |text: &str| text.split(' ').map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
    let toolchains: Vec<String> = toolchains.iter().map(|path| format!("{{ path = {path:?} }}")).collect();
    let mut text = format!(
        "[execution]\nprofile = \"exec_sandboxed_network_off\"\n\
         lens-classes = [\"style\", \"architecture\", \"consistency\"]\ntoolchains = [{}]\n{more}\n",
        toolchains.join(", ")
    );
    for command in commands {
        let words = quoted(command);
        text.push_str(&format!(
            "[[execution.allow]]\nprefix = [{words}]\nmatch = [[{words}, \"x\"]]\nnot-match = [[\"x\", {words}]]\n"
        ));
    }
    for (gate, tools) in gates {
        text.push_str(&format!("[gates.{gate}]\nrun = [{}]\n", quoted(&tools.join(" "))));
    }
    text
}

/// A project with a clean change and one with faults, in a checkout that everybody may enter.
struct Project {
    clean: Files,
    faulty: Files,
}

impl Project {
    fn new(files: &[(&str, &str)], policy: &str, faults: &[(&str, &str)]) -> Self {
        let base =
            Files::from_texts(files).with(POLICY, policy).with(".gitignore", "/node_modules\n/.venv\n");
        let faulty = faults.iter().fold(base.clone(), |files, (path, text)| files.with(path, text));
        Self { clean: base, faulty }
    }

    fn judge(&self, faulty: bool, prepare: impl FnOnce(&Path)) -> (Repo, Outcome) {
        let repo = Repo::new();
        let touched = self.clean.clone().with("notes.txt", "changed\n");
        repo.change(&self.clean, if faulty { &self.faulty } else { &touched });
        for directory in [repo.path(), repo.path().parent().unwrap().to_owned()] {
            fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).unwrap();
        }
        prepare(&repo.path());
        // Not bounded in what it may map: engines of JavaScript reserve far more than they use.
        let outcome = Outcome::from_output(&repo.judge().bare_command().output().unwrap());
        (repo, outcome)
    }

    /// The clean commit passes with every gate, the other fails with exactly these findings, and both replay.
    #[track_caller]
    fn holds(&self, prepare: impl Fn(&Path), gates: &str, findings: &[&str]) {
        let (repo, outcome) = self.judge(false, &prepare);
        outcome.expect(0);
        assert_eq!(repo.run_dir().json("qa-report.json")["summary"], gates);
        assert_eq!(repo.run_dir().findings(), [""; 0]);
        repo.run_dir().verify().run().expect(0);
        let (repo, outcome) = self.judge(true, &prepare);
        outcome.expect(1);
        assert_eq!(repo.run_dir().findings(), findings);
        let execution = repo.run_dir().json("recordings/execution.json");
        for command in execution["commands"].as_array().unwrap() {
            let version = command["toolVersion"].as_str().unwrap_or_default();
            assert!(version.bytes().any(|byte| byte.is_ascii_digit()), "{command:#}");
        }
        repo.run_dir().verify().run().expect(0);
    }
}

/// The same files under another name, without a copy where that can be.
pub(crate) fn link_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (entry, name) = entry.map(|entry| (entry.path(), entry.file_name())).unwrap();
        let target = to.join(name);
        let kind = fs::symlink_metadata(&entry).unwrap();
        if kind.is_dir() {
            link_tree(&entry, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&entry).unwrap(), target).unwrap();
        } else if fs::hard_link(&entry, &target).is_err() {
            fs::copy(&entry, &target).unwrap();
        }
    }
}

#[test]
fn eslint_tsc_vitest_and_jest() {
    let Some(tools) = part("target/foreign/node/node_modules").filter(|_| can_be(As::Root)) else { return };
    let policy = policy(
        &["node_modules"],
        "",
        &["eslint .", "tsc", "vitest run", "jest --ci"],
        &[("lint", &["eslint"]), ("type_check", &["tsc"]), ("unit_tests", &["vitest", "jest"])],
    );
    let project = Project::new(
        &[
            (
                "package.json",
                r#"{"private": true, "devDependencies": {"eslint": "10", "typescript": "7", "vitest": "4"}}"#,
            ),
            (
                "eslint.config.mjs",
                "export default [{ files: ['**/*.js'], ignores: ['old/**'], rules: { 'no-undef': 'error' } }];\n",
            ),
            (
                "tsconfig.json",
                r#"{"compilerOptions": {"strict": true, "types": []}, "include": ["src/**/*.ts"]}"#,
            ),
            ("src/sum.ts", "export const sum = (a: number, b: number): number => a + b;\n"),
            ("src/plain.js", "export const one = 1;\n"),
            (
                "tests/sum.test.js",
                "import { expect, test } from 'vitest';\nimport { sum } from '../src/sum';\n\ntest('sums', () => {\n  expect(sum(1, 2)).toBe(3);\n});\n",
            ),
            ("vitest.config.mjs", "export default { test: { include: ['tests/**/*.test.js'] } };\n"),
            ("old/package.json", r#"{"private": true, "devDependencies": {"jest": "30"}}"#),
            ("old/twice.js", "module.exports = (a) => a * 2;\n"),
            (
                "old/twice.test.js",
                "const twice = require('./twice');\n\ntest('doubles', () => {\n  expect(twice(2)).toBe(4);\n});\n",
            ),
        ],
        &policy,
        &[
            (
                "src/sum.ts",
                "export const sum = (a: number, b: number): number => a - b;\nexport const word: string = sum(1, 2);\n",
            ),
            ("src/plain.js", "export const one = 1;\nexport const two = missing;\n"),
            ("old/twice.js", "module.exports = (a) => a * 3;\n"),
        ],
    );
    let prepare = |checkout: &Path| link_tree(&tools, &checkout.join("node_modules"));
    let findings = [
        "unit_tests/failure old/twice.test.js:4",
        "unit_tests/failure tests/sum.test.js:5",
        "type_check/error src/sum.ts:2",
        "lint/error src/plain.js:2",
    ];
    // Jest's project is touched by the faulty change alone; the clean one is of the root, which is vitest's.
    project.holds(prepare, "3 of 3 gates passed", &findings);
}

#[test]
fn ruff_mypy_and_pytest() {
    let Some(tools) = part("target/foreign/python").filter(|_| can_be(As::Root)) else { return };
    if !enterable(&tools) {
        eprintln!("SKIPPED: not every user may enter {}", tools.display());
        return;
    }
    let policy = policy(
        &[tools.to_str().unwrap()],
        "",
        &["ruff check", "mypy", "pytest"],
        &[("lint", &["ruff"]), ("type_check", &["mypy"]), ("unit_tests", &["pytest"])],
    );
    let project = Project::new(
        &[
            (
                "pyproject.toml",
                "[project]\nname = \"sums\"\nversion = \"1\"\n[tool.ruff]\n[tool.mypy]\nstrict = true\nfiles = [\"sums\"]\n[tool.pytest.ini_options]\npythonpath = [\".\"]\n",
            ),
            ("sums/__init__.py", "def add(a: int, b: int) -> int:\n    return a + b\n"),
            (
                "tests/test_sums.py",
                "from sums import add\n\n\ndef test_add() -> None:\n    assert add(1, 2) == 3\n",
            ),
        ],
        &policy,
        &[("sums/__init__.py", "import os\n\n\ndef add(a: int, b: int) -> int:\n    return str(a - b)\n")],
    );
    let findings = [
        "unit_tests/failure tests/test_sums.py:5",
        "type_check/error sums/__init__.py:5",
        "lint/error sums/__init__.py:1",
    ];
    project.holds(|_| {}, "3 of 3 gates passed", &findings);
}

#[test]
fn a_test_that_is_refused_a_socket_says_which_profile_allows_one() {
    let Some(tools) = part("target/foreign/python").filter(|_| can_be(As::Root)) else { return };
    if !enterable(&tools) {
        eprintln!("SKIPPED: not every user may enter {}", tools.display());
        return;
    }
    let policy = policy(&[tools.to_str().unwrap()], "", &["pytest"], &[("unit_tests", &["pytest"])]);
    let tests = "import socket\n\n\ndef test_listens():\n    socket.create_server((\"127.0.0.1\", 0))\n\n\n\
                 def test_counts():\n    assert 1 + 1 == 3\n";
    let files = [
        ("pyproject.toml", "[project]\nname = \"sums\"\nversion = \"1\"\n[tool.pytest.ini_options]\n"),
        ("test_sums.py", "def test_nothing():\n    assert True\n"),
    ];
    let (repo, outcome) = Project::new(&files, &policy, &[("test_sums.py", tests)]).judge(true, |_| {});
    outcome.expect(1);
    let results = repo.run_dir().json("lens-results.json");
    let gate = results["lensResults"]
        .as_array()
        .unwrap()
        .iter()
        .find(|result| result["lensId"] == "unit_tests")
        .unwrap();
    let fixes = gate["findings"].as_array().unwrap().iter().map(|finding| {
        let refused =
            finding["fix"].as_str().unwrap().contains("exec_sandboxed_network_off allows no sockets");
        (finding["startLine"].as_u64().unwrap(), refused)
    });
    assert_eq!(fixes.collect::<Vec<_>>(), [(5, true), (9, false)]);
    assert!(gate["evidenceSummary"].to_string().contains("pytest: a socket was refused"), "{gate:#}");
    repo.run_dir().verify().run().expect(0);
}

/// Makes a virtual environment with pytest in a checkout. Its interpreter is in an installation of its own beside the
/// checkout, which is returned.
fn environment(checkout: &Path, tools: &Path) -> PathBuf {
    let installation = checkout.parent().unwrap().join("installation");
    let python = fs::canonicalize("/usr/bin/python3").unwrap();
    let name = python.file_name().unwrap();
    fs::create_dir_all(installation.join("bin")).unwrap();
    fs::copy(&python, installation.join("bin").join(name)).unwrap();
    link_tree(&Path::new("/usr/lib").join(name), &installation.join("lib").join(name));
    let made = Command::new(installation.join("bin").join(name))
        .args(["-m", "venv", "--without-pip", ".venv"])
        .current_dir(checkout)
        .env_clear()
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let packages = Path::new("lib").join(name).join("site-packages");
    link_tree(&tools.join(&packages), &checkout.join(".venv").join(&packages));
    let script = checkout.join(".venv/bin/pytest");
    let shebang = format!("#!{}", checkout.join(".venv/bin/python3").display());
    fs::write(&script, format!("{shebang}\nimport sys\nfrom pytest import main\nsys.exit(main())\n"))
        .unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    installation
}

#[test]
fn pytest_of_a_virtual_environment_whose_interpreter_is_elsewhere() {
    let Some(tools) = part("target/foreign/python").filter(|_| can_be(As::Root)) else { return };
    let files = [
        ("pyproject.toml", "[project]\nname = \"sums\"\nversion = \"1\"\n[tool.pytest.ini_options]\n"),
        ("test_sums.py", "import json, ctypes\n\n\ndef test_add():\n    assert 1 + 2 == 3\n"),
    ];
    let in_place = policy(&[".venv"], "", &["pytest"], &[("unit_tests", &["pytest"])]);
    let copied = in_place.replace("\".venv\" }", "\".venv\", provide = \"copy\" }");
    assert_ne!(copied, in_place);
    // A home that nobody else may enter is where installations of one user are.
    let way_out = "which not every user may enter; declare the toolchain";
    for (policy, mode, exit, code, problem) in [
        (&in_place, Some(0o755), 0, "[]", ""),
        (&in_place, Some(0o700), 3, "EXECUTION_DENIED", way_out),
        (&copied, Some(0o700), 0, "[]", ""),
        (&in_place, None, 3, "GATE_TOOL_MISSING", "does not exist here"),
    ] {
        let (repo, outcome) = Project::new(&files, policy, &[]).judge(false, |checkout| {
            let installation = environment(checkout, &tools);
            match mode {
                Some(mode) => fs::set_permissions(&installation, fs::Permissions::from_mode(mode)).unwrap(),
                None => fs::remove_dir_all(&installation).unwrap(),
            }
        });
        let outcome = outcome.expect(exit);
        let codes = repo.run_dir().json("final-verdict.json")["errorCodes"].to_string();
        assert!(codes.contains(code), "{codes}");
        let text = outcome.text();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(problem), "{}", outcome.text());
        repo.run_dir().verify().run().expect(0);
    }
}

#[test]
fn go_vet_and_go_test() {
    let go = ["/usr/bin/go", "/usr/local/go/bin/go"].into_iter().find(|path| Path::new(path).exists());
    let Some(go) = go.filter(|_| can_be(As::Root)) else {
        skip("go is not installed for all users");
        return;
    };
    let root = fs::canonicalize(go).unwrap().parent().unwrap().parent().unwrap().to_owned();
    let policy = policy(
        &[root.to_str().unwrap()],
        "environment = { GOFLAGS = \"-mod=readonly\", GOPROXY = \"off\", CGO_ENABLED = \"0\" }",
        &["go vet", "go test"],
        &[("lint", &["go-vet"]), ("unit_tests", &["go-test"])],
    );
    let project = Project::new(
        &[
            ("go.mod", "module example.com/sums\n\ngo 1.19\n"),
            ("sums.go", "package sums\n\nfunc Add(a, b int) int { return a + b }\n"),
            (
                "sums_test.go",
                "package sums\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
            ),
        ],
        &policy,
        &[(
            "sums.go",
            "package sums\n\nimport \"fmt\"\n\nfunc Add(a, b int) int {\n\tfmt.Printf(\"%d\\n\", \"text\")\n\treturn a - b\n}\n",
        )],
    );
    // `go test` runs a few checks of vet itself, and does not run tests of what they refuse.
    project.holds(
        |_| {},
        "2 of 2 gates passed",
        &["unit_tests/failure go.mod:1", "unit_tests/error sums.go:6", "lint/error sums.go:6"],
    );
}

#[test]
fn clippy_and_cargo_test() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok();
    let sysroot = sysroot.map(|output| PathBuf::from(String::from_utf8(output.stdout).unwrap().trim()));
    let Some(sysroot) = sysroot.filter(|path| path.join("bin/cargo-clippy").exists() && can_be(As::Root))
    else {
        eprintln!("SKIPPED: there is no Rust toolchain with clippy");
        return;
    };
    // A home that nobody else may enter is where toolchains usually are.
    let open = tempfile::tempdir_in("/tmp").unwrap();
    fs::set_permissions(open.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let toolchain = if enterable(&sysroot) {
        sysroot
    } else {
        let toolchain = open.path().join("toolchain");
        for part in ["bin", "lib"] {
            link_tree(&sysroot.join(part), &toolchain.join(part));
        }
        toolchain
    };
    let policy = policy(
        &[toolchain.to_str().unwrap()],
        "",
        &["cargo clippy", "cargo test"],
        &[("lint", &["clippy"]), ("unit_tests", &["cargo-test"])],
    );
    let project = Project::new(
        &[
            (
                "Cargo.toml",
                "[package]\nname = \"sums\"\nversion = \"1.0.0\"\nedition = \"2021\"\n[lints.clippy]\nall = \"deny\"\n",
            ),
            (
                "src/lib.rs",
                "pub fn add(a: u32, b: u32) -> u32 {\n    a + b\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
            ),
        ],
        &policy,
        &[(
            "src/lib.rs",
            "pub fn add(a: u32, b: u32) -> u32 {\n    return a * b;\n}\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n",
        )],
    );
    let findings = ["unit_tests/failure src/lib.rs:7", "lint/error src/lib.rs:2"];
    project.holds(|_| {}, "2 of 2 gates passed", &findings);
}

pub(crate) fn enterable(path: &Path) -> bool {
    path.ancestors().all(|part| fs::metadata(part).is_ok_and(|part| part.permissions().mode() & 0o001 != 0))
}
