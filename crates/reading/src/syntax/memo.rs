//! Caches of the trees and outlines of the last texts: lenses ask about the same file one after the other, and it is
//! parsed once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tree_sitter::Tree;

use super::{Language, Outline, outline, parse_tree, unread};

/// Budgets in bytes of text; a cache that exceeds its own is emptied. A tree takes some twenty times its text.
const MAX_TREE_BYTES: usize = 128 << 10;
const MAX_OUTLINE_BYTES: usize = 2 << 20;

static TREES: Cache<Option<Tree>> = Cache::new(MAX_TREE_BYTES);
static OUTLINES: Cache<Arc<Outline>> = Cache::new(MAX_OUTLINE_BYTES);

/// Values by text.
struct Cache<T> {
    max_bytes: usize,
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    /// Length of all texts together.
    bytes: usize,
    /// A value is absent while it is still computed.
    values: BTreeMap<(Language, String), Arc<OnceLock<T>>>,
}

impl<T: Clone> Cache<T> {
    const fn new(max_bytes: usize) -> Self {
        Self { max_bytes, kept: Mutex::new(Kept { bytes: 0, values: BTreeMap::new() }) }
    }

    /// Returns the value of a text, computed unless it is kept; concurrent callers for one text wait for one of them.
    fn get_or_compute(&self, language: Language, text: &str, compute: impl FnOnce() -> T) -> T {
        self.entry(language, text).get_or_init(compute).clone()
    }

    fn entry(&self, language: Language, text: &str) -> Arc<OnceLock<T>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (language, text.to_owned());
        if let Some(value) = kept.values.get(&key) {
            return Arc::clone(value);
        }
        kept.bytes += text.len();
        if kept.bytes > self.max_bytes {
            kept.values.clear();
            kept.bytes = text.len();
        }
        Arc::clone(kept.values.entry(key).or_default())
    }
}

/// Like [`super::parse`], but cached.
pub fn parse_once(language: Language, text: &str) -> Arc<Outline> {
    OUTLINES.get_or_compute(language, text, || {
        Arc::new(match parse_tree_once(language, text) {
            Some(tree) => outline(language, &tree, text),
            None => unread(text),
        })
    })
}

/// Like [`parse_tree`] of a whole text, but cached.
pub(crate) fn parse_tree_once(language: Language, text: &str) -> Option<Tree> {
    TREES.get_or_compute(language, text, || parse_tree(&language.grammar(), text, &[]))
}
