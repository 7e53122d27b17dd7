//! What a report says once it is read: diagnostics and tests, in an order that the report did not choose.

use qa_contracts::ids::{CommitId, RepoPath};

/// The most diagnostics and the most tests kept; the rest is counted.
pub(crate) const MAX_KEPT: usize = 5_000;

/// How bad a diagnostic is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    /// Fails the gate.
    Error,
    /// Is told and changes nothing (D-9).
    Warning,
}

impl DiagnosticSeverity {
    /// Returns the name on corpus pages.
    #[cfg(test)]
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// What a tool says about a place. The order of the members is the order of a report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Diagnostic {
    /// The file, when the report names one inside the repository.
    pub path: Option<RepoPath>,
    /// The first line, from 1.
    pub line: Option<u32>,
    /// The first column, from 1, in whatever unit the tool counts.
    pub column: Option<u32>,
    /// The tool's name for the rule or the error.
    pub rule: Option<String>,
    /// What it says, without control characters other than line ends.
    pub message: String,
    /// How bad it is.
    pub severity: DiagnosticSeverity,
    /// The last line.
    pub end_line: Option<u32>,
    /// The column after the last.
    pub end_column: Option<u32>,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// It asserted something that is not so.
    Failed,
    /// It could not be run to an end: it does not load, its setup failed, the process died.
    Errored,
    /// It failed and then passed in the same run.
    Flaky,
    /// It passed.
    Passed,
    /// It was not run.
    Skipped,
}

impl Outcome {
    /// Returns the name on corpus pages.
    #[cfg(test)]
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Errored => "errored",
            Self::Flaky => "flaky",
            Self::Passed => "passed",
            Self::Skipped => "skipped",
        }
    }

    /// Whether it fails the gate.
    pub fn fails(self) -> bool {
        matches!(self, Self::Failed | Self::Errored)
    }
}

/// A feature, and the step of it, that a test says it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Story {
    /// The feature's id.
    pub feature: u64,
    /// The step's number, from 1; `None` for the feature as a whole.
    pub step: Option<u32>,
}

/// A file that a test left, such as a screenshot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The file, when it is inside the repository.
    pub path: Option<RepoPath>,
    /// What the test calls it.
    pub(crate) name: String,
    /// The media type as the report states it; empty when it does not.
    pub(crate) media_type: String,
}

impl Attachment {
    /// Whether it is a picture.
    pub fn is_screenshot(&self) -> bool {
        let ends = |name: &str| [".png", ".jpg", ".jpeg", ".webp"].iter().any(|end| name.ends_with(end));
        self.media_type.starts_with("image/")
            || (self.media_type.is_empty() && self.path.as_ref().is_some_and(|path| ends(&path.to_text())))
    }
}

/// A test.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestCase {
    /// Names it from run to run: file or module, suites and title. Equal ids of a report are numbered.
    pub id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Its file, when the report names one inside the repository.
    pub path: Option<RepoPath>,
    /// Where it, or its failure, stands.
    pub line: Option<u32>,
    /// Why it failed.
    pub message: Option<String>,
    /// How often it was tried in this run.
    pub attempts: u32,
    /// What it says it shows, sorted.
    pub stories: Vec<Story>,
    /// What it left, sorted.
    pub attachments: Vec<Attachment>,
}

/// A tool as a report names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolVersion {
    /// The name.
    pub(crate) name: String,
    /// The version, when it is stated.
    pub(crate) version: Option<String>,
}

/// How much there is of everything, before anything was left out.
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
    /// Files that were looked at, when the report counts them.
    pub(crate) files: Option<u64>,
    /// Diagnostics and tests over the limit, which only these totals count.
    pub(crate) left_out: u64,
}

impl Totals {
    /// Tests that ran.
    pub(crate) fn ran(&self) -> u64 {
        self.passed + self.failed + self.errored + self.flaky
    }

    /// Whether anything of it fails a gate.
    pub fn has_faults(&self) -> bool {
        self.errors + self.failed + self.errored > 0
    }
}

/// A report, read whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// By path, line, column, rule and message; errors are never left out before warnings.
    pub diagnostics: Vec<Diagnostic>,
    /// By id; faults and tests of stories are never left out before the rest.
    pub tests: Vec<TestCase>,
    /// How much there is.
    pub totals: Totals,
    /// Who made it.
    pub(crate) tool: Option<ToolVersion>,
    /// The commit it was made of, where it says so.
    pub commit: Option<CommitId>,
    /// Why not everything was looked at, although the report is whole: something stopped the tool, or kept tests from
    /// running. What the base says too must not excuse such a report: nobody knows what the rest would have said.
    pub partial: Option<String>,
    /// Why it may have been cut between two entries, which an exit status can rule out and nothing else.
    pub(crate) doubt: Option<String>,
}

impl Report {
    /// Puts everything in order, numbers equal ids, counts, and leaves out what is over the limit.
    pub(crate) fn finish(mut self) -> Self {
        self.diagnostics.sort();
        self.diagnostics.dedup();
        for test in &mut self.tests {
            super::tags::in_order(&mut test.stories);
            test.attachments.sort();
            test.attachments.dedup();
        }
        self.tests.sort();
        number_equal_ids(&mut self.tests);
        self.count();
        let before = self.diagnostics.len() + self.tests.len();
        keep(&mut self.diagnostics, |diagnostic| diagnostic.severity == DiagnosticSeverity::Error);
        keep(&mut self.tests, |test| {
            test.outcome.fails() || test.outcome == Outcome::Flaky || !test.stories.is_empty()
        });
        self.totals.left_out = (before - self.diagnostics.len() - self.tests.len()) as u64;
        self
    }

    /// Counts again, after outcomes were changed.
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

/// The second test of an id becomes `id #2`: a table of cases may give all its rows one name.
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

/// Keeps the first [`MAX_KEPT`], important ones before others, in their order.
fn keep<T>(items: &mut Vec<T>, important: impl Fn(&T) -> bool) {
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
