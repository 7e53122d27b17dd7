//! `ruff check --output-format json`: a list of violations.

use super::json::{child, document, items, object, optional_string, position, string};
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    let mut read = Report::default();
    for entry in items(&value)? {
        let start = child(object(entry, "an entry")?, "location")?;
        let end = child(entry, "end_location")?;
        let severity = match optional_string(entry, "severity")? {
            None | Some("error" | "fatal") => DiagnosticSeverity::Error,
            Some("warning" | "info" | "help") => DiagnosticSeverity::Warning,
            Some(other) => return Err(ReportError::unreadable(format!("`severity` is {other:?}"))),
        };
        read.diagnostics.push(Diagnostic {
            path: clean::reported_path(string(entry, "filename")?, places),
            line: position(start, "row")?,
            column: position(start, "column")?,
            rule: optional_string(entry, "code")?.map(|rule| clean::name(rule, places)),
            message: clean::message(string(entry, "message")?, places),
            severity,
            end_line: position(end, "row")?,
            end_column: position(end, "column")?,
        });
    }
    Ok(read)
}
