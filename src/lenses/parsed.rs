//! A parsed file beside the lines of a change.

use std::sync::Arc;

use super::contract::Need;
use crate::contracts::v1::ChangedFile;
use crate::core::packet::Line;
use crate::syntax::{self, Language, Outline, Span};

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
pub(crate) struct Parsed<'t> {
    pub(crate) text: &'t str,
    pub(crate) outline: Arc<Outline>,
    /// Where each line begins.
    pub(crate) starts: Vec<usize>,
}

impl<'t> Parsed<'t> {
    /// A file, if there is a grammar for it.
    pub(crate) fn of(path: &str, text: &'t str) -> Option<Self> {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        let outline = syntax::parse_once(Language::of(path)?, text);
        Some(Self { text, outline, starts: starts.collect() })
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
