//! Makes edits out of the lines of a hunk. Lenses say which, and whether an edit is safe.

mod characters;
mod imports;
mod leftovers;
mod marks;
mod pins;
mod restore;

pub(crate) use characters::escape_characters;
pub(crate) use leftovers::{delete_debugger, delete_focus, resolve_conflict};
pub(crate) use marks::run_test_again;
pub(crate) use pins::pin_as_before;
pub(crate) use restore::restore;

use std::ops::Range;

use super::contract::Draft;
use qa_contracts::v1::{Edit, EditSafety, Replacement};
use qa_core::canonical::sha256;
use qa_core::packet::{HunkView, Line, Packet, column};

/// A line with its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawLine<'a> {
    number: u64,
    /// Without its end.
    text: &'a str,
    /// With its end.
    raw: &'a str,
}

impl<'a> RawLine<'a> {
    fn new(hunk: &HunkView<'a>, line: Line<'a>) -> Self {
        Self { number: line.number, text: line.text, raw: hunk.with_end(&line) }
    }

    fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    fn indent(&self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }
}

/// Returns the added line that a draft begins on.
fn added_line<'a>(draft: &Draft, packet: &Packet<'a>) -> Option<RawLine<'a>> {
    added_lines(packet).find(|line| line.number == draft.start_line)
}

/// Returns the added lines of a file.
fn added_lines<'a>(packet: &Packet<'a>) -> impl Iterator<Item = RawLine<'a>> + use<'a> {
    packet.hunks().flat_map(|hunk| hunk.added().map(move |line| RawLine::new(&hunk, line)))
}

/// Returns the bytes of a draft's columns in its line.
fn columns_of(draft: &Draft, line: &str) -> Option<Range<usize>> {
    let offset = |column: u64| {
        let skipped = usize::try_from(column.checked_sub(1)?).ok()?;
        line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(skipped)
    };
    let (start, end) = (offset(draft.start_column)?, offset(draft.end_column)?);
    (start < end).then_some(start..end)
}

/// Replaces a part of a line.
fn replace_part(packet: &Packet<'_>, line: &RawLine<'_>, part: Range<usize>, text: &str) -> Replacement {
    Replacement {
        file: packet.path().clone(),
        start_line: line.number,
        start_column: column(line.text, part.start),
        end_line: line.number,
        end_column: column(line.text, part.end),
        replaced_sha256: sha256(&line.text.as_bytes()[part]),
        text: text.to_owned(),
    }
}

/// Replaces lines that follow each other, with their ends.
fn replace_lines(packet: &Packet<'_>, lines: &[RawLine<'_>], text: &str) -> Option<Replacement> {
    let (first, last) = (lines.first()?, lines.last()?);
    let old: String = lines.iter().map(|line| line.raw).collect();
    // The last line of a file may have no end.
    let has_end = last.raw.ends_with('\n');
    Some(Replacement {
        file: packet.path().clone(),
        start_line: first.number,
        start_column: 1,
        end_line: if has_end { last.number + 1 } else { last.number },
        end_column: if has_end { 1 } else { column(last.text, last.text.len()) },
        replaced_sha256: sha256(old.as_bytes()),
        text: text.to_owned(),
    })
}

/// Inserts whole lines before a line.
fn insert_before(packet: &Packet<'_>, number: u64, text: &str) -> Replacement {
    Replacement {
        file: packet.path().clone(),
        start_line: number,
        start_column: 1,
        end_line: number,
        end_column: 1,
        replaced_sha256: sha256(b""),
        text: text.to_owned(),
    }
}

/// Makes an edit. `None` where a replaced text has bytes that are no text: the bytes are not known here.
fn edit(safety: EditSafety, title: &str, replacements: Vec<Replacement>) -> Option<Edit> {
    (!replacements.is_empty()).then(|| Edit { safety, title: title.to_owned(), replacements })
}
