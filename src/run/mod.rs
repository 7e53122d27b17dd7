//! The one scheduler: gathers what changed, runs plans over it, keeps order whatever the number of workers.

pub(crate) mod ask;
mod bounds;
pub(crate) mod commands;
pub(crate) mod execute;
#[cfg(test)]
mod fixed_tree;
pub(crate) mod gates;
pub(crate) mod gather;
pub(crate) mod http;
pub(crate) mod lookup;
pub(crate) mod mining;
pub(crate) mod outlines;
pub(crate) mod parts;
pub(crate) mod ports;
pub(crate) mod retry;
pub(crate) mod reviews;
pub(crate) mod survey;
pub(crate) mod sweep;
pub(crate) mod workers;
