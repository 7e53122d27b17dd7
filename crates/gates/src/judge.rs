//! The one place that says what "passed" means.

use std::collections::BTreeMap;

use super::contract::{
    CommandOutput, Diagnostic, DiagnosticSeverity, ExitMeaning, Output, Places, Report, ReportError, Source,
    Stream, Tool, ToolSpec,
};
use super::report::{Outcome, TestCase, Totals};
use super::text;
use qa_contracts::limits::MAX_REPORT_BYTES;

/// The rule of the one diagnostic that stands for a status nothing in the report explains.
pub(crate) const EXIT_STATUS: &str = "exit-status";

/// A result that can be relied on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Whether the gate passed, as far as this tool decides it.
    pub passed: bool,
    /// What the tool said, and what its exit status said beside it.
    pub report: Report,
}

/// Reads what a tool left and says whether that is a pass.
///
/// It is one only if the exit status, where there is one, means "clean", the report was read to its end, nothing in it
/// is at error level, and, where the gate has tests, one of them ran and none failed. What cannot be read, and what did
/// not run, is an error, which is never a pass.
pub fn judge(tool: &dyn Tool, output: &Output<'_>) -> Result<Judged, ReportError> {
    let spec = tool.spec();
    match &output.source {
        Source::Import { format, report } => {
            if !spec.formats.contains(format) {
                return Err(ReportError::Format(*format));
            }
            let mut report = tool.read(*format, checked(report)?, &output.places)?.finish();
            if let Some(doubt) = &report.doubt {
                if !report.totals.has_faults() {
                    return Err(ReportError::Unreadable(doubt.clone()));
                }
                report.partial.get_or_insert_with(|| doubt.clone());
            }
            decide(spec, report, ExitMeaning::Clean)
        }
        Source::Command(command) => judge_command(tool, command, &output.places),
    }
}

/// As [`judge`], of several attempts at one command, each made because a test failed in the one before (C-15).
///
/// A test that passed in any attempt and failed in another is flaky. What is no test is taken as the last attempt has
/// it, and an attempt without a result leaves none at all.
pub fn judge_attempts(tool: &dyn Tool, attempts: &[Output<'_>]) -> Result<Judged, ReportError> {
    let mut judged = Vec::with_capacity(attempts.len());
    for attempt in attempts {
        judged.push(judge(tool, attempt)?);
    }
    let tries = u32::try_from(judged.len()).unwrap_or(u32::MAX);
    let mut last = judged.pop().ok_or(ReportError::Missing)?;
    if judged.is_empty() || last.report.totals.errors > 0 {
        return Ok(last);
    }
    let mut tests: BTreeMap<String, TestCase> = BTreeMap::new();
    for mut test in judged.into_iter().flat_map(|earlier| earlier.report.tests).chain(last.report.tests) {
        let earlier = tests.remove(&test.id);
        let outcomes = [Some(test.outcome), earlier.as_ref().map(|earlier| earlier.outcome)];
        let has = |wanted: fn(Outcome) -> bool| outcomes.into_iter().flatten().any(wanted);
        let passed = has(|outcome| matches!(outcome, Outcome::Passed | Outcome::Flaky));
        if passed && has(|outcome| outcome.fails() || outcome == Outcome::Flaky) {
            test.outcome = Outcome::Flaky;
        } else if let Some(earlier) = earlier.as_ref().filter(|earlier| earlier.outcome.fails()) {
            // Skipping what failed is no way to pass.
            test.outcome = if test.outcome.fails() { test.outcome } else { earlier.outcome };
        }
        if test.outcome.fails() || test.outcome == Outcome::Flaky {
            test.attempts = test.attempts.max(tries);
            test.message = test.message.take().or(earlier.and_then(|earlier| earlier.message));
        }
        tests.insert(test.id.clone(), test);
    }
    let left_out = last.report.totals.left_out;
    let (files, warnings) = (last.report.totals.files, last.report.totals.warnings);
    last.report.tests = tests.into_values().collect();
    last.report.recount();
    last.report.totals = Totals { files, warnings, left_out, ..last.report.totals };
    // Tests that are only counted may be among those that fail.
    last.passed = (last.passed || left_out == 0) && !last.report.totals.has_faults();
    Ok(last)
}

fn judge_command(
    tool: &dyn Tool,
    command: &CommandOutput<'_>,
    places: &Places<'_>,
) -> Result<Judged, ReportError> {
    let spec = tool.spec();
    let exit = command.exit.ok_or(ReportError::Signal)?;
    if command.capped {
        return Err(ReportError::TooLarge("what it printed was cut off".to_owned()));
    }
    let broken = || ReportError::Broken { exit, said: text::tail(command.stdout, command.stderr, places) };
    let nothing = || ReportError::Nothing(text::tail(command.stdout, command.stderr, places));
    let meaning = spec.meaning(exit);
    match meaning {
        ExitMeaning::Clean | ExitMeaning::Faults => {}
        ExitMeaning::Nothing => return Err(nothing()),
        ExitMeaning::Broken => return Err(broken()),
    }
    let read = tool.read_command(command, places).map(Report::finish);
    if read.as_ref().is_ok_and(|report| report.totals.has_faults()) {
        return read.and_then(|report| decide(spec, report, meaning));
    }
    match tool.beside(command) {
        Some(ExitMeaning::Nothing) => return Err(nothing()),
        Some(ExitMeaning::Broken) => return Err(broken()),
        Some(ExitMeaning::Clean | ExitMeaning::Faults) | None => {}
    }
    let report = match read {
        Err(ReportError::Missing | ReportError::Empty) if meaning == ExitMeaning::Faults => {
            return Err(broken());
        }
        read => read?,
    };
    if meaning == ExitMeaning::Faults && !(spec.gate.runs_tests() && report.tests.is_empty()) {
        let said = text::tail(command.stdout, command.stderr, places);
        return Ok(Judged { passed: false, report: with_exit_status(report, spec, exit, &said) });
    }
    decide(spec, report, meaning)
}

fn decide(spec: &ToolSpec, mut report: Report, meaning: ExitMeaning) -> Result<Judged, ReportError> {
    if report.totals.has_faults() {
        let totals = &report.totals;
        if spec.gate.runs_tests() && totals.errors > 0 {
            report.partial.get_or_insert_with(|| {
                "an error outside of tests may have kept some from running".to_owned()
            });
        } else if spec.gate.runs_tests() && totals.passed + totals.failed + totals.flaky == 0 {
            report.partial.get_or_insert_with(|| "no test came to an end".to_owned());
        }
        return Ok(Judged { passed: false, report });
    }
    if spec.gate.runs_tests() && report.totals.ran() == 0 {
        let skipped = report.totals.skipped;
        return Err(ReportError::Nothing(format!("no test ran, and {skipped} were skipped")));
    }
    if report.totals.files == Some(0) {
        return Err(ReportError::Nothing("no file of the repository was looked at".to_owned()));
    }
    Ok(Judged { passed: meaning == ExitMeaning::Clean, report })
}

/// A status that means faults and a report without one: something failed that the report does not show (D-4).
fn with_exit_status(mut report: Report, spec: &ToolSpec, exit: i32, said: &str) -> Report {
    report.totals.errors += 1;
    report.partial = Some("its exit status says more than its report".to_owned());
    report.diagnostics.insert(
        0,
        Diagnostic {
            path: None,
            line: None,
            column: None,
            rule: Some(EXIT_STATUS.to_owned()),
            message: format!("{} ended with status {exit} and reported no error; it said: {said}", spec.id),
            severity: DiagnosticSeverity::Error,
            end_line: None,
            end_column: None,
        },
    );
    report
}

/// The bytes of the report that our own command makes.
pub(crate) fn report_bytes<'a>(
    spec: &ToolSpec,
    command: &CommandOutput<'a>,
) -> Result<std::borrow::Cow<'a, [u8]>, ReportError> {
    let bytes = match spec.stream {
        Stream::Stdout => command.stdout,
        Stream::Both if command.stderr.is_empty() => command.stdout,
        Stream::Both => {
            checked(command.stderr)?;
            return Ok([command.stdout, b"\n", command.stderr].concat().into());
        }
        Stream::File => command.report_file.ok_or(ReportError::Missing)?,
    };
    checked(bytes).map(Into::into)
}

fn checked(report: &[u8]) -> Result<&[u8], ReportError> {
    if report.len() > MAX_REPORT_BYTES {
        return Err(ReportError::TooLarge(format!(
            "it has {} bytes, the limit is {MAX_REPORT_BYTES}",
            report.len()
        )));
    }
    if report.trim_ascii().is_empty() { Err(ReportError::Empty) } else { Ok(report) }
}
