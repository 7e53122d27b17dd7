//! What a tool of a gate is: a description, the command it is run with, and pure functions from output to data.

pub(crate) use qa_contracts::v1::GateName;

pub use super::report::{Attachment, Diagnostic, DiagnosticSeverity, Outcome, Report, Story, TestCase};

/// What a project is written in, as far as it decides about tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Language {
    /// JavaScript and TypeScript.
    Node,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// Go.
    Go,
}

impl Language {
    /// Returns the name in the documentation.
    #[cfg(test)]
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Python => "python",
            Self::Rust => "rust",
            Self::Go => "go",
        }
    }
}

macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $text:literal;)*) => {
        /// The form of a report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ReportFormat { $($(#[$doc])* $variant,)* }

        impl ReportFormat {
            /// Every format, by name.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in the policy.
            pub fn text(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            /// The format of that name.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|format| format.text() == text)
            }
        }
    };
}

formats! {
    /// One JSON message per line, as `cargo --message-format=json` writes them.
    CargoJson = "cargo-json";
    /// As [`ReportFormat::CargoJson`], with libtest's text between the lines.
    CargoTest = "cargo-test";
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
    /// One JSON message per line, as libtest and cargo-nextest write them.
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
    /// `tsc --pretty false --listFiles`.
    TscText = "tsc-text";
}

/// Where a tool's own command leaves its report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// On standard output.
    Stdout,
    /// On standard output, then standard error: the tool uses one for clean and another for broken code.
    Both,
    /// In [`CommandTemplate::report_file`].
    File,
}

/// What a tool means by an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitMeaning {
    /// Nothing at error level was found.
    Clean,
    /// Something was found, and the report says what.
    Faults,
    /// There was nothing to run.
    Nothing,
    /// The tool itself could not do its work.
    Broken,
}

/// A tool as the policy, the documentation and the corpus know it.
#[derive(Debug)]
pub struct ToolSpec {
    /// Kebab-case; the file in snake_case and the corpus page have the same name.
    pub id: &'static str,
    /// Changed whenever the same output may give another result; it is part of the execution key.
    pub version: &'static str,
    /// The gate it stands for.
    pub gate: GateName,
    /// The language of its projects.
    pub(crate) language: Language,
    /// One sentence.
    pub about: &'static str,
    /// What it may be imported from; the first is what our own command makes.
    pub formats: &'static [ReportFormat],
    /// Where our own command leaves the report.
    pub(crate) stream: Stream,
    /// What its exit statuses mean; one that is not listed means [`ExitMeaning::Broken`].
    pub(crate) exits: &'static [(i32, ExitMeaning)],
}

impl ToolSpec {
    /// Whether a gate may read its reports. Any test may show a step of a feature.
    pub fn serves(&self, gate: GateName) -> bool {
        self.gate == gate || gate == GateName::StoryValidation && self.gate.runs_tests()
    }

    /// What an exit status means.
    pub(crate) fn meaning(&self, exit: i32) -> ExitMeaning {
        let known = self.exits.iter().find(|(status, _)| *status == exit);
        known.map_or(ExitMeaning::Broken, |(_, meaning)| *meaning)
    }
}

/// A tool of a gate.
///
/// The gates call it and nothing else does. An implementation performs no input or output, keeps no state, and gives
/// the same result for the same arguments; whether something passed is said by [`super::judge::judge`] alone.
pub trait Tool: Sync {
    /// The description.
    fn spec(&self) -> &'static ToolSpec;

    /// The command for a project; `None` when the project does not use the tool.
    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate>;

    /// Reads a report in one of the formats of [`ToolSpec::formats`]. Refuses what is not a whole report of that format.
    fn read(&self, format: ReportFormat, report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
        super::readers::read(format, report, places)
    }

    /// Reads what a command of ours left, which is a report of the first format unless the tool needs more than that.
    fn read_command(&self, command: &CommandOutput<'_>, places: &Places<'_>) -> Result<Report, ReportError> {
        let report = super::judge::report_bytes(self.spec(), command)?;
        self.read(self.spec().formats[0], &report, places)
    }

    /// What the tool printed beside its report, where that changes what its status means. Asked only when the report
    /// has no fault or cannot be read.
    fn beside(&self, _command: &CommandOutput<'_>) -> Option<ExitMeaning> {
        None
    }
}

/// A directory of the repository with a manifest, and what decides about tools there.
#[derive(Debug, Clone, Copy)]
pub struct Project<'a> {
    /// From the root of the repository; empty for the root itself.
    pub(crate) directory: &'a str,
    /// Manifests and configurations in that directory and above it, as path and text, nearest first.
    pub(crate) manifests: &'a [(&'a str, &'a str)],
    /// Paths of files in that directory and directly in those above it, sorted.
    pub(crate) paths: &'a [&'a str],
}

/// A command line made of static words and paths of the project; there is no shell and no text of a script in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    /// The program's plain name, which the caller resolves to a trusted place, and its arguments.
    pub argv: Vec<String>,
    /// Where it runs, from the root of the repository; empty for the root.
    pub directory: String,
    /// The file it writes its report to, from `directory`. The caller makes sure that there is none before.
    pub report_file: Option<String>,
    /// Prints the version.
    pub version_argv: Vec<String>,
    /// Whether a failed run may be tried again (C-15).
    pub retries: bool,
    /// For [`Places::module`]; empty where Go is not spoken.
    pub module: String,
}

/// How to make paths in a report relative to the repository.
#[derive(Debug, Clone, Copy)]
pub struct Places<'a> {
    /// Absolute paths that the root of the repository had while the tool ran. Well-known workspaces of runners are
    /// added to them.
    pub roots: &'a [&'a str],
    /// What relative paths are relative to, from the root of the repository; empty for the root.
    pub directory: &'a str,
    /// The name by which Go calls `directory`; empty elsewhere.
    pub module: &'a str,
}

/// What a command of ours left behind.
#[derive(Debug, Clone, Copy)]
pub struct CommandOutput<'a> {
    /// Standard output, whole.
    pub stdout: &'a [u8],
    /// Standard error, whole.
    pub stderr: &'a [u8],
    /// The report, when the template names a file and it exists.
    pub report_file: Option<&'a [u8]>,
    /// The exit status; `None` when a signal ended it.
    pub exit: Option<i32>,
    /// Whether any of the streams or the report is not whole because it was over a limit.
    pub capped: bool,
}

/// Where a report comes from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A command of ours.
    Command(CommandOutput<'a>),
    /// A file that an earlier step made; how that step ended is not known.
    Import {
        /// The declared format.
        format: ReportFormat,
        /// The file.
        report: &'a [u8],
    },
}

/// Where a report comes from and how its paths are to be read.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The bytes.
    pub source: Source<'a>,
    /// The paths.
    pub places: Places<'a>,
}

/// Why there is no result. Completes "failed to read the result of …". None of these is a pass, and none is a fault of
/// the code that was looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReportError {
    /// A signal ended the tool.
    #[error("a signal ended it")]
    Signal,
    /// The tool could not do its work.
    #[error("it ended with status {exit}: {said}")]
    Broken {
        /// The exit status.
        exit: i32,
        /// The end of what it printed.
        said: String,
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
    /// The report is not what its format says, or ends before its end.
    #[error("its report cannot be read: {0}")]
    Unreadable(String),
    /// The report says that the tool did not get to the end of its work.
    #[error("its report says that it did not finish: {0}")]
    Unfinished(String),
    /// The report contradicts itself.
    #[error("its report contradicts itself: {0}")]
    Inconsistent(String),
    /// No test ran, or no file was looked at.
    #[error("there was nothing to run: {0}")]
    Nothing(String),
    /// The tool has no reader for the format.
    #[error("it is not imported from {}", .0.text())]
    Format(ReportFormat),
}

impl ReportError {
    /// Shorthand for the commonest case.
    pub(crate) fn unreadable(what: impl Into<String>) -> Self {
        Self::Unreadable(what.into())
    }

    /// The stable name of the variant, for the corpus and for records.
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
