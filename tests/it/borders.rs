//! Renames and other moves by which a file comes under other rules: what goes counts as gone, what comes as new.

use crate::support::{Files, Repo, other_token, token};

const POLICY: (&str, &str) = (".qa-skill/policy.toml", "version = 1\npreset = \"guarded\"\n");
const WORKFLOW: &str = "on: pull_request\npermissions: {}\njobs:\n  t:\n    runs-on: ubuntu-24.04\n    steps:\n    - run: make test\n";
const OPEN_WORKFLOW: &str = "on: pull_request_target\npermissions: write-all\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n    - run: echo ${{ github.event.pull_request.title }}\n";

/// Judges a change and returns the rules of its blocking findings, sorted, each once.
fn blocking(base: &Files, head: &Files) -> Vec<String> {
    let repo = Repo::new();
    repo.change(base, head);
    let outcome = repo.judge().run();
    let run = repo.run_dir();
    run.verify().arg("--repo").arg(repo.path()).run().expect(0);
    let verdict = run.json("final-verdict.json");
    let findings = verdict["blockingFindings"].as_array().unwrap();
    let rules = findings.iter().map(|finding| finding["ruleId"].as_str().unwrap().to_owned());
    let rules: std::collections::BTreeSet<String> = rules.collect();
    assert_eq!(outcome.exit, i32::from(!rules.is_empty()), "{}", outcome.text());
    rules.into_iter().collect()
}

#[test]
fn a_check_that_is_renamed_away_is_removed() {
    let hook = "#!/bin/sh\nset -e\nnpm test\n";
    let test = "def test_x():\n    assert 1 + 1 == 2\n";
    for (old, new, text) in [
        (".qa-skill/policy.toml", "docs/policy.txt", POLICY.1),
        (".qa-skill/policy.toml", ".qa-skill/policy.toml.bak", POLICY.1),
        (".github/workflows/ci.yml", "docs/ci.yml", WORKFLOW),
        (".github/workflows/ci.yml", ".github/workflows/ci.yml.off", WORKFLOW),
        (".husky/pre-commit", ".husky/pre-commit.off", hook),
        ("tests/test_a.py", "tests/a_old.py", test),
    ] {
        let files = Files::from_texts(&[POLICY, ("z", "z\n")]);
        let base = files.clone().with(old, text);
        let without = || match old == POLICY.0 {
            true => Files::from_texts(&[("z", "z\n")]),
            false => files.clone(),
        };
        let deleted = blocking(&base, &without());
        assert!(!deleted.is_empty(), "{old} is deleted");
        assert_eq!(blocking(&base, &without().with(new, text)), deleted, "{old} -> {new}");
    }
}

#[test]
fn what_comes_under_stricter_rules_is_judged_as_new() {
    let secret = format!("T = \"{}\"\n", token());
    let waiver = format!(
        "[[waiver]]\nrule = \"merge-leftover/conflict-marker\"\nevidence-hash = \"{}\"\nowner = \"o\"\nreason = \"r\"\nexpires = \"2099-12-31\"\n",
        "1".repeat(64)
    );
    for (old, new, text) in [
        ("docs/e.yml", ".github/workflows/e.yml", OPEN_WORKFLOW),
        (".github/workflows/e.yml.off", ".github/workflows/e.yml", OPEN_WORKFLOW),
        ("docs/t.md", "src/t.py", &secret),
        ("vendor/t.py", "src/t.py", &secret),
        ("docs/t.txt", ".env", &secret),
        ("w.toml", ".qa-skill/waivers.toml", &waiver),
    ] {
        let files = Files::from_texts(&[POLICY, ("z", "z\n")]);
        let added = blocking(&files, &files.clone().with(new, text));
        assert!(!added.is_empty(), "{new} is added");
        let base = files.clone().with(old, text);
        assert_eq!(blocking(&base, &files.clone().with(new, text)), added, "{old} -> {new}");
    }
    // What was the target of a link becomes a program of the same bytes.
    let files = Files::from_texts(&[POLICY, ("z", "z\n")]);
    let base = files.clone().mode("120000", "run", secret.as_bytes());
    let head = files.mode("100755", "run", secret.as_bytes());
    assert!(blocking(&base, &head).contains(&"secret-token/provider-token".to_owned()));
}

#[test]
fn text_that_comes_from_where_a_lens_does_not_look_is_new() {
    let policy = format!("{}[lenses.secret-token]\nignore = [\"legacy/**\"]\n", POLICY.1);
    let line = format!("T = \"{}\"\n", token());
    let others: String = (0..20).map(|number| format!("n{number} = {number}\n")).collect();
    let files = Files::from_texts(&[(POLICY.0, policy.as_str()), ("z", "z\n")]);
    let head = files.clone().with("src/t.py", others + &line);
    for (old, expected) in [("legacy/t.py", vec!["secret-token/provider-token"]), ("src/old.py", vec![])] {
        assert_eq!(blocking(&files.clone().with(old, &line), &head), expected, "{old}");
    }
}

#[test]
fn a_rename_to_where_a_lens_looks_is_judged_as_new() {
    let policy = format!("{}[lenses.secret-token]\nignore = [\"legacy/**\"]\n", POLICY.1);
    let secret = format!("T = \"{}\"\n", token());
    let client = "import requests\nrequests.get(\"https://a.io\", verify=False)\n".to_owned();
    let others: String = (0..20).map(|number| format!("n{number} = {number}\n")).collect();
    let files = Files::from_texts(&[(POLICY.0, policy.as_str()), ("z", "z\n")]);
    for (old, new, before, after) in [
        // By `ignore` of the policy: the same bytes, and others beside them.
        ("legacy/t.py", "src/t.py", &secret, &secret),
        ("legacy/t.py", "src/t.py", &(others.clone() + &secret), &(others.clone() + &secret + "last = 1\n")),
        // By the kinds of files that the lens reads.
        ("lib/c.pyx", "lib/c.py", &client, &client),
    ] {
        let head = files.clone().with(new, after);
        let added = blocking(&files, &head);
        assert!(!added.is_empty(), "{new} is added");
        assert_eq!(blocking(&files.clone().with(old, before), &head), added, "{old} -> {new}");
    }
}

#[test]
fn a_file_is_read_as_what_runs_it_whatever_it_is_called() {
    let python = "import requests\n\n\ndef get(u):\n    return requests.get(u, verify=False)\n";
    let ruby = "require 'net/http'\n\nhttp.verify_mode = OpenSSL::SSL::VERIFY_NONE\n";
    let php = "<?php\ncurl_setopt($c, CURLOPT_SSL_VERIFYPEER, false);\n";
    let with_line = |line: &str| format!("#!{line}\n{python}");
    let files = Files::from_texts(&[POLICY, ("z", "z\n")]);
    for (path, text) in [
        ("src/get.py", python),
        ("bin/get", &with_line("/usr/bin/env python3")),
        ("bin/get-it", &with_line("/usr/bin/env -S uv run --script")),
        ("src/module.py", &with_line("/usr/bin/env node")),
        ("tools/get.txt", &with_line("/usr/bin/python")),
        ("src/get.PY", python),
        ("src/get.pyw", python),
        ("app.wsgi", python),
        ("SConstruct", python),
        ("Rakefile", ruby),
        ("Gemfile", ruby),
        ("config.ru", ruby),
        ("a.gemspec", ruby),
        ("src/page.inc", php),
        ("src/page.phtml", php),
    ] {
        let found = blocking(&files, &files.clone().with(path, text));
        assert!(found.contains(&"dangerous-call/tls-verification-off".to_owned()), "{path}: {found:?}");
    }
}

#[test]
fn code_that_moves_to_the_name_of_a_test_is_judged_as_code() {
    let lines: String = (0..20).map(|number| format!("n{number} = {number}\n")).collect();
    let base = Files::from_texts(&[POLICY, ("src/a.py", &format!("import requests\n{lines}"))]);
    let files = Files::from_texts(&[POLICY]);
    let text = format!("import requests\n{lines}requests.get(u, verify=False)\n");
    for new in ["src/a.py", "src/a_test.py", "tests/a.py", "src/fixtures/a.py"] {
        let found = blocking(&base, &files.clone().with(new, &text));
        assert!(found.contains(&"dangerous-call/tls-verification-off".to_owned()), "{new}: {found:?}");
    }
}

#[test]
fn a_workflow_that_is_spelled_as_no_platform_reads_it_is_gone() {
    let ci =
        "on: pull_request\npermissions: {}\njobs:\n  t:\n    runs-on: a\n    steps:\n      - run: pytest\n";
    let files = Files::from_texts(&[POLICY, ("z", "z\n")]);
    let base = files.clone().with(".github/workflows/ci.yml", ci);
    for new in [".GitHub/workflows/ci.yml", ".github/Workflows/ci.yml", ".github/workflows/ci.YML"] {
        let found = blocking(&base, &files.clone().with(new, ci));
        assert!(found.iter().any(|rule| rule.starts_with("ci-weakening/")), "{new}: {found:?}");
    }
    let found = blocking(&base, &files.with(".github/workflows/tests.yaml", ci));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_rename_to_where_a_lens_does_not_look_is_judged_as_a_removal() {
    let test = "def test_x():\n    assert 1 + 1 == 2\n";
    let policy = format!("{}[lenses.test-weakening]\nignore = [\"legacy/**\"]\n", POLICY.1);
    let files = Files::from_texts(&[(POLICY.0, policy.as_str()), ("z", "z\n")]);
    let base = files.clone().with("tests/test_a.py", test);
    let deleted = blocking(&base, &files);
    assert!(!deleted.is_empty());
    assert_eq!(blocking(&base, &files.clone().with("legacy/test_a.py", test)), deleted);
    // Inside of what it looks at, a rename is one.
    assert_eq!(blocking(&base, &files.with("tests/test_b.py", test)), [""; 0]);
}

#[test]
fn a_second_secret_on_a_line_is_new() {
    let (one, two) = (token(), other_token());
    let lines = |text: String| Files::from_texts(&[("keys.json", text.as_str())]);
    let base = lines(format!("{{\"a\":\"{one}\"}}\n"));
    let url = "postgres://u:Zq8Wm3RtK5vXc1Lp@db.example.net/x";
    for second in [two.as_str(), url] {
        for between in [0, 20, 60, 100] {
            let head = lines(format!("{{\"a\":\"{one}\",{}\"b\":\"{second}\"}}\n", " ".repeat(between)));
            assert!(!blocking(&base, &head).is_empty(), "{second} {between}");
        }
    }
}

#[test]
fn a_secret_before_an_underscore_is_found_and_masked() {
    let secret = token();
    let repo = Repo::new();
    let base = Files::from_texts(&[("z", "z\n")]);
    repo.change(
        &base,
        &base
            .clone()
            .with("b.py", format!("T = \"{secret}_old\"\n"))
            .with(format!("key_{secret}_old.txt"), "x\n"),
    );
    repo.judge().run().expect(1);
    let run = repo.run_dir();
    for name in run.files() {
        assert!(!String::from_utf8_lossy(&run.bytes(&name)).contains(&secret), "{name}");
    }
}

#[test]
fn a_policy_below_something_that_is_no_directory_is_no_absent_policy() {
    for (mode, content) in [("120000", "cfg"), ("100644", "version = 1\n")] {
        let base =
            Files::from_texts(&[("cfg/policy.toml", POLICY.1)]).mode(mode, ".qa-skill", content.as_bytes());
        let repo = Repo::new();
        repo.change(&base, &base.clone().with("a.py", "a = 1\n"));
        repo.judge().run().expect_code(3, "REPOSITORY_UNSUPPORTED");
    }
}

#[test]
fn a_change_after_which_no_policy_could_be_read_blocks() {
    let base = Files::from_texts(&[
        (".qa-skill/policy.toml", "version = 1\n"),
        ("cfg/policy.toml", "version = 1\n"),
    ]);
    let without = Files::from_texts(&[("cfg/policy.toml", "version = 1\n")]);
    for head in [
        without.clone().mode("120000", ".qa-skill", b"cfg"),
        without.clone().with(".qa-skill", "x\n"),
        without.clone().with(".qa-skill/policy.toml/x", "x\n"),
        without.mode("120000", ".qa-skill/policy.toml", b"../cfg/policy.toml"),
        base.clone().with(".qa-skill/waivers.toml", "bad = [\n"),
        base.clone().mode("120000", ".qa-skill/waivers.toml", b"x"),
    ] {
        assert_eq!(blocking(&base, &head), ["policy-weakening/policy-unreadable"]);
    }
}

#[test]
fn a_removed_hit_explains_one_with_another_receiver_in_its_function_alone() {
    let function = |name: &str| {
        format!(
            "import ssl\n\n\ndef f():\n    {name} = ssl.create_default_context()\n    {name}.check_hostname = False\n    return {name}\n"
        )
    };
    let (old, new) = (function("context"), function("ctx"));
    let others: String = (0..20).map(|number| format!("n{number} = {number}\n")).collect();
    let tls = ["dangerous-call/tls-verification-off".to_owned()];
    let at = |path: &str, text: &str| Files::from_texts(&[POLICY, ("z", "z\n")]).with(path, text);
    assert_eq!(blocking(&at("a.py", &old), &at("a.py", &new)), [""; 0]);
    // The file may be renamed, as long as it stays in the product.
    let long = |text: &str| format!("{others}{text}");
    assert_eq!(blocking(&at("a.py", &long(&old)), &at("b.py", &long(&new))), [""; 0]);

    let twice = new.replace("    return", "    other.check_hostname = False\n    return");
    assert_eq!(blocking(&at("a.py", &old), &at("a.py", &twice)), tls, "two for one");
    for (name, base) in [
        ("a comment", old.replace("    context.check", "    # context.check")),
        (
            "a string",
            old.replace("context.check_hostname = False", "text = 'context.check_hostname = False'"),
        ),
        ("another value", old.replace("False", "True")),
        ("another setting", old.replace("check_hostname = False", "verify_mode = ssl.CERT_NONE")),
    ] {
        assert_eq!(blocking(&at("a.py", &base), &at("a.py", &new)), tls, "{name}");
    }
    let beside = |first: &str, second: &str| format!("{first}\n\n{}", second.replace("def f", "def g"));
    let base = beside(&old, "def f():\n    return 1\n");
    let head = beside("def f():\n    return 1\n", &new);
    assert_eq!(blocking(&at("a.py", &base), &at("a.py", &head)), tls, "another function");
    let base = at("a.py", &others).with("b.py", &old);
    let head = at("a.py", &new).with("b.py", &others);
    assert_eq!(blocking(&base, &head), tls, "another file");
    let base = at("src/a.py", &others).with("tests/test_a.py", &old);
    let head = at("src/a.py", &new).with("tests/test_a.py", &others);
    assert_eq!(blocking(&base, &head), tls, "a test beside it");
    for (from, text) in [("tests/test_a.py", &old), ("tests/test_a.py", &new), ("vendor/a.py", &old)] {
        let found = blocking(&at(from, &long(text)), &at("src/a.py", &long(&new)));
        assert!(found.contains(&tls[0]), "{from} becomes product code: {found:?}");
    }
}

#[test]
fn a_removed_suppression_explains_as_many_as_went() {
    let lines = |marks: &[&str]| -> String {
        let lines =
            marks.iter().enumerate().map(|(at, mark)| format!("n{at} = f({at}){mark}\n\n\n\n\n\n\n\n"));
        lines.collect()
    };
    let at = |text: &str| Files::from_texts(&[POLICY, ("z", "z\n")]).with("src/a.py", text);
    let (types, pyright, lint) = ("  # type: ignore", "  # pyright: ignore", "  # noqa");
    let unexplained = ["suppression/unexplained".to_owned()];
    for (base, head, blocks) in [
        (["", types, ""], ["", pyright, ""], false),
        (["", types, ""], [pyright, "", ""], true),
        (["", types, ""], ["", pyright, pyright], true),
        (["", "  # type: ignore[misc]", ""], ["", types, ""], true),
        (["", types, ""], [types, "", types], true),
        (["", types, types], [types, "", ""], false),
        (["", types, ""], [lint, "", ""], true),
    ] {
        let found = blocking(&at(&lines(&base)), &at(&lines(&head)));
        let expected = if blocks { &unexplained[..] } else { &[] };
        assert_eq!(found, expected, "{base:?} -> {head:?}");
    }
}

#[test]
fn a_hit_is_explained_by_the_whole_of_another_expression() {
    let at = |text: &str| Files::from_texts(&[POLICY, ("z", "z\n")]).with("src/a.js", text);
    let text = |function: &str, value: &str| {
        format!("export function {function}(el, a, b) {{\n  el.innerHTML =\n    {value};\n}}\n")
    };
    let html = ["dangerous-call/html-injection".to_owned()];
    let others: String = (0..20).map(|number| format!("f({number});\n")).collect();
    let base = at(&(text("f", "a + b") + &others));
    assert_eq!(blocking(&base, &at(&(others.clone() + &text("g", "a + b")))), [""; 0], "the same expression");
    assert_eq!(
        blocking(&base, &at(&(others.clone() + &text("g", "b + load(a)")))),
        html,
        "another right side"
    );

    let text = |function: &str, call: &str| format!("\n\ndef {function}(x):\n    return {call}\n");
    let at = |text: &str| Files::from_texts(&[POLICY, ("z", "z\n")]).with("src/a.py", text);
    let others: String = (0..20).map(|number| format!("n{number} = {number}\n")).collect();
    let base = at(&(text("debug", "eval(x)") + &others));
    let code = ["dangerous-call/dynamic-code".to_owned()];
    assert_eq!(
        blocking(&base, &at(&(others.clone() + &text("handle", "exec(x)")))),
        code,
        "another function"
    );
    let (old, new) = (others.clone() + &text("f", "eval(x)"), others + &text("f", "exec(x)"));
    assert_eq!(blocking(&at(&old), &at(&new)), [""; 0], "the same place");
}
