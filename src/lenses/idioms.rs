//! Tables of what languages write for one thing: each idiom is an entry with its pattern, never a branch.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::scan::{Kind, Parts};

/// One way to write the thing a table is about.
#[derive(Debug)]
pub(crate) struct Idiom {
    /// The languages it belongs to, by [`crate::core::classify::language`]; empty for all.
    pub(crate) languages: &'static [&'static str],
    /// A text that stands in every match, looked for before the pattern is tried.
    pub(crate) literal: &'static str,
    /// The pattern, matched against one line; group 1, where there is one, is what the finding quotes.
    pub(crate) pattern: &'static str,
    /// Whether the match must begin in program text, in a comment, or anywhere.
    pub(crate) place: Place,
}

/// Where a match must begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Code,
    Comment,
    Anywhere,
}

/// A compiled table.
#[derive(Debug)]
pub(crate) struct Table {
    idioms: &'static [Idiom],
    patterns: Vec<OnceLock<Regex>>,
}

impl Table {
    /// A table; patterns are compiled when first needed.
    pub(crate) fn new(idioms: &'static [Idiom]) -> Self {
        Self { idioms, patterns: idioms.iter().map(|_| OnceLock::new()).collect() }
    }

    fn of<'t>(
        &'t self,
        language: Option<&'t str>,
    ) -> impl Iterator<Item = (&'static Idiom, &'t OnceLock<Regex>)> {
        self.idioms.iter().zip(&self.patterns).filter(move |(idiom, _)| {
            idiom.languages.is_empty() || language.is_some_and(|language| idiom.languages.contains(&language))
        })
    }

    /// Whether the table knows idioms of a language.
    pub(crate) fn knows(&self, language: Option<&str>) -> bool {
        self.of(language).next().is_some()
    }

    /// A cheap look at a whole text: without one of the literals nothing can match.
    pub(crate) fn may_match(&self, language: Option<&str>, text: &str) -> bool {
        self.of(language).any(|(idiom, _)| text.contains(idiom.literal))
    }

    /// The first idiom on a line, and where.
    pub(crate) fn find(&self, language: Option<&str>, line: &str, parts: &Parts) -> Option<Range<usize>> {
        self.of(language).filter(|(idiom, _)| line.contains(idiom.literal)).find_map(|(idiom, cell)| {
            let pattern =
                cell.get_or_init(|| Regex::new(idiom.pattern).expect("every table is compiled by a test"));
            let found = pattern.captures_iter(line).find_map(|captures| {
                let whole = captures.get(1).or(captures.get(0))?;
                let lead = whole.as_str().len() - whole.as_str().trim_start().len();
                let kind = parts.at(whole.start() + lead);
                let fits = match idiom.place {
                    Place::Code => kind == Kind::Code,
                    Place::Comment => kind == Kind::Comment,
                    Place::Anywhere => true,
                };
                fits.then(|| whole.range())
            })?;
            let text = &line[found.clone()];
            let lead = text.len() - text.trim_start().len();
            Some(found.start + lead..found.start + text.trim_end().len().max(lead))
        })
    }

    /// Compiles every pattern and holds it to its literal.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        for idiom in self.idioms {
            Regex::new(idiom.pattern).unwrap_or_else(|error| panic!("{}: {error}", idiom.pattern));
            assert!(!idiom.literal.is_empty(), "{}", idiom.pattern);
        }
    }
}
