//! What the scheduler needs of the world, as traits; adapters above implement them, replays substitute recordings.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::contracts::codes::Code;
use crate::contracts::ids::{BlobId, CommitId, RepoPath};

/// A port that could not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PortError {
    pub(crate) code: Code,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

/// One side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeEntry {
    /// Octal, six digits.
    pub(crate) mode: &'static str,
    pub(crate) id: BlobId,
}

/// A path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeChange {
    pub(crate) path: RepoPath,
    pub(crate) old: Option<TreeEntry>,
    pub(crate) new: Option<TreeEntry>,
}

/// What came of reading a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BlobRead {
    Content(Vec<u8>),
    /// Not read: it has this many bytes.
    TooLarge(u64),
}

/// What reading has cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ObjectCounters {
    pub(crate) objects_read: u64,
    pub(crate) bytes_inflated: u64,
    pub(crate) trees_walked: u64,
}

/// How many files [`Objects::files_at`] names at most; a tree that has as many has more.
pub(crate) const MAX_LISTED_FILES: usize = 50_000;

/// Git objects. `compare` sorts by path bytes and refuses paths that could leave the tree.
pub(crate) trait Objects: Sync {
    /// The paths that differ between two commits.
    fn compare(&self, old: &CommitId, new: &CommitId, max_entries: u64)
    -> Result<Vec<TreeChange>, PortError>;
    /// The blob of a regular file in a commit.
    fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<BlobId>, PortError>;
    /// Whether a commit says what stands at a path: it has it, or has something that is no directory on the way there,
    /// such as a link or a submodule.
    fn is_tracked_at(&self, commit: &CommitId, path: &str) -> Result<bool, PortError>;
    /// The regular files of one directory of a commit by name, if it is there; the root is the empty one.
    fn files_in(&self, commit: &CommitId, directory: &str) -> Result<Vec<(String, BlobId)>, PortError>;
    /// Names the regular files of a commit, bounded, in a fixed order.
    fn files_at(&self, commit: &CommitId, each: &mut dyn FnMut(RepoPath, BlobId)) -> Result<(), PortError>;
    /// A reader for one thread.
    fn reader(&self) -> Result<Box<dyn ObjectReader + '_>, PortError>;
    /// What reading has cost so far.
    fn counters(&self) -> ObjectCounters;
}

/// Reads blobs for one thread.
pub(crate) trait ObjectReader {
    /// The content, unless it is larger than `max_bytes`.
    fn blob(&self, id: &BlobId, max_bytes: u64) -> Result<BlobRead, PortError>;
}

/// Told how far a long step is; called from any thread.
pub(crate) trait Progress: Sync {
    /// `done` of `total` files are through `step`.
    fn step(&self, step: &'static str, done: usize, total: usize);
}

/// Set when the run should end; workers look between files.
#[derive(Debug, Default)]
pub(crate) struct Cancellation(AtomicBool);

impl Cancellation {
    pub(crate) fn cancel(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(crate) fn check(&self) -> Result<(), PortError> {
        if self.0.load(Ordering::SeqCst) {
            let code = Code::Cancelled;
            return Err(PortError { code, message: "the run was cancelled".to_owned(), hint: code.hint() });
        }
        Ok(())
    }
}
