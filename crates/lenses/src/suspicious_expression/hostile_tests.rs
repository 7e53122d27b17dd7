//! Texts that are nested or chained a thousand times and more: the work that they make grows as they do.

use qa_reading::expressions::Expressions;
use qa_reading::syntax::{Language, Span};
use qa_reading::work::counted;

use super::site::Site;
use super::table;

const ALL: [Language; 13] = [
    Language::C,
    Language::CSharp,
    Language::Cpp,
    Language::Go,
    Language::Java,
    Language::JavaScript,
    Language::Kotlin,
    Language::Php,
    Language::Python,
    Language::Ruby,
    Language::Rust,
    Language::Tsx,
    Language::TypeScript,
];

/// Parts of a text: what is repeated before the middle, the middle, and what is repeated behind it.
type Shape = [String; 3];

fn shape(before: &str, middle: &str, behind: &str) -> Shape {
    [before, middle, behind].map(str::to_owned)
}

/// Returns the shapes that a language can have, as statements.
fn shapes(language: Language) -> Vec<Shape> {
    let (and, sigil) = match language {
        Language::Php => ("&&", "$"),
        Language::Python => ("and", ""),
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Go
        | Language::Java
        | Language::JavaScript
        | Language::Kotlin
        | Language::Ruby
        | Language::Rust
        | Language::Tsx
        | Language::TypeScript => ("&&", ""),
    };
    let first = format!("{sigil}x = {sigil}a");
    let mut all = vec![
        shape("", &first, &format!(" {and} {sigil}a")),
        shape("", &first, &format!(" + {sigil}a")),
        shape("", &format!("{sigil}x = \"b\""), " + \"b\""),
        shape("f(", &format!("{sigil}a"), ")"),
        shape("(", &format!("{sigil}a"), ")"),
    ];
    match language {
        Language::Python => {
            all.push(shape("", "if a == 1:\n    f()\n", "elif a == 2:\n    f()\n"));
            all.push(shape("a if b else ", "c", ""));
            all.push(shape("lambda a: ", "a", ""));
        }
        Language::Ruby => {
            all.push(shape("if a\n", "f()\n", "end\n"));
            all.push(shape("", "if a\n f()\n", "elsif b\n f()\n"));
            all.push(shape("a ? b : ", "c", ""));
            all.push(shape("f { ", "a", " }"));
            all.push(shape("def f()\n", "a\n", "end\n"));
        }
        Language::Go => {
            all.push(shape("if a { ", "f()", " }"));
            all.push(shape("if a { f() } else ", "{ f() }", ""));
            all.push(shape("for a { ", "f()", " }"));
            all.push(shape("func() { ", "f()", " }()"));
        }
        Language::Rust => {
            all.push(shape("if a { ", "f();", " }"));
            all.push(shape("if a { f(); } else ", "{ f(); }", ""));
            all.push(shape("while a { ", "f();", " }"));
            all.push(shape("|| ", "a", ""));
            all.push(shape("fn f() { ", "f();", " }"));
        }
        Language::C
        | Language::CSharp
        | Language::Cpp
        | Language::Java
        | Language::JavaScript
        | Language::Kotlin
        | Language::Php
        | Language::Tsx
        | Language::TypeScript => {
            let condition = format!("if ({sigil}a) {{ ");
            all.push(shape(&condition, "f();", " }"));
            all.push(shape(&format!("if ({sigil}a) {{ f(); }} else "), "{ f(); }", ""));
            all.push(shape(&format!("while ({sigil}a) {{ "), "f();", " }"));
            if language != Language::Kotlin {
                all.push(shape(&format!("for ({sigil}i = 0; {sigil}i <= 9; {sigil}i--) {{ "), "f();", " }"));
                all.push(shape(&format!("{sigil}a ? {sigil}b : "), &format!("{sigil}c"), ""));
            }
            let closure = match language {
                Language::JavaScript | Language::Tsx | Language::TypeScript => "function f() { ",
                Language::CSharp | Language::Java => "f(() -> { ",
                Language::Php => "function f() { ",
                Language::C
                | Language::Cpp
                | Language::Go
                | Language::Kotlin
                | Language::Python
                | Language::Ruby
                | Language::Rust => "{ ",
            };
            all.push(shape(closure, "f();", if closure.contains("->") { " })" } else { " }" }));
        }
    }
    all
}

/// Returns a text of some size in a function where the language wants one.
fn text(language: Language, [before, middle, behind]: &Shape, size: usize) -> String {
    let (begin, end) = match language {
        Language::C | Language::Cpp => ("void f() {\n", "\n;\n}\n"),
        Language::CSharp | Language::Java => ("class A { void f() {\n", "\n;\n} }\n"),
        Language::Go => ("package p\nfunc f() {\n", "\n}\n"),
        Language::Kotlin => ("fun f() {\n", "\n}\n"),
        Language::Php => ("<?php\n", "\n;\n"),
        Language::Rust => ("fn f() {\n", "\n;\n}\n"),
        Language::JavaScript | Language::Python | Language::Ruby | Language::Tsx | Language::TypeScript => {
            ("", "\n")
        }
    };
    let (before, behind) = (before.repeat(size), behind.repeat(size));
    format!("{begin}{before}{middle}{behind}{end}")
}

/// Returns the number of looks at nodes that the rules take.
fn work(language: Language, text: &str) -> usize {
    let Some(all) = Expressions::parse(language, text) else { return 0 };
    let begin = counted();
    all.visit(&[Span { start: 0, end: text.len() }], |expression| {
        let site = Site::new(expression);
        for check in table::checks(&site) {
            (check.find)(&site);
        }
    });
    counted() - begin
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_texts_and_not_with_their_square() {
    let (mut steep, mut total) = (Vec::new(), 0);
    for language in ALL {
        for shape in shapes(language) {
            let [small, middle, large] =
                [1_000, 2_000, 4_000].map(|size| work(language, &text(language, &shape, size)));
            total += large;
            // A text that the parser gives up is read in parts, and makes less work.
            if middle > small * 5 / 2 + 1_000 || large > middle * 5 / 2 + 1_000 {
                steep.push(format!("{language:?} {shape:?}: {small} {middle} {large}"));
            }
        }
    }
    assert!(total > 100_000, "looks at nodes are not counted");
    assert!(steep.is_empty(), "{}", steep.join("\n"));
}
