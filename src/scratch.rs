//! Temporary directories of one process: locked while it runs, and removed by the next process after a crash.
//!
//! A lock shows that the process runs. Its id cannot: it is 1 in every container, and containers may share a directory.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// A directory with a random name. Removed with the value unless it was moved away.
#[derive(Debug)]
pub(crate) struct ScratchDirectory {
    path: PathBuf,
    is_moved: bool,
    /// Held until the directory is moved or removed; `None` on a file system without locks.
    _lock: Option<File>,
}

/// Users that may read a scratch directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The owner only.
    Owner,
    /// All users that the umask allows.
    Everybody,
}

impl ScratchDirectory {
    /// Creates a directory whose name begins with `prefix`.
    pub(crate) fn create(parent: &Path, prefix: &str, readers: Readers) -> io::Result<Self> {
        loop {
            let path = random_directory(parent, prefix, readers)?;
            let lock = match lock(&path) {
                Ok(lock) => Some(lock),
                // A concurrent sweep removed it.
                Err(Locked::Elsewhere) => continue,
                Err(Locked::Unknown) => None,
            };
            if fs::symlink_metadata(&path).is_ok() {
                return Ok(Self { path, is_moved: false, _lock: lock });
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Renames the directory. Returns false if the target exists.
    pub(crate) fn rename(&mut self, target: &Path) -> io::Result<bool> {
        if fs::symlink_metadata(target).is_ok() {
            return Ok(false);
        }
        match fs::rename(&self.path, target) {
            Ok(()) => {
                self.is_moved = true;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if !self.is_moved {
            let _swept_by_the_next_process = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the directories of a prefix whose processes ended. Errors are ignored.
pub(crate) fn sweep(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_scratch = name.as_encoded_bytes().starts_with(prefix.as_bytes());
        // A link does not count as a directory.
        let is_directory = matches!(entry.file_type(), Ok(kind) if kind.is_dir());
        if !is_scratch || !is_directory {
            continue;
        }
        // Held until the directory is removed: a process may have just created it and be about to lock it.
        if let Ok(_lock) = lock(&entry.path()) {
            let _left_for_the_next_sweep = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn random_directory(parent: &Path, prefix: &str, readers: Readers) -> io::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let mode = match readers {
        Readers::Owner => 0o700,
        Readers::Everybody => 0o777,
    };
    let permissions = fs::Permissions::from_mode(mode);
    let created =
        tempfile::Builder::new().prefix(prefix).rand_bytes(16).permissions(permissions).tempdir_in(parent);
    Ok(created?.keep())
}

#[cfg(not(unix))]
fn random_directory(parent: &Path, prefix: &str, _: Readers) -> io::Result<PathBuf> {
    Ok(tempfile::Builder::new().prefix(prefix).rand_bytes(16).tempdir_in(parent)?.keep())
}

/// Reason why a directory could not be locked.
enum Locked {
    /// Another process has the lock, or the directory was removed.
    Elsewhere,
    /// The file system does not support locks.
    Unknown,
}

/// Locks a directory. The kernel releases the lock when the process ends.
fn lock(path: &Path) -> Result<File, Locked> {
    let directory = File::open(path).map_err(|error| {
        if error.kind() == ErrorKind::NotFound { Locked::Elsewhere } else { Locked::Unknown }
    })?;
    match directory.try_lock() {
        Ok(()) => Ok(directory),
        Err(TryLockError::WouldBlock) => Err(Locked::Elsewhere),
        Err(TryLockError::Error(_)) => Err(Locked::Unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFIX: &str = ".tmp-";

    fn names(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_sweep_removes_what_the_dead_left_and_nothing_of_the_living() {
        let home = tempfile::tempdir().unwrap();
        let create = || ScratchDirectory::create(home.path(), PREFIX, Readers::Everybody).unwrap();
        let (living, other) = (create(), create());
        assert_ne!(living.path(), other.path());
        for dead in [".tmp-key-1", ".tmp-0000-4194305"] {
            fs::create_dir_all(home.path().join(dead).join("recordings")).unwrap();
        }
        fs::write(home.path().join(".tmp-file"), "").unwrap();
        fs::create_dir(home.path().join("kept")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("kept", home.path().join(".tmp-link")).unwrap();
        sweep(home.path(), PREFIX);
        assert!(living.path().is_dir() && other.path().is_dir() && home.path().join("kept").is_dir());
        let left = names(home.path());
        drop((living, other));
        assert_eq!(names(home.path()), left - 2);
        assert!(!home.path().join(".tmp-key-1").exists());
    }

    #[test]
    fn a_name_that_is_taken_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("run");
        for (index, free) in [true, false].into_iter().enumerate() {
            let mut scratch = ScratchDirectory::create(home.path(), PREFIX, Readers::Everybody).unwrap();
            fs::write(scratch.path().join("file"), index.to_string()).unwrap();
            assert_eq!(scratch.rename(&target).unwrap(), free);
        }
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "0");
        assert_eq!(names(home.path()), 1);
    }
}
