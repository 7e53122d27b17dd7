//! Reads files that a run is held against: the ledger of a pull request and attestations. [`super::write_beside`] writes a
//! ledger beside a run.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use super::{StoreError, display_path};
use qa_contracts::limits::{MAX_ATTESTATION_BYTES, MAX_LEDGER_BYTES};
use qa_contracts::v1::ObserverLedger;
use qa_core::{attestation, ledger};

/// Reads a ledger: a regular file within the limit, valid, and with a chain that holds.
pub(crate) fn read_ledger(path: &Path) -> Result<ObserverLedger, StoreError> {
    let bytes = bounded_bytes(path, MAX_LEDGER_BYTES + 2).map_err(|source| {
        if source.kind() == std::io::ErrorKind::NotFound {
            StoreError::NoLedger { path: display_path(path) }
        } else {
            StoreError::LedgerNotRead { path: display_path(path), source }
        }
    })?;
    ledger::read(&bytes).map_err(|reason| StoreError::Ledger { path: display_path(path), reason })
}

/// Reads the statements of an attestation: a regular file within the limit.
pub(crate) fn read_attestation(path: &Path) -> Result<Vec<Value>, StoreError> {
    let bytes = bounded_bytes(path, MAX_ATTESTATION_BYTES + 1)
        .map_err(|source| StoreError::AttestationNotRead { path: display_path(path), source })?;
    attestation::read(&bytes).map_err(|reason| StoreError::Attestation { path: display_path(path), reason })
}

/// Reads a regular file up to a number of bytes, one of which is over the limit.
fn bounded_bytes(path: &Path, most: usize) -> std::io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}
