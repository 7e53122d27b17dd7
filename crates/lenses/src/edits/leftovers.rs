//! Deletes what is left of work on one machine, where nothing else stands on it.

use std::ops::Range;

use super::{RawLine, added_line, columns_of, edit, replace_lines, replace_part};
use crate::contract::Draft;
use qa_contracts::v1::{Edit, EditSafety, Replacement};
use qa_core::packet::Packet;

/// Deletes a debugger statement that has its lines to itself. A macro that returns its argument is replaced by it.
pub(crate) fn delete_debugger(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let line = added_line(draft, packet)?;
    let columns = columns_of(draft, line.text)?;
    let language = packet.file.language.as_deref();
    let title = "Delete the debugger statement";
    if language == Some("rust") {
        return unwrap_macro(packet, &line, columns);
    }
    let is_alone = line.text.split(';').map(str::trim).filter(|part| !part.is_empty()).all(|part| {
        part == draft.quote.trim_end_matches(';').trim() || is_debugger_of_python(language, part)
    });
    let around = Around::new(packet, &line);
    // Arguments may do something besides.
    let may_act = language == Some("php") && draft.quote.matches('(').count() > 1;
    if !is_alone || may_act || around.needs_statement(language) {
        return None;
    }
    edit(EditSafety::Safe, title, vec![replace_lines(packet, &[line], "")?])
}

/// Returns whether a part of a line of Python imports or starts a debugger.
fn is_debugger_of_python(language: Option<&str>, part: &str) -> bool {
    const NAMES: &[&str] = &["pdb", "ipdb", "pudb", "rpdb", "wdb"];
    let import = part.strip_prefix("import ").map(str::trim);
    let start = part.strip_suffix(".set_trace()");
    language == Some("python") && import.or(start).is_some_and(|name| NAMES.contains(&name))
}

/// Replaces `dbg!(x)` by `x`, or deletes the statement where `x` does nothing.
fn unwrap_macro(packet: &Packet<'_>, line: &RawLine<'_>, columns: Range<usize>) -> Option<Edit> {
    let inside = line.text[columns.clone()].strip_prefix("dbg!(")?.strip_suffix(')')?.trim();
    let is_place = |sign: char| sign.is_alphanumeric() || "_.&*:".contains(sign);
    let (before, behind) = (&line.text[..columns.start], &line.text[columns.end..]);
    let is_statement = before.trim().is_empty() && behind.trim() == ";";
    if inside.chars().all(is_place) && !inside.is_empty() && is_statement {
        let title = "Delete the debugger statement";
        return edit(EditSafety::Safe, title, vec![replace_lines(packet, &[*line], "")?]);
    }
    // An argument with operators would need parentheses in place of the macro's.
    let is_one =
        !inside.is_empty() && inside.chars().all(|sign| sign.is_alphanumeric() || "_.:()[]".contains(sign));
    let begins =
        before.trim().is_empty() || before.trim_end().ends_with([',', '(']) || before.ends_with(" = ");
    let ends = behind.trim().is_empty() || behind.trim_start().starts_with([';', ')', ',']);
    if has_comma(inside) || inside.is_empty() || !(is_one || begins && ends) {
        return None;
    }
    let replacement = replace_part(packet, line, columns, inside);
    edit(EditSafety::Safe, "Replace the macro by its argument", vec![replacement])
}

/// Returns whether a text has a comma outside of brackets, or may have one.
fn has_comma(text: &str) -> bool {
    let mut depth = 0_i32;
    text.chars().any(|sign| {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        sign == ',' && depth == 0 || depth < 0 || matches!(sign, '"' | '\'')
    })
}

/// Lines before and behind a line that are not blank.
struct Around<'a> {
    before: Option<&'a str>,
    own: &'a str,
    behind: Option<&'a str>,
}

impl<'a> Around<'a> {
    fn new(packet: &Packet<'a>, line: &RawLine<'a>) -> Self {
        let lines: Vec<(u64, &str)> = match &packet.text.full_head {
            Some(text) => (1..).zip(text.lines()).collect(),
            None => {
                let hunks = packet.hunks();
                let lines = hunks.flat_map(|hunk| hunk.before().chain(hunk.added()).chain(hunk.after()));
                lines.map(|line| (line.number, line.text)).collect()
            }
        };
        let is_code = |text: &str| !text.trim().is_empty() && !text.trim_start().starts_with(['#']);
        let mut before = None;
        let mut behind = None;
        for (number, text) in lines.into_iter().filter(|(_, text)| is_code(text)) {
            if number < line.number {
                before = Some(text);
            } else if number > line.number && behind.is_none() {
                behind = Some(text);
            }
        }
        Self { before, own: line.text, behind }
    }

    /// Returns whether the line before needs a statement, and there is no other than the own one.
    fn needs_statement(&self, language: Option<&str>) -> bool {
        let indent = |text: &str| text.len() - text.trim_start().len();
        let Some(before) = self.before.map(str::trim_end) else { return false };
        let is_block = before.ends_with(':') && language == Some("python");
        let is_last = self.behind.is_none_or(|behind| indent(behind) < indent(self.own));
        let code = before.split("//").next().unwrap_or(before).trim_end();
        let takes_next = code.ends_with([')', '>', '?', '=', '&', '|', ',', '+']) || code.ends_with("else");
        let is_deeper = indent(self.own) > indent(before);
        is_block && is_last || language != Some("python") && takes_next && is_deeper
    }
}

/// Deletes what makes a test the only one that runs.
pub(crate) fn delete_focus(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let line = added_line(draft, packet)?;
    let columns = columns_of(draft, line.text)?;
    let (before, quote) = (&line.text[..columns.start], &line.text[columns.clone()]);
    let behind = &line.text[columns.end..];
    let title = "Delete the focus, so that all tests run";
    if quote.starts_with('@') && before.trim().is_empty() && behind.trim().is_empty() {
        return edit(EditSafety::Safe, title, vec![replace_lines(packet, &[line], "")?]);
    }
    let part = if let Some(name) = quote.strip_suffix(".only") {
        columns.start + name.len()..columns.end
    } else if let Some(range) = focused_name(quote) {
        columns.start + range.start..columns.start + range.end
    } else if quote == "only" && before.ends_with("->") && behind.starts_with("()") {
        columns.start - "->".len()..columns.end + "()".len()
    } else {
        let value = match quote {
            "focus" | "only" => value_of_option(behind)?,
            ":focus" | "solo: true" => 0,
            _ => return None,
        };
        option_with_comma(line.text, columns.start..columns.end + value)?
    };
    let replacement = replace_part(packet, &line, part, "");
    edit(EditSafety::Safe, title, vec![replacement])
}

/// Returns the length of `: true` behind the name of an option.
fn value_of_option(behind: &str) -> Option<usize> {
    let value = behind.trim_start().strip_prefix(':')?.trim_start().strip_prefix("true")?;
    Some(behind.len() - value.len())
}

/// Returns the part of a name that focuses: the `f` of `fdescribe`, the `solo_` of `solo_test`.
fn focused_name(quote: &str) -> Option<Range<usize>> {
    const PLAIN: &[&str] = &[
        "Context",
        "Describe",
        "DescribeTable",
        "DescribeTableSubtree",
        "Entry",
        "It",
        "Specify",
        "When",
        "context",
        "describe",
        "example",
        "feature",
        "it",
        "scenario",
        "specify",
        "test",
    ];
    let start = quote.rfind('.').map(|dot| dot + 1).unwrap_or_default();
    let name = &quote[start..];
    if name.starts_with("solo_") {
        return Some(start..start + "solo_".len());
    }
    let plain = name.strip_prefix('f').or_else(|| name.strip_prefix('F'))?;
    PLAIN.contains(&plain).then_some(start..start + 1)
}

/// Returns an option among the arguments with the comma that goes with it.
fn option_with_comma(line: &str, option: Range<usize>) -> Option<Range<usize>> {
    let (before, behind) = (&line[..option.start], &line[option.end..]);
    if let Some(rest) = before.trim_end().strip_suffix(',') {
        return Some(rest.len()..option.end);
    }
    let comma = behind.trim_start().strip_prefix(',')?;
    Some(option.start..line.len() - comma.trim_start().len())
}

/// Keeps the lines of head's own side of a conflict, which a person has to choose.
pub(crate) fn resolve_conflict(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let text = packet.text.full_head.as_deref()?;
    let lines: Vec<RawLine<'_>> = (1..)
        .zip(text.split_inclusive('\n'))
        .map(|(number, raw)| RawLine { number, text: qa_core::packet::trim_line_end(raw), raw })
        .collect();
    let first = usize::try_from(draft.start_line.checked_sub(1)?).ok()?;
    let marks = |line: &RawLine<'_>, sign: char| {
        let count = line.text.chars().take_while(|other| *other == sign).count();
        count == 7 && line.text[7..].chars().next().is_none_or(|next| next == ' ')
    };
    let find = |from: usize, sign: char| (from..lines.len()).find(|at| marks(&lines[*at], sign));
    marks(lines.get(first)?, '<').then_some(())?;
    let middle = find(first + 1, '=')?;
    let last = find(middle + 1, '>')?;
    let is_nested = find(first + 1, '<').is_some_and(|next| next < last);
    // With the base's lines between, the own side ends before them.
    let own_end = find(first + 1, '|').filter(|at| *at < middle).unwrap_or(middle);
    if is_nested {
        return None;
    }
    let replacements: Option<Vec<Replacement>> = [first..first + 1, own_end..last + 1]
        .into_iter()
        .map(|range| replace_lines(packet, &lines[range], ""))
        .collect();
    edit(EditSafety::Unsafe, "Keep the first side of the conflict", replacements?)
}
