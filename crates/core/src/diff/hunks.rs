//! The line diff: Myers with git's slider heuristic, so that hunks stand where git and GitHub show them.

use std::collections::BTreeMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput};

use super::text::lossy;
use crate::masking::sanitize_cut;
use qa_contracts::v1::{FileText, Hunk, HunkCuts};

/// Name of the comparison in the execution key; any change of the comparison changes it.
pub const ALGORITHM: &str = "myers+indent, context 3, imara-diff 0.2";

/// Number of unchanged lines that a hunk's text has before and after.
const CONTEXT_LINES: usize = 3;
/// Longest line, in bytes, that can be a hunk's section heading; longer ones are generated or data.
const MAX_SECTION_BYTES: usize = 4096;
/// Shortest line, in bytes, that may be part of an encoded key.
const LEAST_BODY: usize = 40;
/// Maximum length of a section heading, in characters.
const MAX_SECTION: usize = 100;

/// Hunks of one file and their text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// Hunks in order; ordinals count from 0.
    pub hunks: Vec<Hunk>,
    pub text: FileText,
    /// True if the differing part was too large to compare line by line, so that all of it counts as changed.
    pub coarse: bool,
}

impl FileDiff {
    /// Returns whether another diff removes and adds each line at least as often. Lines with stray bytes are never the
    /// same: they look alike and may differ.
    pub fn is_within(&self, other: &Self) -> bool {
        if self.text.text.contains(char::REPLACEMENT_CHARACTER) {
            return false;
        }
        let (own, others) = (LineCounts::new(self), LineCounts::new(other));
        let are_within = |own: &BTreeMap<&str, usize>, others: &BTreeMap<&str, usize>| {
            own.iter().all(|(line, count)| others.get(line).is_some_and(|most| count <= most))
        };
        are_within(&own.removed, &others.removed) && are_within(&own.added, &others.added)
    }
}

/// Number of times that a diff removes and adds each line.
#[derive(Default)]
struct LineCounts<'a> {
    removed: BTreeMap<&'a str, usize>,
    added: BTreeMap<&'a str, usize>,
}

impl<'a> LineCounts<'a> {
    fn new(diff: &'a FileDiff) -> Self {
        let mut counts = Self::default();
        let text = &diff.text.text;
        for cuts in &diff.text.cuts {
            let [before, removed, added] = [cuts.before, cuts.removed, cuts.added].map(|end| end as usize);
            for line in text[before..removed].split_inclusive('\n') {
                *counts.removed.entry(line).or_default() += 1;
            }
            for line in text[removed..added].split_inclusive('\n') {
                *counts.added.entry(line).or_default() += 1;
            }
        }
        counts
    }
}

/// Compares two versions; an absent one is empty.
///
/// The cost is linear but for the line diff itself, which is quadratic at worst: a differing part larger than
/// `max_line_diff_bytes` is taken as one hunk. That reports more lines as changed than a finer diff would, never fewer.
pub fn diff_file(old: &[u8], new: &[u8], max_line_diff_bytes: u64) -> FileDiff {
    let old_lines = LineIndex::new(old);
    let new_lines = LineIndex::new(new);
    let prefix = common_lines(&old_lines, &new_lines);
    let suffix = common_lines_from_end(&old_lines, &new_lines, prefix);
    let old_middle = prefix..old_lines.count() - suffix;
    let new_middle = prefix..new_lines.count() - suffix;
    let (old_part, new_part) = (old_lines.bytes(&old_middle), new_lines.bytes(&new_middle));
    let larger = old_part.len().max(new_part.len()) as u64;
    let coarse = larger > max_line_diff_bytes && !old_part.is_empty() && !new_part.is_empty();
    let changes = if old_middle.is_empty() && new_middle.is_empty() {
        Vec::new()
    } else if coarse || old_part.is_empty() || new_part.is_empty() {
        vec![ChangedLines { removed: old_middle, added: new_middle }]
    } else {
        changed_lines(old, new)
    };
    let (hunks, text) = collect_hunks(&old_lines, &new_lines, &changes);
    FileDiff { hunks, text, coarse }
}

/// Lines removed from the old version and the lines added in their place, counted from 0.
struct ChangedLines {
    removed: Range<usize>,
    added: Range<usize>,
}

/// Runs the line diff over whole files and not just the differing middle: the slider heuristic may move a hunk into
/// equal lines.
fn changed_lines(old: &[u8], new: &[u8]) -> Vec<ChangedLines> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_with_heuristic(
        &input,
        IndentHeuristic::new(|token| {
            let line: &[u8] = input.interner[token];
            IndentLevel::for_ascii_line(line.iter().copied(), 8)
        }),
    );
    diff.hunks().map(|hunk| ChangedLines { removed: widen(hunk.before), added: widen(hunk.after) }).collect()
}

fn widen(range: Range<u32>) -> Range<usize> {
    range.start as usize..range.end as usize
}

/// Offsets at which lines begin.
struct LineIndex<'a> {
    bytes: &'a [u8],
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut starts = Vec::with_capacity(bytes.len() / 32 + 1);
        let mut next = 0;
        while next < bytes.len() {
            starts.push(next);
            next = match memchr::memchr(b'\n', &bytes[next..]) {
                Some(length) => next + length + 1,
                None => bytes.len(),
            };
        }
        Self { bytes, starts }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    fn offset(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.bytes.len())
    }

    fn bytes(&self, lines: &Range<usize>) -> &'a [u8] {
        &self.bytes[self.offset(lines.start)..self.offset(lines.end)]
    }

    fn line(&self, line: usize) -> &'a [u8] {
        self.bytes(&(line..line + 1))
    }
}

fn common_lines(old: &LineIndex<'_>, new: &LineIndex<'_>) -> usize {
    let limit = old.count().min(new.count());
    (0..limit).take_while(|&line| old.line(line) == new.line(line)).count()
}

fn common_lines_from_end(old: &LineIndex<'_>, new: &LineIndex<'_>, prefix: usize) -> usize {
    let limit = old.count().min(new.count()) - prefix;
    (1..=limit).take_while(|&back| old.line(old.count() - back) == new.line(new.count() - back)).count()
}

fn collect_hunks(
    old: &LineIndex<'_>,
    new: &LineIndex<'_>,
    changes: &[ChangedLines],
) -> (Vec<Hunk>, FileText) {
    let mut hunks = Vec::with_capacity(changes.len());
    let mut text = FileText { cuts: Vec::with_capacity(changes.len()), ..FileText::default() };
    let mut sections = Sections { new, searched: 0, found: None, heading: String::new() };
    let mut context_from = 0;
    for (position, ChangedLines { removed, added }) in changes.iter().enumerate() {
        let before = added.start.saturating_sub(CONTEXT_LINES).max(context_from)..added.start;
        let next_change = match changes.get(position + 1) {
            Some(next) => next.added.start,
            None => new.count(),
        };
        let after = added.end..(added.end + CONTEXT_LINES).min(next_change);
        context_from = after.end;
        let out = &mut text.text;
        let before_end = push_lossy(out, new.bytes(&before));
        let removed_end = push_lossy(out, old.bytes(removed));
        let added_end = push_lossy(out, new.bytes(added));
        let after_end = push_lossy(out, new.bytes(&after));
        text.cuts.push(HunkCuts {
            before: before_end,
            removed: removed_end,
            added: added_end,
            after: after_end,
        });
        let section = sections.above(added.start).to_owned();
        hunks.push(Hunk {
            ordinal: position as u64,
            old_start: unified_start(removed),
            old_lines: removed.len() as u64,
            new_start: unified_start(added),
            new_lines: added.len() as u64,
            section,
        });
    }
    // Many texts stay in memory, and this one is complete.
    text.text.shrink_to_fit();
    (hunks, text)
}

/// Returns a range's start as a unified diff writes it: an empty range names the line before it.
fn unified_start(range: &Range<usize>) -> u64 {
    if range.is_empty() { range.start as u64 } else { range.start as u64 + 1 }
}

/// Appends whole lines as UTF-8, one replacement character for each stray byte sequence; returns the new end. A part
/// never ends inside a line: a missing final line end is added, so that the next part begins on a line of its own.
fn push_lossy(out: &mut String, bytes: &[u8]) -> u32 {
    out.push_str(&lossy(bytes));
    if !bytes.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    u32::try_from(out.len()).expect("blobs are bounded well below 4 GiB")
}

/// Finds the line that starts the definition a hunk is in, as git's default heading does: the nearest line above that
/// begins with a letter, `_` or `$`. Each line is examined once over all hunks.
struct Sections<'a> {
    new: &'a LineIndex<'a>,
    searched: usize,
    found: Option<usize>,
    /// Text of the found line, masked and cut.
    heading: String,
}

impl Sections<'_> {
    fn above(&mut self, line: usize) -> &str {
        let nearer = (self.searched..line).rev().find(|&line| starts_definition(self.new.line(line)));
        self.searched = self.searched.max(line);
        if let Some(nearer) = nearer
            && self.found != Some(nearer)
        {
            self.found = Some(nearer);
            self.heading = section_heading(self.new.line(nearer));
        }
        &self.heading
    }
}

fn starts_definition(line: &[u8]) -> bool {
    matches!(line.first(), Some(byte) if byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$'))
}

/// Returns a heading without secrets. They are searched for in the whole line, because detectors do not match a token
/// that is cut. A line of a key's body is no secret by itself and starts no definition.
fn section_heading(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(MAX_SECTION_BYTES)]).trim_end().to_owned();
    if line.len() > MAX_SECTION_BYTES || is_key_body(&text) {
        return String::new();
    }
    sanitize_cut(&text, MAX_SECTION)
}

fn is_key_body(text: &str) -> bool {
    text.len() >= LEAST_BODY
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::packet::Packet;
    use qa_contracts::v1::{ChangeKind, ChangedFile, FileClass, Scope};

    fn shape(old: &str, new: &str) -> Vec<(u64, u64, u64, u64)> {
        let diff = diff_file(old.as_bytes(), new.as_bytes(), 1 << 20);
        diff.hunks
            .iter()
            .map(|hunk| (hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines))
            .collect()
    }

    #[test]
    fn a_section_gives_no_secret_away() {
        let token = ["ghp_", "x7Kq2mZp9LwR4tVb8NcY3hJd6GfS1aQe5UiO"].concat();
        let of = |line: &str| {
            let base = format!("{line}\n  a\n  b\n  c\n  d\n");
            let diff = diff_file(base.as_bytes(), format!("{base}  e\n").as_bytes(), 1 << 20);
            assert!(!format!("{:?}", diff.hunks[0]).to_lowercase().contains("x7kq2m"), "{:?}", diff.hunks[0]);
            diff.hunks[0].section.clone()
        };
        assert!(of(&format!("token = \"{token}\"")).starts_with("token = \"ghp_***"));
        // Cut in its middle it would be known by nobody.
        let padded = format!("{} = \"{token}\"", "a".repeat(MAX_SECTION - 16));
        assert!(of(&padded).starts_with("aaa"));
        assert_eq!(of(&"MIIEpAIBAAKCAQEA7bq5".repeat(3)), "");
        assert_eq!(of(&format!("x{}", " y".repeat(MAX_SECTION_BYTES))), "");
        assert_eq!(of("fn main() {"), "fn main() {");
    }

    #[test]
    fn hunks_are_numbered_as_in_a_unified_diff_without_context() {
        assert_eq!(shape("", "a\nb\n"), [(0, 0, 1, 2)]);
        assert_eq!(shape("a\nb\n", ""), [(1, 2, 0, 0)]);
        assert_eq!(shape("a\nb\nc\n", "a\nX\nc\n"), [(2, 1, 2, 1)]);
        assert_eq!(shape("a\nb\n", "a\nb"), [(2, 1, 2, 1)]);
        assert_eq!(shape("a\r\n", "a\n"), [(1, 1, 1, 1)]);
        assert_eq!(shape("a\n", "a\n"), []);
        assert_eq!(shape("a\nc\n", "a\nb\nc\n"), [(1, 0, 2, 1)]);
    }

    #[test]
    fn a_part_too_large_for_a_line_diff_counts_as_changed_as_a_whole() {
        let old: String = (0..400).map(|line| format!("{line}\n")).collect();
        let new: String = (0..400).rev().map(|line| format!("{line}\n")).collect();
        let diff = diff_file(old.as_bytes(), new.as_bytes(), 100);
        assert!(diff.coarse);
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(diff.hunks[0].new_lines, 400);
    }

    #[test]
    fn different_stray_bytes_are_different_lines() {
        let diff = diff_file(b"a\xff\n", b"a\xfe\n", 1 << 20);
        assert_eq!(diff.hunks.len(), 1);
        assert_eq!(diff.text.text, "a\u{fffd}\na\u{fffd}\n");
    }

    #[test]
    fn a_hunk_knows_the_definition_it_is_in() {
        let old = "fn first() {\n    1\n}\n\nfn second(a: u8) {\n    2\n}\n";
        let diff = diff_file(old.as_bytes(), old.replace("    2", "    3").as_bytes(), 1 << 20);
        assert_eq!(diff.hunks[0].section, "fn second(a: u8) {");
    }

    proptest! {
        #[test]
        fn applying_the_hunks_to_the_base_gives_the_head(
            old in prop::collection::vec("[abc]{0,2}", 0..40),
            new in prop::collection::vec("[abc]{0,2}", 0..40),
        ) {
            let join = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
            let (old_text, new_text) = (join(&old), join(&new));
            let diff = diff_file(old_text.as_bytes(), new_text.as_bytes(), 1 << 20);
            let file = ChangedFile {
                path: qa_contracts::ids::RepoPath::from_bytes(b"a").unwrap(), old_path: None,
                kind: ChangeKind::Modified, old_mode: None, new_mode: None, old_blob: None, new_blob: None,
                class: FileClass::Unknown, scope: Scope::Product, scope_reason: qa_contracts::v1::ScopeReason::Name, language: None, text: true,
                hunks: diff.hunks.clone(), codes: vec![],
            };
            let included = vec![true; diff.hunks.len()];
            let packet = Packet { file: &file, text: &diff.text, included: &included };
            let mut rebuilt = Vec::new();
            let mut next = 0usize;
            for view in packet.hunks() {
                let hunk = view.hunk;
                let from = if hunk.old_lines == 0 { hunk.old_start as usize } else { hunk.old_start as usize - 1 };
                rebuilt.extend(old[next..from].iter().cloned());
                for line in view.removed() {
                    prop_assert_eq!(line.text, &old[line.number as usize - 1]);
                }
                for line in view.added() {
                    prop_assert_eq!(line.text, &new[line.number as usize - 1]);
                    rebuilt.push(line.text.to_owned());
                }
                for line in view.before().chain(view.after()) {
                    prop_assert_eq!(line.text, &new[line.number as usize - 1]);
                }
                next = from + hunk.old_lines as usize;
            }
            rebuilt.extend(old[next..].iter().cloned());
            prop_assert_eq!(rebuilt, new);
        }
    }
}
