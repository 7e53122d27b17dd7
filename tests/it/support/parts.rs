//! Parts that nobody here wrote: `scripts/foreign.sh` installs them. Where one is missing a test says so, and in CI fails.

use std::path::{Path, PathBuf};

/// Where the packages are, when these are among them.
pub(crate) fn packages(names: &[&str]) -> Option<PathBuf> {
    let directory = Path::new("target/foreign");
    names.iter().try_for_each(|name| part(directory.join("node_modules").join(name)).map(drop))?;
    part(directory)
}

/// Where an installed part is; `path` counts from the root of the repository.
pub(crate) fn part(path: impl AsRef<Path>) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
    if !place.exists() {
        let name = path.as_ref().display();
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed; scripts/foreign.sh does it");
        eprintln!("skipped: {name} is not installed; scripts/foreign.sh does it");
        return None;
    }
    Some(place)
}
