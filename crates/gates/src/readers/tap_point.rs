//! Reads a test of TAP: its line, the directive behind its name, and the block of YAML that follows.

use std::sync::LazyLock;

use regex::Regex;

use crate::report::Outcome;
use crate::text;
use qa_reading::documents::{Document, Format};

/// A directive as version 14 has it, the one that excuses a failure: behind white space, and a word of its own.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|\s)#\s*(?:skip|todo)(?:[\s:]\s*(?<reason>.*))?$").expect("a constant pattern")
});
/// A directive by the stem of its word, such as `skipped`: enough for a test to show nothing.
static DIRECTIVE_STEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[^\\])#\s*(?:skip|todo)[^\s:]*[\s:]*(?<reason>.*)$").expect("a constant pattern")
});
/// A test's line.
pub(super) struct Point {
    pub(super) is_ok: bool,
    pub(super) name: String,
    /// The name with what looks like a directive.
    pub(super) whole_name: String,
    pub(super) outcome: Outcome,
    /// Reason of a test that was skipped or may fail.
    pub(super) reason: Option<String>,
}

impl Point {
    /// Reads a match of the line's pattern. A test without a name has that of its number.
    pub(super) fn new(point: &regex::Captures<'_>, number: u64) -> Self {
        let is_ok = point.name("not").is_none();
        let rest = point.name("rest").map_or("", |rest| rest.as_str());
        let directive = if is_ok { &DIRECTIVE_STEM } else { &DIRECTIVE }.captures(rest);
        let end = directive
            .as_ref()
            .and_then(|found| found.get(0))
            .map_or(rest.len(), |found| found.start() + rest[found.start()..].find('#').unwrap_or(0));
        let outcome = match (&directive, is_ok) {
            (Some(_), _) => Outcome::Skipped,
            (None, true) => Outcome::Passed,
            (None, false) => Outcome::Failed,
        };
        Self {
            is_ok,
            name: point_name(&rest[..end], number),
            whole_name: point_name(rest, number),
            outcome,
            reason: directive.and_then(|found| Some(found.name("reason")?.as_str().trim().to_owned())),
        }
    }
}

fn point_name(description: &str, number: u64) -> String {
    match description.trim().replace("\\#", "#") {
        name if name.is_empty() => format!("test {number}"),
        name => name,
    }
}

/// Returns a text of a block of YAML.
pub(super) fn member(block: &str, key: &str) -> Option<String> {
    let document = Document::parse(Format::Yaml, block).ok()?;
    document.root().get(key)?.text().map(str::to_owned)
}

/// Returns whether Node says that a test is a suite.
pub(super) fn is_suite(block: &str) -> bool {
    block.contains("type:") && member(block, "type").as_deref() == Some("suite")
}

/// Returns whether a test is one that Node writes for a file in which it finds no test.
pub(super) fn is_file_without_tests(name: &str, block: &str) -> bool {
    text::is_script(name) && block.contains("duration_ms:")
}

/// Returns whether a failure of Node is that of subtests, which their own directives excuse and not that of the test.
pub(super) fn is_about_subtests(block: &str) -> bool {
    block.contains("failureType:") && member(block, "failureType").as_deref() == Some("subtestsFailed")
}
