//! What a lens sees of one changed file, and how lines and columns are counted in it.

use crate::contracts::ids::RepoPath;
use crate::contracts::v1::{ChangedFile, FileText, Hunk, HunkCuts, MaskedSecret, TextPlace};

/// One changed file: names, modes, hunks and text, secrets already masked.
///
/// A file without text (binary, link, mode change, too large) has no hunks and empty texts; the path is still there to
/// be judged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packet<'a> {
    /// The file.
    pub(crate) file: &'a ChangedFile,
    /// Its text.
    pub(crate) text: &'a FileText,
    /// The hunks the plan includes, by position in `file.hunks`; the others must not be looked at.
    pub(crate) included: &'a [bool],
}

/// One line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// The line number, from 1, on the side the line is on.
    pub(crate) number: u64,
    /// The text without its line end.
    pub(crate) text: &'a str,
    /// Where the text begins in [`FileText::text`].
    pub(crate) offset: usize,
}

/// One hunk with its text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HunkView<'a> {
    /// Numbers and section.
    pub(crate) hunk: &'a Hunk,
    /// All hunks' text.
    text: &'a str,
    /// Where the hunk's text begins.
    begin: usize,
    cuts: HunkCuts,
}

impl<'a> Packet<'a> {
    /// The file's path.
    pub(crate) fn path(&self) -> &'a RepoPath {
        &self.file.path
    }

    /// The planned hunks in order.
    pub(crate) fn hunks(&self) -> impl Iterator<Item = HunkView<'a>> + use<'a> {
        let begins = std::iter::once(0).chain(self.text.cuts.iter().map(|cuts| cuts.after as usize));
        let (text, hunks, included) = (self.text.text.as_str(), &self.file.hunks, self.included);
        hunks
            .iter()
            .zip(&self.text.cuts)
            .zip(begins)
            .zip(included)
            .filter(|(_, included)| **included)
            .map(move |(((hunk, &cuts), begin), _)| HunkView { hunk, text, begin, cuts })
    }

    /// The added lines of all planned hunks.
    pub(crate) fn added(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.hunks().flat_map(|hunk| hunk.added())
    }

    /// The removed lines of all planned hunks.
    pub(crate) fn removed(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.hunks().flat_map(|hunk| hunk.removed())
    }

    /// The secrets masked in the hunks' text.
    pub(crate) fn hunk_secrets(&self) -> impl Iterator<Item = &'a MaskedSecret> + use<'a> {
        self.text.secrets.iter().filter(|secret| secret.place == TextPlace::Hunks)
    }
}

impl<'a> HunkView<'a> {
    fn lines(&self, from: usize, to: usize, first: u64) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let mut offset = from;
        self.text[from..to].split_inclusive('\n').zip(first..).map(move |(raw, number)| {
            let line = Line { number, text: trim_line_end(raw), offset };
            offset += raw.len();
            line
        })
    }

    /// Unchanged lines before the change, numbered as at head.
    pub(crate) fn before(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        let end = self.cuts.before as usize;
        let count = self.text[self.begin..end].split_inclusive('\n').count() as u64;
        self.lines(self.begin, end, self.first_new().saturating_sub(count))
    }

    /// Removed lines, numbered as at the base.
    pub(crate) fn removed(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.before as usize, self.cuts.removed as usize, self.hunk.old_start)
    }

    /// Added lines, numbered as at head.
    pub(crate) fn added(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.removed as usize, self.cuts.added as usize, self.hunk.new_start)
    }

    /// Unchanged lines after the change, numbered as at head.
    pub(crate) fn after(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.added as usize, self.cuts.after as usize, self.first_new() + self.hunk.new_lines)
    }

    /// The line at head where added lines stand or would stand: `new_start` names the line before when there are none.
    fn first_new(&self) -> u64 {
        if self.hunk.new_lines == 0 { self.hunk.new_start + 1 } else { self.hunk.new_start }
    }

    /// Where the added text begins and ends in [`FileText::text`].
    pub(crate) fn added_span(&self) -> std::ops::Range<usize> {
        self.cuts.removed as usize..self.cuts.added as usize
    }
}

/// The text without `\n` or `\r\n`; a lone `\r` stays, it hides text on a terminal and must be seen.
pub(crate) fn trim_line_end(line: &str) -> &str {
    line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line))
}

/// The 1-based column of a byte offset inside a line, in characters.
pub(crate) fn column(line: &str, offset: usize) -> u64 {
    line[..offset].chars().count() as u64 + 1
}
