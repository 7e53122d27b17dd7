//! Writes edits of a file as a patch that `git apply` takes.

use std::ops::Range;

use super::{EditError, Located, line_starts, locate};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Replacement;

/// Unchanged lines on each side of a change.
const CONTEXT: usize = 3;

/// Lines that are replaced by a text.
struct Block {
    /// Lines of the old text, from 0.
    lines: Range<usize>,
    text: Vec<u8>,
}

/// Consecutive lines of a text, and what takes their place.
#[derive(Debug, PartialEq, Eq)]
pub struct LineChange {
    /// Lines from 0; empty where lines are added before `lines.start`, and none goes.
    pub lines: Range<usize>,
    pub text: Vec<u8>,
}

/// Returns replacements as one change of lines, with the unchanged lines between them; `None` for no replacement.
pub fn line_change(text: &[u8], replacements: &[&Replacement]) -> Result<Option<LineChange>, EditError> {
    let lines = Lines::new(text);
    let blocks = blocks(&lines, &locate(text, replacements)?);
    let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(None) };
    let changed = first.lines.start..last.lines.end;
    let (mut from, mut joined) = (changed.start, Vec::new());
    for block in &blocks {
        joined.extend_from_slice(lines.bytes(from..block.lines.start));
        joined.extend_from_slice(&block.text);
        from = block.lines.end;
    }
    Ok(Some(LineChange { lines: changed, text: joined }))
}

/// Returns the patch of one file, with names quoted as git quotes them.
pub fn patch(path: &RepoPath, text: &[u8], replacements: &[&Replacement]) -> Result<Vec<u8>, EditError> {
    let lines = Lines::new(text);
    let blocks = blocks(&lines, &locate(text, replacements)?);
    let names = ["a/", "b/"].map(|side| quoted(&[side.as_bytes(), path.as_bytes()].concat()));
    let mut out = [b"diff --git ", &*names[0], b" ", &*names[1], b"\n"].concat();
    for (sign, name) in ["--- ", "+++ "].into_iter().zip(&names) {
        out.extend_from_slice(sign.as_bytes());
        out.extend_from_slice(name);
        // A tab ends a name with blanks, which would end it themselves.
        out.extend_from_slice(if name.contains(&b' ') && name[0] != b'"' { b"\t\n" } else { b"\n" });
    }
    let mut shift = 0;
    let mut rest = blocks.as_slice();
    while !rest.is_empty() {
        let gaps = rest.windows(2).take_while(|pair| pair[1].lines.start - pair[0].lines.end <= 2 * CONTEXT);
        let (hunk, behind) = rest.split_at(gaps.count() + 1);
        shift += push_hunk(&mut out, &lines, hunk, shift);
        rest = behind;
    }
    Ok(out)
}

/// The lines of a text, with their ends.
struct Lines<'t> {
    text: &'t [u8],
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t [u8]) -> Self {
        let mut starts = line_starts(text);
        starts.pop_if(|last| *last == text.len());
        Self { text, starts }
    }

    fn count(&self) -> usize {
        self.starts.len()
    }

    fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    fn bytes(&self, lines: Range<usize>) -> &'t [u8] {
        &self.text[self.start(lines.start)..self.start(lines.end)]
    }

    /// Returns the lines that a replacement changes: without the one at its end where that stays whole.
    fn touched(&self, range: &Range<usize>, text: &str) -> Range<usize> {
        let (first, end) = (self.line_of(range.start), self.line_of(range.end));
        let is_whole = text.ends_with('\n') || text.is_empty() && self.start(first) == range.start;
        let last = if is_whole && self.start(end) == range.end { end } else { (end + 1).min(self.count()) };
        first..last.max(first)
    }

    /// Returns the line of an offset; the end of the text is behind the last line.
    fn line_of(&self, offset: usize) -> usize {
        match self.starts.partition_point(|start| *start <= offset) {
            0 => 0,
            _ if offset == self.text.len() && (self.text.is_empty() || self.text.ends_with(b"\n")) => {
                self.count()
            }
            after => after - 1,
        }
    }
}

/// Returns the changed lines. Replacements that share a line are one block.
fn blocks(lines: &Lines<'_>, located: &[Located<'_>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // End of what the last block has of the old text.
    let mut from = 0;
    for Located { range, text, .. } in located {
        let touched = lines.touched(range, text);
        match blocks.last_mut().filter(|block| touched.start < block.lines.end) {
            Some(block) => {
                block.text.extend_from_slice(&lines.text[from..range.start]);
                block.lines.end = touched.end.max(block.lines.end);
            }
            None => {
                close(blocks.last_mut(), lines, from);
                let kept = lines.text[lines.start(touched.start)..range.start].to_vec();
                blocks.push(Block { lines: touched, text: kept });
            }
        }
        if let Some(block) = blocks.last_mut() {
            block.text.extend_from_slice(text.as_bytes());
        }
        from = range.end;
    }
    close(blocks.last_mut(), lines, from);
    blocks
}

/// Adds what is left of the last line of a block.
fn close(block: Option<&mut Block>, lines: &Lines<'_>, from: usize) {
    if let Some(block) = block {
        let end = lines.start(block.lines.end).max(from);
        block.text.extend_from_slice(&lines.text[from..end]);
    }
}

/// Writes a hunk, and returns by how much it moves the lines behind it.
fn push_hunk(out: &mut Vec<u8>, lines: &Lines<'_>, blocks: &[Block], shift: isize) -> isize {
    let first = blocks[0].lines.start.saturating_sub(CONTEXT);
    let end = blocks[blocks.len() - 1].lines.end;
    let last = (end + CONTEXT).min(lines.count());
    let mut body = Vec::new();
    let (mut from, mut added) = (first, 0);
    for block in blocks {
        push_lines(&mut body, b' ', lines.bytes(from..block.lines.start));
        push_lines(&mut body, b'-', lines.bytes(block.lines.clone()));
        push_lines(&mut body, b'+', &block.text);
        added += count_lines(&block.text) as isize - block.lines.len() as isize;
        from = block.lines.end;
    }
    push_lines(&mut body, b' ', lines.bytes(from..last));
    let old = last - first;
    let new = old.saturating_add_signed(added);
    // An empty side begins at the line before it.
    let start = |count: usize, from: usize| if count == 0 { from } else { from + 1 };
    let header = format!(
        "@@ -{},{old} +{},{new} @@\n",
        start(old, first),
        start(new, first.saturating_add_signed(shift))
    );
    out.extend_from_slice(header.as_bytes());
    out.extend_from_slice(&body);
    added
}

fn count_lines(text: &[u8]) -> usize {
    text.split_inclusive(|byte| *byte == b'\n').count()
}

fn push_lines(out: &mut Vec<u8>, sign: u8, text: &[u8]) {
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        out.push(sign);
        out.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Quotes a name as git does where it has bytes that are no printable ASCII, a quote or a backslash.
fn quoted(name: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        return name.to_vec();
    }
    let mut out = vec![b'"'];
    for byte in name {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b' '..=b'~' => out.push(*byte),
            other => out.extend_from_slice(format!("\\{other:03o}").as_bytes()),
        }
    }
    out.push(b'"');
    out
}
