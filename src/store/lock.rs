//! Lock of a run: of two processes that judge one change into one artifact root, the second waits.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::{ArtifactRoot, StoreError};
use qa_contracts::ids::ExecutionKey;

/// Lock that is held while a run is judged and stored. The system releases it when the process ends, however it does.
pub(crate) struct RunLock {
    /// `None` on a file system without locks.
    _file: Option<File>,
    path: PathBuf,
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Before the lock is released. What stays is used again.
        let _stays = fs::remove_file(&self.path);
    }
}

impl ArtifactRoot {
    /// Takes the lock of a key's run. `wait` is called again and again while another process holds it, and its error ends the
    /// wait. Without locks in the file system, two runs that overlap are stored whole all the same.
    pub(crate) fn lock<E: From<StoreError>>(
        &self,
        key: &ExecutionKey,
        wait: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<RunLock, E> {
        // Of 256 names, so that what crashes leave does not add up. Runs that share one wait without need.
        let path = self.directory().join(format!(".lock-{}", &key.as_str()[..2]));
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(RunLock { _file: Some(file), path }),
                // Whoever held it has removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => wait()?,
                Err(TryLockError::Error(_)) => return Ok(RunLock { _file: None, path }),
            }
        }
    }
}

/// Opens the file of a lock, and nothing that a commit put in its place.
fn open(path: &Path) -> Result<File, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let reason = "it is no regular file".to_owned();
            return Err(StoreError::UnsafeRoot { path: super::display_path(path), reason });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(StoreError::not_read(path, error));
        }
        Ok(_) | Err(_) => {}
    }
    let file = File::options().append(true).create(true).open(path);
    file.map_err(|error| StoreError::not_written(path, error))
}

/// Returns whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        (Err(_), _) | (_, Err(_)) => false,
    }
}

/// Elsewhere no open file can be removed.
#[cfg(not(unix))]
fn is_at(_: &File, _: &Path) -> bool {
    true
}
