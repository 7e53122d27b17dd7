//! The parts of a change that callers may depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::super::contract::{Draft, Fact};
use super::super::imports::{Family, line_range, on_name};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, MentionKind, PlacedName, Side};
use qa_core::classify::is_example;
use qa_core::packet::Packet;

/// Most members of one hunk that are looked at.
const MOST_WORDS: usize = 400;

/// A part of a file that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Touched {
    /// Lines of a hunk, and the members that its added lines name.
    Code {
        old: Option<RepoPath>,
        new: Option<RepoPath>,
        removed: RangeInclusive<u64>,
        added: RangeInclusive<u64>,
        takes: bool,
        members: Vec<String>,
        /// Set where the lines name more members than are kept.
        is_cut: bool,
    },
    /// Words that a changelog gains.
    Noted { words: Vec<String> },
    /// A version that is changed.
    Versioned,
}

/// A changed file.
#[derive(Debug, Default)]
pub(super) struct FileChange {
    pub(super) old: Option<String>,
    pub(super) new: Option<String>,
    pub(super) removed: Vec<RangeInclusive<u64>>,
    pub(super) added: Vec<RangeInclusive<u64>>,
    /// Set where a definition may be removed or changed.
    pub(super) takes: bool,
    pub(super) members: BTreeSet<String>,
    /// Set where some members are left out.
    pub(super) is_cut: bool,
}

/// All of a change.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// By the path at head, or that at the base of a file that is gone.
    pub(super) files: BTreeMap<String, FileChange>,
    pub(super) noted: BTreeSet<String>,
    pub(super) is_versioned: bool,
    paths: BTreeMap<String, RepoPath>,
}

impl Change {
    pub(super) fn new(facts: &[Fact]) -> Self {
        let mut change = Self::default();
        for touched in facts.iter().filter_map(Fact::read::<Touched>) {
            match touched {
                Touched::Noted { words } => change.noted.extend(words),
                Touched::Versioned => change.is_versioned = true,
                Touched::Code { old, new, removed, added, takes, members, is_cut } => {
                    let [old, new] = [old, new].map(|path| change.text_of(path));
                    let Some(key) = new.clone().or_else(|| old.clone()) else { continue };
                    let file = change.files.entry(key).or_default();
                    (file.old, file.new) = (old, new);
                    file.removed.push(removed);
                    file.added.push(added);
                    file.takes |= takes;
                    file.members.extend(members);
                    file.is_cut |= is_cut;
                }
            }
        }
        change
    }

    fn text_of(&mut self, path: Option<RepoPath>) -> Option<String> {
        let path = path?;
        let text = std::str::from_utf8(path.as_bytes()).ok()?.to_owned();
        self.paths.insert(text.clone(), path);
        Some(text)
    }

    /// Returns whether a line at head is one of a changed hunk.
    pub(super) fn is_added(&self, path: &str, line: u32) -> bool {
        self.files.get(path).is_some_and(|file| within(&file.added, line))
    }

    /// Returns a draft that quotes a name where it stands; `None` where it is written in another way.
    pub(super) fn draft(
        &self,
        rule: &'static str,
        side: Side,
        path: &str,
        name: &PlacedName,
        summary: &str,
    ) -> Option<Draft> {
        on_name(rule, side, self.paths.get(path)?, name, summary)
    }

    /// Returns a draft about a file, for a name that stands beside the changed lines.
    pub(super) fn draft_of_file(
        &self,
        rule: &'static str,
        side: Side,
        path: &str,
        name: &PlacedName,
        summary: &str,
    ) -> Option<Draft> {
        let draft = Draft::on_file(rule, self.paths.get(path)?, side, summary);
        Some(draft.with("name", name.name.clone()))
    }
}

impl Touched {
    /// Returns whether a hunk may take a definition away or use one of another file.
    fn is_of_use(&self) -> bool {
        matches!(self, Self::Code { takes, members, .. } if *takes || !members.is_empty())
    }
}

impl FileChange {
    pub(super) fn is_removed(&self, line: u32) -> bool {
        within(&self.removed, line)
    }
}

fn within(ranges: &[RangeInclusive<u64>], line: u32) -> bool {
    ranges.iter().any(|range| range.contains(&u64::from(line)))
}

/// Returns the facts of a file.
pub(super) fn of_packet(packet: &Packet<'_>) -> Vec<Fact> {
    let path = packet.path().to_text();
    let name = path.rsplit('/').next().unwrap_or(&path).to_ascii_lowercase();
    if is_changelog(&path, &name) {
        let words: BTreeSet<String> =
            packet.added().flat_map(|line| words(line.text)).map(str::to_owned).collect();
        return vec![Fact::new(&Touched::Noted { words: words.into_iter().take(4_000).collect() }, None)];
    }
    let mut facts = if is_of_callers(&path) { of_code(packet) } else { Vec::new() };
    let may_have_version = path.parse_family().is_none() || is_version_file(&name);
    if may_have_version && packet.added().any(|line| is_version(line.text)) {
        facts.push(Fact::new(&Touched::Versioned, None));
    }
    facts
}

fn is_changelog(path: &str, name: &str) -> bool {
    const STEMS: &[&str] = &[
        "changelog",
        "changes",
        "history",
        "migrating",
        "migration",
        "news",
        "release",
        "releases",
        "upgrade",
        "upgrading",
    ];
    let stem = name.split(['.', '-', '_']).next().unwrap_or(name);
    let directory = path.to_ascii_lowercase();
    let is_text = name.rsplit_once('.').is_none_or(|(_, ending)| {
        matches!(
            ending,
            "adoc" | "bugfix" | "feature" | "md" | "mdx" | "misc" | "removal" | "rst" | "txt" | "breaking"
        )
    });
    is_text
        && (STEMS.contains(&stem)
            || ["changelog.d/", "changes/", "newsfragments/", ".changeset/", "changelog/"]
                .iter()
                .any(|part| directory.contains(part)))
}

fn is_version_file(name: &str) -> bool {
    name.contains("version") || matches!(name, "__init__.py" | "__about__.py" | "setup.py")
}

/// Returns whether a line gives a version.
fn is_version(line: &str) -> bool {
    let line = line.trim().to_ascii_lowercase();
    let is_named = line.contains("version");
    let is_number = line
        .split(|character: char| !character.is_ascii_digit() && character != '.')
        .any(|word| word.split('.').filter(|part| !part.is_empty()).count() >= 2);
    is_named && is_number
}

pub(super) fn is_of_callers(path: &str) -> bool {
    !is_example(path)
        && !path.contains(".d.")
        && matches!(
            path.parse_family(),
            Some(
                MentionKind::Ecma
                    | MentionKind::Go
                    | MentionKind::Java
                    | MentionKind::Python
                    | MentionKind::Rust
            )
        )
}

fn of_code(packet: &Packet<'_>) -> Vec<Fact> {
    let file = packet.file;
    let old = (file.kind != ChangeKind::Added).then(|| file.old_path.clone().unwrap_or(file.path.clone()));
    let new = (file.kind != ChangeKind::Deleted).then(|| file.path.clone());
    let hunks = packet.hunks().map(|view| {
        let members: BTreeSet<&str> = view.added().flat_map(|line| members(line.text)).collect();
        let hunk = view.hunk;
        Touched::Code {
            old: old.clone(),
            new: new.clone(),
            removed: lines_of(hunk.old_start, hunk.old_lines),
            added: lines_of(hunk.new_start, hunk.new_lines),
            takes: old.is_some()
                && (view.removed().any(|line| may_take(line.text))
                    || view.added().any(|line| may_add_parameter(line.text))),
            is_cut: members.len() > MOST_WORDS,
            members: members.into_iter().take(MOST_WORDS).map(str::to_owned).collect(),
        }
    });
    hunks.filter(Touched::is_of_use).map(|touched| Fact::new(&touched, None)).collect()
}

/// Returns the lines of one side of a hunk; none where that side has none.
fn lines_of(start: u64, count: u64) -> RangeInclusive<u64> {
    if count == 0 { start + 1..=start } else { line_range(start, count) }
}

/// Returns whether a line may be part of a definition: no comment, no blank, and no plain statement of a call.
fn may_take(line: &str) -> bool {
    let code = line.trim();
    !code.is_empty() && !code.starts_with("//") && !code.starts_with('#') && !code.starts_with('*')
}

/// Returns whether an added line may be a parameter on a line of its own.
fn may_add_parameter(line: &str) -> bool {
    may_take(line) && line.trim_end().ends_with([',', ')'])
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// Returns the names in a line that follow a dot or two colons.
fn members(line: &str) -> impl Iterator<Item = &str> {
    let code = line.trim_start();
    let is_code = !code.starts_with("//") && !code.starts_with('#') && !code.starts_with('*');
    words(line).filter(move |word| {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let before = &line[..at];
        let object = before.strip_suffix("::").or_else(|| before.strip_suffix('.'));
        is_code
            && !word.starts_with(|first: char| first.is_ascii_digit())
            && object.is_some_and(|object| {
                object.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ')')
            })
    })
}
