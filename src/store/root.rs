//! Directories below the artifact root, checked for links that lead elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use super::{STAGING_PREFIX, StoreError, display_path};
use crate::paths::refuse_links;
use crate::scratch;
use qa_contracts::ids::ExecutionKey;

/// A checked artifact root.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactRoot {
    root: PathBuf,
    runs: PathBuf,
}

impl ArtifactRoot {
    /// Prepares `<root>/runs`. Fails if either is a symbolic link, which a pull request can commit.
    pub(crate) fn prepare(root: &Path) -> Result<Self, StoreError> {
        let runs = root.join("runs");
        refuse_links(root).map_err(|error| StoreError::UnsafeRoot {
            path: display_path(root),
            reason: error.to_string(),
        })?;
        own_directory(root)?;
        ignored_directory(&runs)?;
        scratch::sweep(&runs, STAGING_PREFIX);
        Ok(Self { root: root.to_owned(), runs })
    }

    /// Creates the directory for parts of a run.
    pub(super) fn parts_directory(&self, key: &ExecutionKey) -> Result<PathBuf, StoreError> {
        let parts = self.root.join("parts");
        ignored_directory(&parts)?;
        let directory = parts.join(key.as_str());
        own_directory(&directory)?;
        Ok(directory)
    }

    /// Returns the directory of a key's run.
    pub(crate) fn run(&self, key: &ExecutionKey) -> PathBuf {
        self.runs.join(key.as_str())
    }

    /// Returns the directory of runs.
    pub(super) fn directory(&self) -> &Path {
        &self.runs
    }
}

/// Creates a directory, or accepts an existing one that is not a link.
pub(super) fn own_directory(directory: &Path) -> Result<(), StoreError> {
    match fs::symlink_metadata(directory) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => {
            let reason = "it is a link or a file and not a directory".to_owned();
            Err(StoreError::UnsafeRoot { path: display_path(directory), reason })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fs::create_dir_all(directory).map_err(|error| StoreError::not_written(directory, error))
        }
        Err(error) => Err(StoreError::not_read(directory, error)),
    }
}

/// Creates a directory like [`own_directory`], with a `.gitignore` of its content. An empty one, which a full disk or a killed
/// process leaves, is written again.
pub(super) fn ignored_directory(directory: &Path) -> Result<(), StoreError> {
    own_directory(directory)?;
    let ignore = directory.join(".gitignore");
    match fs::symlink_metadata(&ignore) {
        Ok(metadata) if !metadata.is_file() || metadata.len() > 0 => Ok(()),
        Ok(_) | Err(_) => fs::write(&ignore, "*\n").map_err(|error| StoreError::not_written(&ignore, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_to_git_that_was_left_empty_is_written_again_and_another_one_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let ignore = home.path().join(".gitignore");
        for (before, after) in [("", "*\n"), ("!*\n", "!*\n")] {
            fs::write(&ignore, before).unwrap();
            ignored_directory(home.path()).unwrap();
            assert_eq!(fs::read_to_string(&ignore).unwrap(), after);
        }
    }
}
