//! Applies edits to the text of a file, chooses those that do not overlap, and tells which of them mend what they are for.

mod guard;
mod outcome;
mod patch;
#[cfg(test)]
mod tests;

pub use guard::is_harmless;
pub use outcome::{Judged, failed_edits};
pub use patch::{line_change, patch};

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};

use super::canonical::sha256;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{Edit, Finding, Replacement};

/// Reason why an edit cannot be applied to a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error("the text has no line {0} of that length in UTF-8")]
    PlaceMissing(u64),
    #[error("other text stands in line {0}")]
    OtherText(u64),
    #[error("two edits overlap in line {0}")]
    Overlap(u64),
}

/// Applies replacements to the bytes of their file. Equal ones count once. Everything outside of their ranges stays as it is,
/// also line ends, byte order marks and bytes that are no UTF-8.
pub fn apply(text: &[u8], replacements: &[&Replacement]) -> Result<Vec<u8>, EditError> {
    let mut changed = Vec::with_capacity(text.len());
    let mut from = 0;
    for Located { range, text: new, .. } in locate(text, replacements)? {
        changed.extend_from_slice(&text[from..range.start]);
        changed.extend_from_slice(new.as_bytes());
        from = range.end;
    }
    changed.extend_from_slice(&text[from..]);
    Ok(changed)
}

/// A replacement with the bytes that it replaces.
struct Located<'r> {
    range: Range<usize>,
    /// Text in their place. At the end of a file whose last line has no end, it has none either.
    text: &'r str,
    replacement: &'r Replacement,
}

/// Finds replacements in the bytes of their file, in the order of their places.
fn locate<'r>(text: &[u8], replacements: &[&'r Replacement]) -> Result<Vec<Located<'r>>, EditError> {
    let starts = line_starts(text);
    let mut found = Vec::with_capacity(replacements.len());
    for replacement in replacements {
        let line = replacement.start_line;
        let start = offset(text, &starts, line, replacement.start_column)?;
        // The line behind a last line without an end: what was judged has an end there.
        let is_unended = replacement.end_column == 1
            && usize::try_from(replacement.end_line) == Ok(starts.len() + 1)
            && starts.last().is_some_and(|last| *last < text.len());
        let end = match is_unended {
            true => text.len(),
            false => offset(text, &starts, replacement.end_line, replacement.end_column)?,
        };
        if start > end {
            return Err(EditError::PlaceMissing(line));
        }
        let judged = if is_unended { &[&text[start..end], b"\n"].concat() } else { &text[start..end] };
        if sha256(judged) != replacement.replaced_sha256 {
            return Err(EditError::OtherText(line));
        }
        let new = replacement.text.as_str();
        let new = if is_unended { new.strip_suffix('\n').unwrap_or(new) } else { new };
        found.push(Located { range: start..end, text: new, replacement });
    }
    found.sort_by_key(|found| (found.range.start, found.range.end));
    found.dedup_by(|next, kept| next.replacement == kept.replacement);
    let overlap = found.windows(2).find(|pair| {
        let [one, next] = pair else { return false };
        next.range.start < one.range.end || next.range == one.range
    });
    match overlap {
        Some(pair) => Err(EditError::Overlap(pair[1].replacement.start_line)),
        None => Ok(found),
    }
}

/// Returns the offsets at which lines begin; a text that ends with a line end has an empty line behind it.
fn line_starts(text: &[u8]) -> Vec<usize> {
    let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect()
}

/// Returns the offset of a place. The line up to there has to be UTF-8, since columns count characters.
fn offset(text: &[u8], starts: &[usize], line: u64, column: u64) -> Result<usize, EditError> {
    let missing = EditError::PlaceMissing(line);
    let index = usize::try_from(line).ok().and_then(|line| line.checked_sub(1)).ok_or(missing)?;
    let start = *starts.get(index).ok_or(missing)?;
    let end = starts.get(index + 1).copied().unwrap_or(text.len());
    if column == 1 {
        return Ok(start);
    }
    let line = std::str::from_utf8(&text[start..end]).map_err(|_| missing)?;
    let skipped = usize::try_from(column).ok().and_then(|column| column.checked_sub(1)).ok_or(missing)?;
    let mut places = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    places.nth(skipped).map(|at| start + at).ok_or(missing)
}

/// Edits of findings that can be applied together.
#[derive(Debug, Default, PartialEq)]
pub struct Selection<'f> {
    /// In the order of the findings.
    pub chosen: Vec<&'f Finding>,
    /// Findings whose edit overlaps that of an earlier one.
    pub overlapping: Vec<&'f Finding>,
}

/// Chooses edits in the order of their findings: one that overlaps an earlier one is left out. Equal replacements of
/// different findings are one and no overlap.
pub fn select<'f>(findings: impl IntoIterator<Item = &'f Finding>) -> Selection<'f> {
    let mut selection = Selection::default();
    let mut taken: Vec<&Replacement> = Vec::new();
    for finding in findings {
        let Some(edit) = &finding.edit else { continue };
        let overlaps = |one: &Replacement| taken.iter().any(|other| is_conflict(one, other));
        if edit.replacements.iter().any(overlaps) {
            selection.overlapping.push(finding);
        } else {
            taken.extend(&edit.replacements);
            selection.chosen.push(finding);
        }
    }
    selection
}

/// Returns whether two replacements cannot both be applied.
fn is_conflict(one: &Replacement, other: &Replacement) -> bool {
    let start = |each: &Replacement| (each.start_line, each.start_column);
    let end = |each: &Replacement| (each.end_line, each.end_column);
    let is_same_place = start(one) == start(other) && end(one) == end(other);
    one.file == other.file
        && one != other
        && (is_same_place || start(one) < end(other) && start(other) < end(one))
}

/// Returns whether two edits change a line in common, also where both can be applied.
pub fn share_lines(one: &Edit, other: &Edit) -> bool {
    one.replacements.iter().any(|one| other.replacements.iter().any(|other| are_in_one_line(one, other)))
}

fn are_in_one_line(one: &Replacement, other: &Replacement) -> bool {
    let (first, second) = (changed_lines(one), changed_lines(other));
    one.file == other.file && first.start() <= second.end() && second.start() <= first.end()
}

/// Returns the lines that a replacement changes: not the one behind whole lines that it replaces.
fn changed_lines(replacement: &Replacement) -> RangeInclusive<u64> {
    let Replacement { start_line, end_line, end_column, .. } = replacement;
    let ends_before = *end_column == 1 && end_line > start_line;
    *start_line..=if ends_before { end_line - 1 } else { *end_line }
}

/// Returns the replacements of edits by file, equal ones once.
pub fn by_file<'e>(
    edits: impl IntoIterator<Item = &'e Edit>,
) -> BTreeMap<&'e RepoPath, Vec<&'e Replacement>> {
    let mut files: BTreeMap<&RepoPath, Vec<&Replacement>> = BTreeMap::new();
    for replacement in edits.into_iter().flat_map(|edit| &edit.replacements) {
        let own = files.entry(&replacement.file).or_default();
        if !own.contains(&replacement) {
            own.push(replacement);
        }
    }
    files
}
