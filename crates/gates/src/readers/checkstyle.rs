//! Checkstyle's XML, which linters of many languages write.

use super::xml::{Element, parse};
use crate::report::{Diagnostic, DiagnosticSeverity, Places, Report, ReportError};
use crate::text;

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let root = parse(report)?;
    if root.name != "checkstyle" {
        return Err(ReportError::unreadable(format!("its root is `{}` and not `checkstyle`", root.name)));
    }
    let mut read = Report::default();
    for child in &root.children {
        match child.name.as_str() {
            "file" => read_file(child, places, &mut read)?,
            _ => read.diagnostics.push(diagnostic(child, None, places)?),
        }
    }
    Ok(read)
}

fn read_file(file: &Element, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
    for child in &file.children {
        if is_about_the_linter(child.attribute("source").unwrap_or_default()) {
            // The base may have the same entry, which would excuse that the file was not checked.
            read.partial.get_or_insert_with(|| "a file could not be checked whole".to_owned());
        }
        read.diagnostics.push(diagnostic(child, file.attribute("name"), places)?);
    }
    Ok(())
}

/// Returns whether an entry says that the linter itself failed: PHP_CodeSniffer's `Internal.Exception` and its like, and
/// ShellCheck's without a number.
fn is_about_the_linter(source: &str) -> bool {
    source.starts_with("Internal.") || source == "ShellCheck"
}

fn diagnostic(element: &Element, file: Option<&str>, places: &Places<'_>) -> Result<Diagnostic, ReportError> {
    match element.name.as_str() {
        "error" => {}
        "exception" => {
            let file = text::name(file.unwrap_or("it"), places);
            return Err(ReportError::Unfinished(format!("{file} could not be checked")));
        }
        other => return Err(not_of_checkstyle(other)),
    }
    if let Some(child) = element.children.first() {
        return Err(not_of_checkstyle(&child.name));
    }
    let severity = match element.attribute("severity").unwrap_or("error").to_ascii_lowercase().as_str() {
        "error" => DiagnosticSeverity::Error,
        "warning" | "info" | "ignore" => DiagnosticSeverity::Warning,
        other => return Err(ReportError::unreadable(format!("`severity` is {other:?}"))),
    };
    let Some(message) = element.attribute("message") else {
        return Err(ReportError::unreadable("an error has no `message`"));
    };
    Ok(Diagnostic {
        path: file.and_then(|file| text::reported_path(file, places)),
        line: position(element, "line")?,
        column: position(element, "column")?,
        rule: element
            .attribute("source")
            .filter(|source| !source.is_empty())
            .map(|source| text::name(source, places)),
        message: text::message(message, places),
        severity,
        end_line: None,
        end_column: None,
    })
}

fn not_of_checkstyle(name: &str) -> ReportError {
    ReportError::unreadable(format!("`{name}` is no element of Checkstyle at its place"))
}

/// Returns a line or column; writers state 0, or nothing, when there is none.
fn position(element: &Element, name: &str) -> Result<Option<u32>, ReportError> {
    match element.attribute(name).map(str::trim) {
        None | Some("") => Ok(None),
        Some(stated) => match stated.parse::<u32>() {
            Ok(number) => Ok(Some(number).filter(|&number| number > 0)),
            Err(_) => Err(ReportError::unreadable(format!("`{name}` of an error is {stated:?}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(inside: &str) -> Result<String, &'static str> {
        let places = Places { roots: &[], directory: "", module: "" };
        let report = format!("<?xml version='1.0'?><checkstyle version='4.3'>{inside}</checkstyle>");
        let read = read_report(report.as_bytes(), &places).map_err(|error| error.kind())?;
        let one = |it: &Diagnostic| {
            let path = it.path.as_ref().map_or("-".to_owned(), ToString::to_string);
            let line = it.line.unwrap_or(0);
            let rule = it.rule.as_deref().unwrap_or("-");
            format!("{} {path}:{line} {rule} {}", it.severity.as_str(), it.message)
        };
        Ok(read.diagnostics.iter().map(one).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn an_error_counts_by_its_severity() {
        let cases = [
            ("", Ok("")),
            ("<file name='a.sh'/>", Ok("")),
            (
                "<file name='a.sh'><error line='2' severity='error' message='no' source='R'/></file>",
                Ok("error a.sh:2 R no"),
            ),
            // Without a severity it counts as the worst.
            ("<file name='a.sh'><error line='0' message='no'/></file>", Ok("error a.sh:0 - no")),
            (
                "<file name='a.sh'><error severity='Info' message='no' source=''/></file>",
                Ok("warning a.sh:0 - no"),
            ),
            // PHPStan states errors of the whole project in a file without a name.
            ("<file><error severity='error' message='no'/></file>", Ok("error -:0 - no")),
            ("<error severity='error' message='no'/>", Ok("error -:0 - no")),
            ("<file name='a.sh'><error severity='fatal' message='no'/></file>", Err("unreadable")),
            ("<file name='a.sh'><error severity='error'/></file>", Err("unreadable")),
            ("<file name='a.sh'><error line='two' message='no'/></file>", Err("unreadable")),
            ("<file name='a.sh'><exception>stack</exception></file>", Err("unfinished")),
            ("<exception>stack</exception>", Err("unfinished")),
            ("<file name='a.sh'><warning message='no'/></file>", Err("unreadable")),
            (
                "<file name='a.sh'><error severity='info' message='no'><error message='no'/></error></file>",
                Err("unreadable"),
            ),
            ("<file name='a.sh'><file name='b.sh'><error message='no'/></file></file>", Err("unreadable")),
            (
                "<file xmlns:n='n' name='a.sh'><error n:severity='info' severity='error' message='no'/></file>",
                Ok("error a.sh:0 - no"),
            ),
            ("<file xmlns:n='n' name='a.sh'><n:exception/></file>", Err("unfinished")),
        ];
        for (inside, expected) in cases {
            assert_eq!(shown(inside).as_deref(), expected.as_deref(), "{inside}");
        }
    }
}
