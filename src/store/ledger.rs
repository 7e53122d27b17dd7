//! Reads the ledger of a pull request from a file. [`super::write_beside`] writes one beside a run.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::{StoreError, display_path};
use qa_contracts::limits::MAX_LEDGER_BYTES;
use qa_contracts::v1::ObserverLedger;
use qa_core::ledger;

/// Reads a ledger: a regular file within the limit, valid, and with a chain that holds.
pub(crate) fn read_ledger(path: &Path) -> Result<ObserverLedger, StoreError> {
    let bytes = bounded_bytes(path).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            StoreError::NoLedger { path: display_path(path) }
        } else {
            StoreError::LedgerNotRead { path: display_path(path), source }
        }
    })?;
    ledger::read(&bytes).map_err(|reason| StoreError::Ledger { path: display_path(path), reason })
}

/// Reads a regular file, and of one over the limit only enough to see that it is.
fn bounded_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MAX_LEDGER_BYTES as u64 + 2).read_to_end(&mut bytes)?;
    Ok(bytes)
}
