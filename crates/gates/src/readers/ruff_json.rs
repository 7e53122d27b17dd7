//! `ruff check --output-format json`: a list of violations.

use super::json::{child, document, items, object, position, text, text_if};
use crate::contract::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;

/// Reads a report.
pub(crate) fn read(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    let mut read = Report::default();
    for entry in items(&value)? {
        let start = child(object(entry, "an entry")?, "location")?;
        let end = child(entry, "end_location")?;
        let severity = match text_if(entry, "severity")? {
            None | Some("error" | "fatal") => DiagnosticSeverity::Error,
            Some("warning" | "info" | "help") => DiagnosticSeverity::Warning,
            Some(other) => return Err(ReportError::unreadable(format!("`severity` is {other:?}"))),
        };
        read.diagnostics.push(Diagnostic {
            path: clean::path(text(entry, "filename")?, places),
            line: position(start, "row")?,
            column: position(start, "column")?,
            rule: text_if(entry, "code")?.map(|rule| clean::name(rule, places)),
            message: clean::message(text(entry, "message")?, places),
            severity,
            end_line: position(end, "row")?,
            end_column: position(end, "column")?,
        });
    }
    Ok(read)
}
