//! Findings as other programs list them: one place at head, a level and a message each.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::{Files, findings, reason, verdict_word};
use crate::contract::Report;
use crate::edit::{lines_at_head, rival};
use crate::excerpt::{byte_at, byte_columns};
use crate::why::message;
use qa_contracts::ids::is_unprintable;
use qa_contracts::v1::{Conclusion, Finding, Severity};
use qa_core::escape::visible;

/// Rule of the entry that says why a change does not pass without a finding that blocks.
const VERDICT: &str = "qa-skill/verdict";

/// A finding, or the verdict where no finding explains it.
pub(crate) struct Diagnostic {
    pub(crate) rule: String,
    /// Different for each diagnostic of a report; the same for a finding that only moves.
    pub(crate) fingerprint: String,
    /// As it is; [`to_json`] writes what cannot be seen in it as escapes.
    pub(crate) path: String,
    pub(crate) lines: (u64, u64),
    /// The first column and the one after the last, in bytes from 1, where they are known and inside one line.
    pub(crate) columns: Option<(u64, u64)>,
    pub(crate) blocks: bool,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    /// The finding's edit, which a person accepts or not.
    pub(crate) suggestions: Vec<Suggestion>,
}

/// Range in bytes from 1, with the text that takes its place.
pub(crate) struct Suggestion {
    pub(crate) start: (u64, u64),
    pub(crate) end: (u64, u64),
    pub(crate) text: String,
}

/// Returns a document as bytes, in which no character is invisible: JSON can write each of them as an escape.
pub(crate) fn to_json(document: &Value) -> Vec<u8> {
    let mut text = String::new();
    for sign in document.to_string().chars() {
        if is_unprintable(sign) {
            let mut units = [0; 2];
            let escapes = sign.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
            text.extend(escapes);
        } else {
            text.push(sign);
        }
    }
    text.push('\n');
    text.into_bytes()
}

/// Returns the findings of a report that are not waived, blocking ones first. A program that reads nothing else is told of
/// a change that was not judged as well: the exit code may be lost in a pipe.
pub(crate) fn diagnostics(report: &Report<'_>) -> Vec<Diagnostic> {
    let files = Files::new(report);
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let open = findings(report).into_iter().filter(|finding| finding.waiver.is_none());
    let mut all: Vec<Diagnostic> = open
        .map(|finding| {
            let number = numbers.entry(finding.finding_id.as_str()).or_insert(0);
            *number += 1;
            of_finding(report, &files, finding, *number)
        })
        .collect();
    let is_explained = all.iter().any(|diagnostic| diagnostic.blocks);
    if report.result.final_verdict.conclusion != Conclusion::Pass && !is_explained {
        all.insert(0, of_verdict(report));
    }
    all
}

fn of_finding<'a>(report: &Report<'a>, files: &Files<'a>, finding: &'a Finding, number: usize) -> Diagnostic {
    let anchor = files.anchor(finding);
    let columns = anchor.columns.and_then(|columns| byte_columns(report, files, finding, columns));
    Diagnostic {
        rule: visible(&finding.rule_id),
        fingerprint: format!("{}:{number}", finding.finding_id.as_str()),
        path: anchor.path.to_text().into_owned(),
        lines: (anchor.start_line, anchor.end_line),
        columns,
        blocks: finding.blocking,
        severity: finding.severity,
        message: message(finding),
        suggestions: suggestions(report, files, finding).unwrap_or_default(),
    }
}

/// Returns the edit of a finding by bytes; `None` where there is none in the finding's own file, a line of it was not
/// recorded, or the edit of another finding changes the same line.
fn suggestions<'a>(report: &Report<'a>, files: &Files<'a>, finding: &Finding) -> Option<Vec<Suggestion>> {
    let edit = finding.edit.as_ref().filter(|_| rival(report, finding).is_none())?;
    let anchor = files.anchor(finding).path.clone();
    let mut all = Vec::new();
    for replacement in edit.replacements.iter().filter(|replacement| replacement.file == anchor) {
        let head = lines_at_head(report, files, replacement)?;
        let place = |line: u64, column: u64| -> Option<(u64, u64)> {
            if column == 1 {
                return Some((line, 1));
            }
            Some((line, byte_at(head.get(&line)?, column)? as u64 + 1))
        };
        all.push(Suggestion {
            start: place(replacement.start_line, replacement.start_column)?,
            end: place(replacement.end_line, replacement.end_column)?,
            text: replacement.text.clone(),
        });
    }
    (all.len() == edit.replacements.len()).then_some(all)
}

fn of_verdict(report: &Report<'_>) -> Diagnostic {
    let conclusion = report.result.final_verdict.conclusion;
    let first = report.change_set.files.first();
    let hunk = first.and_then(|file| file.hunks.first());
    let line = hunk.map_or(1, |hunk| hunk.new_start.max(1));
    Diagnostic {
        rule: VERDICT.to_owned(),
        fingerprint: format!("{VERDICT}:{}", conclusion.as_str()),
        path: first.map_or_else(|| ".".to_owned(), |file| file.path.to_text().into_owned()),
        lines: (line, line),
        columns: None,
        blocks: true,
        severity: Severity::High,
        message: format!("{}: {}", verdict_word(conclusion), reason(report)),
        suggestions: Vec::new(),
    }
}
