//! The output formats: each a file here and an entry in [`ALL`].

pub(crate) mod contract;

use contract::Format;

/// Every format, by id.
pub(crate) static ALL: &[&dyn Format] = &[];
