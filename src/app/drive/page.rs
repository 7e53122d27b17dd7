//! The page of a drive, from its session and the files beside it.

use std::collections::BTreeMap;

use super::diff_name;
use crate::app::exit::Failure;
use crate::store::DriveDirectory;
use qa_contracts::v1::DriveSession;
use qa_core::diff::lossy;
use qa_formats::html::drive::{DrivePage, page};

/// Name of the page.
pub(super) const PAGE: &str = "drive.html";
/// Bytes of a turn's diff that are kept for readers.
const KEPT_BYTES: usize = 256 << 10;

/// Renders the page of a drive.
pub(super) fn render(directory: &DriveDirectory, session: &DriveSession) -> Result<String, Failure> {
    let mut patches = BTreeMap::new();
    for turn in &session.turns {
        if let Some(patch) = directory.read(&diff_name(turn.number))? {
            patches.insert(turn.number, lossy(&patch).into_owned());
        }
    }
    let result = directory.read("result.patch")?.unwrap_or_default();
    Ok(page(&DrivePage { session, patches: &patches, result: &lossy(&result) }))
}

/// Cuts a patch for readers behind a line.
pub(super) fn readable_diff(mut patch: Vec<u8>) -> Vec<u8> {
    if patch.len() > KEPT_BYTES {
        let end = patch[..KEPT_BYTES].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        patch.truncate(end);
        patch.extend_from_slice(b"the rest is left out\n");
    }
    patch
}
