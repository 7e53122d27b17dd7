//! Parts of sharded runs: one validated file each, written atomically.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::read::read_artifact;
use super::root::own_directory;
use super::write::Entry;
use super::{ArtifactRoot, StoreError, display_path};
use qa_contracts::artifact::Artifact;
use qa_contracts::limits::MAX_JSON_BYTES;
use qa_contracts::v1::ShardPart;

/// Writes a part below an artifact root and returns its path. Replaces an earlier one of the same shard.
pub(crate) fn write_part(root: &Path, part: &ShardPart) -> Result<PathBuf, StoreError> {
    let directory = ArtifactRoot::prepare(root)?.parts_directory(&part.execution_key)?;
    let name = format!("{}of{}.json", part.shard, part.shards);
    write_whole(&directory, &name, &Entry::artifact(part)?)
}

/// Writes an artifact to the artifact root. Replaces an existing file or link.
pub(crate) fn write_beside<T: Artifact + Serialize>(
    root: &Path,
    artifact: &T,
) -> Result<PathBuf, StoreError> {
    own_directory(root)?;
    write_whole(root, T::FILE, &Entry::artifact(artifact)?)
}

/// Creates an empty directory. An existing one is removed with its content, and a link or a file in its place too.
pub(crate) fn fresh_directory(directory: &Path) -> Result<(), StoreError> {
    let removed = match fs::symlink_metadata(directory) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(directory),
        Ok(_) => fs::remove_file(directory),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    };
    removed
        .and_then(|()| fs::create_dir(directory))
        .map_err(|error| StoreError::not_written(directory, error))
}

fn write_whole(directory: &Path, name: &str, entry: &Entry) -> Result<PathBuf, StoreError> {
    write_bytes(directory, name, &entry.bytes())
}

/// Writes a file, whole or not at all. Replaces an existing file or link.
pub(super) fn write_bytes(directory: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
    let path = directory.join(name);
    let staged = tempfile::Builder::new().prefix(".tmp-").tempfile_in(directory);
    let mut staged = staged.map_err(|error| StoreError::not_written(&path, error))?;
    let written = staged.write_all(bytes).and_then(|()| staged.as_file().sync_all());
    written.map_err(|error| StoreError::not_written(&path, error))?;
    staged.persist(&path).map_err(|error| StoreError::not_written(&path, error.error))?;
    Ok(path)
}

/// Reads a part and validates it.
pub(crate) fn read_part(path: &Path) -> Result<ShardPart, StoreError> {
    let size = fs::metadata(path).map_err(|error| StoreError::not_read(path, error))?.len();
    if size > MAX_JSON_BYTES as u64 {
        let reason = format!("it has {size} bytes, the limit is {MAX_JSON_BYTES}");
        return Err(StoreError::Invalid { path: display_path(path), pointer: String::new(), reason });
    }
    let bytes = fs::read(path).map_err(|error| StoreError::not_read(path, error))?;
    read_artifact(&display_path(path), &bytes).map(|(part, _)| part)
}
