//! The lines around a finding, cut out of the recorded hunk text, with the quoted part marked.

use std::collections::VecDeque;
use std::ops::Range;

use crate::common::{Files, evidence_number, is_on_base, without_blanks};
use crate::contract::Report;
use qa_contracts::v1::Finding;
use qa_core::escape::visible;
use qa_core::packet::{HunkView, Line, Packet};

/// The most flagged lines shown; a finding may span a whole file.
const MAX_FLAGGED: usize = 12;
/// The most characters of a line shown; minified files have lines of megabytes.
const MAX_CHARACTERS: usize = 240;
/// The most characters shown before the marked part when a line is cut.
const LEAD: usize = 60;

/// Kind of a line in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineKind {
    Context,
    Removed,
    Added,
}

/// A line of an excerpt. The three texts are harmless to show and stand one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExcerptLine {
    pub(crate) kind: LineKind,
    /// The number at the base.
    pub(crate) old: Option<u64>,
    /// The number at head.
    pub(crate) new: Option<u64>,
    /// True if the finding is about this line.
    pub(crate) flagged: bool,
    pub(crate) before: String,
    /// The quote; empty on lines without one.
    pub(crate) marked: String,
    pub(crate) after: String,
}

impl ExcerptLine {
    fn shows_something(&self) -> bool {
        let texts = [&self.before, &self.marked, &self.after];
        self.flagged || texts.into_iter().any(|text| !text.trim().is_empty())
    }
}

/// Lines of a hunk that an excerpt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sides {
    /// All, as in a diff.
    Both,
    /// Only those of the finding's side, so that numbers run on.
    Own,
}

/// The lines around a finding with `context` lines on each side; empty when the place is in no recorded hunk.
pub(crate) fn excerpt(
    report: &Report<'_>,
    files: &Files<'_>,
    finding: &Finding,
    context: usize,
    sides: Sides,
) -> Vec<ExcerptLine> {
    let Some(file) = files.get(finding) else { return Vec::new() };
    let Some(text) = report.texts.get(&file.path) else { return Vec::new() };
    let on_base = is_on_base(finding);
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text, included: &included };
    let Some(hunk) = find_hunk(&packet, finding.start_line, on_base) else { return Vec::new() };
    let lines = hunk_lines(hunk).filter(|line| match line.kind {
        LineKind::Context => true,
        LineKind::Removed => sides == Sides::Both || on_base,
        LineKind::Added => sides == Sides::Both || !on_base,
    });
    without_blank_ends(window(lines, finding, on_base, context))
}

/// Leaves out blank lines at both ends, which show nothing of what is around a finding.
fn without_blank_ends(mut lines: Vec<ExcerptLine>) -> Vec<ExcerptLine> {
    let last = lines.iter().rposition(ExcerptLine::shows_something).map(|at| at + 1).unwrap_or(lines.len());
    lines.truncate(last);
    let first = lines.iter().position(ExcerptLine::shows_something).unwrap_or(0);
    lines.drain(..first);
    lines
}

/// Returns the text of an excerpt without blanks.
pub(crate) fn shown_text(lines: &[ExcerptLine]) -> String {
    let texts = lines.iter().flat_map(|line| [&line.before, &line.marked, &line.after]);
    texts.map(|text| without_blanks(text)).collect()
}

/// Returns columns of a finding's first line at head in bytes from 1, as the run recorded the line.
pub(crate) fn byte_columns(
    report: &Report<'_>,
    files: &Files<'_>,
    finding: &Finding,
    (start, end): (u64, u64),
) -> Option<(u64, u64)> {
    let file = files.get(finding)?;
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text: report.texts.get(&file.path)?, included: &included };
    let mut lines = hunk_lines(find_hunk(&packet, finding.start_line, false)?);
    let line = lines.find(|line| line.new == Some(finding.start_line))?.text;
    Some((byte_at(line, start)? as u64 + 1, byte_at(line, end)? as u64 + 1))
}

/// Line of a hunk with its numbers at the base and at head.
struct HunkLine<'a> {
    kind: LineKind,
    text: &'a str,
    old: Option<u64>,
    new: Option<u64>,
}

impl<'a> HunkLine<'a> {
    /// Returns a context line; the anchors are equal lines of both sides.
    fn context(line: Line<'a>, old_anchor: u64, new_anchor: u64) -> Self {
        let old = (line.number + old_anchor).saturating_sub(new_anchor);
        Self { kind: LineKind::Context, text: line.text, old: Some(old), new: Some(line.number) }
    }

    fn removed(line: Line<'a>) -> Self {
        Self { kind: LineKind::Removed, text: line.text, old: Some(line.number), new: None }
    }

    fn added(line: Line<'a>) -> Self {
        Self { kind: LineKind::Added, text: line.text, old: None, new: Some(line.number) }
    }

    fn number(&self, on_base: bool) -> Option<u64> {
        if on_base { self.old } else { self.new }
    }
}

/// Returns the hunk whose lines, context included, contain a line.
fn find_hunk<'a>(packet: &Packet<'a>, line: u64, on_base: bool) -> Option<HunkView<'a>> {
    let after = packet.file.hunks.partition_point(|hunk| match on_base {
        true => hunk.old_start <= line,
        false => hunk.new_start <= line,
    });
    let mut near = packet.hunks().skip(after.saturating_sub(1)).take(2);
    near.find(|view| hunk_lines(*view).any(|each| each.number(on_base) == Some(line)))
}

/// Returns the first line of a hunk's side; the range of an empty side starts at the line before it.
fn first_line(start: u64, lines: u64) -> u64 {
    if lines == 0 { start + 1 } else { start }
}

/// Returns a hunk's lines as in a unified diff.
fn hunk_lines<'a>(view: HunkView<'a>) -> impl Iterator<Item = HunkLine<'a>> {
    let hunk = view.hunk;
    let old = first_line(hunk.old_start, hunk.old_lines);
    let new = first_line(hunk.new_start, hunk.new_lines);
    let (old_end, new_end) = (old + hunk.old_lines, new + hunk.new_lines);
    view.before()
        .map(move |line| HunkLine::context(line, old, new))
        .chain(view.removed().map(HunkLine::removed))
        .chain(view.added().map(HunkLine::added))
        .chain(view.after().map(move |line| HunkLine::context(line, old_end, new_end)))
}

fn window<'a>(
    lines: impl Iterator<Item = HunkLine<'a>>,
    finding: &Finding,
    on_base: bool,
    context: usize,
) -> Vec<ExcerptLine> {
    let mut lead: VecDeque<HunkLine<'_>> = VecDeque::new();
    let mut shown: Vec<ExcerptLine> = Vec::new();
    let (mut flagged_count, mut trailing) = (0, 0);
    for line in lines {
        let is_flagged = line
            .number(on_base)
            .is_some_and(|number| (finding.start_line..=finding.end_line).contains(&number));
        if is_flagged && flagged_count < MAX_FLAGGED {
            shown.extend(lead.drain(..).map(|line| cut(&line, None)));
            shown.push(cut(&line, Some(mark(finding, line.text))));
            flagged_count += 1;
        } else if flagged_count == 0 {
            lead.push_back(line);
            if lead.len() > context {
                lead.pop_front();
            }
        } else if trailing < context {
            shown.push(cut(&line, None));
            trailing += 1;
        } else {
            break;
        }
    }
    shown
}

/// The bytes of the quote in a flagged line: its columns, or the line without the white space around it.
fn mark(finding: &Finding, line: &str) -> Range<usize> {
    let first_column = evidence_number(finding, "startColumn");
    let end_column = evidence_number(finding, "endColumn");
    if let (Some(start), Some(end)) = (byte_at(line, first_column), byte_at(line, end_column))
        && first_column > 0
        && start < end
        && finding.start_line == finding.end_line
    {
        return start..end;
    }
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start)
}

/// Returns the byte offset of a column, which counts characters from 1.
pub(crate) fn byte_at(line: &str, column: u64) -> Option<usize> {
    let index = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
    line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(index)
}

/// Escapes a line and cuts it around its quote, whose bytes are `mark`.
fn cut(line: &HunkLine<'_>, mark: Option<Range<usize>>) -> ExcerptLine {
    let HunkLine { kind, text: line, old, new } = *line;
    let flagged = mark.is_some();
    let mark = mark.unwrap_or(line.len()..line.len());
    let is_long = line.len() > MAX_CHARACTERS && line.chars().nth(MAX_CHARACTERS).is_some();
    let (before, marked, after) = (&line[..mark.start], &line[mark.clone()], &line[mark.end..]);
    let (before, marked, after) = match is_long {
        false => (visible(before), visible(marked), visible(after)),
        true if !flagged => (head(before, MAX_CHARACTERS), String::new(), String::new()),
        true => (tail(before, LEAD), head(marked, MAX_CHARACTERS / 2), head(after, LEAD)),
    };
    ExcerptLine { kind, old, new, flagged, before, marked, after }
}

fn head(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", visible(&text[..end])),
        None => visible(text),
    }
}

fn tail(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    match text.char_indices().nth(count.saturating_sub(limit)) {
        Some((start, _)) if count > limit => format!("…{}", visible(&text[start..])),
        Some(_) | None => visible(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use proptest::prelude::*;
    use qa_contracts::v1::HunkCuts;

    fn lines(sample: &sample::Sample, rule: &str, sides: Sides) -> Vec<String> {
        let report = sample.report(false);
        let finding = crate::common::findings(&report).into_iter().find(|one| one.rule_id == rule).unwrap();
        let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        excerpt(&report, &Files::new(&report), finding, 1, sides)
            .into_iter()
            .map(|line| {
                let mark = if line.flagged { format!("[{}]", line.marked) } else { String::new() };
                format!("{} {} {}{mark}{}", number(line.old), number(line.new), line.before, line.after)
            })
            .collect()
    }

    #[test]
    fn a_diff_shows_both_sides_with_their_numbers() {
        assert_eq!(
            lines(&sample::fail(), "debug-leftover/dbg", Sides::Both),
            ["- 31     [dbg!(&url);]", "- 32     // TODO: retry"],
            "a blank line at an end is left out"
        );
        assert_eq!(
            lines(&sample::fail(), "secret-token/private-key", Sides::Both)[..2],
            ["12 -     let url = env(\"URL\")?;", "- 12     [let url] = \"https://example.com\";"]
        );
    }

    #[test]
    fn one_side_alone_has_running_numbers() {
        assert_eq!(
            lines(&sample::fail(), "secret-token/private-key", Sides::Own)[..2],
            ["11 11 fn load() -> Result<Config> {", "- 12     [let url] = \"https://example.com\";"]
        );
        assert_eq!(
            lines(&sample::fail(), "debug-leftover/deleted-test", Sides::Own),
            ["1 - #[test]", "2 - [fn it_works()] {", "3 -     assert!(true);"]
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let text = format!("{}SECRET{}", "a".repeat(5000), "b".repeat(5000));
        let line = HunkLine { kind: LineKind::Added, text: &text, old: None, new: Some(1) };
        let line = cut(&line, Some(5000..5006));
        assert_eq!(line.before, format!("…{}", "a".repeat(LEAD)));
        assert_eq!((line.marked.as_str(), line.after.chars().count()), ("SECRET", LEAD + 1));
    }

    proptest! {
        #[test]
        fn any_line_and_any_columns_can_be_shown(
            text in "\\PC{0,300}|[\\s\\S]{0,60}",
            start in 0u64..400,
            length in 0u64..400,
            width in 1usize..200,
        ) {
            let mut sample = sample::fail();
            let text = text.replace('\n', "");
            for result in &mut sample.result.lens_results {
                for finding in &mut result.findings {
                    finding.evidence.insert("startColumn".into(), start.into());
                    finding.evidence.insert("endColumn".into(), (start + length).into());
                }
            }
            for (path, file) in &mut sample.texts {
                if path.to_string() == "tests/old.rs" {
                    file.text = format!("a\n{text}\n");
                    let end = file.text.len() as u32;
                    file.cuts[0] = HunkCuts { before: 0, removed: end, added: end, after: end };
                }
            }
            for format in crate::ALL {
                let mut report = sample.report(false);
                report.terminal.width = width;
                format.render(&report);
            }
        }
    }
}
