//! The interface of a gate's tool: a description, its command line, and pure functions from output to data.

pub(crate) use qa_contracts::v1::GateName;

pub use super::report::{
    Attachment, Diagnostic, DiagnosticSeverity, Outcome, Places, Report, ReportError, ReportFormat,
    ReportedPath, Story, TestCase,
};
use qa_contracts::ids::RepoPath;
use qa_contracts::limits::MAX_REPORT_BYTES;

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
    /// Any: the tool is known by its report alone.
    Any,
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
            Self::Any => "any",
        }
    }
}

/// Destination of the report of a tool's own command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// On standard output.
    Stdout,
    /// On standard output, then standard error: the tool uses one for clean and another for broken code.
    Both,
    /// In [`CommandTemplate::report_files`].
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
    /// The gates that this tool serves.
    pub gates: &'static [GateName],
    /// The language of its projects.
    pub(crate) language: Language,
    /// Sentence about the tool.
    pub about: &'static str,
    /// Formats that can be imported; the first is the one that our own command writes.
    pub formats: &'static [ReportFormat],
    /// Formats of [`ToolSpec::formats`] that do not show every failure of a run, measured with the tool itself: a report
    /// of one is no result without the exit status.
    pub hiding: &'static [ReportFormat],
    /// Extensions of the files that it looks at, one by one; none for tests, which look at the project as a whole, and for
    /// tools that are known by their report alone.
    pub(crate) files: &'static [&'static str],
    /// Destination of our own command's report.
    pub(crate) stream: Stream,
    /// Meaning of each exit status; an unlisted one means [`ExitMeaning::Broken`].
    pub(crate) exits: &'static [(i32, ExitMeaning)],
}

impl ToolSpec {
    /// Returns whether a gate may read this tool's reports. Story validation accepts those of every test runner.
    pub fn serves(&self, gate: GateName) -> bool {
        self.gates.contains(&gate)
            || gate == GateName::StoryValidation && self.gates.iter().any(|gate| gate.runs_tests())
    }

    /// Returns whether its reports name packages of Go, whose directories follow from the module's path.
    pub fn names_packages(&self) -> bool {
        self.language == Language::Go
    }

    /// Returns whether the tool stands for every one that writes its format, so that the policy has to name that.
    pub fn is_generic(&self) -> bool {
        self.language == Language::Any
    }

    /// Returns the names of the manifests of its projects, the one that shows a project best first.
    pub fn manifests(&self) -> &'static [&'static str] {
        match self.language {
            Language::Node => &["package.json"],
            Language::Python => super::manifests::PYTHON,
            Language::Rust => &["Cargo.toml"],
            Language::Go => &["go.mod"],
            Language::Any => &[],
        }
    }

    /// Returns whether the tool is for a file, by its name.
    pub fn is_for(&self, path: &RepoPath) -> bool {
        let path = path.to_text();
        match path.rsplit_once('.') {
            Some((_, extension)) => self.files.contains(&extension),
            None => false,
        }
    }

    /// Returns the exit status for faults, of a tool that has one.
    pub(crate) fn only_fault_status(&self) -> Option<i32> {
        let mut faults = self.exits.iter().filter(|(_, meaning)| *meaning == ExitMeaning::Faults);
        match (faults.next(), faults.next()) {
            (Some((status, _)), None) => Some(*status),
            (_, _) => None,
        }
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
        let report = command.report_bytes(self.spec())?;
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
    /// Report files; `None` for a report on a standard stream. The caller makes sure that none exists before the run.
    pub report_files: Option<ReportFiles>,
    /// Format of the report of a command that the policy declares; `None` for the tool's own command.
    pub format: Option<ReportFormat>,
    /// The command line that prints the tool's version.
    pub version_argv: Vec<String>,
    /// True if a failed run may be retried (C-15).
    pub retries: bool,
    /// The Go module's path, for [`Places::module`]; empty for other languages.
    pub module: String,
}

/// Place of a command's report files, from the root of the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportFiles {
    /// Path of a single file.
    File(String),
    /// The files that a glob of the policy matches.
    Matching(String),
}

/// A report file.
#[derive(Debug, Clone, Copy)]
pub struct ReportFile<'a> {
    /// Its path, for messages.
    pub path: &'a str,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// Captured output of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandOutput<'a> {
    /// Standard output, whole.
    pub stdout: &'a [u8],
    /// Standard error, whole.
    pub stderr: &'a [u8],
    /// The report files that it left; of a command that the policy declares with a report on standard output, that.
    pub reports: &'a [ReportFile<'a>],
    /// [`CommandTemplate::format`].
    pub format: Option<ReportFormat>,
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
    /// Files from an earlier step.
    Import {
        /// The declared format.
        format: ReportFormat,
        /// The files.
        reports: &'a [ReportFile<'a>],
        /// End of the command that wrote it.
        end: ImportEnd,
    },
}

/// End of the command that wrote an imported report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportEnd {
    /// Nobody recorded it.
    Unknown,
    /// The exit status; `None` when a signal ended it.
    Recorded(Option<i32>),
}

/// A report with the gate that reads it and the base directories of its paths.
#[derive(Debug, Clone, Copy)]
pub struct Output<'a> {
    /// The gate that reads it.
    pub gate: GateName,
    /// The report's origin and bytes.
    pub source: Source<'a>,
    /// Base directories of the paths in the report.
    pub places: Places<'a>,
}

impl<'a> CommandOutput<'a> {
    /// Returns the bytes of the report, from the stream or file that has it.
    pub(crate) fn report_bytes(&self, spec: &ToolSpec) -> Result<std::borrow::Cow<'a, [u8]>, ReportError> {
        let bytes = match spec.stream {
            Stream::Stdout => self.stdout,
            Stream::Both if self.stderr.is_empty() => self.stdout,
            Stream::Both => {
                checked(self.stderr)?;
                return Ok([self.stdout, b"\n", self.stderr].concat().into());
            }
            Stream::File => self.reports.first().ok_or(ReportError::Missing)?.bytes,
        };
        checked(bytes).map(Into::into)
    }
}

/// Bytes with which writers on Windows begin a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Returns the report without a byte order mark, if it is neither too large nor empty.
pub(crate) fn checked(report: &[u8]) -> Result<&[u8], ReportError> {
    if report.len() > MAX_REPORT_BYTES {
        return Err(ReportError::TooLarge(format!(
            "it has {} bytes, the limit is {MAX_REPORT_BYTES}",
            report.len()
        )));
    }
    let report = report.strip_prefix(BYTE_ORDER_MARK).unwrap_or(report);
    if report.trim_ascii().is_empty() { Err(ReportError::Empty) } else { Ok(report) }
}
