//! What a format is: a pure function from the whole outcome of a run to bytes.

use std::collections::BTreeMap;

use crate::contracts::ids::RepoPath;
use crate::contracts::v1::{
    ChangeSensitivity, ChangeSet, Coverage, CrossCheck, FileText, Registry, SkillInput, SkillResult,
};
use crate::core::pictures::Screenshot;

/// A format as the command line and the store know it.
#[derive(Debug)]
pub(crate) struct FormatSpec {
    /// The name after `--format`.
    pub(crate) id: &'static str,
    /// One sentence for the help.
    pub(crate) title: &'static str,
    /// The file in the run directory; null when it is not kept there.
    pub(crate) file: Option<&'static str>,
}

/// How a terminal wants it; only the terminal format looks at this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TerminalStyle {
    /// Whether colours and other escape sequences may be used.
    pub(crate) color: bool,
    /// Columns.
    pub(crate) width: usize,
}

/// Everything a format may show. All text in it that comes from the repository is untrusted: a format escapes it for
/// its own surface (`core::escape`). The same report gives the same bytes on every machine; only `run_directory`,
/// `replayed` and `terminal` differ, and formats with a `file` do not use them.
pub(crate) struct Report<'a> {
    /// The normalised input.
    pub(crate) input: &'a SkillInput,
    /// Plans, results, verdict.
    pub(crate) result: &'a SkillResult,
    /// What changed.
    pub(crate) change_set: &'a ChangeSet,
    /// Which lens looked at which hunk.
    pub(crate) coverage: &'a Coverage,
    /// The second look.
    pub(crate) cross_check: &'a CrossCheck,
    /// How much attention the change deserves.
    pub(crate) sensitivity: &'a ChangeSensitivity,
    /// Titles and fixes of all rules.
    pub(crate) registry: &'a Registry,
    /// The text of files that have findings (secrets masked), by path at head.
    pub(crate) texts: &'a BTreeMap<RepoPath, FileText>,
    /// The pictures that tests left, by path.
    pub(crate) screenshots: &'a [Screenshot],
    /// Where the run is kept, for people.
    pub(crate) run_directory: Option<&'a str>,
    /// Whether an earlier run of the same key was found and agrees.
    pub(crate) replayed: bool,
    /// How a terminal wants it.
    pub(crate) terminal: TerminalStyle,
}

/// A format. The application calls `render` once; an implementer reads nothing but the report.
pub(crate) trait Format: Sync {
    /// The description.
    fn spec(&self) -> &'static FormatSpec;

    /// The bytes.
    fn render(&self, report: &Report<'_>) -> Vec<u8>;
}
