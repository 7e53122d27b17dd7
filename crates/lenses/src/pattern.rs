//! A regular expression that is compiled when first needed and costs lines of plain ASCII no more than they are worth.

use std::ops::{Index, Range};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use regex::{Regex, bytes};

/// A pattern over lines. On text of ASCII alone the classes of Unicode and those of ASCII match the same, so the small
/// automaton of the latter is asked; the one that knows all of Unicode takes a hundred times longer to compile and is
/// made for the first line that has a character beyond ASCII.
#[derive(Debug)]
pub(crate) struct Pattern {
    source: &'static str,
    ascii: OnceLock<bytes::Regex>,
    /// The pattern without word boundaries, which matches wherever the pattern does: beside a letter beyond ASCII a
    /// boundary makes the search a hundred times slower, so only text that passes this is looked at more closely.
    loose: OnceLock<Regex>,
    full: OnceLock<Regex>,
    /// Count of the texts beyond ASCII so far; compiling the loose form does not pay for a few.
    looked_at: AtomicUsize,
}

/// Texts beyond ASCII that are searched without the loose form, and their maximum bytes.
const FEW_TEXTS: usize = 16;
const SHORT_TEXT: usize = 400;

/// A match and its groups.
#[derive(Debug)]
pub(crate) struct Groups<'t> {
    text: &'t str,
    spans: Vec<Option<Range<usize>>>,
}

/// A group of a match.
#[derive(Debug, Clone)]
pub(crate) struct Group<'t> {
    text: &'t str,
    span: Range<usize>,
}

impl<'t> Group<'t> {
    pub(crate) fn as_str(&self) -> &'t str {
        &self.text[self.span.clone()]
    }

    pub(crate) fn range(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(crate) fn start(&self) -> usize {
        self.span.start
    }

    pub(crate) fn end(&self) -> usize {
        self.span.end
    }
}

impl<'t> Groups<'t> {
    /// Returns the group of that number, 0 for all of the match, where it took part.
    pub(crate) fn get(&self, group: usize) -> Option<Group<'t>> {
        let span = self.spans.get(group)?.clone()?;
        Some(Group { text: self.text, span })
    }

    /// Returns the first group that took part, the whole match aside.
    pub(crate) fn first_group(&self) -> Option<Group<'t>> {
        (1..self.spans.len()).find_map(|group| self.get(group))
    }
}

impl Index<usize> for Groups<'_> {
    type Output = str;

    fn index(&self, group: usize) -> &str {
        let span = self.spans[group].clone().expect("whoever indexes knows that the group takes part");
        &self.text[span]
    }
}

fn compile(source: &str) -> Regex {
    Regex::new(source).expect("every pattern is compiled by a test")
}

impl Pattern {
    /// Returns a pattern; tests see to it that it compiles.
    pub(crate) const fn new(source: &'static str) -> Self {
        Self {
            source,
            ascii: OnceLock::new(),
            loose: OnceLock::new(),
            full: OnceLock::new(),
            looked_at: AtomicUsize::new(0),
        }
    }

    fn ascii(&self) -> &bytes::Regex {
        self.ascii.get_or_init(|| {
            let compiled = bytes::RegexBuilder::new(self.source).unicode(false).build();
            compiled.expect("every pattern is compiled by a test")
        })
    }

    /// Returns the pattern that knows all of Unicode, if it may match the text.
    fn full(&self, text: &str) -> Option<&Regex> {
        let few = text.len() <= SHORT_TEXT && self.looked_at.fetch_add(1, Ordering::Relaxed) < FEW_TEXTS;
        if !few && self.source.contains(r"\b") {
            let loose = self.loose.get_or_init(|| compile(&self.source.replace(r"\b", "")));
            if !loose.is_match(text) {
                return None;
            }
        }
        Some(self.full.get_or_init(|| compile(self.source)))
    }

    /// Returns whether it matches anywhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        if text.is_ascii() {
            self.ascii().is_match(text.as_bytes())
        } else {
            self.full(text).is_some_and(|full| full.is_match(text))
        }
    }

    /// Returns the first match.
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<Group<'t>> {
        self.captures(text)?.get(0)
    }

    /// Returns the first match and its groups.
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Groups<'t>> {
        // Few lines match, and only to ask whether one does allocates nothing.
        if !self.is_match(text) {
            return None;
        }
        let spans = if text.is_ascii() {
            let captures = self.ascii().captures(text.as_bytes())?;
            captures.iter().map(|group| group.map(|group| group.range())).collect()
        } else {
            let captures = self.full(text)?.captures(text)?;
            captures.iter().map(|group| group.map(|group| group.range())).collect()
        };
        Some(Groups { text, spans })
    }

    /// Returns every match in order, none over another.
    pub(crate) fn captures_all<'t>(&self, text: &'t str) -> Vec<Groups<'t>> {
        if !self.is_match(text) {
            return Vec::new();
        }
        if text.is_ascii() {
            let all = self.ascii().captures_iter(text.as_bytes()).map(|captures| Groups {
                text,
                spans: captures.iter().map(|group| group.map(|group| group.range())).collect(),
            });
            all.collect()
        } else {
            let all = self.full(text).into_iter().flat_map(|full| full.captures_iter(text));
            let all = all.map(|captures| Groups {
                text,
                spans: captures.iter().map(|group| group.map(|group| group.range())).collect(),
            });
            all.collect()
        }
    }

    /// Counts the matches, of which none overlaps another.
    pub(crate) fn count(&self, text: &str) -> usize {
        if text.is_ascii() {
            return self.ascii().find_iter(text.as_bytes()).count();
        }
        self.full(text).map_or(0, |full| full.find_iter(text).count())
    }

    /// Compiles both forms.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        assert!(!self.source.contains(r"\\b"), "{} has a boundary or a backslash and b?", self.source);
        let _compiled = (self.ascii(), self.full(""));
        for source in [self.source, &self.source.replace(r"\b", "")] {
            Regex::new(source).unwrap_or_else(|error| panic!("{source}: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: [&str; 4] = [
        r"(?i)\b(assert\w*|must)\s*[.(]|^\s*expect\s",
        r"(?:^|[^.\w])((?:it|test)(?:\.\w+)*\.only)\s*(\d)?",
        r"\bno\b.*?(\S+)$",
        r"[^\w\s]([[:alpha:]]|\W)",
    ];
    const PIECES: [&str; 17] = [
        "it", "test", ".only", "assert", "MUST", "expect", "no", "a", "1", " ", "\t", ".", "(", "\u{212a}",
        "é", "→", "\u{a0}",
    ];

    #[test]
    fn both_forms_match_the_same() {
        let count = PIECES.len();
        let texts = (0..count.pow(3)).map(|number| {
            [number / count / count, number / count % count, number % count]
                .map(|piece| PIECES[piece])
                .concat()
        });
        let texts: Vec<String> = texts.collect();
        for source in SOURCES {
            let pattern = Pattern::new(source);
            let whole = Regex::new(source).unwrap();
            for text in &texts {
                let expected: Vec<Vec<Option<Range<usize>>>> = whole
                    .captures_iter(text)
                    .map(|one| one.iter().map(|group| group.map(|group| group.range())).collect())
                    .collect();
                let found = pattern.captures_all(text);
                let spans: Vec<_> = found.iter().map(|one| one.spans.clone()).collect();
                assert_eq!(spans, expected, "{source} in {text:?}");
                assert_eq!(pattern.is_match(text), !expected.is_empty(), "{source} in {text:?}");
                assert_eq!(pattern.count(text), expected.len(), "{source} in {text:?}");
                let first = pattern.captures(text).map(|one| one.spans);
                assert_eq!(first.as_ref(), expected.first(), "{source} in {text:?}");
            }
        }
    }
}
