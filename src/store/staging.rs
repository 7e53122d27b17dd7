//! The directory that a run is written to out of sight: locked while its writer lives, and swept when it is gone.
//!
//! A lock and not a process id says who lives: ids are 1 in every container, and two may share a workspace.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::StoreError;

const PREFIX: &str = ".tmp-";

/// A staging directory. Removed with the value unless it got its name.
pub(super) struct Staging {
    path: PathBuf,
    renamed: bool,
    /// Held until the directory has its name or is gone; none where the file system has no locks.
    _lock: Option<File>,
}

impl Staging {
    /// Creates a directory inside another; `label` makes it easier to tell apart.
    pub(super) fn create(directory: &Path, label: &str) -> Result<Self, StoreError> {
        let failed = |error| StoreError::write(directory, error);
        loop {
            let path = random_directory(directory, &format!("{PREFIX}{label}-")).map_err(failed)?;
            let lock = match lock(&path) {
                Ok(lock) => Some(lock),
                // A sweep came in between.
                Err(Locked::Elsewhere) => continue,
                Err(Locked::Unknown) => None,
            };
            if fs::symlink_metadata(&path).is_ok() {
                return Ok(Self { path, renamed: false, _lock: lock });
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its name; false where something else has it.
    pub(super) fn rename(&mut self, target: &Path) -> io::Result<bool> {
        if fs::symlink_metadata(target).is_ok() {
            return Ok(false);
        }
        match fs::rename(&self.path, target) {
            Ok(()) => {
                self.renamed = true;
                Ok(true)
            }
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.renamed {
            let _swept_by_the_next_run = fs::remove_dir_all(&self.path);
        }
    }
}

/// Removes the staging directories whose writers are gone; a failure is no reason not to run.
pub(super) fn sweep(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_staging = entry.file_name().to_str().is_some_and(|name| name.starts_with(PREFIX));
        if is_staging && entry.file_type().is_ok_and(|kind| kind.is_dir()) && lock(&entry.path()).is_ok() {
            let _left_for_the_next_sweep = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(unix)]
fn random_directory(directory: &Path, prefix: &str) -> io::Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    // Later steps of a job read it as another user, so only the umask narrows it.
    let mode = fs::Permissions::from_mode(0o777);
    let created =
        tempfile::Builder::new().prefix(prefix).rand_bytes(16).permissions(mode).tempdir_in(directory);
    Ok(created?.keep())
}

#[cfg(not(unix))]
fn random_directory(directory: &Path, prefix: &str) -> io::Result<PathBuf> {
    Ok(tempfile::Builder::new().prefix(prefix).rand_bytes(16).tempdir_in(directory)?.keep())
}

/// Reason why a directory could not be locked.
enum Locked {
    /// Somebody else has it, or the directory is gone.
    Elsewhere,
    /// The file system does not say.
    Unknown,
}

/// Locks a directory; the kernel takes the lock back when the process ends, however it does.
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

    fn names(directory: &Path) -> usize {
        fs::read_dir(directory).unwrap().count()
    }

    #[test]
    fn a_sweep_removes_what_the_dead_left_and_nothing_of_the_living() {
        let home = tempfile::tempdir().unwrap();
        let living = Staging::create(home.path(), "key").unwrap();
        let other = Staging::create(home.path(), "key").unwrap();
        assert_ne!(living.path(), other.path());
        for dead in [".tmp-key-1", ".tmp-0000-4194305"] {
            fs::create_dir_all(home.path().join(dead).join("recordings")).unwrap();
        }
        fs::write(home.path().join(".tmp-file"), "").unwrap();
        sweep(home.path());
        assert!(living.path().is_dir() && other.path().is_dir());
        assert_eq!(names(home.path()), 3);
        drop((living, other));
        assert_eq!(names(home.path()), 1);
    }

    #[test]
    fn a_name_that_is_taken_is_not_replaced() {
        let home = tempfile::tempdir().unwrap();
        let target = home.path().join("run");
        for (index, free) in [true, false].into_iter().enumerate() {
            let mut staging = Staging::create(home.path(), "key").unwrap();
            fs::write(staging.path().join("file"), index.to_string()).unwrap();
            assert_eq!(staging.rename(&target).unwrap(), free);
        }
        assert_eq!(fs::read_to_string(target.join("file")).unwrap(), "0");
        assert_eq!(names(home.path()), 1);
    }
}
