//! Lock files that go, or lock less, while the manifest that they are for stays.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::files::on_removed_line;
use super::{Found, LOCKFILE, REPLACED};
use crate::contract::{Draft, Fact, Lookups};
use qa_contracts::v1::{ChangeKind, Scope, ScopeReason, Side};
use qa_core::classify;
use qa_core::packet::Packet;
use qa_reading::documents::{Document, Format, Step};
use qa_reading::packages::{LockFormat, locked_packages};

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
    /// Name as it is written.
    file: String,
}

impl Lock {
    fn new(place: &Place, path: &str) -> Self {
        let file = path.rsplit('/').next().unwrap_or(path).to_owned();
        Self { folder: place.folder.clone(), name: place.name.clone(), file }
    }

    /// Returns the packages of one side that come from elsewhere; none where the file cannot be read.
    fn packages(&self, side: Side, lookups: &dyn Lookups) -> Option<BTreeSet<String>> {
        let text = lookups.text(side, &joined(&self.folder, &self.file))?;
        let packages = locked_packages(LockFormat::from_file_name(&self.file)?, &text).ok()?;
        let foreign = packages.iter().filter(|package| package.version.is_some());
        let has_sources = packages.iter().any(|package| package.source.is_some());
        let foreign = foreign.filter(|package| !has_sources || package.source.is_some());
        Some(foreign.map(|package| spelled(&package.name.text)).collect())
    }

    /// Returns why a file at head locks less than this one did at the base; none where it locks what manifests need.
    fn loss(&self, head: &Self, lookups: &dyn Lookups) -> Option<&'static str> {
        let base = self.packages(Side::Base, lookups).filter(|packages| !packages.is_empty())?;
        let text = lookups.text(Side::Head, &joined(&head.folder, &head.file)).unwrap_or_default();
        // A file that cannot be parsed is told by another rule.
        let locked = match head.packages(Side::Head, lookups) {
            None if !text.trim().is_empty() => return None,
            locked => locked.unwrap_or_default(),
        };
        let [needed, needs] = [Side::Base, Side::Head].map(|side| {
            let declared = declared(&self.folder, side, lookups);
            declared.intersection(&base).cloned().collect::<BTreeSet<String>>()
        });
        if locked.is_empty() && (needed.is_empty() || !needs.is_empty()) {
            return Some("lock file no longer lists any package");
        }
        let is_lost = needs.intersection(&needed).any(|package| !locked.contains(package));
        is_lost.then_some("lock file no longer lists a package that the manifest names")
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

fn joined(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Returns a name as registries compare it.
fn spelled(name: &str) -> String {
    name.to_lowercase().replace(['_', '.'], "-")
}

/// Returns the words of a text, each as a name.
fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_whitespace().map(spelled)
}

/// Returns whether a line of `go.mod` takes a module from a directory, for which `go.sum` has no checksum.
fn is_replaced_locally(line: &str) -> bool {
    line.split_once("=> ").is_some_and(|(_, by)| by.trim_start().starts_with(['.', '/']))
}

/// Returns the packages that the manifests of a folder name.
fn declared(folder: &str, side: Side, lookups: &dyn Lookups) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let names = lookups.files_in(side, folder);
    for name in names.iter().filter(|name| classify::is_manifest(&name.to_lowercase())) {
        let Some(text) = lookups.text(side, &joined(folder, name)) else { continue };
        let format = match name.rsplit('.').next() {
            Some("json" | "jsonc") => Format::Json,
            Some("yaml") => Format::Yaml,
            Some("toml") | Some("Pipfile") => Format::Toml,
            _ => {
                let replaced = text.lines().filter(|line| is_replaced_locally(line));
                let replaced: BTreeSet<String> = replaced.flat_map(words).collect();
                found.extend(words(&text).filter(|word| !replaced.contains(word)));
                continue;
            }
        };
        let Ok(document) = Document::parse(format, &text) else { continue };
        for leaf in document.root().leaves().unwrap_or_default() {
            let keys = leaf.path.iter().filter_map(|step| match step {
                Step::Key(key) => Some(*key),
                Step::Item(_) => None,
            });
            let keys: Vec<&str> = keys.collect();
            let lists =
                |key: &str| ["dependenc", "packages", "require"].iter().any(|word| key.contains(word));
            let Some(list) = keys.iter().position(|key| lists(key)) else { continue };
            let requirement = leaf.value.text().unwrap_or_default();
            let end = requirement.find(|sign: char| !sign.is_alphanumeric() && !"-_.".contains(sign));
            let words = [keys.get(list + 1).copied(), Some(&requirement[..end.unwrap_or(requirement.len())])];
            found.extend(words.into_iter().flatten().map(spelled));
        }
    }
    found
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Fact> {
    let file = packet.file;
    let path = packet.path().to_text();
    let place = Place::new(&path);
    let is_lock = classify::is_lockfile(&place.name);
    // A lock file of somebody else's code takes no other's place, nor does one that only claims to be such a file.
    let is_ours = file.scope != Scope::Vendored && file.scope_reason != ScopeReason::Unproven;
    let takes_a_place = is_lock && is_ours;
    let mut facts = Vec::new();
    match file.kind {
        ChangeKind::Deleted if is_lock => {
            let draft = on_removed_line(packet, LOCKFILE, Side::Base, "lock file is deleted");
            facts.push(Fact::new(&Found::LockGone(Lock::new(&place, &path)), Some(draft)));
        }
        ChangeKind::Deleted if classify::is_manifest(&place.name) => {
            facts.push(Fact::new(&Found::ManifestGone { folder: place.folder }, None));
        }
        ChangeKind::Added => facts.extend(takes_a_place.then(|| lock_added(&place, &path))),
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
                facts.push(Fact::new(&Found::LockGone(Lock::new(&old, &old_path.to_text())), Some(draft)));
                facts.extend(takes_a_place.then(|| lock_added(&place, &path)));
            }
        }
        ChangeKind::Modified if takes_a_place => {
            let draft = on_removed_line(packet, LOCKFILE, Side::Base, "");
            facts.push(Fact::new(&Found::LockChanged(Lock::new(&place, &path)), Some(draft)));
        }
        ChangeKind::Deleted | ChangeKind::Modified | ChangeKind::ModeChanged | ChangeKind::TypeChanged => {}
    }
    facts
}

fn lock_added(place: &Place, path: &str) -> Fact {
    Fact::new(&Found::LockAdded(Lock::new(place, path)), None)
}

/// A lock file of the same packages takes the place of one that goes, and cannot be compared with that of another tool; a
/// manifest that goes too needs none.
pub(super) fn compare(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut manifests_gone = BTreeSet::new();
    let mut locks_added = Vec::new();
    let mut drafts = Vec::new();
    for fact in facts {
        match fact.read::<Found>() {
            Some(Found::LockAdded(lock)) => locks_added.push(lock),
            Some(Found::ManifestGone { folder }) => drop(manifests_gone.insert(folder)),
            Some(Found::LockChanged(lock)) => {
                let summary = lock.loss(&lock, lookups);
                let draft = fact.draft.as_ref().zip(summary);
                drafts.extend(
                    draft.map(|(draft, summary)| Draft { summary: summary.to_owned(), ..draft.clone() }),
                );
            }
            Some(Found::LockGone(_) | Found::Owners(_) | Found::Policy | Found::Workflow(_)) | None => {}
        }
    }
    for fact in facts {
        let (Some(Found::LockGone(gone)), Some(draft)) = (fact.read::<Found>(), &fact.draft) else {
            continue;
        };
        if manifests_gone.contains(&gone.folder) {
            continue;
        }
        let successor = locks_added.iter().find(|lock| lock.may_replace(&gone));
        if let Some(summary) = successor.and_then(|lock| gone.loss(lock, lookups)) {
            drafts.push(Draft { summary: summary.to_owned(), ..draft.clone() });
            continue;
        }
        match successor {
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
