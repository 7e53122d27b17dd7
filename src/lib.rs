//! A deterministic pull-request gate whose verdict can be replayed byte for byte.

pub mod contracts;
pub(crate) mod core;
pub(crate) mod formats;
pub(crate) mod lenses;
