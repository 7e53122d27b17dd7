//! Texts of head for what is published beside the check run, and fingerprints for code scanning, equal to those that
//! GitHub's own upload action computes.

use std::collections::{BTreeMap, BTreeSet};

use qa_contracts::ids::RepoPath;
use qa_contracts::v1::ChangedFile;
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
    let mut fingerprints = BTreeMap::new();
    for file in &report.change_set.files {
        let Some(lines) = lines_by_path.get(&file.path) else { continue };
        let Some(bytes) = head_text(file, objects) else { continue };
        let hashes = line_hashes(&String::from_utf8_lossy(&bytes), lines);
        fingerprints.extend(hashes.into_iter().map(|(line, hash)| ((file.path.clone(), line), hash)));
    }
    fingerprints
}

/// Returns the bytes of a changed file at head; `None` where they cannot be read.
pub(super) fn head_text(file: &ChangedFile, objects: &dyn Objects) -> Option<Vec<u8>> {
    match objects.reader().ok()?.blob(file.new_blob.as_ref()?, MAX_BYTES) {
        Ok(BlobRead::Content(bytes)) => Some(bytes),
        Ok(BlobRead::TooLarge { .. }) | Err(_) => None,
    }
}
