//! Words that occur in a text more than once.

use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;

/// Number of words that are each looked for in a text before all are counted.
const FEW_WORDS: usize = 16;

/// Looks for words of one text.
pub(super) struct Occurrences<'t> {
    text: &'t str,
    /// Number of words that were looked for.
    looked_for: Cell<usize>,
    counts: OnceCell<BTreeMap<&'t str, usize>>,
}

impl<'t> Occurrences<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, looked_for: Cell::new(0), counts: OnceCell::new() }
    }

    /// Returns whether the text has a word in two places.
    pub(super) fn has_twice(&self, word: &str) -> bool {
        self.looked_for.set(self.looked_for.get() + 1);
        if self.looked_for.get() <= FEW_WORDS {
            return occurs_twice(self.text, word);
        }
        let counts = self.counts.get_or_init(|| {
            let mut counts = BTreeMap::new();
            for word in self.text.split(|sign| !joins(sign)).filter(|word| !word.is_empty()) {
                *counts.entry(word).or_insert(0) += 1;
            }
            counts
        });
        counts.get(word).is_some_and(|count| *count > 1)
    }
}

fn occurs_twice(text: &str, word: &str) -> bool {
    if word.is_empty() || !word.chars().all(joins) {
        return false;
    }
    let places = text
        .match_indices(word)
        .filter(|(at, _)| !text[..*at].ends_with(joins) && !text[at + word.len()..].starts_with(joins));
    places.take(2).count() == 2
}

fn joins(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_' || sign == '$'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_in_two_places_is_told_from_parts_of_others() {
        for (text, word, expected) in [
            ("a(); a()", "a", true),
            ("fn a() {}", "a", false),
            ("aa a_ $a a", "a", false),
            ("aaa aa aa", "aa", true),
            ("é éa é", "é", true),
            ("a-b a-b", "a-b", false),
            ("", "", false),
        ] {
            let occurrences = Occurrences::new(text);
            // The last ones are answered from the counts.
            for _ in 0..FEW_WORDS + 2 {
                assert_eq!(occurrences.has_twice(word), expected, "{text}: {word}");
            }
        }
    }
}
