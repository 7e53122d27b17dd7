//! Sightings in files of each language.

use super::collect::in_file;
use qa_contracts::v1::{ConventionFamily, Scope};

/// `family: value name` of everything of some families that a file says.
fn said(path: &str, text: &str, families: &[ConventionFamily]) -> Vec<String> {
    let seen = in_file(path, Scope::Product, text);
    let wanted = seen.into_iter().filter(|one| families.contains(&one.family));
    wanted.map(|one| format!("{}: {} {}", one.family.as_str(), one.value, one.name)).collect()
}

#[test]
fn handlers_that_drop_errors_are_told_from_those_that_do_not() {
    let cases = [
        ("a.py", "try:\n    a()\nexcept:\n    pass\n", "bare except:"),
        ("a.py", "try:\n    a()\nexcept:\n    b()\n    raise\n", "handled except:"),
        ("a.py", "try:\n    a()\nexcept:\n    b()\nraise\n", "bare except:"),
        ("a.py", "try:\n    a()\nexcept Exception:\n    pass\n", "swallowed except Exception:"),
        ("a.py", "try:\n    a()\nexcept KeyError:\n    pass\n", "handled except KeyError:"),
        ("a.ts", "try { a() } catch (e) {}\n", "swallowed catch (e)"),
        ("a.ts", "try { a() } catch { /* gone */ }\n", "handled catch"),
        ("a.ts", "throw 'text'\n", "text throw"),
        ("A.java", "class A { void f() { try { g(); } catch (E e) { } } }", "swallowed catch (E e)"),
        (
            "A.java",
            "class A { void f() { try { g(); } catch (E e) { e.printStackTrace(); } } }",
            "printed catch (E e)",
        ),
        (
            "A.java",
            "class A { void f() { try { g(); } catch (E e) { e\n  .printStackTrace( /* */ ); } } }",
            "printed catch (E e)",
        ),
        ("a.go", "package a\n\nfunc f() {\n\terr := g()\n\t_ = err\n}\n", "swallowed _ = err"),
        (
            "a.go",
            "package a\n\nfunc f() error {\n\tif err := g(); err != nil {\n\t\treturn err\n\t}\n\treturn nil\n}\n",
            "handled if err := g(); err != nil {",
        ),
        ("a.rs", "fn f() { g().unwrap(); }\n", "unwrapped unwrap()"),
        ("a.rs", "fn f() -> R { g()?; }\n", "handled ?"),
    ];
    for (path, text, expected) in cases {
        assert_eq!(
            said(path, text, &[ConventionFamily::ErrorIdiom]),
            [format!("error-idiom: {expected}")],
            "{text}"
        );
    }
}

#[test]
fn what_stands_in_comments_and_strings_is_no_handler() {
    let text = "# except: pass\ntext = 'except:'\n";
    assert_eq!(said("a.py", text, &[ConventionFamily::ErrorIdiom]), Vec::<String>::new());
}

#[test]
fn documentation_is_found_where_each_language_has_it() {
    let cases = [
        ("a.py", "def f():\n    \"\"\"Says it.\"\"\"\n", true),
        ("a.py", "def f(a='x'):\n    return 'y'\n", false),
        ("a.go", "package a\n\n// F does it.\nfunc F() {}\n", true),
        ("a.go", "package a\n\n// Of something else.\n\nfunc F() {}\n", false),
        ("a.rs", "/// Does it.\n#[must_use]\npub fn f() {}\n", true),
        ("a.rs", "pub fn f() {}\n", false),
        ("a.rs", "#[doc = include_str!(\"f.md\")]\npub fn f() {}\n", true),
        ("a.rs", "#[doc=include_str!(\n    \"f.md\"\n)]\n#[must_use]\npub fn f() {}\n", true),
        ("a.rs", "#[cfg_attr(docsrs, doc = \"Does it.\")]\npub struct F;\n", true),
        ("a.rs", "#[doc(alias = \"g\")]\npub fn f() {}\n", false),
        ("a.rs", "#[derive(\n    Debug,\n)]\npub struct F;\n", false),
        ("a.rs", "/// Does it.\n#[derive(\n    Debug,\n)]\npub struct F;\n", true),
        ("a.ts", "/** Does it. */\nexport function f() {}\n", true),
        ("a.ts", "const a = 1 // one\nexport function f() {}\n", false),
        ("A.java", "/** Does it. */\n@Deprecated\npublic class A {}\n", true),
        ("A.java", "public class A {}\n", false),
    ];
    for (path, text, is_documented) in cases {
        let seen = said(path, text, &[ConventionFamily::PublicDoc]);
        assert_eq!(seen.len(), 1, "{text}");
        assert_eq!(seen[0].starts_with("public-doc: documented"), is_documented, "{text}");
    }
}

#[test]
fn items_for_a_part_of_a_crate_are_not_public() {
    let visibilities = ["pub(crate)", "pub(super)", "pub(in crate::a)", "pub (crate)", "pub(self)", ""];
    for visibility in visibilities {
        let text = format!(
            "{visibility} fn f() {{}}\n{visibility} struct S;\n#[inline]\n{visibility} fn g() {{}}\n"
        );
        assert_eq!(said("a.rs", &text, &[ConventionFamily::PublicDoc]), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn names_are_those_of_functions_methods_types_and_constants() {
    use ConventionFamily::{ConstantName, FunctionName, MethodName, TypeName};
    let all = [FunctionName, MethodName, TypeName, ConstantName];
    let cases: [(&str, &str, &[&str]); 5] = [
        (
            "a.ts",
            "const goOn = () => 1\nconst limit = 3\nclass C { run() {} }\n",
            &["function-name: goOn goOn", "method-name: run run"],
        ),
        (
            "A.java",
            "class Abc { Abc() {} void runAll() {} }",
            &["type-name: Abc Abc", "method-name: runAll runAll"],
        ),
        (
            "a.go",
            "package a\n\nconst MaxSize = 1\n\nfunc (s *S) RunAll() {}\n",
            &["constant-name: MaxSize MaxSize", "function-name: RunAll RunAll"],
        ),
        ("a_test_windows.go", "package a\n\nfunc TestAll_Windows() {}\n", &[]),
        (
            "a.py",
            "class Abc:\n    def __init__(self): ...\n    def run_all(self): ...\n",
            &["type-name: Abc Abc", "function-name: run_all run_all"],
        ),
    ];
    for (path, text, expected) in cases {
        let seen = said(path, text, &all);
        assert_eq!(seen, expected, "{text}");
    }
}

#[test]
fn names_in_rust_are_those_that_their_authors_chose() {
    use ConventionFamily::{ConstantName, FunctionName, TypeName};
    let all = [FunctionName, TypeName, ConstantName];
    let cases: [(&str, &[&str]); 5] = [
        (
            "const MAX_SIZE: u8 = 1;\nstruct Abc;\nimpl Abc { fn run_all(&self) {} }\n",
            &["constant-name: MAX_SIZE MAX_SIZE", "type-name: Abc Abc", "function-name: run_all run_all"],
        ),
        ("#[allow(non_snake_case)]\nfn runAll() {}\nfn runNext() {}\n", &["function-name: runNext runNext"]),
        ("#![allow(non_camel_case_types)]\nstruct ab_c;\n", &[]),
        ("#[no_mangle]\npub extern \"C\" fn runAll() {}\nextern \"C\" { fn runNext(); }\n", &[]),
        ("trait Abc { fn run_all(&self); }\n", &["type-name: Abc Abc", "function-name: run_all run_all"]),
    ];
    for (text, expected) in cases {
        assert_eq!(said("a.rs", text, &all), expected, "{text}");
    }
}

#[test]
fn tests_in_go_stand_beside_what_they_test_or_apart() {
    let place = |path| said(path, "package a\n", &[ConventionFamily::TestPlacement]);
    assert_eq!(place("a/b_test.go"), ["test-placement: beside b_test.go"]);
    assert_eq!(place("a/tests/b_test.go"), ["test-placement: tests b_test.go"]);
    assert_eq!(place("a/b.go"), Vec::<String>::new());
}

#[test]
fn imports_are_said_in_the_space_of_their_language() {
    let cases = [
        ("src/server/a.ts", "import { b } from '../shared/b'\n", "src/shared/b"),
        ("src/app/web/a.py", "from ..core import b\n", "app/core"),
        ("src/app/web/a.py", "from app.core.b import c\n", "app/core/b"),
        (
            "x/src/main/java/com/a/web/A.java",
            "package com.a.web;\nimport com.a.core.B;\nclass A {}\n",
            "com/a/core",
        ),
        ("a/src/web/a.rs", "use crate::core::b;\n", "a/src/core"),
    ];
    for (path, text, expected) in cases {
        let seen = said(path, text, &[ConventionFamily::ImportDirection]);
        assert_eq!(seen, [format!("import-direction: {expected} {expected}")], "{path}");
    }
}

/// The notice of a file.
fn header(path: &str, text: &str) -> String {
    let seen = in_file(path, Scope::Product, text);
    let notice = seen.into_iter().find(|one| one.family == ConventionFamily::LicenceHeader);
    notice.unwrap().value
}

#[test]
fn a_notice_is_its_words_without_years() {
    let words = "Copyright ‹year› The Authors.\nLicensed under the MIT licence.";
    let cases = [
        ("a.py", "# Copyright 2024 The Authors.\n# Licensed under the MIT licence.\n", format!("#\n{words}")),
        (
            "a.py",
            "#!/usr/bin/python\n\n# Copyright 2019-2024 The Authors.\n#\n# Licensed under the MIT licence.\nimport a\n",
            format!("#\n{words}"),
        ),
        (
            "A.java",
            "/*\n * Copyright 2019, 2021 The Authors.\n * Licensed under the MIT licence.\n */\npackage a;\n",
            format!("/*\n{words}"),
        ),
        (
            "a.php",
            "<?php\n\n// Copyright 2024 The Authors.\n// Licensed under the MIT licence.\n",
            format!("//\n{words}"),
        ),
        ("a.go", "package a\n\n// Copyright 2024 The Authors.\n", "absent".to_owned()),
        ("a.c", "#include <a.h>\n/* Copyright 2024 The Authors. */\n", "absent".to_owned()),
        ("a.rs", "// Of numbers.\n\nfn a() {}\n// Copyright 2024\n", "absent".to_owned()),
        (
            "a.py",
            "# Licensed to the Authors\n# under the MIT licence.\n",
            "#\nLicensed to the Authors\nunder the MIT licence.".to_owned(),
        ),
        (
            "a.go",
            "// Copyright 20245 The Authors.\npackage a\n",
            "//\nCopyright 20245 The Authors.".to_owned(),
        ),
    ];
    for (path, text, expected) in cases {
        assert_eq!(header(path, text), expected, "{text}");
    }
}

fn first_form(values: &[&str]) -> String {
    super::header::forms(values).remove(0)
}

#[test]
fn files_agree_on_the_words_that_their_notices_share() {
    use super::case::Fit;
    use super::header::fit;
    let apache = "//\nCopyright ‹year› The Authors\nLicensed under the Apache License";
    let longer = format!("{apache}\nReads numbers.");
    let form = first_form(&[&longer, apache]);
    assert_eq!(form, apache);
    for (value, kept) in [
        (longer.as_str(), true),
        ("//\nCopyright ‹year› The Authors\nLicensed under the MIT License", false),
        ("//\nCopyright ‹year› Somebody\nLicensed under the Apache License", false),
        ("//\nCopyright YYYY The Authors\nLicensed under the Apache License", false),
        ("/*\nCopyright ‹year› The Authors\nLicensed under the Apache License", false),
        ("//\nCopyright ‹year› The Authors", false),
        ("absent", false),
    ] {
        assert_eq!(fit(&form, value) == Fit::Keeps, kept, "{value}");
    }
    // Holders differ, and the rest of the notice is the same.
    let other = apache.replace("The Authors", "Somebody");
    let any_holder = first_form(&[apache, &other]);
    assert_eq!(any_holder, "//\n‹any›\nLicensed under the Apache License");
    assert_eq!(fit(&any_holder, apache), Fit::Keeps);
    assert_eq!(
        fit(&any_holder, "//\nCopyright ‹year› Somebody\nLicensed under the MIT License"),
        Fit::Breaks
    );
    assert_eq!(first_form(&["//\nCopyright ‹year› A", "absent"]), "present");
}
