//! Definitions with their parameters, and uses of names that belong to other files: what has to agree between a file and
//! its callers.

mod access;
mod bound;
mod chains;
mod common_js;
mod dataclass;
mod definitions;
mod expected;
mod modules;
mod narrowed;
mod receivers;
pub(crate) mod ruby;
mod seek;
mod signatures;
mod uses;

pub(crate) use bound::Binds;
pub(crate) use common_js::exports;
pub(crate) use definitions::{Defined, definitions};
pub(crate) use uses::uses;

use std::collections::BTreeSet;

use super::outline::Span;

/// Words whose uses are looked for, and where.
pub(crate) struct Sought<'s> {
    pub(crate) words: &'s BTreeSet<&'s str>,
    /// Parts of the text, in order and apart. Imports are looked for in all of it.
    pub(crate) on: &'s [Span],
}
