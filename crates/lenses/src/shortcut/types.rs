//! Types that allow everything where the base had one that did not, and casts around the checker.

use std::collections::BTreeSet;

use super::ESCAPED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::{Language, Span};

pub(super) fn inspect(compared: &Compared<'_>) -> Vec<Draft> {
    let pairs = compared.pairs();
    let mut drafts: Vec<Draft> = pairs.iter().flat_map(|pair| widened(compared, pair)).collect();
    // A file of Rust that has unsafe code already is one that needs it.
    let is_usual = compared.language == Language::Rust
        && compared.base.behaviour.functions.iter().any(|function| !function.escapes.is_empty());
    if !is_usual {
        drafts.extend(pairs.iter().flat_map(|pair| casts(compared, pair)));
    }
    drafts
}

fn widened(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    let worse = pair.head.types.iter().filter(|declared| {
        let before = pair.base.types.iter().find(|before| before.name == declared.name);
        declared.is_any && before.is_some_and(|before| !before.is_any)
    });
    let summary = "type is replaced by one that allows everything";
    worse.filter_map(|declared| compared.at_head(ESCAPED, declared.span, summary)).collect()
}

fn casts(compared: &Compared<'_>, pair: &Pair<'_>) -> Vec<Draft> {
    if pair.head.escapes.len() <= pair.base.escapes.len() {
        return Vec::new();
    }
    let known: BTreeSet<&str> = pair.base.escapes.iter().map(|place| place.of(compared.base.text)).collect();
    let new = pair.head.escapes.iter().filter(|place| !known.contains(place.of(compared.head.text)));
    let summary = "cast or unsafe block takes code out of the type checker";
    // Of a cast whose first line is unchanged only what is cast has changed.
    new.filter(|place| compared.head.touches(Span { start: place.start, end: place.start + 1 }))
        .filter_map(|place| compared.at_head(ESCAPED, *place, summary))
        .collect()
}
