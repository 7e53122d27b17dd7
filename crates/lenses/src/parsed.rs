//! A parsed file beside the lines of a change.

use std::sync::Arc;

use super::contract::Need;
use qa_contracts::v1::ChangedFile;
use qa_core::classify;
use qa_core::packet::Line;
use qa_reading::syntax::{self, Language, OtherVersion, Outline, Span};

/// Globs of the files whose imports are followed, and in which patterns know the loops, functions and tests around a
/// place.
pub(crate) const CODE: &[&str] = &[
    "**/*.cjs",
    "**/*.cts",
    "**/*.gemspec",
    "**/*.go",
    "**/*.java",
    "**/*.js",
    "**/*.jsx",
    "**/*.mjs",
    "**/*.mts",
    "**/*.php",
    "**/*.py",
    "**/*.rake",
    "**/*.rb",
    "**/*.rs",
    "**/*.ts",
    "**/*.tsx",
];

/// Globs of the files that have a grammar.
pub(crate) const GRAMMARS: &[&str] = &[
    "**/*.c",
    "**/*.cc",
    "**/*.cjs",
    "**/*.cpp",
    "**/*.cs",
    "**/*.cts",
    "**/*.cxx",
    "**/*.gemspec",
    "**/*.go",
    "**/*.h",
    "**/*.hh",
    "**/*.hpp",
    "**/*.hxx",
    "**/*.ipp",
    "**/*.java",
    "**/*.js",
    "**/*.jsx",
    "**/*.kt",
    "**/*.kts",
    "**/*.mjs",
    "**/*.mts",
    "**/*.php",
    "**/*.py",
    "**/*.pyi",
    "**/*.rake",
    "**/*.rb",
    "**/*.rs",
    "**/*.ts",
    "**/*.tsx",
];

/// Requests the whole of a file that has a grammar.
pub(crate) fn content_need(file: &ChangedFile) -> Need {
    if Language::from_path(&classify::path_by_language(file)).is_some() {
        Need::WholeFile
    } else {
        Need::Hunks
    }
}

/// Requests the whole of a file in which patterns know the loops, functions and tests around a place: one of
/// [`CODE`].
pub(crate) fn context_need(file: &ChangedFile) -> Need {
    match Language::from_path(&classify::path_by_language(file)) {
        Some(Language::C | Language::CSharp | Language::Cpp | Language::Kotlin) | None => Need::Hunks,
        Some(
            Language::Go
            | Language::Java
            | Language::JavaScript
            | Language::Php
            | Language::Python
            | Language::Ruby
            | Language::Rust
            | Language::Tsx
            | Language::TypeScript,
        ) => Need::WholeFile,
    }
}

/// A whole file with its outline and the places of its lines.
pub(crate) struct Parsed {
    pub(crate) outline: Arc<Outline>,
    /// The offset of each line.
    pub(crate) starts: Vec<usize>,
}

impl Parsed {
    /// Parses a file, if it has a grammar.
    pub(crate) fn new(path: &str, text: &str) -> Option<Self> {
        Self::beside(path, text, None)
    }

    /// Parses a file, if it has a grammar, beside another version of it where there is one.
    pub(crate) fn beside(path: &str, text: &str, other: Option<&OtherVersion<'_>>) -> Option<Self> {
        Some(Self {
            outline: syntax::parse_once(Language::from_path(path)?, text, other),
            starts: line_starts(text),
        })
    }

    /// Returns the offset of a line.
    pub(crate) fn start(&self, line: &Line<'_>) -> Option<usize> {
        usize::try_from(line.number - 1).ok().and_then(|index| self.starts.get(index)).copied()
    }

    /// Returns whether a place is program text that could be parsed.
    pub(crate) fn is_sound(&self, at: usize) -> bool {
        let here = Span { start: at, end: at + 1 };
        let mut other_text = self.outline.comments.iter().chain(&self.outline.strings);
        !other_text.any(|span| span.start <= at && at < span.end)
            && !self.outline.broken.iter().any(|broken| broken.touches(here))
    }
}

/// Returns the offset of each line of a text.
fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::{GRAMMARS, Language};

    #[test]
    fn triggers_are_the_files_that_have_a_grammar() {
        for trigger in GRAMMARS {
            assert!(Language::from_path(trigger).is_some(), "{trigger}");
        }
        // Every ending of at most three letters, as a number with the base 27.
        for number in 0..27_u32.pow(3) {
            let digits = [number / 729, number / 27 % 27, number % 27].into_iter().filter(|digit| *digit > 0);
            let ending: String = digits.filter_map(|digit| char::from_digit(digit + 9, 36)).collect();
            let glob = format!("**/*.{ending}");
            assert_eq!(GRAMMARS.contains(&glob.as_str()), Language::from_path(&glob).is_some(), "{glob}");
        }
    }
}
