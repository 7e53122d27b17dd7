//! Splits a text into lines whose parts have places.

use crate::documents::ReadError;
use crate::syntax::Span;

/// Text with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub text: String,
    pub span: Span,
}

impl Part {
    pub(crate) fn new(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span }
    }

    /// Returns a range of the text with its place; with the place of the whole if escapes make the lengths differ.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let is_verbatim = self.span.end - self.span.start == self.text.len();
        let span = match is_verbatim {
            true => Span { start: self.span.start + range.start, end: self.span.start + range.end },
            false => self.span,
        };
        Self::new(&self.text[range], span)
    }
}

/// A line without its end and the blanks around it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    /// Place of the first character that is no blank.
    pub(crate) at: usize,
    pub(crate) indent: usize,
}

impl<'t> Line<'t> {
    pub(crate) fn span(self) -> Span {
        Span { start: self.at, end: self.at + self.text.len() }
    }

    /// Returns a part of the line with its place. `text` must be a slice of the line.
    pub(crate) fn part(self, text: &str) -> Part {
        let offset = (text.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let start = if offset <= self.text.len() { self.at + offset } else { self.at };
        Part::new(text, Span { start, end: start + text.len() })
    }

    /// Returns the words of the line.
    pub(crate) fn words(self) -> impl Iterator<Item = &'t str> {
        self.text.split_whitespace()
    }

    pub(crate) fn error(self, message: &str) -> ReadError {
        ReadError::Syntax { message: message.to_owned(), at: self.at }
    }
}

/// Lines that are not empty, without a byte order mark.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let begin = start;
        start += line.len();
        let content = line.trim_start_matches('\u{feff}');
        let (skipped, content) = (line.len() - content.len(), content.trim_end());
        let trimmed = content.trim_start();
        let indent = content.len() - trimmed.len();
        (!trimmed.is_empty()).then_some(Line { text: trimmed, at: begin + skipped + indent, indent })
    })
}
