//! Lock of a run: of two processes that judge one change into one artifact root, the second waits.

use std::fs::{self, File, TryLockError};
use std::io;

use super::{ArtifactRoot, StoreError};
use qa_contracts::ids::ExecutionKey;

/// Lock that is held while a run is judged and stored. The system releases it when the process ends, however it ends.
pub(crate) struct RunLock(#[expect(dead_code, reason = "closing the file releases the lock")] Option<File>);

impl ArtifactRoot {
    /// Takes the lock of a key's run. `wait` is called again and again while another process holds it, and its error ends the
    /// wait. A file system without locks has none: two runs that overlap are stored whole all the same.
    pub(crate) fn lock<E: From<StoreError>>(
        &self,
        key: &ExecutionKey,
        wait: &mut dyn FnMut() -> Result<(), E>,
    ) -> Result<RunLock, E> {
        // Of 256 names, so that the files of many runs do not add up. Runs that share one wait without need.
        let path = self.directory().join(format!(".lock-{}", &key.as_str()[..2]));
        match fs::symlink_metadata(&path) {
            Ok(metadata) if !metadata.is_file() => {
                let reason = "it is no regular file".to_owned();
                return Err(StoreError::UnsafeRoot { path: super::display_path(&path), reason }.into());
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::not_read(&path, error).into());
            }
            Ok(_) | Err(_) => {}
        }
        let file = File::options().append(true).create(true).open(&path);
        let file = file.map_err(|error| StoreError::not_written(&path, error))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(RunLock(Some(file))),
                Err(TryLockError::WouldBlock) => wait()?,
                Err(TryLockError::Error(_)) => return Ok(RunLock(None)),
            }
        }
    }
}
