//! Makes a commit of a head with edited files, in the run's own store, so that edits can be judged before they are written.

use std::collections::BTreeMap;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Signature};

use super::base::commit_id;
use super::bounded;
use super::error::GitError;
use super::objects::{Place, find_entry};
use super::open::OpenRepository;
use super::uncommitted::unwritten;
use qa_contracts::ids::{CommitId, RepoPath};

impl OpenRepository {
    /// Returns the bytes of a regular file of a commit; `None` where there is none, or something else.
    pub(crate) fn file_bytes(&self, commit: &CommitId, path: &RepoPath) -> Result<Option<Vec<u8>>, GitError> {
        let Some(entry) = self.regular_file(commit, path)? else { return Ok(None) };
        let odb = bounded::objects_of(self.objects())?;
        Ok(Some(bounded::read(&odb, entry.id)?.data().to_vec()))
    }

    /// Returns whether the tree of a commit has anything at a path, or above it what is no directory.
    pub(crate) fn has_entry(&self, commit: &CommitId, path: &RepoPath) -> Result<bool, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let tree = bounded::find_commit(self.objects(), id)?.tree_id();
        Ok(!matches!(find_entry(self.objects(), tree, path.as_bytes())?, Place::Absent))
    }

    /// Writes a commit on top of another one, with other content in some of its files.
    pub(crate) fn edited(
        &self,
        head: &CommitId,
        files: &BTreeMap<RepoPath, Vec<u8>>,
    ) -> Result<CommitId, GitError> {
        let repository = self.objects();
        let tree = self.edited_tree(head, files)?;
        let id = Oid::from_str(head.as_str()).map_err(|error| GitError::object(head, &error))?;
        let parent = bounded::find_commit(repository, id)?;
        let written = Signature::new("qa-skill", "qa-skill", &parent.committer().when()).and_then(|nobody| {
            let tree = repository.find_tree(tree)?;
            repository.commit(None, &nobody, &nobody, "edited content", &tree, &[&parent])
        });
        commit_id(written.map_err(|error| unwritten(&error))?)
    }

    /// Writes the tree of `before` with other content in some of its files as a commit whose only parent is `parent`.
    pub(crate) fn commit_edited(
        &self,
        before: &CommitId,
        files: &BTreeMap<RepoPath, Vec<u8>>,
        parent: &CommitId,
    ) -> Result<CommitId, GitError> {
        self.commit_on(self.edited_tree(before, files)?, parent)
    }

    /// Writes the tree of `before` with other files as a commit whose only parent is `parent`.
    pub(crate) fn commit_changed(
        &self,
        before: &CommitId,
        files: &BTreeMap<RepoPath, Option<String>>,
        parent: &CommitId,
    ) -> Result<CommitId, GitError> {
        self.commit_on(self.changed_tree(before, files)?, parent)
    }

    /// Writes the tree of a commit with other content in some of its files, each a regular one.
    fn edited_tree(&self, commit: &CommitId, files: &BTreeMap<RepoPath, Vec<u8>>) -> Result<Oid, GitError> {
        let repository = self.objects();
        let mut update = TreeUpdateBuilder::new();
        for (path, bytes) in files {
            let Some(RegularFile { mode, .. }) = self.regular_file(commit, path)? else {
                return Err(GitError::Other(format!("{path} is no regular file")));
            };
            let blob = repository.blob(bytes).map_err(|error| unwritten(&error))?;
            update.upsert(path.as_bytes(), blob, mode);
        }
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let before = bounded::find_tree(repository, bounded::find_commit(repository, id)?.tree_id())?;
        update.create_updated(repository, &before).map_err(|error| unwritten(&error))
    }

    /// Writes the tree of a commit with other files: text for one that is new or another, `None` for one that is deleted.
    fn changed_tree(
        &self,
        commit: &CommitId,
        files: &BTreeMap<RepoPath, Option<String>>,
    ) -> Result<Oid, GitError> {
        let repository = self.objects();
        let mut update = TreeUpdateBuilder::new();
        for (path, text) in files {
            match text {
                Some(text) => {
                    let mode = match self.regular_file(commit, path)? {
                        Some(RegularFile { mode, .. }) => mode,
                        None => FileMode::Blob,
                    };
                    let blob = repository.blob(text.as_bytes()).map_err(|error| unwritten(&error))?;
                    update.upsert(path.as_bytes(), blob, mode);
                }
                None => drop(update.remove(path.as_bytes())),
            }
        }
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let before = bounded::find_tree(repository, bounded::find_commit(repository, id)?.tree_id())?;
        update.create_updated(repository, &before).map_err(|error| unwritten(&error))
    }

    fn regular_file(&self, commit: &CommitId, path: &RepoPath) -> Result<Option<RegularFile>, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let tree = bounded::find_commit(self.objects(), id)?.tree_id();
        let Place::Entry(entry) = find_entry(self.objects(), tree, path.as_bytes())? else { return Ok(None) };
        let mode = match entry.filemode() {
            0o100_644 | 0o100_664 => FileMode::Blob,
            0o100_755 => FileMode::BlobExecutable,
            _ => return Ok(None),
        };
        Ok(Some(RegularFile { id: entry.id(), mode }))
    }
}

/// A regular file of a tree.
struct RegularFile {
    id: Oid,
    mode: FileMode,
}
