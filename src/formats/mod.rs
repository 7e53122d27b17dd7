//! The output formats: each a file here and an entry in [`ALL`].

mod common;
pub(crate) mod contract;
mod excerpt;
mod gaps;
mod github;
mod json;
mod markdown;
#[cfg(test)]
mod sample;
mod terminal;
#[cfg(test)]
mod tests;

use contract::Format;

/// Every format, by id.
pub(crate) static ALL: &[&dyn Format] =
    &[&github::Github, &json::Json, &markdown::Markdown, &terminal::Terminal];
