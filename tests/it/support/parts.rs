//! Third-party programs and packages, installed by `scripts/foreign.sh`. A test without one prints a notice, and fails in
//! CI.

use std::path::{Path, PathBuf};

/// Returns the directory of packages, if these are installed.
pub(crate) fn packages(names: &[&str]) -> Option<PathBuf> {
    let directory = Path::new("target/foreign");
    names.iter().try_for_each(|name| part(directory.join("node_modules").join(name)).map(drop))?;
    part(directory)
}

/// Returns the path of an installed part; `path` is relative to the repository.
pub(crate) fn part(path: impl AsRef<Path>) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
    if !place.exists() {
        skip(&format!("{} is not installed; scripts/foreign.sh does it", path.as_ref().display()));
        return None;
    }
    Some(place)
}

/// Says that the rest of a test does not run here, which CI does not accept.
pub(crate) fn skip(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "{reason}");
    eprintln!("skipped: {reason}");
}
