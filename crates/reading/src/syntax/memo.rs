//! Caches of the trees and outlines of the last texts: lenses ask about the same file one after the other, and it is
//! parsed once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::version::parse_beside;
use super::{Language, OtherVersion, Outline, outline, parse_tree, unread};
use crate::tree::Tree;

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

/// Weight of the texts that a cache keeps of one thread, all together. Each thread has files of its own, and would
/// otherwise forget those that another one is at.
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
    /// The oldest first.
    entries: VecDeque<Entry<K, T>>,
}

struct Entry<K, T> {
    key: K,
    text: String,
    /// Number of the thread that brought it.
    thread: usize,
    /// Absent while it is still computed.
    value: Arc<OnceLock<T>>,
}

impl<K: PartialEq, T: Clone> Cache<K, T> {
    pub(crate) const fn new(budget: Budget) -> Self {
        Self { budget, kept: Mutex::new(Kept { entries: VecDeque::new() }) }
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
        // Trees are freed when nobody waits for the lock any more.
        let mut forgotten = Vec::new();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let mut entries = kept.entries.iter();
        if let Some(entry) = entries.find(|entry| entry.key == key && entry.text == text) {
            return Arc::clone(&entry.value);
        }
        let value = Arc::default();
        let thread = THREAD.with(|thread| thread.0);
        kept.entries.push_back(Entry { key, text: text.to_owned(), thread, value: Arc::clone(&value) });
        while kept.exceeds(thread, self.budget)
            && let Some(oldest) = kept.entries.iter().position(|entry| entry.thread == thread)
        {
            forgotten.extend(kept.entries.remove(oldest));
        }
        drop(kept);
        value
    }
}

thread_local! {
    static THREAD: ThreadNumber = ThreadNumber::take();
}

/// Number of a thread, the least that no other living one has, so that a later thread forgets what an earlier one left.
struct ThreadNumber(usize);

static TAKEN: Mutex<Vec<bool>> = Mutex::new(Vec::new());

impl ThreadNumber {
    fn take() -> Self {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        let number = taken.iter().position(|taken| !taken).unwrap_or(taken.len());
        match taken.get_mut(number) {
            Some(taken) => *taken = true,
            None => taken.push(true),
        }
        Self(number)
    }
}

impl Drop for ThreadNumber {
    fn drop(&mut self) {
        TAKEN.lock().unwrap_or_else(PoisonError::into_inner)[self.0] = false;
    }
}

impl<K, T> Kept<K, T> {
    /// Returns whether the oldest text of a thread is to be forgotten; the newest never is.
    fn exceeds(&self, thread: usize, budget: Budget) -> bool {
        let own = self.entries.iter().filter(|entry| entry.thread == thread);
        let (count, bytes) =
            own.fold((0, 0), |(count, bytes), entry| (count + 1, bytes + entry.text.len() + BYTES_EACH));
        match count {
            0 | 1 => false,
            2 => bytes > budget.bytes_of_two,
            _ => bytes > budget.bytes,
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
    // If one version has errors, the other nearly always has them too.
    let known = known.filter(|(_, tree)| !tree.root_node().has_error());
    TREES.get_or_compute(language, text, || {
        let beside = known.and_then(|(other, tree)| parse_beside(language, text, other, &tree));
        beside.or_else(|| parse_tree(&language.grammar(), text, &[]))
    })
}

/// Returns the tree of a shell script, cached: several lenses read the same scripts.
pub(crate) fn parse_script_once(text: &str) -> Option<Tree> {
    SCRIPTS.get_or_compute((), text, || parse_tree(&tree_sitter_bash::LANGUAGE.into(), text, &[]))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_thread_forgets_its_own_texts_and_no_others() {
        static CACHE: Cache<(), usize> = Cache::new(Budget { bytes: 2_000, bytes_of_two: 2_000 });
        let texts: Vec<String> = (0..5).map(|at| at.to_string().repeat(200)).collect();
        let (others, own) = texts.split_at(1);
        std::thread::scope(|scope| {
            let (begin, begun) = mpsc::channel();
            let (_end, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                CACHE.get_or_compute((), &others[0], || 0);
                begin.send(()).unwrap();
                // Until then no other thread has its number.
                ended.recv().unwrap_err();
            });
            begun.recv().unwrap();
            for text in own {
                CACHE.get_or_compute((), text, || 1);
            }
        });
        let kept: Vec<bool> = texts.iter().map(|text| CACHE.get((), text).is_some()).collect();
        assert_eq!(kept, [true, false, false, true, true]);
    }
}
