//! Sightings of documentation comments on symbols that other files may use.

use super::sighting::{Sighting, Source};
use qa_contracts::v1::{ConventionFamily, Scope};
use qa_core::packet::line_start;
use qa_reading::syntax::{Language, Span, Symbol, SymbolKind};

/// Value of a sighting whose symbol has a documentation comment.
pub(crate) const DOCUMENTED: &str = "documented";

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    if source.part == Scope::Test {
        return;
    }
    for symbol in source.outline.symbols.iter().filter(|symbol| symbol.exported && is_surface(source, symbol))
    {
        if !source.is_whole(symbol.span) || source.is_test(symbol.span.start) || is_restricted(source, symbol)
        {
            continue;
        }
        let value = if is_documented(source, symbol) { DOCUMENTED } else { "undocumented" };
        let is_function = matches!(symbol.kind, SymbolKind::Function | SymbolKind::Method);
        let topic = if is_function { "functions" } else { "types" };
        let (family, span) = (ConventionFamily::PublicDoc, Some(symbol.name_span));
        all.push(source.sighting(family, topic, value, &symbol.name, span));
    }
}

/// Returns whether an item of Rust is for a part of its crate alone: `pub(crate)`, `pub(super)`, `pub(in …)`.
fn is_restricted(source: &Source<'_>, symbol: &Symbol) -> bool {
    let visibility = symbol.span.of(source.text).strip_prefix("pub");
    source.language == Language::Rust && visibility.is_some_and(|rest| rest.trim_start().starts_with('('))
}

fn is_surface(source: &Source<'_>, symbol: &Symbol) -> bool {
    match symbol.kind {
        SymbolKind::Function => symbol.top_level && symbol.name != "main",
        SymbolKind::Class
        | SymbolKind::Enum
        | SymbolKind::Interface
        | SymbolKind::Struct
        | SymbolKind::Trait
        | SymbolKind::Type => symbol.top_level,
        SymbolKind::Method => source.language == Language::Go,
        SymbolKind::Constant
        | SymbolKind::Field
        | SymbolKind::Imported
        | SymbolKind::Macro
        | SymbolKind::Module
        | SymbolKind::Variable => false,
    }
}

fn is_documented(source: &Source<'_>, symbol: &Symbol) -> bool {
    if source.language == Language::Python {
        // The first thing after the colon that ends the head.
        let body = Span { start: symbol.name_span.end, end: symbol.span.end };
        let first =
            source.outline.strings.iter().find(|each| each.start >= body.start && each.end <= body.end);
        return first.is_some_and(|first| {
            let before = Span { start: body.start, end: first.start }.of(source.text);
            let line = before.rsplit('\n').next().unwrap_or("");
            let code = before.trim_end();
            line.trim().is_empty() && (code.ends_with(':') || ends_in_comment(source, code, body.start))
        });
    }
    let mut start = line_start(source.text, symbol.span.start);
    // Up over attributes, annotations and decorators.
    loop {
        let above = source.text[..start].trim_end_matches(['\n', '\r']);
        let begin = line_start(source.text, above.len());
        let line = above[begin..].trim();
        let ends_comment = source.outline.comments.iter().any(|comment| {
            let end = above.trim_end().len();
            let text = comment.of(source.text).trim_end();
            comment.start + text.len() == end && !is_trailing(source.text, comment.start)
        });
        if ends_comment {
            return source.text[start.min(above.len())..start].matches('\n').count() <= 1;
        }
        let end = above.trim_end().len();
        if let Some(attribute) = source.outline.attributes.iter().find(|attribute| attribute.end == end) {
            if is_documentation(attribute.of(source.text)) {
                return true;
            }
            start = line_start(source.text, attribute.start);
            continue;
        }
        let is_attribute = line.starts_with(['#', '@']) || line.ends_with(")]");
        if line.is_empty() || !is_attribute || begin == 0 {
            return false;
        }
        start = begin;
    }
}

/// Returns whether an attribute of Rust is documentation: `#[doc = include_str!("a.md")]`, perhaps under a condition.
fn is_documentation(attribute: &str) -> bool {
    let plain: String = attribute.split_whitespace().collect();
    ["[doc=", ",doc=", "(doc="].iter().any(|sign| plain.contains(sign))
}

fn ends_in_comment(source: &Source<'_>, code: &str, offset: usize) -> bool {
    let end = offset + code.len();
    source.outline.comments.iter().any(|comment| (comment.start..=comment.end).contains(&end))
}

/// Returns whether code precedes a comment on its line.
fn is_trailing(text: &str, start: usize) -> bool {
    !text[line_start(text, start)..start].trim().is_empty()
}
