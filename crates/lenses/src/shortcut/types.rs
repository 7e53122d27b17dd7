//! Types that allow everything where the base had one that did not, and casts around the checker.

use std::collections::BTreeSet;

use super::ESCAPED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use qa_reading::syntax::{Language, Span};

pub(super) fn inspect(compared: &Compared<'_>) -> Vec<Draft> {
    let pairs = compared.pairs();
    pairs.iter().flat_map(|pair| widened(compared, pair).chain(casts(compared, pair))).collect()
}

fn widened<'c>(compared: &'c Compared<'_>, pair: &'c Pair<'c>) -> impl Iterator<Item = Draft> + 'c {
    let worse = pair.head.types.iter().filter(|declared| {
        let before = pair.base.types.iter().find(|before| before.name == declared.name);
        declared.is_any && before.is_some_and(|before| !before.is_any)
    });
    let summary = "type is replaced by one that allows everything";
    worse.filter_map(move |declared| compared.at_head(ESCAPED, declared.span, summary))
}

fn casts<'c>(compared: &'c Compared<'_>, pair: &'c Pair<'c>) -> Box<dyn Iterator<Item = Draft> + 'c> {
    let known: BTreeSet<&str> = pair.base.escapes.iter().map(|place| place.of(compared.base.text)).collect();
    // A file that has unsafe code already is one that needs it.
    let is_usual = compared.language == Language::Rust
        && compared.base.behaviour.functions.iter().any(|function| !function.escapes.is_empty());
    if is_usual || pair.head.escapes.len() <= pair.base.escapes.len() {
        return Box::new(std::iter::empty());
    }
    let summary = "cast or unsafe block takes code out of the type checker";
    let new = pair.head.escapes.iter().filter(move |place| !known.contains(place.of(compared.head.text)));
    // A cast of an object has other changed lines in it.
    let begins =
        move |place: &&Span| compared.head.touches(Span { start: place.start, end: place.start + 1 });
    Box::new(new.filter(begins).filter_map(move |place| compared.at_head(ESCAPED, *place, summary)))
}
