//! Settings of SimpleCov and RSpec, which stand in code.

use super::{COVERAGE, TESTS, THRESHOLD};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_contracts::v1::ChangedFile;
use qa_core::packet::{Line, Packet};

/// A number that coverage has to reach, or by which it may sink.
static NUMBER: Pattern = Pattern::new(
    r"^\s*(?:SimpleCov\.)?(minimum_coverage(?:_by_file)?|maximum_coverage_drop)\b[\s(]*(?:line:\s*|:line\s*=>\s*)?(\d+(?:\.\d+)?)",
);
/// A setting that leaves files out of coverage, with a part of their path.
static FILTER: Pattern = Pattern::new(r#"^\s*(?:SimpleCov\.)?add_filter[\s(]+["'%/]([^"']*)"#);
/// Parts of paths that hold no product code.
static BESIDE: Pattern = Pattern::new(
    r"(?i)(?:^|[/_.-])(?:bin|bundle|config|coverage|db|demo|docs?|examples?|features|gems|generated|generators|logs?|node_modules|rails|spec|support|tasks|templates|tests?|tmp|vendor|version)(?:$|[/_.-])",
);
/// A setting of RSpec by which examples with a tag do not run.
static EXCLUDED: Pattern =
    Pattern::new(r"^\s*\w+\.(?:filter_run_excluding\b|exclusion_filter(?:\s*=|\[))\s*\S.*");
/// Conditions on what an example needs to run.
static NEEDS: Pattern =
    Pattern::new(r"\b(?:if|unless)\b.*(?:RUBY_\w+|Gem::Version|defined\?|ENV\b|[a-z]\w*\?)");

/// Returns whether a file is one in which a Ruby project sets up its tests.
pub(super) fn may_configure(file: &ChangedFile) -> bool {
    let name = String::from_utf8_lossy(file.path.file_name()).to_lowercase();
    name == ".simplecov" || name == "rakefile" || name.ends_with("helper.rb") || name == "simplecov.rb"
}

/// Returns what a change of such a file weakens.
pub(super) fn weakened(packet: &Packet<'_>) -> Vec<Draft> {
    let removed: Vec<Line<'_>> = packet.removed().collect();
    let added: Vec<Line<'_>> = packet.added().collect();
    let mut drafts = Vec::new();
    for line in &added {
        drafts.extend(lowered(packet, line, &removed));
        drafts.extend(left_out(packet, line, &removed));
        drafts.extend(excluded(packet, line, &removed));
    }
    drafts
}

/// Reports a number that asks for less than the one of the same name before.
fn lowered(packet: &Packet<'_>, line: &Line<'_>, removed: &[Line<'_>]) -> Option<Draft> {
    let groups = NUMBER.captures(line.text)?;
    let new: f64 = groups[2].parse().ok()?;
    let mut before = removed.iter().filter_map(|old| NUMBER.captures(old.text));
    let old = before.find(|old| old[1] == groups[1])?;
    let old: f64 = old[2].parse().ok()?;
    let is_lower = if groups[1].starts_with("maximum") { new > old } else { new < old };
    let span = groups.get(2)?.range();
    is_lower.then(|| {
        let draft = Draft::on_line(THRESHOLD, packet, line, span, "quality threshold is lowered");
        draft.with("before", old.to_string())
    })
}

/// Reports product files that are left out of coverage.
fn left_out(packet: &Packet<'_>, line: &Line<'_>, removed: &[Line<'_>]) -> Option<Draft> {
    let groups = FILTER.captures(line.text)?;
    let path = &groups[1];
    let is_moved = removed.iter().any(|old| FILTER.captures(old.text).is_some_and(|old| old[1] == *path));
    // A project that begins to measure says what counts.
    let begins = packet.added().any(|line| line.text.contains("SimpleCov.start"))
        && removed.iter().all(|line| !line.text.contains("SimpleCov.start"));
    let is_product = !path.is_empty() && !begins && !BESIDE.is_match(path);
    let span = groups.get(0)?.range();
    let start = span.end - groups[0].trim_start().len();
    (is_product && !is_moved)
        .then(|| Draft::on_line(COVERAGE, packet, line, start..span.end, "code is left out of coverage"))
}

/// Reports a tag by which examples no longer run, without a need that they have.
fn excluded(packet: &Packet<'_>, line: &Line<'_>, removed: &[Line<'_>]) -> Option<Draft> {
    let found = EXCLUDED.find(line.text).filter(|_| !NEEDS.is_match(line.text))?;
    let is_edited = removed.iter().any(|old| EXCLUDED.is_match(old.text));
    let start = found.end() - line.text[found.range()].trim_start().len();
    let end = line.text.trim_end().len();
    (!is_edited).then(|| Draft::on_line(TESTS, packet, line, start..end, "examples with a tag no longer run"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        for pattern in [&super::NUMBER, &super::FILTER, &super::BESIDE, &super::EXCLUDED, &super::NEEDS] {
            pattern.check();
        }
    }
}
