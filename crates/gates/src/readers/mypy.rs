//! mypy's lines of text with its summary, and its lines of JSON, which have no end of their own.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::json::{line, lines, optional_string, position, string};
use super::matched_position;
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;

static MESSAGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?<path>(?:[A-Za-z]:)?[^:]+)(?::(?<line>\d+))?(?::(?<column>\d+))?(?::(?<endline>\d+):(?<endcolumn>\d+))?: (?<level>error|note): (?<message>.*)$",
    )
    .expect("a constant pattern")
});
static CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(.*?)  \[([a-z0-9-]+)\]$").expect("a constant pattern"));
static FOUND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^Found (\d+) errors? in \d+ files? \(.*\)$").expect("a constant pattern"));
static CLEAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^Success: no issues found in (\d+) source files?$").expect("a constant pattern")
});

/// Reads the text. Its summary has to be there and to count what is there.
pub(crate) fn read_text(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let mut read = Report::default();
    let mut summary = None;
    for (number, line) in lines(report)? {
        if summary.is_some() {
            return Err(ReportError::unreadable(format!("line {number} stands below the summary")));
        } else if let Some(found) = FOUND.captures(line) {
            summary = Some(found[1].parse::<usize>().unwrap_or(usize::MAX));
            if line.contains("(errors prevented further checking)") {
                read.partial = Some("errors kept mypy from checking the rest".to_owned());
            }
        } else if let Some(found) = CLEAN.captures(line) {
            read.totals.files = found[1].parse().ok();
            summary = Some(0);
        } else if let Some(found) = MESSAGE.captures(line) {
            read_line(&found, places, &mut read);
        } else {
            return Err(ReportError::unreadable(format!("line {number} is no line of mypy")));
        }
    }
    match summary {
        None => Err(ReportError::unreadable("it ends without mypy's summary")),
        Some(stated) if stated != read.diagnostics.len() => {
            let found = read.diagnostics.len();
            Err(ReportError::Inconsistent(format!(
                "its summary counts {stated} errors and {found} are there"
            )))
        }
        Some(_) => Ok(read),
    }
}

/// An error, or a note, which belongs to the error before it when it stands on the same line.
fn read_line(found: &regex::Captures<'_>, places: &Places<'_>, read: &mut Report) {
    let path = clean::reported_path(&found["path"], places);
    let line = matched_position(found, "line");
    if &found["level"] == "note" {
        let above = read.diagnostics.last_mut().filter(|above| above.path == path && above.line == line);
        if let Some(above) = above {
            above.message = clean::message(&format!("{}\n{}", above.message, &found["message"]), places);
        }
        return;
    }
    let (message, rule) = match CODE.captures(&found["message"]) {
        Some(parts) => (parts[1].to_owned(), Some(parts[2].to_owned())),
        None => (found["message"].to_owned(), None),
    };
    read.diagnostics.push(Diagnostic {
        path,
        line,
        column: matched_position(found, "column"),
        rule,
        message: clean::message(&message, places),
        severity: DiagnosticSeverity::Error,
        end_line: matched_position(found, "endline"),
        // mypy names the last column, a report the one after it.
        end_column: matched_position(found, "endcolumn").map(|column| column.saturating_add(1)),
    });
}

/// Reads lines of JSON, whose columns are counted from zero.
pub(crate) fn read_json(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let doubt = "mypy's JSON has no end that would show it to be whole; import its text, which has a summary";
    let mut read = Report { doubt: Some(doubt.to_owned()), ..Report::default() };
    for (number, entry) in lines(report)? {
        let entry = line(number, entry)?;
        match string(&entry, "severity")? {
            "error" => {}
            "note" => continue,
            other => return Err(ReportError::unreadable(format!("line {number}: `severity` is {other:?}"))),
        }
        let hint = optional_string(&entry, "hint")?.map(|hint| format!("\n{hint}")).unwrap_or_default();
        read.diagnostics.push(Diagnostic {
            path: clean::reported_path(string(&entry, "file")?, places),
            line: position(&entry, "line")?,
            column: column(&entry, "column"),
            rule: optional_string(&entry, "code")?.map(|code| clean::name(code, places)),
            message: clean::message(&format!("{}{hint}", string(&entry, "message")?), places),
            severity: DiagnosticSeverity::Error,
            end_line: position(&entry, "end_line")?,
            end_column: column(&entry, "end_column"),
        });
    }
    Ok(read)
}

/// Returns a column of an entry, counted from one.
fn column(entry: &Value, key: &str) -> Option<u32> {
    entry.get(key).and_then(Value::as_u64).and_then(|at| u32::try_from(at + 1).ok())
}
