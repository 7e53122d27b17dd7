//! Makes a commit of what is not committed, in the run's own store: the checkout's index, refs and objects stay as they are.

use std::path::{Path, PathBuf};

use git2::{Commit, Index, IndexEntry, Oid, Repository, Signature};

use super::base::{commit_id, target_of_ref};
use super::bounded;
use super::error::{GitError, reason};
use super::guard;
use super::open::OpenRepository;
use super::worktree_files::WorktreeFiles;
use qa_contracts::ids::CommitId;
use qa_core::masking::{sanitize, sanitize_cut};

/// Flag of an index entry that `git add --intent-to-add` made: the path is tracked and has no content yet.
const INTENT_TO_ADD: u16 = 1 << 13;

/// Bits of an index entry that name a side of a conflict.
const STAGE: u16 = 3 << 12;

/// Content that is judged although it is not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Uncommitted {
    /// The index, as `git commit` would commit it.
    Staged,
    /// The files of the working tree, as `git add --all` and `git commit` would commit them.
    Worktree,
}

/// Files outside the repository that decide what git would commit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// The index that a running `git commit` prepared, by `GIT_INDEX_FILE`.
    pub(crate) index: Option<PathBuf>,
    /// Configuration files of the machine and of the account, in the order in which git reads them.
    pub(crate) configuration: Vec<PathBuf>,
    /// Directory with the account's `ignore` and `attributes`.
    pub(crate) account: Option<PathBuf>,
}

/// Commits that stand for uncommitted content and for its base. The store alone has the first, and the second too where the
/// repository has no commit.
pub(crate) struct Snapshot {
    pub(crate) base: CommitId,
    /// Reason for the base, as a rule of [`super::Resolved`].
    pub(crate) base_rule: &'static str,
    pub(crate) head: CommitId,
}

impl OpenRepository {
    /// Writes uncommitted content to the store as a commit on top of HEAD, and of the commits that a merge in progress brings.
    /// The commit's id follows from its tree and its parents.
    pub(crate) fn snapshot(
        &self,
        content: Uncommitted,
        surroundings: &Surroundings,
    ) -> Result<Snapshot, GitError> {
        let mut checkout = Repository::open(&self.root)
            .map_err(|error| GitError::Open { path: self.shown_root(), reason: reason(&error) })?;
        if checkout.is_bare() {
            let problem = "a bare repository has no index and no working tree".to_owned();
            return Err(GitError::NotCommittable {
                problem,
                hint: "run in a checkout, or name one with --repo",
            });
        }
        let tree = match content {
            Uncommitted::Staged => self.write_staged(&checkout, surroundings)?,
            Uncommitted::Worktree => WorktreeFiles::new(self, &checkout, surroundings)?.write_tree()?,
        };
        let (parents, base_rule) = match target_of_ref(self, "HEAD")? {
            Some(head) => (self.parents(head, &mut checkout)?, "HEAD"),
            None => (vec![self.empty_commit()?], "no commit"),
        };
        let base = commit_id(parents[0].id())?;
        Ok(Snapshot { base, base_rule, head: commit_id(self.write_commit(tree, &parents)?)? })
    }

    /// Returns HEAD, and the commits that are being merged into it.
    fn parents(&self, head: Oid, checkout: &mut Repository) -> Result<Vec<Commit<'_>>, GitError> {
        guard::check_ref(checkout, "MERGE_HEAD")?;
        let mut ids = vec![head];
        let merging = checkout.mergehead_foreach(|id| {
            ids.push(*id);
            true
        });
        match merging {
            Err(error) if error.code() != git2::ErrorCode::NotFound => return Err(unreadable(&error)),
            Ok(()) | Err(_) => {}
        }
        ids.into_iter().map(|id| bounded::find_commit(self.objects(), id)).collect()
    }

    /// Writes the commit that stands for a repository without a commit: it has no file.
    fn empty_commit(&self) -> Result<Commit<'_>, GitError> {
        let written = self.objects().treebuilder(None).and_then(|builder| builder.write());
        let id = self.write_commit(written.map_err(|error| unwritten(&error))?, &[])?;
        bounded::find_commit(self.objects(), id)
    }

    /// Writes a commit whose id follows from its tree and its parents: the time is that of the newest parent.
    fn write_commit(&self, tree: Oid, parents: &[Commit<'_>]) -> Result<Oid, GitError> {
        let time = parents.iter().map(|parent| parent.committer().when().seconds()).max().unwrap_or(0);
        let written = Signature::new("qa-skill", "qa-skill", &git2::Time::new(time, 0)).and_then(|nobody| {
            let tree = self.objects().find_tree(tree)?;
            let parents: Vec<&Commit<'_>> = parents.iter().collect();
            self.objects().commit(None, &nobody, &nobody, "uncommitted content", &tree, &parents)
        });
        written.map_err(|error| unwritten(&error))
    }

    /// Writes the tree of the index.
    fn write_staged(&self, checkout: &Repository, surroundings: &Surroundings) -> Result<Oid, GitError> {
        let mut index = open_index(checkout, surroundings)?;
        for entry in entries(&index).filter(is_intent_to_add).collect::<Vec<_>>() {
            index.remove(&to_path(&entry.path), 0).map_err(|error| unreadable(&error))?;
        }
        index.write_tree_to(self.objects()).map_err(|error| unwritten(&error))
    }

    fn shown_root(&self) -> String {
        sanitize_cut(&self.root.display().to_string(), 300)
    }
}

/// Reads the index. Fails if it has conflicts, of which git makes no commit.
fn open_index(checkout: &Repository, surroundings: &Surroundings) -> Result<Index, GitError> {
    let path = match &surroundings.index {
        Some(named) => index_of_commit(checkout, named)?,
        None => checkout.path().join("index"),
    };
    guard::check_index_file(&path)?;
    let index = Index::open(&path).map_err(|error| not_read(&error))?;
    check_merged(&index)?;
    Ok(index)
}

/// Fails if an index has conflicts.
pub(super) fn check_merged(index: &Index) -> Result<(), GitError> {
    match entries(index).find(|entry| entry.flags & STAGE != 0) {
        Some(entry) => Err(GitError::NotCommittable {
            problem: format!("{} has a merge conflict", shown(&entry.path)),
            hint: "resolve the conflicts and `git add` the files, then run again",
        }),
        None => Ok(()),
    }
}

/// Returns the index that a running `git commit` prepared, which differs from the repository's for `--all` and for paths.
fn index_of_commit(checkout: &Repository, named: &Path) -> Result<PathBuf, GitError> {
    let path = checkout.workdir().unwrap_or(checkout.path()).join(named);
    let is_own = matches!(
        (path.parent().map(Path::canonicalize), checkout.path().canonicalize()),
        (Some(Ok(directory)), Ok(own)) if directory == own
    );
    match is_own {
        true => Ok(path),
        false => Err(GitError::NotCommittable {
            problem: format!(
                "GIT_INDEX_FILE names {}, no index of this repository",
                sanitize_cut(&named.display().to_string(), 300)
            ),
            hint: "unset GIT_INDEX_FILE, or name the repository that it belongs to with --repo",
        }),
    }
}

/// Returns the entries of an index.
pub(super) fn entries(index: &Index) -> impl Iterator<Item = IndexEntry> + '_ {
    index.iter()
}

/// Returns the entry of an object, without what the file system says of it.
pub(super) fn entry(path: &[u8], mode: u32, id: Oid) -> IndexEntry {
    let never = git2::IndexTime::new(0, 0);
    IndexEntry {
        ctime: never,
        mtime: never,
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id,
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}

/// Returns whether an entry has a path and no content.
pub(super) fn is_intent_to_add(entry: &IndexEntry) -> bool {
    entry.flags_extended & INTENT_TO_ADD != 0
}

/// Returns a path of the index as the file system takes it.
#[cfg(unix)]
pub(crate) fn to_path(bytes: &[u8]) -> PathBuf {
    <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).into()
}

/// Elsewhere paths are text.
#[cfg(not(unix))]
pub(crate) fn to_path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Returns a path for messages.
pub(super) fn shown(path: &[u8]) -> String {
    sanitize(&String::from_utf8_lossy(path))
}

/// Returns the error for an index that libgit2 cannot read. It does not know split and sparse indexes.
pub(super) fn not_read(error: &git2::Error) -> GitError {
    GitError::NotCommittable {
        problem: format!("the index cannot be read: {}", reason(error)),
        hint: "see what `git status` says; `git update-index --no-split-index` and `git sparse-checkout reapply \
               --no-sparse-index` write an index that every program can read",
    }
}

pub(super) fn unreadable(error: &git2::Error) -> GitError {
    GitError::NotCommittable {
        problem: reason(error),
        hint: "see what `git status` says there as the same user",
    }
}

pub(super) fn unwritten(error: &git2::Error) -> GitError {
    GitError::NoScratch(reason(error))
}
