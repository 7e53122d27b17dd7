//! Caches of the trees and outlines of the last texts: lenses ask about the same file one after the other, and it is
//! parsed once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tree_sitter::Tree;

use super::version::parse_beside;
use super::{Language, OtherVersion, Outline, outline, parse_tree, unread};

/// Budgets in bytes of text; a cache that exceeds its own forgets the oldest. A tree takes some twenty times its text.
pub(crate) const TREES_WITHIN: Budget = Budget { bytes: 128 << 10, bytes_of_two: 512 << 10 };
/// Budget for what comes with a tree and is of use while a file is the current one.
pub(crate) const CURRENT_WITHIN: Budget = Budget { bytes: 64 << 10, bytes_of_two: 64 << 10 };
const OUTLINES_WITHIN: Budget = Budget { bytes: 1 << 20, bytes_of_two: 1 << 20 };
const SCRIPTS_WITHIN: Budget = Budget { bytes: 64 << 10, bytes_of_two: 64 << 10 };

/// Bytes that a text counts for beside its own, so that a cache has few to look through.
const BYTES_EACH: usize = 512;

static TREES: Cache<Language, Option<Tree>> = Cache::new(TREES_WITHIN);
static OUTLINES: Cache<Language, Arc<Outline>> = Cache::new(OUTLINES_WITHIN);
static SCRIPTS: Cache<(), Option<Tree>> = Cache::new(SCRIPTS_WITHIN);

/// Weight of the texts that a cache keeps, all together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    bytes: usize,
    /// Budget for two texts, so that both versions of a large file stay.
    bytes_of_two: usize,
}

/// Values by text and by how it is read.
pub(crate) struct Cache<K, T> {
    budget: Budget,
    kept: Mutex<Kept<K, T>>,
}

struct Kept<K, T> {
    /// Weight of all texts together.
    bytes: usize,
    /// The oldest first.
    entries: VecDeque<Entry<K, T>>,
}

struct Entry<K, T> {
    key: K,
    text: String,
    /// Absent while it is still computed.
    value: Arc<OnceLock<T>>,
}

impl<K: PartialEq, T: Clone> Cache<K, T> {
    pub(crate) const fn new(budget: Budget) -> Self {
        Self { budget, kept: Mutex::new(Kept { bytes: 0, entries: VecDeque::new() }) }
    }

    /// Returns the value of a text, computed unless it is kept; concurrent callers for one text wait for one of them.
    pub(crate) fn get_or_compute(&self, key: K, text: &str, compute: impl FnOnce() -> T) -> T {
        self.entry(key, text).get_or_init(compute).clone()
    }

    /// Returns the value of a text if it is kept and computed.
    fn get(&self, key: K, text: &str) -> Option<T> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = kept.entries.iter().find(|entry| entry.key == key && entry.text == text);
        entry?.value.get().cloned()
    }

    fn entry(&self, key: K, text: &str) -> Arc<OnceLock<T>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = kept.entries.iter();
        if let Some(entry) = entries.find(|entry| entry.key == key && entry.text == text) {
            return Arc::clone(&entry.value);
        }
        let value = Arc::default();
        kept.bytes += weight(text);
        kept.entries.push_back(Entry { key, text: text.to_owned(), value: Arc::clone(&value) });
        while kept.exceeds(self.budget)
            && let Some(oldest) = kept.entries.pop_front()
        {
            kept.bytes -= weight(&oldest.text);
        }
        value
    }
}

fn weight(text: &str) -> usize {
    text.len() + BYTES_EACH
}

impl<K, T> Kept<K, T> {
    /// Returns whether the oldest text is to be forgotten; the newest never is.
    fn exceeds(&self, budget: Budget) -> bool {
        match self.entries.len() {
            0 | 1 => false,
            2 => self.bytes > budget.bytes_of_two,
            _ => self.bytes > budget.bytes,
        }
    }
}

/// Like [`super::parse`], but cached, and by the tree of another version where that is cached.
pub fn parse_once(language: Language, text: &str, other: Option<&OtherVersion<'_>>) -> Arc<Outline> {
    OUTLINES.get_or_compute(language, text, || {
        Arc::new(match parse_version_once(language, text, other) {
            Some(tree) => outline(language, &tree, text),
            None => unread(text),
        })
    })
}

/// Like [`parse_tree`] of a whole text, but cached.
pub(crate) fn parse_tree_once(language: Language, text: &str) -> Option<Tree> {
    parse_version_once(language, text, None)
}

/// Like [`parse_tree_once`], by the tree of another version where that is cached.
pub(crate) fn parse_version_once(
    language: Language,
    text: &str,
    other: Option<&OtherVersion<'_>>,
) -> Option<Tree> {
    let known = other.and_then(|other| Some((other, TREES.get(language, other.text).flatten()?)));
    TREES.get_or_compute(language, text, || {
        let beside = known.and_then(|(other, tree)| parse_beside(language, text, other, &tree));
        beside.or_else(|| parse_tree(&language.grammar(), text, &[]))
    })
}

/// Returns the tree of a shell script, cached: several lenses read the same scripts.
pub(crate) fn parse_script_once(text: &str) -> Option<Tree> {
    SCRIPTS.get_or_compute((), text, || parse_tree(&tree_sitter_bash::LANGUAGE.into(), text, &[]))
}
