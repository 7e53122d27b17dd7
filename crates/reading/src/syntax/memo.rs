//! Cache of the outlines of the last texts: lenses ask about the same file one after the other, and it is parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Language, Outline, parse};

/// Cache budget in bytes of text; when exceeded, the whole cache is dropped.
const MAX_BYTES: usize = 2 << 20;

static CACHE: Mutex<Cache> = Mutex::new(Cache { bytes: 0, outlines: BTreeMap::new() });

/// An outline, or a parse that is still running.
type Entry = Arc<OnceLock<Arc<Outline>>>;

struct Cache {
    bytes: usize,
    outlines: BTreeMap<(Language, String), Entry>,
}

impl Cache {
    /// Returns the entry of a text, which may be empty.
    fn entry(&mut self, language: Language, text: &str) -> Entry {
        let key = (language, text.to_owned());
        if let Some(entry) = self.outlines.get(&key) {
            return Arc::clone(entry);
        }
        self.bytes += text.len();
        if self.bytes > MAX_BYTES {
            self.outlines.clear();
            self.bytes = text.len();
        }
        Arc::clone(self.outlines.entry(key).or_default())
    }
}

/// Like [`parse`], but cached; concurrent callers for the same text block on one parse.
pub fn parse_once(language: Language, text: &str) -> Arc<Outline> {
    let entry = CACHE.lock().unwrap_or_else(PoisonError::into_inner).entry(language, text);
    Arc::clone(entry.get_or_init(|| Arc::new(parse(language, text))))
}
