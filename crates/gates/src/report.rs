//! A parsed report: diagnostics and tests, sorted independently of the report's own order.

use std::collections::BTreeSet;

pub use super::reported_path::ReportedPath;
use qa_contracts::ids::{CommitId, RepoPath};

/// Maximum number of diagnostics, and of tests, in a report; more are only counted.
pub(crate) const MAX_KEPT: usize = 5_000;

/// Severity of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    /// Fails the gate.
    Error,
    /// Is reported without failing the gate (D-9).
    Warning,
}

impl DiagnosticSeverity {
    /// Returns the name on corpus pages.
    #[cfg(test)]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A message of a tool about a source location. Fields are listed in sort order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The file, when the report names one.
    pub path: Option<ReportedPath>,
    /// The first line, from 1.
    pub line: Option<u32>,
    /// The first column, from 1, in whatever unit the tool counts.
    pub column: Option<u32>,
    /// The tool's name for the rule or the error.
    pub rule: Option<String>,
    /// The message, without control characters other than line ends.
    pub message: String,
    pub severity: DiagnosticSeverity,
    /// The last line, from 1.
    pub end_line: Option<u32>,
    /// The column after the last.
    pub end_column: Option<u32>,
}

/// Outcome of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// An assertion failed.
    Failed,
    /// The test did not finish: it failed to load, its setup failed, or the process died.
    Errored,
    /// The test failed and then passed in the same run.
    Flaky,
    /// The test passed.
    Passed,
    /// The test was not run.
    Skipped,
}

impl Outcome {
    /// Returns the name on corpus pages.
    #[cfg(test)]
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Flaky => "flaky",
            Self::Passed => "passed",
            Self::Skipped => "skipped",
        }
    }

    /// Returns whether the outcome fails the gate.
    pub fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Errored)
    }
}

/// A feature, or one of its steps, that a test claims to verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Story {
    /// The feature's id.
    pub feature: u64,
    /// The step's number, from 1; `None` for the feature as a whole.
    pub step: Option<u32>,
}

/// A file written by a test, such as a screenshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The file, when it is inside the repository.
    pub path: Option<RepoPath>,
    /// The name that the test gave it.
    pub(crate) name: String,
    /// The media type as the report states it; empty when it does not.
    pub(crate) media_type: String,
}

impl Attachment {
    /// Returns whether it is a picture: by its media type, or by the file's extension where none is stated.
    pub fn is_screenshot(&self) -> bool {
        if !self.media_type.is_empty() {
            return self.media_type.starts_with("image/");
        }
        let Some(path) = &self.path else { return false };
        let name = path.to_text();
        [".png", ".jpg", ".jpeg", ".webp"].iter().any(|extension| name.ends_with(extension))
    }
}

/// Result of one test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestCase {
    /// Identifies the test across runs: file or module, suites and title. Equal ids in a report are numbered.
    pub id: String,
    pub outcome: Outcome,
    /// Its file, when the report names one.
    pub path: Option<ReportedPath>,
    /// Line of the failure, or else of the test.
    pub line: Option<u32>,
    /// Message of the failure.
    pub message: Option<String>,
    /// Number of attempts in this run, from 1.
    pub attempts: u32,
    /// Features and steps that the test claims to verify, sorted.
    pub stories: Vec<Story>,
    /// Files that the test wrote, sorted.
    pub attachments: Vec<Attachment>,
}

/// Name and version of the tool that wrote a report, as the report states them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolVersion {
    pub(crate) name: String,
    /// The version, when it is stated.
    pub(crate) version: Option<String>,
}

/// Numbers of diagnostics and tests, including those over the limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Diagnostics at error level.
    pub errors: u64,
    /// Diagnostics at warning level.
    pub warnings: u64,
    /// Tests that passed at once.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Tests that could not be run.
    pub errored: u64,
    /// Tests that failed and then passed.
    pub flaky: u64,
    /// Tests that were not run.
    pub skipped: u64,
    /// Files that were checked, if the report counts them.
    pub(crate) files: Option<u64>,
    /// Diagnostics and tests over the limit, which only these totals count.
    pub(crate) left_out: u64,
}

impl Totals {
    /// Returns the number of tests that ran.
    pub(crate) fn ran(&self) -> u64 {
        self.passed + self.failed + self.errored + self.flaky
    }

    /// Returns whether anything counted here fails a gate.
    pub fn has_faults(&self) -> bool {
        self.errors + self.failed + self.errored > 0
    }
}

/// A report, parsed completely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Sorted by path, line, column, rule and message. Over the limit, warnings are dropped before errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Sorted by id. Over the limit, faults and tests with stories are dropped last.
    pub tests: Vec<TestCase>,
    pub totals: Totals,
    /// Files that were checked; `None` if the format does not list them.
    pub looked_at: Option<BTreeSet<RepoPath>>,
    /// The tool that wrote the report.
    pub(crate) tool: Option<ToolVersion>,
    /// The commit that was checked, if the report states it.
    pub commit: Option<CommitId>,
    /// Reason for which the tool may not have checked everything, although the report is complete: it was stopped, or
    /// some tests could not run. Failures that the base has too must not excuse such a report, as it may lack others.
    pub partial: Option<String>,
    /// Reason for which the report may have been truncated between two entries, which only an exit status can rule
    /// out.
    pub(crate) doubt: Option<String>,
}

impl Report {
    /// Joins the reports of one run that were written to several files.
    pub(crate) fn join(reports: Vec<Self>) -> Result<Self, ReportError> {
        let mut reports = reports.into_iter();
        let mut joined = reports.next().ok_or(ReportError::Missing)?;
        for report in reports {
            joined.diagnostics.extend(report.diagnostics);
            joined.tests.extend(report.tests);
            joined.totals.files = match (joined.totals.files, report.totals.files) {
                (Some(left), Some(right)) => Some(left + right),
                (left, right) => left.or(right),
            };
            joined.looked_at = match (joined.looked_at, report.looked_at) {
                (Some(left), Some(right)) => Some(left.into_iter().chain(right).collect()),
                (_, _) => None,
            };
            if joined.commit.is_some() && report.commit.is_some() && joined.commit != report.commit {
                return Err(ReportError::Inconsistent("its files name two commits".to_owned()));
            }
            joined.commit = joined.commit.or(report.commit);
            joined.partial = joined.partial.or(report.partial);
            joined.doubt = joined.doubt.or(report.doubt);
        }
        Ok(joined)
    }

    /// Adds a commit that the report states. A report of two commits cannot be said to be of one.
    pub(crate) fn add_commit(&mut self, commit: CommitId) -> Result<(), ReportError> {
        if self.commit.as_ref().is_some_and(|known| *known != commit) {
            return Err(ReportError::Inconsistent("it names two commits".to_owned()));
        }
        self.commit = Some(commit);
        Ok(())
    }

    /// Sorts the report, numbers equal ids, counts, and drops what is over the limit.
    pub(crate) fn finish(mut self) -> Self {
        self.diagnostics.sort();
        self.diagnostics.dedup();
        for test in &mut self.tests {
            sort_stories(&mut test.stories);
            test.attachments.sort();
            test.attachments.dedup();
        }
        self.tests.sort();
        number_equal_ids(&mut self.tests);
        self.count();
        let before = self.diagnostics.len() + self.tests.len();
        truncate(&mut self.diagnostics, |diagnostic| diagnostic.severity == DiagnosticSeverity::Error);
        truncate(&mut self.tests, |test| {
            test.outcome.fails() || test.outcome == Outcome::Flaky || !test.stories.is_empty()
        });
        self.totals.left_out = (before - self.diagnostics.len() - self.tests.len()) as u64;
        self
    }

    /// Recomputes the totals after a change of outcomes.
    pub(super) fn recount(&mut self) {
        self.totals = Totals::default();
        self.count();
    }

    fn count(&mut self) {
        let totals = &mut self.totals;
        for diagnostic in &self.diagnostics {
            match diagnostic.severity {
                DiagnosticSeverity::Error => totals.errors += 1,
                DiagnosticSeverity::Warning => totals.warnings += 1,
            }
        }
        for test in &self.tests {
            match test.outcome {
                Outcome::Passed => totals.passed += 1,
                Outcome::Failed => totals.failed += 1,
                Outcome::Errored => totals.errored += 1,
                Outcome::Flaky => totals.flaky += 1,
                Outcome::Skipped => totals.skipped += 1,
            }
        }
    }
}

/// Renames the second test of an id to `id #2`, since all rows of a table-driven test may share one name.
fn number_equal_ids(tests: &mut [TestCase]) {
    let mut previous = String::new();
    let mut seen = 1;
    for test in tests {
        if test.id == previous {
            seen += 1;
            test.id = format!("{previous} #{seen}");
        } else {
            previous = test.id.clone();
            seen = 1;
        }
    }
}

/// Keeps the first [`MAX_KEPT`] items in their order, and prefers important ones.
fn truncate<T>(items: &mut Vec<T>, important: impl Fn(&T) -> bool) {
    if items.len() <= MAX_KEPT {
        return;
    }
    let mut room = MAX_KEPT;
    let mut rest = MAX_KEPT.saturating_sub(items.iter().filter(|item| important(item)).count());
    items.retain(|item| {
        let place = if important(item) { &mut room } else { &mut rest };
        let kept = *place > 0;
        *place = place.saturating_sub(1);
        kept
    });
}

/// Sorts stories, and removes duplicates and whole features of which steps are listed.
pub(crate) fn sort_stories(stories: &mut Vec<Story>) {
    stories.sort();
    stories.dedup();
    let with_steps: Vec<u64> =
        stories.iter().filter(|story| story.step.is_some()).map(|story| story.feature).collect();
    stories.retain(|story| story.step.is_some() || with_steps.binary_search(&story.feature).is_err());
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)*) => {
        /// File format of a report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ReportFormat { $($(#[$doc])* $variant,)* }

        impl ReportFormat {
            /// Every format, by name.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the name used in the policy.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// Returns the format with that name.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|format| format.as_str() == text)
            }
        }
    };
}

formats! {
    /// JSON messages, one per line, as `cargo --message-format=json` writes them.
    CargoJson = "cargo-json";
    /// [`ReportFormat::CargoJson`] with libtest's text between the lines.
    CargoTest = "cargo-test";
    /// Checkstyle's XML.
    Checkstyle = "checkstyle";
    /// ESLint's formatter `json`.
    EslintJson = "eslint-json";
    /// `go test -json`.
    GoTestJson = "go-test-json";
    /// `go vet -json`.
    GoVetJson = "go-vet-json";
    /// Jest's `--json`, which is also Vitest's reporter `json`.
    JestJson = "jest-json";
    /// JUnit XML, in any of its dialects.
    Junit = "junit";
    /// JSON messages, one per line, as libtest and cargo-nextest write them.
    LibtestJson = "libtest-json";
    /// `mypy --output json`.
    MypyJson = "mypy-json";
    /// mypy's lines of text with its summary.
    MypyText = "mypy-text";
    /// Playwright's reporter `json`.
    PlaywrightJson = "playwright-json";
    /// `ruff check --output-format json`.
    RuffJson = "ruff-json";
    /// SARIF 2.1.0.
    Sarif = "sarif";
    /// TAP, versions 12 to 14.
    Tap = "tap";
    /// `tsc --pretty false --listFiles`.
    TscText = "tsc-text";
}

impl ReportFormat {
    /// Returns whether a report of the format lists every file that was looked at, clean ones included.
    pub fn lists_files(self) -> bool {
        match self {
            Self::EslintJson | Self::TscText => true,
            Self::CargoJson
            | Self::CargoTest
            | Self::Checkstyle
            | Self::GoTestJson
            | Self::GoVetJson
            | Self::JestJson
            | Self::Junit
            | Self::LibtestJson
            | Self::MypyJson
            | Self::MypyText
            | Self::PlaywrightJson
            | Self::RuffJson
            | Self::Sarif
            | Self::Tap => false,
        }
    }

    /// Returns the name of the format in messages.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Checkstyle => "XML of Checkstyle",
            Self::Junit => "JUnit XML",
            Self::Sarif => "SARIF",
            Self::Tap => "TAP",
            Self::CargoJson
            | Self::CargoTest
            | Self::EslintJson
            | Self::GoTestJson
            | Self::GoVetJson
            | Self::JestJson
            | Self::LibtestJson
            | Self::MypyJson
            | Self::MypyText
            | Self::PlaywrightJson
            | Self::RuffJson
            | Self::TscText => self.as_str(),
        }
    }
}

/// Base directories for making the paths of a report relative to the repository.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Absolute paths of the repository's root while the tool ran. Readers add the well-known workspaces of CI
    /// runners.
    pub roots: &'a [&'a str],
    /// Base of relative paths, from the root of the repository; empty for the root.
    pub directory: &'a str,
    /// The Go import path of `directory`; empty for other languages.
    pub module: &'a str,
}

/// A missing result. The message completes "failed to read the result of …". None of these is a pass, and none is a
/// fault of the checked code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A signal ended the tool.
    #[error("a signal ended it")]
    Signal,
    /// The tool could not do its work.
    #[error("it ended with status {exit}: {output}")]
    Broken {
        /// The exit status.
        exit: i32,
        /// The last lines that the tool printed.
        output: String,
    },
    /// There is no report.
    #[error("it left no report")]
    Missing,
    /// The report has no bytes.
    #[error("its report is empty")]
    Empty,
    /// The report is over a limit.
    #[error("its report is over a limit: {0}")]
    TooLarge(String),
    /// The report does not follow its format, or is truncated.
    #[error("its report cannot be read: {0}")]
    Unreadable(String),
    /// The report states that the tool did not finish.
    #[error("its report says that it did not finish: {0}")]
    Unfinished(String),
    /// The report contradicts itself.
    #[error("its report contradicts itself: {0}")]
    Inconsistent(String),
    /// No test ran, or no file was checked.
    #[error("there was nothing to run: {0}")]
    Nothing(String),
    /// The tool has no reader for the format.
    #[error("it is not imported from {}", .0.as_str())]
    Format(ReportFormat),
}

impl ReportError {
    /// Returns [`ReportError::Unreadable`] with a reason.
    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self::Unreadable(what.into())
    }

    /// Returns the error with the file that it is about, of a report in several.
    pub(crate) fn in_file(self, path: &str) -> Self {
        match self {
            Self::TooLarge(problem) => Self::TooLarge(format!("{path}: {problem}")),
            Self::Unreadable(problem) => Self::Unreadable(format!("{path}: {problem}")),
            Self::Unfinished(problem) => Self::Unfinished(format!("{path}: {problem}")),
            Self::Inconsistent(problem) => Self::Inconsistent(format!("{path}: {problem}")),
            Self::Nothing(problem) => Self::Nothing(format!("{path}: {problem}")),
            Self::Empty => Self::Unreadable(format!("{path} is empty")),
            Self::Signal | Self::Broken { .. } | Self::Missing | Self::Format(_) => self,
        }
    }

    /// Returns the variant's name on corpus pages.
    #[cfg(test)]
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::Broken { .. } => "broken",
            Self::Missing => "missing",
            Self::Empty => "empty",
            Self::TooLarge(_) => "too-large",
            Self::Unreadable(_) => "unreadable",
            Self::Unfinished(_) => "unfinished",
            Self::Inconsistent(_) => "inconsistent",
            Self::Nothing(_) => "nothing",
            Self::Format(_) => "format",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(number: usize, severity: DiagnosticSeverity) -> Diagnostic {
        Diagnostic {
            path: None,
            line: u32::try_from(number).ok(),
            column: None,
            rule: None,
            message: String::new(),
            severity,
            end_line: None,
            end_column: None,
        }
    }

    fn test(id: &str, outcome: Outcome) -> TestCase {
        let stories = Vec::new();
        let attachments = Vec::new();
        TestCase {
            id: id.to_owned(),
            outcome,
            path: None,
            line: None,
            message: None,
            attempts: 1,
            stories,
            attachments,
        }
    }

    #[test]
    fn what_is_over_the_limit_is_counted_and_faults_stay() {
        let warnings = (1..=MAX_KEPT).map(|number| diagnostic(number, DiagnosticSeverity::Warning));
        let errors = (1..=10).map(|number| diagnostic(MAX_KEPT + number, DiagnosticSeverity::Error));
        let tests = (0..MAX_KEPT).map(|number| test(&format!("a{number}"), Outcome::Passed));
        let tests = tests.chain([test("z", Outcome::Failed)]).collect();
        let report =
            Report { diagnostics: warnings.chain(errors).collect(), tests, ..Report::default() }.finish();
        assert_eq!((report.diagnostics.len(), report.tests.len()), (MAX_KEPT, MAX_KEPT));
        let kept = report.diagnostics.iter().filter(|it| it.severity == DiagnosticSeverity::Error).count();
        assert_eq!((kept, report.totals.errors, report.totals.warnings), (10, 10, MAX_KEPT as u64));
        assert_eq!(
            (report.totals.passed, report.totals.failed, report.totals.left_out),
            (MAX_KEPT as u64, 1, 11)
        );
        assert_eq!(report.tests.last().map(|test| test.outcome), Some(Outcome::Failed));
    }

    #[test]
    fn tests_of_one_name_are_numbered_in_an_order_of_their_own() {
        let turned = |tests: Vec<TestCase>| Report { tests, ..Report::default() }.finish().tests;
        let (one, two) = (test("a", Outcome::Failed), test("a", Outcome::Passed));
        let forward = turned(vec![one.clone(), two.clone()]);
        assert_eq!(forward, turned(vec![two, one]));
        assert_eq!(forward.iter().map(|test| test.id.as_str()).collect::<Vec<_>>(), ["a", "a #2"]);
    }
}
