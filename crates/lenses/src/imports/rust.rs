//! Rust: the file that `mod name;` means, and the one a path of the own crate begins in.

use super::super::contract::Lookups;
use super::target::{Target, has_stem, join, split};
use qa_contracts::v1::{PlacedImport, Side};

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, module: &str) -> Target {
    let name = module.strip_prefix("r#").unwrap_or(module);
    let (directory, own) = split(importer);
    // Directories of files that the compiler is meant to reject.
    if directory.split('/').any(|part| matches!(part, "ui" | "compile-fail" | "compile_fail")) {
        return Target::Unsure;
    }
    // Which of both it is depends on whether the file is the root of a crate, which a manifest may say.
    let inside = join(directory, own.trim_end_matches(".rs"));
    let mut found = Vec::new();
    for place in [directory, &inside] {
        let files = lookups.files_in(side, place);
        if files.iter().any(|file| *file == format!("{name}.rs")) {
            found.push(join(place, &format!("{name}.rs")));
        } else if lookups.files_in(side, &join(place, name)).iter().any(|file| file == "mod.rs") {
            found.push(join(place, &format!("{name}/mod.rs")));
        } else if has_stem(&files, name) || is_link(lookups, side, &join(place, name)) {
            return Target::Unsure;
        }
    }
    match found.as_slice() {
        [only] => Target::File(only.clone()),
        [] => Target::Missing(join(directory, name)),
        _ => Target::Unsure,
    }
}

/// Returns whether a link stands where the file of a module would, or above it.
fn is_link(lookups: &dyn Lookups, side: Side, module: &str) -> bool {
    [".rs", "/mod.rs"].iter().any(|end| lookups.is_present(side, &format!("{module}{end}")))
}

/// Returns the name of the file in a directory that a crate begins with.
fn crate_root(lookups: &dyn Lookups, side: Side, directory: &str) -> Option<String> {
    let files = lookups.files_in(side, directory);
    files.into_iter().find(|file| matches!(file.as_str(), "lib.rs" | "main.rs"))
}

/// The file of the last module on a path from the crate's root. What it has is for a compiler to say.
pub(super) fn used(lookups: &dyn Lookups, side: Side, importer: &str, import: &PlacedImport) -> Target {
    let mut root = split(importer).0;
    let start = loop {
        match crate_root(lookups, side, root) {
            Some(start) => break start,
            None if root.is_empty() => return Target::Unsure,
            None => root = split(root).0,
        }
    };
    let mut parts = import.module.name.split("::").chain(import.names.iter().map(|name| name.name.as_str()));
    if parts.next() != Some("crate") {
        return Target::Unsure;
    }
    let (mut directory, mut file) = (root.to_owned(), join(root, &start));
    for part in parts {
        let inside = join(&directory, part);
        if lookups.files_in(side, &directory).iter().any(|file| *file == format!("{part}.rs")) {
            file = format!("{inside}.rs");
        } else if lookups.files_in(side, &inside).iter().any(|file| file == "mod.rs") {
            file = join(&inside, "mod.rs");
        } else {
            break;
        }
        directory = inside;
    }
    Target::File(file)
}
