//! Jest's `--json`, which Vitest's reporter `json` follows.

use serde_json::Value;

use super::json::{
    document, flag, flag_or_false, list, list_or_empty, number, object, optional_string, position, string,
};
use crate::report::{
    Diagnostic, DiagnosticSeverity, Outcome, Places, Report, ReportError, ReportedPath, TestCase,
};
use crate::tags::stories;
use crate::text as clean;

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let value = document(report)?;
    object(&value, "the document")?;
    if flag_or_false(&value, "wasInterrupted")? {
        return Err(ReportError::Unfinished("`wasInterrupted` is true".to_owned()));
    }
    let mut read = Report::default();
    for file in list(&value, "testResults")? {
        read_file(object(file, "a file")?, places, &mut read)?;
    }
    let cases = read.tests.len() as u64 - count(&read.tests, Outcome::Errored);
    let failed = count(&read.tests, Outcome::Failed);
    for (key, found) in [("numTotalTests", cases), ("numFailedTests", failed)] {
        let stated = number(&value, key)?;
        if stated != found {
            return Err(ReportError::Inconsistent(format!("`{key}` is {stated} and {found} are there")));
        }
    }
    let failing = read.tests.iter().any(|test| test.outcome.fails());
    if !flag(&value, "success")? && !failing && !read.tests.is_empty() {
        read.diagnostics.push(without_a_test());
    }
    Ok(read)
}

fn count(tests: &[TestCase], outcome: Outcome) -> u64 {
    tests.iter().filter(|test| test.outcome == outcome).count() as u64
}

/// The run failed and no test did: an obsolete snapshot, a threshold, an error nobody caught.
fn without_a_test() -> Diagnostic {
    Diagnostic {
        path: None,
        line: None,
        column: None,
        rule: Some("success".to_owned()),
        message: "the report states no success, and no test in it failed".to_owned(),
        severity: DiagnosticSeverity::Error,
        end_line: None,
        end_column: None,
    }
}

fn read_file(file: &Value, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
    let name = string(file, "name")?;
    let path = clean::reported_path(name, places);
    let shown = path.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut failing = false;
    for case in list(file, "assertionResults")? {
        let test = read_case(case, &shown, path.as_ref(), places)?;
        failing |= test.outcome.fails();
        read.tests.push(test);
    }
    if string(file, "status")? == "failed" && !failing {
        let said = clean::message(why_not_loaded(optional_string(file, "message")?.unwrap_or("")), places);
        read.tests.push(TestCase {
            id: shown,
            outcome: Outcome::Errored,
            line: None,
            path,
            message: Some(said),
            attempts: 1,
            stories: Vec::new(),
            attachments: Vec::new(),
        });
    }
    Ok(())
}

fn read_case(
    case: &Value,
    file: &str,
    path: Option<&ReportedPath>,
    places: &Places<'_>,
) -> Result<TestCase, ReportError> {
    let mut titles = Vec::new();
    for title in list(case, "ancestorTitles")? {
        titles.push(title.as_str().ok_or_else(|| ReportError::unreadable("a title is no text"))?);
    }
    titles.push(string(case, "title")?);
    let failures: Vec<&str> =
        list_or_empty(case, "failureMessages")?.iter().filter_map(Value::as_str).collect();
    // Jest counts how often it ran a test, Vitest keeps what failed before.
    let invocations = position(case, "invocations")?.unwrap_or(1);
    let earlier = u32::try_from(failures.len()).unwrap_or(u32::MAX - 1);
    let outcome = match string(case, "status")? {
        "passed" | "focused" if failures.is_empty() && invocations == 1 => Outcome::Passed,
        "passed" | "focused" => Outcome::Flaky,
        "failed" => Outcome::Failed,
        "pending" | "skipped" | "todo" | "disabled" => Outcome::Skipped,
        other => return Err(ReportError::unreadable(format!("`status` of a test is {other:?}"))),
    };
    let stated = match case.get("location").filter(|location| location.is_object()) {
        Some(location) => position(location, "line")?,
        None => None,
    };
    let said = failures.first().copied();
    let failed_at = path.zip(said).and_then(|(path, said)| line_in(&path.to_string(), said));
    let attempts = if outcome == Outcome::Flaky { invocations.max(earlier + 1) } else { invocations };
    Ok(TestCase {
        id: clean::name(&format!("{file} > {}", titles.join(" > ")), places),
        outcome,
        path: path.cloned(),
        line: failed_at.or(stated),
        message: said.map(|said| clean::message(without_stack(said), places)),
        attempts,
        stories: stories(titles),
        attachments: Vec::new(),
    })
}

/// The line that a stack names first in a file.
fn line_in(path: &str, said: &str) -> Option<u32> {
    let after = said.split_once(&format!("/{path}:"))?.1;
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    after[..digits].parse().ok().filter(|&line| line > 0)
}

/// Jest explains at length what may be wrong before it says what is.
fn why_not_loaded(said: &str) -> &str {
    let details = said.split_once("\n    Details:\n").map_or(said, |(_, details)| details);
    without_stack(details.trim_start().trim_start_matches("● Test suite failed to run"))
}

/// A message without the calls that led to it.
fn without_stack(said: &str) -> &str {
    let end =
        said.match_indices("\n").find(|(at, _)| said[at + 1..].trim_start_matches(' ').starts_with("at "));
    end.map_or(said, |(at, _)| &said[..at])
}
