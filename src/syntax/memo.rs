//! Keeps the outlines of the last texts: lenses ask about the same file one after the other, and it is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Language, Outline, parse};

/// How much text is kept; beyond it everything is forgotten.
const MOST_BYTES: usize = 2 << 20;

static KEPT: Mutex<Kept> = Mutex::new(Kept { bytes: 0, outlines: BTreeMap::new() });

struct Kept {
    bytes: usize,
    outlines: BTreeMap<(Language, String), Arc<Outline>>,
}

/// As [`parse`], which it is for a text that was not asked about lately.
pub(crate) fn parse_once(language: Language, text: &str) -> Arc<Outline> {
    let key = (language, text.to_owned());
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(outline) = kept().outlines.get(&key) {
        return Arc::clone(outline);
    }
    let outline = Arc::new(parse(language, text));
    let mut kept = kept();
    kept.bytes += text.len();
    if kept.bytes > MOST_BYTES {
        kept.outlines.clear();
        kept.bytes = text.len();
    }
    kept.outlines.insert(key, Arc::clone(&outline));
    outline
}
