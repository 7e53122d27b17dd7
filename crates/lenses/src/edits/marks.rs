//! Deletes marks by which tests are skipped, with what nothing is left of.

use std::ops::Range;

use super::imports::unused_import;
use super::restore::{Block, branch};
use super::{RawLine, edit, replace_lines, replace_part};
use crate::contract::Draft;
use qa_contracts::v1::{Edit, EditSafety, Side};
use qa_core::packet::Packet;

/// Deletes the mark that skips a test, or restores the line that the mark was written into.
pub(crate) fn run_test_again(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let block = Block::find(draft, packet).filter(|_| draft.side == Side::Head)?;
    let at = block.added.iter().position(|line| line.number == draft.start_line)?;
    let title = "Delete the mark, so that the test runs again";
    if let Some(old) = block.without_mark(at) {
        let line = &block.added[at];
        let mut replacements = vec![replace_part(packet, line, 0..line.text.len(), old.text)];
        replacements.extend(unused_import(packet, &[*line]));
        return edit(EditSafety::Safe, title, replacements);
    }
    let mark = branch(&block.added, at);
    let form = mark_alone(&block.added[mark.clone()])?;
    let whole = match form {
        Form::Annotation => mark.clone(),
        // A call in the place of other lines may be what became of an assertion.
        Form::Call if block.removed.iter().any(|line| !line.is_blank()) => return None,
        Form::Call => with_emptied_statement(packet, &block.added, mark.clone())?,
    };
    let mut replacements = vec![replace_lines(packet, &block.added[whole], "")?];
    replacements.extend(unused_import(packet, &block.added[mark]));
    edit(EditSafety::Safe, title, replacements)
}

/// Words with which tests and groups of tests begin.
const TESTS: &[&str] = &[
    "bench",
    "context",
    "def",
    "describe",
    "example",
    "fixture",
    "fn",
    "func",
    "function",
    "group",
    "ignore",
    "it",
    "pending",
    "scenario",
    "specify",
    "suite",
    "test",
    "xcontext",
    "xdescribe",
    "xit",
    "xspecify",
    "xtest",
];

/// Words of calls that skip the test around them.
const SKIPS: &[&str] = &["skip", "Skip", "SKIP", "pending", "xfail", "abort", "assumeTrue", "assumeFalse"];

/// Form of the lines of a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Annotation,
    Call,
}

/// Returns the form of lines that are one annotation, or one call that skips, with nothing of the test.
fn mark_alone(lines: &[RawLine<'_>]) -> Option<Form> {
    let (first, last) = (lines.first()?, lines.last()?);
    let (first, last) = (first.text.trim_start(), last.text.trim_end());
    let is_balanced = count(lines, &['(', '[', '{']) == count(lines, &[')', ']', '}']);
    let word: String = first.chars().take_while(|sign| sign.is_alphanumeric() || *sign == '_').collect();
    let is_annotation = match lines {
        [_] => first.starts_with('@') && !first.contains(" fun ") && !first.contains(" void "),
        _ => first.starts_with('@') && last.ends_with(')'),
    };
    let is_attribute = first.starts_with("#[") && last.ends_with(']');
    let is_call = lines.len() == 1
        && last.trim_end_matches(';').ends_with(')')
        && !TESTS.contains(&word.as_str())
        && SKIPS.iter().any(|skip| first.contains(skip));
    if !is_balanced || last.ends_with(['{', ':', '|']) {
        return None;
    }
    match is_annotation || is_attribute {
        true => Some(Form::Annotation),
        false => is_call.then_some(Form::Call),
    }
}

/// Returns the number of signs in lines that are one of several.
fn count(lines: &[RawLine<'_>], signs: &[char]) -> usize {
    lines.iter().flat_map(|line| line.text.chars()).filter(|sign| signs.contains(sign)).count()
}

/// Form of the statement that a line begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// Up to a closing brace.
    Brace,
    /// By indentation.
    Indent,
    /// Up to `end`.
    Word,
}

impl Opening {
    fn new(line: &str) -> Option<Self> {
        let text = line.trim();
        if text.ends_with('{') {
            return Some(Self::Brace);
        }
        if text.ends_with(':') {
            return Some(Self::Indent);
        }
        let is_word = ["if ", "unless ", "def "].iter().any(|word| text.starts_with(word));
        let is_block = text.ends_with(" do") || text.ends_with('|') && text.contains(" do |");
        (is_word || is_block).then_some(Self::Word)
    }
}

/// Returns the lines of a call with those of the condition around it, where it is all that the condition decides. `None`
/// where nothing would be left of a statement that may not go as a whole, or the lines around are not known.
fn with_emptied_statement(
    packet: &Packet<'_>,
    added: &[RawLine<'_>],
    call: Range<usize>,
) -> Option<Range<usize>> {
    let text = packet.text.full_head.as_deref()?;
    let lines: Vec<&str> = text.lines().collect();
    let (first, last) = (position(&added[call.start])?, position(added.get(call.end.checked_sub(1)?)?)?);
    let above = (0..first).rev().find(|at| has_code(lines[*at]))?;
    let below = (last + 1..lines.len()).find(|at| has_code(lines[*at]));
    let opening = Opening::new(lines[above]).filter(|_| indent(lines[above]) < indent(lines[first]));
    let Some(opening) = opening else {
        return Some(call);
    };
    let behind = below.map(|at| lines[at].trim()).unwrap_or_default();
    let is_emptied = match opening {
        Opening::Brace => behind.starts_with('}'),
        Opening::Indent => below.is_none_or(|at| indent(lines[at]) <= indent(lines[above])),
        Opening::Word => behind == "end" || behind.starts_with("else") || behind.starts_with("elsif"),
    };
    if !is_emptied {
        return Some(call);
    }
    let is_condition = ["if ", "if(", "unless "].iter().any(|word| lines[above].trim().starts_with(word));
    if !is_condition {
        // An empty function is one in languages with braces and with `end`.
        return (opening != Opening::Indent).then_some(call);
    }
    let end = match opening {
        Opening::Brace => below.filter(|_| behind == "}")?,
        Opening::Indent if behind.starts_with("else") || behind.starts_with("elif") => return None,
        Opening::Indent => last,
        Opening::Word => below.filter(|_| behind == "end")?,
    };
    let start = added.iter().position(|line| position(line) == Some(above))?;
    let stop = added.iter().position(|line| position(line) == Some(end))?;
    (stop - start == end - above).then_some(start..stop + 1)
}

/// Returns the index of an added line among the lines of its file.
fn position(line: &RawLine<'_>) -> Option<usize> {
    usize::try_from(line.number).ok()?.checked_sub(1)
}

/// Returns whether a line is neither blank nor a comment.
fn has_code(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with("//") && !line.starts_with('#')
}

/// Returns the width of a line's indentation, in bytes.
fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
