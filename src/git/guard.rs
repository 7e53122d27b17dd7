//! Refuses pipes, devices and sockets among the files of a git directory before anything opens one: a pipe waits for a
//! writer and a device may have no end. Files that are far larger than git writes them are refused as well, because
//! libgit2 reads most of them whole.
//!
//! A file that is replaced between this check and its use is left to the run's deadline.

use std::ffi::OsStr;
use std::fs::{self, DirEntry, FileType};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

use super::error::GitError;
use super::includes::included_paths;
use qa_core::masking::sanitize_cut;

/// A file of a git directory that is opened by name.
struct NamedFile {
    name: &'static str,
    max_bytes: u64,
}

const NAMED: &[NamedFile] = &[
    NamedFile { name: "HEAD", max_bytes: MAX_REF_BYTES },
    NamedFile { name: "commondir", max_bytes: MAX_REF_BYTES },
    NamedFile { name: "config", max_bytes: MAX_LIST_BYTES },
    NamedFile { name: "config.worktree", max_bytes: MAX_LIST_BYTES },
    NamedFile { name: "gitdir", max_bytes: MAX_REF_BYTES },
    NamedFile { name: "info/attributes", max_bytes: MAX_LIST_BYTES },
    NamedFile { name: "info/exclude", max_bytes: MAX_LIST_BYTES },
    NamedFile { name: "info/grafts", max_bytes: MAX_LIST_BYTES },
    NamedFile { name: "objects/info/alternates", max_bytes: MAX_LIST_BYTES },
    // It is mapped and not read.
    NamedFile { name: "objects/info/commit-graph", max_bytes: u64::MAX },
    NamedFile { name: "packed-refs", max_bytes: MAX_PACKED_REFS_BYTES },
    NamedFile { name: "shallow", max_bytes: MAX_LIST_BYTES },
];
/// Longest chain of alternates; git's own limit.
const MAX_ALTERNATES: usize = 5;
/// Longest chain of includes; git's own limit.
const MAX_INCLUDES: usize = 10;
/// Size of the largest file of a ref or a path, in bytes; git writes one line.
const MAX_REF_BYTES: u64 = 64 << 10;
/// Size of the largest file that lists a few lines, in bytes.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// Size of the largest list of packed refs, in bytes: some two million refs.
const MAX_PACKED_REFS_BYTES: u64 = 128 << 20;
/// Size of the largest index, in bytes: some two million files.
const MAX_INDEX_BYTES: u64 = 256 << 20;
/// Size from which a loose object's file is looked into, in bytes. Smaller ones inflate to 64 MiB at most.
const LARGE_LOOSE_BYTES: u64 = 64 << 10;

/// The file of a loose object.
pub(super) struct LooseFile {
    pub(super) id: Oid,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

impl LooseFile {
    /// Returns the error that refuses the file.
    pub(super) fn refused(&self, reason: String) -> GitError {
        GitError::UnsafeFile { path: display_path(&self.path), reason }
    }
}

/// Checks what finding a repository opens, in a directory and all above it.
pub(super) fn check_path_to_repository(from: &Path) -> Result<(), GitError> {
    let from = std::path::absolute(from).unwrap_or_else(|_| from.to_owned());
    for directory in from.ancestors() {
        let dot_git = directory.join(".git");
        if fs::metadata(&dot_git).is_ok_and(|found| !found.is_dir() && !found.is_file()) {
            return Err(refused(&dot_git));
        }
        check_git_directory(&git_directory(&dot_git)?)?;
        if directory.join("objects").is_dir() {
            check_named(directory)?;
        }
    }
    Ok(())
}

/// Returns the git directory that a `.git` is or, as a file, names.
fn git_directory(dot_git: &Path) -> Result<PathBuf, GitError> {
    if !dot_git.is_file() {
        return Ok(dot_git.to_owned());
    }
    let text = read_list(dot_git).map_err(|error| unreadable(dot_git, &error))?;
    let named = text.strip_prefix(b"gitdir:").unwrap_or_default().trim_ascii();
    Ok(dot_git.parent().unwrap_or(dot_git).join(to_path(named)))
}

/// Checks the files that are opened by name in a git directory and in the one that it shares with other worktrees, and
/// the configuration files that theirs include.
fn check_git_directory(directory: &Path) -> Result<(), GitError> {
    check_named(directory)?;
    let list = directory.join("commondir");
    let common = read_list(&list).map_err(|error| unreadable(&list, &error))?;
    let common = directory.join(to_path(common.trim_ascii_end()));
    check_named(&common)?;
    for configuration in [common.join("config"), directory.join("config.worktree")] {
        check_includes(&configuration, MAX_INCLUDES)?;
    }
    Ok(())
}

/// Checks the files that a configuration includes, whether or not the condition of an include holds.
fn check_includes(configuration: &Path, depth: usize) -> Result<(), GitError> {
    check_file(configuration, MAX_LIST_BYTES)?;
    let text = read_list(configuration).map_err(|error| unreadable(configuration, &error))?;
    for path in included_paths(&text) {
        let included = included_file(configuration, &path);
        check_file(&included, MAX_LIST_BYTES)?;
        if depth == 0 {
            let error = io::Error::other("it includes too many files in turn");
            return Err(unreadable(configuration, &error));
        }
        if included.is_file() {
            check_includes(&included, depth - 1)?;
        }
    }
    Ok(())
}

/// Returns the file that an include names: below the home directory, or from the directory of the including file.
fn included_file(configuration: &Path, path: &[u8]) -> PathBuf {
    if let Some(below_home) = path.strip_prefix(b"~/")
        && let Some(home) = std::env::home_dir()
    {
        return home.join(to_path(below_home));
    }
    configuration.parent().unwrap_or(configuration).join(to_path(path))
}

/// Checks the files of a repository that are opened by name, and its object stores. Returns the larger files of loose
/// objects.
pub(super) fn check_repository(repository: &Repository) -> Result<Vec<LooseFile>, GitError> {
    check_git_directory(repository.path())?;
    check_named(repository.commondir())?;
    let mut large = Vec::new();
    check_objects(&repository.commondir().join("objects"), MAX_ALTERNATES, &mut large)?;
    Ok(large)
}

/// Checks the index of a repository.
pub(super) fn check_index(repository: &Repository) -> Result<(), GitError> {
    check_index_file(&repository.path().join("index"))
}

/// Checks the file of an index.
pub(super) fn check_index_file(path: &Path) -> Result<(), GitError> {
    check_file(path, MAX_INDEX_BYTES)
}

/// Checks a file with ignore rules or attributes, which libgit2 opens wherever one stands.
pub(super) fn check_rules(path: &Path) -> Result<(), GitError> {
    check_file(path, MAX_LIST_BYTES)
}

/// Checks a configuration file outside the repository, and those that it includes.
pub(super) fn check_configuration(path: &Path) -> Result<(), GitError> {
    check_includes(path, MAX_INCLUDES)
}

/// Checks the files that a ref may have.
pub(super) fn check_ref(repository: &Repository, name: &str) -> Result<(), GitError> {
    check_file(&repository.path().join(name), MAX_REF_BYTES)?;
    check_file(&repository.commondir().join(name), MAX_REF_BYTES)
}

/// Checks one file, where it is there.
fn check_file(path: &Path, max_bytes: u64) -> Result<(), GitError> {
    let found = match fs::metadata(path) {
        Ok(found) if !found.is_dir() => found,
        _ => return Ok(()),
    };
    if !found.is_file() {
        return Err(refused(path));
    }
    if found.len() > max_bytes {
        let reason = format!("it has {} bytes, and more than {max_bytes} are not read", found.len());
        return Err(GitError::UnsafeFile { path: display_path(path), reason });
    }
    Ok(())
}

/// Reads a file that lists a few lines; empty where there is none. Paths in it need not be UTF-8.
pub(super) fn read_list(path: &Path) -> io::Result<Vec<u8>> {
    let file = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Ok(found) if !found.is_file() => return Err(io::Error::other("it is not a regular file")),
        _ => fs::File::open(path)?,
    };
    let mut text = Vec::new();
    let bytes = file.take(MAX_LIST_BYTES + 1).read_to_end(&mut text)?;
    if bytes as u64 > MAX_LIST_BYTES {
        return Err(io::Error::other(format!("it is larger than {MAX_LIST_BYTES} bytes")));
    }
    Ok(text)
}

fn check_named(git_directory: &Path) -> Result<(), GitError> {
    NAMED.iter().try_for_each(|file| check_file(&git_directory.join(file.name), file.max_bytes))
}

fn check_objects(objects: &Path, depth: usize, large: &mut Vec<LooseFile>) -> Result<(), GitError> {
    for entry in entries(objects) {
        let name = entry.file_name();
        let is_fan = name.len() == 2 && name.as_encoded_bytes().iter().all(u8::is_ascii_hexdigit);
        if is_fan || name == "pack" {
            for entry in entries(&entry.path()) {
                check_entry(&entry)?;
                if is_fan {
                    large.extend(large_loose(&name, &entry));
                }
            }
        }
    }
    let list = objects.join("info/alternates");
    check_file(&list, MAX_LIST_BYTES)?;
    if depth == 0 {
        return Ok(());
    }
    let text = read_list(&list).map_err(|error| unreadable(&list, &error))?;
    alternates(&text).try_for_each(|line| check_objects(&objects.join(to_path(line)), depth - 1, large))
}

/// Returns the file of a loose object, if it is a large one.
fn large_loose(fan: &OsStr, entry: &DirEntry) -> Option<LooseFile> {
    let found = match entry.file_type() {
        Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()),
        _ => entry.metadata(),
    };
    let bytes = found.ok()?.len();
    if bytes < LARGE_LOOSE_BYTES {
        return None;
    }
    let id = format!("{}{}", fan.to_str()?, entry.file_name().to_str()?);
    let id = (id.len() == 40).then(|| Oid::from_str(&id).ok())??;
    Some(LooseFile { id, path: entry.path(), bytes })
}

/// Returns the lines of a list of alternates that name a directory.
pub(super) fn alternates(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = list.split(|byte| *byte == b'\n');
    lines.filter(|line| !line.trim_ascii().is_empty() && !line.starts_with(b"#"))
}

/// Returns a path of a git file as the file system takes it.
#[cfg(unix)]
fn to_path(bytes: &[u8]) -> PathBuf {
    <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes).into()
}

/// Elsewhere paths are text.
#[cfg(not(unix))]
fn to_path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

fn entries(directory: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten()
}

/// Most file systems tell an entry's type without another look at it.
fn check_entry(entry: &DirEntry) -> Result<(), GitError> {
    match entry.file_type() {
        Ok(kind) if is_harmless(kind) => Ok(()),
        Ok(kind) if kind.is_symlink() => check_file(&entry.path(), u64::MAX),
        _ => Err(refused(&entry.path())),
    }
}

fn is_harmless(kind: FileType) -> bool {
    kind.is_file() || kind.is_dir()
}

fn refused(path: &Path) -> GitError {
    let reason = "it is a pipe, a device or a socket".to_owned();
    GitError::UnsafeFile { path: display_path(path), reason }
}

fn unreadable(path: &Path, error: &io::Error) -> GitError {
    GitError::Open { path: display_path(path), reason: error.to_string() }
}

fn display_path(path: &Path) -> String {
    sanitize_cut(&path.display().to_string(), 300)
}
