//! The definitions that a file loses or whose parameters change, and its added uses of other files, by both versions.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use super::super::imports::{Family, line_range};
use super::facts::{Calling, Changed, FileChange, is_of_callers, is_within, words};
use super::place::{Place, is_by_directory, is_by_namespace};
use super::results;
use qa_contracts::v1::{ChangeKind, Definition, DefinitionKind, MentionKind, ModuleSurface};
use qa_core::packet::{HunkView, Packet};
use qa_reading::callers;
use qa_reading::syntax::OtherVersion;

/// Maximum number of uses that a fact lists.
const MOST_USES: usize = 2_000;

/// A hunk that may take a definition away or use one of another file.
struct Touching<'p> {
    hunk: HunkView<'p>,
    takes: bool,
    members: BTreeSet<&'p str>,
}

/// Returns whether a hunk of a file may take a definition away or use one of another file.
pub(super) fn is_touched(packet: &Packet<'_>) -> bool {
    is_of_callers(&packet.path().to_text()) && !touching(packet).is_empty()
}

fn touching<'p>(packet: &Packet<'p>) -> Vec<Touching<'p>> {
    let has_base = packet.file.kind != ChangeKind::Added;
    let all = packet.hunks().map(|hunk| Touching {
        hunk,
        takes: has_base
            && (hunk.removed().any(|line| may_take(line.text))
                || hunk.added().any(|line| may_add_parameter(line.text))),
        members: hunk.added().flat_map(|line| members(line.text)).collect(),
    });
    all.filter(|each| each.takes || !each.members.is_empty()).collect()
}

/// Returns the parts of a changed file that callers may depend on; `None` where no hunk may have one.
pub(super) fn change(packet: &Packet<'_>) -> Option<FileChange> {
    let is_read = is_of_callers(&packet.path().to_text());
    let hunks = if is_read { touching(packet) } else { Vec::new() };
    if hunks.is_empty() {
        return None;
    }
    let file = packet.file;
    let mut change = FileChange {
        old: (file.kind != ChangeKind::Added).then(|| file.old_path.clone().unwrap_or(file.path.clone())),
        new: (file.kind != ChangeKind::Deleted).then(|| file.path.clone()),
        added: hunks
            .iter()
            .map(|each| lines_of(each.hunk.hunk.new_start, each.hunk.hunk.new_lines))
            .collect(),
        ..FileChange::default()
    };
    if hunks.iter().any(|each| each.takes) {
        let removed = hunks.iter().map(|each| lines_of(each.hunk.hunk.old_start, each.hunk.hunk.old_lines));
        compare(packet, &removed.collect::<Vec<_>>(), &mut change);
    }
    let members: BTreeSet<&str> = hunks.iter().flat_map(|each| &each.members).copied().collect();
    if !members.is_empty() {
        add_uses(packet, &members, &mut change);
    }
    Some(change)
}

/// Returns the text of a regular file.
fn text_of<'p>(mode: Option<&str>, text: Option<&'p str>) -> Option<&'p str> {
    text.filter(|_| mode.is_some_and(|mode| mode.starts_with("100")))
}

fn base_of<'p>(packet: &Packet<'p>) -> Option<&'p str> {
    text_of(packet.file.old_mode.as_deref(), packet.text.full_base.as_deref())
}

fn head_of<'p>(packet: &Packet<'p>) -> Option<&'p str> {
    text_of(packet.file.new_mode.as_deref(), packet.text.full_head.as_deref())
}

/// Compares the definitions of both versions. Those of a moved file matter where places are directories.
fn compare(packet: &Packet<'_>, removed: &[RangeInclusive<u64>], change: &mut FileChange) {
    let has_moved = change.old != change.new;
    let Some(path) = change.old_text().map(str::to_owned).filter(|old| is_of_callers(old)) else { return };
    let (Some(base), Some(kind)) = (base_of(packet), path.parse_family()) else { return };
    if has_moved && !is_by_directory(kind) {
        return;
    }
    let head = if has_moved { None } else { head_of(packet) };
    let after = head.map(|head| callers::surface(&path, head));
    let other = head.map(|text| OtherVersion { text, hunks: &packet.file.hunks, is_newer: true });
    let before = callers::surface_beside(&path, base, other.as_ref());
    // A package of tests in Go has no callers in others, and stands in the directory of another.
    let is_of_tests =
        kind == MentionKind::Go && before.package.as_ref().is_some_and(|name| name.ends_with("_test"));
    if is_by_namespace(kind) && before.package.is_none() || is_of_tests {
        return;
    }
    let gone = before.definitions.iter().filter(|each| is_within(removed, each.name.line));
    let left = after.as_ref().map(by_name);
    let gone =
        gone.filter(|each| is_called(each) && left.as_ref().is_none_or(|left| is_gone(left, &path, each)));
    change.removed = gone.cloned().collect();
    if let Some(after) = after.filter(|after| !is_by_namespace(kind) || after.package == before.package) {
        change.changed = changed(&path, &before, &after);
        if let Some(head) = head.filter(|_| !after.conditional) {
            change.results = results::changed(&path, base, head);
        }
    }
    change.package = before.package;
}

/// Definitions of one version of a file by owner and name.
pub(super) type ByName<'s> = BTreeMap<(Option<&'s str>, &'s str), Vec<&'s Definition>>;

pub(super) fn by_name(surface: &ModuleSurface) -> ByName<'_> {
    let mut all: ByName<'_> = BTreeMap::new();
    for definition in &surface.definitions {
        all.entry(named(definition)).or_default().push(definition);
    }
    all
}

fn named(definition: &Definition) -> (Option<&str>, &str) {
    (definition.owner.as_deref(), &definition.name.name)
}

/// Returns whether a file lacks a definition of before by now, or hides it from other modules.
pub(super) fn is_gone(left: &ByName<'_>, path: &str, before: &Definition) -> bool {
    left.get(&named(before)).is_none_or(|same| {
        is_hidden_in_rust(same, path, before) || !before.hidden && same.iter().all(|each| each.hidden)
    })
}

/// Returns whether an item of Rust that other modules could name is private to its module by now.
fn is_hidden_in_rust(same: &[&Definition], path: &str, before: &Definition) -> bool {
    before.public
        && path.ends_with(".rs")
        && before.owner.is_none()
        && same.iter().all(|each| !each.public && !each.open)
}

/// Returns whether a caller may write the name of a definition.
fn is_called(definition: &Definition) -> bool {
    !matches!(definition.name.name.as_str(), "main" | "init" | "_" | "default")
}

fn changed(path: &str, before: &ModuleSurface, after: &ModuleSurface) -> Vec<Changed> {
    let (old, new) = (sole(path, before), sole(path, after));
    let changed = new.into_iter().filter_map(|(place, definition)| {
        let old = old.get(&place)?;
        let (before, after) = (Calling::new(old), Calling::new(definition));
        let has_both = before.signature.is_some() && after.signature.is_some();
        let is_turned = before.is_static != after.is_static
            && [old.kind, definition.kind] == [DefinitionKind::Function; 2];
        if !(is_turned || has_both && before.signature != after.signature) {
            return None;
        }
        let (owner, name) = (definition.owner.clone(), definition.name.clone());
        (!is_conditional(definition)).then_some(Changed { owner, name, before, after })
    });
    changed.collect()
}

/// Returns whether a function may be another one under some condition.
fn is_conditional(definition: &Definition) -> bool {
    definition.open && definition.kind == DefinitionKind::Function && definition.owner.is_none()
}

/// Returns the definitions that are the only ones of their names.
fn sole<'s>(path: &str, surface: &'s ModuleSurface) -> BTreeMap<Place, &'s Definition> {
    let mut all: BTreeMap<Place, Vec<&Definition>> = BTreeMap::new();
    for definition in &surface.definitions {
        all.entry(Place::of(path, surface.package.as_deref(), definition)).or_default().push(definition);
    }
    let sole = all.into_iter().filter_map(|(place, all)| match all[..] {
        [only] if !surface.conditional => Some((place, only)),
        _ => None,
    });
    sole.collect()
}

/// Adds the uses of members on added lines that surely lead to another file of the repository, if to any.
fn add_uses(packet: &Packet<'_>, members: &BTreeSet<&str>, change: &mut FileChange) {
    let Some(path) = change.new_text().map(str::to_owned) else { return };
    let (Some(head), Some(kind)) = (head_of(packet), path.parse_family()) else { return };
    let words: Vec<String> = members.iter().map(|word| (*word).to_owned()).collect();
    let mut seen = BTreeSet::new();
    for used in callers::uses_on(&path, head, &words, &change.added) {
        let is_sure = match kind {
            MentionKind::Ecma => used.called,
            MentionKind::Python => used.called || !used.imported,
            MentionKind::Go => used.module.is_some() || used.path.len() > 1 || used.called,
            MentionKind::CSharp | MentionKind::Java | MentionKind::Php => {
                used.module.is_some() || used.path.len() > 1
            }
            MentionKind::C | MentionKind::Configuration | MentionKind::Lockfile | MentionKind::Ruby => {
                !used.imported
            }
            MentionKind::Rust => true,
        };
        if is_sure
            && is_within(&change.added, used.name.line)
            && seen.insert((
                used.module.clone(),
                used.path.clone(),
                used.arguments.as_ref().map(|given| (given.positional, given.named.clone())),
            ))
        {
            change.uses.push(used);
        }
    }
    change.is_cut = change.uses.len() > MOST_USES;
    change.uses.truncate(MOST_USES);
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
    const MOST_WORDS: usize = 6;
    if !may_take(line) {
        return false;
    }
    let code =
        ["//", "/*", "#"].iter().filter_map(|mark| line.find(mark)).min().map_or(line, |end| &line[..end]);
    let code = code.trim();
    let is_bare = code.split_whitespace().count() <= MOST_WORDS && code.chars().all(is_of_parameter);
    code.ends_with([',', ')']) || is_bare && !code.contains("==")
}

/// Returns whether a sign may stand in a parameter with its type.
fn is_of_parameter(sign: char) -> bool {
    sign.is_alphanumeric() || " _:<>[]&'*.?|=$@".contains(sign)
}

/// Returns whether the text before a name ends with a keyword of a definition.
fn defines(before: &str) -> bool {
    let word = before.trim_end().rsplit(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default();
    matches!(word, "class" | "def" | "fn" | "fun" | "func" | "function" | "new")
}

/// Returns the names in a line that follow a dot or two colons.
fn members(line: &str) -> impl Iterator<Item = &str> {
    let is_code = may_take(line);
    words(line).filter(move |word| {
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        let before = &line[..at];
        let object = ["::", "->", "."].iter().find_map(|joint| before.strip_suffix(joint));
        let after = &line[at + word.len()..];
        let is_alone = object.is_none() && after.starts_with('(') && !before.ends_with(['"', '\'']);
        let is_imported = line.trim_start().starts_with("use ") && after.starts_with([';', ',', '}']);
        is_code
            && !word.starts_with(|first: char| first.is_ascii_digit())
            && (is_alone && !defines(before)
                || is_imported
                || object.is_some_and(|object| {
                    let object = object.trim_end_matches('?');
                    object.ends_with(|last: char| last.is_alphanumeric() || last == '_' || last == ')')
                }))
    })
}
