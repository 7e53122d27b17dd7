//! Times of the inner loops alone, for a look at one of them while it is changed; `make bench` times whole runs.

use std::fmt::Write;

use divan::Bencher;
use divan::counter::BytesCount;
use qa_reading::patterns::{Code, Definition, ParsedText, Pattern, Patterns, Words};
use qa_reading::syntax::{Language, parse};

fn main() {
    divan::main();
}

/// Numbers of lines of the texts.
const LINES: [usize; 3] = [100, 1_000, 10_000];

/// Returns functions of Python; every line whose number `changed` divides differs from those of another divisor.
fn python(lines: usize, changed: usize) -> String {
    let mut text = String::new();
    for number in 0..lines / 4 {
        let value = if number % changed == 0 { number * changed } else { number };
        write!(
            text,
            "def function_{number}(first, second):\n    # {value}\n    return first + second * {value}\n\n"
        )
        .expect("a string takes any text");
    }
    text
}

#[divan::bench(args = LINES)]
fn diff_hunks(bencher: Bencher<'_, '_>, lines: usize) {
    let (old, new) = (python(lines, 7), python(lines, 11));
    bencher
        .counter(BytesCount::of_str(&new))
        .bench(|| qa_core::diff::diff_file(old.as_bytes(), new.as_bytes(), 1 << 24));
}

#[divan::bench(args = LINES)]
fn secrets_scan(bencher: Bencher<'_, '_>, lines: usize) {
    let text = python(lines, 7);
    bencher.counter(BytesCount::of_str(&text)).bench(|| qa_core::secrets::find(&text));
}

#[divan::bench(args = LINES)]
fn secrets_scan_of_escapes(bencher: Bencher<'_, '_>, lines: usize) {
    let text = r#"{"key": "\u0061\n\t%41 \"password\": \"none\""}"#.repeat(lines).replace("}{", "}\n{");
    bencher.counter(BytesCount::of_str(&text)).bench(|| qa_core::secrets::find(&text));
}

#[divan::bench(args = LINES)]
fn parse_and_outline(bencher: Bencher<'_, '_>, lines: usize) {
    let text = python(lines, 7);
    bencher.counter(BytesCount::of_str(&text)).bench(|| parse(Language::Python, &text));
}

#[divan::bench(args = LINES)]
fn canonical_json(bencher: Bencher<'_, '_>, lines: usize) {
    let items: Vec<_> = (0..lines)
        .map(|number| serde_json::json!({"path": format!("src/{number}.py"), "line": number, "b": [1.5, null]}))
        .collect();
    let value = serde_json::Value::from(items);
    let bytes = value.to_string();
    bencher.counter(BytesCount::of_str(&bytes)).bench(|| qa_core::canonical::to_vec(&value));
}

#[divan::bench(args = LINES)]
fn strict_json(bencher: Bencher<'_, '_>, lines: usize) {
    let text = format!("[{}1]", r#"{"path": "src/a.py", "line": 12, "text": "caf\u00e9"},"#.repeat(lines));
    bencher.counter(BytesCount::of_str(&text)).bench(|| qa_contracts::strict_json::parse(text.as_bytes()));
}

/// Numbers of rules over a text that stays the same.
const RULES: [usize; 3] = [50, 150, 300];

/// Returns rules of two spellings each, with names of their own.
fn rules(count: usize) -> Vec<Definition> {
    let rules = (0..count).map(|number| {
        let spellings = [format!("module.call_{number}($A, ...)"), format!("$B.method_{number}(name=$A)")];
        let spellings: Vec<&'static str> =
            spellings.into_iter().map(|code| &*Box::leak(code.into_boxed_str())).collect();
        Definition::new(&["python"], spellings.leak())
    });
    rules.collect()
}

/// Returns lines with calls, a few of which the first rules match.
fn calls(lines: usize) -> String {
    let mut text = String::from("import module\n");
    for number in 0..lines {
        writeln!(text, "value_{number} = module.call_{}(first, other.any(second))", number % 2_000)
            .expect("a string takes any text");
    }
    text
}

#[divan::bench(args = RULES)]
fn words_of_rules(bencher: Bencher<'_, '_>, count: usize) {
    let (rules, text) = (rules(count), calls(10_000));
    let words = Words::new(&rules);
    bencher.counter(BytesCount::of_str(&text)).bench(|| words.possible(|| text.as_str(), &text));
}

#[divan::bench(args = RULES)]
fn search_by_rules(bencher: Bencher<'_, '_>, count: usize) {
    let (rules, text) = (rules(count), calls(10_000));
    let compiled =
        rules.iter().map(|rule| Pattern::compile(rule, "python").expect("the rules are well-formed"));
    let compiled: Vec<Pattern> = compiled.flatten().collect();
    let patterns: Patterns<'_> = compiled.iter().collect();
    let parsed = ParsedText::parse("a.py", &text).expect("Python has a grammar");
    bencher.counter(BytesCount::of_str(&text)).bench(|| patterns.find(&Code::new(&text, &parsed), None));
}
