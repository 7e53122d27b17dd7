//! The object port over libgit2: trees compared, blobs read within their limit, everything counted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use git2::{ObjectType, Odb, Oid, Repository, TreeEntry};

use super::bounded;
use super::error::GitError;
use super::open::OpenRepository;
use super::store;
use super::walk::{self, Budget};
use qa_contracts::ids::{BlobId, CommitId, RepoPath, TreeId};
use qa_core::diff::SNIFFED_BYTES;
use qa_core::masking::masked_name;
use qa_run::ports::{
    BlobRead, MAX_LISTED_FILES, ObjectCounters, ObjectReader, Objects, PortError, TreeChange,
};

/// Maximum number of entries that a survey of the base tree may list.
const MAX_LISTED_ENTRIES: u64 = 200_000;

/// Reads objects of one repository.
pub(crate) struct GitObjects {
    /// For trees; blobs are read through a handle per thread.
    handle: Mutex<Repository>,
    /// Handles no thread uses at the moment: opening one costs more than reading many blobs, and its caches are warm.
    idle: Mutex<Vec<Repository>>,
    /// Held while a blob over its limit is read, only to verify it.
    large: Mutex<()>,
    /// The store's git directory, from which more handles are opened.
    directory: PathBuf,
    objects_read: AtomicU64,
    bytes_inflated: AtomicU64,
    trees_walked: AtomicU64,
}

impl GitObjects {
    pub(crate) fn new(repository: &OpenRepository) -> Result<Self, GitError> {
        Ok(Self {
            handle: Mutex::new(repository.store.open()?),
            idle: Mutex::new(Vec::new()),
            large: Mutex::new(()),
            directory: repository.store.path().to_owned(),
            objects_read: AtomicU64::new(0),
            bytes_inflated: AtomicU64::new(0),
            trees_walked: AtomicU64::new(0),
        })
    }

    /// Returns the tree of a commit.
    pub(crate) fn tree_id(&self, commit: &CommitId) -> Result<TreeId, GitError> {
        let tree = tree_of(&self.handle(), commit)?;
        TreeId::parse(&tree.to_string()).map_err(|error| GitError::Other(error.to_string()))
    }

    fn handle(&self) -> MutexGuard<'_, Repository> {
        self.handle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, budget: &Budget) {
        self.objects_read.fetch_add(budget.trees_walked, Ordering::Relaxed);
        self.trees_walked.fetch_add(budget.trees_walked, Ordering::Relaxed);
        self.bytes_inflated.fetch_add(budget.bytes, Ordering::Relaxed);
    }
}

fn tree_of(repository: &Repository, commit: &CommitId) -> Result<Oid, GitError> {
    let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
    Ok(bounded::find_commit(repository, id)?.tree_id())
}

/// Returns the name of an entry with secrets masked; `None` for one that is not UTF-8.
fn shown_name(entry: &TreeEntry<'_>) -> Option<String> {
    let name = entry.name().ok()?;
    let masked = RepoPath::from_bytes(name.as_bytes()).ok().and_then(|path| masked_name(&path));
    Some(masked.map_or_else(|| name.to_owned(), |masked| masked.to_text().into_owned()))
}

pub(super) fn port(error: &GitError) -> PortError {
    PortError { code: error.code(), message: format!("failed to {error}"), hint: error.fixed_hint() }
}

/// Result of looking up a path in a tree.
pub(super) enum Place {
    Entry(TreeEntry<'static>),
    /// Type of an object above the path that is not a directory.
    BelowEntry(ObjectType),
    Absent,
}

/// Looks up a path below a tree.
pub(super) fn find_entry(repository: &Repository, mut tree: Oid, path: &[u8]) -> Result<Place, GitError> {
    let mut parts = path.split(|byte| *byte == b'/').peekable();
    while let Some(part) = parts.next() {
        let found = bounded::find_tree(repository, tree)?;
        let Some(entry) = found.get_name_bytes(part) else { return Ok(Place::Absent) };
        if parts.peek().is_none() {
            return Ok(Place::Entry(entry.to_owned()));
        }
        let kind = entry.kind().unwrap_or(ObjectType::Any);
        if kind != ObjectType::Tree {
            return Ok(Place::BelowEntry(kind));
        }
        tree = entry.id();
    }
    Ok(Place::Absent)
}

/// Returns the id of a regular file; `None` where there is nothing.
fn find_file(repository: &Repository, tree: Oid, path: &str) -> Result<Option<BlobId>, GitError> {
    let entry = match find_entry(repository, tree, path.as_bytes())? {
        Place::Entry(entry) => entry,
        // A tracked file or link in place of a directory is deliberate, so this is an error and not an absent file.
        Place::BelowEntry(_) => {
            return Err(GitError::Unsupported(format!("{path} is below something that is no directory")));
        }
        Place::Absent => return Ok(None),
    };
    if entry.kind() != Some(ObjectType::Blob) || entry.filemode() == 0o120_000 {
        return Err(GitError::NotRegularFile(path.to_owned()));
    }
    let id = BlobId::parse(&entry.id().to_string());
    id.map(Some).map_err(|error| GitError::Other(error.to_string()))
}

impl Objects for GitObjects {
    fn compare(
        &self,
        old: &CommitId,
        new: &CommitId,
        max_entries: u64,
    ) -> Result<Vec<TreeChange>, PortError> {
        let handle = self.handle();
        let mut budget = Budget { entries_left: max_entries, trees_walked: 0, bytes: 0 };
        let compared = (|| {
            let odb = bounded::objects_of(&handle)?;
            walk::compare(&odb, tree_of(&handle, old)?, tree_of(&handle, new)?, &mut budget)
        })();
        self.count(&budget);
        compared.map_err(|error| port(&error))
    }

    fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<BlobId>, PortError> {
        let handle = self.handle();
        let found = tree_of(&handle, commit).and_then(|tree| find_file(&handle, tree, path));
        found.map_err(|error| port(&error))
    }

    fn is_tracked_at(&self, commit: &CommitId, path: &str) -> Result<bool, PortError> {
        let handle = self.handle();
        let found = tree_of(&handle, commit).and_then(|tree| find_entry(&handle, tree, path.as_bytes()));
        found.map(|place| !matches!(place, Place::Absent)).map_err(|error| port(&error))
    }

    fn files_in(&self, commit: &CommitId, directory: &str) -> Result<Vec<(String, BlobId)>, PortError> {
        let handle = self.handle();
        let found = (|| {
            let mut id = tree_of(&handle, commit)?;
            for part in directory.split('/').filter(|part| !part.is_empty()) {
                let tree = bounded::find_tree(&handle, id)?;
                let exact = tree.get_name(part).map(|entry| entry.to_owned());
                let entry = exact.or_else(|| {
                    tree.iter()
                        .find(|entry| shown_name(entry).as_deref() == Some(part))
                        .map(|entry| entry.to_owned())
                });
                match entry {
                    Some(entry) if entry.kind() == Some(ObjectType::Tree) => id = entry.id(),
                    Some(_) | None => return Ok(Vec::new()),
                }
            }
            let tree = bounded::find_tree(&handle, id)?;
            let files =
                tree.iter().filter(|entry| matches!(entry.filemode(), 0o100_644 | 0o100_755 | 0o100_664));
            Ok(files
                .filter_map(|entry| Some((shown_name(&entry)?, BlobId::parse(&entry.id().to_string()).ok()?)))
                .collect())
        })();
        found.map_err(|error: GitError| port(&error))
    }

    fn files_at(&self, commit: &CommitId, each: &mut dyn FnMut(RepoPath, BlobId)) -> Result<(), PortError> {
        let handle = self.handle();
        let mut budget = Budget { entries_left: MAX_LISTED_ENTRIES, trees_walked: 0, bytes: 0 };
        let listed = (|| {
            let odb = bounded::objects_of(&handle)?;
            walk::list(&odb, tree_of(&handle, commit)?, &mut budget, MAX_LISTED_FILES, each)
        })();
        self.count(&budget);
        listed.map_err(|error| port(&error))
    }

    fn reader(&self) -> Result<Box<dyn ObjectReader + '_>, PortError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let repository = match idle {
            Some(repository) => repository,
            None => store::open(&self.directory).map_err(|error| port(&error))?,
        };
        Ok(Box::new(Reader { repository: Some(repository), objects: self }))
    }

    fn counters(&self) -> ObjectCounters {
        ObjectCounters {
            objects_read: self.objects_read.load(Ordering::Relaxed),
            bytes_inflated: self.bytes_inflated.load(Ordering::Relaxed),
            trees_walked: self.trees_walked.load(Ordering::Relaxed),
        }
    }
}

/// Repository handle of one thread, as libgit2's are not shared between threads. Returned to the pool on drop.
struct Reader<'a> {
    /// There until the reader is dropped.
    repository: Option<Repository>,
    objects: &'a GitObjects,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        let mut idle = self.objects.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.extend(self.repository.take());
    }
}

impl Reader<'_> {
    fn read(&self, odb: &Odb<'_>, id: &BlobId, max_bytes: u64) -> Result<BlobRead, GitError> {
        let oid = Oid::from_str(id.as_str()).map_err(|error| GitError::object(id, &error))?;
        let claimed = bounded::read_header(odb, oid)?.bytes;
        // Large blobs are read one at a time, to bound memory by the largest of them.
        let is_large = claimed > max_bytes;
        let _turn = is_large.then(|| self.objects.large.lock().unwrap_or_else(PoisonError::into_inner));
        let object = odb.read(oid).map_err(|error| GitError::object(id, &error))?;
        if object.kind() != ObjectType::Blob {
            return Err(GitError::ObjectMissing {
                id: id.to_string(),
                reason: "it is not a blob".to_owned(),
            });
        }
        let size = object.len() as u64;
        self.objects.objects_read.fetch_add(1, Ordering::Relaxed);
        self.objects.bytes_inflated.fetch_add(size, Ordering::Relaxed);
        if size > max_bytes {
            let start = object.data()[..SNIFFED_BYTES.min(object.len())].to_vec();
            return Ok(BlobRead::TooLarge { size, start });
        }
        Ok(BlobRead::Content(object.data().to_vec()))
    }
}

impl ObjectReader for Reader<'_> {
    fn blob(&self, id: &BlobId, max_bytes: u64) -> Result<BlobRead, PortError> {
        let repository = self.repository.as_ref().expect("it is there until the reader is dropped");
        let odb = bounded::objects_of(repository).map_err(|error| port(&error))?;
        self.read(&odb, id, max_bytes).map_err(|error| port(&error))
    }
}
