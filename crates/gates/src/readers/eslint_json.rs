//! ESLint's formatter `json`: one entry per file that was linted, clean ones included.

use std::collections::BTreeSet;

use super::json::{document, flag_or_false, items, list, number, object, optional_string, position, string};
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError, ReportedPath};
use crate::text as clean;

/// Beginning of the warning about a file that was named and not linted.
const IGNORED: &str = "File ignored ";

/// Reads a report. One without any file is a run that looked at nothing.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    let files = items(&value)?;
    let mut read = Report::default();
    read.totals.files = Some(files.len() as u64);
    let mut looked_at = BTreeSet::new();
    for file in files {
        let path = clean::reported_path(string(object(file, "an entry")?, "filePath")?, places);
        let mut errors = 0;
        let mut is_ignored = false;
        for entry in list(file, "messages")? {
            let fatal = flag_or_false(entry, "fatal")?;
            let severity = match number(entry, "severity")? {
                1 if !fatal => DiagnosticSeverity::Warning,
                1 | 2 => DiagnosticSeverity::Error,
                other => return Err(ReportError::unreadable(format!("`severity` is {other}"))),
            };
            is_ignored |= string(entry, "message")?.starts_with(IGNORED);
            errors += u64::from(severity == DiagnosticSeverity::Error);
            read.diagnostics.push(Diagnostic {
                path: path.clone(),
                line: position(entry, "line")?,
                column: position(entry, "column")?,
                rule: optional_string(entry, "ruleId")?.map(|rule| clean::name(rule, places)),
                message: clean::message(string(entry, "message")?, places),
                severity,
                end_line: position(entry, "endLine")?,
                end_column: position(entry, "endColumn")?,
            });
        }
        let own = path.as_ref().and_then(ReportedPath::in_repository);
        looked_at.extend(own.filter(|_| !is_ignored).cloned());
        let declared = number(file, "errorCount")?;
        if declared != errors {
            let name = clean::name(string(file, "filePath")?, places);
            return Err(ReportError::Inconsistent(format!(
                "{name} has {errors} errors and states {declared}"
            )));
        }
    }
    read.looked_at = Some(looked_at);
    Ok(read)
}
