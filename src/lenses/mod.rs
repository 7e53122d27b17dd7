//! The lenses: each a file here, an entry in [`ALL`] and a page in `tests/corpus/lenses`.

pub(crate) mod contract;
#[cfg(test)]
mod corpus;
mod gate_weakening;
mod idioms;
mod merge_leftover;
mod scan;
mod trojan_source;

use contract::Lens;

/// Every lens, by id. A lens that is not listed here does not exist.
pub(crate) static ALL: &[&dyn Lens] =
    &[&gate_weakening::GateWeakening, &merge_leftover::MergeLeftover, &trojan_source::TrojanSource];
