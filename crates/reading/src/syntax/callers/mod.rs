//! Definitions with their parameters, and uses of names that belong to other files: what has to agree between a file and
//! its callers.

mod bound;
mod chains;
mod common_js;
mod definitions;
mod modules;
mod narrowed;
mod receivers;
mod seek;
mod signatures;
mod uses;

pub(crate) use bound::Binds;
pub(crate) use common_js::exports;
pub(crate) use definitions::definitions;
pub(crate) use uses::uses;
