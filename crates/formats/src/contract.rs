//! Interface of a format: a pure function from the whole outcome of a run to bytes.

use std::collections::BTreeMap;

use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::{
    ChangeSensitivity, ChangeSet, Coverage, CrossCheck, FileText, Registry, SkillInput, SkillResult,
};
use qa_core::pictures::Screenshot;

/// A format as the command line and the store know it.
#[derive(Debug)]
pub struct FormatSpec {
    /// The name after `--format`.
    pub id: &'static str,
    /// Sentence for the help.
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

/// Blocking findings since the head before a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SincePush {
    pub head_before: CommitId,
    pub resolved: usize,
    pub new: usize,
    pub open: usize,
}

/// Addresses on the forge, for what is published there.
#[derive(Debug, Clone)]
pub struct Links {
    /// The files at head: `https://github.com/owner/name/blob/COMMIT`.
    pub files: String,
    /// The page of the rules; `None` where it is unknown.
    pub rules: Option<String>,
}

impl Links {
    /// Returns the address of lines of a file at head.
    pub(crate) fn lines(&self, path: &RepoPath, first: u64, last: u64) -> String {
        let path: String = path.as_bytes().iter().copied().map(address_byte).collect();
        let end = if last > first { format!("-L{last}") } else { String::new() };
        format!("{}/{path}#L{first}{end}", self.files)
    }

    /// Returns the address of a rule's lens on the page of the rules.
    pub(crate) fn rule(&self, rule_id: &str) -> Option<String> {
        let lens = rule_id.split('/').next().unwrap_or(rule_id);
        let is_plain = lens.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        self.rules.as_ref().filter(|_| is_plain).map(|page| format!("{page}#{lens}"))
    }
}

/// Returns a byte of a path as it stands in an address.
fn address_byte(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    }
}

/// Everything a format may show. All text in it that comes from the repository is untrusted: a format escapes it for
/// its own surface (`core::escape`). The same report gives the same bytes on every machine; only `base`,
/// `links`, `since_push`, `run_directory`, `replayed` and `terminal` differ, and formats with a `file` do not use them.
#[derive(Clone)]
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
    /// Addresses to link to; `None` in the files of a run.
    pub links: Option<Links>,
    /// Changes since the push before; `None` in the files of a run.
    pub since_push: Option<SincePush>,
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
