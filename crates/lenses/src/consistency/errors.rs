//! Sightings of error handling, place by place.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::{ConventionFamily, Scope};
use qa_core::packet::line_start;
use qa_reading::names::joins;
use qa_reading::syntax::{Language, Span};

/// Value of a sighting whose error is handled.
pub(crate) const HANDLED: &str = "handled";
/// Topic of sightings of error handlers.
pub(crate) const HANDLERS: &str = "handlers";
/// Topic of sightings of thrown values.
pub(crate) const THROWN: &str = "thrown";
/// Topic of sightings of failed results, which a function propagates or unwraps.
pub(crate) const RESULTS: &str = "results";

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    if source.part != Scope::Product {
        return;
    }
    let code = code_only(source);
    let mut search = Search { source, code: &code, found: all };
    match source.language {
        Language::Go => go(&mut search),
        Language::CSharp | Language::Cpp | Language::Java | Language::Kotlin => {
            catches(&mut search);
        }
        Language::JavaScript | Language::Tsx | Language::TypeScript => {
            catches(&mut search);
            throws(&mut search);
        }
        Language::Php => {
            catches(&mut search);
        }
        Language::Python => python(&mut search),
        Language::C | Language::Ruby => {}
        Language::Rust => rust(&mut search),
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

/// A file, its code alone, and the places found.
struct Search<'a> {
    source: &'a Source<'a>,
    code: &'a str,
    found: &'a mut Vec<Sighting>,
}

impl Search<'_> {
    /// Notes a place. What stands there is known by its code, so that a comment beside it may change.
    fn note(&mut self, topic: &'static str, value: &str, span: Span) {
        if self.source.is_whole(span) && !self.source.is_test(span.start) {
            let name = span.of(self.code).split_whitespace().collect::<Vec<_>>().join(" ");
            let family = ConventionFamily::ErrorIdiom;
            self.found.push(self.source.sighting(family, topic, value, &name, Some(span)));
        }
    }
}

/// Finds the byte offsets of a word, except as part of a longer name or behind a dot.
fn word<'t>(code: &'t str, word: &'t str) -> impl Iterator<Item = usize> + 't {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let after = &code[at + word.len()..];
        !code[..*at].ends_with(is_joining) && !after.starts_with(joins)
    })
}

fn is_joining(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | '$')
}

fn line_of(text: &str, at: usize) -> Span {
    let start = line_start(text, at);
    let end = text[at..].find('\n').map_or(text.len(), |end| at + end);
    let line = &text[start..end];
    Span { start: start + indentation(line), end: start + line.trim_end().len() }
}

fn catches(search: &mut Search<'_>) {
    let Search { source, code, .. } = *search;
    for at in word(code, "catch") {
        let Some(open) = code[at..].find('{').map(|open| at + open) else { continue };
        let head = code[at + 5..open].trim();
        // `.catch(…)` was left out by the word; anything else between is not a clause.
        if !(head.is_empty() || head.starts_with('(') && head.ends_with(')')) {
            continue;
        }
        let Some(close) = code[open..].find('}').map(|close| open + close) else { continue };
        let body = source.text[open + 1..close].trim();
        let value =
            if body.is_empty() {
                "swallowed"
            } else if code[open + 1..close].split(';').next().is_some_and(|first| {
                first.split_whitespace().collect::<String>().ends_with(".printStackTrace()")
            }) {
                "printed"
            } else {
                HANDLED
            };
        search.note(HANDLERS, value, Span { start: at, end: open });
    }
}

fn throws(search: &mut Search<'_>) {
    let Search { source, code, .. } = *search;
    for at in word(code, "throw") {
        let rest = source.text[at + 5..].trim_start();
        let value = if rest.starts_with("new ") {
            "an error"
        } else if rest.starts_with(['"', '\'', '`']) {
            "text"
        } else {
            continue;
        };
        search.note(THROWN, value, line_of(source.text, at));
    }
}

fn python(search: &mut Search<'_>) {
    let Search { source, code, .. } = *search;
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
        search.note(HANDLERS, value, line);
    }
}

/// Returns whether a handler raises the error again, as after a cleanup.
fn is_raised_again(code: &str, clause: Span, colon: usize) -> bool {
    let start = line_start(code, clause.start);
    let own = clause.start - start;
    let below = code[colon + 1..].lines().skip(1).filter(|line| !line.trim().is_empty());
    below.take_while(|line| indentation(line) > own).any(|line| line.trim() == "raise")
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

fn go(search: &mut Search<'_>) {
    let Search { source, code, .. } = *search;
    for at in word(code, "err") {
        let line = line_of(source.text, at);
        let text = line.of(code).trim();
        if text.starts_with("if ") && text.contains("err != nil") && text.ends_with('{') {
            let first = text.find("err").map(|first| line.start + first);
            if first == Some(at) {
                search.note(HANDLERS, HANDLED, line);
            }
        } else if text == "_ = err" {
            search.note(HANDLERS, "swallowed", line);
        }
    }
}

fn rust(search: &mut Search<'_>) {
    let Search { code, .. } = *search;
    for (at, _) in code.match_indices(concat!(".unwrap", "()")) {
        search.note(RESULTS, "unwrapped", Span { start: at + 1, end: at + 9 });
    }
    for (at, _) in code.match_indices('?') {
        let before = code[..at].chars().next_back();
        let after = code[at + 1..].chars().next();
        let ends_call =
            before.is_some_and(|before| matches!(before, ')' | '}' | ']') || before.is_alphanumeric());
        if ends_call && after.is_some_and(|after| ";.,)} \n?".contains(after)) {
            search.note(RESULTS, HANDLED, Span { start: at, end: at + 1 });
        }
    }
}
