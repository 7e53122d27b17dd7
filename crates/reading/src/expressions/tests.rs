//! Tests of the forms, one text in each language.

use super::{Expressions, Form};
use crate::syntax::{Language, Span};

/// Returns the forms of a text by their names, in the order of the text.
fn forms(language: Language, text: &str) -> Vec<String> {
    let all = Expressions::parse(language, text).unwrap();
    let mut found = Vec::new();
    all.visit(&[Span { start: 0, end: text.len() }], |expression| {
        let form = format!("{:?}", expression.form());
        let name: String = form.chars().take_while(|sign| sign.is_alphanumeric()).collect();
        if name != "Other" {
            found.push(name);
        }
    });
    found
}

#[test]
fn a_comparison_has_one_form_in_every_language() {
    let texts = [
        (Language::C, "int f() { if (a == b[1]) { c(); } }"),
        (Language::CSharp, "class A { int F() { if (a == b[1]) { c(); } } }"),
        (Language::Cpp, "int f() { if (a == b[1]) { c(); } }"),
        (Language::Go, "package p\nfunc f() { if a == b[1] { c() } }"),
        (Language::Java, "class A { int f() { if (a == b[1]) { c(); } } }"),
        (Language::JavaScript, "if (a === b[1]) { c(); }"),
        (Language::Kotlin, "fun f() { if (a == b[1]) { c() } }"),
        (Language::Php, "<?php if ($a == $b[1]) { c(); }"),
        (Language::Python, "if a == b[1]:\n    c()\n"),
        (Language::Ruby, "if a == b[1]\n  c()\nend\n"),
        (Language::Rust, "fn f() { if a == b[1] { c(); } }"),
        (Language::TypeScript, "if (a === b[1]) { c(); }"),
    ];
    for (language, text) in texts {
        let found = forms(language, text);
        for name in ["Choice", "Binary", "Index", "Call"] {
            assert!(found.iter().any(|form| form == name), "{language:?} {name}: {found:?}");
        }
    }
}

#[test]
fn strings_are_compared_by_value() {
    let texts = [
        (Language::Python, "f(r'a\\b')", "a\\b"),
        (Language::Python, "f(\"\"\"a\"\"\")", "a"),
        (Language::JavaScript, "f('a\\n')", "a\n"),
        (Language::Go, "package p\nvar a = f(`a\\n`)", "a\\n"),
        (Language::Rust, "fn f() { f(r#\"a\"#) }", "a"),
    ];
    for (language, text, value) in texts {
        let all = Expressions::parse(language, text).unwrap();
        let mut found = Vec::new();
        all.visit(&[Span { start: 0, end: text.len() }], |expression| {
            if let Form::Call { .. } = expression.form() {
                found.extend(expression.arguments().iter().filter_map(|given| given.text_value()));
            }
        });
        assert_eq!(found, [value], "{text}");
    }
}

/// Returns the tokens of the first call of a text.
fn tokens(language: Language, text: &str) -> Vec<String> {
    let all = Expressions::parse(language, text).unwrap();
    let mut found = Vec::new();
    all.visit(&[Span { start: 0, end: text.len() }], |expression| {
        if let Form::Call { .. } = expression.form()
            && found.is_empty()
        {
            found = expression.tokens().into_iter().map(str::to_owned).collect();
        }
    });
    found
}

#[test]
fn tokens_tell_meanings_apart_and_no_spellings() {
    let spelled = tokens(Language::Python, "f( (a) == \"x\", )  # c");
    assert_eq!(tokens(Language::Python, "f(a == 'x')"), spelled);
    for (one, two) in [
        ("f(\"a\")", "f(a)"),
        ("f(d['a'])", "f(d[a])"),
        ("f((a + b) * c)", "f(a + b * c)"),
        ("f((a or b) and c)", "f(a or b and c)"),
        ("f(a)(b)", "f(a, b)"),
        ("f((a, b))", "f(a, b)"),
        ("f(-(a + b))", "f(-a + b)"),
    ] {
        assert_ne!(tokens(Language::Python, one), tokens(Language::Python, two), "{one} {two}");
    }
}

#[test]
fn long_chains_are_read_without_deep_recursion() {
    let count = 2_000;
    let calls = format!("x = f{}", "()".repeat(count));
    assert!(tokens(Language::Python, &calls).len() <= super::MOST_TOKENS);
    let signs = format!("x_ms = {}y", "!".repeat(count));
    let all = Expressions::parse(Language::JavaScript, &signs).unwrap();
    let mut visited = 0;
    all.visit(&[Span { start: 0, end: signs.len() }], |expression| {
        visited += usize::from(format!("{:?}", expression.class()) == "Unary");
    });
    assert!(visited > 0);
}
