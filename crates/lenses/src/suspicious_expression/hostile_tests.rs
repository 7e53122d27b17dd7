//! Texts that are nested or chained a thousand times: the work that they make grows as they do.

use qa_reading::expressions::Expressions;
use qa_reading::syntax::{Language, Span};
use qa_reading::work::counted;

use super::site::Site;
use super::table;

/// Parts of a text: what is repeated before the middle, the middle, and what is repeated behind it.
type Shape = [String; 3];

fn shape(before: &str, middle: &str, behind: &str) -> Shape {
    [before, middle, behind].map(str::to_owned)
}

/// Returns the shapes that a language can have, as statements.
fn shapes(language: Language) -> Vec<Shape> {
    let mut all = operators(language).to_vec();
    match language {
        Language::Python => all.extend([
            shape("", "if a == 1:\n    f()\n", "elif a == 2:\n    f()\n"),
            shape("f(b, b, b, b, b, b) if a else ", "c", ""),
            shape("lambda a: ", "a", ""),
        ]),
        Language::Ruby => all.extend([
            shape("if a\n", "f()\n", "end\n"),
            shape("", "if a\n f()\n", "elsif b\n f()\n"),
            shape("a ? f(b, b, b, b, b, b) : ", "c", ""),
            shape("f { ", "a", " }"),
            shape("def f()\n", "a\n", "end\n"),
        ]),
        Language::Go => all.extend([
            shape("if a { ", "f()", " }"),
            shape("if a { f() } else ", "{ f() }", ""),
            shape("for a { ", "f()", " }"),
            shape("func() { ", "f()", " }()"),
        ]),
        Language::Rust => all.extend([
            shape("if a { ", "f();", " }"),
            shape("if a { f(); } else ", "{ f(); }", ""),
            shape("while a { ", "f();", " }"),
            shape("|| ", "a", ""),
            shape("fn f() { ", "f();", " }"),
        ]),
        Language::C | Language::Cpp | Language::Kotlin => {
            all.extend(statements(language));
            all.push(shape("{ ", "f();", " }"));
        }
        Language::CSharp | Language::Java => {
            all.extend(statements(language));
            all.push(shape("f(() -> { ", "f();", " })"));
        }
        Language::JavaScript | Language::Php | Language::Tsx | Language::TypeScript => {
            all.extend(statements(language));
            all.push(shape("function f() { ", "f();", " }"));
        }
    }
    all
}

/// Returns the sign before a variable.
fn sigil(language: Language) -> &'static str {
    if language == Language::Php { "$" } else { "" }
}

/// Returns chains of operators, calls and parentheses.
fn operators(language: Language) -> [Shape; 5] {
    let and = if language == Language::Python { "and" } else { "&&" };
    let sigil = sigil(language);
    let first = format!("{sigil}x = {sigil}a");
    [
        shape("", &first, &format!(" {and} {sigil}a")),
        shape("", &first, &format!(" + {sigil}a")),
        shape("", &format!("{sigil}x = \"b\""), " + \"b\""),
        shape("f(", &format!("{sigil}a"), ")"),
        shape("(", &format!("{sigil}a"), ")"),
    ]
}

/// Returns nested statements as languages write them that take theirs from C.
fn statements(language: Language) -> Vec<Shape> {
    let sigil = sigil(language);
    let mut all = vec![
        shape(&format!("if ({sigil}a) {{ "), "f();", " }"),
        shape(&format!("if ({sigil}a) {{ f(); }} else "), "{ f(); }", ""),
        shape(&format!("while ({sigil}a) {{ "), "f();", " }"),
    ];
    if language != Language::Kotlin {
        all.push(shape(&format!("for ({sigil}i = 0; {sigil}i <= 9; {sigil}i--) {{ "), "f();", " }"));
        let arguments = vec![format!("{sigil}b"); 6].join(", ");
        all.push(shape(&format!("{sigil}a ? f({arguments}) : "), &format!("{sigil}c"), ""));
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

/// Checks that twice the text takes little more than twice the work. Two expressions are compared up to
/// [`qa_reading::expressions::MOST_TOKENS`], which the longest parts fill at half of the smaller size.
#[cfg(debug_assertions)]
fn check(languages: &[Language]) {
    let mut steep = Vec::new();
    for &language in languages {
        let mut total = 0;
        for shape in shapes(language) {
            let [once, twice] = [500, 1_000].map(|size| work(language, &text(language, &shape, size)));
            total += twice;
            // A text that the parser gives up is read in parts, and makes less work.
            if twice > once * 9 / 4 + 500 {
                steep.push(format!("{language:?} {shape:?}: {once} {twice}"));
            }
        }
        assert!(total > 5_000, "looks at nodes of {language:?} are not counted: {total}");
    }
    assert!(steep.is_empty(), "{}", steep.join("\n"));
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_c_and_not_with_its_square() {
    check(&[Language::C]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_cpp_and_not_with_its_square() {
    check(&[Language::Cpp]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_javascript_and_not_with_its_square() {
    check(&[Language::JavaScript]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_tsx_and_not_with_its_square() {
    check(&[Language::Tsx]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_typescript_and_not_with_its_square() {
    check(&[Language::TypeScript]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_managed_languages_and_not_with_its_square() {
    check(&[Language::CSharp, Language::Java, Language::Kotlin]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_native_languages_and_not_with_its_square() {
    check(&[Language::Go, Language::Rust]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_php_and_not_with_its_square() {
    check(&[Language::Php]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_python_and_not_with_its_square() {
    check(&[Language::Python]);
}

#[test]
#[cfg(debug_assertions)]
fn work_grows_with_nested_text_of_ruby_and_not_with_its_square() {
    check(&[Language::Ruby]);
}
