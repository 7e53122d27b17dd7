//! Patterns held against texts in many spellings.

use super::*;

pub(super) const NOTHING: Definition = Definition::new(&[], &[]);
pub(super) const ANY: Variable = Variable::any("X");

/// Returns what a definition reports in a text.
fn matched_texts(definition: &Definition, path: &str, text: &str) -> Vec<String> {
    let grammar = Grammar::for_path(path).unwrap().family();
    let language =
        ["go", "java", "javascript", "php", "python", "ruby", "rust", "shell", "c#", "kotlin", "dart"];
    let language = language.into_iter().find(|name| Grammar::for_language(name) == Some(grammar)).unwrap();
    let patterns = Pattern::compile(definition, language).unwrap_or_else(|error| panic!("{error}"));
    let patterns: Patterns<'_> = patterns.iter().collect();
    let parsed = ParsedText::parse(path, text).unwrap();
    let code = Code::new(text, &parsed);
    let found = patterns.find(&code, None);
    assert!(found.is_complete);
    if !found.matches.is_empty() {
        let possible = Words::new([definition]).possible(|| text, text);
        assert_eq!(possible, [0], "the words of {:?} are in {text}", definition.code);
    }
    found.matches.iter().map(|found| found.report.of(text).to_owned()).collect()
}

#[track_caller]
pub(super) fn check(definition: &Definition, path: &str, hits: &[&str], misses: &[&str]) {
    for text in hits {
        assert_eq!(matched_texts(definition, path, text).len(), 1, "{text}");
    }
    for text in misses {
        assert_eq!(matched_texts(definition, path, text), [""; 0], "{text}");
    }
}

#[test]
fn names_of_python_are_resolved_through_imports() {
    let definition = Definition { code: &["yaml.load($X)"], variables: &[ANY], ..NOTHING };
    check(
        &definition,
        "a.py",
        &[
            "yaml.load(x)",
            "import yaml\nyaml.load(x)",
            "from yaml import load\nload(x)",
            "from yaml import load as l\nl(x)",
            "import yaml as y\ny.load(x)",
            "def f():\n    import yaml as y\n    return y.load(\n        x,  # why\n    )",
            "import yaml\nl = yaml.load\nl((x))",
            "__import__('yaml').load(x)",
            "import importlib\nimportlib.import_module(\"yaml\").load(x)",
        ],
        &[
            "load(x)",
            "from json import load\nload(x)",
            "import json as yaml\nyaml.load(x)",
            "yaml = YAML()\nyaml.load(x)",
            "yaml.load(x, Loader=L)",
            "yaml.load()",
            "x.yaml.load(x)",
            "# yaml.load(x)",
            "'yaml.load(x)'",
            "def f(yaml):\n    yaml.load(x)",
        ],
    );
}

#[test]
fn named_arguments_stand_in_any_order() {
    let definition = Definition {
        code: &["$F($X, ..., shell=True)"],
        report: "shell",
        variables: &[
            Variable { name: "F", names: &["subprocess.run", "subprocess.call"], ..ANY },
            Variable { literal: Some(false), ..ANY },
        ],
        ..NOTHING
    };
    check(
        &definition,
        "a.py",
        &[
            "subprocess.run(x, shell=True)",
            "subprocess.call(f'a {b}', check=True, shell=True, cwd=c)",
            "from subprocess import run as r\nr(\n    'a' + b,\n    shell=True,\n)",
            "subprocess.run(x, *a, **k, shell=(True))",
        ],
        &[
            "subprocess.run(x)",
            "subprocess.run('ls', shell=True)",
            "subprocess.run('a' 'b', shell=True)",
            "subprocess.run('a' + 'b', shell=True)",
            "subprocess.run(['a', 'b'], shell=True)",
            "subprocess.run(x, shell=False)",
            "subprocess.Popen(x, shell=True)",
        ],
    );
    assert_eq!(
        matched_texts(&definition, "a.py", "subprocess.run(x,\n  shell  =  True)"),
        ["shell  =  True"]
    );
}

#[test]
fn members_of_javascript_are_found_in_every_spelling() {
    let not_literal = &[Variable { literal: Some(false), ..ANY }];
    let assignment = Definition { code: &["$E.innerHTML = $X"], variables: not_literal, ..NOTHING };
    check(
        &assignment,
        "a.ts",
        &[
            "el.innerHTML = x;",
            "a.b().innerHTML += `a${b}`",
            "el['innerHTML'] =\n  // why\n  x as string;",
            "(el as any)!.innerHTML = (x)",
            "if (a) el.innerHTML = f(x)",
        ],
        &[
            "el.innerHTML = ''",
            "el.innerHTML = `a` + 'b'",
            "if (el.innerHTML === x) y()",
            "el.textContent = x",
        ],
    );
    let option = Definition { code: &["rejectUnauthorized: false"], report: "rejectUnauthorized", ..NOTHING };
    check(
        &option,
        "a.js",
        &[
            "new https.Agent({ rejectUnauthorized: false })",
            "f({\n  a,\n  'rejectUnauthorized':\n    false, // why\n})",
            "x = { ...y, [\"rejectUnauthorized\"]: !1 }",
        ],
        &["f({ rejectUnauthorized: true })", "f({ rejectUnauthorized })", "f({ rejectUnauthorized: a })"],
    );
    let element =
        Definition { code: &["dangerouslySetInnerHTML={{ __html: $X }}"], variables: not_literal, ..NOTHING };
    check(
        &element,
        "a.tsx",
        &[
            "a = <p dangerouslySetInnerHTML={{ __html: body }} />",
            "a = <p\n  dangerouslySetInnerHTML={\n    { __html: body, }\n  }\n/>",
            "h('p', { dangerouslySetInnerHTML: { __html: body } })",
        ],
        &["a = <p dangerouslySetInnerHTML={{ __html: '<b>' }} />"],
    );
}

#[test]
fn names_of_javascript_are_resolved_through_imports() {
    let definition = Definition {
        code: &["$F($X, ...)"],
        variables: &[
            Variable { name: "F", names: &["child_process.exec", "exec"], ..ANY },
            Variable { literal: Some(false), ..ANY },
        ],
        ..NOTHING
    };
    check(
        &definition,
        "a.js",
        &[
            "exec(`a ${b}`)",
            "child_process.exec(x)",
            "import { exec } from 'child_process'; exec(x)",
            "import { exec as run } from 'node:child_process'; run(x, y)",
            "import * as cp from \"child_process\"; cp?.exec?.(x)",
            "import cp from 'child_process'; cp.exec(x)",
            "const { exec } = require('child_process'); exec(x)",
            "const { exec: run = 1 } = require('child_process'); run(x)",
            "const cp = require('node:child_process'); (0, cp.exec)(x)",
            "const run = require('child_process').exec; run(x)",
            "const run = promisify(require('child_process').exec); run(x)",
            "require('child_process')['exec'](x)",
            "const cp = await import('child_process'); cp.exec(x)",
        ],
        &[
            "exec('ls')",
            "pattern.exec(x)",
            "const exec = (x) => x; exec(x)",
            "import { exec } from './mine'; exec(x)",
            "function f(exec) { exec(x) }",
            "function exec(a) {}\nexec(x)",
            "const { exec } = pattern; exec(x)",
        ],
    );
    let evaluated =
        Definition { code: &["eval($X)"], variables: &[Variable { literal: Some(false), ..ANY }], ..NOTHING };
    check(
        &evaluated,
        "a.js",
        &[
            "eval('(' + x + ')')",
            "window.eval(x)",
            "(0, eval)(x)",
            "const e = eval; e(x)",
            "globalThis['eval'](x)",
        ],
        &["eval('1 + ' + '1')", "page.eval(x)", "eval(x, y)"],
    );
}

#[test]
fn names_of_go_rust_and_java_are_resolved_through_imports() {
    let definition = Definition {
        code: &["exec.Command($SHELL, $FLAG, $X)"],
        using: &["import \"os/exec\""],
        variables: &[
            Variable { name: "SHELL", matches: "^(/bin/)?(ba)?sh$", ..ANY },
            Variable { name: "FLAG", matches: "^-\\w*c$", ..ANY },
            Variable { literal: Some(false), ..ANY },
        ],
        ..NOTHING
    };
    check(
        &definition,
        "a.go",
        &[
            "package a\nvar a = exec.Command(\"sh\", `-c`, x)",
            "package a\nimport e \"os/exec\"\nfunc f() { e.Command(\n\"/bin/sh\",\n\"-\" + \"c\", // why\n(fmt.Sprintf(\"%s\", x)),\n) }",
        ],
        &[
            "package a\nvar a = exec.Command(\"tar\", \"-c\", x)",
            "package a\nimport \"k8s.io/utils/exec\"\nvar a = exec.Command(\"sh\", \"-c\", x)",
            "package a\nvar a = exec.Command(\"sh\", \"-c\", \"ls\")",
        ],
    );
    let verify =
        Definition { code: &["InsecureSkipVerify: true", "$C.InsecureSkipVerify = true"], ..NOTHING };
    check(
        &verify,
        "a.go",
        &[
            "package a\nvar c = &tls.Config{InsecureSkipVerify: true}",
            "package a\nvar c = &tls.Config{\nInsecureSkipVerify: (true), // why\n}",
            "package a\nfunc f() { c.InsecureSkipVerify = true }",
        ],
        &["package a\nvar c = &tls.Config{InsecureSkipVerify: insecure}"],
    );
    let rust = Definition { code: &["std::thread::sleep(...)"], ..NOTHING };
    check(
        &rust,
        "a.rs",
        &[
            "fn f() { std::thread::sleep(x); }",
            "use std::thread; fn f() { thread::sleep(x) }",
            "use std::{thread as t}; fn f() { t::sleep(x) }",
            "use std::thread::{self, sleep}; fn f() { sleep(x,) }",
            "fn f() { thread::sleep(x) }",
        ],
        &["use my::time::sleep; fn f() { sleep(x) }", "use my::thread; fn f() { thread::sleep(x) }"],
    );
    let chained = Definition {
        code: &["$C.arg(\"-c\").arg($X)"],
        variables: &[Variable { literal: Some(false), ..ANY }],
        ..NOTHING
    };
    check(
        &chained,
        "a.rs",
        &[
            "fn f() { Command::new(\"sh\").arg(\"-c\").arg(format!(\"a {b}\")); }",
            "fn f() { Command::new(\"sh\")\n  .arg(r\"-c\") // why\n  .arg(&x)?; }",
        ],
        &["fn f() { Command::new(\"sh\").arg(\"-c\").arg(\"make all\") }"],
    );
    let java = Definition {
        code: &["new ObjectInputStream(...).readObject()"],
        using: &["import java.io.ObjectInputStream;"],
        ..NOTHING
    };
    check(
        &java,
        "A.java",
        &[
            "class A { Object f() { return new ObjectInputStream(s.get()).readObject(); } }",
            "class A { Object f() { return (T) (new java.io.ObjectInputStream(\n  s\n)) /* why */ .readObject(); } }",
        ],
        &[
            "import mine.ObjectInputStream; class A { Object f() { return new ObjectInputStream(s).readObject(); } }",
            "class A { Object f() { return new ObjectInputStream(s).read(); } }",
        ],
    );
    let compiled = Definition {
        code: &["Pattern.compile($X, ...)"],
        using: &["import java.util.regex.Pattern;"],
        variables: &[Variable { literal: Some(true), ..ANY }],
        ..NOTHING
    };
    check(
        &compiled,
        "A.java",
        &[
            "class A { Pattern p = Pattern.compile(\"a\"); }",
            "import static java.util.regex.Pattern.compile; class A { Pattern p = compile(\"a\" + \"b\", 1); }",
        ],
        &["class A { Pattern p = Pattern.compile(x); }"],
    );
}

#[test]
fn other_languages_have_patterns_too() {
    let not_literal = &[Variable { literal: Some(false), ..ANY }];
    let ruby = Definition { code: &["system($X)", "eval($X)"], variables: not_literal, ..NOTHING };
    check(
        &ruby,
        "a.rb",
        &["system(\"tar #{x}\")", "system \"tar #{x}\"", "Kernel.system(\n  x,\n)", "eval text if x"],
        &["system('tar')", "system \"tar\"", "system(\"tar\", x)", "x.eval(y)", "def eval(x); end; eval(y)"],
    );
    let php = Definition { code: &["shell_exec($X)"], variables: not_literal, ..NOTHING };
    check(
        &php,
        "a.php",
        &[
            "<?php shell_exec(\"tar $n\");",
            "<?php \\shell_exec('a' . $b);",
            "<?php @shell_exec(\n$x, // why\n);",
        ],
        &["<?php shell_exec('tar');", "<?php $a->shell_exec($x);", "<?php shell_exec('a' . 'b');"],
    );
    let option = Definition { code: &["CURLOPT_SSL_VERIFYPEER => false"], ..NOTHING };
    check(
        &option,
        "a.php",
        &["<?php f([CURLOPT_SSL_VERIFYPEER => FALSE, A => 1]);"],
        &["<?php f([B => false]);"],
    );
    let shell = Definition {
        code: &["curl ... $X ..."],
        variables: &[Variable { matches: "^(--insecure|-[a-zA-Z]*k[a-zA-Z]*)$", ..ANY }],
        report: "X",
        ..NOTHING
    };
    check(
        &shell,
        "a.sh",
        &[
            "curl -sk https://a",
            "x=$(/usr/bin/curl https://a \\\n  --insecure)",
            "if curl '-k' \"$x\"; then y; fi",
        ],
        &["curl -sS https://k", "# curl -k", "echo 'curl -k'"],
    );
    let sharp = Definition { code: &["new BinaryFormatter(...)"], ..NOTHING };
    check(
        &sharp,
        "a.cs",
        &["var x = new BinaryFormatter();"],
        &["// new BinaryFormatter()", "typeof(BinaryFormatter)"],
    );
    let kotlin = Definition { code: &["hostnameVerifier { $A, $B -> true }"], ..NOTHING };
    check(
        &kotlin,
        "a.kt",
        &["client.hostnameVerifier { _, _ -> true }"].map(|text| &text[7..]),
        &["hostnameVerifier { a, b -> a == b }"],
    );
    let dart = Definition { code: &["solo: true"], ..NOTHING };
    check(&dart, "a.dart", &["test('a', () { f(); }, solo: true);"], &["test('solo: true', f);"]);
}

#[test]
fn only_the_scripts_of_a_page_are_read() {
    let definition = Definition { code: &["eval($X)"], variables: &[ANY], ..NOTHING };
    check(
        &definition,
        "a.vue",
        &[
            "<template>eval(a)</template>\n<script setup lang=\"ts\">\nconst a = (b as any); eval(a);\n</script>\n",
        ],
        &["<p>eval(a)</p>", "<script type=\"application/json\">eval(a)</script>", "<script></script>"],
    );
    assert_eq!(
        matched_texts(&definition, "a.astro", "---\neval(a)\n---\n<p/>\n<script>eval(b)</script>"),
        ["eval(a)", "eval(b)"]
    );
}

#[test]
fn contexts_are_those_of_the_innermost_function() {
    let blocking = Definition { code: &["time.sleep(...)"], inside: &[Context::AsyncFunction], ..NOTHING };
    check(
        &blocking,
        "a.py",
        &[
            "async def f():\n    time.sleep(1)",
            "async def f():\n    if x:\n        time.sleep(\n            1\n        )",
        ],
        &[
            "def f():\n    time.sleep(1)",
            "async def f():\n    def g():\n        time.sleep(1)",
            "time.sleep(1)",
        ],
    );
    let waits = Definition { code: &["await $X"], inside: &[Context::LoopInTurn], ..NOTHING };
    check(
        &waits,
        "a.ts",
        &["async function f() { for (const a of b) { await g(a); await h(a) } }"],
        &["async function f() { for (const a of b) { if (await g(a)) break } }", "async () => { await g() }"],
    );
}

#[test]
fn statements_imports_and_what_takes_a_match_back_count() {
    let statement = Definition { code: &["byebug"], statement: true, ..NOTHING };
    check(&statement, "a.rb", &["def f\n  byebug\nend", "byebug"], &["byebug = 1", "x(byebug)"]);
    let debugger = Definition { code: &["debugger;"], ..NOTHING };
    check(&debugger, "a.js", &["if (a) { debugger }", "debugger;"], &["let debuggers = 1", "'debugger'"]);
    let imported = Definition { imports: &["pdb"], ..NOTHING };
    check(
        &imported,
        "a.py",
        &["import pdb", "from pdb import set_trace as t", "if x: import os, pdb"],
        &["import pdbs"],
    );
    let unless = Definition {
        code: &["yaml.load($X, Loader=$L)"],
        unless: &["yaml.load($X, Loader=yaml.SafeLoader)"],
        variables: &[],
        ..NOTHING
    };
    check(
        &unless,
        "a.py",
        &["yaml.load(x, Loader=yaml.Loader)"],
        &["yaml.load(x, Loader=yaml.SafeLoader)", "from yaml import SafeLoader as S\nyaml.load(x, Loader=S)"],
    );
    let near = Definition { code: &["f(verify=False)"], not_near: "localhost", ..NOTHING };
    check(&near, "a.py", &["f(verify=False)"], &["x = [f(verify=False), 'localhost']"]);
    let decorated = Definition { code: &["@pytest.mark.only"], ..NOTHING };
    check(&decorated, "a.py", &["@pytest.mark.only\ndef f(): pass"], &["@pytest.mark.skip\ndef f(): pass"]);
}

#[test]
fn a_match_keeps_its_key_when_it_is_reformatted() {
    let definition = Definition { code: &["f(...)"], ..NOTHING };
    let patterns = Pattern::compile(&definition, "python").unwrap();
    let patterns: Patterns<'_> = patterns.iter().collect();
    let texts = [
        "f(a, 'b', c=1)",
        "f(\n    a,\n    \"b\",\n    c=1,\n)",
        "f(a, 'b', c = (1))  # why",
        "f(\n  a,  # first\n  \"b\", c=1)",
        "f(a, 'c', c=1)",
    ];
    let keys = texts.map(|text| {
        let parsed = ParsedText::parse("a.py", text).unwrap();
        patterns.find(&Code::new(text, &parsed), None).matches.remove(0).key
    });
    let [first, same @ .., other] = &keys;
    assert!(same.iter().all(|key| key == first), "{keys:?}");
    assert_ne!(other, first);
}

#[test]
fn a_definition_at_fault_is_told() {
    let cases: &[(Definition, &str)] = &[
        (Definition { code: &["f("], ..NOTHING }, "`f(` cannot be parsed as Python"),
        (Definition { code: &["f(f'{x}')"], ..NOTHING }, "`f(f'{x}')` has a string with an expression in it"),
        (Definition { code: &["$X"], ..NOTHING }, "`$X` matches anything"),
        (Definition { code: &["f()"], variables: &[ANY], ..NOTHING }, "`$X` stands in no pattern"),
        (
            Definition { code: &["f()"], report: "shell", ..NOTHING },
            "`shell` is reported and stands in no pattern",
        ),
    ];
    for (definition, expected) in cases {
        assert_eq!(Pattern::check(definition, "python").unwrap_err().to_string(), *expected);
    }
    assert_eq!(Pattern::compile(&NOTHING, "basic").unwrap_err().to_string(), "there is no language `basic`");
}

#[test]
fn hostile_texts_end() {
    let definition = Definition { code: &["eval($X)", "$A.b(..., $X, ...)"], variables: &[ANY], ..NOTHING };
    let patterns = Pattern::compile(&definition, "javascript").unwrap();
    let patterns: Patterns<'_> = patterns.iter().collect();
    for text in [
        "eval(".repeat(2_000),
        "a.b".repeat(2_000),
        "a.b(1)".to_owned() + &".b(1)".repeat(1_000),
        format!("a.b({})", "1,".repeat(5_000)),
        "'a'+".repeat(5_000),
        "(".repeat(5_000),
        "[".repeat(5_000),
        "`${".repeat(2_000),
    ] {
        let parsed = ParsedText::parse("a.js", &text).unwrap();
        patterns.find(&Code::new(&text, &parsed), None);
    }
}
