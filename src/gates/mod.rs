//! The tools of the quality gates: each a file here, an entry in [`ALL`] and a page in `tests/corpus/gates`.

pub(crate) mod contract;
#[cfg(test)]
mod corpus;
mod eslint;
pub(crate) mod judge;
mod project;
mod pytest;
mod readers;
pub(crate) mod report;
mod ruff;
mod tags;
mod text;

use contract::Tool;

/// Every tool, by id. A tool that is not listed here does not exist.
pub(crate) static ALL: &[&dyn Tool] = &[&eslint::Eslint, &pytest::Pytest, &ruff::Ruff];

/// The tool of an id.
pub(crate) fn find(id: &str) -> Option<&'static dyn Tool> {
    ALL.iter().copied().find(|tool| tool.spec().id == id)
}
