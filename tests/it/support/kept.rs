//! Keeps the documents that tests leave, where somebody asks for them: see `tests/it/members.rs`.

use std::path::{Path, PathBuf};

use super::sha256;

/// The variable that names the directory for them.
pub(crate) const KEEP: &str = "QA_SKILL_TEST_DOCUMENTS";

fn directory() -> Option<PathBuf> {
    std::env::var_os(KEEP).map(PathBuf::from)
}

/// Members by one of which a document shows what it is.
const MARKS: [&str; 3] = ["\"schemaVersion\"", "\"current_state\"", "\"predicateType\""];

/// Keeps a document if it shows what it is.
pub(crate) fn keep_document(bytes: &[u8]) {
    let Some(directory) = directory() else { return };
    let has = |mark: &str| bytes.windows(mark.len()).any(|window| window == mark.as_bytes());
    if bytes.starts_with(b"{") && MARKS.into_iter().any(has) {
        std::fs::write(directory.join(sha256(bytes)), bytes).unwrap();
    }
}

/// Keeps all documents below a directory.
pub(crate) fn keep_documents(below: &Path) {
    if directory().is_none() {
        return;
    }
    let mut pending = vec![below.to_owned()];
    while let Some(path) = pending.pop() {
        // A test may have taken the right to look.
        let Ok(entries) = std::fs::read_dir(&path) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_symlink() || path.ends_with(".git") {
                continue;
            }
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|ending| ending == "json") {
                std::fs::read(&path).iter().for_each(|bytes| keep_document(bytes));
            }
        }
    }
}
