//! Go: package directories of the module an importing file belongs to.

use super::super::contract::Lookups;
use super::target::{Target, join, split};
use qa_contracts::v1::Side;

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, import: &str) -> Target {
    let mut root = split(importer).0;
    while !lookups.files_in(side, root).iter().any(|file| file == "go.mod") {
        if root.is_empty() {
            return Target::Unsure;
        }
        root = split(root).0;
    }
    let Some(manifest) = lookups.outline(side, &join(root, "go.mod")) else { return Target::Unsure };
    let Some(module) = manifest.names.iter().find_map(|line| line.name.strip_prefix("module ")) else {
        return Target::Unsure;
    };
    let module = module.trim().trim_matches('"');
    let Some(package) = import.strip_prefix(module).and_then(|rest| rest.strip_prefix('/')) else {
        return Target::Unsure;
    };
    // Part of the module's paths may belong to other modules.
    let mut others = manifest.names.iter().filter(|line| !line.name.starts_with("module "));
    let elsewhere = others.any(|line| line.name.split_whitespace().any(|word| word.starts_with(module)));
    let directory = join(root, package);
    let files = lookups.files_in(side, &directory);
    match files.iter().find(|file| file.ends_with(".go")) {
        Some(file) => Target::File(join(&directory, file)),
        None if elsewhere || !files.is_empty() || lookups.is_present(side, &directory) => Target::Unsure,
        None => Target::Missing(directory),
    }
}
