//! Writes the tree of a commit to a directory, from its objects only: without filters, hooks, submodules or attributes.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use git2::{ObjectType, Odb, Oid};

use super::bounded;
use super::error::GitError;
use super::open::OpenRepository;
use super::tree::{Mode, parse};
use super::walk::check_depth;
use qa_contracts::ids::{CommitId, RepoPath};

/// Limits of a written tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeLimits {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Default for TreeLimits {
    fn default() -> Self {
        Self { files: 500_000, bytes: 8 << 30 }
    }
}

/// Result of writing a tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WrittenTree {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Omitted paths, sorted.
    pub(crate) omitted: Vec<OmittedPath>,
}

/// An entry of a tree that was not written.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OmittedPath {
    pub(crate) path: RepoPath,
    pub(crate) reason: Omitted,
}

/// Reason why an entry of a tree was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Omitted {
    Submodule,
    /// A link that leaves the tree, or whose target is not valid.
    LinkOutside,
    /// A file that the caller excludes.
    Unwanted,
}

impl Omitted {
    /// The word for records.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Submodule => "submodule",
            Self::LinkOutside => "link-outside",
            Self::Unwanted => "unwanted",
        }
    }
}

/// Length limit of a link's target on any file system.
const MAX_TARGET_BYTES: usize = 4095;

impl OpenRepository {
    /// Writes a commit's tree to an empty directory that no one else can write to. All times are the commit's, so that they
    /// are the same on every machine.
    pub(crate) fn write_tree(
        &self,
        commit: &CommitId,
        destination: &Path,
        limits: TreeLimits,
        unwanted: fn(&[u8]) -> bool,
    ) -> Result<WrittenTree, GitError> {
        let id = Oid::from_str(commit.as_str()).map_err(|error| GitError::object(commit, &error))?;
        let handle = self.objects();
        let commit = bounded::find_commit(handle, id)?;
        let seconds = u64::try_from(commit.committer().when().seconds()).unwrap_or(0);
        let odb = bounded::objects_of(handle)?;
        let mut writer = Writer {
            odb: &odb,
            destination,
            limits,
            unwanted,
            time: SystemTime::UNIX_EPOCH + Duration::from_secs(seconds),
            written: WrittenTree::default(),
            directories: Vec::new(),
        };
        writer.write(commit.tree_id())?;
        writer.written.omitted.sort();
        Ok(writer.written)
    }
}

struct Writer<'a> {
    odb: &'a Odb<'a>,
    destination: &'a Path,
    limits: TreeLimits,
    /// Returns whether an entry of a name is left out.
    unwanted: fn(&[u8]) -> bool,
    time: SystemTime,
    written: WrittenTree,
    /// Directories whose times are set last, since writing to one changes them.
    directories: Vec<PathBuf>,
}

impl<'a> Writer<'a> {
    fn write(&mut self, root: Oid) -> Result<(), GitError> {
        let mut pending = vec![(Vec::new(), 0, root)];
        while let Some((path, depth, tree)) = pending.pop() {
            check_depth(tree, depth)?;
            let object = bounded::read_tree(self.odb, tree)?;
            for entry in parse(tree, object.data())? {
                let mut full = path.clone();
                if !full.is_empty() {
                    full.push(b'/');
                }
                full.extend_from_slice(entry.name);
                let path =
                    RepoPath::from_bytes(&full).map_err(|error| GitError::PathRefused(error.to_string()))?;
                self.count(1, 0)?;
                if (self.unwanted)(entry.name) {
                    self.omit(path, Omitted::Unwanted);
                    continue;
                }
                match entry.mode {
                    Mode::Tree => {
                        let place = self.destination_of(&path);
                        fs::DirBuilder::new()
                            .mode(0o755)
                            .create(&place)
                            .map_err(|error| failed(&path, &error))?;
                        self.directories.push(place);
                        pending.push((full, depth + 1, entry.id));
                    }
                    Mode::File => self.file(&path, entry.id, 0o644)?,
                    Mode::Executable => self.file(&path, entry.id, 0o755)?,
                    Mode::Link => self.link(path, entry.id)?,
                    Mode::Submodule => self.omit(path, Omitted::Submodule),
                }
            }
        }
        let times = FileTimes::new().set_accessed(self.time).set_modified(self.time);
        for directory in self.directories.iter().rev().map(PathBuf::as_path).chain([self.destination]) {
            let set = File::open(directory).and_then(|directory| directory.set_times(times));
            set.map_err(|error| GitError::NotWritten(error.to_string()))?;
        }
        Ok(())
    }

    fn omit(&mut self, path: RepoPath, reason: Omitted) {
        self.written.omitted.push(OmittedPath { path, reason });
    }

    fn destination_of(&self, path: &RepoPath) -> PathBuf {
        self.destination.join(std::ffi::OsStr::from_bytes(path.as_bytes()))
    }

    /// Counts an entry before it is read; fails beyond the limits.
    fn count(&mut self, files: u64, bytes: u64) -> Result<(), GitError> {
        self.written.files += files;
        self.written.bytes += bytes;
        if self.written.files > self.limits.files || self.written.bytes > self.limits.bytes {
            let message = format!(
                "the tree has more than {} entries or {} bytes",
                self.limits.files, self.limits.bytes
            );
            return Err(GitError::NotWritten(message));
        }
        Ok(())
    }

    fn blob(&mut self, id: Oid) -> Result<git2::OdbObject<'a>, GitError> {
        self.count(0, bounded::read_header(self.odb, id)?.bytes)?;
        let odb: &'a Odb<'a> = self.odb;
        let object = bounded::read(odb, id)?;
        if object.kind() == ObjectType::Blob {
            return Ok(object);
        }
        Err(GitError::TreeMalformed { id: id.to_string(), reason: "it is not a blob".to_owned() })
    }

    fn file(&mut self, path: &RepoPath, id: Oid, mode: u32) -> Result<(), GitError> {
        let place = self.destination_of(path);
        let time = self.time;
        let blob = self.blob(id)?;
        write_file(&place, blob.data(), mode, time).map_err(|error| failed(path, &error))
    }

    fn link(&mut self, path: RepoPath, id: Oid) -> Result<(), GitError> {
        let place = self.destination_of(&path);
        let blob = self.blob(id)?;
        let target = blob.data().to_vec();
        drop(blob);
        if !stays_inside(path.as_bytes(), &target) {
            self.omit(path, Omitted::LinkOutside);
            return Ok(());
        }
        std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(&target), &place)
            .map_err(|error| failed(&path, &error))
    }
}

/// Writes a new file; fails if the path exists, also as a link.
fn write_file(path: &Path, bytes: &[u8], mode: u32, time: SystemTime) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)?;
    file.set_times(FileTimes::new().set_accessed(time).set_modified(time))
}

fn failed(path: &RepoPath, error: &io::Error) -> GitError {
    GitError::NotWritten(format!("{path}: {error}"))
}

/// Returns whether a link's target is inside the tree. A path through other links may still leave it; the sandbox prevents
/// that access.
fn stays_inside(link: &[u8], target: &[u8]) -> bool {
    if target.is_empty() || target.len() > MAX_TARGET_BYTES || target.contains(&0) || target[0] == b'/' {
        return false;
    }
    let mut depth = link.iter().filter(|byte| **byte == b'/').count();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => match depth.checked_sub(1) {
                Some(above) => depth = above,
                None => return false,
            },
            _ => depth += 1,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_over_a_limit_is_an_error_and_nothing_that_is_there_is_written_to() {
        let home = tempfile::tempdir().unwrap();
        let repository = git2::Repository::init(home.path().join("repo")).unwrap();
        let blob = repository.blob(b"12345").unwrap();
        let mut tree = repository.treebuilder(None).unwrap();
        for name in ["a", "b"] {
            tree.insert(name, blob, 0o100_644).unwrap();
        }
        let tree = repository.find_tree(tree.write().unwrap()).unwrap();
        let who = git2::Signature::new("A", "a@example.com", &git2::Time::new(0, 0)).unwrap();
        let commit = repository.commit(None, &who, &who, "A commit", &tree, &[]).unwrap();
        let commit = CommitId::parse(&commit.to_string()).unwrap();
        let open = OpenRepository::discover(&home.path().join("repo")).unwrap();
        let write = |name: &str, files, bytes| {
            let place = home.path().join(name);
            fs::create_dir_all(&place).unwrap();
            open.write_tree(&commit, &place, TreeLimits { files, bytes }, |name| name == b"none")
        };
        assert!(matches!(write("few", 1, 100), Err(GitError::NotWritten(_))));
        assert!(matches!(write("small", 2, 9), Err(GitError::NotWritten(_))));
        let written = write("enough", 2, 10).unwrap();
        assert_eq!((written.files, written.bytes), (2, 10));

        let victim = home.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        fs::create_dir(home.path().join("planted")).unwrap();
        std::os::unix::fs::symlink(&victim, home.path().join("planted/a")).unwrap();
        assert!(matches!(write("planted", 2, 10), Err(GitError::NotWritten(_))));
        assert_eq!(fs::read(&victim).unwrap(), b"untouched");
    }

    #[test]
    fn only_links_into_the_tree_stay_inside() {
        let cases = [
            ("link", "file", true),
            ("a/link", "../file", true),
            ("a/b/link", "../../c/./d//e", true),
            ("link", "a/../b", true),
            ("link", "..", false),
            ("a/link", "../../file", false),
            ("link", "a/../../file", false),
            ("link", "/etc/passwd", false),
            ("link", "", false),
            ("link", "a\0b", false),
        ];
        for (link, target, inside) in cases {
            assert_eq!(stays_inside(link.as_bytes(), target.as_bytes()), inside, "{link} -> {target}");
        }
        assert!(!stays_inside(b"link", &[b'a'; 5000]));
    }
}
