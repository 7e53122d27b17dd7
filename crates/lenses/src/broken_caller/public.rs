//! Public names of a library that a change takes away without a word to those who use it.

use std::collections::BTreeMap;

use super::super::contract::{Draft, Lookups};
use super::super::imports::{Family, join, split};
use super::REMOVED_API;
use super::facts::Change;
use super::left::{Removed, Taken};
use super::types::is_missing;
use qa_contracts::v1::{DefinitionKind, MentionKind, Side};

/// Maximum number of names that one finding lists.
const MOST_LISTED: usize = 10;

/// Returns one finding for each file that loses public names.
pub(super) fn drafts(
    change: &Change,
    lookups: &dyn Lookups,
    all: &BTreeMap<MentionKind, Taken>,
) -> Vec<Draft> {
    if change.is_versioned {
        return Vec::new();
    }
    let mut by_file: BTreeMap<&str, Vec<&Removed>> = BTreeMap::new();
    for (kind, removed) in
        all.iter().flat_map(|(kind, taken)| taken.removed.values().map(move |removed| (*kind, removed)))
    {
        let is_noted = change.noted.contains(&removed.definition.name.name);
        if !is_noted && is_public(lookups, removed) && is_missing(lookups, kind, &removed.place) {
            by_file.entry(&removed.path).or_default().push(removed);
        }
    }
    let drafts = by_file.into_iter().filter_map(|(path, mut removed)| {
        removed.sort_by_key(|each| each.definition.name.line);
        let names: Vec<String> =
            removed.iter().take(MOST_LISTED).map(|each| each.definition.name.name.clone()).collect();
        let first = &removed.first()?.definition.name;
        let summary = "a public name of the library is removed";
        let draft = change.draft(REMOVED_API, Side::Base, path, first, summary)?;
        Some(draft.with("names", names).with("removed", removed.len()))
    });
    drafts.collect()
}

/// Returns whether users of the library may name a definition.
fn is_public(lookups: &dyn Lookups, removed: &Removed) -> bool {
    let (path, definition) = (removed.path.as_str(), &removed.definition);
    let is_inner = path.split('/').any(|part| {
        part.starts_with(['_', '.']) && part != "__init__.py"
            || matches!(
                part,
                "bench"
                    | "benches"
                    | "benchmarks"
                    | "examples"
                    | "internal"
                    | "scripts"
                    | "test"
                    | "testing"
                    | "tests"
                    | "tools"
            )
    });
    if is_inner
        || !definition.public
        || definition.kind == DefinitionKind::Imported && definition.owner.is_some()
    {
        return false;
    }
    match path.parse_family() {
        Some(MentionKind::Go) if definition.owner.is_none() => {
            let surface = lookups.surface(Side::Base, path);
            !path.ends_with("_test.go")
                && surface.is_some_and(|surface| surface.package.as_deref() != Some("main"))
                && has_above(lookups, path, &["go.mod"])
        }
        Some(MentionKind::Java) => {
            path.contains("src/main/java/")
                && removed.definition.owner.is_none()
                && !path.contains("/internal/")
        }
        Some(MentionKind::Python) if definition.owner.is_none() => {
            let name = split(path).1;
            let is_package =
                lookups.files_in(Side::Base, split(path).0).iter().any(|file| file == "__init__.py");
            is_package
                // Variables of a module are rarely for others, such as those of types.
                && (matches!(definition.kind, DefinitionKind::Function | DefinitionKind::Type)
                    || name == "__init__.py")
                && has_above(lookups, path, &["pyproject.toml", "setup.cfg", "setup.py"])
        }
        Some(MentionKind::Rust) => is_public_in_crate(lookups, path),
        Some(MentionKind::Ecma) => definition.owner.is_none() && is_entry(lookups, path),
        Some(
            MentionKind::C
            | MentionKind::CSharp
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Python
            | MentionKind::Ruby,
        )
        | None => false,
    }
}

/// Returns whether a directory above a file has one of some files.
fn has_above(lookups: &dyn Lookups, path: &str, names: &[&str]) -> bool {
    let mut directory = split(path).0;
    loop {
        if lookups.files_in(Side::Base, directory).iter().any(|file| names.contains(&file.as_str())) {
            return true;
        }
        if directory.is_empty() {
            return false;
        }
        directory = split(directory).0;
    }
}

/// Returns whether every module above a file of Rust is public, up to the root of a library.
fn is_public_in_crate(lookups: &dyn Lookups, path: &str) -> bool {
    let mut path = path.to_owned();
    loop {
        let (directory, name) = split(&path);
        if name == "lib.rs" {
            return true;
        }
        if matches!(name, "main.rs" | "build.rs") {
            return false;
        }
        let module_directory = if name == "mod.rs" { split(directory).0 } else { directory };
        let module = if name == "mod.rs" { split(directory).1 } else { name.trim_end_matches(".rs") };
        let files = lookups.files_in(Side::Base, module_directory);
        let own = split(module_directory).1;
        let around = ["lib.rs", "mod.rs"].iter().find(|root| files.iter().any(|file| file == *root));
        let parent = match around {
            Some(root) => join(module_directory, root),
            None if !own.is_empty() => format!("{module_directory}.rs"),
            None => return false,
        };
        let Some(surface) = lookups.surface(Side::Base, &parent) else { return false };
        let is_public = surface
            .definitions
            .iter()
            .any(|each| each.kind == DefinitionKind::Module && each.name.name == module && each.public);
        if !is_public {
            return false;
        }
        path = parent;
    }
}

/// Returns whether a file is where a package that is published begins.
fn is_entry(lookups: &dyn Lookups, path: &str) -> bool {
    let (directory, name) = split(path);
    let stem = name.split('.').next().unwrap_or(name);
    if stem != "index" {
        return false;
    }
    let package = match split(directory).1 {
        "lib" | "src" => split(directory).0,
        _ => directory,
    };
    lookups.text(Side::Base, &join(package, "package.json")).is_some_and(|text| {
        let squeezed: String = text.split_whitespace().collect();
        !squeezed.contains("\"private\":true") && squeezed.contains("\"version\":")
    })
}
