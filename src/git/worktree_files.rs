//! Makes a tree of the files of the working tree, as `git add --all` would stage them.
//!
//! Attributes, ignore rules, executable bits and line ends are applied by libgit2. A filter that is a program is not run: what
//! it would make is computed for Git LFS, and refused for any other.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, AttrValue, Delta, DiffOptions, Index, IndexEntry, Oid, Repository};

use super::account_configuration::add_configuration;
use super::bounded::MAX_BLOB_BYTES;
use super::error::GitError;
use super::guard;
use super::lfs::lfs_pointer;
use super::open::OpenRepository;
use super::refs::resolve_ref;
use super::uncommitted::{
    Surroundings, check_merged, entries, entry, is_intent_to_add, not_read, shown, to_path, unreadable,
    unwritten,
};

/// Flag of an index entry that is not compared with its file, by `git update-index --assume-unchanged`.
const ASSUME_UNCHANGED: u16 = 1 << 15;
/// Flag of an index entry that has no file, as in a sparse checkout.
const SKIP_WORKTREE: u16 = 1 << 14;
/// Mode of a submodule's entry.
const SUBMODULE: u32 = 0o160_000;
/// Names of files with ignore rules and attributes.
const RULES: [&str; 2] = [".gitignore", ".gitattributes"];
/// Bytes of all files that are written to the store.
const MAX_BYTES: u64 = 2 << 30;

/// The working tree, with an index in memory that its files are staged in.
pub(super) struct WorktreeFiles<'a> {
    root: &'a Path,
    /// The checkout, whose objects are written to the store.
    repository: &'a Repository,
    store: &'a Repository,
    index: Index,
    bytes: u64,
}

impl<'a> WorktreeFiles<'a> {
    pub(super) fn new(
        opened: &'a OpenRepository,
        repository: &'a Repository,
        surroundings: &Surroundings,
    ) -> Result<Self, GitError> {
        // The configuration may name another working tree, which does not count.
        repository.set_workdir(&opened.root, false).map_err(|error| unreadable(&error))?;
        add_configuration(opened, repository, surroundings)?;
        let objects = opened.store.open()?;
        let connected = objects.odb().and_then(|odb| repository.set_odb(&odb));
        connected.map_err(|error| unreadable(&error))?;
        guard::check_index(repository)?;
        // The repository's own index, also in a hook: it differs from that of a commit in files, which are read anew.
        let index = repository.index().map_err(|error| not_read(&error))?;
        check_merged(&index)?;
        Ok(Self { root: &opened.root, repository, store: opened.objects(), index, bytes: 0 })
    }

    /// Stages every file in memory and writes the tree.
    pub(super) fn write_tree(mut self) -> Result<Oid, GitError> {
        self.check_directories()?;
        let Changes { removed, written } = self.changes()?;
        for path in &removed {
            self.index.remove(&to_path(path), 0).map_err(|error| unreadable(&error))?;
        }
        for path in &written {
            self.stage(path)?;
        }
        self.index.write_tree_to(self.store).map_err(|error| unwritten(&error))
    }

    /// Compares the index with the working tree.
    fn changes(&self) -> Result<Changes, GitError> {
        let mut changes = Changes::default();
        let mut kept = BTreeSet::new();
        for entry in entries(&self.index) {
            self.check_rules(&entry.path)?;
            // Git leaves such an entry alone, also where a file stands outside a sparse checkout.
            let is_skipped = entry.flags_extended & SKIP_WORKTREE != 0;
            if entry.flags & ASSUME_UNCHANGED != 0 || is_skipped {
                kept.insert(entry.path);
            } else if entry.mode == SUBMODULE {
                self.compare_submodule(entry, &mut changes)?;
            } else if is_intent_to_add(&entry) {
                changes.written.insert(entry.path);
            }
        }
        let mut options = DiffOptions::new();
        options.include_untracked(true).recurse_untracked_dirs(true).enable_fast_untracked_dirs(true);
        options.include_typechange(true).ignore_submodules(true);
        let compared = self.repository.diff_index_to_workdir(Some(&self.index), Some(&mut options));
        for delta in compared.map_err(|error| unreadable(&error))?.deltas() {
            let old = delta.old_file().path_bytes().unwrap_or_default();
            let path = delta.new_file().path_bytes().unwrap_or(old);
            self.check_rules(path)?;
            match delta.status() {
                _ if kept.contains(path) || kept.contains(old) || self.is_below_submodule(path) => {}
                // Not a file any more, so libgit2 does not see it. Git refuses it.
                Delta::Deleted if is_special(&self.root.join(to_path(path))) => {
                    changes.written.insert(path.to_vec());
                }
                Delta::Deleted => {
                    check_gone(path, &self.root.join(to_path(path)))?;
                    changes.written.remove(path);
                    changes.removed.insert(path.to_vec());
                }
                Delta::Unmodified | Delta::Ignored => {}
                Delta::Added
                | Delta::Modified
                | Delta::Renamed
                | Delta::Copied
                | Delta::Untracked
                | Delta::Typechange
                | Delta::Unreadable
                | Delta::Conflicted => {
                    changes.written.insert(path.to_vec());
                }
            }
        }
        Ok(changes)
    }

    /// Fails if a directory that is not ignored cannot be read: libgit2 takes its files for files that are not there. Fails
    /// if the rules of one are no regular file, before libgit2 opens them.
    fn check_directories(&self) -> Result<(), GitError> {
        let mut left = vec![PathBuf::new()];
        while let Some(directory) = left.pop() {
            let full = self.root.join(&directory);
            for name in RULES {
                guard::check_rules(&full.join(name))?;
            }
            let found: Result<Vec<DirEntry>, io::Error> = fs::read_dir(&full).and_then(Iterator::collect);
            let found = match found {
                Ok(found) => found,
                Err(error) if is_missing(&error) => continue,
                Err(error) => {
                    return Err(GitError::NotCommittable {
                        problem: format!(
                            "the directory {} cannot be read: {error}",
                            shown(directory.as_os_str().as_encoded_bytes())
                        ),
                        hint: "give this user the right to read it, or judge what is staged with --staged",
                    });
                }
            };
            for entry in found {
                let inner = directory.join(entry.file_name());
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                // Git looks at no file of another repository.
                if is_directory && entry.file_name() != ".git" && !has_repository(&entry.path()) {
                    let is_ignored = self.repository.is_path_ignored(&inner);
                    if !is_ignored.map_err(|error| unreadable(&error))? {
                        left.push(inner);
                    }
                }
            }
        }
        Ok(())
    }

    /// Fails if a path has ignore rules or attributes and is a link, which libgit2 follows and git does not.
    fn check_rules(&self, path: &[u8]) -> Result<(), GitError> {
        let has_rules = RULES.iter().any(|name| {
            path.strip_suffix(name.as_bytes()).is_some_and(|above| above.is_empty() || above.ends_with(b"/"))
        });
        if !has_rules || !self.root.join(to_path(path)).is_symlink() {
            return Ok(());
        }
        Err(GitError::NotCommittable {
            problem: format!("{} is a link, and git does not follow it for its rules", shown(path)),
            hint: "make it a file, or judge what is staged with --staged",
        })
    }

    /// Records the commit that a submodule has checked out. Its own changes are no part of a commit here.
    fn compare_submodule(&self, entry: IndexEntry, changes: &mut Changes) -> Result<(), GitError> {
        let directory = self.root.join(to_path(&entry.path));
        match fs::symlink_metadata(&directory) {
            Err(_) => {
                changes.removed.insert(entry.path);
            }
            // A directory without a repository is a submodule that is not checked out.
            Ok(found) if found.is_dir() => {
                let head = if has_repository(&directory) { nested_head(&directory)? } else { None };
                if head.is_some_and(|head| head != entry.id) {
                    changes.written.insert(entry.path);
                }
            }
            Ok(_) => {
                changes.written.insert(entry.path);
            }
        }
        Ok(())
    }

    /// Returns whether a path is below the directory of a submodule.
    fn is_below_submodule(&self, path: &[u8]) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        slashes.map(|(end, _)| &path[..end]).any(|above| {
            let entry = self.index.get_path(&to_path(above), 0);
            let is_directory =
                || fs::symlink_metadata(self.root.join(to_path(above))).is_ok_and(|found| found.is_dir());
            entry.is_some_and(|entry| entry.mode == SUBMODULE) && is_directory()
        })
    }

    /// Stages a path: a file, a link, or the repository in a directory.
    fn stage(&mut self, path: &[u8]) -> Result<(), GitError> {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        let full = self.root.join(to_path(path));
        let found = fs::symlink_metadata(&full).map_err(|error| not_looked_at(path, &error))?;
        if found.is_dir() {
            return self.stage_repository(path, &full);
        }
        if found.is_file() {
            self.count(path, &found)?;
            if let Some(pointer) = self.filtered(path, &full, &found)? {
                return self.stage_blob(path, &found, &pointer);
            }
        } else if !found.is_symlink() {
            return Err(GitError::NotCommittable {
                problem: format!("{} is a pipe, a device or a socket", shown(path)),
                hint: "remove it, or ignore it in .gitignore",
            });
        }
        self.index.add_path(&to_path(path)).map_err(|error| unreadable(&error))
    }

    /// Counts the bytes of a file that is written to the store.
    fn count(&mut self, path: &[u8], found: &Metadata) -> Result<(), GitError> {
        self.bytes = self.bytes.saturating_add(found.len());
        if found.len() <= MAX_BLOB_BYTES && self.bytes <= MAX_BYTES {
            return Ok(());
        }
        Err(GitError::NotCommittable {
            problem: format!(
                "{} is too large: a file may have {MAX_BLOB_BYTES} bytes, and all that are not committed {MAX_BYTES}",
                shown(path)
            ),
            hint: "ignore what is not for a commit in .gitignore, or judge what is staged with --staged",
        })
    }

    /// Stages the commit of a repository in a directory, as git does for one that is no submodule yet.
    fn stage_repository(&mut self, path: &[u8], directory: &Path) -> Result<(), GitError> {
        let Some(id) = nested_head(directory)? else {
            return Err(GitError::NotCommittable {
                problem: format!(
                    "the repository in {} has no commit, so git adds neither it nor its files",
                    shown(path)
                ),
                hint: "ignore the directory in .gitignore, or commit in it",
            });
        };
        self.add(entry(path, SUBMODULE, id))
    }

    fn stage_blob(&mut self, path: &[u8], found: &Metadata, bytes: &[u8]) -> Result<(), GitError> {
        let before = self.index.get_path(&to_path(path), 0).map(|entry| entry.mode);
        let mode = match before {
            Some(mode @ (0o100_644 | 0o100_755)) if self.setting("core.filemode") == Some(false) => mode,
            _ if is_executable(found) => 0o100_755,
            _ => 0o100_644,
        };
        let id = self.repository.blob(bytes).map_err(|error| unwritten(&error))?;
        self.add(entry(path, mode, id))
    }

    fn add(&mut self, entry: IndexEntry) -> Result<(), GitError> {
        self.index.add(&entry).map_err(|error| unreadable(&error))
    }

    /// Returns what a filter makes of a file, or `None` if libgit2 applies all that it has. Fails for a program that is not
    /// known here.
    fn filtered(&self, path: &[u8], full: &Path, found: &Metadata) -> Result<Option<Vec<u8>>, GitError> {
        if let Some(encoding) = self.attribute(path, "working-tree-encoding")?
            && !encoding.eq_ignore_ascii_case("utf-8")
        {
            return Err(GitError::NotCommittable {
                problem: format!("git would commit {} in another encoding than the file has", shown(path)),
                hint: "stage it with `git add`, and judge what is staged with --staged",
            });
        }
        let Some(filter) = self.attribute(path, "filter")? else { return Ok(None) };
        let is_configured =
            ["clean", "process"].iter().any(|kind| self.has_setting(&format!("filter.{filter}.{kind}")));
        match filter.as_str() {
            // Git commits the file as it is.
            _ if !is_configured => Ok(None),
            "lfs" if self.is_git_lfs() => {
                lfs_pointer(full, found).map(Some).map_err(|error| GitError::NotCommittable {
                    problem: format!("{} cannot be read: {error}", shown(path)),
                    hint: "see what `git status` says there as the same user",
                })
            }
            _ => Err(GitError::NotCommittable {
                problem: format!(
                    "{} passes a program before git commits it, the filter `{}`, which is not run",
                    shown(path),
                    shown(filter.as_bytes())
                ),
                hint: "stage it with `git add`, which runs the filter, and judge what is staged with --staged",
            }),
        }
    }

    /// Returns whether the filter `lfs` is Git LFS, and git commits nothing if it does not run.
    fn is_git_lfs(&self) -> bool {
        // Git prefers the process.
        let kind = if self.has_setting("filter.lfs.process") { "process" } else { "clean" };
        let program =
            self.repository.config().and_then(|config| config.get_string(&format!("filter.lfs.{kind}")));
        self.setting("filter.lfs.required") == Some(true)
            && program.is_ok_and(|program| program.starts_with("git-lfs "))
    }

    /// Returns the value of an attribute; `None` where it is unset, or set without a value.
    fn attribute(&self, path: &[u8], name: &str) -> Result<Option<String>, GitError> {
        let value = self.repository.get_attr(&to_path(path), name, AttrCheckFlags::FILE_THEN_INDEX);
        let value = AttrValue::from_string(value.map_err(|error| unreadable(&error))?);
        Ok(match value {
            AttrValue::String(value) => Some(value.to_owned()),
            AttrValue::Bytes(_) | AttrValue::True | AttrValue::False | AttrValue::Unspecified => None,
        })
    }

    fn has_setting(&self, name: &str) -> bool {
        let config = self.repository.config();
        config.is_ok_and(|config| config.get_entry(name).is_ok_and(|entry| !entry.value_bytes().is_empty()))
    }

    fn setting(&self, name: &str) -> Option<bool> {
        self.repository.config().and_then(|config| config.get_bool(name)).ok()
    }
}

/// Paths that are staged.
#[derive(Default)]
struct Changes {
    removed: BTreeSet<Vec<u8>>,
    /// Paths whose files are written; those of repositories may end with a slash.
    written: BTreeSet<Vec<u8>>,
}

/// Fails unless there is no file any more.
fn check_gone(path: &[u8], full: &Path) -> Result<(), GitError> {
    match fs::symlink_metadata(full) {
        Err(error) if !is_missing(&error) => Err(not_looked_at(path, &error)),
        _ => Ok(()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn not_looked_at(path: &[u8], error: &io::Error) -> GitError {
    GitError::NotCommittable {
        problem: format!("{} cannot be read: {error}", shown(path)),
        hint: "run again if files changed meanwhile; see what `git status` says there as the same user",
    }
}

/// Returns whether a path is a pipe, a device or a socket.
fn is_special(path: &Path) -> bool {
    let found = fs::symlink_metadata(path).map(|found| found.file_type());
    found.is_ok_and(|kind| !kind.is_file() && !kind.is_dir() && !kind.is_symlink())
}

fn has_repository(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// Returns the commit that a repository in a directory has checked out.
fn nested_head(directory: &Path) -> Result<Option<Oid>, GitError> {
    guard::check_path_to_repository(directory)?;
    let repository = Repository::open(directory).map_err(|error| unreadable(&error))?;
    resolve_ref(&repository, "HEAD")
}

#[cfg(unix)]
fn is_executable(found: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o100 != 0
}

/// Elsewhere files have no such bit.
#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}
