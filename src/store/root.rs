//! Makes sure that writing below the artifact root really writes there and nowhere else.

use std::fs;
use std::path::{Path, PathBuf};

use super::{StoreError, shown};
use crate::contracts::ids::ExecutionKey;

/// A checked artifact root.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactRoot {
    runs: PathBuf,
}

impl ArtifactRoot {
    /// Prepares `<root>/runs`. A pull request can commit `.qa-skill` or `runs` as a symbolic link, so neither may be one.
    pub(crate) fn prepare(root: &Path) -> Result<Self, StoreError> {
        let runs = root.join("runs");
        for directory in [root, runs.as_path()] {
            match fs::symlink_metadata(directory) {
                Ok(metadata) if metadata.is_dir() => {}
                Ok(_) => {
                    let reason = "it is a link or a file and not a directory".to_owned();
                    return Err(StoreError::UnsafeRoot { path: shown(directory), reason });
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    fs::create_dir_all(directory).map_err(|error| StoreError::write(directory, error))?;
                }
                Err(error) => return Err(StoreError::read(directory, error)),
            }
        }
        let ignore = runs.join(".gitignore");
        if fs::symlink_metadata(&ignore).is_err() {
            fs::write(&ignore, "*\n").map_err(|error| StoreError::write(&ignore, error))?;
        }
        let root = Self { runs };
        root.sweep();
        Ok(root)
    }

    /// Where the run of a key is or will be.
    pub(crate) fn run(&self, key: &ExecutionKey) -> PathBuf {
        self.runs.join(key.as_str())
    }

    /// Where the run of a key is written before it is published by one rename.
    pub(super) fn staging(&self, key: &ExecutionKey) -> PathBuf {
        self.runs.join(format!(".tmp-{}-{}", key.short(), std::process::id()))
    }

    /// The directory whose entries renames change.
    pub(super) fn directory(&self) -> &Path {
        &self.runs
    }

    /// Removes what an interrupted run left behind; a failure is no reason not to run.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.runs) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(process) = name.to_str().and_then(|name| name.strip_prefix(".tmp-")?.rsplit_once('-'))
            else {
                continue;
            };
            let alive = Path::new("/proc").join(process.1).exists() && Path::new("/proc/self").exists();
            if !alive && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let _left_for_the_next_sweep = fs::remove_dir_all(entry.path());
            }
        }
    }
}
