//! Interface of a format: a pure function from the whole outcome of a run to bytes.

use std::collections::BTreeMap;

use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, Coverage, CrossCheck, FileText, Registry, SkillInput, SkillResult,
};
use qa_core::pictures::Screenshot;

/// A format as the command line and the store know it.
#[derive(Debug)]
pub struct FormatSpec {
    /// The name after `--format`.
    pub id: &'static str,
    /// One sentence for the help.
    pub title: &'static str,
    /// The file in the run directory; null when it is not kept there.
    pub file: Option<&'static str>,
}

/// Settings of the terminal, for the terminal format alone.
#[derive(Debug, Clone, Copy)]
pub struct TerminalStyle {
    /// True if colors and other escape sequences may be used.
    pub color: bool,
    /// Columns.
    pub width: usize,
}

/// Choice of the base, which differs between machines that judge the same commits.
#[derive(Debug, Clone)]
pub struct BaseChoice<'a> {
    /// Reason for the base: `as requested`, `by origin/main`.
    pub reason: String,
    /// The codes of the fallback chain, in order.
    pub codes: &'a [Code],
}

/// Everything a format may show. All text in it that comes from the repository is untrusted: a format escapes it for
/// its own surface (`core::escape`). The same report gives the same bytes on every machine; only `base`,
/// `run_directory`, `replayed` and `terminal` differ, and formats with a `file` do not use them.
pub struct Report<'a> {
    /// The normalised input.
    pub input: &'a SkillInput,
    /// Plans, results, verdict.
    pub result: &'a SkillResult,
    /// Changed files.
    pub change_set: &'a ChangeSet,
    /// Hunks that each lens inspected.
    pub coverage: &'a Coverage,
    /// The second look.
    pub cross_check: &'a CrossCheck,
    /// Sensitivity scores of the change.
    pub sensitivity: &'a ChangeSensitivity,
    /// Titles and fixes of all rules.
    pub registry: &'a Registry,
    /// The text of files that have findings (secrets masked), by path at head.
    pub texts: &'a BTreeMap<RepoPath, FileText>,
    /// The pictures that tests left, by path.
    pub screenshots: &'a [Screenshot],
    /// Choice of the base; `None` in the files of a run.
    pub base: Option<BaseChoice<'a>>,
    /// Path of the run directory, for people.
    pub run_directory: Option<&'a str>,
    /// True if an earlier run of the same key exists and has the same result.
    pub replayed: bool,
    /// Settings of the terminal.
    pub terminal: TerminalStyle,
}

/// A format. The application calls `render` once; an implementer reads nothing but the report.
pub trait Format: Sync {
    /// Returns the format's id, title and file.
    fn spec(&self) -> &'static FormatSpec;

    /// Renders the report as the bytes of the output.
    fn render(&self, report: &Report<'_>) -> Vec<u8>;
}
