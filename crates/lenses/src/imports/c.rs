//! C and C++: the file beside the including one, or below it, that a quoted include names.

use super::super::contract::Lookups;
use super::target::{Target, split, walked};
use qa_contracts::v1::Side;

/// Directories beside and above the including file in which builds mostly look for headers.
const SEARCHED: &[&str] = &["", "inc", "include", "includes", "lib", "src"];

/// Resolves the path of an include. Where the file is not beside the including one, a build finds it elsewhere or not
/// at all: only a change that takes it away from there tells that.
pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, include: &str) -> Target {
    let directory = split(importer).0;
    let Some(path) = walked(directory, include) else { return Target::Unsure };
    let (parent, name) = split(&path);
    if lookups.files_in(side, parent).iter().any(|file| file == name) {
        return Target::File(path);
    }
    let above = directory.match_indices('/').map(|(end, _)| &directory[..end]);
    let mut roots = ["", directory].into_iter().chain(above);
    let is_elsewhere = roots.any(|root| {
        SEARCHED.iter().any(|below| {
            let searched = walked(root, &format!("{below}/{include}"));
            searched.is_some_and(|path| lookups.is_present(side, &path))
        })
    });
    if is_elsewhere { Target::Unsure } else { Target::Missing(path) }
}
