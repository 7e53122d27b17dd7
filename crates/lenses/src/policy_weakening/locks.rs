//! Lock files that go, while the manifest that they are for stays.

use std::collections::BTreeSet;

use super::files::on_removed_line;
use super::{Found, LOCKFILE};
use crate::contract::{Draft, Fact};
use qa_contracts::v1::{ChangeKind, Scope, ScopeReason, Side};
use qa_core::classify;
use qa_core::packet::Packet;

/// A path by its folder and its name in lower case.
#[derive(PartialEq, Eq)]
struct Place {
    folder: String,
    name: String,
}

impl Place {
    fn new(path: &str) -> Self {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        Self { folder: folder.to_owned(), name: name.to_lowercase() }
    }
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Fact> {
    let file = packet.file;
    let place = Place::new(&packet.path().to_text());
    let is_lock = classify::is_lockfile(&place.name);
    // A lock file of somebody else's code takes no other's place, nor does one that only claims to be such a file.
    let is_ours = file.scope != Scope::Vendored && file.scope_reason != ScopeReason::Unproven;
    let takes_a_place = is_lock && is_ours;
    let mut facts = Vec::new();
    match file.kind {
        ChangeKind::Deleted if is_lock => {
            let draft = on_removed_line(packet, LOCKFILE, Side::Base, "lock file is deleted");
            facts.push(Fact::new(&Found::LockGone { folder: place.folder }, Some(draft)));
        }
        ChangeKind::Deleted if classify::is_manifest(&place.name) => {
            facts.push(Fact::new(&Found::ManifestGone { folder: place.folder }, None));
        }
        ChangeKind::Added => facts.extend(takes_a_place.then(|| Fact::new(&Found::LockAdded, None))),
        ChangeKind::Renamed => {
            let Some(old_path) = &file.old_path else { return facts };
            let old = Place::new(&old_path.to_text());
            if old == place {
                return facts;
            }
            if classify::is_manifest(&old.name) {
                facts.push(Fact::new(&Found::ManifestGone { folder: old.folder }, None));
            } else if classify::is_lockfile(&old.name) {
                let summary = "lock file is renamed and no longer in use";
                let draft = Draft::on_file(LOCKFILE, old_path, Side::Base, summary);
                facts.push(Fact::new(&Found::LockGone { folder: old.folder }, Some(draft)));
                facts.extend(takes_a_place.then(|| Fact::new(&Found::LockAdded, None)));
            }
        }
        ChangeKind::Deleted | ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::TypeChanged => {}
    }
    facts
}

/// Another lock file means another package manager or another root; a manifest that goes too needs none.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let mut manifests_gone = BTreeSet::new();
    let mut locks_gone = Vec::new();
    for fact in facts {
        match fact.read::<Found>() {
            Some(Found::LockAdded) => return Vec::new(),
            Some(Found::LockGone { folder }) => locks_gone.push((folder, &fact.draft)),
            Some(Found::ManifestGone { folder }) => drop(manifests_gone.insert(folder)),
            Some(Found::Owners(_) | Found::Policy) | None => {}
        }
    }
    locks_gone.retain(|(folder, _)| !manifests_gone.contains(folder));
    locks_gone.into_iter().filter_map(|(_, draft)| draft.clone()).collect()
}
