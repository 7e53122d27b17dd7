//! The edit of a finding as lines of a diff, harmless to show.

use std::collections::BTreeMap;

use crate::common::{Files, Uncommitted, rank, uncommitted};
use crate::contract::Report;
use qa_contracts::v1::{ChangedFile, EditSafety, Finding, Replacement};
use qa_core::edits::share_lines;
use qa_core::escape::{visible, visible_cut};
use qa_core::packet::Packet;

/// Most lines shown of an edit.
const MOST_LINES: usize = 12;
/// Most characters of a line.
const MOST_CHARACTERS: usize = 200;

/// Reader of a command: the person who ran it on this machine, or anybody who has the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    OfTerminal,
    Anybody,
}

/// Describes an edit in words, with the command that makes it.
pub(crate) fn edit_title(report: &Report<'_>, finding: &Finding, reader: Reader) -> Option<String> {
    let edit = finding.edit.as_ref()?;
    if let Some(rival) = rival(report, finding) {
        let rule = visible_cut(&rival.rule_id, 200);
        let (file, line) = (visible_cut(&rival.file.to_string(), 200), rival.start_line);
        return Some(format!("see the edit of {rule} at {file}:{line}, which changes the same line"));
    }
    let place = match report.input.head_ref.as_str() {
        "HEAD" => "",
        _ if reader == Reader::Anybody || uncommitted(report).is_some() => "",
        _ => "with that head checked out, ",
    };
    let advice = match edit.safety {
        EditSafety::Safe => format!("{place}`{} --apply` does it", fix_command(report, reader)),
        EditSafety::Unsafe => format!(
            "look at it first and make it by hand, no command applies it; `{}{}` shows all of it",
            fix_command(report, reader),
            head_option(report)
        ),
    };
    Some(format!("{} ({advice})", visible_cut(&edit.title, 200)))
}

/// Returns the first finding whose edit changes a line that this one's edit changes too. Shown side by side, each would
/// undo the other.
pub(crate) fn rival<'a>(report: &Report<'a>, finding: &Finding) -> Option<&'a Finding> {
    let edit = finding.edit.as_ref()?;
    let all = report.result.lens_results.iter().flat_map(|result| &result.findings);
    let rivals = all.filter(|other| {
        other.edit.as_ref().is_some_and(|other| share_lines(edit, other)) && rank(other) < rank(finding)
    });
    rivals.min_by_key(|other| rank(other))
}

/// Returns the command that shows the edits of the judged change, with the overrides of its run. The name of a base differs
/// between machines that judge the same commits, so other readers than that of a terminal get its commit.
fn fix_command(report: &Report<'_>, reader: Reader) -> String {
    let mut command = "qa-skill fix".to_owned();
    match uncommitted(report) {
        Some(Uncommitted::Staged) => command.push_str(" --staged"),
        Some(Uncommitted::Worktree) => command.push_str(" --worktree"),
        None => {}
    }
    let input = report.input;
    let base = match (reader, input.base_ref.as_deref()) {
        (Reader::OfTerminal, Some(base)) if is_word(base) => Some(base),
        (Reader::OfTerminal, None) => None,
        (Reader::OfTerminal, Some(_)) | (Reader::Anybody, _) => Some(input.base_sha.short()),
    };
    command.extend(base.map(|base| format!(" --base {base}")));
    if let Some(mode) = input.overrides.mode {
        command.push_str(&format!(" --mode {}", mode.as_str()));
    }
    if let Some(preset) = input.overrides.preset {
        command.push_str(&format!(" --preset {}", preset.as_str()));
    }
    command
}

/// Returns the option that names the judged commit; empty where it is the one that is checked out, or none.
fn head_option(report: &Report<'_>) -> String {
    if report.input.head_ref == "HEAD" || uncommitted(report).is_some() {
        return String::new();
    }
    format!(" --head {}", report.input.head_sha.short())
}

/// Returns whether a revision is one word to every shell.
fn is_word(revision: &str) -> bool {
    revision.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-@~".contains(&byte))
}

/// Returns the lines that an edit removes and adds, each with its sign; none where the run did not record them, or the edit
/// of another finding is shown for the line.
pub(crate) fn edit_lines(report: &Report<'_>, finding: &Finding) -> Vec<String> {
    let files = Files::new(report);
    let Some(edit) = finding.edit.as_ref().filter(|_| rival(report, finding).is_none()) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for replacement in &edit.replacements {
        let Some(head) = lines_at_head(report, &files, replacement) else { return Vec::new() };
        let Some(shown) = signed(&head, replacement) else { return Vec::new() };
        lines.extend(shown);
    }
    if lines.len() > MOST_LINES {
        lines.truncate(MOST_LINES - 1);
        lines.push("…".to_owned());
    }
    lines
}

/// Returns the recorded lines of head around a replacement, by number.
pub(crate) fn lines_at_head(
    report: &Report<'_>,
    files: &Files<'_>,
    replacement: &Replacement,
) -> Option<BTreeMap<u64, String>> {
    let mut lines = recorded_lines(report, files.at_head(&replacement.file)?)?;
    let wanted = replacement.start_line..=replacement.end_line;
    lines.retain(|line, _| wanted.contains(line));
    Some(lines)
}

/// Returns the recorded lines of a file at head by number: those of its hunks with their context, secrets masked.
pub(crate) fn recorded_lines(report: &Report<'_>, file: &ChangedFile) -> Option<BTreeMap<u64, String>> {
    let text = report.texts.get(&file.path)?;
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text, included: &included };
    let hunks = packet.hunks();
    let lines = hunks.flat_map(|hunk| hunk.before().chain(hunk.added()).chain(hunk.after()));
    Some(lines.map(|line| (line.number, line.text.to_owned())).collect())
}

fn signed(head: &BTreeMap<u64, String>, replacement: &Replacement) -> Option<Vec<String>> {
    let Replacement { start_line, start_column, end_line, end_column, text, .. } = replacement;
    let last = if *end_column == 1 { end_line.checked_sub(1)? } else { *end_line };
    let part = |line: u64, from: u64, to: Option<u64>| -> Option<String> {
        let characters = head.get(&line)?.chars().skip(usize::try_from(from - 1).ok()?);
        Some(match to {
            Some(to) => characters.take(usize::try_from(to - 1).ok()?).collect(),
            None => characters.collect(),
        })
    };
    let before = if *start_column > 1 { part(*start_line, 1, Some(*start_column))? } else { String::new() };
    let behind = if *end_column > 1 { part(*end_line, *end_column, None)? } else { String::new() };
    let mut lines = Vec::new();
    for line in *start_line..=last {
        lines.push(format!("- {}", cut(head.get(&line)?)));
    }
    let new = format!("{before}{text}{behind}");
    lines.extend(new.lines().filter(|_| !new.is_empty()).map(|line| format!("+ {}", cut(line))));
    Some(lines)
}

fn cut(line: &str) -> String {
    visible_cut(&visible(line), MOST_CHARACTERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::findings;
    use crate::sample;
    use qa_contracts::ids::{RepoPath, Sha256Hex};
    use qa_contracts::v1::Edit;

    fn replacement(from: [u64; 2], to: [u64; 2], text: &str) -> Replacement {
        Replacement {
            file: RepoPath::from_bytes(b"src/config.rs").unwrap(),
            start_line: from[0],
            start_column: from[1],
            end_line: to[0],
            end_column: to[1],
            replaced_sha256: Sha256Hex::parse(&"0".repeat(64)).unwrap(),
            text: text.to_owned(),
        }
    }

    /// The sample with an edit of its first blocking finding.
    fn edited(replacements: Vec<Replacement>, safety: EditSafety) -> sample::Sample {
        let mut sample = sample::fail();
        let edit = Edit { safety, title: "Read it from the environment".to_owned(), replacements };
        let results = sample.result.lens_results.iter_mut().flat_map(|result| &mut result.findings);
        let all = results.chain(&mut sample.result.final_verdict.blocking_findings);
        for finding in all.filter(|finding| finding.rule_id == "secret-token/github-token") {
            finding.edit = Some(edit.clone());
        }
        sample
    }

    #[test]
    fn an_edit_is_shown_as_whole_lines() {
        let cases = [
            (replacement([31, 1], [32, 1], ""), vec!["-     dbg!(&url);"]),
            (replacement([31, 5], [31, 9], "x!("), vec!["-     dbg!(&url);", "+     x!((&url);"]),
            (replacement([31, 1], [31, 1], "a\nb\n"), vec!["+ a", "+ b"]),
            (replacement([9999, 1], [9999, 3], "a"), vec![]),
        ];
        for (replacement, expected) in cases {
            let sample = edited(vec![replacement], EditSafety::Safe);
            let report = sample.report(false);
            assert_eq!(edit_lines(&report, findings(&report)[0]), expected);
        }
    }

    #[test]
    fn of_edits_of_one_line_the_first_is_shown_and_named_by_the_others() {
        let second = |replacement: Replacement| {
            let mut sample = edited(vec![self::replacement([31, 5], [31, 9], "x!(")], EditSafety::Safe);
            let edit = Edit {
                safety: EditSafety::Safe,
                title: "Drop it".to_owned(),
                replacements: vec![replacement],
            };
            let results = sample.result.lens_results.iter_mut().flat_map(|result| &mut result.findings);
            let other = results
                .filter(|finding| finding.edit.is_none())
                .min_by(|one, other| rank(one).cmp(&rank(other)));
            other.unwrap().edit = Some(edit);
            sample
        };
        let sample = second(replacement([31, 10], [31, 12], "y"));
        let report = sample.report(false);
        let with_edit: Vec<&Finding> =
            findings(&report).into_iter().filter(|finding| finding.edit.is_some()).collect();
        let [first, rest @ ..] = &with_edit[..] else { panic!("no edit") };
        assert!(!edit_lines(&report, first).is_empty() && !rest.is_empty());
        let named = format!(
            "see the edit of {} at {}:{}, which changes the same line",
            first.rule_id, first.file, first.start_line
        );
        for finding in rest {
            assert_eq!(edit_lines(&report, finding), [""; 0]);
            assert_eq!(edit_title(&report, finding, Reader::Anybody).as_deref(), Some(named.as_str()));
        }
        let sample = second(replacement([30, 1], [31, 1], ""));
        let report = sample.report(false);
        let other = findings(&report)
            .into_iter()
            .find(|finding| finding.edit.as_ref().is_some_and(|edit| edit.title == "Drop it"));
        assert!(rival(&report, other.unwrap()).is_none(), "the line before is another one");
    }

    #[test]
    fn an_edit_names_the_command_that_shows_or_makes_it() {
        let title = |safety: EditSafety, head: &str, reader: Reader| {
            let mut sample = edited(vec![replacement([31, 1], [32, 1], "")], safety);
            sample.input.base_ref = Some("main".to_owned());
            sample.input.head_ref = head.to_owned();
            let report = sample.report(false);
            let commits =
                [report.input.base_sha.short().to_owned(), report.input.head_sha.short().to_owned()];
            (edit_title(&report, findings(&report)[0], reader).unwrap(), commits)
        };
        let (text, [_, head]) = title(EditSafety::Unsafe, "topic", Reader::OfTerminal);
        assert!(
            text.contains(&format!("`qa-skill fix --base main --head {head}` shows all of it")),
            "{text}"
        );
        assert!(text.contains("make it by hand") && !text.contains("--apply"), "{text}");
        let (text, _) = title(EditSafety::Unsafe, "HEAD", Reader::OfTerminal);
        assert!(text.contains("`qa-skill fix --base main` shows"), "{text}");
        let (text, _) = title(EditSafety::Safe, "HEAD", Reader::OfTerminal);
        assert!(text.contains("`qa-skill fix --base main --apply` does it"), "{text}");
        let (text, [base, _]) = title(EditSafety::Safe, "HEAD", Reader::Anybody);
        assert!(text.contains(&format!("`qa-skill fix --base {base} --apply` does it")), "{text}");
    }

    #[test]
    fn every_surface_for_people_and_editors_shows_an_edit() {
        let sample = edited(vec![replacement([31, 1], [31, 5], "kept\u{1b}[31m")], EditSafety::Unsafe);
        let report = sample.report(false);
        for format in crate::ALL {
            let id = format.spec().id;
            let text = String::from_utf8(format.render(&report)).unwrap();
            let is_shown = ["terminal", "html", "markdown", "sarif", "rdjson", "json"].contains(&id);
            assert_eq!(
                text.contains("kept\\u{1b}[31m") || text.contains("kept\\u001b[31m"),
                is_shown,
                "{id}: {text}"
            );
            assert!(!text.contains('\u{1b}'), "{id}");
        }
    }
}
