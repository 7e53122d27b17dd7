//! Ruby's `require_relative` and PHP's `require __DIR__ . '/…'`: a file by its path from the importing one.

use super::super::contract::Lookups;
use super::target::{Target, has_stem, join, split, walked};
use qa_contracts::v1::Side;

/// Resolves a path without its ending, which is that of the language: `rb` or `php`.
pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, path: &str, ending: &str) -> Target {
    let Some(path) = walked(split(importer).0, path) else { return Target::Unsure };
    let ending = format!(".{ending}");
    let (stem, is_written) = match path.strip_suffix(&ending) {
        Some(stem) => (stem, true),
        None => (path.as_str(), ending == ".rb"),
    };
    let (directory, name) = split(stem);
    // A package manager fills this directory.
    if !is_written || stem.split('/').any(|part| part == "vendor") {
        return Target::Unsure;
    }
    let files = lookups.files_in(side, directory);
    let file = format!("{name}{ending}");
    if files.contains(&file) {
        return Target::File(join(directory, &file));
    }
    // Ruby loads what a compiler makes of C as well; a link is no regular file.
    let is_elsewhere = has_stem(&files, name)
        || !directory.is_empty() && !lookups.is_present(side, directory)
        || lookups.is_present(side, &join(directory, &file))
        || ending == ".rb" && has_extension(lookups, side, importer);
    if is_elsewhere { Target::Unsure } else { Target::Missing(stem.to_owned()) }
}

/// Returns whether a gem around a file has code in C.
fn has_extension(lookups: &dyn Lookups, side: Side, importer: &str) -> bool {
    let above = importer.match_indices('/').map(|(end, _)| &importer[..end]);
    std::iter::once("").chain(above).any(|directory| lookups.is_present(side, &join(directory, "ext")))
}
