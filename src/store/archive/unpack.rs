//! Unpacks an archive into a new directory, within limits, completely or not at all.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use tempfile::TempDir;
use zip::{CompressionMethod, ZipArchive};

use super::ArchiveError;
use crate::store::display_path;
use qa_contracts::limits::MAX_JSON_BYTES;
use qa_core::masking::sanitize_cut;

/// Limits of an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caps {
    pub(crate) archive_bytes: u64,
    pub(crate) entries: u64,
    pub(crate) file_bytes: u64,
    pub(crate) total_bytes: u64,
    /// Limit of the contents as a multiple of the archive's size, once they are over `free_bytes`: a run over a file of
    /// one repeated line is small, legitimate and compresses without end.
    pub(crate) ratio: u64,
    pub(crate) free_bytes: u64,
}

impl Caps {
    /// Limits above the largest run directories that the program writes.
    pub(crate) const DEFAULT: Self = Self {
        archive_bytes: 512 << 20,
        entries: 20_000,
        file_bytes: MAX_JSON_BYTES as u64,
        total_bytes: 2 << 30,
        ratio: 200,
        free_bytes: 64 << 20,
    };
}

/// Size of the end record: signature, disks, counts, size, offset, length of the comment.
const END_BYTES: u64 = 22;
const DEEPEST: usize = 8;
const LONGEST_NAME: usize = 300;
/// Size limit of a central record: its fixed part, and names and extra fields within four times the allowed name. The
/// directory is in memory as a whole.
const RECORD_BYTES: u64 = 46 + 4 * LONGEST_NAME as u64;
const BLOCK_BYTES: usize = 256 << 10;

fn refused(entry: &str, reason: impl Into<String>) -> ArchiveError {
    let entry = if entry.is_empty() { String::new() } else { format!("{}: ", sanitize_cut(entry, 120)) };
    ArchiveError::Refused { entry, reason: reason.into() }
}

/// Returns whether a name is a valid path component on every system, and means only itself.
pub(super) fn is_plain(word: &str) -> bool {
    !word.is_empty()
        && word != "."
        && word != ".."
        && word.len() <= 200
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+=@,".contains(&byte))
}

/// Extracts an archive into a new directory below `scratch`. After an error nothing of it is left.
pub(crate) fn unpack(archive: &Path, caps: Caps, scratch: &Path) -> Result<TempDir, ArchiveError> {
    let metadata = fs::symlink_metadata(archive).map_err(|error| not_read(archive, error))?;
    if !metadata.is_file() {
        return Err(refused("", "it is not a regular file"));
    }
    let mut file = File::open(archive).map_err(|error| not_read(archive, error))?;
    let entries = count_entries(&mut file, metadata.len(), caps)?;
    let mut zip = ZipArchive::new(file).map_err(broken(""))?;
    if zip.len() as u64 != entries || zip.has_duplicate_names() {
        return Err(refused("", "it has two entries of the same name"));
    }
    let directory = tempfile::Builder::new().prefix("qa-skill-").tempdir_in(scratch);
    let directory =
        directory.map_err(|error| ArchiveError::Write { path: display_path(scratch), source: error })?;
    let mut extraction =
        Extraction { caps, archive_bytes: metadata.len(), total: 0, entries: BTreeMap::new() };
    for index in 0..zip.len() {
        extraction.extract(&mut zip, index, directory.path())?;
    }
    Ok(directory)
}

fn not_read(archive: &Path, error: std::io::Error) -> ArchiveError {
    ArchiveError::Read { path: display_path(archive), source: error }
}

fn broken(entry: &str) -> impl Fn(zip::result::ZipError) -> ArchiveError + '_ {
    move |error| refused(entry, sanitize_cut(&error.to_string(), 200))
}

/// The end record of an archive.
struct EndRecord([u8; END_BYTES as usize]);

impl EndRecord {
    fn two_bytes(&self, offset: usize) -> u64 {
        u64::from(u16::from_le_bytes([self.0[offset], self.0[offset + 1]]))
    }

    fn four_bytes(&self, offset: usize) -> u64 {
        self.two_bytes(offset) | self.two_bytes(offset + 2) << 16
    }
}

/// Returns the number of entries by the end record, before memory is allocated for them. The end record must be the
/// last bytes and the directory directly before it, so that every reader sees the same archive.
fn count_entries(file: &mut File, length: u64, caps: Caps) -> Result<u64, ArchiveError> {
    if length > caps.archive_bytes {
        return Err(refused("", format!("it is larger than {} bytes", caps.archive_bytes)));
    }
    let Some(start) = length.checked_sub(END_BYTES) else {
        return Err(refused("", "it is too short to be an archive"));
    };
    let mut end = EndRecord([0; END_BYTES as usize]);
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.read_exact(&mut end.0))
        .map_err(|error| refused("", error.to_string()))?;
    if &end.0[..4] != b"PK\x05\x06" || end.two_bytes(20) != 0 {
        return Err(refused(
            "",
            "it does not end with a plain end record; it was cut, or data follows the archive",
        ));
    }
    let (entries, size, offset) = (end.two_bytes(10), end.four_bytes(12), end.four_bytes(16));
    let is_one_disk = end.two_bytes(4) == 0 && end.two_bytes(6) == 0 && end.two_bytes(8) == entries;
    if !is_one_disk || offset + size != start {
        return Err(refused("", "its central directory is not directly before its end record"));
    }
    if entries > caps.entries || size > caps.entries.saturating_mul(RECORD_BYTES) {
        return Err(refused("", format!("it has more than {} entries", caps.entries)));
    }
    Ok(entries)
}

fn not_written(name: &str, error: std::io::Error) -> ArchiveError {
    ArchiveError::Write { path: name.to_owned(), source: error }
}

/// State of an extraction.
struct Extraction {
    caps: Caps,
    archive_bytes: u64,
    /// Bytes that were extracted.
    total: u64,
    /// Every file and directory by its name in lower case, since some file systems ignore case.
    entries: BTreeMap<String, ExtractedEntry>,
}

struct ExtractedEntry {
    name: String,
    is_directory: bool,
}

impl Extraction {
    fn extract(
        &mut self,
        zip: &mut ZipArchive<File>,
        index: usize,
        directory: &Path,
    ) -> Result<(), ArchiveError> {
        // The raw entry first, since it can be read of invalid entries as well.
        let raw = zip.by_index_raw(index).map_err(broken(""))?;
        let name = String::from_utf8_lossy(raw.name_raw()).into_owned();
        let is_directory = name.ends_with('/');
        let path = name.strip_suffix('/').unwrap_or(&name).to_owned();
        if path.len() > LONGEST_NAME || path.split('/').count() > DEEPEST {
            return Err(refused(&name, "the name is too long or too deep"));
        }
        if !path.split('/').all(is_plain) {
            return Err(refused(&name, "a run has no file of this name"));
        }
        if raw.encrypted() {
            return Err(refused(&name, "it is encrypted"));
        }
        let allowed_kind = if is_directory { 0o040_000 } else { 0o100_000 };
        let kind = raw.unix_mode().unwrap_or_default() & 0o170_000;
        if ![0, allowed_kind].contains(&kind) {
            return Err(refused(&name, "it is neither a file nor a directory"));
        }
        if ![CompressionMethod::Stored, CompressionMethod::Deflated].contains(&raw.compression()) {
            return Err(refused(&name, "its compression method is not supported"));
        }
        let declared = raw.size();
        drop(raw);
        if !self.register(&path, is_directory) {
            return Err(refused(&name, "it collides with another name, or differs from one only by case"));
        }
        let target = directory.join(&path);
        if is_directory {
            return fs::create_dir_all(&target).map_err(|error| not_written(&name, error));
        }
        self.check_size(&name, declared, self.total.saturating_add(declared))?;
        let parent = target.parent().unwrap_or(directory);
        let made = fs::create_dir_all(parent)
            .and_then(|()| OpenOptions::new().write(true).create_new(true).open(&target));
        let mut out = made.map_err(|error| not_written(&name, error))?;
        let mut entry = zip.by_index(index).map_err(broken(&name))?;
        let mut block = vec![0; BLOCK_BYTES];
        let mut extracted = 0;
        loop {
            let count = entry.read(&mut block).map_err(|error| refused(&name, error.to_string()))?;
            if count == 0 {
                break;
            }
            extracted += count as u64;
            self.total += count as u64;
            self.check_size(&name, extracted, self.total)?;
            out.write_all(&block[..count]).map_err(|error| not_written(&name, error))?;
        }
        if extracted == declared {
            Ok(())
        } else {
            Err(refused(&name, "its size differs from the declared one"))
        }
    }

    /// Registers a path and the directories above it. Returns whether none of them collides with another entry.
    fn register(&mut self, path: &str, is_directory: bool) -> bool {
        let above = path.match_indices('/').map(|(at, _)| (&path[..at], true));
        above.chain([(path, is_directory)]).all(|(part, is_directory)| {
            let entry = ExtractedEntry { name: part.to_owned(), is_directory };
            match self.entries.insert(part.to_ascii_lowercase(), entry) {
                Some(earlier) => earlier.name == part && earlier.is_directory && is_directory,
                None => true,
            }
        })
    }

    fn check_size(&self, name: &str, file: u64, total: u64) -> Result<(), ArchiveError> {
        let caps = self.caps;
        if file > caps.file_bytes {
            return Err(refused(name, format!("it is larger than {} bytes", caps.file_bytes)));
        }
        if total > caps.total_bytes {
            return Err(refused(name, format!("the contents are more than {} bytes", caps.total_bytes)));
        }
        if total > caps.free_bytes && total / caps.ratio > self.archive_bytes {
            return Err(refused(name, format!("the contents are over {} times the archive", caps.ratio)));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "unpack_tests.rs"]
mod tests;
