//! Cache of the outlines of the last texts: lenses ask about the same file one after the other, and it is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Language, Outline, parse};

/// Cache budget in bytes of text; when exceeded, the whole cache is dropped.
const MOST_BYTES: usize = 2 << 20;

static KEPT: Mutex<Kept> = Mutex::new(Kept { bytes: 0, outlines: BTreeMap::new() });

struct Kept {
    bytes: usize,
    outlines: BTreeMap<(Language, String), Arc<OnceLock<Arc<Outline>>>>,
}

impl Kept {
    /// The place of a text's outline, which may be empty.
    fn place(&mut self, key: (Language, String)) -> Arc<OnceLock<Arc<Outline>>> {
        if let Some(place) = self.outlines.get(&key) {
            return Arc::clone(place);
        }
        let bytes = key.1.len();
        self.bytes += bytes;
        if self.bytes > MOST_BYTES {
            self.outlines.clear();
            self.bytes = bytes;
        }
        Arc::clone(self.outlines.entry(key).or_default())
    }
}

/// Like [`parse`], but cached; concurrent callers for the same text block on one parse.
pub fn parse_once(language: Language, text: &str) -> Arc<Outline> {
    let place = KEPT.lock().unwrap_or_else(PoisonError::into_inner).place((language, text.to_owned()));
    Arc::clone(place.get_or_init(|| Arc::new(parse(language, text))))
}
