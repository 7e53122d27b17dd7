//! Dependencies that a manifest names anew and the lockfile beside it does not know.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Fact, Lookups};
use super::super::imports::{join, split};
use super::LOCK_BEHIND;
use qa_contracts::v1::{MentionKind, Side};
use qa_core::packet::Packet;

/// The kind of the fact about a dependency that is new in its manifest.
const DECLARED: &str = "declared";
/// The kind of the fact about one that was there before.
const KNOWN: &str = "known";
/// The kind of the fact about the name of a manifest's own package.
const OWN: &str = "own";
/// How many dependencies of the base are looked for, to see whether its lockfile is kept in step.
const MOST_KNOWN: usize = 3;

/// A package manager: its manifest, and what it locks in.
struct Manager {
    manifest: &'static str,
    locks: &'static [&'static str],
    declared: fn(&str) -> Vec<Declared<'_>>,
}

const MANAGERS: &[Manager] = &[
    Manager { manifest: "Cargo.toml", locks: &["Cargo.lock"], declared: of_cargo },
    Manager { manifest: "go.mod", locks: &["go.sum"], declared: of_go },
    Manager {
        manifest: "package.json",
        locks: &["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock"],
        declared: of_node,
    },
];

/// A dependency with its line, from 0, and the text that a lockfile has of it.
struct Declared<'t> {
    name: &'t str,
    line: usize,
    locked_as: String,
}

fn manager(path: &str) -> Option<&'static Manager> {
    MANAGERS.iter().find(|manager| manager.manifest == split(path).1)
}

/// Whether a path is a manifest that a lockfile belongs to.
pub(super) fn is_manifest(path: &str) -> bool {
    manager(path).is_some()
}

/// Facts about what a manifest names, new and old.
pub(super) fn facts(packet: &Packet<'_>) -> Vec<Fact> {
    let path = packet.path().to_text();
    let (Some(manager), Some(head)) = (manager(&path), packet.text.full_head.as_deref()) else {
        return Vec::new();
    };
    let base = packet.text.full_base.as_deref().unwrap_or("");
    let known: BTreeSet<String> =
        (manager.declared)(base).into_iter().map(|declared| declared.locked_as).collect();
    let fact = |kind: &'static str, name: &str, draft: Option<Draft>| Fact {
        kind: kind.into(),
        name: name.to_owned(),
        draft,
        ..Fact::default()
    };
    let about =
        |kind, name: &str| fact(kind, name, Some(Draft::on_file(LOCK_BEHIND, packet.path(), Side::Head, "")));
    let mut facts: Vec<Fact> = known.iter().take(MOST_KNOWN).map(|name| about(KNOWN, name)).collect();
    facts.extend(own_name(head).map(|name| about(OWN, name)));
    let anew: Vec<Declared<'_>> = (manager.declared)(head)
        .into_iter()
        .filter(|declared| !known.contains(&declared.locked_as))
        .collect();
    for line in packet.added() {
        let here = anew.iter().find(|declared| declared.line as u64 + 1 == line.number);
        let Some((declared, start)) = here.and_then(|here| Some((here, line.text.find(here.name)?))) else {
            continue;
        };
        let summary = "a dependency is declared that the lockfile does not know";
        let span = start..start + declared.name.len();
        let draft = Draft::on_line(LOCK_BEHIND, packet, &line, span, summary);
        facts.push(fact(DECLARED, &declared.locked_as, Some(draft)));
    }
    if facts.iter().any(|fact| fact.kind == DECLARED) { facts } else { Vec::new() }
}

/// Drafts about dependencies that the lockfile at head does not know, where the base's knows all of its own.
pub(super) fn drafts(facts: &[Fact], lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    let path_of = |fact: &Fact| fact.draft.as_ref().map(|draft| draft.file.to_text().into_owned());
    for fact in facts.iter().filter(|fact| fact.kind == DECLARED) {
        let (Some(draft), Some(path)) = (&fact.draft, path_of(fact)) else { continue };
        let of_same = |kind: &'static str| {
            let path = path.clone();
            facts.iter().filter(move |other| other.kind == kind && path_of(other).as_ref() == Some(&path))
        };
        let own = of_same(OWN).next().map(|fact| fact.name.as_str());
        let Some(lock) = lock_of(lookups, &path, own) else { continue };
        let is_kept =
            || of_same(KNOWN).all(|known| has(lookups, Side::Base, &lock, &known.name) != Some(false));
        // Most lockfiles know what is new, and then nothing else is asked.
        if has(lookups, Side::Head, &lock, &fact.name) == Some(false)
            && is_kept()
            && !own_package(lookups, &path, &fact.name)
        {
            drafts.push(draft.clone().with("lockfile", lock));
        }
    }
    drafts
}

/// Whether a lockfile has a text; null where not all was read.
fn has(lookups: &dyn Lookups, side: Side, lock: &str, text: &str) -> Option<bool> {
    let found = lookups.mentions(side, MentionKind::Lockfile, &[text.to_owned()]);
    let is_there = found.paths.iter().any(|path| path == lock);
    (found.complete || is_there).then_some(is_there)
}

/// The lockfile that a manifest's dependencies are in: beside it, or above it, if that one speaks of the manifest.
fn lock_of(lookups: &dyn Lookups, path: &str, own: Option<&str>) -> Option<String> {
    let manager = manager(path)?;
    let mut directory = split(path).0;
    loop {
        let files = lookups.files_in(Side::Head, directory);
        // A workspace of Go has sums of its own.
        if manager.manifest == "go.mod" && files.iter().any(|file| file == "go.work") {
            return None;
        }
        let mut here = manager.locks.iter().filter(|lock| files.iter().any(|file| file == *lock));
        if let (Some(lock), None) = (here.next(), here.next()) {
            let lock = join(directory, lock);
            let beside = split(path).0 == directory;
            let inside = split(path).0.strip_prefix(directory).map(|rest| rest.trim_start_matches('/'));
            let speaks = |text: &str| has(lookups, Side::Head, &lock, text) == Some(true);
            let knows = match manager.manifest {
                "Cargo.toml" => own.is_some_and(|own| speaks(&format!("\"{own}\""))),
                "go.mod" => beside,
                _ => beside || inside.is_some_and(speaks),
            };
            return knows.then_some(lock);
        }
        if directory.is_empty() {
            return None;
        }
        directory = split(directory).0;
    }
}

/// Whether a dependency is a package of the repository itself, which some lockfiles leave out.
fn own_package(lookups: &dyn Lookups, path: &str, name: &str) -> bool {
    split(path).1 == "package.json" && {
        let words = [format!("\"name\": \"{name}\"")];
        let found = lookups.mentions(Side::Head, MentionKind::Configuration, &words);
        !found.complete || !found.paths.is_empty()
    }
}

/// The name of a manifest's own package.
fn own_name(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let value = lines.by_ref().take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "name").then_some(value)
    })?;
    value.trim().strip_prefix('"')?.split('"').next()
}

fn of_cargo(text: &str) -> Vec<Declared<'_>> {
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in text.lines().enumerate() {
        let text = text.trim();
        if let Some(header) = text.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            inside = header.ends_with("dependencies") && !header.starts_with("workspace");
            continue;
        }
        let Some((key, value)) = text.split_once('=').filter(|_| inside && !text.starts_with('#')) else {
            continue;
        };
        let name = key.split('.').next().unwrap_or(key).trim().trim_matches('"');
        // What has another name in the lockfile, or none, is left out.
        let plain = ["package", "path", "workspace", "optional"].iter().all(|word| !text.contains(word));
        if plain && !name.is_empty() && value.contains('"') {
            found.push(Declared { name, line, locked_as: format!("\"{name}\"") });
        }
    }
    found
}

fn of_go(text: &str) -> Vec<Declared<'_>> {
    let replaced: Vec<&str> = text.lines().filter(|line| line.contains("=>")).collect();
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in text.lines().enumerate() {
        let text = text.split("//").next().unwrap_or(text).trim();
        if inside && text == ")" || text == "require (" {
            inside = text != ")";
            continue;
        }
        let one = text.strip_prefix("require ").or_else(|| inside.then_some(text));
        let mut words = one.unwrap_or("").split_whitespace();
        if let (Some(name), Some(version), None) = (words.next(), words.next(), words.next())
            && version.starts_with('v')
            && !replaced.iter().any(|line| line.contains(name))
        {
            found.push(Declared { name, line, locked_as: format!("{name} {version}") });
        }
    }
    found
}

fn of_node(text: &str) -> Vec<Declared<'_>> {
    const SECTIONS: &[&str] = &["\"dependencies\": {", "\"devDependencies\": {"];
    let mut found = Vec::new();
    let mut inside = false;
    for (line, text) in text.lines().enumerate() {
        let text = text.trim();
        if SECTIONS.contains(&text) || text.starts_with('}') {
            inside = !text.starts_with('}');
            continue;
        }
        let mut parts = text.trim_end_matches(',').split('"');
        let (_, name, between, version) = (parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(name), Some(version)) = (name, version) else { continue };
        // A number comes from a registry, and so is locked.
        let numbered = version
            .trim_start_matches(['^', '~', '=', 'v'])
            .starts_with(|first: char| first.is_ascii_digit());
        if inside && between.is_some_and(|between| between.trim() == ":") && numbered {
            found.push(Declared { name, line, locked_as: name.to_owned() });
        }
    }
    found
}
