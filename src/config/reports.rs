//! Reports that earlier steps left in the workspace, read without following links.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::{Path, PathBuf};

use qa_contracts::limits::MAX_REPORT_BYTES;
use qa_run::gates::{ReportFile, Reports};

/// A directory that reports are read from.
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Each part is asked for by itself: a link anywhere on the way could lead out of the workspace, or to a file that
    /// is committed. A pipe is never opened, since it would wait for a writer.
    fn open(&self, path: &str) -> Result<Option<(File, Metadata)>, String> {
        let mut full = self.root.clone();
        let mut last = None;
        for part in path.split('/') {
            full.push(part);
            match std::fs::symlink_metadata(&full) {
                Ok(found) if found.is_symlink() => return Err(format!("{path} is reached through a link")),
                Ok(found) => last = Some(found),
                Err(error) if is_absent(&error) => return Ok(None),
                Err(error) => return Err(format!("{path} cannot be looked at: {error}")),
            }
        }
        let Some(seen) = last.filter(Metadata::is_file) else {
            return Err(format!("{path} is not a regular file"));
        };
        let file = File::open(&full).map_err(|error| format!("{path} cannot be opened: {error}"))?;
        let opened = file.metadata().map_err(|error| format!("{path} cannot be looked at: {error}"))?;
        if !is_same(&seen, &opened) {
            return Err(format!("{path} was replaced while it was read"));
        }
        Ok(Some((file, opened)))
    }
}

#[cfg(unix)]
fn is_same(seen: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (seen.dev(), seen.ino()) == (opened.dev(), opened.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, opened: &Metadata) -> bool {
    opened.is_file()
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

impl Reports for Workspace {
    fn read_report(&self, path: &str) -> ReportFile {
        let (file, metadata) = match self.open(path) {
            Ok(Some(opened)) => opened,
            Ok(None) => return ReportFile::Missing,
            Err(problem) => return ReportFile::Refused(problem),
        };
        let mut bytes = Vec::new();
        match file.take(MAX_REPORT_BYTES as u64 + 1).read_to_end(&mut bytes) {
            Err(error) => ReportFile::Refused(format!("{path} cannot be read: {error}")),
            Ok(size) if size > MAX_REPORT_BYTES => {
                ReportFile::Refused(format!("{path} has more than {MAX_REPORT_BYTES} bytes"))
            }
            Ok(_) => match metadata.modified() {
                Err(error) => {
                    ReportFile::Refused(format!("the modification time of {path} is unknown: {error}"))
                }
                Ok(time) => ReportFile::Content { bytes, modified: seconds(time) },
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
