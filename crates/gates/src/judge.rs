//! Decides whether a gate passed, from its exit status and its report.

use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
use super::contract::{
    CommandOutput, Diagnostic, DiagnosticSeverity, ExitMeaning, GateName, ImportEnd, Output, Places, Report,
    ReportError, ReportFile, ReportFormat, Source, Tool, ToolSpec, checked,
};
use super::readers::likely::likely_format;
use super::report::{Outcome, TestCase, Totals};
use super::text;

/// Rule of the diagnostic for an exit status that means faults beside a report without one.
pub(crate) const EXIT_STATUS: &str = "exit-status";

/// Result of a tool whose report could be read completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// True if the tool found no fault.
    pub passed: bool,
    /// The tool's report, with a diagnostic for an exit status that it does not explain.
    pub report: Report,
    /// Exit statuses other than 0 of the attempts; `None` if nobody recorded how the command ended.
    pub statuses: Option<BTreeSet<i32>>,
    /// Reason for which the command has no result, beside a report with faults that it left.
    pub broken: Option<ReportError>,
}

impl Judged {
    /// Returns the exit statuses that the faults of this report explain, where another report has the same faults: those
    /// with which its command ended. Where nobody recorded it, a tool with one status for faults ended with that.
    pub fn explained_statuses(&self, spec: &ToolSpec) -> BTreeSet<i32> {
        match &self.statuses {
            Some(statuses) => statuses.clone(),
            None => spec.only_fault_status().into_iter().collect(),
        }
    }
}

/// Reads a tool's output and decides whether it is a pass.
///
/// It is a pass only if the exit status, where there is one, means "clean", the report was read to its end, nothing in
/// it is at error level, and, where the gate has tests, one of them ran and none failed. Output that cannot be read and
/// a run without tests are errors, which are never a pass.
pub fn judge(tool: &dyn Tool, output: &Output<'_>) -> Result<Judged, ReportError> {
    let judge = Judge { spec: tool.spec(), gate: output.gate };
    match &output.source {
        Source::Import { format, reports, end } => {
            let mut report = read_files(tool, *format, reports, &output.places)?.finish();
            if let ImportEnd::Recorded(exit) = end {
                return judge.recorded_import(report, *exit);
            }
            if let Some(doubt) = &report.doubt {
                if !report.totals.has_faults() {
                    return Err(ReportError::Unreadable(doubt.clone()));
                }
                report.partial.get_or_insert_with(|| doubt.clone());
            }
            judge.decide(report, None)
        }
        Source::Command(command) => judge.command(tool, command, &output.places),
    }
}

/// Reads the files of a report. A file in which nothing ran is skipped, unless it is the same with all of them.
fn read_files(
    tool: &dyn Tool,
    format: ReportFormat,
    files: &[ReportFile<'_>],
    places: &Places<'_>,
) -> Result<Report, ReportError> {
    if !tool.spec().formats.contains(&format) {
        return Err(ReportError::Format(format));
    }
    let mut read = Vec::with_capacity(files.len());
    let mut idle = None;
    for file in files {
        let report = checked(file.bytes).and_then(|bytes| {
            let report = tool.read_report(format, bytes, places);
            report.map_err(|error| with_likely_format(error, tool.spec(), format, bytes))
        });
        match report.map_err(|error| if files.len() == 1 { error } else { error.in_file(file.path) }) {
            Ok(report) => read.push(report),
            Err(error @ ReportError::Nothing(_)) => drop(idle.get_or_insert(error)),
            Err(error) => return Err(error),
        }
    }
    match idle {
        Some(idle) if read.is_empty() => Err(idle),
        Some(_) | None => Report::join(read),
    }
}

/// Returns an error that names the format that the report seems to have, where that is another.
fn with_likely_format(
    error: ReportError,
    spec: &ToolSpec,
    format: ReportFormat,
    report: &[u8],
) -> ReportError {
    let is_part_of_format = format == ReportFormat::CargoTest;
    let likely = likely_format(report).filter(|&likely| likely != format && !is_part_of_format);
    let Some(likely) = likely else { return error };
    let looks = format!("it looks like {}", likely.title());
    if spec.formats.contains(&likely) {
        return ReportError::unreadable(format!("{looks}; set `format = \"{}\"`", likely.as_str()));
    }
    // Only generic tools are sent to another reader: for a known tool, that reader may hide failures.
    let readers: Vec<String> = ALL
        .iter()
        .map(|tool| tool.spec())
        .filter(|other| spec.is_generic() && other.formats[0] == likely)
        .filter(|other| other.gates.iter().any(|&gate| spec.serves(gate)))
        .map(|other| format!("`tool = \"{}\"`", other.id))
        .collect();
    ReportError::unreadable(if readers.is_empty() {
        format!("{looks}, which is not read for {}", spec.id)
    } else {
        format!("{looks}; set {}", readers.join(" or "))
    })
}

/// Judges several attempts at one command: made because a test failed in the one before (C-15), or to confirm a pass.
///
/// A test that passed in one attempt and failed in another is flaky. If no attempt passed as a whole, what fails in the
/// last one stands: tests that fail in turns could hide a command that never succeeds. Diagnostics are those of the last
/// attempt. An attempt that cannot be judged makes the whole an error.
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
    for earlier in &judged {
        let statuses = earlier.statuses.iter().flatten().copied();
        last.statuses.get_or_insert_default().extend(statuses);
    }
    let has_passed = last.passed || judged.iter().any(|earlier| earlier.passed);
    let failing: BTreeSet<String> = match has_passed {
        true => BTreeSet::new(),
        false => failing_tests(&last.report).map(|test| test.id.clone()).collect(),
    };
    let mut tests: BTreeMap<String, TestCase> = BTreeMap::new();
    for mut test in judged.into_iter().flat_map(|earlier| earlier.report.tests).chain(last.report.tests) {
        let earlier = tests.remove(&test.id);
        if let Some(earlier) = &earlier
            && !(test.outcome.fails() && failing.contains(&test.id))
        {
            test.outcome = merge_outcomes(earlier.outcome, test.outcome);
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
    // Tests over the limit are only counted, and may be among those that fail.
    last.passed = (last.passed || left_out == 0) && !last.report.totals.has_faults();
    Ok(last)
}

fn failing_tests(report: &Report) -> impl Iterator<Item = &TestCase> {
    report.tests.iter().filter(|test| test.outcome.fails())
}

/// Returns the outcome of a test over two attempts.
fn merge_outcomes(earlier: Outcome, later: Outcome) -> Outcome {
    let outcomes = [earlier, later];
    let has_passed = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Passed | Outcome::Flaky));
    let has_failed = outcomes.iter().any(|outcome| outcome.fails() || *outcome == Outcome::Flaky);
    if has_passed && has_failed {
        Outcome::Flaky
    } else if earlier.fails() && !later.fails() {
        // Skipping a test that failed is no way to pass.
        earlier
    } else {
        later
    }
}

/// Judges what a tool left for a gate.
struct Judge {
    spec: &'static ToolSpec,
    gate: GateName,
}

impl Judge {
    /// Judges a report whose command left its exit status. What only that could show is no doubt any more.
    fn recorded_import(&self, report: Report, exit: Option<i32>) -> Result<Judged, ReportError> {
        let output = "its output is in the log of its step";
        let exit = match self.completed(exit, output) {
            Err(broken) if report.totals.has_faults() => return self.with_broken(report, exit, broken),
            ended => ended?,
        };
        if self.spec.exit_meaning(exit) == ExitMeaning::Faults && !report.totals.has_faults() {
            return self.unexplained(report, exit, output);
        }
        self.decide(report, Some(exit))
    }

    /// Returns the exit status of a command that has a result.
    fn completed(&self, exit: Option<i32>, output: &str) -> Result<i32, ReportError> {
        let exit = exit.ok_or(ReportError::Signal)?;
        match self.spec.exit_meaning(exit) {
            ExitMeaning::Clean | ExitMeaning::Faults => Ok(exit),
            ExitMeaning::Nothing => Err(ReportError::Nothing(output.to_owned())),
            ExitMeaning::Broken => Err(ReportError::Broken { exit, output: output.to_owned() }),
        }
    }

    /// Keeps the faults that a command without a result reported before it ended.
    fn with_broken(
        &self,
        mut report: Report,
        exit: Option<i32>,
        broken: ReportError,
    ) -> Result<Judged, ReportError> {
        report.partial.get_or_insert_with(|| broken.to_string());
        Ok(Judged { broken: Some(broken), ..self.decide(report, exit)? })
    }

    /// Fails a report that does not contain the faults which its command's exit status means.
    fn unexplained(&self, report: Report, exit: i32, output: &str) -> Result<Judged, ReportError> {
        self.decide(with_exit_status(report, exit, output), Some(exit))
    }

    fn command(
        &self,
        tool: &dyn Tool,
        command: &CommandOutput<'_>,
        places: &Places<'_>,
    ) -> Result<Judged, ReportError> {
        if command.capped {
            return Err(ReportError::TooLarge("what it printed was cut off".to_owned()));
        }
        // A report on standard output explains nothing; only other output is quoted.
        let is_report =
            command.format.is_some() && command.reports.iter().any(|it| it.bytes == command.stdout);
        let printed = if is_report { b"" } else { command.stdout };
        let output = text::tail(printed, command.stderr, places);
        let completed = self.completed(command.exit, &output);
        let read = match command.format {
            None => tool.read_command(command, places),
            Some(format) => read_files(tool, format, command.reports, places),
        };
        let read = match read.map(Report::finish) {
            Ok(report) if report.totals.has_faults() => {
                return match completed {
                    Ok(exit) => self.decide(report, Some(exit)),
                    Err(broken) => self.with_broken(report, command.exit, broken),
                };
            }
            read => read,
        };
        let exit = completed?;
        match tool.printed_meaning(command) {
            Some(ExitMeaning::Nothing) => return Err(ReportError::Nothing(output)),
            Some(ExitMeaning::Broken) => return Err(ReportError::Broken { exit, output }),
            Some(ExitMeaning::Clean | ExitMeaning::Faults) | None => {}
        }
        let meaning = self.spec.exit_meaning(exit);
        let report = match read {
            Err(ReportError::Missing | ReportError::Empty) if meaning == ExitMeaning::Faults => {
                return Err(ReportError::Broken { exit, output });
            }
            read => read?,
        };
        if meaning == ExitMeaning::Faults && !(self.gate.runs_tests() && report.tests.is_empty()) {
            return self.unexplained(report, exit, &output);
        }
        self.decide(report, Some(exit))
    }

    /// Decides whether a complete report is a pass. `exit` is the status of its command, where that is known.
    fn decide(&self, mut report: Report, exit: Option<i32>) -> Result<Judged, ReportError> {
        let statuses = exit.map(|exit| [exit].into_iter().filter(|&exit| exit != 0).collect());
        let runs_tests = self.gate.runs_tests();
        if report.totals.has_faults() {
            let totals = &report.totals;
            if runs_tests && totals.errors > 0 {
                report.partial.get_or_insert_with(|| {
                    "an error outside of tests may have kept some from running".to_owned()
                });
            } else if runs_tests && totals.passed + totals.failed + totals.flaky == 0 {
                report.partial.get_or_insert_with(|| "no test came to an end".to_owned());
            }
            return Ok(Judged { passed: false, report, statuses, broken: None });
        }
        // Linters that report a test for each file have looked at none whose test was skipped.
        if (runs_tests || report.totals.skipped > 0) && report.totals.ran() == 0 {
            let skipped = report.totals.skipped;
            return Err(ReportError::Nothing(format!("no test ran, and {skipped} were skipped")));
        }
        if report.totals.files == Some(0) {
            return Err(ReportError::Nothing("no file of the repository was looked at".to_owned()));
        }
        let passed = exit.is_none_or(|exit| self.spec.exit_meaning(exit) == ExitMeaning::Clean);
        Ok(Judged { passed, report, statuses, broken: None })
    }
}

/// Adds a diagnostic for an exit status that means faults which the report does not contain (D-4).
fn with_exit_status(mut report: Report, exit: i32, output: &str) -> Report {
    let only = match report.totals.warnings {
        0 => String::new(),
        1 => ", only 1 warning".to_owned(),
        warnings => format!(", only {warnings} warnings"),
    };
    report.totals.errors += 1;
    report.partial = Some("its exit status says more than its report".to_owned());
    report.diagnostics.insert(
        0,
        Diagnostic {
            path: None,
            line: None,
            column: None,
            rule: Some(EXIT_STATUS.to_owned()),
            message: format!(
                "its command ended with status {exit} and reported no error{only}; it said: {output}"
            ),
            severity: DiagnosticSeverity::Error,
            end_line: None,
            end_column: None,
        },
    );
    report
}
