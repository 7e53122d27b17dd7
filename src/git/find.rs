//! Finds the repository of a directory, and refuses one that a change may have brought.
//!
//! A change can commit the files of a bare repository, and it can make a directory a submodule. libgit2 would open either
//! as the repository of that directory, and the change would choose base and head.

use std::fs;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Repository};

use super::bounded;
use super::error::{GitError, reason};
use super::guard;
use super::objects::{Place, find_entry};
use super::refs::resolve_ref;
use qa_core::masking::sanitize_cut;

/// Repositories that may be opened below another one's work tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nested {
    /// Repositories with a `.git` of their own, which no commit can bring: submodules and clones.
    WithDotGit,
    /// Repositories in directories that the outer one does not track: clones.
    Untracked,
}

/// Returns the directory to open: the nearest with a `.git`, or `from` itself if it is a bare repository.
pub(super) fn find_repository(from: &Path, nested: Nested) -> Result<PathBuf, GitError> {
    let absent = match fs::metadata(from) {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some("it is not a directory"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("there is no such directory"),
        Err(error) => return Err(unreadable(from, &error.to_string())),
    };
    if let Some(reason) = absent {
        return Err(not_found(from, reason));
    }
    guard::check_path_to_repository(from)?;
    let from = from.canonicalize().map_err(|error| unreadable(from, &error.to_string()))?;
    // The git directory of a checkout means the checkout.
    let from = match from.parent() {
        Some(parent) if from.ends_with(".git") => parent.to_owned(),
        _ => from,
    };
    let with_dot_git = from.ancestors().find(|directory| has_dot_git(directory));
    let is_bare = !has_dot_git(&from) && is_git_directory(&from);
    let directory = match with_dot_git {
        _ if is_bare => from.as_path(),
        Some(directory) => directory,
        None => return Err(not_found(&from, "it has no .git, and neither has a directory above it")),
    };
    let may_be_tracked = !is_bare && nested == Nested::WithDotGit;
    let outer = directory.ancestors().skip(1).find(|directory| has_dot_git(directory));
    if let Some(outer) = outer
        && !may_be_tracked
        && is_tracked(outer, directory)?
    {
        return Err(GitError::Planted { inner: display_path(directory), outer: display_path(outer) });
    }
    Ok(directory.to_owned())
}

fn has_dot_git(directory: &Path) -> bool {
    fs::symlink_metadata(directory.join(".git")).is_ok()
}

/// Returns whether a directory has the entries that git requires of a git directory.
fn is_git_directory(directory: &Path) -> bool {
    let has_refs = directory.join("refs").is_dir() || directory.join("commondir").is_file();
    directory.join("HEAD").is_file() && directory.join("objects").is_dir() && has_refs
}

/// Returns whether the head or the index of a repository has a directory of its work tree, as files or as a submodule.
fn is_tracked(outer: &Path, inner: &Path) -> Result<bool, GitError> {
    let repository = Repository::open(outer).map_err(|error| unreadable(outer, &reason(&error)))?;
    let large = guard::check_repository(&repository)?;
    bounded::check_loose(&bounded::objects_of(&repository)?, &large)?;
    guard::check_index(&repository)?;
    let Ok(relative) = inner.strip_prefix(outer) else { return Ok(false) };
    // The index may track files that head does not have.
    if is_in_index(&repository, relative).map_err(|error| unreadable(outer, &reason(&error)))? {
        return Ok(true);
    }
    let Some(head) = resolve_ref(&repository, "HEAD")? else { return Ok(false) };
    let head = bounded::peel_to_commit(&repository, head)?;
    let head = head.ok_or_else(|| unreadable(outer, "its head has no tree"))?;
    match find_entry(&repository, head.tree_id(), relative.as_os_str().as_encoded_bytes())? {
        Place::Entry(_) | Place::BelowEntry(ObjectType::Commit) => Ok(true),
        Place::BelowEntry(_) | Place::Absent => Ok(false),
    }
}

fn is_in_index(repository: &Repository, directory: &Path) -> Result<bool, git2::Error> {
    let index = repository.index()?;
    let directory = directory.as_os_str().as_encoded_bytes();
    Ok(index.iter().any(|entry| match entry.path.strip_prefix(directory) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/"),
        None => false,
    }))
}

fn not_found(path: &Path, reason: &'static str) -> GitError {
    GitError::NotFound { path: display_path(path), reason }
}

fn unreadable(path: &Path, reason: &str) -> GitError {
    GitError::Open { path: display_path(path), reason: reason.to_owned() }
}

fn display_path(path: &Path) -> String {
    sanitize_cut(&path.display().to_string(), 300)
}
