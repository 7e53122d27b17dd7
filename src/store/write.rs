//! Writes a run directory atomically: staging, fsync, the manifest last, one rename.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Serialize;
use serde_json::Value;

use super::{ArtifactRoot, STAGING_PREFIX, StoreError};
use crate::faults;
use crate::scratch::{Readers, ScratchDirectory};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::{ExecutionKey, Sha256Hex};
use qa_contracts::schema;
use qa_contracts::v1::{FileHash, Hashes};
use qa_core::canonical;

/// Number of threads that sync files. They use no CPU, and concurrent syncs share journal commits of the file system.
const SYNC_THREADS: usize = 8;
/// Number of files that are written before they are synced, which bounds the open files.
const MOST_UNSYNCED: usize = 64;

/// A file ready to be written, with both digests.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: String,
    /// The bytes, in pieces, since one buffer of a large artifact would need its memory at once.
    pieces: Vec<Vec<u8>>,
    pub(crate) deterministic: Sha256Hex,
    full: Sha256Hex,
}

impl Entry {
    /// Renders an artifact and validates it against its schema.
    pub(crate) fn artifact<T: Artifact>(artifact: &T) -> Result<Self, StoreError> {
        let mut parts = artifact.parts().peekable();
        if !T::VOLATILE.is_empty() {
            return Self::one_piece(artifact, Some(valid::<T>(T::FILE, artifact)?));
        }
        if parts.peek().is_none() {
            valid::<T>(T::FILE, artifact)?;
            return Self::one_piece(artifact, None);
        }
        let Some(frame) = artifact.frame() else {
            parts.try_for_each(|part| valid::<T>(T::FILE, &part).map(drop))?;
            return Self::one_piece(artifact, None);
        };
        let mut entry = PartedEntry::<T>::new(T::FILE, &frame)?;
        parts.try_for_each(|part| entry.add(&part))?;
        Ok(entry.finish())
    }

    /// Renders a valid artifact in one piece. `value` is given for an artifact with volatile members.
    fn one_piece<T: Artifact>(artifact: &T, value: Option<Value>) -> Result<Self, StoreError> {
        let mut bytes = canonical_bytes(T::FILE, artifact)?;
        let (mut deterministic, full) = canonical::sha256_and_of_line(&bytes);
        if let Some(mut value) = value {
            strip(&mut value, T::VOLATILE);
            deterministic = canonical::digest(&value)
                .map_err(|error| invalid(T::FILE, String::new(), error.to_string()))?;
        }
        bytes.push(b'\n');
        Ok(Self { path: T::FILE.to_owned(), pieces: vec![bytes], deterministic, full })
    }

    /// Returns all bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    /// Returns the file of a report in any format.
    pub(crate) fn report(path: &str, bytes: Vec<u8>) -> Self {
        let full = canonical::sha256(&bytes);
        Self { path: path.to_owned(), pieces: vec![bytes], deterministic: full.clone(), full }
    }
}

/// A file of `T` that is rendered part by part: the frame up to the start of its list, the items of all parts, the rest of the
/// frame. A part serializes as a `T` with some of the items.
pub(crate) struct PartedEntry<T> {
    path: String,
    frame: Vec<u8>,
    /// Offset of the list's start.
    opened: usize,
    pieces: Vec<Vec<u8>>,
    form: PhantomData<T>,
}

impl<T: Artifact> PartedEntry<T> {
    /// Begins with the frame: the artifact without items.
    pub(crate) fn new(path: &str, frame: &impl Serialize) -> Result<Self, StoreError> {
        let frame = canonical_bytes(path, frame)?;
        Ok(Self { path: path.to_owned(), frame, opened: 0, pieces: Vec::new(), form: PhantomData })
    }

    /// Validates a part and adds its items, at least one.
    pub(crate) fn add(&mut self, part: &impl Serialize) -> Result<(), StoreError> {
        valid::<T>(&self.path, part)?;
        let mut piece = canonical_bytes(&self.path, part)?;
        // Both are equal up to the first item, where the part has an object and the frame ends the list.
        self.opened = piece.iter().zip(&self.frame).take_while(|(left, right)| left == right).count();
        piece.truncate(piece.len() - (self.frame.len() - self.opened));
        if !self.pieces.is_empty() {
            piece[self.opened - 1] = b',';
            piece.drain(..self.opened - 1);
        }
        piece.shrink_to_fit();
        self.pieces.push(piece);
        Ok(())
    }

    /// Returns the file.
    pub(crate) fn finish(self) -> Entry {
        let Self { path, frame, opened, mut pieces, .. } = self;
        pieces.push(frame[opened..].to_vec());
        let mut hasher = canonical::Hasher::default();
        pieces.iter().for_each(|piece| hasher.update(piece));
        let deterministic = hasher.clone().finish();
        hasher.update(b"\n");
        pieces.push(b"\n".to_vec());
        Entry { path, pieces, deterministic, full: hasher.finish() }
    }
}

fn canonical_bytes(path: &str, value: &impl Serialize) -> Result<Vec<u8>, StoreError> {
    canonical::to_vec(value).map_err(|error| invalid(path, String::new(), error.to_string()))
}

fn invalid(path: &str, pointer: String, reason: String) -> StoreError {
    StoreError::Invalid { path: path.to_owned(), pointer, reason }
}

/// Returns an artifact as JSON, validated against its schema.
fn valid<T: Artifact>(path: &str, artifact: &impl Serialize) -> Result<Value, StoreError> {
    let value =
        serde_json::to_value(artifact).map_err(|error| invalid(path, String::new(), error.to_string()))?;
    let schema =
        schema::find(T::SCHEMA).ok_or_else(|| invalid(path, String::new(), "no schema".to_owned()))?;
    match schema.faults(&value).into_iter().next() {
        Some(fault) => Err(invalid(path, fault.pointer, fault.message)),
        None => Ok(value),
    }
}

/// Removes volatile members.
pub(super) fn strip(value: &mut Value, volatile: &[&str]) {
    if let Value::Object(members) = value {
        members.retain(|name, _| !volatile.contains(&name.as_str()));
    }
}

/// A file that is written and may not be on the disk yet.
struct UnsyncedFile {
    path: PathBuf,
    file: File,
}

/// A published run directory.
pub(crate) struct PublishedRun {
    pub(crate) path: PathBuf,
    pub(crate) hashes: Hashes,
}

/// A run directory being written.
pub(crate) struct RunWriter<'a> {
    root: &'a ArtifactRoot,
    key: ExecutionKey,
    staging: ScratchDirectory,
    files: Vec<FileHash>,
    unsynced: Vec<UnsyncedFile>,
    /// Subdirectories.
    directories: BTreeSet<PathBuf>,
    /// The manifest, once it is written.
    manifest: Option<Hashes>,
}

impl<'a> RunWriter<'a> {
    /// Starts a run directory in staging.
    pub(crate) fn begin(root: &'a ArtifactRoot, key: &ExecutionKey) -> Result<Self, StoreError> {
        let directory = root.directory();
        let prefix = format!("{STAGING_PREFIX}{}-", key.short());
        Ok(Self {
            root,
            key: key.clone(),
            // Later steps of a job read it as another user.
            staging: faults::storage("store-create")
                .and_then(|()| ScratchDirectory::create(directory, &prefix, Readers::Everybody))
                .map_err(|error| StoreError::not_written(directory, error))?,
            files: Vec::new(),
            unsynced: Vec::new(),
            directories: BTreeSet::new(),
            manifest: None,
        })
    }

    /// Writes a file. It is synced when the directory is published, so that a discarded run does not wait for the disk.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.write_file(entry)?;
        self.files.push(FileHash {
            path: entry.path.clone(),
            bytes: entry.pieces.iter().map(|piece| piece.len() as u64).sum(),
            full: entry.full.clone(),
            deterministic: entry.deterministic.clone(),
        });
        Ok(())
    }

    /// Writes a file that follows from the run digest. The manifest does not list it.
    pub(crate) fn add_beside_digest(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.write_file(entry)
    }

    /// Returns the digest of the run.
    pub(crate) fn run_digest(&mut self) -> Sha256Hex {
        if let Some(manifest) = &self.manifest {
            return manifest.run_digest.clone();
        }
        self.files.sort_by(|left, right| left.path.cmp(&right.path));
        run_digest(&self.files)
    }

    /// Syncs every file, then writes the manifest, then syncs the directories. No file can be added afterwards.
    fn seal(&mut self) -> Result<Hashes, StoreError> {
        if let Some(manifest) = &self.manifest {
            return Ok(manifest.clone());
        }
        let manifest = Hashes {
            schema_version: Default::default(),
            execution_key: self.key.clone(),
            run_digest: self.run_digest(),
            files: std::mem::take(&mut self.files),
        };
        self.sync()?;
        self.write_file(&Entry::artifact(&manifest)?)?;
        self.sync()?;
        self.directories.iter().try_for_each(|directory| sync_directory(directory))?;
        sync_directory(self.staging.path())?;
        self.manifest = Some(manifest.clone());
        Ok(manifest)
    }

    /// Renames the directory to its key. Returns `None` if another run has that name.
    pub(crate) fn publish(&mut self) -> Result<Option<PublishedRun>, StoreError> {
        let hashes = self.seal()?;
        let path = self.root.run(&self.key);
        Ok(self.rename(&path)?.then_some(PublishedRun { path, hashes }))
    }

    /// Renames the directory to its key, or to the key with the next free attempt.
    pub(crate) fn publish_attempt(&mut self) -> Result<PublishedRun, StoreError> {
        let hashes = self.seal()?;
        let mut target = self.root.run(&self.key);
        let mut attempt = 1;
        while !self.rename(&target)? {
            attempt += 1;
            target = self.root.directory().join(format!("{}.attempt-{attempt}", self.key));
        }
        Ok(PublishedRun { path: target, hashes })
    }

    fn rename(&mut self, target: &Path) -> Result<bool, StoreError> {
        let renamed = faults::storage("store-rename").and_then(|()| self.staging.rename(target));
        let renamed = renamed.map_err(|error| StoreError::not_written(target, error))?;
        if renamed {
            sync_directory(self.root.directory())?;
        }
        Ok(renamed)
    }

    fn write_file(&mut self, entry: &Entry) -> Result<(), StoreError> {
        let full = self.staging.path().join(&entry.path);
        if let Some(directory) = full.parent().filter(|directory| *directory != self.staging.path())
            && self.directories.insert(directory.to_owned())
        {
            fs::create_dir(directory).map_err(|error| StoreError::not_written(directory, error))?;
        }
        let written = OpenOptions::new().write(true).create_new(true).open(&full).and_then(|mut file| {
            let mut pieces = entry.pieces.iter();
            pieces.try_for_each(|piece| faults::write_all(&mut file, "store-write", piece))?;
            Ok(file)
        });
        let file = written.map_err(|error| StoreError::not_written(&full, error))?;
        self.unsynced.push(UnsyncedFile { path: full, file });
        if self.unsynced.len() < MOST_UNSYNCED { Ok(()) } else { self.sync() }
    }

    /// Syncs the files written so far. Returns the first error in the order of writing.
    fn sync(&mut self) -> Result<(), StoreError> {
        let files = std::mem::take(&mut self.unsynced);
        let next = AtomicUsize::new(0);
        let mut failures = std::thread::scope(|scope| {
            let others: Vec<_> = (1..SYNC_THREADS.min(files.len()))
                .map(|_| scope.spawn(|| sync_next(&files, &next)))
                .collect();
            let mut failures = sync_next(&files, &next);
            for other in others {
                failures.append(&mut other.join().expect("a sync does not panic"));
            }
            failures
        });
        match failures.pop_first() {
            Some((position, error)) => Err(StoreError::not_written(&files[position].path, error)),
            None => Ok(()),
        }
    }
}

/// Syncs files until none is left, and returns the errors by position. Threads share `next`, the next position.
fn sync_next(files: &[UnsyncedFile], next: &AtomicUsize) -> BTreeMap<usize, std::io::Error> {
    let mut failures = BTreeMap::new();
    loop {
        let position = next.fetch_add(1, Ordering::Relaxed);
        let Some(unsynced) = files.get(position) else { return failures };
        if let Err(error) = faults::storage("store-sync").and_then(|()| unsynced.file.sync_data()) {
            failures.insert(position, error);
        }
    }
}

/// Returns the digest of a run: equal runs have equal ones.
pub(super) fn run_digest(files: &[FileHash]) -> Sha256Hex {
    let list: Vec<(&str, &Sha256Hex)> =
        files.iter().map(|file| (file.path.as_str(), &file.deterministic)).collect();
    canonical::digest(&list).expect("paths and digests have a canonical form")
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| StoreError::not_written(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_contracts::ids::RepoPath;
    use qa_contracts::limits::VALIDATED_ITEMS;
    use qa_contracts::v1::{Coverage, CoverageRow, RecordedLookups};

    #[test]
    fn an_artifact_made_of_parts_is_the_artifact() {
        for count in [0, 1, VALIDATED_ITEMS, 2 * VALIDATED_ITEMS + 1] {
            let row = |number: usize| CoverageRow {
                file: RepoPath::from_bytes(format!("a{number:04}").as_bytes()).unwrap(),
                blob: None,
                hunks: number as u64,
                cells: Vec::new(),
                gates: Vec::new(),
            };
            let rows = (0..count).map(row).collect();
            let coverage =
                Coverage { schema_version: Default::default(), full_cells: 0, incomplete_cells: 0, rows };
            let entry = Entry::artifact(&coverage).unwrap();
            let mut expected = canonical::to_vec(&coverage).unwrap();
            assert_eq!(entry.deterministic, canonical::sha256(&expected), "{count}");
            expected.push(b'\n');
            assert_eq!(entry.full, canonical::sha256(&expected), "{count}");
            assert!(entry.bytes() == expected, "{count}");
        }
    }

    /// Lookups that may be anything.
    #[derive(Serialize, serde::Deserialize)]
    struct Loose(Value);

    impl Artifact for Loose {
        const SCHEMA: &'static str = "recorded-lookups.v1";
        const FILE: &'static str = "recordings/loose.json";

        fn parts(&self) -> impl Iterator<Item = Self> {
            std::iter::once(Self(self.0.clone()))
        }
    }

    #[test]
    fn an_artifact_of_several_lists_is_validated_part_by_part_and_written_whole() {
        let mut lookups = serde_json::to_value(RecordedLookups::default()).unwrap();
        let entry = Entry::artifact(&Loose(lookups.clone())).unwrap();
        assert_eq!(entry.bytes(), [canonical::to_vec(&lookups).unwrap(), b"\n".to_vec()].concat());
        lookups["mentions"] = serde_json::json!([{ "side": "head" }]);
        let refused = Entry::artifact(&Loose(lookups)).unwrap_err();
        assert!(matches!(refused, StoreError::Invalid { .. }), "{refused}");
    }
}
