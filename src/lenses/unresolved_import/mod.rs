//! Imports of files and names that are not there at head: added ones, and those a change leaves behind elsewhere.

mod behind;
mod ecma;
mod go;
mod introduced;
mod python;
mod resolve;
mod rust;
mod standard;

use std::collections::BTreeMap;

use super::contract::{Draft, Fact, Inspection, Lens, LensSpec, Lookups, RuleSpec, presets};
use crate::contracts::ids::RepoPath;
use crate::contracts::v1::{
    ChangeKind, LensClass, MentionKind, PlacedImport, PlacedName, ScopeStrengths, Severity, Side, Strength,
};
use crate::core::packet::{HunkView, Packet};

const LEFT_BEHIND: &str = "unresolved-import/left-behind";
const MISSING_MODULE: &str = "unresolved-import/missing-module";
const MISSING_NAME: &str = "unresolved-import/missing-name";

const STRENGTHS: ScopeStrengths = ScopeStrengths {
    product: Strength::Block,
    test: Strength::Advise,
    docs: Strength::Off,
    generated: Strength::Off,
    vendored: Strength::Off,
};
const GUARDED: ScopeStrengths = ScopeStrengths { test: Strength::Block, ..STRENGTHS };

const fn rule(id: &'static str, title: &'static str, fix: &'static str) -> RuleSpec {
    RuleSpec {
        id,
        title,
        severity: Severity::High,
        strengths: presets(STRENGTHS, GUARDED),
        fix,
        moves: false,
    }
}

static SPEC: LensSpec = LensSpec {
    id: "unresolved-import",
    version: "1",
    class: LensClass::Architecture,
    title: "Imports of files and names that do not exist",
    required_by_default: true,
    triggers: &[
        "**/*.cjs", "**/*.cts", "**/*.go", "**/*.js", "**/*.jsx", "**/*.mjs", "**/*.mts", "**/*.py",
        "**/*.rs", "**/*.ts", "**/*.tsx",
    ],
    trigger_symbols: &[],
    page: include_str!("../../../tests/corpus/lenses/unresolved-import.md"),
    rules: &[
        rule(
            LEFT_BEHIND,
            "Something is removed that other files still import",
            "Change the files that import it as well, or keep it.",
        ),
        rule(
            MISSING_MODULE,
            "A file is imported that does not exist",
            "Add the file that is missing, or correct the path.",
        ),
        rule(
            MISSING_NAME,
            "A name is imported that its file does not have",
            "Correct the name, or define it where it is imported from.",
        ),
    ],
};

/// The lens.
pub(crate) struct UnresolvedImport;

const ADDED: &str = "added";
const REMOVED: &str = "removed";
const GONE: &str = "gone";

impl Lens for UnresolvedImport {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let old = packet.file.old_path.as_ref().unwrap_or(packet.path());
        let mut facts = Vec::new();
        for hunk in packet.hunks() {
            if hunk.added().any(|line| may_import(line.text)) {
                facts.push(lines(ADDED, packet.path(), Side::Head, hunk.hunk.new_start, hunk.hunk.new_lines));
            }
            if may_define(old, &hunk) {
                facts.push(lines(REMOVED, old, Side::Base, hunk.hunk.old_start, hunk.hunk.old_lines));
            }
        }
        let goes = matches!(packet.file.kind, ChangeKind::Deleted | ChangeKind::Renamed);
        if goes && !is_test_of_its_own(&old.to_text()) {
            facts.push(lines(GONE, old, Side::Base, 1, 1));
        }
        Inspection { drafts: Vec::new(), facts }
    }

    fn look_up(&self, facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
        let change = Change::of(facts);
        let mut drafts = introduced::drafts(&change, lookups);
        drafts.extend(behind::drafts(&change, lookups));
        drafts
    }
}

fn lines(kind: &'static str, path: &RepoPath, side: Side, start: u64, count: u64) -> Fact {
    let mut draft = Draft::on_file(MISSING_MODULE, path, side, "");
    draft.start_line = start;
    draft.end_line = start + count.saturating_sub(1);
    Fact { kind: kind.into(), name: String::new(), draft: Some(draft) }
}

/// Whether a line may be part of an import, over one line or several.
fn may_import(line: &str) -> bool {
    const WORDS: &[&str] = &["import", "from", "export", "mod "];
    WORDS.iter().any(|word| line.contains(word)) || is_listing(line)
}

/// Whether a line is nothing but names or one string, as the middle of an import is.
fn is_listing(line: &str) -> bool {
    let part = |character: char| character.is_alphanumeric() || "_,{}()* \t\"./$-".contains(character);
    let code = line.split(['#', '/']).next().unwrap_or(line);
    let code = if line.trim_start().starts_with('"') { line } else { code };
    !line.trim().is_empty() && code.chars().all(part)
}

/// Whether removed lines may be what other files import.
fn may_define(path: &RepoPath, hunk: &HunkView<'_>) -> bool {
    match path.to_text().parse_family() {
        Some(MentionKind::Python) => hunk
            .removed()
            .any(|line| line.text.starts_with(|first: char| !first.is_whitespace()) || is_listing(line.text)),
        Some(MentionKind::Ecma) => {
            hunk.removed().any(|line| line.text.contains("export") || is_listing(line.text))
        }
        // A compiler says it of names, and only files are looked after here.
        Some(MentionKind::Go | MentionKind::Rust | MentionKind::Configuration) | None => false,
    }
}

/// The family of languages of a path.
trait Family {
    fn parse_family(&self) -> Option<MentionKind>;
}

impl<T: AsRef<str>> Family for T {
    fn parse_family(&self) -> Option<MentionKind> {
        let (_, ending) = self.as_ref().rsplit_once('.')?;
        match ending {
            "py" => Some(MentionKind::Python),
            "cjs" | "cts" | "js" | "jsx" | "mjs" | "mts" | "ts" | "tsx" => Some(MentionKind::Ecma),
            "go" => Some(MentionKind::Go),
            "rs" => Some(MentionKind::Rust),
            _ => None,
        }
    }
}

/// The lines that a change adds and removes, and the files that are no longer there, as far as they may matter.
#[derive(Debug, Default)]
struct Change {
    added: BTreeMap<String, Vec<(u64, u64)>>,
    removed: BTreeMap<String, Vec<(u64, u64)>>,
    gone: Vec<String>,
    paths: BTreeMap<String, RepoPath>,
}

impl Change {
    fn of(facts: &[Fact]) -> Self {
        let mut change = Self::default();
        for fact in facts {
            let Some(draft) = &fact.draft else { continue };
            let Ok(path) = std::str::from_utf8(draft.file.as_bytes()) else { continue };
            if is_example(path) || path.ends_with(".d.ts") {
                continue;
            }
            change.paths.insert(path.to_owned(), draft.file.clone());
            let range = (draft.start_line, draft.end_line);
            match fact.kind.as_ref() {
                ADDED => change.added.entry(path.to_owned()).or_default().push(range),
                REMOVED => change.removed.entry(path.to_owned()).or_default().push(range),
                _ => change.gone.push(path.to_owned()),
            }
        }
        change
    }

    fn is_added(&self, path: &str, line: u32) -> bool {
        within(self.added.get(path), line)
    }

    fn is_removed(&self, path: &str, line: u32) -> bool {
        within(self.removed.get(path), line)
    }

    /// A draft that quotes a name where it stands; null when what stands there is written in another way.
    fn on_name(
        &self,
        rule: &'static str,
        side: Side,
        path: &str,
        name: &PlacedName,
        summary: &str,
    ) -> Option<Draft> {
        let (start, end) = (u64::from(name.start_column), u64::from(name.end_column));
        let mut draft = Draft::on_file(rule, self.paths.get(path)?, side, summary);
        draft.start_line = u64::from(name.line);
        draft.end_line = draft.start_line;
        draft.start_column = start;
        draft.end_column = end;
        draft.quote.clone_from(&name.name);
        (start > 0 && end.checked_sub(start)? == name.name.chars().count() as u64).then_some(draft)
    }
}

fn within(ranges: Option<&Vec<(u64, u64)>>, line: u32) -> bool {
    ranges.is_some_and(|ranges| ranges.iter().any(|(start, end)| (*start..=*end).contains(&u64::from(line))))
}

/// Whether a file is there to be read or fed to a program, so that what it imports need not exist.
fn is_example(path: &str) -> bool {
    const PLACES: &[&str] = &[
        "__fixtures__",
        "__snapshots__",
        "cassettes",
        "corpus",
        "example",
        "examples",
        "fixture",
        "fixtures",
        "node_modules",
        "playground",
        "sample",
        "samples",
        "snapshots",
        "template",
        "templates",
        "test-data",
        "test-files",
        "test_data",
        "test_files",
        "testdata",
        "testfiles",
        "third_party",
        "vendor",
    ];
    path.split('/').any(|part| PLACES.contains(&part))
}

/// Whether an import is one that has to resolve wherever its file is loaded.
fn is_firm(import: &PlacedImport) -> bool {
    !import.weak && import.top_level
}

/// Whether nothing but a runner of tests is likely to load a file.
fn is_test_of_its_own(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
    stem.starts_with("test_") || stem.ends_with("_test") || name.contains(".test.") || name.contains(".spec.")
}
