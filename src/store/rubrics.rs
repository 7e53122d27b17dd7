//! Stores drafts, which may be overwritten, and frozen rubrics, which may not.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::root::{ignored_directory, own_directory};

/// The directory of rubrics below the artifact root, which nobody may have made a link.
fn rubrics(root: &Path) -> Result<PathBuf, StoreError> {
    own_directory(root)?;
    let rubrics = root.join("rubrics");
    own_directory(&rubrics)?;
    Ok(rubrics)
}

/// The directory for drafts; git ignores it.
pub(crate) fn drafts(root: &Path) -> Result<PathBuf, StoreError> {
    let drafts = rubrics(root)?.join("drafts");
    ignored_directory(&drafts)?;
    Ok(drafts)
}

/// The names of what is there already.
pub(crate) fn names(root: &Path) -> Result<Vec<String>, StoreError> {
    let rubrics = rubrics(root)?;
    let entries = fs::read_dir(&rubrics).map_err(|error| StoreError::read(&rubrics, error))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Writes a frozen rubric where there is none, and never over one.
pub(crate) fn freeze(root: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
    let path = rubrics(root)?.join(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.map_err(|error| StoreError::write(&path, error))?;
    Ok(path)
}
