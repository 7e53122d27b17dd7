//! What is done about errors, place by place.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::{ConventionFamily, Scope};
use qa_reading::syntax::{Language, Span};

/// Something is done about the error.
pub(crate) const HANDLED: &str = "handled";
/// What a handler does.
pub(crate) const HANDLERS: &str = "handlers";
/// What is thrown.
pub(crate) const THROWN: &str = "thrown";
/// How a failure leaves a function.
pub(crate) const RESULTS: &str = "results";

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    if source.part != Scope::Product {
        return;
    }
    let code = code_only(source);
    match source.language {
        Language::Go => go(source, &code, all),
        Language::Java => {
            catches(source, &code, all);
        }
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            catches(source, &code, all);
            throws(source, &code, all);
        }
        Language::Python => python(source, &code, all),
        Language::Rust => rust(source, &code, all),
    }
}

/// The text with every comment and string blanked out, byte for byte.
fn code_only(source: &Source<'_>) -> String {
    let mut bytes = source.text.as_bytes().to_vec();
    for span in source.outline.comments.iter().chain(&source.outline.strings) {
        if let Some(part) = bytes.get_mut(span.start..span.end) {
            for byte in part.iter_mut().filter(|byte| **byte != b'\n') {
                *byte = b' ';
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_default()
}

/// Notes a place. What stands there is known by its code, so that a comment beside it may change.
fn note(
    (source, code): (&Source<'_>, &str),
    all: &mut Vec<Sighting>,
    topic: &'static str,
    value: &str,
    span: Span,
) {
    if source.is_whole(span) && !source.is_test(span.start) {
        let name = span.of(code).split_whitespace().collect::<Vec<_>>().join(" ");
        let seen = (value, name.as_str());
        all.push(source.sighting(ConventionFamily::ErrorIdiom, topic, seen, Some(span)));
    }
}

/// Where a word stands by itself.
fn word<'t>(code: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    let joins = |character: char| character.is_alphanumeric() || matches!(character, '_' | '.' | '$');
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let after = &code[at + word.len()..];
        !code[..*at].ends_with(joins)
            && !after.starts_with(|next: char| next.is_alphanumeric() || next == '_')
    })
}

fn line_of(text: &str, at: usize) -> Span {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let line = &text[start..end];
    let indent = line.len() - line.trim_start().len();
    Span { start: start + indent, end: start + line.trim_end().len() }
}

fn catches(source: &Source<'_>, code: &str, all: &mut Vec<Sighting>) {
    for at in word(code, "catch") {
        let Some(open) = code[at..].find('{').map(|open| at + open) else { continue };
        let head = code[at + 5..open].trim();
        // `.catch(…)` was left out by the word; anything else between is not a clause.
        if !(head.is_empty() || head.starts_with('(') && head.ends_with(')')) {
            continue;
        }
        let Some(close) = code[open..].find('}').map(|close| open + close) else { continue };
        let body = source.text[open + 1..close].trim();
        let value = if body.is_empty() {
            "swallowed"
        } else if code[open + 1..close]
            .trim_start()
            .split(';')
            .next()
            .is_some_and(|first| first.trim_end().ends_with(".printStackTrace()"))
        {
            "printed"
        } else {
            HANDLED
        };
        note((source, code), all, HANDLERS, value, Span { start: at, end: open });
    }
}

fn throws(source: &Source<'_>, code: &str, all: &mut Vec<Sighting>) {
    for at in word(code, "throw") {
        let rest = source.text[at + 5..].trim_start();
        let value = if rest.starts_with("new ") {
            "an error"
        } else if rest.starts_with(['"', '\'', '`']) {
            "text"
        } else {
            continue;
        };
        note((source, code), all, THROWN, value, line_of(source.text, at));
    }
}

fn python(source: &Source<'_>, code: &str, all: &mut Vec<Sighting>) {
    for at in word(code, "except") {
        let line = line_of(source.text, at);
        if line.start != at {
            continue;
        }
        let Some(colon) = code[at..].find(':').map(|colon| at + colon) else { continue };
        let caught = code[at + 6..colon].trim();
        let body = source.text[colon + 1..].trim_start().lines().next().unwrap_or("").trim_end();
        let broad = matches!(caught.split_whitespace().next(), Some("Exception" | "BaseException"));
        let value = match (caught, body) {
            ("", _) if is_raised_again(code, line, colon) => HANDLED,
            ("", _) => "bare",
            (_, "pass" | "...") if broad => "swallowed",
            _ => HANDLED,
        };
        note((source, code), all, HANDLERS, value, line);
    }
}

/// Whether a handler cleans up and lets the error go on.
fn is_raised_again(code: &str, clause: Span, colon: usize) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let start = code[..clause.start].rfind('\n').map_or(0, |end| end + 1);
    let own = clause.start - start;
    let below = code[colon + 1..].lines().skip(1).filter(|line| !line.trim().is_empty());
    below.take_while(|line| indentation(line) > own).any(|line| line.trim() == "raise")
}

fn go(source: &Source<'_>, code: &str, all: &mut Vec<Sighting>) {
    for at in word(code, "err") {
        let line = line_of(source.text, at);
        let text = line.of(code).trim();
        if text.starts_with("if ") && text.contains("err != nil") && text.ends_with('{') {
            let first = text.find("err").map(|first| line.start + first);
            if first == Some(at) {
                note((source, code), all, HANDLERS, HANDLED, line);
            }
        } else if text == "_ = err" {
            note((source, code), all, HANDLERS, "swallowed", line);
        }
    }
}

fn rust(source: &Source<'_>, code: &str, all: &mut Vec<Sighting>) {
    for (at, _) in code.match_indices(concat!(".unwrap", "()")) {
        note((source, code), all, RESULTS, "unwrapped", Span { start: at + 1, end: at + 9 });
    }
    for (at, _) in code.match_indices('?') {
        let before = code[..at].chars().next_back();
        let after = code[at + 1..].chars().next();
        let ends_call =
            before.is_some_and(|before| matches!(before, ')' | '}' | ']') || before.is_alphanumeric());
        if ends_call && after.is_some_and(|after| ";.,)} \n?".contains(after)) {
            note((source, code), all, RESULTS, HANDLED, Span { start: at, end: at + 1 });
        }
    }
}
