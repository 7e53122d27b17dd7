//! Safe edits of findings as suggestions beside lines of a pull request, which one click accepts.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::common::{Files, findings};
use crate::contract::Report;
use crate::edit::recorded_lines;
use crate::why::special_reason;
use qa_contracts::ids::{RepoPath, is_unprintable};
use qa_contracts::v1::{ChangedFile, Edit, EditSafety, Finding, FindingOrigin, Landing, Replacement};
use qa_core::canonical;
use qa_core::edits::line_change;
use qa_core::escape::{markdown, markdown_block, markdown_code};
use qa_core::secrets;

/// Most suggestions of a run: GitHub lets one author write 80 texts in a minute, and more of them would hide what people say.
pub const MOST: usize = 20;
/// Most bytes of the lines that one proposes.
const MOST_BYTES: usize = 8 << 10;

/// A comment that proposes other lines in place of some at head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub path: String,
    /// First and last line that it replaces.
    pub lines: RangeInclusive<u64>,
    /// Hidden first line of the comment: the same for the same finding, edit and replaced lines, wherever these move.
    pub marker: String,
    /// Markdown without the marker.
    pub body: String,
}

/// Suggestions of a run, those of blocking findings first.
#[derive(Debug, Default)]
pub struct Suggestions {
    pub all: Vec<Suggestion>,
    /// Number of safe edits that are not among them.
    pub left_out: usize,
}

/// Makes suggestions of the safe edits of open findings. `head_text` reads a changed file at head.
///
/// GitHub refuses all of them for one that is outside of its diff. So each replaces lines of one hunk with its context, as the
/// run recorded them, and none shows a line in which the run masked a secret.
pub fn suggestions(report: &Report<'_>, head_text: &dyn Fn(&ChangedFile) -> Option<Vec<u8>>) -> Suggestions {
    let mut heads = HeadFiles { report, files: Files::new(report), head_text, read: BTreeMap::new() };
    let mut suggestions = Suggestions::default();
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for finding in findings(report) {
        let Some(edit) = safe_edit(finding) else { continue };
        let is_full = suggestions.all.len() == MOST;
        let changed = if is_full { None } else { heads.changed_lines(edit) };
        let free = changed
            .filter(|(path, changed)| !suggestions.all.iter().any(|other| changed.overlaps(path, other)));
        let Some((path, changed)) = free else {
            suggestions.left_out += 1;
            continue;
        };
        let identity = (finding.finding_id.as_str(), &path, &changed.old, &changed.new);
        let key = canonical::digest(&identity).expect("texts have a canonical form");
        let number = counts.entry(key.as_str().to_owned()).or_default();
        *number += 1;
        suggestions.all.push(Suggestion {
            path,
            lines: changed.lines.clone(),
            marker: format!("<!-- qa-skill suggestion: {}-{number} -->", key.as_str()),
            body: body(finding, edit, &changed.new),
        });
    }
    suggestions
}

/// Returns the edit of a finding that the change brings and nobody accepted, if it needs no look.
fn safe_edit(finding: &Finding) -> Option<&Edit> {
    let is_open = finding.origin == FindingOrigin::Introduced && finding.waiver.is_none();
    finding.edit.as_ref().filter(|edit| is_open && edit.safety == EditSafety::Safe)
}

/// Whole lines with their ends, and the lines in their place.
#[derive(Debug, PartialEq, Eq)]
struct ChangedLines {
    /// From 1.
    lines: RangeInclusive<u64>,
    old: String,
    new: String,
}

impl ChangedLines {
    fn overlaps(&self, path: &str, other: &Suggestion) -> bool {
        path == other.path
            && self.lines.start() <= other.lines.end()
            && other.lines.start() <= self.lines.end()
    }
}

/// Changed files at head, each of which is read once for all of its edits.
struct HeadFiles<'a> {
    report: &'a Report<'a>,
    files: Files<'a>,
    head_text: &'a dyn Fn(&ChangedFile) -> Option<Vec<u8>>,
    read: BTreeMap<RepoPath, Option<HeadFile>>,
}

/// Text of a file at head, and the lines that the run recorded of it.
struct HeadFile {
    text: String,
    recorded: BTreeMap<u64, String>,
}

impl HeadFiles<'_> {
    /// Returns the path and the lines of an edit; `None` for an edit that is no suggestion.
    fn changed_lines(&mut self, edit: &Edit) -> Option<(String, ChangedLines)> {
        let (report, head_text) = (self.report, self.head_text);
        let file = self.files.at_head(&edit.replacements.first()?.file)?;
        let replacements: Vec<&Replacement> = edit.replacements.iter().collect();
        let is_elsewhere = replacements.iter().any(|replacement| replacement.file != file.path);
        // Lines of a merge are not those of head, and hunks against several merge bases not those of GitHub's diff.
        let change = report.change_set;
        if is_elsewhere || change.landing == Landing::Merge || !change.other_merge_bases.is_empty() {
            return None;
        }
        let path = std::str::from_utf8(file.path.as_bytes()).ok()?;
        let read = self.read.entry(file.path.clone());
        let head = read.or_insert_with(|| read_head(report, file, head_text)).as_ref()?;
        Some((path.to_owned(), whole_lines(&head.text, &replacements, &head.recorded)?))
    }
}

fn read_head(
    report: &Report<'_>,
    file: &ChangedFile,
    head_text: &dyn Fn(&ChangedFile) -> Option<Vec<u8>>,
) -> Option<HeadFile> {
    let recorded = recorded_lines(report, file)?;
    Some(HeadFile { text: String::from_utf8(head_text(file)?).ok()?, recorded })
}

/// Returns replacements as whole lines, each of which the run recorded as it is.
fn whole_lines(
    text: &str,
    replacements: &[&Replacement],
    recorded: &BTreeMap<u64, String>,
) -> Option<ChangedLines> {
    // Accepting a suggestion may rewrite the ends of all lines of a file.
    if text.contains('\r') {
        return None;
    }
    let change = line_change(text.as_bytes(), replacements).ok()??;
    let mut new = String::from_utf8(change.text).ok()?;
    let all: Vec<&str> = text.split_inclusive('\n').collect();
    let mut lines = change.lines;
    // A suggestion replaces lines, so lines that are only added come with one beside them.
    if lines.is_empty() {
        let before = lines.start.checked_sub(1).filter(|line| is_recorded(&all, *line, recorded));
        let beside = before.unwrap_or(lines.start);
        let kept = all.get(beside)?;
        new = if before.is_some() { format!("{kept}{new}") } else { format!("{new}{kept}") };
        lines = beside..beside + 1;
    }
    if !lines.clone().all(|line| is_recorded(&all, line, recorded)) {
        return None;
    }
    let old = all.get(lines.clone())?.concat();
    let is_shown = new.len() <= MOST_BYTES && is_plain(&new) && secrets::find(&new).is_empty();
    (is_shown && old.ends_with('\n') && old != new).then(|| ChangedLines {
        lines: lines.start as u64 + 1..=lines.end as u64,
        old,
        new,
    })
}

/// Returns whether the run recorded a line, counted from 0, with nothing masked.
fn is_recorded(all: &[&str], line: usize, recorded: &BTreeMap<u64, String>) -> bool {
    let Some(text) = all.get(line) else { return false };
    recorded.get(&(line as u64 + 1)).is_some_and(|recorded| recorded == text.trim_end_matches('\n'))
}

/// Returns whether a text is whole lines without a character that is invisible.
fn is_plain(text: &str) -> bool {
    (text.is_empty() || text.ends_with('\n'))
        && !text.chars().any(|character| is_unprintable(character) && !matches!(character, '\t' | '\n'))
}

fn body(finding: &Finding, edit: &Edit, new: &str) -> String {
    let (rule, summary) = (markdown_code(&finding.rule_id), markdown(&finding.summary));
    let why = special_reason(finding).map(|reason| format!(" It {}.", markdown(&reason))).unwrap_or_default();
    let title = markdown(&edit.title);
    format!("{rule}: {summary}.{why}\n\n{title}:\n\n{}", markdown_block("suggestion", new))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven";

    fn replacement(from: (u64, u64), to: (u64, u64), replaced: &str, text: &str) -> Replacement {
        Replacement {
            file: RepoPath::from_bytes(b"a.py").unwrap(),
            start_line: from.0,
            start_column: from.1,
            end_line: to.0,
            end_column: to.1,
            replaced_sha256: canonical::sha256(replaced.as_bytes()),
            text: text.to_owned(),
        }
    }

    /// Lines and proposal for replacements of a text of which these lines were recorded.
    fn suggested(text: &str, recorded: &[u64], replacements: &[Replacement]) -> Option<(u64, u64, String)> {
        let lines = text.lines().zip(1..).filter(|(_, number)| recorded.contains(number));
        let recorded = lines.map(|(line, number)| (number, line.to_owned())).collect();
        let replacements: Vec<&Replacement> = replacements.iter().collect();
        let changed = whole_lines(text, &replacements, &recorded)?;
        Some((*changed.lines.start(), *changed.lines.end(), changed.new))
    }

    #[test]
    fn an_edit_replaces_whole_recorded_lines() {
        let all = [1, 2, 3, 4, 5, 6, 7];
        let part = replacement((2, 1), (2, 4), "two", "2");
        let gone = replacement((3, 1), (5, 1), "three\nfour\n", "");
        let added = replacement((3, 1), (3, 1), "", "new\n");
        let first = replacement((1, 1), (1, 1), "", "new\n");
        let cases = [
            (vec![part.clone()], &all[..], Some((2, 2, "2\n"))),
            (vec![gone.clone()], &all[..], Some((3, 4, ""))),
            (vec![added.clone()], &all[..], Some((2, 2, "two\nnew\n"))),
            // The line before is in no hunk, so the one behind comes with it.
            (vec![added.clone()], &all[2..], Some((3, 3, "new\nthree\n"))),
            (vec![first], &all[..], Some((1, 1, "new\none\n"))),
            (
                vec![part.clone(), replacement((5, 1), (5, 2), "f", "F")],
                &all[..],
                Some((2, 5, "2\nthree\nfour\nFive\n")),
            ),
            // A line between them is in no hunk.
            (vec![part.clone(), replacement((5, 1), (5, 2), "f", "F")], &[1, 2, 3, 5, 6], None),
            (vec![part.clone()], &all[2..], None),
            (vec![gone], &[1, 2, 3], None),
            (vec![added], &[], None),
            // The file has other bytes than were judged.
            (vec![replacement((2, 1), (2, 4), "twO", "2")], &all[..], None),
            // The last line has no end.
            (vec![replacement((7, 1), (7, 6), "seven", "7")], &all[..], None),
            (vec![replacement((2, 1), (2, 4), "two", "a\rb")], &all[..], None),
            (vec![replacement((2, 1), (2, 4), "two", "a\u{202e}b")], &all[..], None),
            (vec![replacement((2, 1), (2, 4), "two", "two")], &all[..], None),
            (vec![replacement((2, 1), (2, 4), "two", &"x".repeat(MOST_BYTES))], &all[..], None),
            (vec![], &all[..], None),
        ];
        for (replacements, recorded, expected) in cases {
            let expected = expected.map(|(first, last, new)| (first, last, new.to_owned()));
            assert_eq!(suggested(TEXT, recorded, &replacements), expected, "{replacements:?} {recorded:?}");
        }
        let ends = replacement((1, 1), (1, 2), "a", "b");
        assert_eq!(suggested("a\r\nb\r\n", &all, std::slice::from_ref(&ends)), None);
        assert_eq!(suggested("a\nb\r\n", &all, &[ends]), None);
    }

    #[test]
    fn a_line_with_a_secret_is_never_proposed() {
        let secret = ["key = gh", "p_9Jx2kQ7vTzR4mWc8Ld1Yb6HnPf3Gs5Ae0UoK"].concat();
        let text = format!("one\n{secret}\n");
        let masked = secrets::masked(text.clone());
        assert_ne!(masked, text);
        let recorded: BTreeMap<u64, String> = (1..).zip(masked.lines().map(str::to_owned)).collect();
        let (behind, new) =
            (replacement((2, 1), (2, 4), "key", "id"), replacement((1, 1), (1, 4), "one", &secret));
        assert_eq!(whole_lines(&text, &[&behind], &recorded), None);
        assert_eq!(whole_lines(&text, &[&new], &recorded), None);
        // An added line comes with the one before it, which is harmless, or with none.
        let added = replacement((2, 1), (2, 1), "", "new\n");
        assert_eq!(whole_lines(&text, &[&added], &recorded).unwrap().new, "one\nnew\n");
        let last = replacement((3, 1), (3, 1), "", "new\n");
        assert_eq!(whole_lines(&text, &[&last], &recorded), None);
    }

    #[test]
    fn a_line_that_the_run_masked_is_never_proposed_though_no_detector_finds_a_secret_in_it() {
        // The detector saw more than these lines, or the text is one of a name that is masked.
        let text = "one\nkey of kim\nthree\nfour\n";
        assert_eq!(secrets::masked(text.to_owned()), text);
        let recorded: BTreeMap<u64, String> = [(1, "one"), (2, "key of ***"), (3, "three"), (4, "four")]
            .map(|(at, line)| (at, line.to_owned()))
            .into();
        let first = replacement((1, 1), (1, 4), "one", "1");
        let masked = replacement((2, 1), (2, 4), "key", "id");
        let third = replacement((3, 1), (3, 6), "three", "3");
        let behind = replacement((3, 1), (3, 1), "", "new\n");
        for (edits, expected) in [
            (vec![&masked], None),
            // The line between two edits would be shown.
            (vec![&first, &third], None),
            (vec![&first], Some("1\n")),
            // An added line comes with the one behind it in place of the masked one.
            (vec![&behind], Some("new\nthree\n")),
        ] {
            let changed = whole_lines(text, &edits, &recorded);
            assert_eq!(changed.map(|changed| changed.new).as_deref(), expected, "{edits:?}");
        }
    }

    #[test]
    fn no_line_of_a_proposal_ends_its_fence() {
        for (new, fence) in [("a\n", "```"), ("``` b\n", "````"), ("`````\n", "``````"), ("", "```")] {
            assert_eq!(markdown_block("suggestion", new), format!("{fence}suggestion\n{new}{fence}\n"));
        }
    }
}
