//! The one scheduler: gathers what changed, runs plans over it, keeps order whatever the number of workers.

pub mod ask;
mod bounds;
pub mod commands;
pub mod control;
mod declared_tools;
pub mod derive;
pub mod execute;
#[cfg(test)]
mod fixed_tree;
pub mod gates;
pub mod gather;
mod head_policy;
pub mod http;
pub mod inputs;
pub mod keys;
pub mod landing;
pub mod lookup;
pub mod mining;
mod operands;
pub mod parts;
pub mod plans;
pub mod ports;
pub mod quoted_lines;
mod reach;
pub mod retry;
pub mod reviews;
mod scopes;
pub mod setup;
mod statements;
pub mod survey;
pub mod sweep;
pub mod trees;
pub mod workers;
