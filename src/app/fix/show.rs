//! Says which edits there are, what each does and what becomes of it.

use super::proposal::{Fate, Item, Proposal};
use crate::app::finished::Finished;
use qa_contracts::v1::{Conclusion, Finding};
use qa_core::diff::lossy;
use qa_core::edits::share_lines;
use qa_core::escape::{visible, without_runner_commands};
use qa_core::masking::sanitize_cut;
use qa_formats::counted;

/// The end of `--apply` where the edits undo all of the change.
pub(super) const NOTHING_LEFT: &str = "nothing is left to judge: with the edits the working tree has the files of the base, so the whole change was what the findings are about (exit code 3, as for any empty change)\n";

/// Most characters of a line of a patch.
const MOST_CHARACTERS: usize = 200;

/// Returns all edits with what `--apply` would do, for a person.
pub(super) fn overview(finished: &Finished, proposal: &Proposal) -> String {
    let mut out = String::new();
    for (index, item) in proposal.items.iter().enumerate() {
        let rival = rival(item, &proposal.items[..index]);
        out.push_str(&heading(item, rival));
        if rival.is_none() {
            out.push_str(&lines(&item.patch));
        }
        out.push('\n');
    }
    out.push_str(&summary(finished, proposal));
    without_runner_commands(&out)
}

/// Returns the first of the items before whose edit changes a line that this one's edit changes too.
fn rival<'a>(item: &Item, before: &'a [Item]) -> Option<&'a Finding> {
    let edit = item.finding.edit.as_ref()?;
    let mut findings = before.iter().map(|other| &other.finding);
    findings.find(|other| other.edit.as_ref().is_some_and(|other| share_lines(edit, other)))
}

/// Returns the finding and its edit in words.
fn heading(item: &Item, rival: Option<&Finding>) -> String {
    let finding = &item.finding;
    let mut title = finding.edit.as_ref().map(|edit| sanitize_cut(&edit.title, 200)).unwrap_or_default();
    if let Some(rival) = rival {
        let rule = visible(&rival.rule_id);
        title.push_str(&format!(", in the line of {} [{rule}]", place(rival)));
    }
    let word = match item.fate {
        Fate::Applied => "safe".to_owned(),
        Fate::Unsafe => "needs a look, never applied".to_owned(),
        Fate::Overlaps | Fate::Fails | Fate::OtherBytes => format!("not applied: {}", reason(item.fate)),
    };
    let severity = finding.severity.as_str();
    let summary = sanitize_cut(&finding.summary, 200);
    let rule = visible(&finding.rule_id);
    format!("{}: {severity}[{rule}] {summary}\n  edit: {title} ({word})\n", place(finding))
}

fn place(finding: &Finding) -> String {
    let is_on_base = finding.evidence.get("side").is_some_and(|side| side == "base");
    let side = if is_on_base { " (base)" } else { "" };
    format!("{}:{}{side}", finding.file, finding.start_line)
}

fn reason(fate: Fate) -> &'static str {
    match fate {
        Fate::Applied => "it is applied",
        Fate::Unsafe => "a person has to look at it",
        Fate::Overlaps => "it overlaps the edit of an earlier finding; run `fix` again afterwards",
        Fate::Fails => "with it the finding stays, or another one comes",
        Fate::OtherBytes => "the file has other bytes at head, by its encoding or by a merge",
    }
}

/// Returns the hunks of a patch with harmless lines.
fn lines(patch: &[u8]) -> String {
    let text = lossy(patch);
    let hunks = text.split('\n').skip_while(|line| !line.starts_with("@@")).filter(|line| !line.is_empty());
    let is_header = |line: &&str| {
        !["diff --git ", "--- a/", "+++ b/", "--- \"a/", "+++ \"b/"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let lines = hunks.filter(is_header);
    lines
        .map(|line| format!("  | {}\n", sanitize_cut(line.trim_end_matches('\r'), MOST_CHARACTERS)))
        .collect()
}

/// Returns the numbers, the verdict of the change as it is, and what to do.
fn summary(finished: &Finished, proposal: &Proposal) -> String {
    let safe = proposal.items.iter().filter(|item| item.fate == Fate::Applied).count();
    let others = proposal.items.len() - safe;
    let verdict = match finished.outcome.verdict.conclusion {
        Conclusion::Pass => "PASS",
        Conclusion::Fail => "FAIL",
        Conclusion::CouldNotComplete => "COULD NOT COMPLETE",
    };
    let blocking = counted(finished.outcome.verdict.blocking_findings.len(), "blocking finding");
    let mut out = format!(
        "{verdict} as it is, with {blocking}; {} and {others} not applied",
        counted(safe, "safe edit")
    );
    out.push_str(&match proposal.without {
        0 => ".\n".to_owned(),
        count => format!("; {} without an edit, which `run` shows.\n", counted(count, "finding")),
    });
    out.push_str(&incomplete(finished));
    if safe > 0 {
        out.push_str(
            "`--apply` writes the safe edits to the working tree, `--diff` prints them as a patch.\n",
        );
    }
    out
}

/// Returns the reasons and codes of a run that could not complete; empty for any other.
pub(super) fn incomplete(finished: &Finished) -> String {
    let verdict = &finished.outcome.verdict;
    if verdict.conclusion != Conclusion::CouldNotComplete {
        return String::new();
    }
    let reasons = verdict.rationale.iter().map(|reason| format!("  {}\n", sanitize_cut(reason, 400)));
    let codes = verdict.error_codes.iter().map(|code| format!("error[{code}]\n  help: {}\n", code.hint()));
    reasons.chain(codes).collect()
}

/// Returns a line for each edit that is not applied.
pub(super) fn left_out(proposal: &Proposal) -> String {
    let others = proposal.items.iter().filter(|item| item.fate != Fate::Applied);
    let lines = others.map(|item| {
        let rule = visible(&item.finding.rule_id);
        format!("not applied: {} [{rule}]: {}\n", place(&item.finding), reason(item.fate))
    });
    without_runner_commands(&lines.collect::<String>())
}

/// Returns what was written.
pub(super) fn written(proposal: &Proposal) -> String {
    let safe = proposal.items.iter().filter(|item| item.fate == Fate::Applied);
    let mut out = left_out(proposal);
    for item in safe {
        let title = item.finding.edit.as_ref().map(|edit| sanitize_cut(&edit.title, 200)).unwrap_or_default();
        let rule = visible(&item.finding.rule_id);
        out.push_str(&format!("applied: {} [{rule}]: {title}\n", place(&item.finding)));
    }
    let files = counted(proposal.files.len(), "file");
    out.push_str(&format!("wrote {files}; the working tree is judged again\n"));
    without_runner_commands(&out)
}
