//! Dependencies that a manifest names anew and the lockfile beside it does not know.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::contract::{Draft, DraftExt, Fact, Lookups};
use super::super::imports::{join, split};
use super::super::mentions::has_word;
use super::manifest::document;
use super::{LOCK_BEHIND, MOST_ASKED};
use qa_contracts::v1::{MentionKind, Side};
use qa_core::classify::is_example;
use qa_core::packet::Packet;
use qa_reading::documents::{Format, Node};
use qa_reading::go_mod;
use qa_reading::packages::{LockFormat, LockedPackage, locked_packages};
use qa_reading::syntax::Span;

/// Maximum number of base dependencies looked up in the base's lockfile, to see whether it is kept up to date.
const MOST_KNOWN: usize = 3;

/// A package manager: its manifest, and what it locks in.
struct Manager {
    manifest: &'static str,
    locks: &'static [&'static str],
    dependencies: fn(&str) -> Vec<Declared>,
}

const MANAGERS: &[Manager] = &[
    Manager { manifest: "Cargo.toml", locks: &["Cargo.lock"], dependencies: cargo_dependencies },
    Manager { manifest: "go.mod", locks: &["go.sum"], dependencies: go_dependencies },
    Manager {
        manifest: "package.json",
        locks: &["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"],
        dependencies: node_dependencies,
    },
];

/// A package as a lockfile has it; of any version where the manifest leaves that open.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Dependency {
    name: String,
    version: Option<String>,
}

impl Dependency {
    fn is_met_by(&self, package: &LockedPackage) -> bool {
        let locked = package.version.as_ref().map_or("", |version| version.text.as_str());
        let locked = locked.strip_suffix("/go.mod").unwrap_or(locked);
        package.name.text == self.name && self.version.as_ref().is_none_or(|version| version == locked)
    }
}

/// A dependency with the place of its name in the manifest.
struct Declared {
    dependency: Dependency,
    span: Span,
}

/// A dependency that is new in its manifest; the draft has its place.
#[derive(Debug, Serialize, Deserialize)]
struct NewDependency {
    dependency: Dependency,
    /// Name of the manifest's own package.
    own: Option<String>,
    /// Dependencies that the manifest had before, at most [`MOST_KNOWN`].
    known: Vec<Dependency>,
}

fn manager(path: &str) -> Option<&'static Manager> {
    MANAGERS.iter().find(|manager| manager.manifest == split(path).1)
}

/// Returns whether a path is a manifest that a lockfile belongs to.
pub(super) fn is_manifest(path: &str) -> bool {
    manager(path).is_some()
}

/// Returns facts about the dependencies that are new in a manifest.
pub(super) fn facts(packet: &Packet<'_>) -> Vec<Fact> {
    let path = packet.path().to_text();
    let (Some(manager), Some(head)) = (manager(&path), packet.text.full_head.as_deref()) else {
        return Vec::new();
    };
    let base = packet.text.full_base.as_deref().map(manager.dependencies).unwrap_or_default();
    let known: BTreeSet<Dependency> = base.into_iter().map(|declared| declared.dependency).collect();
    let added: BTreeSet<u64> = packet.added().map(|line| line.number).collect();
    let mut facts = Vec::new();
    for Declared { dependency, span } in (manager.dependencies)(head) {
        if known.contains(&dependency) {
            continue;
        }
        let summary = "a dependency is declared that the lockfile does not know";
        let draft = Draft::on_text(LOCK_BEHIND, packet.path(), Side::Head, head, span, summary);
        if !added.contains(&draft.start_line) {
            continue;
        }
        let known = known.iter().take(MOST_KNOWN).cloned().collect();
        let fact = NewDependency { dependency, own: cargo_name(head), known };
        facts.push(Fact::new(&fact, Some(draft)));
    }
    facts
}

/// Drafts about dependencies that the lockfile at head does not know, where the base's knows all of its own.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut locks = Locks { lookups, read: BTreeMap::new() };
    let mut drafts = Vec::new();
    for fact in facts {
        let (Some(new), Some(draft)) = (fact.read::<NewDependency>(), &fact.draft) else { continue };
        let path = draft.file.to_text();
        let Some(lock) = locks.of_manifest(&path, new.own.as_deref()) else { continue };
        let Some(is_locked) = locks.has(Side::Head, &lock, &new.dependency) else {
            // An unreadable lockfile may or may not list the dependency.
            if !is_example(&lock) {
                lookups.stop_short();
            }
            continue;
        };
        // Most lockfiles know what is new, and then nothing else is asked.
        if !is_locked
            && new.known.iter().all(|known| locks.has(Side::Base, &lock, known) == Some(true))
            && !is_own_package(lookups, &path, &new.dependency.name)
        {
            drafts.push(draft.clone().with("lockfile", lock));
        }
    }
    drafts
}

/// Lockfiles, each of which is parsed once.
struct Locks<'a> {
    lookups: &'a dyn Lookups,
    read: BTreeMap<(Side, String), Option<Vec<LockedPackage>>>,
}

impl Locks<'_> {
    /// The packages of a lockfile, or `None` where it cannot be read.
    fn packages(&mut self, side: Side, lock: &str) -> Option<&[LockedPackage]> {
        let read = self.read.entry((side, lock.to_owned())).or_insert_with(|| {
            let text = self.lookups.text(side, lock)?;
            locked_packages(LockFormat::from_file_name(split(lock).1)?, &text).ok()
        });
        read.as_deref()
    }

    /// Returns whether a lockfile has a package, or `None` where it cannot be read.
    fn has(&mut self, side: Side, lock: &str, dependency: &Dependency) -> Option<bool> {
        let mut packages = self.packages(side, lock)?.iter();
        Some(packages.any(|package| dependency.is_met_by(package)))
    }

    /// Returns the lockfile of a manifest's dependencies: beside it, or above it, if that one knows the manifest.
    fn of_manifest(&mut self, path: &str, own: Option<&str>) -> Option<String> {
        let manager = manager(path)?;
        let mut directory = split(path).0;
        loop {
            let files = self.lookups.files_in(Side::Head, directory);
            // A workspace of Go has sums of its own.
            if manager.manifest == "go.mod" && files.iter().any(|file| file == "go.work") {
                return None;
            }
            let mut here = manager.locks.iter().filter(|lock| files.iter().any(|file| file == *lock));
            if let (Some(lock), None) = (here.next(), here.next()) {
                let lock = join(directory, lock);
                let is_beside = split(path).0 == directory;
                let knows = match manager.manifest {
                    "Cargo.toml" => own.is_some_and(|own| {
                        let own = Dependency { name: own.to_owned(), version: None };
                        self.has(Side::Head, &lock, &own) != Some(false)
                    }),
                    "go.mod" => is_beside,
                    _ => is_beside || self.names_folder(&lock, split(path).0.strip_prefix(directory)?),
                };
                return knows.then_some(lock);
            }
            if directory.is_empty() {
                return None;
            }
            directory = split(directory).0;
        }
    }

    /// Returns whether a lockfile names a folder, as those of workspaces do, each in a way of its own.
    fn names_folder(&self, lock: &str, folder: &str) -> bool {
        let text = self.lookups.text(Side::Head, lock);
        text.is_some_and(|text| has_word(MentionKind::Lockfile, &text, folder.trim_start_matches('/')))
    }
}

/// Returns whether a dependency is a package of the repository itself, which some lockfiles leave out.
fn is_own_package(lookups: &dyn Lookups, path: &str, name: &str) -> bool {
    if split(path).1 != "package.json" {
        return false;
    }
    let found = lookups.mentions(Side::Head, MentionKind::Configuration, &[name.to_owned()]);
    if !found.complete || super::imports::are_too_many(lookups, &found, MOST_ASKED) {
        return true;
    }
    let manifests = found.paths.iter().filter(|path| split(path).1 == "package.json");
    manifests.filter_map(|path| lookups.text(Side::Head, path)).any(|text| {
        let manifest = document(Format::Json, &text);
        manifest.is_some_and(|manifest| manifest.root().get("name").and_then(Node::text) == Some(name))
    })
}

/// Returns the name of a crate.
fn cargo_name(text: &str) -> Option<String> {
    let manifest = document(Format::Toml, text)?;
    Some(manifest.root().at(&["package", "name"])?.text()?.to_owned())
}

fn cargo_dependencies(text: &str) -> Vec<Declared> {
    let Some(manifest) = document(Format::Toml, text) else { return Vec::new() };
    let root = manifest.root();
    let targets = root.get("target").into_iter().flat_map(Node::entries).map(|target| target.value);
    let tables = std::iter::once(root).chain(targets);
    let lists = tables.flat_map(|table| {
        ["dependencies", "dev-dependencies", "build-dependencies"]
            .into_iter()
            .filter_map(move |key| table.get(key))
    });
    // Entries that are renamed in the lockfile or not in it are left out.
    let plain = lists.flat_map(Node::entries).filter(|entry| {
        ["package", "path", "workspace", "optional"].iter().all(|key| entry.value.get(key).is_none())
    });
    plain.map(|entry| Declared::any_version(entry.key, entry.key_span)).collect()
}

fn go_dependencies(text: &str) -> Vec<Declared> {
    let directives = go_mod::directives(text).unwrap_or_default();
    let replaced: BTreeSet<&str> = directives
        .iter()
        .filter_map(go_mod::Directive::replacement)
        .map(|by| by.module.text.as_str())
        .collect();
    let mut found = Vec::new();
    for directive in directives.iter().filter(|directive| directive.verb == "require") {
        let [name, version] = directive.words.as_slice() else { continue };
        if !replaced.contains(name.text.as_str()) {
            let dependency = Dependency { name: name.text.clone(), version: Some(version.text.clone()) };
            found.push(Declared { dependency, span: name.span });
        }
    }
    found
}

fn node_dependencies(text: &str) -> Vec<Declared> {
    let Some(manifest) = document(Format::Json, text) else { return Vec::new() };
    let lists = ["dependencies", "devDependencies"].into_iter().filter_map(|key| manifest.root().get(key));
    // A number comes from a registry, and so is locked.
    let numbered = lists.flat_map(Node::entries).filter(|entry| entry.value.text().is_some_and(is_number));
    numbered.map(|entry| Declared::any_version(entry.key, entry.key_span)).collect()
}

fn is_number(version: &str) -> bool {
    version.trim_start_matches(['^', '~', '=', 'v']).starts_with(|first: char| first.is_ascii_digit())
}

impl Declared {
    fn any_version(name: &str, span: Span) -> Self {
        Self { dependency: Dependency { name: name.to_owned(), version: None }, span }
    }
}
