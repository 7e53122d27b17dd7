//! The repository that objects are read from: temporary, bare and ours; the checkout lends it objects and nothing else.
//!
//! A checkout holds files that say how its objects are to be read: grafts and replacements stand in for a commit's
//! parents, a commit-graph repeats them unchecked, a configuration chooses between them. Any earlier step of a job can
//! write those. None of them exists here, so ancestry follows from commits alone, whose hashes are verified.

use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::error::{GitError, reason};
use super::guard;
use crate::scratch::{self, Readers, ScratchDirectory};
use qa_core::masking::sanitize_cut;

/// The name of the link to the checkout's objects. An alternate's path may hold any byte but a line break; this one is
/// relative, so that a checkout's path may hold that too.
const CHECKOUT: &str = "checkout";

/// Parent directory of object stores. Not `TMPDIR`: an earlier step may set it to a directory whose entries it can exchange.
const SCRATCH: &str = "/tmp";

/// Begin of the names of stores.
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
        linked.and_then(|line| std::fs::write(alternates, line)).map_err(|error| no_room(&error))?;
        store.write_shallow(&shallow_commits(checkout)?)?;
        Ok(store)
    }

    /// Creates a store that holds no object yet.
    pub(super) fn empty() -> Result<Self, GitError> {
        let create = |parent: &Path| {
            scratch::sweep(parent, PREFIX);
            ScratchDirectory::create(parent, PREFIX, Readers::Owner)
        };
        let directory = create(Path::new(SCRATCH)).or_else(|_| create(&std::env::temp_dir()));
        let directory = directory.map_err(|error| no_room(&error))?;
        let path = directory.path();
        let write = |name: &str, text: &str| std::fs::write(path.join(name), text);
        std::fs::create_dir_all(path.join("objects/pack"))
            .and_then(|()| std::fs::create_dir_all(path.join("objects/info")))
            .and_then(|()| std::fs::create_dir_all(path.join("refs/heads")))
            .and_then(|()| write("HEAD", "ref: refs/heads/none\n"))
            .and_then(|()| write("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"))
            .map_err(|error| no_room(&error))?;
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
        written.map_err(|error| no_room(&error))
    }
}

/// Opens a handle on the store at a path, for one thread.
pub(super) fn open(path: &Path) -> Result<Repository, GitError> {
    let failed =
        |error: git2::Error| GitError::Open { path: path.display().to_string(), reason: reason(&error) };
    Repository::open(path).map_err(failed)
}

/// The commits at which a clone's history ends. A linked worktree shares those of its repository.
pub(super) fn shallow_commits(repository: &Repository) -> Result<Vec<String>, GitError> {
    let list = repository.commondir().join("shallow");
    let failed = |error: std::io::Error| GitError::Open {
        path: sanitize_cut(&list.display().to_string(), 300),
        reason: error.to_string(),
    };
    let text = String::from_utf8_lossy(&guard::read_list(&list).map_err(failed)?).into_owned();
    Ok(text.lines().filter(|line| Oid::from_str(line).is_ok()).map(str::to_owned).collect())
}

/// Links a directory into the store; returns the line of `alternates` that names it.
#[cfg(unix)]
fn link(objects: &Path, name: &Path) -> std::io::Result<Vec<u8>> {
    std::os::unix::fs::symlink(objects, name)?;
    Ok(format!("./../{CHECKOUT}\n").into_bytes())
}

/// Elsewhere a link needs a privilege; paths there are text without line breaks.
#[cfg(not(unix))]
fn link(objects: &Path, _: &Path) -> std::io::Result<Vec<u8>> {
    Ok(format!("{}\n", objects.display()).into_bytes())
}

fn no_room(error: &std::io::Error) -> GitError {
    GitError::NoScratch(sanitize_cut(&error.to_string(), 200))
}
