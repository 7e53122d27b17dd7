//! The pure half: no file system, environment, clock, network or thread below this line.

pub(crate) mod canonical;
pub(crate) mod classify;
pub(crate) mod coverage;
pub(crate) mod crosscheck;
pub(crate) mod diff;
pub(crate) mod escape;
pub(crate) mod event;
pub(crate) mod findings;
pub(crate) mod gates;
pub(crate) mod keywords;
pub(crate) mod line_hash;
pub(crate) mod masking;
pub(crate) mod packet;
pub(crate) mod plan;
pub(crate) mod policy;
pub(crate) mod policy_text;
pub(crate) mod qa_report;
pub(crate) mod renames;
pub(crate) mod secrets;
pub(crate) mod sensitivity;
pub(crate) mod shard;
pub(crate) mod usage;
pub(crate) mod verdict;
pub(crate) mod weakening;
