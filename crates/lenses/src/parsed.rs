//! A parsed file beside the lines of a change.

use std::sync::Arc;

use super::contract::Need;
use qa_contracts::v1::ChangedFile;
use qa_core::packet::Line;
use qa_reading::syntax::{self, Language, Outline, Span};

/// The files that there is a grammar for.
pub(crate) const CODE: &[&str] = &[
    "**/*.cjs",
    "**/*.cts",
    "**/*.go",
    "**/*.java",
    "**/*.js",
    "**/*.jsx",
    "**/*.mjs",
    "**/*.mts",
    "**/*.py",
    "**/*.rs",
    "**/*.ts",
    "**/*.tsx",
];

/// The whole of a file that there is a grammar for.
pub(crate) fn need(file: &ChangedFile) -> Need {
    if Language::of(&file.path.to_text()).is_some() { Need::WholeFile } else { Need::Hunks }
}

/// A whole file with its outline and the places of its lines.
pub(crate) struct Parsed {
    pub(crate) outline: Arc<Outline>,
    /// Where each line begins.
    pub(crate) starts: Vec<usize>,
}

impl Parsed {
    /// A file, if there is a grammar for it.
    pub(crate) fn of(path: &str, text: &str) -> Option<Self> {
        Some(Self { outline: syntax::parse_once(Language::of(path)?, text), starts: starts(text) })
    }

    /// As [`Self::of`], with an outline that may say nothing of functions, classes and the like that none of some lines are in.
    pub(crate) fn around<'l>(path: &str, text: &str, lines: impl Iterator<Item = Line<'l>>) -> Option<Self> {
        let language = Language::of(path)?;
        let mut file = Self { outline: Arc::default(), starts: starts(text) };
        let lines = lines.filter_map(|line| Some((file.start(&line)?, line.text.len())));
        let places: Vec<(usize, usize)> = lines.map(|(start, length)| (start, start + length)).collect();
        file.outline = syntax::parse_around(language, text, &places);
        Some(file)
    }

    /// Where a line begins.
    pub(crate) fn start(&self, line: &Line<'_>) -> Option<usize> {
        usize::try_from(line.number - 1).ok().and_then(|index| self.starts.get(index)).copied()
    }

    /// Whether a place is program text that could be parsed.
    pub(crate) fn is_sound(&self, at: usize) -> bool {
        let here = Span { start: at, end: at + 1 };
        let within = |spans: &[Span]| spans.iter().any(|span| span.start <= at && at < span.end);
        !within(&self.outline.comments)
            && !within(&self.outline.strings)
            && !self.outline.broken.iter().any(|broken| broken.touches(here))
    }
}

/// Where each line of a text begins.
fn starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}
