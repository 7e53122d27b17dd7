//! Writes a run directory so that it exists whole or not at all: staging, fsync, manifest last, one rename.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{ArtifactRoot, StoreError};
use crate::contracts::artifact::Artifact;
use crate::contracts::ids::{ExecutionKey, Sha256Hex};
use crate::contracts::schema;
use crate::contracts::v1::{FileHash, Hashes};
use crate::core::canonical;

/// A file ready to be written, with both digests.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) deterministic: Sha256Hex,
}

impl Entry {
    /// An artifact, validated against its schema.
    pub(crate) fn artifact<T: Artifact>(artifact: &T) -> Result<Self, StoreError> {
        Self::artifact_at(T::FILE, artifact)
    }

    /// As [`Entry::artifact`], at another path than the usual one.
    pub(crate) fn artifact_at<T: Artifact>(path: &str, artifact: &T) -> Result<Self, StoreError> {
        let invalid =
            |pointer: String, reason: String| StoreError::Invalid { path: path.to_owned(), pointer, reason };
        let mut value =
            serde_json::to_value(artifact).map_err(|error| invalid(String::new(), error.to_string()))?;
        let schema = schema::find(T::SCHEMA).ok_or_else(|| invalid(String::new(), "no schema".to_owned()))?;
        if let Some(fault) = schema.faults(&value).into_iter().next() {
            return Err(invalid(fault.pointer, fault.message));
        }
        let refused = |error: canonical::CanonicalError| invalid(String::new(), error.to_string());
        let mut bytes = canonical::to_vec(artifact).map_err(refused)?;
        let deterministic = if T::VOLATILE.is_empty() {
            canonical::sha256(&bytes)
        } else {
            strip(&mut value, T::VOLATILE);
            canonical::digest(&value).map_err(refused)?
        };
        bytes.push(b'\n');
        Ok(Self { path: path.to_owned(), bytes, deterministic })
    }

    /// A report in a format of its own.
    pub(crate) fn report(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), deterministic: canonical::sha256(&bytes), bytes }
    }
}

/// Removes volatile members.
pub(super) fn strip(value: &mut Value, volatile: &[&str]) {
    if let Value::Object(members) = value {
        members.retain(|name, _| !volatile.contains(&name.as_str()));
    }
}

/// A run directory being written.
pub(crate) struct RunWriter<'a> {
    root: &'a ArtifactRoot,
    key: ExecutionKey,
    staging: PathBuf,
    files: Vec<FileHash>,
    published: bool,
}

impl<'a> RunWriter<'a> {
    /// Starts a run directory out of sight.
    pub(crate) fn begin(root: &'a ArtifactRoot, key: &ExecutionKey) -> Result<Self, StoreError> {
        let staging = root.staging(key);
        fs::create_dir(&staging).map_err(|error| StoreError::write(&staging, error))?;
        let writer = Self { root, key: key.clone(), staging, files: Vec::new(), published: false };
        let recordings = writer.staging.join("recordings");
        fs::create_dir(&recordings).map_err(|error| StoreError::write(&recordings, error))?;
        Ok(writer)
    }

    /// Writes one file and forgets its bytes.
    pub(crate) fn add(&mut self, entry: &Entry) -> Result<(), StoreError> {
        self.write_file(&entry.path, &entry.bytes)?;
        self.files.push(FileHash {
            path: entry.path.clone(),
            bytes: entry.bytes.len() as u64,
            full: canonical::sha256(&entry.bytes),
            deterministic: entry.deterministic.clone(),
        });
        Ok(())
    }

    /// The digest the run will have.
    pub(crate) fn run_digest(&mut self) -> Sha256Hex {
        self.files.sort_by(|left, right| left.path.cmp(&right.path));
        run_digest(&self.files)
    }

    /// Writes the manifest, makes everything durable and gives the directory its name. When a directory of that name
    /// exists already, it stays and the new one is put beside it as the next attempt.
    pub(crate) fn publish(mut self) -> Result<(PathBuf, Hashes), StoreError> {
        let hashes = Hashes {
            schema_version: Default::default(),
            execution_key: self.key.clone(),
            run_digest: self.run_digest(),
            files: std::mem::take(&mut self.files),
        };
        let entry = Entry::artifact(&hashes)?;
        self.write_file(&entry.path, &entry.bytes)?;
        sync_directory(&self.staging.join("recordings"))?;
        sync_directory(&self.staging)?;
        let mut target = self.root.run(&self.key);
        let mut attempt = 1;
        while fs::symlink_metadata(&target).is_ok() {
            attempt += 1;
            target = self.root.directory().join(format!("{}.attempt-{attempt}", self.key));
        }
        fs::rename(&self.staging, &target).map_err(|error| StoreError::write(&target, error))?;
        self.published = true;
        sync_directory(self.root.directory())?;
        Ok((target, hashes))
    }

    fn write_file(&self, path: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let full = self.staging.join(path);
        let written = OpenOptions::new().write(true).create_new(true).open(&full).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_data()
        });
        written.map_err(|error| StoreError::write(&full, error))
    }
}

impl Drop for RunWriter<'_> {
    fn drop(&mut self) {
        if !self.published {
            let _swept_by_the_next_run = fs::remove_dir_all(&self.staging);
        }
    }
}

/// One value for the whole run: equal runs have equal ones.
pub(super) fn run_digest(files: &[FileHash]) -> Sha256Hex {
    let list: Vec<(&str, &Sha256Hex)> =
        files.iter().map(|file| (file.path.as_str(), &file.deterministic)).collect();
    canonical::digest(&list).expect("paths and digests have a canonical form")
}

fn sync_directory(path: &Path) -> Result<(), StoreError> {
    File::open(path)
        .and_then(|directory| directory.sync_all())
        .map_err(|error| StoreError::write(path, error))
}
