//! Fingerprints for code scanning: what GitHub's own upload action would make of the lines that findings are on.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_core::line_hash::line_hashes;
use qa_formats::contract::Report;
use qa_formats::sarif;
use qa_run::ports::{BlobRead, Objects};

/// A file with more bytes has no findings, unless the policy says otherwise.
const MAX_BYTES: u64 = 64 << 20;

/// The hashes of every line a result is at, by path and line. A file that cannot be read has none.
pub(super) fn of_head(report: &Report<'_>, objects: &dyn Objects) -> BTreeMap<(RepoPath, u64), String> {
    let mut wanted: BTreeMap<RepoPath, BTreeSet<u64>> = BTreeMap::new();
    for (path, line) in sarif::places(report) {
        wanted.entry(path).or_default().insert(line);
    }
    let Ok(reader) = objects.reader() else { return BTreeMap::new() };
    let mut found = BTreeMap::new();
    for file in &report.change_set.files {
        let (Some(lines), Some(blob)) = (wanted.get(&file.path), &file.new_blob) else { continue };
        let Ok(BlobRead::Content(bytes)) = reader.blob(blob, MAX_BYTES) else { continue };
        let hashes = line_hashes(&String::from_utf8_lossy(&bytes), lines);
        found.extend(hashes.into_iter().map(|(line, hash)| ((file.path.clone(), line), hash)));
    }
    found
}
