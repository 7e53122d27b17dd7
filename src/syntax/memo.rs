//! Keeps what the last texts were read as: lenses ask about the same file one after the other, and it is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Language, Outline, parse};

/// How much text is kept; beyond it everything is forgotten.
const MOST_BYTES: usize = 2 << 20;

static KEPT: Mutex<Kept> = Mutex::new(Kept { bytes: 0, texts: BTreeMap::new() });

struct Kept {
    bytes: usize,
    texts: BTreeMap<(Language, String), Read>,
}

/// What is known of one text.
#[derive(Clone, Default)]
struct Read {
    whole: Option<Arc<Outline>>,
    /// The outline of its skeleton; null inside where it has none to rely on.
    surface: Option<Option<Arc<Outline>>>,
}

/// As [`parse`], which it is for a text that was not asked about lately.
pub(crate) fn parse_once(language: Language, text: &str) -> Arc<Outline> {
    once(language, text, |read| &mut read.whole, || Arc::new(parse(language, text)))
}

/// The outline of a text's skeleton, made if it was not lately.
pub(super) fn surface_once(
    language: Language,
    text: &str,
    make: impl FnOnce() -> Option<Arc<Outline>>,
) -> Option<Arc<Outline>> {
    once(language, text, |read| &mut read.surface, make)
}

fn once<T: Clone>(
    language: Language,
    text: &str,
    slot: fn(&mut Read) -> &mut Option<T>,
    make: impl FnOnce() -> T,
) -> T {
    let key = (language, text.to_owned());
    let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept().texts.get_mut(&key).and_then(|read| slot(read).clone()) {
        return known;
    }
    let made = make();
    let mut kept = kept();
    if !kept.texts.contains_key(&key) {
        kept.bytes += text.len();
        if kept.bytes > MOST_BYTES {
            kept.texts.clear();
            kept.bytes = text.len();
        }
    }
    *slot(kept.texts.entry(key).or_default()) = Some(made.clone());
    made
}
