//! Reports of earlier steps in the workspace, read without following links.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::paths::list_files;
use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_run::gates::{FoundFile, Reports};

/// Directory that reports are read from.
pub(crate) struct Workspace {
    root: PathBuf,
}

/// An open report.
struct OpenReport {
    file: File,
    metadata: Metadata,
}

impl Workspace {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Opens a regular file; returns `None` if it does not exist. Fails on a link in any part of the path, which could lead to
    /// a committed file or out of the workspace. A pipe is never opened, since that blocks.
    fn open(&self, path: &str) -> Result<Option<OpenReport>, String> {
        let mut full = self.root.clone();
        let mut last = None;
        for part in path.split('/') {
            full.push(part);
            match std::fs::symlink_metadata(&full) {
                Ok(metadata) if metadata.is_symlink() => {
                    return Err(format!("{path} is reached through a link"));
                }
                Ok(metadata) => last = Some(metadata),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => return Err(format!("{path} cannot be inspected: {error}")),
            }
        }
        let Some(before) = last.filter(Metadata::is_file) else {
            return Err(format!("{path} is not a regular file"));
        };
        let file = File::open(&full).map_err(|error| format!("{path} cannot be opened: {error}"))?;
        let opened = file.metadata().map_err(|error| format!("{path} cannot be inspected: {error}"))?;
        if !is_same(&before, &opened) {
            return Err(format!("{path} was replaced while it was read"));
        }
        Ok(Some(OpenReport { file, metadata: opened }))
    }
}

#[cfg(unix)]
fn is_same(before: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (before.dev(), before.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, opened: &Metadata) -> bool {
    opened.is_file()
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

impl Reports for Workspace {
    fn list_files(&self, directory: &str) -> Result<Vec<String>, String> {
        list_files(&self.root, directory).map_err(|error| {
            let place = if directory.is_empty() { "the root" } else { directory };
            format!("the files of {place} cannot be listed: {error}")
        })
    }

    fn read_report(&self, path: &str) -> FoundFile {
        let OpenReport { file, metadata } = match self.open(path) {
            Ok(Some(report)) => report,
            Ok(None) => return FoundFile::Missing,
            Err(problem) => return FoundFile::Refused(problem),
        };
        let mut bytes = Vec::new();
        match file.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes) {
            Err(error) => FoundFile::Refused(format!("{path} cannot be read: {error}")),
            Ok(size) if size > MAX_REPORT_BYTES => {
                FoundFile::Refused(format!("{path} has more than {MAX_REPORT_BYTES} bytes"))
            }
            Ok(_) => match metadata.modified() {
                Err(error) => {
                    FoundFile::Refused(format!("the modification time of {path} is unknown: {error}"))
                }
                Ok(time) => FoundFile::Content { bytes, modified: seconds(time) },
            },
        }
    }
}

/// Seconds since 1970.
fn seconds(time: std::time::SystemTime) -> i64 {
    match time.duration_since(std::time::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_secs()).unwrap_or(i64::MAX),
        Err(_) => 0,
    }
}
