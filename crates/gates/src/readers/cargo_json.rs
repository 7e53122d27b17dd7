//! `cargo --message-format=json`: what the compiler says, artifact by artifact, and whether the build came to its end.

use serde_json::Value;

use super::json::{child, flag, line, lines, list, optional_string, position, string};
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text as clean;

/// Maximum depth of nested macros that is followed to find a place in the repository.
const MAX_EXPANSIONS: usize = 64;

/// State of reading a report.
#[derive(Default)]
pub(crate) struct CargoReader {
    report: Report,
    success: Option<bool>,
    /// Number of built programs with tests.
    pub(crate) programs: usize,
}

impl CargoReader {
    /// Takes a line; says whether it was one of cargo's. Programs that cargo runs may print others.
    pub(crate) fn line(
        &mut self,
        number: usize,
        shown: &str,
        places: &Places<'_>,
    ) -> Result<bool, ReportError> {
        if !shown.starts_with('{') {
            return Ok(false);
        }
        let message = line(number, shown)?;
        match string(&message, "reason")? {
            "compiler-message" => {
                if let Some(diagnostic) = diagnostic(child(&message, "message")?, places)? {
                    self.report.diagnostics.push(diagnostic);
                }
            }
            "compiler-artifact" => {
                let is_test = flag(child(&message, "profile")?, "test")?
                    && optional_string(&message, "executable")?.is_some();
                self.programs += usize::from(is_test);
            }
            "build-finished" if self.success.is_some() => {
                return Err(ReportError::Inconsistent("the build finishes twice".to_owned()));
            }
            "build-finished" => self.success = Some(flag(&message, "success")?),
            // Cargo adds reasons; none of them takes away what the others say.
            _ => {}
        }
        Ok(true)
    }

    /// Returns whether the end of the build was read.
    pub(crate) fn is_finished(&self) -> bool {
        self.success.is_some()
    }

    /// The report. A build that failed without an error, such as by its script, has one that says so.
    pub(crate) fn finish(mut self) -> Result<Report, ReportError> {
        let success =
            self.success.ok_or_else(|| ReportError::unreadable("it ends before the build is finished"))?;
        let errors =
            self.report.diagnostics.iter().filter(|it| it.severity == DiagnosticSeverity::Error).count();
        if !success {
            self.report.partial =
                Some("the build failed, so that what depends on it was not looked at".to_owned());
        }
        if !success && errors == 0 {
            self.report.diagnostics.push(Diagnostic {
                path: None,
                line: None,
                column: None,
                rule: Some("build-finished".to_owned()),
                message: "the build failed, and no message of the compiler says why".to_owned(),
                severity: DiagnosticSeverity::Error,
                end_line: None,
                end_column: None,
            });
        }
        Ok(self.report)
    }
}

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let mut reader = CargoReader::default();
    for (number, shown) in lines(report)? {
        if reader.is_finished() {
            return Err(ReportError::unreadable(format!("line {number} stands below the end of the build")));
        }
        reader.line(number, shown, places)?;
    }
    reader.finish()
}

fn diagnostic(message: &Value, places: &Places<'_>) -> Result<Option<Diagnostic>, ReportError> {
    let said = string(message, "message")?;
    let spans = list(message, "spans")?;
    let severity = match string(message, "level")? {
        "error" | "error: internal compiler error" => DiagnosticSeverity::Error,
        "warning" => DiagnosticSeverity::Warning,
        _ => return Ok(None),
    };
    // "aborting due to 2 previous errors", "3 warnings emitted": sums, which have no place.
    let is_sum =
        said.starts_with("aborting due to ") || (said.ends_with(" emitted") && said.contains(" warning"));
    if spans.is_empty() && is_sum {
        return Ok(None);
    }
    let primary = spans.iter().find(|span| span.get("is_primary").and_then(Value::as_bool) == Some(true));
    let place = primary.map(|span| own_place(span, places)).transpose()?.unwrap_or(&Value::Null);
    let code = message.get("code").filter(|code| code.is_object());
    Ok(Some(Diagnostic {
        path: optional_string(place, "file_name")?.and_then(|path| clean::reported_path(path, places)),
        line: position(place, "line_start")?,
        column: position(place, "column_start")?,
        rule: code.map(|code| string(code, "code")).transpose()?.map(|code| clean::name(code, places)),
        message: clean::message(said, places),
        severity,
        end_line: position(place, "line_end")?,
        end_column: position(place, "column_end")?,
    }))
}

/// The span, or, where it stands in a macro of another package, the call of the macro in this repository.
fn own_place<'a>(span: &'a Value, places: &Places<'_>) -> Result<&'a Value, ReportError> {
    let mut place = span;
    for _ in 0..MAX_EXPANSIONS {
        if clean::path(string(place, "file_name")?, places).is_some() {
            return Ok(place);
        }
        match place.get("expansion").and_then(|expansion| expansion.get("span")) {
            Some(outer) => place = outer,
            None => break,
        }
    }
    Ok(span)
}
