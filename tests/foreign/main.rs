//! The program against parts that nobody here wrote. `scripts/foreign.sh` installs them; where they are missing a test
//! says so and ends, and in CI it fails.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![allow(clippy::print_stderr, reason = "a skipped test says why")]

mod artifact_client;
mod openapi;
mod sarif;
#[path = "../it/support/mod.rs"]
#[allow(dead_code, unused_imports, unreachable_pub, reason = "each test binary uses its own part of it")]
mod support;
mod webhooks;

use std::path::{Path, PathBuf};

/// Where the packages are, when these are among them.
fn packages(names: &[&str]) -> Option<PathBuf> {
    let directory = Path::new("target/foreign");
    names.iter().try_for_each(|name| part(directory.join("node_modules").join(name)).map(drop))?;
    part(directory)
}

/// Where an installed part is; `path` counts from the root of the repository.
fn part(path: impl AsRef<Path>) -> Option<PathBuf> {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join(&path);
    if !place.exists() {
        let name = path.as_ref().display();
        assert!(std::env::var_os("CI").is_none(), "{name} is not installed; scripts/foreign.sh does it");
        eprintln!("skipped: {name} is not installed; scripts/foreign.sh does it");
        return None;
    }
    Some(place)
}
