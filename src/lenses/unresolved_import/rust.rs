//! Rust: the file that `mod name;` means.

use super::super::contract::Lookups;
use super::resolve::{Target, has_stem, join, split};
use crate::contracts::v1::Side;

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, module: &str) -> Target {
    let name = module.strip_prefix("r#").unwrap_or(module);
    let (directory, own) = split(importer);
    // What a compiler is meant to refuse.
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
        } else if has_stem(&files, name) {
            return Target::Unsure;
        }
    }
    match found.as_slice() {
        [only] => Target::File(only.clone()),
        [] => Target::Missing(join(directory, name)),
        _ => Target::Unsure,
    }
}
