//! The output formats: each a file here and an entry in [`ALL`].

pub(crate) mod check_run;
mod common;
pub(crate) mod contract;
mod excerpt;
mod gaps;
mod github;
pub(crate) mod html;
mod json;
mod junit;
mod markdown;
pub(crate) mod rubric_draft;
#[cfg(test)]
pub(crate) mod sample;
pub(crate) mod sarif;
mod terminal;
#[cfg(test)]
mod tests;

use contract::Format;

/// Every format, by id.
pub(crate) static ALL: &[&dyn Format] = &[
    &github::Github,
    &html::Html,
    &json::Json,
    &junit::Junit,
    &markdown::Markdown,
    &sarif::Sarif,
    &terminal::Terminal,
];
