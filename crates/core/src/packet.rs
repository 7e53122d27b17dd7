//! A lens's view of one changed file, with its line and column numbers.

use std::borrow::Cow;
use std::ops::Range;

use super::classify;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, FileText, Hunk, HunkCuts, MaskedSecret, TextPlace};

/// Changed file with its names, modes, hunks and text, secrets already masked.
///
/// A file without text (binary, link, mode change, too large) has no hunks and empty texts, and is still judged by its
/// path.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    pub file: &'a ChangedFile,
    pub text: &'a FileText,
    /// Hunks that the plan includes, by position in `file.hunks`. The others must not be read.
    pub included: &'a [bool],
}

/// Line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Line number, from 1, on the line's own side.
    pub number: u64,
    /// Text without its line end.
    pub text: &'a str,
    /// Offset of the text in [`FileText::text`].
    pub offset: usize,
}

/// Hunk with its text.
#[derive(Debug, Clone, Copy)]
pub struct HunkView<'a> {
    /// Line numbers and section heading.
    pub hunk: &'a Hunk,
    /// Text of all hunks.
    text: &'a str,
    /// Offset of this hunk's text.
    begin: usize,
    cuts: HunkCuts,
}

impl<'a> Packet<'a> {
    /// Returns the path of the file at head, or at the base if it is deleted.
    pub fn path(&self) -> &'a RepoPath {
        &self.file.path
    }

    /// Returns the path by which the language of the file is known; see [`classify::path_by_language`].
    pub fn path_by_language(&self) -> Cow<'a, str> {
        classify::path_by_language(self.file)
    }

    /// Returns the planned hunks in order.
    pub fn hunks(&self) -> impl Iterator<Item = HunkView<'a>> + use<'a> {
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

    /// Returns the added lines of all planned hunks.
    pub fn added(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.hunks().flat_map(|hunk| hunk.added())
    }

    /// Returns the removed lines of all planned hunks.
    pub fn removed(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.hunks().flat_map(|hunk| hunk.removed())
    }

    /// Returns the secrets masked in the added lines of a hunk, in order, including those that touch them.
    pub fn added_secrets(&self, hunk: &HunkView<'_>) -> &'a [MaskedSecret] {
        let span = hunk.added_span();
        let secrets = &self.text.secrets;
        let secrets = &secrets[..secrets.partition_point(|secret| secret.place == TextPlace::Hunks)];
        let from = secrets.partition_point(|secret| (secret.end as usize) < span.start);
        let to = secrets.partition_point(|secret| (secret.start as usize) <= span.end);
        &secrets[from..to.max(from)]
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

    /// Returns the unchanged lines before the change, numbered as at head.
    pub fn before(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.begin, self.cuts.before as usize, self.head_lines().start)
    }

    /// Returns the removed lines, numbered as at the base.
    pub fn removed(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.before as usize, self.cuts.removed as usize, self.hunk.old_start)
    }

    /// Returns the added lines, numbered as at head.
    pub fn added(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.removed as usize, self.cuts.added as usize, self.hunk.new_start)
    }

    /// Returns the unchanged lines after the change, numbered as at head.
    pub fn after(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.lines(self.cuts.added as usize, self.cuts.after as usize, self.first_new() + self.hunk.new_lines)
    }

    /// Returns the numbers at head of all its lines but the removed ones; empty without any.
    pub fn head_lines(&self) -> Range<u64> {
        let first = self.first_new();
        let before = self.text[self.begin..self.cuts.before as usize].split_inclusive('\n').count() as u64;
        let after = &self.text[self.cuts.added as usize..self.cuts.after as usize];
        let end = first + self.hunk.new_lines + after.split_inclusive('\n').count() as u64;
        first.saturating_sub(before)..end
    }

    /// Returns the number at head of the first added line, or of the line behind the removed ones: without added lines
    /// `new_start` is the line before.
    fn first_new(&self) -> u64 {
        if self.hunk.new_lines == 0 { self.hunk.new_start + 1 } else { self.hunk.new_start }
    }

    /// Returns the range of all its lines in [`FileText::text`].
    pub fn span(&self) -> Range<usize> {
        self.begin..self.cuts.after as usize
    }

    /// Returns a line with its line end. The last line of a file may have none.
    pub fn with_end(&self, line: &Line<'a>) -> &'a str {
        let ends = [self.cuts.before, self.cuts.removed, self.cuts.added, self.cuts.after];
        let end = ends.into_iter().map(|end| end as usize).find(|end| *end > line.offset);
        let part = &self.text[line.offset..end.unwrap_or(self.text.len())];
        part.split_inclusive('\n').next().unwrap_or_default()
    }

    /// Returns the range of the added text in [`FileText::text`].
    pub fn added_span(&self) -> Range<usize> {
        self.cuts.removed as usize..self.cuts.added as usize
    }
}

/// Returns a line without `\n` or `\r\n`. A lone `\r` stays, because it hides text on a terminal.
pub fn trim_line_end(line: &str) -> &str {
    let ending = match line.as_bytes() {
        [.., b'\r', b'\n'] => 2,
        [.., b'\n'] => 1,
        _ => 0,
    };
    &line[..line.len() - ending]
}

/// Returns the byte offset at which the line begins that an offset is on.
pub fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the 1-based column of a byte offset inside a line, in characters.
pub fn column(line: &str, offset: usize) -> u64 {
    line[..offset].chars().count() as u64 + 1
}

/// Returns the reverse change, from head to base. Lenses that judge added text judge the base's text with it.
pub fn reversed(file: &ChangedFile, text: &FileText) -> (ChangedFile, FileText) {
    let path = file.old_path.clone().unwrap_or_else(|| file.path.clone());
    let hunks = file
        .hunks
        .iter()
        .map(|hunk| Hunk {
            old_start: hunk.new_start,
            old_lines: hunk.new_lines,
            new_start: hunk.old_start,
            new_lines: hunk.old_lines,
            ..hunk.clone()
        })
        .collect();
    let mut turned = FileText {
        text: String::with_capacity(text.text.len()),
        cuts: Vec::with_capacity(text.cuts.len()),
        full_base: text.full_head.clone(),
        full_head: text.full_base.clone(),
        secrets: Vec::with_capacity(text.secrets.len()),
    };
    let mut begin = 0;
    for cuts in &text.cuts {
        let (removed, added) = (cuts.before..cuts.removed, cuts.removed..cuts.added);
        for part in [begin..cuts.before, added.clone(), removed, cuts.added..cuts.after] {
            turned.text.push_str(&text.text[part.start as usize..part.end as usize]);
        }
        turned.cuts.push(HunkCuts { removed: cuts.before + (added.end - added.start), ..*cuts });
        begin = cuts.after;
    }
    for secret in &text.secrets {
        turned.secrets.push(turn_secret(secret, &text.cuts));
    }
    turned.secrets.sort();
    let turned_file = ChangedFile {
        path,
        old_path: file.old_path.as_ref().map(|_| file.path.clone()),
        old_mode: file.new_mode.clone(),
        new_mode: file.old_mode.clone(),
        old_blob: file.new_blob.clone(),
        new_blob: file.old_blob.clone(),
        hunks,
        ..file.clone()
    };
    (turned_file, turned)
}

fn turn_secret(secret: &MaskedSecret, cuts: &[HunkCuts]) -> MaskedSecret {
    let place = match secret.place {
        TextPlace::Hunks => TextPlace::Hunks,
        TextPlace::FullBase => TextPlace::FullHead,
        TextPlace::FullHead => TextPlace::FullBase,
    };
    let (mut start, mut end) = (secret.start, secret.end);
    let hunk = cuts.partition_point(|cuts| cuts.after <= secret.start);
    if let Some(cuts) = cuts.get(hunk)
        && place == TextPlace::Hunks
    {
        if (cuts.before..cuts.removed).contains(&secret.start) {
            let added = cuts.added - cuts.removed;
            (start, end) = (start + added, end + added);
        } else if (cuts.removed..cuts.added).contains(&secret.start) {
            let removed = cuts.removed - cuts.before;
            (start, end) = (start - removed, end - removed);
        }
    }
    MaskedSecret { place, start, end, detector: secret.detector.clone(), value: secret.value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::diff_file;
    use qa_contracts::v1::{ChangeKind, FileClass, Scope};

    #[test]
    fn a_change_seen_backwards_twice_is_the_change() {
        let diff = diff_file(b"a\nold\nb\nc\nd\ne\nf\ng\nx\n", b"a\nnew\nmore\nb\nc\nd\ne\nf\ng\n", 1 << 20);
        let mut text = diff.text;
        text.secrets = vec![
            MaskedSecret { place: TextPlace::Hunks, start: 2, end: 5, detector: "d".to_owned(), value: 0 },
            MaskedSecret { place: TextPlace::Hunks, start: 6, end: 9, detector: "d".to_owned(), value: 0 },
        ];
        let file = ChangedFile {
            path: RepoPath::from_bytes(b"new.rs").unwrap(),
            old_path: Some(RepoPath::from_bytes(b"old.rs").unwrap()),
            kind: ChangeKind::Renamed,
            old_mode: Some("100644".to_owned()),
            new_mode: Some("100755".to_owned()),
            old_blob: None,
            new_blob: None,
            class: FileClass::Source,
            scope: Scope::Product,
            scope_reason: qa_contracts::v1::ScopeReason::Name,
            language: None,
            text: true,
            hunks: diff.hunks,
            codes: vec![],
        };
        let (turned_file, turned) = reversed(&file, &text);
        let included = vec![true; file.hunks.len()];
        let packet = Packet { file: &turned_file, text: &turned, included: &included };
        let added: Vec<(u64, &str)> = packet.added().map(|line| (line.number, line.text)).collect();
        assert_eq!(added, [(2, "old"), (9, "x")]);
        let masked: Vec<&str> = turned
            .secrets
            .iter()
            .map(|secret| &turned.text[secret.start as usize..secret.end as usize])
            .collect();
        assert_eq!(masked, ["new", "old"]);
        assert_eq!(reversed(&turned_file, &turned), (file, text));
    }
}
