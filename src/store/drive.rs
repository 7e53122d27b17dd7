//! Directory of a drive: its session, the runs of its trees, and bundles of what agents did.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use super::part::{fresh_directory, write_bytes};
use super::read::read_artifact;
use super::root::{ignored_directory, own_directory};
use super::{ArtifactRoot, StoreError, display_path, write_beside};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_JSON_BYTES;
use qa_contracts::v1::DriveSession;

/// Directory of drives below an artifact root.
const DRIVES: &str = "drive";
/// Name of the file whose lock is held while a drive goes on.
const LOCK: &str = ".lock";

/// Directory of one drive.
pub(crate) struct DriveDirectory {
    path: PathBuf,
    /// Held while the value lives; the system releases it when the process ends, however it does. `None` for reading.
    _lock: Option<File>,
}

impl DriveDirectory {
    /// Returns the path of a session's directory below an artifact root.
    pub(crate) fn of(root: &Path, session: &Sha256Hex) -> PathBuf {
        root.join(DRIVES).join(&session.as_str()[..16])
    }

    /// Returns the directory below an artifact root whose session was written last; `None` if there is none.
    pub(crate) fn newest(root: &Path) -> Result<Option<PathBuf>, StoreError> {
        let drives = root.join(DRIVES);
        let entries = match fs::read_dir(&drives) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::not_read(&drives, error)),
        };
        let mut newest = None;
        for entry in entries {
            let path = entry.map_err(|error| StoreError::not_read(&drives, error))?.path();
            let Ok(found) = fs::metadata(path.join(DriveSession::FILE)) else { continue };
            newest = newest.max(found.modified().ok().map(|time| (time, path)));
        }
        Ok(newest.map(|(_, path)| path))
    }

    /// Makes a session's directory, or takes the one that is there. Returns `None` if another process has it.
    pub(crate) fn take(root: &Path, session: &Sha256Hex) -> Result<Option<Self>, StoreError> {
        ArtifactRoot::prepare(root)?;
        ignored_directory(&root.join(DRIVES))?;
        let path = Self::of(root, session);
        own_directory(&path)?;
        let name = path.join(LOCK);
        if fs::symlink_metadata(&name).is_ok_and(|found| !found.is_file()) {
            let reason = "its lock is no regular file".to_owned();
            return Err(StoreError::UnsafeRoot { path: display_path(&path), reason });
        }
        let lock = File::options().append(true).create(true).open(&name);
        let lock = lock.map_err(|error| StoreError::not_written(&name, error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { path, _lock: Some(lock) })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(StoreError::not_written(&name, error)),
        }
    }

    /// Copies the directory of a session below an artifact root, in the place of one that is there.
    pub(crate) fn adopt(from: &Path, root: &Path, session: &Sha256Hex) -> Result<(), StoreError> {
        ArtifactRoot::prepare(root)?;
        ignored_directory(&root.join(DRIVES))?;
        let path = Self::of(root, session);
        fresh_directory(&path)?;
        copy_files(from, &path)
    }

    /// Opens the directory of a session to read it.
    pub(crate) fn open(path: &Path) -> Self {
        Self { path: path.to_owned(), _lock: None }
    }

    /// Returns whether a directory is that of a drive.
    pub(crate) fn is_one(path: &Path) -> bool {
        path.join(DriveSession::FILE).is_file()
    }

    /// The path, which is the artifact root of the drive's runs as well.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the directory of a run.
    pub(crate) fn run(&self, name: &str) -> PathBuf {
        self.path.join("runs").join(name)
    }

    /// Reads the session; `None` if there is none yet.
    pub(crate) fn session(&self) -> Result<Option<DriveSession>, StoreError> {
        let Some(bytes) = self.read(DriveSession::FILE)? else { return Ok(None) };
        let path = display_path(&self.path.join(DriveSession::FILE));
        read_artifact(&path, &bytes).map(|(session, _)| Some(session))
    }

    /// Writes the session, whole or not at all.
    pub(crate) fn save(&self, session: &DriveSession) -> Result<(), StoreError> {
        crate::faults::storage("drive-session")
            .map_err(|error| StoreError::not_written(&self.path, error))?;
        write_beside(&self.path, session).map(drop)
    }

    /// Returns the name of the bundle with the commit of a turn.
    pub(crate) fn bundle_name(turn: u64) -> String {
        format!("turn-{turn:03}.bundle")
    }

    /// Writes the bundle with the commit of a turn.
    pub(crate) fn write_bundle(&self, turn: u64, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        self.write(&Self::bundle_name(turn), bytes)
    }

    /// Reads the bundle with the commit of a turn; `None` if there is none.
    pub(crate) fn bundle(&self, turn: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(&Self::bundle_name(turn))
    }

    /// Writes a file, whole or not at all.
    pub(crate) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        write_bytes(&self.path, name, bytes)
    }

    /// Reads a file; `None` if there is none. Links are not followed.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path.join(name);
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(StoreError::not_read(&path, error)),
        };
        if !found.is_file() || found.len() > MAX_JSON_BYTES as u64 {
            let reason = "it is no regular file, or too large".to_owned();
            return Err(StoreError::Invalid { path: display_path(&path), pointer: String::new(), reason });
        }
        fs::read(&path).map(Some).map_err(|error| StoreError::not_read(&path, error))
    }
}

/// Copies directories and regular files. Anything else is an error.
fn copy_files(from: &Path, to: &Path) -> Result<(), StoreError> {
    for entry in fs::read_dir(from).map_err(|error| StoreError::not_read(from, error))? {
        let entry = entry.map_err(|error| StoreError::not_read(from, error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(|error| StoreError::not_read(&path, error))?;
        if kind.is_dir() {
            fs::create_dir(&target).map_err(|error| StoreError::not_written(&target, error))?;
            copy_files(&path, &target)?;
        } else if kind.is_file() {
            fs::copy(&path, &target).map_err(|error| StoreError::not_written(&target, error))?;
        } else {
            let reason = "it is neither a file nor a directory".to_owned();
            return Err(StoreError::Invalid { path: display_path(&path), pointer: String::new(), reason });
        }
    }
    Ok(())
}
