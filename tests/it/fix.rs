//! Tests that edits of findings are shown, printed as a patch and written, and that nothing else is.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use crate::support::{Outcome, marker, token};
use crate::uncommitted::Checkout;

/// Files of a lens, whose change has findings with safe edits.
struct Case {
    lens: &'static str,
    /// Writes the files of the base.
    base: &'static str,
    /// Changes them.
    change: &'static str,
    /// What is in the files afterwards, as `grep -q` looks for it; with `!` before what is not.
    after: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        lens: "ci-weakening",
        base: "mkdir -p .github/workflows; printf 'on: pull_request\njobs:\n  a:\n    steps:\n      - run: cargo test\n      - run: cargo clippy\n' > .github/workflows/a.yml",
        change: "sed -i -e '/clippy/d' -e 's/cargo test/cargo test || true/' .github/workflows/a.yml",
        after: &["run: cargo clippy", "run: cargo test$"],
    },
    Case {
        lens: "lint-weakening",
        base: "printf '[tool.coverage.report]\nfail_under = 90\nshow_missing = true\n' > pyproject.toml",
        change: "printf '[tool.coverage.report]\nfail_under = 50\nshow_missing = false\n' > pyproject.toml",
        after: &["fail_under = 90", "show_missing = false"],
    },
    Case {
        lens: "merge-leftover",
        base: "printf 'export const a = 1;\r\n' > a.js; mkdir test; printf 'describe(\"a\", () => {});\n' > test/a.test.js",
        change: "printf 'export const a = 2;\r\ndebugger;\r\nexport const b = 3;' > a.js; sed -i 's/describe(/describe.only(/' test/a.test.js",
        after: &["const a = 2;.$", "const b = 3;$", "!debugger", "!only"],
    },
    Case {
        lens: "policy-weakening",
        base: "mkdir .github; printf '* @all\n/src/ @core\n/docs/ @docs\n' > .github/CODEOWNERS",
        change: "sed -i -e '/core/d' -e '1i # owners' .github/CODEOWNERS",
        after: &["/src/ @core", "# owners"],
    },
    Case {
        lens: "test-weakening",
        base: "mkdir tests; printf 'import pytest\n\n\ndef test_a():\n    assert 1 == 1\n' > tests/test_a.py",
        change: "sed -i 's/^def test_a/@pytest.mark.skip(reason=\"slow\")\\ndef test_a/' tests/test_a.py",
        after: &["def test_a", "!mark.skip"],
    },
    Case {
        lens: "trojan-source",
        base: "printf 'let a = 1;\n' > a.js",
        change: "printf 'let a = \"x\\342\\200\\256y\";\n' > a.js",
        after: &["u202e"],
    },
    Case {
        lens: "workflow-hardening",
        base: "mkdir -p .github/workflows; printf 'on: push\npermissions: {}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - uses: a/b@0123456789abcdef0123456789abcdef01234567 # v4\n' > .github/workflows/a.yml",
        change: "sed -i 's/@[0-9a-f]* # v4/@v4/' .github/workflows/a.yml",
        after: &["a/b@0123456789abcdef0123456789abcdef01234567 # v4"],
    },
];

/// Fails unless files have what a case says.
fn check_files(checkout: &Checkout, case: &Case) {
    for words in case.after {
        let (not, words) = match words.strip_prefix('!') {
            Some(words) => ("! ", words),
            None => ("", *words),
        };
        checkout
            .run(&format!("{not}grep -rq --exclude-dir=.git -- '{words}' . || {{ git diff; false; }} >&2"));
    }
}

#[test]
fn safe_edits_of_each_lens_are_written_and_what_is_left_passes() {
    for case in CASES {
        let checkout = Checkout::new(case.base);
        // Something of the change is left when all edits are applied.
        checkout.run(&format!("{}; echo b = 2 > left.py", case.change));
        let before = checkout.program(&["fix", "--worktree", "--preset=guarded"]).run();
        let shown = before.expect(1).text();
        assert!(
            shown.contains(&format!("[{}/", case.lens)) && shown.contains("(safe)"),
            "{}: {shown}",
            case.lens
        );
        let patch = checkout.program(&["fix", "--worktree", "--preset=guarded", "--diff"]).run().expect(1);
        std::fs::write(checkout.path().join("../patch"), &patch.stdout).unwrap();
        let copy = checkout.copy();
        let apply = |arguments: &[&str]| {
            let output =
                Command::new("git").arg("apply").args(arguments).arg("../patch").current_dir(&copy).output();
            let output = output.unwrap();
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{}: {text}\n{}", case.lens, patch.text());
        };
        apply(&["--check"]);
        apply(&[]);
        let applied = checkout.program(&["fix", "--worktree", "--preset=guarded", "--apply"]).run();
        let text = applied.expect(0).text();
        assert!(text.starts_with("PASS  Working tree: "), "{}: {text}", case.lens);
        check_files(&checkout, case);
        let same = Command::new("diff")
            .args(["-r", "repo", "copy"])
            .current_dir(checkout.path().join(".."))
            .output();
        let same = same.unwrap();
        assert!(same.status.success(), "{}: {}", case.lens, String::from_utf8_lossy(&same.stdout));
    }
}

/// A branch with a debugger statement in a commit, a focused test that is staged, and a skipped one that is not.
fn three_faults() -> Checkout {
    let checkout = Checkout::new(
        "printf 'let a = 1;\n' > a.js; mkdir test; printf 'describe(\"a\", () => {});\n' > test/a.test.js; \
         printf 'test(\"b\", () => { expect(1).toBe(1); });\n' > test/b.test.js",
    );
    checkout.run(
        "git branch main; printf 'let a = 1;\ndebugger;\n' > a.js; git commit -qam change; \
         sed -i 's/describe(/describe.only(/' test/a.test.js; git add test; \
         sed -i 's/^test(/test.skip(/' test/b.test.js",
    );
    checkout
}

fn rules(outcome: Outcome) -> Vec<String> {
    let text = outcome.text();
    let lines = text.lines().filter(|line| line.contains("]") && !line.starts_with(' '));
    let names = lines.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned()));
    names.collect()
}

#[test]
fn options_choose_what_is_mended_and_how() {
    let checkout = three_faults();
    let shown = |arguments: &[&str]| {
        let all = [&["fix"], arguments].concat();
        rules(checkout.program(&all).run())
    };
    let [debugger, focus, skip] =
        ["merge-leftover/debugger-statement", "merge-leftover/focused-test", "test-weakening/test-skipped"];
    assert_eq!(shown(&["--base=main"]), [debugger]);
    assert_eq!(shown(&["--base=main", "--head=main"]), ["NOTHING_TO_JUDGE"]);
    assert_eq!(shown(&["--staged"]), [focus]);
    assert_eq!(shown(&["--worktree"]), [focus, skip]);
    assert_eq!(shown(&["--worktree", "--base=main"]), [focus, debugger, skip]);
    assert_eq!(shown(&["--worktree", "--rule", skip]), [skip]);
    assert_eq!(shown(&["--worktree", "--rule", skip, "--rule", focus]), [focus, skip]);
    let unknown = checkout.program(&["fix", "--rule=merge-leftover/focused"]).run().expect(2);
    assert!(unknown.stderr.contains("did you mean `merge-leftover/focused-test`"), "{}", unknown.stderr);
    // The preset and the mode decide the exit code, as in a run.
    let advisory = ["fix", "--worktree", "--preset=advisory"];
    checkout.program(&advisory).run().expect(0);
    checkout.program(&["fix", "--worktree", "--preset=guarded"]).run().expect(1);
    let elsewhere =
        checkout.program(&["fix", "--worktree", "--repo", "repo"]).within(&checkout.path().join(".."));
    assert_eq!(rules(elsewhere.run()), [focus, skip]);
    assert!(!checkout.path().join(".qa-skill").exists(), "nothing is stored");
}

#[test]
fn the_mode_decides_about_what_could_not_be_read() {
    let checkout = Checkout::new(
        "mkdir .qa-skill; printf '[gates.lint]\\nrequired = false\\nreports = [{ path = \"lint.json\", tool = \"eslint\" }]\\n' \
         > .qa-skill/policy.toml",
    );
    checkout.run("echo a = 2 > a.py");
    let [strict, lax] = ["strict", "best_effort"]
        .map(|mode| checkout.program(&["fix", "--worktree", "--mode", mode]).run().exit);
    assert_eq!((strict, lax), (3, 0));
}

#[test]
fn a_file_that_is_not_the_one_that_was_judged_is_not_written() {
    let checkout = three_faults();
    let applied = |arguments: &[&str]| checkout.program(&[&["fix", "--apply"], arguments].concat()).run();
    // The commit has a debugger statement, and the file another line besides.
    checkout.run("echo 'let b = 2;' >> a.js; cp a.js before");
    let changed = applied(&["--base=main"]).expect_code(3, "EDIT_TARGET_CHANGED");
    assert!(
        changed.stderr.contains("a.js: it has other content than was judged; nothing was written"),
        "{}",
        changed.stderr
    );
    checkout.run("cmp a.js before; mv a.js ../outside; ln -s ../outside a.js");
    let linked = applied(&["--base=main"]).expect_code(3, "EDIT_TARGET_CHANGED");
    assert!(linked.stderr.contains("a.js: it is not a regular file"), "{}", linked.stderr);
    checkout.run("rm a.js; git show HEAD:a.js > ../elsewhere.js; mkdir ../moved; mv test ../moved/test; ln -s ../moved/test test");
    checkout.run("git show :test/a.test.js > ../moved/test/a.test.js; cp ../moved/test/a.test.js ../before");
    let below = applied(&["--staged"]).expect_code(3, "EDIT_TARGET_CHANGED");
    assert!(below.stderr.contains("is a link, which a commit can bring"), "{}", below.stderr);
    checkout.run("cmp ../moved/test/a.test.js ../before");
}

#[test]
fn permissions_line_ends_and_odd_names_are_kept() {
    let checkout = Checkout::new(
        "printf 'let a = 1;\r\n' > $'q\"u\\n\\xc3\\xa9 .js'; chmod 750 q*; mkdir 'a b'; printf 'x\n' > 'a b/c d.js'",
    );
    checkout.run("printf 'let a = 1;\r\ndebugger;' > q*; printf '\\xef\\xbb\\xbfdebugger;\nlet caf\\xe9 = 1;\n' > 'a b/c d.js'");
    let patch = checkout.program(&["fix", "--worktree", "--preset=guarded", "--diff"]).run().expect(1);
    std::fs::write(checkout.path().join("../patch"), &patch.stdout).unwrap();
    checkout.run("git apply --check ../patch");
    assert!(patch.text().contains(r#"--- "a/q\"u\n\303\251 .js""#), "{}", patch.text());
    let quoted = checkout.path().join("q\"u\né .js");
    // Only root may give a file away; for anybody else the owner is the same before and after.
    let _may_not_be_root = std::os::unix::fs::chown(&quoted, Some(1000), Some(1000));
    let owner = std::fs::metadata(&quoted).unwrap().uid();
    checkout.program(&["fix", "--worktree", "--preset=guarded", "--apply"]).run();
    assert_eq!(std::fs::metadata(&quoted).unwrap().uid(), owner);
    assert_eq!(std::fs::read(&quoted).unwrap(), b"let a = 1;\r\n");
    assert_eq!(std::fs::metadata(&quoted).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(std::fs::read(checkout.path().join("a b/c d.js")).unwrap().ends_with(b"let caf\xe9 = 1;\n"));
    assert_eq!(checkout.run("git status --short --ignored | grep -c qa-skill || true"), "0");
}

#[test]
fn what_a_person_has_to_look_at_is_shown_and_never_written() {
    let checkout = Checkout::new("");
    let conflict = format!("{}ours = 1\n{}\ntheirs = 2\n{} topic\n", marker(), "=".repeat(7), ">".repeat(7));
    std::fs::write(checkout.path().join("a.py"), &conflict).unwrap();
    let shown = checkout.program(&["fix", "--worktree"]).run().expect(1).text();
    assert!(
        shown.contains("(needs a look, never applied)") && shown.contains("  | -theirs = 2\n"),
        "{shown}"
    );
    let applied = checkout.program(&["fix", "--worktree", "--apply"]).run().expect(1);
    assert!(applied.stderr.contains("nothing was written"), "{}", applied.stderr);
    assert_eq!(std::fs::read_to_string(checkout.path().join("a.py")).unwrap(), conflict);
    assert_eq!(checkout.program(&["fix", "--worktree", "--diff"]).run().expect(1).text(), "");
}

#[test]
fn of_edits_of_one_line_the_first_is_shown_and_all_are_written() {
    let checkout = Checkout::new("printf 'let a = 1;\n' > a.js");
    std::fs::write(checkout.path().join("a.js"), "let a = \"x\u{202e}y\u{1b}[2Kz\";\n").unwrap();
    let shown = checkout.program(&["fix", "--worktree"]).run().expect(1).text();
    assert_eq!(shown.matches("\n  | +").count(), 1, "{shown}");
    assert!(shown.contains(", in the line of a.js:1 [trojan-source/bidi-control] (safe)\n"), "{shown}");
    checkout.program(&["fix", "--worktree", "--apply"]).run().expect(0);
    let written = std::fs::read_to_string(checkout.path().join("a.js")).unwrap();
    assert_eq!(written, "let a = \"x\\u202ey\\u001b[2Kz\";\n");
}

#[test]
fn no_edit_touches_a_line_with_a_secret() {
    let checkout = Checkout::new("printf 'let a = 1;\n' > a.js");
    checkout.run("printf 'let a = 1;\ndebugger;\n' > a.js");
    std::fs::write(checkout.path().join("b.js"), format!("let key = \"{}\";\ndebugger;\n", token())).unwrap();
    let diff = checkout.program(&["fix", "--worktree", "--preset=guarded", "--diff"]).run().expect(1).text();
    assert!(diff.contains("+++ b/a.js") && !diff.contains("b.js") && !diff.contains(&token()), "{diff}");
}
