//! A temporary bare repository that objects are read from, with the checkout's objects as an alternate.
//!
//! Files of a checkout change how its objects are read: grafts and replacements override a commit's parents, a
//! commit-graph repeats them unverified, and the configuration selects them. Any earlier step of a job can write those. The
//! store has none of them, so ancestry follows from commits only, whose hashes are verified.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::error::{GitError, reason};
use super::guard;
use crate::scratch::{self, Readers, ScratchDirectory};
use qa_core::masking::sanitize_cut;

/// Name of the link to the checkout's objects. It is relative, since an alternate's path cannot contain a line break and a
/// checkout's path can.
const CHECKOUT: &str = "checkout";

/// Parent directory of object stores. Not `TMPDIR`, which an earlier step can set to a directory that it controls.
const SCRATCH: &str = "/tmp";

/// Prefix of the names of stores.
const PREFIX: &str = "qa-skill-objects-";

/// A temporary repository, removed with the value.
pub(super) struct Store {
    directory: ScratchDirectory,
}

impl Store {
    /// Creates a store that reads the objects of a checkout.
    pub(super) fn beside(checkout: &Repository) -> Result<Self, GitError> {
        let store = Self::empty()?;
        let objects = checkout.commondir().join("objects");
        let linked = objects.canonicalize().and_then(|objects| link(&objects, &store.path().join(CHECKOUT)));
        let alternates = store.path().join("objects/info/alternates");
        linked.and_then(|line| std::fs::write(alternates, line)).map_err(|error| scratch_error(&error))?;
        store.write_shallow(&shallow_commits(checkout)?)?;
        Ok(store)
    }

    /// Creates a store without objects.
    pub(super) fn empty() -> Result<Self, GitError> {
        let directory = create_in(Path::new(SCRATCH)).or_else(|_| create_in(&std::env::temp_dir()));
        let directory = directory.map_err(|error| scratch_error(&error))?;
        init(directory.path()).map_err(|error| scratch_error(&error))?;
        Ok(Self { directory })
    }

    /// Opens a handle, for one thread.
    pub(super) fn open(&self) -> Result<Repository, GitError> {
        open(self.path())
    }

    /// The git directory.
    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory that fetched packs are written to.
    pub(super) fn packs(&self) -> PathBuf {
        self.path().join("objects/pack")
    }

    /// Sets the commits whose parents count as absent.
    pub(super) fn write_shallow(&self, commits: &[String]) -> Result<(), GitError> {
        let path = self.path().join("shallow");
        let written = if commits.is_empty() {
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        } else {
            let mut text = commits.join("\n");
            text.push('\n');
            std::fs::write(&path, text)
        };
        written.map_err(|error| scratch_error(&error))
    }
}

fn create_in(parent: &Path) -> std::io::Result<ScratchDirectory> {
    scratch::sweep(parent, PREFIX);
    ScratchDirectory::create(parent, PREFIX, Readers::Owner)
}

/// Writes an empty bare repository.
fn init(path: &Path) -> std::io::Result<()> {
    for directory in ["objects/pack", "objects/info", "refs/heads"] {
        std::fs::create_dir_all(path.join(directory))?;
    }
    std::fs::write(path.join("HEAD"), "ref: refs/heads/none\n")?;
    std::fs::write(path.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
}

/// Opens a handle on the store at a path, for one thread.
pub(super) fn open(path: &Path) -> Result<Repository, GitError> {
    Repository::open(path)
        .map_err(|error| GitError::Open { path: path.display().to_string(), reason: reason(&error) })
}

/// Returns the commits at which a shallow clone's history ends. Linked worktrees share those of their repository.
pub(super) fn shallow_commits(repository: &Repository) -> Result<Vec<String>, GitError> {
    let list = repository.commondir().join("shallow");
    let bytes = guard::read_list(&list).map_err(|error| GitError::Open {
        path: sanitize_cut(&list.display().to_string(), 300),
        reason: error.to_string(),
    })?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(text.lines().filter(|line| Oid::from_str(line).is_ok()).map(str::to_owned).collect())
}

/// Links a directory into the store; returns the line of `alternates` that names it.
#[cfg(unix)]
fn link(objects: &Path, name: &Path) -> std::io::Result<Vec<u8>> {
    std::os::unix::fs::symlink(objects, name)?;
    Ok(format!("./../{CHECKOUT}\n").into_bytes())
}

/// Returns the line without a link, which needs a privilege on other platforms. Their paths contain no line breaks.
#[cfg(not(unix))]
fn link(objects: &Path, _: &Path) -> std::io::Result<Vec<u8>> {
    Ok(format!("{}\n", objects.display()).into_bytes())
}

fn scratch_error(error: &std::io::Error) -> GitError {
    GitError::NoScratch(sanitize_cut(&error.to_string(), 200))
}
