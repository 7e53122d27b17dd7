//! Imports, as several lenses need them: lines that may hold one, and the files and names that they lead to.

mod c;
mod ecma;
mod go;
mod java;
mod made;
mod python;
mod relative;
mod resolve;
mod rust;
mod standard;
mod target;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::contract::{Draft, Fact, Lookups, RuleSpec, presets};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{
    MentionKind, PlacedImport, PlacedName, RecordedMentions, ScopeStrengths, Severity, Side, Strength,
};
use qa_core::classify::is_example;
use qa_core::packet::{HunkView, Packet};
use qa_reading::names::joins;

pub(super) use resolve::{has, may_be_made, may_be_provided, may_be_written, reached, target};
pub(super) use standard::MODULES as STANDARD_MODULES;
pub(super) use target::{Has, Target, has_stem, join, split, walked};

/// A part of a file that a change touches and that imports may depend on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Touched {
    /// Lines at head of a hunk that may add an import.
    Added { file: RepoPath, lines: RangeInclusive<u64> },
    /// Lines at the base of a hunk that may remove a name.
    Removed { file: RepoPath, lines: RangeInclusive<u64> },
    /// A file that is deleted or moved, by its path at the base.
    Gone { file: RepoPath },
    /// A file that is added or moved, by its path at head.
    New { file: RepoPath },
}

/// Code that does not run where it is loaded blocks in products.
const STRENGTHS: ScopeStrengths = ScopeStrengths {
    product: Strength::Block,
    test: Strength::Advise,
    docs: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
};
const GUARDED: ScopeStrengths = ScopeStrengths { test: Strength::Block, ..STRENGTHS };

/// A rule about imports that cannot be right.
pub(super) const fn rule(id: &'static str, title: &'static str, fix: &'static str, moves: bool) -> RuleSpec {
    RuleSpec { id, title, severity: Severity::High, strengths: presets(STRENGTHS, GUARDED), fix, moves }
}

/// The imports of a file that a change adds to, as they are written. The file is there, so where it cannot be read
/// something is left out.
pub(super) fn written(lookups: &dyn Lookups, path: &str) -> Arc<[PlacedImport]> {
    lookups.imports(Side::Head, path).unwrap_or_else(|| {
        lookups.stop_short();
        Arc::default()
    })
}

/// An import of head as the outline of its file has it; null for what only looked like one.
pub(super) fn parsed(lookups: &dyn Lookups, path: &str, written: &PlacedImport) -> Option<PlacedImport> {
    let outline = lookups.outline(Side::Head, path)?;
    outline
        .imports
        .iter()
        .find(|import| import.module == written.module && import.form == written.form)
        .cloned()
}

/// Returns whether a file has an import that `is_such` accepts. The outline is read only if a statement is accepted.
pub(super) fn has_import(
    lookups: &dyn Lookups,
    side: Side,
    path: &str,
    is_such: &dyn Fn(&PlacedImport) -> bool,
) -> bool {
    lookups.imports(side, path).is_some_and(|imports| imports.iter().any(is_such))
        && lookups.outline(side, path).is_some_and(|outline| outline.imports.iter().any(is_such))
}

/// Returns whether more files have a word than may be read one by one, and records that the lens left some out.
pub(super) fn are_too_many(lookups: &dyn Lookups, found: &RecordedMentions, most: usize) -> bool {
    let many = found.paths.len() > most;
    if many {
        lookups.stop_short();
    }
    many
}

/// Returns facts about the hunks of a file that may add an import.
pub(super) fn added(packet: &Packet<'_>) -> Vec<Fact> {
    let hunks = packet.hunks().filter(|hunk| hunk.added().any(|line| may_import(line.text)));
    hunks
        .map(|HunkView { hunk, .. }| {
            let lines = line_range(hunk.new_start, hunk.new_lines);
            Fact::new(&Touched::Added { file: packet.path().clone(), lines }, None)
        })
        .collect()
}

/// Returns the range of lines of one side of a hunk.
pub(super) fn line_range(start: u64, count: u64) -> RangeInclusive<u64> {
    start..=start + count.saturating_sub(1)
}

/// Returns whether a line may be part of an import of one or several lines.
fn may_import(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "#include",
        "# include",
        "export",
        "from",
        "import",
        "mod ",
        "require __DIR__",
        "require dirname(",
        "require(",
        "require_",
        "use crate",
    ];
    WORDS.iter().any(|word| line.contains(word)) || is_listing(line) || is_path(line) || is_text(line)
}

/// Returns whether a line is nothing but one string, as that of a `require` over several lines is.
fn is_text(line: &str) -> bool {
    let text = line.trim().trim_end_matches([',', ';', ')']);
    text.starts_with(['\'', '`']) && text.ends_with(['\'', '`'])
}

/// Returns whether a line has only names or one string, as a line inside a multi-line import does.
pub(super) fn is_listing(line: &str) -> bool {
    let code = line.split(['#', '/']).next().unwrap_or(line);
    let code = if line.trim_start().starts_with('"') { line } else { code };
    let is_plain =
        code.chars().all(|character| character.is_alphanumeric() || "_,{}()* \t\"./$-".contains(character));
    is_plain && code.split([',', '{', '}', '(', ')', '*']).any(is_name) && !is_statement(code)
}

/// Returns whether words are one imported name, with or without an alias.
fn is_name(words: &str) -> bool {
    const OTHERS: &[&str] = &["break", "continue", "do", "else", "finally", "pass", "return", "try"];
    let mut each = words.split_whitespace();
    match (each.next(), each.next()) {
        (None, _) => false,
        (Some(word), None) => !OTHERS.contains(&word),
        (Some(first), Some(second)) => first == "type" || second == "as" || words.contains('"'),
    }
}

/// Returns whether code has a call.
fn is_statement(code: &str) -> bool {
    code.match_indices('(').any(|(at, _)| code[..at].ends_with(joins))
}

/// Returns whether a line has only Rust paths, as a line inside a multi-line `use` does.
fn is_path(line: &str) -> bool {
    line.contains("::")
        && line.chars().all(|character| character.is_alphanumeric() || "_,{}*: \t".contains(character))
}

/// The family of languages of a path.
pub(super) trait Family {
    fn parse_family(&self) -> Option<MentionKind>;
}

impl<T: AsRef<str>> Family for T {
    fn parse_family(&self) -> Option<MentionKind> {
        let (_, ending) = self.as_ref().rsplit_once('.')?;
        match ending {
            "py" => Some(MentionKind::Python),
            "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx" => Some(MentionKind::Ecma),
            "c" | "cc" | "cpp" | "cxx" | "h" | "hh" | "hpp" | "hxx" | "ipp" => Some(MentionKind::C),
            "cs" => Some(MentionKind::CSharp),
            "gemspec" | "rake" | "rb" => Some(MentionKind::Ruby),
            "go" => Some(MentionKind::Go),
            "java" => Some(MentionKind::Java),
            "php" => Some(MentionKind::Php),
            "rs" => Some(MentionKind::Rust),
            _ => None,
        }
    }
}

/// Returns whether a build searches several directories for a file that is imported, so that another one may be meant
/// once a file has gone.
pub(super) fn is_found_by_search(path: &str) -> bool {
    matches!(path.parse_family(), Some(MentionKind::C | MentionKind::Java))
}

/// The lines that a change adds and removes, and the files that are no longer there, as far as they may matter.
#[derive(Debug, Default)]
pub(super) struct Change {
    pub(super) added: BTreeMap<String, Vec<RangeInclusive<u64>>>,
    pub(super) removed: BTreeMap<String, Vec<RangeInclusive<u64>>>,
    pub(super) gone: Vec<String>,
    pub(super) new: Vec<String>,
    pub(super) paths: BTreeMap<String, RepoPath>,
}

impl Change {
    pub(super) fn new(facts: &[Fact]) -> Self {
        let mut change = Self::default();
        for touched in facts.iter().filter_map(Fact::read::<Touched>) {
            let (Touched::Added { file, .. }
            | Touched::Removed { file, .. }
            | Touched::Gone { file }
            | Touched::New { file }) = &touched;
            let Ok(path) = std::str::from_utf8(file.as_bytes()).map(str::to_owned) else { continue };
            if is_example(&path) || path.ends_with(".d.ts") {
                continue;
            }
            change.paths.insert(path.clone(), file.clone());
            match touched {
                Touched::Added { lines, .. } => change.added.entry(path).or_default().push(lines),
                Touched::Removed { lines, .. } => change.removed.entry(path).or_default().push(lines),
                Touched::Gone { .. } => change.gone.push(path),
                Touched::New { .. } => change.new.push(path),
            }
        }
        change
    }

    pub(super) fn is_added(&self, path: &str, line: u32) -> bool {
        within(self.added.get(path), line)
    }

    pub(super) fn is_removed(&self, path: &str, line: u32) -> bool {
        within(self.removed.get(path), line)
    }

    /// Returns a draft that quotes a name where it stands in a changed file.
    pub(super) fn on_name(
        &self,
        rule: &'static str,
        side: Side,
        path: &str,
        name: &PlacedName,
        summary: &str,
    ) -> Option<Draft> {
        on_name(rule, side, self.paths.get(path)?, name, summary)
    }
}

/// Returns a draft that quotes a name where it stands; `None` where what stands there is written in another way.
pub(crate) fn on_name(
    rule: &'static str,
    side: Side,
    path: &RepoPath,
    name: &PlacedName,
    summary: &str,
) -> Option<Draft> {
    let mut draft = Draft::on_file(rule, path, side, summary);
    draft.start_line = u64::from(name.line);
    draft.end_line = draft.start_line;
    draft.start_column = u64::from(name.start_column);
    draft.end_column = u64::from(name.end_column);
    draft.quote.clone_from(name.written.as_ref().unwrap_or(&name.name));
    (draft.start_column > 0).then_some(draft)
}

fn within(ranges: Option<&Vec<RangeInclusive<u64>>>, line: u32) -> bool {
    ranges.is_some_and(|ranges| ranges.iter().any(|range| range.contains(&u64::from(line))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_an_import_is_told_from_other_lines() {
        let listings = [
            "  name,",
            "    name as other,",
            "  type Name,",
            "  default as name,",
            "    one, two, three)",
            "  a.b, c",
            "\t\"fmt\"",
            "\tother \"example.org/module\"",
            "\t_ \"embed\"",
            "  name, // why",
            "    Name, {",
        ];
        for line in listings {
            assert!(is_listing(line), "{line}");
        }
        let others = [
            "",
            "}",
            "  })",
            "  } else {",
            "  try {",
            "    return name",
            "  call(name)",
            "  a = b",
            "  pass",
        ];
        for line in others {
            assert!(!is_listing(line), "{line}");
        }
    }
}
