//! Finds the files that imports lead to, in every language, and those that need not be in the repository.

use super::super::contract::Lookups;
use super::target::{Has, Target, join, split};
use super::{Family, c, ecma, go, java, made, python, relative, rust};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ImportForm, MentionKind, PlacedImport, Side};
use qa_core::classify::PathSet;

/// Most files that are read for what they say of a missing one; more say nothing in particular.
const MOST_READ: usize = 40;

/// Resolves an import of a file in the tree of one side.
pub(in super::super) fn target(
    lookups: &dyn Lookups,
    side: Side,
    importer: &str,
    import: &PlacedImport,
) -> Target {
    match importer.parse_family() {
        Some(MentionKind::C) => c::target(lookups, side, importer, &import.module.name),
        Some(MentionKind::Ecma) => ecma::target(lookups, side, importer, &import.module.name),
        Some(MentionKind::Go) => go::target(lookups, side, importer, &import.module.name),
        Some(MentionKind::Java) => java::target(lookups, side, importer, import),
        Some(MentionKind::Php) => relative::target(lookups, side, importer, &import.module.name, "php"),
        Some(MentionKind::Python) => python::target(lookups, side, importer, &import.module.name),
        Some(MentionKind::Ruby) => relative::target(lookups, side, importer, &import.module.name, "rb"),
        Some(MentionKind::Rust) if import.form == ImportForm::File => {
            rust::target(lookups, side, importer, &import.module.name)
        }
        Some(MentionKind::Rust) => rust::used(lookups, side, importer, import),
        Some(MentionKind::CSharp | MentionKind::Configuration | MentionKind::Lockfile) | None => {
            Target::Unsure
        }
    }
}

/// Returns whether something that the tree does not show may provide a missing file that a change begins to import.
pub(in super::super) fn may_be_provided(lookups: &dyn Lookups, importer: &str, missing: &str) -> bool {
    match importer.parse_family() {
        // Directories that are searched for headers are known to the build alone.
        Some(MentionKind::C) => true,
        Some(MentionKind::Java) => java::may_be_provided(lookups, importer, missing),
        Some(
            MentionKind::CSharp
            | MentionKind::Configuration
            | MentionKind::Ecma
            | MentionKind::Go
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Python
            | MentionKind::Ruby
            | MentionKind::Rust,
        )
        | None => false,
    }
}

/// Returns the files of Python modules that no package lists.
fn loose(lookups: &dyn Lookups, side: Side, import: &PlacedImport) -> Vec<String> {
    let module = &import.module.name;
    let named = import.names.iter().map(|name| format!("{module}.{}", name.name));
    let asked = std::iter::once(module.clone()).chain(named);
    let mut found: Vec<String> = asked.filter_map(|each| python::loose(lookups, side, &each)).collect();
    found.sort();
    found.dedup();
    found
}

/// Returns the files that an import leads to; of a Python package, the modules that it names.
pub(in super::super) fn reached(
    lookups: &dyn Lookups,
    side: Side,
    importer: &str,
    import: &PlacedImport,
) -> Vec<String> {
    let file = match target(lookups, side, importer, import) {
        Target::File(file) => file,
        Target::Unsure if importer.parse_family() == Some(MentionKind::Python) => {
            return loose(lookups, side, import);
        }
        Target::Unsure | Target::Missing(_) => return Vec::new(),
    };
    let (directory, own) = split(&file);
    if own != "__init__.py" {
        return vec![file];
    }
    let files = lookups.files_in(side, directory);
    let mut found = Vec::new();
    for name in &import.names {
        let module = format!("{}.py", name.name);
        let package = join(directory, &name.name);
        if files.contains(&module) {
            found.push(join(directory, &module));
        } else if lookups.files_in(side, &package).iter().any(|file| file == own) {
            found.push(join(&package, own));
        } else {
            found.push(file.clone());
        }
    }
    if found.is_empty() {
        found.push(file.clone());
    }
    found.sort();
    found.dedup();
    found
}

/// Returns whether a name can be imported from a file.
pub(in super::super) fn has(lookups: &dyn Lookups, side: Side, file: &str, name: &str) -> Has {
    match file.parse_family() {
        Some(MentionKind::Ecma) => ecma::has(lookups, side, file, name, 0),
        Some(MentionKind::Python) => python::has(lookups, side, file, name),
        Some(
            MentionKind::C
            | MentionKind::CSharp
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Java
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Ruby
            | MentionKind::Rust,
        )
        | None => Has::Unsure,
    }
}

/// Returns whether a missing file belongs where a build writes: git ignores it, or its output directory does not exist.
pub(in super::super) fn may_be_written(lookups: &dyn Lookups, path: &str) -> bool {
    is_written_to(lookups, path) || is_ignored(lookups, path)
}

/// Returns whether a build may make a missing file: what builds read says that it is made, or it belongs where builds
/// write.
pub(in super::super) fn may_be_made(lookups: &dyn Lookups, path: &str) -> bool {
    may_be_written(lookups, path) || {
        let (_, stem) = split(path);
        let found = lookups.mentions(Side::Head, MentionKind::Configuration, &[stem.to_owned()]);
        !found.complete
            || found.paths.len() > MOST_READ
            || found.paths.iter().any(|file| may_make(lookups, file, path))
    }
}

/// Returns whether a file that builds read makes a missing one, or cannot be read.
fn may_make(lookups: &dyn Lookups, configuration: &str, missing: &str) -> bool {
    match lookups.text(Side::Head, configuration) {
        Some(text) => made::makes(configuration, &text, missing),
        None => true,
    }
}

fn is_written_to(lookups: &dyn Lookups, path: &str) -> bool {
    const OUTPUT: &[&str] = &[
        "__generated__",
        "_generated",
        "bin",
        "build",
        "cjs",
        "dist",
        "es",
        "esm",
        "gen",
        "generated",
        "lib",
        "libs",
        "out",
        "output",
        "pkg",
        "target",
        "types",
    ];
    path.match_indices('/').any(|(end, _)| {
        let (_, name) = split(&path[..end]);
        OUTPUT.contains(&name) && !lookups.is_present(Side::Head, &path[..end])
    })
}

fn is_ignored(lookups: &dyn Lookups, path: &str) -> bool {
    const ENDINGS: &[&str] =
        &["", ".cjs", ".go", ".java", ".js", ".mjs", ".php", ".py", ".rb", ".rs", ".ts", ".tsx", "/x"];
    let beside = lookups.files_in(Side::Head, split(path).0);
    let is_typed = beside.iter().any(|file| file.ends_with(".ts") || file.ends_with(".tsx"));
    let directories = std::iter::once("").chain(path.match_indices('/').map(|(end, _)| &path[..end]));
    directories.into_iter().any(|directory| {
        if !lookups.files_in(Side::Head, directory).iter().any(|file| file == ".gitignore") {
            return false;
        }
        let Some(lines) = lookups.outline(Side::Head, &join(directory, ".gitignore")) else { return true };
        let patterns = lines.names.iter().filter(|line| !line.name.starts_with(['#', '!']));
        patterns.filter(|line| !(is_typed && is_of_compiler(&line.name))).any(|line| {
            let pattern = line.name.trim_end_matches('/');
            let inside = match pattern.strip_prefix('/') {
                Some(rooted) => join(directory, rooted),
                None if pattern.contains('/') => join(directory, pattern),
                None => join(directory, &format!("**/{pattern}")),
            };
            // A pattern that cannot be parsed may ignore anything.
            let Ok(set) = PathSet::new([inside.as_str(), &format!("{inside}/**")]) else { return true };
            ENDINGS.iter().any(|ending| {
                let path = RepoPath::from_bytes(format!("{path}{ending}").as_bytes());
                path.is_ok_and(|path| set.matches(&path))
            })
        })
    })
}

/// Returns whether a pattern ignores what a compiler writes beside its sources: then the source is missing as well.
fn is_of_compiler(pattern: &str) -> bool {
    let (_, name) = split(pattern);
    matches!(name, "*.cjs" | "*.d.cts" | "*.d.mts" | "*.d.ts" | "*.js" | "*.js.map" | "*.jsx" | "*.mjs")
}
