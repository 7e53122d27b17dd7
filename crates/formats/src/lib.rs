//! The output formats: each a file here and an entry in [`ALL`].

pub mod answers;
mod causes;
pub mod check_run;
mod common;
pub mod contract;
mod diagnostics;
mod doubt;
mod drive;
mod edit;
mod excerpt;
mod gaps;
mod github;
mod gitlab;
pub mod hook;
pub mod html;
mod json;
mod junit;
pub mod ledger;
mod markdown;
pub mod observer_notes;
mod overrides;
pub mod page;
mod rdjson;
pub mod rubric_draft;
#[cfg(test)]
pub(crate) mod sample;
pub mod sarif;
pub mod suggestion;
mod terminal;
#[cfg(test)]
mod tests;
pub mod waive;
mod why;
mod wrap;

pub use common::counted;
use contract::Format;
pub use drive::{drive_next_turn, drive_summary, drive_wait, plan as drive_plan, spent as drive_spent};

/// Every format, by id.
pub static ALL: &[&dyn Format] = &[
    &github::Github,
    &gitlab::Gitlab,
    &html::Html,
    &json::Json,
    &junit::Junit,
    &markdown::Markdown,
    &rdjson::Rdjson,
    &sarif::Sarif,
    &terminal::Terminal,
];
