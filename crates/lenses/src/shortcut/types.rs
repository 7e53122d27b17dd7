//! Types that allow everything where the base had one that did not, and casts around the checker.

use std::collections::BTreeSet;

use super::ESCAPED;
use super::compared::{Compared, Pair};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_reading::names::joins;
use qa_reading::syntax::{Language, Span};

pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts: Vec<Draft> = pairs.iter().flat_map(|pair| widened(compared, pair)).collect();
    let casts: Vec<Draft> = pairs.iter().flat_map(|pair| casts(compared, pair)).collect();
    // A file of Rust that has unsafe code already is one that needs it.
    let mut older = compared.base.behaviour.functions.iter();
    let is_usual = !casts.is_empty()
        && compared.language == Language::Rust
        && older.any(|function| !function.facts().escapes.is_empty());
    if !is_usual {
        drafts.extend(casts);
    }
    drafts.extend(pairs.iter().filter_map(|pair| unchecked(compared, pair)));
    drafts
}

/// A value that may be null and is taken as it is.
static FORCED: Pattern = Pattern::new(r"([A-Za-z_][\w.]*)(!!|!)(?:\s*[.\[\]),;]|\s*$)");

/// Reports a value that may be null and that is taken as it is, where the base looked whether it is there.
fn unchecked(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let is_ecma = matches!(compared.language, Language::Tsx | Language::TypeScript);
    let mark = if compared.language == Language::Kotlin { "!!" } else { "!" };
    if !is_ecma && !matches!(compared.language, Language::CSharp | Language::Kotlin) {
        return None;
    }
    let [before, after] = [pair.base.span.of(compared.base.text), pair.head.span.of(compared.head.text)];
    let lines = compared.packet.added().filter(|line| compared.head.is_on(line, pair.head.span));
    for line in lines {
        let Some(found) = FORCED.captures(line.text) else { continue };
        let (Some(name), Some(sign)) = (found.get(1), found.get(2)) else { continue };
        let forced = [name.as_str(), mark].concat();
        let is_new = after.matches(&forced).count() > before.matches(&forced).count();
        if sign.as_str() == mark && is_new && looks(before, name.as_str()) > looks(after, name.as_str()) {
            let columns = name.start()..sign.end();
            let summary = "value that may be null is taken as it is, where the base looked";
            return Some(Draft::on_line(ESCAPED, compared.packet, &line, columns, summary));
        }
    }
    None
}

/// Counts the places of a text that look whether a value is there.
fn looks(text: &str, name: &str) -> usize {
    const SIGNS: &[&str] = &[
        "?.",
        "?:",
        "??",
        "?[",
        "==null",
        "!=null",
        "===null",
        "!==null",
        "===undefined",
        "!==undefined",
        "isnull",
        "isnotnull",
    ];
    let places = text.match_indices(name).filter(|(at, _)| !text[..*at].ends_with(joins));
    let looking = places.filter(|(at, _)| {
        let behind: String =
            text[at + name.len()..].chars().filter(|sign| !sign.is_whitespace()).take(16).collect();
        let is_alone =
            behind.starts_with(')') && (text[..*at].ends_with("if (") || text[..*at].ends_with('!'));
        is_alone || SIGNS.iter().any(|sign| behind.starts_with(sign))
    });
    looking.count()
}

fn widened(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    // Equality is about any object by its contract.
    let name = pair.head.path.rsplit('.').next().unwrap_or_default();
    let is_contract = matches!(name, "Equals" | "compareTo" | "equals" | "__eq__" | "__ne__");
    let any = pair.head.facts().types.iter().filter(|declared| declared.is_any && !is_contract);
    let worse = any.filter(|declared| {
        let before = pair.base.facts().types.iter().find(|before| before.name == declared.name);
        before.is_some_and(|before| !before.is_any)
    });
    let summary = "type is replaced by one that allows everything";
    worse.filter_map(|declared| compared.at_head(ESCAPED, declared.span, summary)).collect()
}

fn casts(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let head = pair.head.facts();
    if head.escapes.is_empty() || head.escapes.len() <= pair.base.facts().escapes.len() {
        return Vec::new();
    }
    let known: BTreeSet<&str> =
        pair.base.facts().escapes.iter().map(|place| place.of(compared.base.text)).collect();
    let new = head.escapes.iter().filter(|place| !known.contains(place.of(compared.head.text)));
    let summary = "cast or unsafe block takes code out of the type checker";
    // Of a cast whose first line is unchanged only what is cast has changed.
    new.filter(|place| compared.head.touches(Span { start: place.start, end: place.start + 1 }))
        .filter_map(|place| compared.at_head(ESCAPED, *place, summary))
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::FORCED.check();
    }

    #[test]
    fn looks_at_a_value_are_counted() {
        for (text, expected) in [
            ("return cart?.total ?? 0", 1),
            ("if (cart == null) return 0", 1),
            ("if (!cart) return 0", 1),
            ("return cart.total", 0),
            ("return mycart?.total", 0),
        ] {
            assert_eq!(super::looks(text, "cart"), expected, "{text}");
        }
    }
}
