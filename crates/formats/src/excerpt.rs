//! The lines around a finding, cut out of the recorded hunk text, with the quoted part marked.

use std::collections::VecDeque;
use std::ops::Range;

use crate::common::{Files, evidence_number, is_on_base};
use crate::contract::Report;
use qa_contracts::v1::{Finding, Hunk};
use qa_core::escape::visible;
use qa_core::packet::{HunkView, Line, Packet};

/// The most flagged lines shown; a finding may span a whole file.
const MAX_FLAGGED: usize = 12;
/// The most characters of a line shown; minified files have lines of megabytes.
const MAX_CHARACTERS: usize = 240;
/// The most characters shown before the marked part when a line is cut.
const LEAD: usize = 60;

/// What happened to a line.
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
    /// Whether the finding is about this line.
    pub(crate) flagged: bool,
    pub(crate) before: String,
    /// The quote; empty on lines without one.
    pub(crate) marked: String,
    pub(crate) after: String,
}

/// Which lines of a hunk an excerpt shows.
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
    let Some(hunk) = hunk_of(&packet, finding.start_line, on_base) else { return Vec::new() };
    let own = move |line: &(LineKind, Line<'_>, Option<u64>, Option<u64>)| match line.0 {
        LineKind::Context => true,
        LineKind::Removed => sides == Sides::Both || on_base,
        LineKind::Added => sides == Sides::Both || !on_base,
    };
    window(lines_of(hunk).filter(own), finding, on_base, context)
}

/// The hunk whose lines, context included, hold the line.
fn hunk_of<'a>(packet: &Packet<'a>, line: u64, on_base: bool) -> Option<HunkView<'a>> {
    let start = |hunk: &Hunk| if on_base { hunk.old_start } else { hunk.new_start };
    let after = packet.file.hunks.partition_point(|hunk| start(hunk) <= line);
    packet.hunks().skip(after.saturating_sub(1)).take(2).find(|view| {
        lines_of(*view).any(|(_, _, old, new)| if on_base { old == Some(line) } else { new == Some(line) })
    })
}

/// A hunk's lines as in a unified diff, each with its numbers at the base and at head.
fn lines_of<'a>(view: HunkView<'a>) -> impl Iterator<Item = (LineKind, Line<'a>, Option<u64>, Option<u64>)> {
    let hunk = view.hunk;
    let first = |start: u64, lines: u64| if lines == 0 { start + 1 } else { start };
    let (old, new) = (first(hunk.old_start, hunk.old_lines), first(hunk.new_start, hunk.new_lines));
    let context = move |line: Line<'a>, old_anchor: u64, new_anchor: u64| {
        let number = (line.number + old_anchor).saturating_sub(new_anchor);
        (LineKind::Context, line, Some(number), Some(line.number))
    };
    let (old_end, new_end) = (old + hunk.old_lines, new + hunk.new_lines);
    view.before()
        .map(move |line| context(line, old, new))
        .chain(view.removed().map(|line| (LineKind::Removed, line, Some(line.number), None)))
        .chain(view.added().map(|line| (LineKind::Added, line, None, Some(line.number))))
        .chain(view.after().map(move |line| context(line, old_end, new_end)))
}

fn window<'a>(
    lines: impl Iterator<Item = (LineKind, Line<'a>, Option<u64>, Option<u64>)>,
    finding: &Finding,
    on_base: bool,
    context: usize,
) -> Vec<ExcerptLine> {
    let mut lead = VecDeque::new();
    let mut shown: Vec<ExcerptLine> = Vec::new();
    let (mut flagged_count, mut trailing) = (0, 0);
    for (kind, line, old, new) in lines {
        let number = if on_base { old } else { new };
        let is_flagged =
            number.is_some_and(|number| (finding.start_line..=finding.end_line).contains(&number));
        if is_flagged && flagged_count < MAX_FLAGGED {
            shown.extend(lead.drain(..).map(|(kind, text, old, new)| cut(kind, text, old, new, None)));
            shown.push(cut(kind, line.text, old, new, Some(mark(finding, line.text))));
            flagged_count += 1;
        } else if flagged_count == 0 {
            lead.push_back((kind, line.text, old, new));
            if lead.len() > context {
                lead.pop_front();
            }
        } else if trailing < context {
            shown.push(cut(kind, line.text, old, new, None));
            trailing += 1;
        } else {
            break;
        }
    }
    shown
}

/// The bytes of the quote in a flagged line: its columns, or the line without the white space around it.
fn mark(finding: &Finding, line: &str) -> Range<usize> {
    let byte = |column: u64| {
        let index = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
        line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(index)
    };
    let columns = (evidence_number(finding, "startColumn"), evidence_number(finding, "endColumn"));
    if let (Some(start), Some(end)) = (byte(columns.0), byte(columns.1))
        && columns.0 > 0
        && start < end
        && finding.start_line == finding.end_line
    {
        return start..end;
    }
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start)
}

fn cut(
    kind: LineKind,
    line: &str,
    old: Option<u64>,
    new: Option<u64>,
    mark: Option<Range<usize>>,
) -> ExcerptLine {
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
        excerpt(&report, &Files::of(&report), finding, 1, sides)
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
            ["28 30 ", "- 31     [dbg!(&url);]", "- 32     // TODO: retry"]
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
        let line = cut(LineKind::Added, &text, None, Some(1), Some(5000..5006));
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
