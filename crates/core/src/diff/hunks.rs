//! The line diff: Myers with git's slider heuristic, so that hunks stand where git and GitHub show them.

use std::borrow::Cow;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, IndentHeuristic, IndentLevel, InternedInput};

use super::text::lossy;
use crate::masking::shown_cut;
use qa_contracts::v1::{FileText, Hunk, HunkCuts, Symbols};

/// What the key says about how lines are compared; any change here changes hunks.
pub const ALGORITHM: &str = "myers+indent, context 3, imara-diff 0.2";

/// How many unchanged lines a hunk's text has before and after.
const CONTEXT_LINES: usize = 3;
/// A longer line starts no definition that anybody wrote.
const MAX_SECTION_BYTES: usize = 4096;
/// The lines of an encoded key are no shorter.
const LEAST_BODY: usize = 40;
/// The longest section kept, in characters.
const MAX_SECTION: usize = 100;

/// The hunks of one file, ordinals counted from 0, and their text.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileDiff {
    /// The hunks in order.
    pub hunks: Vec<Hunk>,
    /// Their text.
    pub text: FileText,
    /// Whether the differing part was too large to compare line by line and counts as changed as a whole.
    pub coarse: bool,
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
    let ranges = if old_middle.is_empty() && new_middle.is_empty() {
        Vec::new()
    } else if coarse || old_part.is_empty() || new_part.is_empty() {
        vec![(old_middle, new_middle)]
    } else {
        changed_ranges(old, new)
    };
    let (hunks, text) = collect(&old_lines, &new_lines, &ranges);
    FileDiff { hunks, text, coarse }
}

/// Runs over whole files and not just the differing middle: the slider heuristic may move a hunk into equal lines.
fn changed_ranges(old: &[u8], new: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let input = InternedInput::new(old, new);
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_with_heuristic(
        &input,
        IndentHeuristic::new(|token| {
            let line: &[u8] = input.interner[token];
            IndentLevel::for_ascii_line(line.iter().copied(), 8)
        }),
    );
    let wide = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|hunk| (wide(hunk.before), wide(hunk.after))).collect()
}

/// Where each line begins.
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
            next = memchr::memchr(b'\n', &bytes[next..]).map_or(bytes.len(), |found| next + found + 1);
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

fn collect(
    old: &LineIndex<'_>,
    new: &LineIndex<'_>,
    ranges: &[(Range<usize>, Range<usize>)],
) -> (Vec<Hunk>, FileText) {
    let mut hunks = Vec::with_capacity(ranges.len());
    let mut text = FileText { cuts: Vec::with_capacity(ranges.len()), ..FileText::default() };
    let mut sections = Sections { new, searched: 0, found: None, shown: String::new() };
    let mut context_from = 0;
    for (position, (removed, added)) in ranges.iter().enumerate() {
        let before = added.start.saturating_sub(CONTEXT_LINES).max(context_from)..added.start;
        let next_change = ranges.get(position + 1).map_or(new.count(), |(_, next)| next.start);
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
        let section = sections.above(added.start);
        hunks.push(Hunk {
            ordinal: position as u64,
            old_start: unified_start(removed),
            old_lines: removed.len() as u64,
            new_start: unified_start(added),
            new_lines: added.len() as u64,
            symbols: symbols(section),
            section: section.to_owned(),
        });
    }
    // Many texts are kept, and none grows any more.
    text.text.shrink_to_fit();
    (hunks, text)
}

/// As in a unified diff: an empty range names the line before it.
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
/// begins with a letter, `_` or `$`. Every line is looked at once over all hunks.
struct Sections<'a> {
    new: &'a LineIndex<'a>,
    searched: usize,
    found: Option<usize>,
    /// The found line, as it may be shown.
    shown: String,
}

impl Sections<'_> {
    fn above(&mut self, line: usize) -> &str {
        let starts = |line: &usize| {
            self.new
                .line(*line)
                .first()
                .is_some_and(|&byte| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$')
        };
        let nearer = (self.searched..line).rev().find(starts);
        self.searched = self.searched.max(line);
        if let Some(nearer) = nearer.filter(|nearer| self.found != Some(*nearer)) {
            self.found = Some(nearer);
            self.shown = shown_section(self.new.line(nearer));
        }
        &self.shown
    }
}

/// A section without its secrets. They are looked for in the whole line: of one that is cut, no detector knows what is
/// left. A line of a key's body is no secret by itself and starts no definition.
fn shown_section(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(&line[..line.len().min(MAX_SECTION_BYTES)]).trim_end().to_owned();
    let is_body = |text: &str| {
        text.len() >= LEAST_BODY
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-".contains(&byte))
    };
    if line.len() > MAX_SECTION_BYTES || is_body(&text) {
        return String::new();
    }
    shown_cut(&text, MAX_SECTION)
}

fn symbols(section: &str) -> Symbols {
    let is_lower = |word: &str| word.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
    let mut symbols: Vec<Cow<'_, str>> = section
        .split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| word.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        .map(|word| if is_lower(word) { Cow::Borrowed(word) } else { Cow::Owned(word.to_lowercase()) })
        .collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols.iter().map(AsRef::as_ref).collect()
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
        assert_eq!(diff.hunks[0].symbols, ["a", "fn", "second", "u8"].into_iter().collect());
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
                class: FileClass::Unknown, scope: Scope::Product, language: None, text: true,
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
