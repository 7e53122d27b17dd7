//! Lock files that go, while the manifest that they are for stays.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::files::on_removed_line;
use super::{Found, LOCKFILE, REPLACED};
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

/// Names of lock files that different tools write for the same packages, with the tool of each.
const TOOLS: &[&[Tool]] = &[
    &[
        Tool { lock: "bun.lock", name: "bun" },
        Tool { lock: "bun.lockb", name: "bun" },
        Tool { lock: "deno.lock", name: "deno" },
        Tool { lock: "npm-shrinkwrap.json", name: "npm" },
        Tool { lock: "package-lock.json", name: "npm" },
        Tool { lock: "pnpm-lock.yaml", name: "pnpm" },
        Tool { lock: "yarn.lock", name: "yarn" },
    ],
    &[
        Tool { lock: "pdm.lock", name: "pdm" },
        Tool { lock: "pipfile.lock", name: "pipenv" },
        Tool { lock: "poetry.lock", name: "poetry" },
        Tool { lock: "pylock.toml", name: "pylock" },
        Tool { lock: "uv.lock", name: "uv" },
    ],
];

struct Tool {
    lock: &'static str,
    name: &'static str,
}

/// A lock file that comes or goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lock {
    folder: String,
    /// Name in lower case.
    name: String,
}

impl Lock {
    fn new(place: &Place) -> Self {
        Self { folder: place.folder.clone(), name: place.name.clone() }
    }

    fn tool(&self) -> &str {
        let known = TOOLS.iter().flat_map(|tools| *tools).find(|tool| tool.lock == self.name);
        known.map(|tool| tool.name).unwrap_or(&self.name)
    }

    /// Returns whether this one may lock what another one did: in its folder or in one around it.
    fn may_replace(&self, gone: &Self) -> bool {
        let is_around = self.folder.is_empty()
            || gone.folder == self.folder
            || gone.folder.strip_prefix(self.folder.as_str()).is_some_and(|rest| rest.starts_with('/'));
        let locks_the_same = self.tool() == gone.tool()
            || TOOLS
                .iter()
                .any(|tools| [self, gone].iter().all(|lock| tools.iter().any(|tool| tool.lock == lock.name)));
        is_around && locks_the_same
    }
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
            facts.push(Fact::new(&Found::LockGone(Lock::new(&place)), Some(draft)));
        }
        ChangeKind::Deleted if classify::is_manifest(&place.name) => {
            facts.push(Fact::new(&Found::ManifestGone { folder: place.folder }, None));
        }
        ChangeKind::Added => facts.extend(takes_a_place.then(|| lock_added(&place))),
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
                facts.push(Fact::new(&Found::LockGone(Lock::new(&old)), Some(draft)));
                facts.extend(takes_a_place.then(|| lock_added(&place)));
            }
        }
        ChangeKind::Deleted | ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::TypeChanged => {}
    }
    facts
}

fn lock_added(place: &Place) -> Fact {
    Fact::new(&Found::LockAdded(Lock::new(place)), None)
}

/// A lock file of the same packages takes the place of one that goes, and cannot be compared with that of another tool; a
/// manifest that goes too needs none.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let mut manifests_gone = BTreeSet::new();
    let mut locks_added = Vec::new();
    let mut drafts = Vec::new();
    for fact in facts {
        match fact.read::<Found>() {
            Some(Found::LockAdded(lock)) => locks_added.push(lock),
            Some(Found::ManifestGone { folder }) => drop(manifests_gone.insert(folder)),
            Some(Found::LockGone(_) | Found::Owners(_) | Found::Policy) | None => {}
        }
    }
    for fact in facts {
        let (Some(Found::LockGone(gone)), Some(draft)) = (fact.read::<Found>(), &fact.draft) else {
            continue;
        };
        if manifests_gone.contains(&gone.folder) {
            continue;
        }
        match locks_added.iter().find(|lock| lock.may_replace(&gone)) {
            None => drafts.push(draft.clone()),
            Some(lock) if lock.tool() == gone.tool() => {}
            Some(_) => drafts.push(Draft {
                rule: REPLACED.into(),
                summary: "lock file is replaced by that of another tool, so its versions are not compared"
                    .to_owned(),
                ..draft.clone()
            }),
        }
    }
    drafts
}
