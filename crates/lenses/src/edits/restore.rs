//! Restores what a change removes or weakens, and leaves the rest of the change as it is.

use std::ops::Range;

use super::{RawLine, edit, insert_before, replace_lines, replace_part};
use crate::contract::Draft;
use qa_contracts::v1::{Edit, EditSafety, Side};
use qa_core::packet::Packet;

/// Most lines of a hunk that is shown as a whole.
const MOST_LINES: usize = 40;

/// Restores the lines of the base that a finding is about. The edit is safe where it touches nothing else: lines that are gone
/// as a whole come back, and a line that has the same key as before gets its old value. A command means what the commands
/// around it make of it, so it comes back safely only where these are as they were. Otherwise the whole hunk is reverted, which
/// takes other changes with it and is not safe.
pub(crate) fn restore(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let block = Block::find(draft, packet)?;
    let exact = match draft.side {
        Side::Base => block.bring_back(draft.start_line),
        Side::Head => block.take_back(draft.start_line),
    };
    exact.or_else(|| block.revert(EditSafety::Unsafe).filter(|_| !block.has_moved(&block.added)))
}

/// Lines that a change replaces with others.
pub(super) struct Block<'a> {
    packet: Packet<'a>,
    pub(super) removed: Vec<RawLine<'a>>,
    pub(super) added: Vec<RawLine<'a>>,
    /// Number at head of the line behind the removed ones, where nothing is added.
    behind: u64,
}

impl<'a> Block<'a> {
    /// Finds the lines around a draft in a file that both sides have.
    pub(super) fn find(draft: &Draft, packet: &Packet<'a>) -> Option<Self> {
        let has_both = packet.file.old_mode.is_some() && packet.file.new_mode.is_some();
        let mut hunks = packet.hunks().filter(|_| has_both);
        let hunk = hunks.find(|hunk| {
            let lines = match draft.side {
                Side::Base => hunk.hunk.old_start..hunk.hunk.old_start + hunk.hunk.old_lines,
                Side::Head => hunk.hunk.new_start..hunk.hunk.new_start + hunk.hunk.new_lines,
            };
            lines.contains(&draft.start_line)
        })?;
        let removed: Vec<RawLine<'a>> = hunk.removed().map(|line| RawLine::new(&hunk, line)).collect();
        let added: Vec<RawLine<'a>> = hunk.added().map(|line| RawLine::new(&hunk, line)).collect();
        let is_text = |line: &RawLine<'_>| !line.raw.contains(char::REPLACEMENT_CHARACTER);
        let is_known = removed.iter().chain(&added).all(is_text);
        is_known.then_some(Self { packet: *packet, removed, added, behind: hunk.hunk.new_start + 1 })
    }

    /// Brings removed lines back.
    fn bring_back(&self, line: u64) -> Option<Edit> {
        let at = self.removed.iter().position(|removed| removed.number == line)?;
        let unit = unit(&self.removed, at)?;
        let title = if unit.len() == 1 { "Restore the removed line" } else { "Restore the removed lines" };
        if self.added.is_empty() {
            let text: String = self.removed[unit].iter().map(|line| line.raw).collect();
            return edit(EditSafety::Safe, title, vec![insert_before(&self.packet, self.behind, &text)]);
        }
        if leftovers(&self.removed, &self.added).is_some_and(|left| left == unit) {
            return self.revert(EditSafety::Safe);
        }
        let text: String = self.removed[unit.clone()].iter().map(|line| line.raw).collect();
        let first = self.added.iter().find(|line| !line.is_blank())?;
        let is_item = |line: &RawLine<'_>| line.text.trim_start().starts_with("- ");
        let are_items = is_item(&self.removed[unit.start])
            && is_item(first)
            && first.indent() == self.removed[unit.start].indent();
        let is_list = self.packet.path().file_name() == b"CODEOWNERS";
        let replacement = insert_before(&self.packet, first.number, &text);
        let fits = (are_items || is_list) && text.ends_with('\n');
        if fits { edit(EditSafety::Safe, title, vec![replacement]) } else { None }
    }

    /// Takes an added line back: its old text returns, or it goes where there was none.
    fn take_back(&self, line: u64) -> Option<Edit> {
        let at = self.added.iter().position(|added| added.number == line)?;
        let new = &self.added[at];
        if self.removed.is_empty() {
            let unit = branch(&self.added, at);
            if self.has_moved(&self.added[unit.clone()]) {
                return None;
            }
            let title = if unit.len() == 1 { "Delete the added line" } else { "Delete the added lines" };
            let replacement = replace_lines(&self.packet, &self.added[unit], "")?;
            return edit(EditSafety::Safe, title, vec![replacement]);
        }
        if let Some(old) = twin(&self.added, at, &self.removed).or_else(|| self.without_mark(at)) {
            let replacement = replace_part(&self.packet, new, 0..new.text.len(), old.text);
            let is_entry = !is_command(old.text) || self.packet.path().file_name() == b"CODEOWNERS";
            let is_safe = is_entry || self.is_all_beside(at, old);
            let safety = if is_safe { EditSafety::Safe } else { EditSafety::Unsafe };
            return edit(safety, "Restore the line", vec![replacement]);
        }
        let unit = branch(&self.added, at);
        let is_rest = leftovers(&self.added, &self.removed).is_some_and(|left| left == unit);
        if is_rest { self.revert(EditSafety::Safe) } else { None }
    }

    /// Returns whether the hunk changes nothing beside an added line and the removed one in its place, and no other hunk moves
    /// the commands of the file.
    fn is_all_beside(&self, at: usize, old: &RawLine<'_>) -> bool {
        let is_all = others(&self.removed, old).eq(others(&self.added, &self.added[at]));
        let mut all = self.packet.removed().chain(self.packet.added());
        is_all && !all.any(|line| moves_commands(line.text))
    }

    /// Returns whether added lines stood elsewhere in the file: to delete them would lose them.
    fn has_moved(&self, lines: &[RawLine<'_>]) -> bool {
        let mut removed = self.packet.removed().map(|line| line.text.trim()).filter(|text| !text.is_empty());
        removed.any(|text| lines.iter().any(|line| line.text.trim() == text))
    }

    /// Returns the only removed line that an added one has with some text written into it.
    pub(super) fn without_mark(&self, at: usize) -> Option<&RawLine<'a>> {
        let new = self.added[at].text.as_bytes();
        let mut grown =
            self.removed.iter().filter(|old| !old.is_blank() && is_grown(old.text.as_bytes(), new));
        // A bracket that opens on the line may close on a later one.
        let depth = depth(self.added[at].text);
        grown.next().filter(|old| grown.next().is_none() && self::depth(old.text) == depth)
    }

    /// Reverts all lines.
    fn revert(&self, safety: EditSafety) -> Option<Edit> {
        if self.removed.len().max(self.added.len()) > MOST_LINES {
            return None;
        }
        let text: String = self.removed.iter().map(|line| line.raw).collect();
        let replacement = match self.added.is_empty() {
            true => insert_before(&self.packet, self.behind, &text),
            false => replace_lines(&self.packet, &self.added, &text)?,
        };
        edit(safety, "Restore the lines as they were", vec![replacement])
    }
}

/// Returns the texts of the lines beside one of them.
fn others<'l>(lines: &'l [RawLine<'_>], line: &RawLine<'_>) -> impl Iterator<Item = &'l str> {
    let others = lines.iter().filter(move |other| other.number != line.number && !other.is_blank());
    others.map(|other| other.text.trim())
}

/// Returns whether a text is another one with something written into it at one place.
fn is_grown(old: &[u8], new: &[u8]) -> bool {
    let prefix = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let suffix = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    new.len() > old.len() && prefix + suffix >= old.len() && old.len() > 3
}

/// Returns whether a line only closes what an earlier one opens.
fn closes(line: &RawLine<'_>) -> bool {
    line.text.trim_start().starts_with([']', '}', ')']) || line.text.trim_start().starts_with("</")
}

/// Returns the line with everything below it: the lines that are indented further, and the bracket that closes it.
pub(super) fn branch(lines: &[RawLine<'_>], at: usize) -> Range<usize> {
    let own = lines[at].indent();
    let mut end = at + 1;
    while let Some(line) = lines.get(end) {
        let is_below = !line.is_blank() && line.indent() > own;
        let is_end = !line.is_blank() && line.indent() == own && closes(line);
        if !is_below && !is_end {
            break;
        }
        end += 1;
    }
    at..end
}

/// Returns the entry around a line among its neighbours: the least indented lines begin one each. `None` for an item whose list
/// goes with it, which means nothing by itself.
fn unit(lines: &[RawLine<'_>], at: usize) -> Option<Range<usize>> {
    let least = lines.iter().filter(|line| !line.is_blank()).map(RawLine::indent).min()?;
    let begins = |line: &RawLine<'_>| !line.is_blank() && line.indent() == least && !closes(line);
    let start = (0..=at).rev().find(|at| begins(&lines[*at]))?;
    let next = (start + 1..lines.len()).find(|at| begins(&lines[*at])).unwrap_or(lines.len());
    let end = (start..next).rev().find(|at| !lines[*at].is_blank())? + 1;
    let is_item = |line: &RawLine<'_>| line.text.trim_start().starts_with("- ");
    let has_its_list = is_item(&lines[start]) && lines.iter().any(|line| begins(line) && !is_item(line));
    (!has_its_list && at < end).then_some(start..end)
}

/// Returns the lines that only the first list has, if the second has no line that the first has not. A comma at the end makes
/// no difference: the last entry of a list has none.
fn leftovers<'a>(more: &[RawLine<'a>], fewer: &[RawLine<'a>]) -> Option<Range<usize>> {
    let plain = |line: &RawLine<'a>| line.text.trim_end().trim_end_matches(',');
    let (mut left, mut next) = (Vec::new(), 0);
    for (at, line) in more.iter().enumerate() {
        match fewer.get(next) {
            Some(other) if plain(other) == plain(line) => next += 1,
            Some(_) | None => left.push(at),
        }
    }
    let (first, last) = (*left.first()?, *left.last()?);
    (next == fewer.len() && last - first + 1 == left.len()).then_some(first..last + 1)
}

/// Returns the only line of the other side with the key of a line, if both are whole by themselves.
fn twin<'l, 'a>(lines: &[RawLine<'a>], at: usize, others: &'l [RawLine<'a>]) -> Option<&'l RawLine<'a>> {
    let own = key(lines[at].text)?;
    let is_own = |line: &&RawLine<'a>| key(line.text) == Some(own);
    let mut same = others.iter().filter(is_own);
    let twin = same.next().filter(|twin| is_balanced(twin.text) && is_balanced(lines[at].text))?;
    let is_only = same.next().is_none() && lines.iter().filter(is_own).count() == 1;
    is_only.then_some(twin)
}

/// Returns the key of a line with its indentation: the text up to the first `:` or `=` behind a word, or the first word.
fn key(text: &str) -> Option<&str> {
    let start = text.len() - text.trim_start().len();
    let rest = &text[start..];
    if rest.is_empty() || rest.starts_with(['#', ']', '}', ')']) {
        return None;
    }
    let end = rest.find([':', '=']).or_else(|| rest.find([' ', '\t']))?;
    let is_key = rest[..end].trim_end().len() <= 80 && end > 0;
    is_key.then(|| &text[..start + end])
}

/// Returns whether a line is a command, and not an entry, which means the same whatever stands beside it.
fn is_command(text: &str) -> bool {
    let text = text.trim_start().trim_start_matches("- ");
    let name = text.split_once([':', '=']).map(|(name, _)| name.trim_end());
    !text.starts_with(['"', '\'', '<']) && name.is_none_or(|name| name.contains(' '))
}

/// Returns whether a line moves the commands behind it to another directory or gives them other settings.
fn moves_commands(text: &str) -> bool {
    const MOVES: &[&str] = &["cd", "export", "popd", "pushd", "set", "source", "working-directory:"];
    text.split_whitespace().next().is_some_and(|word| MOVES.contains(&word))
}

/// Returns the number of brackets that a line opens and does not close, less than zero where it closes more.
fn depth(text: &str) -> isize {
    let depths = text.chars().map(|sign| match sign {
        '(' | '[' | '{' => 1,
        ')' | ']' | '}' => -1,
        _ => 0,
    });
    depths.sum()
}

fn is_balanced(text: &str) -> bool {
    depth(text) == 0 && !text.trim_end().ends_with(['\\', '|', '>', ':'])
}
