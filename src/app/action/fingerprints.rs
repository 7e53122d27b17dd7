//! Fingerprints for code scanning, equal to those that GitHub's own upload action computes.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_core::line_hash::line_hashes;
use qa_formats::contract::Report;
use qa_formats::sarif;
use qa_run::ports::{BlobRead, Objects};

/// A file with more bytes has no findings, unless the policy says otherwise.
const MAX_BYTES: u64 = 64 << 20;

/// Returns the hash of each line that has a result, by path and line. Files that cannot be read have none.
pub(super) fn head_fingerprints(
    report: &Report<'_>,
    objects: &dyn Objects,
) -> BTreeMap<(RepoPath, u64), String> {
    let mut lines_by_path: BTreeMap<RepoPath, BTreeSet<u64>> = BTreeMap::new();
    for (path, line) in sarif::places(report) {
        lines_by_path.entry(path).or_default().insert(line);
    }
    let Ok(reader) = objects.reader() else { return BTreeMap::new() };
    let mut fingerprints = BTreeMap::new();
    for file in &report.change_set.files {
        let (Some(lines), Some(blob)) = (lines_by_path.get(&file.path), &file.new_blob) else { continue };
        let Ok(BlobRead::Content(bytes)) = reader.blob(blob, MAX_BYTES) else { continue };
        let hashes = line_hashes(&String::from_utf8_lossy(&bytes), lines);
        fingerprints.extend(hashes.into_iter().map(|(line, hash)| ((file.path.clone(), line), hash)));
    }
    fingerprints
}
