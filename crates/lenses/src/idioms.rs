//! Tables of the idioms of languages for one thing: each is an entry with its pattern, never a branch.

use std::cell::LazyCell;
use std::ops::Range;

use super::pattern::Pattern;
use super::scan::{Kind, Parts};
use memchr::memmem::Finder;

/// Pattern for one spelling of what a table is about.
#[derive(Debug)]
pub(crate) struct Idiom {
    /// The languages it belongs to, by [`qa_core::classify::language`]; empty for all.
    pub(crate) languages: &'static [&'static str],
    /// A text that stands in every match, looked for before the pattern is tried.
    pub(crate) literal: &'static str,
    /// The pattern, matched against one line; group 1, where there is one, is what the finding quotes.
    pub(crate) pattern: &'static str,
    pub(crate) place: Place,
}

/// The part of a line in which a match must begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Code,
    Comment,
    Anywhere,
}

/// Returns an idiom in program text.
pub(crate) const fn code(
    languages: &'static [&'static str],
    literal: &'static str,
    pattern: &'static str,
) -> Idiom {
    Idiom { languages, literal, pattern, place: Place::Code }
}

/// A text to look for again and again.
#[derive(Debug)]
pub(crate) struct Literal(Finder<'static>);

impl Literal {
    pub(crate) fn new(text: &'static str) -> Self {
        Self(Finder::new(text))
    }

    pub(crate) fn is_in(&self, text: &str) -> bool {
        self.0.find(text.as_bytes()).is_some()
    }
}

/// An idiom with what is compiled of it.
#[derive(Debug)]
struct Compiled {
    idiom: &'static Idiom,
    literal: Literal,
    pattern: Pattern,
}

impl Compiled {
    fn new(idiom: &'static Idiom) -> Self {
        let literal = Literal::new(idiom.literal);
        Self { idiom, literal, pattern: Pattern::new(idiom.pattern) }
    }

    /// Returns the matches on a line that begin in the part of it that the idiom is for.
    fn fitting(&self, line: &str, parts: &Parts) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for captures in self.pattern.captures_all(line) {
            let Some(whole) = captures.get(1).or(captures.get(0)) else { continue };
            let text = whole.as_str();
            let lead = text.len() - text.trim_start().len();
            let kind = parts.kind_at(whole.start() + lead);
            let fits = match self.idiom.place {
                Place::Code => kind == Kind::Code,
                Place::Comment => kind == Kind::Comment,
                Place::Anywhere => true,
            };
            if fits {
                found.push(whole.start() + lead..whole.start() + text.trim_end().len().max(lead));
            }
        }
        found
    }
}

/// A compiled table.
#[derive(Debug)]
pub(crate) struct Table {
    idioms: Vec<Compiled>,
}

impl Table {
    /// Returns a table; patterns are compiled when first needed.
    pub(crate) fn new(idioms: &'static [Idiom]) -> Self {
        Self { idioms: idioms.iter().map(Compiled::new).collect() }
    }

    /// Returns the idioms of a language, in the order of the table.
    fn idioms_of(&self, language: Option<&str>) -> impl Iterator<Item = &Compiled> {
        self.idioms.iter().filter(move |compiled| {
            let languages = compiled.idiom.languages;
            languages.is_empty() || language.is_some_and(|language| languages.contains(&language))
        })
    }

    /// Returns whether the table has idioms of a language.
    pub(crate) fn knows(&self, language: Option<&str>) -> bool {
        self.idioms_of(language).next().is_some()
    }

    /// Returns whether a whole text has one of the literals, without which nothing can match.
    pub(crate) fn may_match(&self, language: Option<&str>, text: &str) -> bool {
        self.idioms_of(language).any(|compiled| compiled.literal.is_in(text))
    }

    /// Returns whether an idiom matches a line of a text, or the text on one line, in code or in a comment.
    pub(crate) fn may_find(&self, language: Option<&str>, text: &str) -> bool {
        let joined = LazyCell::new(|| text.lines().map(str::trim).collect::<Vec<_>>().join(" "));
        let mut with_literal = self.idioms_of(language).filter(|compiled| {
            // A literal without blanks stands on one line.
            let spans_lines = compiled.idiom.literal.contains(char::is_whitespace);
            compiled.literal.is_in(if spans_lines { &joined } else { text })
        });
        with_literal.any(|compiled| {
            let mut lines = text.lines().filter(|line| compiled.literal.is_in(line));
            compiled.pattern.is_match(&joined) || lines.any(|line| compiled.pattern.is_match(line))
        })
    }

    /// Returns the first idiom on a line, and where.
    pub(crate) fn find(&self, language: Option<&str>, line: &str, parts: &Parts) -> Option<Range<usize>> {
        let mut with_literal = self.idioms_of(language).filter(|compiled| compiled.literal.is_in(line));
        with_literal.find_map(|compiled| compiled.fitting(line, parts).into_iter().next())
    }

    /// Returns all idioms on a line, in the order of the line.
    pub(crate) fn find_all(&self, language: Option<&str>, line: &str, parts: &Parts) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        for compiled in self.idioms_of(language).filter(|compiled| compiled.literal.is_in(line)) {
            found.extend(compiled.fitting(line, parts));
        }
        // Of places that overlap, the one that begins first counts, and the longest of those.
        found.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        found.retain(|span| {
            let is_free = span.start >= end;
            end = end.max(span.end);
            is_free
        });
        found
    }

    /// Compiles every pattern and holds it to its literal.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for Compiled { idiom, pattern, .. } in &self.idioms {
            pattern.check();
            assert!(!idiom.literal.is_empty(), "{}", idiom.pattern);
        }
    }
}
