//! Reads a run directory: only files that the manifest lists, with every byte hashed and every artifact validated.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::StoreError;
use super::write::{run_digest, strip};
use qa_contracts::artifact::Artifact;
use qa_contracts::ids::Sha256Hex;
use qa_contracts::limits::MAX_JSON_BYTES;
use qa_contracts::v1::{
    Hashes, Metrics, QaReport, RecordedExecution, RecordedGates, RecordedInputs, RecordedLookups,
    RecordedReplies, SkillInput, Statement, Trace,
};
use qa_contracts::{schema, strict_json};
use qa_core::canonical;

/// Limit of files in a run directory.
const MAX_FILES: usize = 10_000;
/// Size of the buffer in which files are hashed.
const BLOCK_BYTES: usize = 256 << 10;

/// Reason to refuse a file that is not the one that the run wrote.
const CHANGED: &str = "it was changed after it was written: its digest is not the manifest's";
/// Reason to refuse a manifest that does not agree with itself or with the files.
const MANIFEST_CHANGED: &str =
    "the manifest was changed after it was written: its digests are not those of the files";

/// A run directory whose files match its manifest.
pub(crate) struct RunDirectory {
    path: PathBuf,
    pub(crate) hashes: Hashes,
}

fn invalid(path: &str, pointer: &str, reason: impl Into<String>) -> StoreError {
    StoreError::Invalid { path: path.to_owned(), pointer: pointer.to_owned(), reason: reason.into() }
}

/// Calls `each` with the blocks of a file and returns its size. Fails if it exceeds the limit.
fn for_each_block(path: &Path, mut each: impl FnMut(&[u8])) -> Result<u64, StoreError> {
    let metadata = fs::symlink_metadata(path).map_err(|error| StoreError::not_read(path, error))?;
    if !metadata.is_file() {
        return Err(invalid(&super::display_path(path), "", "it is not a regular file"));
    }
    let mut file = fs::File::open(path).map_err(|error| StoreError::not_read(path, error))?;
    let mut block = vec![0; BLOCK_BYTES.min(usize::try_from(metadata.len()).unwrap_or(BLOCK_BYTES) + 1)];
    let mut bytes = 0;
    loop {
        let count = match file.read(&mut block) {
            Ok(0) => return Ok(bytes),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(StoreError::not_read(path, error)),
        };
        bytes += count as u64;
        if bytes > MAX_JSON_BYTES as u64 {
            return Err(invalid(
                &super::display_path(path),
                "",
                format!("it is larger than {MAX_JSON_BYTES} bytes"),
            ));
        }
        each(&block[..count]);
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::new();
    for_each_block(path, |block| bytes.extend_from_slice(block))?;
    Ok(bytes)
}

/// Size and digests of a file.
struct Measured {
    bytes: u64,
    /// The digest of the whole file.
    full: Sha256Hex,
    /// The digest without a final line feed.
    trimmed: Sha256Hex,
}

fn measure(path: &Path) -> Result<Measured, StoreError> {
    let mut hasher = canonical::Hasher::default();
    // The last byte is hashed last, since a line feed there is not part of the trimmed digest.
    let mut last = None;
    let bytes = for_each_block(path, |block| {
        if let Some((next, rest)) = block.split_last() {
            hasher.update(last.as_slice());
            hasher.update(rest);
            last = Some(*next);
        }
    })?;
    let before_last = hasher.clone().finish();
    hasher.update(last.as_slice());
    let full = hasher.finish();
    let trimmed = if last == Some(b'\n') { before_last } else { full.clone() };
    Ok(Measured { bytes, full, trimmed })
}

/// Parses and validates an artifact's bytes; they must be exactly the canonical form this project writes.
pub(crate) fn read_artifact<T: Artifact>(path: &str, bytes: &[u8]) -> Result<(T, Value), StoreError> {
    let value = strict_json::parse(bytes).map_err(|error| invalid(path, "", error.to_string()))?;
    let schema = schema::find(T::SCHEMA).ok_or_else(|| invalid(path, "", "no schema"))?;
    if let Some(fault) = schema.faults(&value).into_iter().next() {
        return Err(invalid(path, &fault.pointer, fault.message));
    }
    let artifact = T::deserialize(&value).map_err(|error| invalid(path, "", error.to_string()))?;
    let canonical = canonical::to_vec(&value).map_err(|error| invalid(path, "", error.to_string()))?;
    if bytes.strip_suffix(b"\n") != Some(&canonical) {
        return Err(invalid(path, "", "it is not in canonical form"));
    }
    Ok((artifact, value))
}

/// Returns the deterministic digest of a file. It is computed, since a manifest could claim any, and it decides whether two
/// runs are equal.
fn deterministic_digest(directory: &Path, name: &str, measured: &Measured) -> Result<Sha256Hex, StoreError> {
    fn stripped<T: Artifact>(directory: &Path, name: &str) -> Result<Sha256Hex, StoreError> {
        let (_, mut value) = read_artifact::<T>(name, &read_file(&directory.join(name))?)?;
        strip(&mut value, T::VOLATILE);
        canonical::digest(&value).map_err(|error| invalid(name, "", error.to_string()))
    }
    match name {
        SkillInput::FILE => stripped::<SkillInput>(directory, name),
        Metrics::FILE => stripped::<Metrics>(directory, name),
        Trace::FILE => stripped::<Trace>(directory, name),
        QaReport::FILE => stripped::<QaReport>(directory, name),
        // Artifacts without volatile members are their canonical form and a line feed.
        _ if name.ends_with(".json") => Ok(measured.trimmed.clone()),
        _ => Ok(measured.full.clone()),
    }
}

/// Returns the execution key in the name of a run directory, `KEY` or `KEY.attempt-N`; `None` for any other name.
fn key_in_name(name: &str) -> Option<&str> {
    let key = match name.split_once(".attempt-") {
        Some((key, number)) => number.parse::<u64>().is_ok().then_some(key)?,
        None => name,
    };
    Sha256Hex::parse(key).is_ok().then_some(key)
}

/// Returns the trace of a directory whose files match their manifest, without validation. It only distinguishes a run of
/// another version from a damaged one.
pub(crate) fn intact_trace(path: &Path) -> Option<Value> {
    let manifest = parse_file(&path.join(Hashes::FILE))?;
    let files = manifest.get("files")?.as_array().filter(|files| files.len() <= MAX_FILES)?;
    let mut has_trace = false;
    for file in files {
        let name = file.get("path")?.as_str()?;
        if !name.split('/').all(|word| !word.is_empty() && word != "." && word != "..") {
            return None;
        }
        let measured = measure(&path.join(name)).ok()?;
        if file.get("full")?.as_str()? != measured.full.as_str() {
            return None;
        }
        has_trace |= name == Trace::FILE;
    }
    if has_trace { parse_file(&path.join(Trace::FILE)) } else { None }
}

fn parse_file(path: &Path) -> Option<Value> {
    strict_json::parse(&read_file(path).ok()?).ok()
}

impl RunDirectory {
    /// Opens a directory and verifies every file. A file that the manifest does not list is an error.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        let (hashes, _) = read_artifact::<Hashes>(Hashes::FILE, &read_file(&path.join(Hashes::FILE))?)?;
        let run = Self { path: path.to_owned(), hashes };
        let listed: BTreeSet<&str> = run.hashes.files.iter().map(|file| file.path.as_str()).collect();
        if listed.len() != run.hashes.files.len() || listed.len() > MAX_FILES {
            return Err(invalid(Hashes::FILE, "/files", "a path is listed twice, or there are too many"));
        }
        run.check_name()?;
        let mut present = run.list()?;
        if !listed.contains(Statement::FILE) && present.remove(Statement::FILE) {
            // It contains the run digest, so no manifest lists it. Whoever derives the run again compares it.
            run.bytes(Statement::FILE)?;
        }
        if let Some(name) = present.iter().find(|name| !listed.contains(name.as_str())) {
            return Err(invalid(
                name,
                "",
                "it was added after the run was written, and the manifest does not list it",
            ));
        }
        for (index, file) in run.hashes.files.iter().enumerate() {
            if !present.contains(&file.path) {
                return Err(StoreError::Missing { path: file.path.clone() });
            }
            let measured = measure(&run.path.join(&file.path))?;
            if measured.bytes != file.bytes || measured.full != file.full {
                return Err(invalid(&file.path, &format!("/files/{index}/full"), CHANGED));
            }
            if deterministic_digest(&run.path, &file.path, &measured)? != file.deterministic {
                let pointer = format!("/files/{index}/deterministic");
                return Err(invalid(&file.path, &pointer, MANIFEST_CHANGED));
            }
        }
        if run.hashes.run_digest != run_digest(&run.hashes.files) {
            return Err(invalid(Hashes::FILE, "/runDigest", MANIFEST_CHANGED));
        }
        if run.hashes.execution_key != run.artifact::<Trace>()?.execution_key {
            let reason = format!("{MANIFEST_CHANGED}: the trace has another execution key");
            return Err(invalid(Hashes::FILE, "/executionKey", reason));
        }
        Ok(run)
    }

    /// Returns whether the name of the directory is its execution key.
    pub(crate) fn is_named_by_its_key(&self) -> bool {
        key_in_name(self.name()) == Some(self.hashes.execution_key.as_str())
    }

    /// Returns the name of the directory, empty if it is not Unicode.
    fn name(&self) -> &str {
        self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
    }

    /// Fails if the directory has the name of another run.
    fn check_name(&self) -> Result<(), StoreError> {
        let name = self.name();
        if key_in_name(name).is_none() || self.is_named_by_its_key() {
            return Ok(());
        }
        Err(invalid(name, "", "the directory is named by another execution key"))
    }

    /// Lists the files of the directory and of its subdirectories, one level deep. An empty subdirectory is an error.
    fn list(&self) -> Result<BTreeSet<String>, StoreError> {
        let mut names = BTreeSet::new();
        let mut pending = vec![(self.path.clone(), String::new())];
        while let Some((directory, prefix)) = pending.pop() {
            let before = names.len();
            for entry in fs::read_dir(&directory).map_err(|error| StoreError::not_read(&directory, error))? {
                let entry = entry.map_err(|error| StoreError::not_read(&directory, error))?;
                let kind = entry.file_type().map_err(|error| StoreError::not_read(&directory, error))?;
                let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
                if kind.is_dir() && prefix.is_empty() {
                    pending.push((entry.path(), format!("{name}/")));
                } else if name != Hashes::FILE {
                    names.insert(name);
                }
                if names.len() > MAX_FILES {
                    return Err(invalid(Hashes::FILE, "", format!("there are more than {MAX_FILES} files")));
                }
            }
            if !prefix.is_empty() && names.len() == before {
                return Err(invalid(&prefix, "", "the manifest does not list this empty directory"));
            }
        }
        Ok(names)
    }

    /// Reads a file that the manifest lists.
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>, StoreError> {
        read_file(&self.path.join(name))
    }

    /// Returns whether the run has a statement.
    pub(crate) fn has_statement(&self) -> bool {
        matches!(self.statement(), Ok(Some(_)))
    }

    /// Reads the bytes of the statement. It follows from the run, and a run of an earlier version has none.
    pub(crate) fn statement(&self) -> Result<Option<Vec<u8>>, StoreError> {
        match fs::symlink_metadata(self.path.join(Statement::FILE)) {
            Ok(_) => self.bytes(Statement::FILE).map(Some),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(StoreError::not_read(&self.path.join(Statement::FILE), error)),
        }
    }

    /// Reads an artifact at its usual path.
    pub(crate) fn artifact<T: Artifact>(&self) -> Result<T, StoreError> {
        self.artifact_at(T::FILE)
    }

    /// Reads an artifact at its usual path, or returns the default if the run does not have it.
    pub(crate) fn artifact_or_default<T: Artifact + Default>(&self) -> Result<T, StoreError> {
        if self.has(T::FILE) { self.artifact() } else { Ok(T::default()) }
    }

    /// Reads an artifact and compares its deterministic digest with the manifest's.
    pub(crate) fn artifact_at<T: Artifact>(&self, name: &str) -> Result<T, StoreError> {
        let bytes = self.bytes(name)?;
        let (artifact, mut value) = read_artifact::<T>(name, &bytes)?;
        let digest = if T::VOLATILE.is_empty() {
            // `read_artifact` checks that the bytes are the canonical form.
            canonical::sha256(bytes.strip_suffix(b"\n").unwrap_or(&bytes))
        } else {
            strip(&mut value, T::VOLATILE);
            canonical::digest(&value).map_err(|error| invalid(name, "", error.to_string()))?
        };
        let listed = self.hashes.files.iter().find(|file| file.path == name);
        if listed.map(|file| &file.deterministic) != Some(&digest) {
            return Err(invalid(name, "", CHANGED));
        }
        Ok(artifact)
    }

    /// Returns the paths of recorded texts, in order.
    pub(crate) fn recordings(&self) -> Vec<String> {
        self.hashes
            .files
            .iter()
            .map(|file| file.path.clone())
            .filter(|path| {
                let others = [
                    RecordedInputs::FILE,
                    RecordedGates::FILE,
                    RecordedExecution::FILE,
                    RecordedLookups::FILE,
                    RecordedReplies::FILE,
                ];
                path.starts_with("recordings/") && !others.contains(&path.as_str())
            })
            .collect()
    }

    /// Returns whether the run has a file.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.hashes.files.iter().any(|file| file.path == path)
    }
}
