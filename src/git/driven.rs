//! Commits of what an agent left in a directory. The checkout's refs and objects stay as they are.
//!
//! The directory was written from a commit's blobs as they are, so its files are taken as they are: no filter, no attribute and no
//! configuration has a part in it. Nobody but the agent, which is gone, wrote there, and what it wrote may be hostile.

use std::fs::{self, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use git2::{Index, Oid, Repository};

use super::base::oid;
use super::bounded::{self, MAX_BLOB_BYTES};
use super::error::{GitError, reason};
use super::open::OpenRepository;
use super::store::Store;
use super::uncommitted::{entry, shown, to_path, unwritten};
use super::walk::check_depth;
use super::worktree::{OmittedPath, TreeLimits};
use qa_contracts::ids::{CommitId, RepoPath};
use qa_contracts::v1::IgnoredFiles;

/// Size of the largest file with rules that is read, in bytes.
const MAX_RULES_BYTES: u64 = 1 << 20;
/// Maximum number of wildcards in an ignore rule that an agent writes: each may double the work of matching.
const MOST_STARS: usize = 4;
/// Maximum size of all files with ignore rules that an agent writes, in bytes.
const MOST_NEW_RULES_BYTES: usize = 16 << 10;
/// Maximum number of ignored paths that are listed.
const MOST_IGNORED: usize = 10;
/// Hint of a tree that cannot be taken.
const HINT: &str = "see what the agent leaves in its directory";

impl OpenRepository {
    /// Writes the files of a directory as a commit whose only parent is `parent`, and returns its id, which follows from the files and
    /// the parent. Paths that `omitted` names are not in the directory and stay as in `before`, whose tree was written there. New files
    /// that its ignore rules name are left out and returned, and what is below `provided` is left out.
    pub(crate) fn commit_directory(
        &self,
        directory: &Path,
        before: &CommitId,
        omitted: &[OmittedPath],
        provided: &[String],
        parent: &CommitId,
    ) -> Result<CommittedDirectory, GitError> {
        let handle = self.objects();
        let tree = bounded::find_commit(handle, oid(before)?)?.tree_id();
        let tree = handle.find_tree(tree).map_err(|error| GitError::object(before, &error))?;
        let mut index = Index::new().map_err(|error| unwritten(&error))?;
        index.read_tree(&tree).map_err(|error| GitError::object(before, &error))?;
        let store = Store::empty()?;
        let rules = store.open()?;
        rules.set_workdir(directory, false).map_err(|error| unwritten(&error))?;
        let mut taken = Taken {
            handle,
            rules: &rules,
            root: directory,
            before: &index,
            provided,
            found: Vec::new(),
            ignored: Vec::new(),
            entries: 0,
            bytes: 0,
            rules_bytes: 0,
        };
        taken.check_rules(directory, 0)?;
        taken.walk(directory, &[], 0)?;
        let (found, ignored) = (taken.found, first_of(taken.ignored));
        let kept: Vec<&[u8]> = omitted.iter().map(|omitted| omitted.path.as_bytes()).collect();
        let gone: Vec<Vec<u8>> =
            index.iter().map(|entry| entry.path).filter(|path| !kept.contains(&path.as_slice())).collect();
        for path in gone {
            index.remove(&to_path(&path), 0).map_err(|error| unwritten(&error))?;
        }
        for File { path, mode, id } in &found {
            index.add(&entry(path, *mode, *id)).map_err(|error| refused(path, &reason(&error)))?;
        }
        let tree = index.write_tree_to(handle).map_err(|error| unwritten(&error))?;
        Ok(CommittedDirectory { commit: self.commit_on(tree, parent)?, ignored })
    }
}

fn refused(path: &[u8], reason: &str) -> GitError {
    GitError::NotCommittable { problem: format!("{}: {reason}", shown(path)), hint: HINT }
}

/// A commit of a directory.
pub(crate) struct CommittedDirectory {
    pub(crate) commit: CommitId,
    /// New files that ignore rules name.
    pub(crate) ignored: IgnoredFiles,
}

/// Counts ignored paths and lists the first ones. A name that no commit can have is counted alone.
fn first_of(mut paths: Vec<Vec<u8>>) -> IgnoredFiles {
    paths.sort();
    let first = paths.iter().filter_map(|path| RepoPath::from_bytes(path).ok()).take(MOST_IGNORED);
    IgnoredFiles { count: paths.len() as u64, first: first.collect() }
}

/// A file of the directory.
struct File {
    path: Vec<u8>,
    mode: u32,
    id: Oid,
}

/// Files of the directory that are taken.
struct Taken<'a> {
    handle: &'a Repository,
    /// An empty repository over the directory, which reads its ignore rules.
    rules: &'a Repository,
    root: &'a Path,
    before: &'a Index,
    /// Directories that the agent did not make, such as toolchains.
    provided: &'a [String],
    found: Vec<File>,
    /// Paths of new files and of whole directories that ignore rules name.
    ignored: Vec<Vec<u8>>,
    entries: u64,
    bytes: u64,
    /// Bytes of the files with ignore rules that the agent wrote.
    rules_bytes: usize,
}

impl Taken<'_> {
    /// Fails if a file with ignore rules is none, or too large: libgit2 would follow a link and wait for a pipe.
    fn check_rules(&mut self, directory: &Path, depth: usize) -> Result<(), GitError> {
        check_depth(Oid::ZERO_SHA1, depth)?;
        for entry in read_directory(self.root, directory)? {
            self.entries += 1;
            let (path, found) = entry?;
            if self.entries > TreeLimits::default().files {
                return Err(refused(relative(self.root, &path), "there are too many files"));
            }
            if path.file_name().is_some_and(|name| name == ".gitignore") {
                self.check_rules_file(&path, &found)?;
            }
            if found.is_dir() {
                self.check_rules(&path, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Checks a file with ignore rules. One that the agent wrote may not be costly to match either.
    fn check_rules_file(&mut self, path: &Path, found: &Metadata) -> Result<(), GitError> {
        let name = relative(self.root, path);
        if !found.is_file() || found.len() > MAX_RULES_BYTES {
            return Err(refused(name, "it is not a regular file, or too large"));
        }
        let bytes = fs::read(path).map_err(|error| refused(name, &error.to_string()))?;
        let before = self.before.get_path(&to_path(name), 0).map(|entry| entry.id);
        let id = Oid::hash_object(git2::ObjectType::Blob, &bytes).map_err(|error| unwritten(&error))?;
        if before == Some(id) {
            return Ok(());
        }
        self.rules_bytes += bytes.len();
        let is_costly = bytes
            .split(|byte| *byte == b'\n')
            .any(|line| line.iter().filter(|byte| **byte == b'*').count() > MOST_STARS);
        if is_costly || self.rules_bytes > MOST_NEW_RULES_BYTES {
            return Err(refused(name, "its ignore rules are too many, or have too many wildcards"));
        }
        Ok(())
    }

    fn walk(&mut self, directory: &Path, prefix: &[u8], depth: usize) -> Result<(), GitError> {
        check_depth(Oid::ZERO_SHA1, depth)?;
        for entry in read_directory(self.root, directory)? {
            let (full, found) = entry?;
            let name = full.file_name().unwrap_or_default().as_bytes();
            let path = [prefix, name].concat();
            // Git has no such name, and libgit2 would count it as ignored.
            if name.eq_ignore_ascii_case(b".git") {
                return Err(refused(&path, "no commit can have this name"));
            }
            if self.provided.iter().any(|provided| provided.as_bytes() == path) {
                continue;
            }
            if found.is_dir() {
                let below = [path.as_slice(), b"/"].concat();
                if self.before.find_prefix(to_path(&below)).is_ok() || !self.is_ignored(&below)? {
                    self.walk(&full, &below, depth + 1)?;
                } else {
                    self.ignored.push(path);
                }
                continue;
            }
            if self.before.get_path(&to_path(&path), 0).is_some() || !self.is_ignored(&path)? {
                let (mode, id) = self.blob(&path, &full, &found)?;
                self.found.push(File { path, mode, id });
            } else {
                self.ignored.push(path);
            }
        }
        Ok(())
    }

    fn is_ignored(&self, path: &[u8]) -> Result<bool, GitError> {
        self.rules.is_path_ignored(to_path(path)).map_err(|error| refused(path, &reason(&error)))
    }

    fn blob(&mut self, path: &[u8], full: &Path, found: &Metadata) -> Result<(u32, Oid), GitError> {
        self.bytes = self.bytes.saturating_add(found.len());
        if found.len() > MAX_BLOB_BYTES || self.bytes > TreeLimits::default().bytes {
            return Err(refused(path, "it is too large"));
        }
        let (mode, bytes) = if found.is_symlink() {
            let target = fs::read_link(full).map_err(|error| refused(path, &error.to_string()))?;
            (0o120_000, target.as_os_str().as_bytes().to_vec())
        } else if found.is_file() {
            let mode = if found.permissions().mode() & 0o100 != 0 { 0o100_755 } else { 0o100_644 };
            let mut bytes = Vec::new();
            let read =
                fs::File::open(full).and_then(|file| file.take(MAX_BLOB_BYTES + 1).read_to_end(&mut bytes));
            read.map_err(|error| refused(path, &error.to_string()))?;
            (mode, bytes)
        } else {
            return Err(refused(path, "it is a pipe, a device or a socket"));
        };
        let id = self.handle.blob(&bytes).map_err(|error| unwritten(&error))?;
        Ok((mode, id))
    }
}

/// Returns the entries of a directory below `root`, without following links.
fn read_directory<'a>(
    root: &'a Path,
    directory: &'a Path,
) -> Result<impl Iterator<Item = Result<(std::path::PathBuf, Metadata), GitError>> + 'a, GitError> {
    let entries = fs::read_dir(directory).map_err(|error| unread(root, directory, &error))?;
    Ok(entries.map(move |entry| {
        let path = entry.map_err(|error| unread(root, directory, &error))?.path();
        let found = fs::symlink_metadata(&path).map_err(|error| unread(root, &path, &error))?;
        Ok((path, found))
    }))
}

/// Returns the error for a path that the agent left and that cannot be read.
fn unread(root: &Path, path: &Path, error: &std::io::Error) -> GitError {
    let name = relative(root, path);
    refused(if name.is_empty() { b"." } else { name }, &error.to_string())
}

fn relative<'a>(root: &Path, path: &'a Path) -> &'a [u8] {
    path.strip_prefix(root).unwrap_or(path).as_os_str().as_bytes()
}
