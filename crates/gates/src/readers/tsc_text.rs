//! `tsc --pretty false --listFiles`: errors, each on a line with indented lines below it, then the files looked at.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::json::lines;
use super::matched_position;
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;
use qa_contracts::ids::RepoPath;

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?<path>\S.*?)\((?<line>\d+),(?<column>\d+)\): )?error (?<rule>TS\d+): (?<message>.*)$")
        .expect("a constant pattern")
});
/// Files are listed with full paths and errors with relative ones, so that half of an error is never a file.
static FILE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:/|[A-Za-z]:[/\\]|bundled://)[^:*?<>|]*\.(?:[cm]?[jt]sx?|json)$")
        .expect("a constant pattern")
});

/// Reads a report. Without the list of files a clean run prints nothing, and nothing is no proof.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    if !report.ends_with(b"\n") {
        return Err(ReportError::unreadable("it ends in the middle of a line"));
    }
    let mut read = Report::default();
    let mut files = BTreeSet::new();
    let mut messages: Vec<String> = Vec::new();
    for (number, line) in lines(report)? {
        if let Some(found) = ERROR.captures(line) {
            messages.push(found["message"].to_owned());
            read.diagnostics.push(Diagnostic {
                path: found.name("path").and_then(|path| clean::reported_path(path.as_str(), places)),
                line: matched_position(&found, "line"),
                column: matched_position(&found, "column"),
                rule: Some(found["rule"].to_owned()),
                message: String::new(),
                severity: DiagnosticSeverity::Error,
                end_line: None,
                end_column: None,
            });
        } else if let Some(message) = messages.last_mut().filter(|_| line.starts_with("  ")) {
            message.push('\n');
            message.push_str(line);
        } else if FILE.is_match(line) {
            files.extend(own_path(line, places));
        } else {
            return Err(ReportError::unreadable(format!(
                "line {number} is neither an error nor a file of tsc"
            )));
        }
    }
    for (diagnostic, message) in read.diagnostics.iter_mut().zip(messages) {
        diagnostic.message = clean::message(&message, places);
    }
    read.totals.files = Some(files.len() as u64);
    read.looked_at = Some(files);
    Ok(read)
}

/// Returns the path of a file of the repository, and `None` for one of a package.
fn own_path(line: &str, places: &Places<'_>) -> Option<RepoPath> {
    clean::path(line, places).filter(|path| !path.to_text().split('/').any(|part| part == "node_modules"))
}
