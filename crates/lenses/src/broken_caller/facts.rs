//! The parts of a change that callers may depend on.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::super::contract::{Draft, Fact};
use super::super::imports::{Family, on_name};
use super::results::ChangedResult;
use super::{code, members};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{CallArguments, Definition, MentionKind, PlacedName, PlacedUse, Side, Signature};
use qa_core::classify::is_example;
use qa_core::packet::Packet;

/// A part of a file that a change touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Touched {
    /// A file with definitions that are removed or changed, or with added uses.
    Code(FileChange),
    /// A file with types that gain members.
    Gained(members::Gains),
    /// Words that a changelog gains.
    Noted { words: Vec<String> },
    /// A version that is changed.
    Versioned,
}

/// A changed file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileChange {
    pub(super) old: Option<RepoPath>,
    pub(super) new: Option<RepoPath>,
    /// Namespace of the definitions, where a language finds them by it.
    pub(super) package: Option<String>,
    /// Lines at head of the hunks that are looked at.
    pub(super) added: Vec<RangeInclusive<u64>>,
    /// Definitions on removed lines that the file no longer has. One that was moved may have them under its old path.
    pub(super) removed: Vec<Definition>,
    pub(super) changed: Vec<Changed>,
    /// Functions with another result than before.
    pub(super) results: Vec<ChangedResult>,
    /// Uses on added lines, the first of each path.
    pub(super) uses: Vec<PlacedUse>,
    /// Set where some uses are left out.
    pub(super) is_cut: bool,
}

/// A function that is called in another way than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Changed {
    pub(super) owner: Option<String>,
    /// Name at head.
    pub(super) name: PlacedName,
    pub(super) before: Calling,
    pub(super) after: Calling,
}

/// The way to call a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Calling {
    pub(super) signature: Option<Signature>,
    /// True if it belongs to its type and not to objects of that.
    pub(super) is_static: bool,
}

impl Calling {
    pub(super) fn new(definition: &Definition) -> Self {
        Self { signature: definition.signature.clone(), is_static: definition.is_static }
    }

    /// Returns whether a call may pass these arguments.
    pub(super) fn accepts(&self, arguments: &CallArguments) -> bool {
        self.signature.as_ref().is_none_or(|signature| signature.accepts(arguments))
    }

    /// Returns whether a call reaches it: of an object or of the type.
    pub(super) fn is_reached(&self, kind: MentionKind, of_object: bool) -> bool {
        match kind {
            MentionKind::CSharp | MentionKind::Ecma => self.is_static != of_object,
            MentionKind::Java | MentionKind::Php => self.is_static || of_object,
            MentionKind::C
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Lockfile
            | MentionKind::Python
            | MentionKind::Ruby
            | MentionKind::Rust => true,
        }
    }
}

/// All of a change.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// By the path at head, or that at the base of a file that is gone.
    pub(super) files: BTreeMap<String, FileChange>,
    pub(super) gains: Vec<members::Gains>,
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
                Touched::Gained(gains) => change.gain(gains),
                Touched::Code(file) => change.add(file),
            }
        }
        change
    }

    fn gain(&mut self, gains: members::Gains) {
        if let Ok(path) = RepoPath::from_bytes(gains.path.as_bytes()) {
            self.paths.insert(gains.path.clone(), path);
        }
        self.gains.push(gains);
    }

    fn add(&mut self, file: FileChange) {
        for path in [&file.old, &file.new].into_iter().flatten() {
            self.paths.extend(text_of(path).map(|text| (text.to_owned(), path.clone())));
        }
        let Some(key) = file.new_text().or(file.old_text()).map(str::to_owned) else { return };
        let all = self.files.entry(key).or_default();
        (all.old, all.new, all.package) = (file.old, file.new, file.package);
        all.added.extend(file.added);
        all.removed.extend(file.removed);
        all.changed.extend(file.changed);
        all.results.extend(file.results);
        all.uses.extend(file.uses);
        all.is_cut |= file.is_cut;
    }

    /// Returns whether a line at head is one of a changed hunk.
    pub(super) fn is_added(&self, path: &str, line: u32) -> bool {
        self.files.get(path).is_some_and(|file| is_within(&file.added, line))
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

impl FileChange {
    pub(super) fn old_text(&self) -> Option<&str> {
        self.old.as_ref().and_then(text_of)
    }

    pub(super) fn new_text(&self) -> Option<&str> {
        self.new.as_ref().and_then(text_of)
    }
}

/// Returns a path as the trees are asked for it.
fn text_of(path: &RepoPath) -> Option<&str> {
    std::str::from_utf8(path.as_bytes()).ok()
}

pub(super) fn is_within(ranges: &[RangeInclusive<u64>], line: u32) -> bool {
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
    let mut facts = Vec::new();
    if let Some(change) = code::change(packet) {
        facts.push(Fact::new(&Touched::Code(change), None));
    }
    if let Some(gains) = members::gains(packet) {
        facts.push(Fact::new(&Touched::Gained(gains), None));
    }
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
        && !is_ignored_by_go(path)
        && matches!(
            path.parse_family(),
            Some(
                MentionKind::CSharp
                    | MentionKind::Ecma
                    | MentionKind::Go
                    | MentionKind::Java
                    | MentionKind::Php
                    | MentionKind::Python
                    | MentionKind::Ruby
                    | MentionKind::Rust
            )
        )
}

/// Returns whether the Go command takes a file for none of a package.
fn is_ignored_by_go(path: &str) -> bool {
    path.ends_with(".go") && path.split('/').any(|part| part.starts_with(['.', '_']))
}

pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}
