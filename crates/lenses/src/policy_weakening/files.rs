//! Files whose mere presence guards something: owners, lock files and the gate's own settings.

use std::collections::{BTreeMap, BTreeSet};

use super::{CODEOWNERS, LOCKFILE, POLICY_CHANGED, POLICY_REMOVED, RUBRIC_CHANGED, WAIVER_ADDED, whole};
use crate::contract::{Draft, Fact, Inspection};
use qa_contracts::v1::{ChangeKind, Scope, Side};
use qa_core::classify;
use qa_core::packet::{Line, Packet};

const LOCK_GONE: &str = "lock file deleted";
const LOCK_NEW: &str = "lock file added";
const MANIFEST_GONE: &str = "manifest deleted";
const MANIFEST_MOVED: &str = "manifest moved away";
const MANIFEST_NEW: &str = "manifest added";

/// Whether a path is a file of owners that a platform reads.
pub(super) fn is_codeowners(path: &str) -> bool {
    matches!(
        path,
        "CODEOWNERS" | ".github/CODEOWNERS" | "docs/CODEOWNERS" | ".gitlab/CODEOWNERS" | ".gitea/CODEOWNERS"
    )
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let path = packet.path().to_text().into_owned();
    let old_path = packet.file.old_path.as_ref().map(|path| path.to_text().into_owned());
    let mut seen = Inspection::default();
    if is_codeowners(old_path.as_deref().unwrap_or(&path)) {
        seen.drafts.extend(owners(packet, is_codeowners(&path)));
    }
    if path.starts_with(".qa-skill/") && !path.starts_with(".qa-skill/runs/") {
        seen.drafts.extend(own_settings(packet, &path));
    }
    locks(packet, &path, &mut seen);
    seen
}

fn first_changed<'a>(packet: &Packet<'a>) -> Option<Line<'a>> {
    packet.added().find(|line| !line.text.trim().is_empty()).or_else(|| packet.added().next())
}

fn own_settings(packet: &Packet<'_>, path: &str) -> Vec<Draft> {
    let removed = packet.removed().next();
    let on_base = |rule, summary: &str| match removed {
        Some(line) => Draft::on_base_line(rule, packet, &line, whole(line.text), summary),
        None => Draft::on_file(rule, packet.path(), Side::Head, summary),
    };
    if packet.file.kind == ChangeKind::Deleted {
        return match removed {
            Some(_) => vec![on_base(POLICY_REMOVED, "a file of the gate's own settings is deleted")],
            None => vec![Draft::on_file(
                POLICY_REMOVED,
                packet.path(),
                Side::Base,
                "a file of the gate's own settings is deleted",
            )],
        };
    }
    if path.ends_with("waivers.toml") {
        let new: Vec<Draft> = packet
            .added()
            .filter(|line| line.text.trim().starts_with("[[waiver]]"))
            .map(|line| Draft::on_line(WAIVER_ADDED, packet, &line, whole(line.text), "a waiver is added"))
            .collect();
        if !new.is_empty() {
            return new;
        }
    }
    let rubric = path.starts_with(".qa-skill/rubrics/") && packet.file.kind != ChangeKind::Added;
    let (rule, summary) = if rubric {
        (RUBRIC_CHANGED, "a frozen rubric is edited")
    } else {
        (POLICY_CHANGED, "the gate's own settings change")
    };
    match first_changed(packet) {
        Some(line) => vec![Draft::on_line(rule, packet, &line, whole(line.text), summary)],
        None => vec![on_base(rule, summary)],
    }
}

/// The rules of a file of owners, the last of each pattern.
fn rules(text: &str) -> BTreeMap<&str, BTreeSet<&str>> {
    text.lines().filter_map(rule).collect()
}

fn rule(line: &str) -> Option<(&str, BTreeSet<&str>)> {
    let line = line.split(" #").next().unwrap_or("").trim();
    if line.is_empty() || line.starts_with(['#', '[', '^']) {
        return None;
    }
    let mut words = line.split_whitespace();
    words.next().map(|pattern| (pattern, words.collect()))
}

fn owners(packet: &Packet<'_>, stays: bool) -> Vec<Draft> {
    if packet.file.kind == ChangeKind::Deleted || !stays {
        let deleted = packet.file.kind == ChangeKind::Deleted;
        let summary =
            if deleted { "the file of owners is deleted" } else { "the file of owners is renamed away" };
        let old = packet.file.old_path.as_ref().unwrap_or(packet.path());
        return vec![match packet.removed().next() {
            Some(line) => Draft::on_base_line(CODEOWNERS, packet, &line, whole(line.text), summary),
            None => Draft::on_file(CODEOWNERS, old, Side::Base, summary),
        }];
    }
    let (Some(base), Some(head)) = (packet.text.full_base.as_deref(), packet.text.full_head.as_deref())
    else {
        return Vec::new();
    };
    let (old, new) = (rules(base), rules(head));
    let mut drafts = Vec::new();
    for line in packet.added() {
        let Some((pattern, owners)) = rule(line.text) else { continue };
        let before = old.get(pattern);
        let fewer = match before {
            Some(before) => owners.is_subset(before) && owners.len() < before.len(),
            None => owners.is_empty() && !old.is_empty(),
        };
        if fewer {
            let summary = "paths have fewer owners than before";
            drafts.push(Draft::on_line(CODEOWNERS, packet, &line, whole(line.text), summary));
        }
    }
    for hunk in packet.hunks() {
        let is_new = |line: &Line<'_>| {
            rule(line.text).is_some_and(|(pattern, owners)| !owners.is_empty() && !old.contains_key(pattern))
        };
        let replaced = hunk.added().filter(is_new).count();
        let gone: Vec<Line<'_>> = hunk
            .removed()
            .filter(|line| {
                rule(line.text)
                    .is_some_and(|(pattern, owners)| !owners.is_empty() && !new.contains_key(pattern))
            })
            .collect();
        if let Some(line) = gone.first().filter(|_| gone.len() > replaced) {
            let summary = "a rule of owners is removed";
            drafts.push(Draft::on_base_line(CODEOWNERS, packet, line, whole(line.text), summary));
        }
    }
    drafts
}

/// The folder of a path, with the family of its package manager where the name tells.
pub(super) fn place(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn locks(packet: &Packet<'_>, path: &str, seen: &mut Inspection) {
    let (folder, name) = place(path);
    let name = name.to_lowercase();
    let fact = |kind: &'static str, name: &str, draft| Fact {
        kind: kind.into(),
        name: name.to_owned(),
        draft,
        ..Fact::default()
    };
    // A lock file of somebody else's code takes no other's place.
    let ours = packet.file.scope != Scope::Vendored;
    match packet.file.kind {
        ChangeKind::Deleted if classify::is_lockfile(&name) => {
            let summary = "a lock file is deleted";
            let draft = match packet.removed().next() {
                Some(line) => Draft::on_base_line(LOCKFILE, packet, &line, whole(line.text), summary),
                None => Draft::on_file(LOCKFILE, packet.path(), Side::Base, summary),
            };
            seen.facts.push(fact(LOCK_GONE, folder, Some(draft)));
        }
        ChangeKind::Deleted if classify::is_manifest(&name) => {
            seen.facts.push(fact(MANIFEST_GONE, folder, None));
        }
        ChangeKind::Added if classify::is_lockfile(&name) => {
            seen.facts.extend(ours.then(|| fact(LOCK_NEW, folder, None)));
        }
        ChangeKind::Added if classify::is_manifest(&name) => {
            seen.facts.push(fact(MANIFEST_NEW, folder, None));
        }
        ChangeKind::Renamed => {
            let Some(old_path) = &packet.file.old_path else { return };
            let old = old_path.to_text().into_owned();
            let (old_folder, old_name) = (place(&old).0, place(&old).1.to_lowercase());
            if classify::is_manifest(&old_name) && (old_folder, &old_name) != (folder, &name) {
                seen.facts.push(fact(MANIFEST_MOVED, old_folder, None));
            }
            if classify::is_manifest(&name) && (old_folder, &old_name) != (folder, &name) {
                seen.facts.push(fact(MANIFEST_NEW, folder, None));
            }
            if classify::is_lockfile(&old_name) && (old_folder, &old_name) != (folder, &name) {
                let summary = "a lock file is renamed and no longer read where it was";
                let draft = Draft::on_file(LOCKFILE, old_path, Side::Base, summary);
                seen.facts.push(fact(LOCK_GONE, old_folder, Some(draft)));
                if classify::is_lockfile(&name) && ours {
                    seen.facts.push(fact(LOCK_NEW, folder, None));
                }
            }
        }
        ChangeKind::Added
        | ChangeKind::Deleted
        | ChangeKind::Modified
        | ChangeKind::ModeChanged
        | ChangeKind::TypeChanged => {}
    }
}

/// Another lock file means another package manager or another root; a manifest that goes too needs none.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
    let gone: BTreeSet<&str> =
        of(MANIFEST_GONE).chain(of(MANIFEST_MOVED)).map(|fact| fact.name.as_str()).collect();
    if of(LOCK_NEW).next().is_some() {
        return Vec::new();
    }
    of(LOCK_GONE)
        .filter(|fact| !gone.contains(fact.name.as_str()))
        .filter_map(|fact| fact.draft.clone())
        .collect()
}
