//! Times of the inner loops alone, for a look at one of them while it is changed; `make bench` times whole runs.

use std::fmt::Write;

use divan::Bencher;
use divan::counter::BytesCount;
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
