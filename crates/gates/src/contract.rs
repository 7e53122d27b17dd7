//! The interface of a gate's tool: a description, its command line, and pure functions from output to data.

pub(crate) use qa_contracts::v1::GateName;

pub use super::report::{Attachment, Diagnostic, DiagnosticSeverity, Outcome, Report, Story, TestCase};

/// Programming language of a project, which decides about its tools.
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
    /// Returns the name used in the documentation.
    #[cfg(test)]
    pub(crate) fn as_str(self) -> &'static str {
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
    /// One JSON message per line, as `cargo --message-format=json` writes them.
    CargoJson = "cargo-json";
    /// [`ReportFormat::CargoJson`] with libtest's text between the lines.
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

/// Destination of the report of a tool's own command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// On standard output.
    Stdout,
    /// On standard output, then standard error: the tool uses one for clean and another for broken code.
    Both,
    /// In [`CommandTemplate::report_file`].
    File,
}

/// Meaning of an exit status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitMeaning {
    /// Nothing at error level was found.
    Clean,
    /// The tool found errors, which its report lists.
    Faults,
    /// The tool had nothing to run.
    Nothing,
    /// The tool itself could not do its work.
    Broken,
}

/// Static description of a tool, for the policy, the documentation and the corpus.
#[derive(Debug)]
pub struct ToolSpec {
    /// Kebab-case; the file in snake_case and the corpus page have the same name.
    pub id: &'static str,
    /// Version of the reader, part of the execution key; bump it when the same output may give another result.
    pub version: &'static str,
    /// The gate that this tool serves.
    pub gate: GateName,
    /// The language of its projects.
    pub(crate) language: Language,
    /// One sentence.
    pub about: &'static str,
    /// Formats that can be imported; the first is the one that our own command writes.
    pub formats: &'static [ReportFormat],
    /// Destination of our own command's report.
    pub(crate) stream: Stream,
    /// Meaning of each exit status; an unlisted one means [`ExitMeaning::Broken`].
    pub(crate) exits: &'static [(i32, ExitMeaning)],
}

impl ToolSpec {
    /// Returns whether a gate may read this tool's reports. Story validation accepts those of every test runner.
    pub fn serves(&self, gate: GateName) -> bool {
        self.gate == gate || gate == GateName::StoryValidation && self.gate.runs_tests()
    }

    /// Returns the meaning of an exit status.
    pub(crate) fn exit_meaning(&self, exit: i32) -> ExitMeaning {
        match self.exits.iter().find(|(status, _)| *status == exit) {
            Some((_, meaning)) => *meaning,
            None => ExitMeaning::Broken,
        }
    }
}

/// A tool of a gate.
///
/// Only the gates call it. An implementation performs no input or output, keeps no state, and returns the same result
/// for the same arguments. [`super::judge::judge`] alone decides whether a report is a pass.
pub trait Tool: Sync {
    /// Returns the tool's description.
    fn spec(&self) -> &'static ToolSpec;

    /// Returns the command for a project, or `None` if the project does not use the tool.
    fn detect(&self, project: &Project<'_>) -> Option<CommandTemplate>;

    /// Parses a report in one of [`ToolSpec::formats`]. Returns an error for a report that is incomplete or malformed.
    fn read_report(
        &self,
        format: ReportFormat,
        report: &[u8],
        places: &Places<'_>,
    ) -> Result<Report, ReportError> {
        super::readers::read_report(format, report, places)
    }

    /// Parses the output of our own command: by default, a report in the first of [`ToolSpec::formats`].
    fn read_command(&self, command: &CommandOutput<'_>, places: &Places<'_>) -> Result<Report, ReportError> {
        let report = super::judge::report_bytes(self.spec(), command)?;
        self.read_report(self.spec().formats[0], &report, places)
    }

    /// Returns the exit meaning that the tool's printed messages imply, where it overrides that of its exit status.
    /// Called only if the report has no fault or cannot be read.
    fn printed_meaning(&self, _command: &CommandOutput<'_>) -> Option<ExitMeaning> {
        None
    }
}

/// A directory of the repository with a manifest, and the files that show which tools it uses.
#[derive(Debug, Clone, Copy)]
pub struct Project<'a> {
    /// Path from the root of the repository; empty for the root itself.
    pub(crate) directory: &'a str,
    /// Manifests and configurations in that directory and above it, as path and text, nearest first.
    pub(crate) manifests: &'a [(&'a str, &'a str)],
    /// Paths of files in that directory and directly in those above it, sorted.
    pub(crate) paths: &'a [&'a str],
}

/// A command line of static words and paths of the project, run without a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTemplate {
    /// The program's bare name, which the caller resolves to a trusted path, and its arguments.
    pub argv: Vec<String>,
    /// Working directory, from the root of the repository; empty for the root.
    pub directory: String,
    /// Report file, relative to `directory`. The caller makes sure that it does not exist before the run.
    pub report_file: Option<String>,
    /// The command line that prints the tool's version.
    pub version_argv: Vec<String>,
    /// True if a failed run may be retried (C-15).
    pub retries: bool,
    /// The Go module's path, for [`Places::module`]; empty for other languages.
    pub module: String,
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

/// Captured output of a command.
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
    /// True if a stream or the report was truncated at a limit.
    pub capped: bool,
}

/// Origin of a report.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A command of ours.
    Command(CommandOutput<'a>),
    /// A file from an earlier step, whose exit status is unknown.
    Import {
        /// The declared format.
        format: ReportFormat,
        /// The file's bytes.
        report: &'a [u8],
    },
}

/// A report with the base directories of its paths.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The report's origin and bytes.
    pub source: Source<'a>,
    /// Base directories of the paths in the report.
    pub places: Places<'a>,
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
