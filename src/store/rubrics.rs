//! Stores drafts, which are replaced, and frozen rubrics, which never are.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::StoreError;
use super::root::{ignored_directory, own_directory};

/// Creates the directory of rubrics below the artifact root, and fails if it is a link.
fn rubrics(root: &Path) -> Result<PathBuf, StoreError> {
    own_directory(root)?;
    let rubrics = root.join("rubrics");
    own_directory(&rubrics)?;
    Ok(rubrics)
}

/// Creates the directory of drafts, which git ignores.
pub(crate) fn drafts(root: &Path) -> Result<PathBuf, StoreError> {
    let drafts = rubrics(root)?.join("drafts");
    ignored_directory(&drafts)?;
    Ok(drafts)
}

/// Lists the names of stored rubrics, sorted.
pub(crate) fn list(root: &Path) -> Result<Vec<String>, StoreError> {
    let rubrics = rubrics(root)?;
    let entries = fs::read_dir(&rubrics).map_err(|error| StoreError::not_read(&rubrics, error))?;
    let mut names: Vec<String> =
        entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names)
}

/// Writes a frozen rubric. Fails if one of this name exists.
pub(crate) fn freeze(root: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
    let path = rubrics(root)?.join(name);
    let written = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
    written.map_err(|error| StoreError::not_written(&path, error))?;
    Ok(path)
}
