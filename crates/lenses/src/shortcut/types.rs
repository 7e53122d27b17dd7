//! Types that allow everything where the base had one that did not, and casts around the checker.

use std::collections::BTreeSet;

use super::ESCAPED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
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
    drafts
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
