//! The tools of the quality gates: each a file here, an entry in [`ALL`] and a page in `tests/corpus/gates`.

mod cargo_test;
mod clippy;
pub mod contract;
#[cfg(test)]
mod corpus;
mod eslint;
mod go_test;
mod go_vet;
mod jest;
pub mod judge;
#[cfg(test)]
mod mutation_tests;
mod mypy;
mod playwright;
mod project;
mod pytest;
mod readers;
pub mod report;
mod ruff;
pub mod steady;
pub mod stories;
mod tags;
mod text;
mod tsc;
mod vitest;
pub mod wanted;

use contract::Tool;

/// Every tool, by id. A tool that is not listed here does not exist.
pub static ALL: &[&dyn Tool] = &[
    &cargo_test::CargoTest,
    &clippy::Clippy,
    &eslint::Eslint,
    &go_test::GoTest,
    &go_vet::GoVet,
    &jest::Jest,
    &mypy::Mypy,
    &playwright::Playwright,
    &pytest::Pytest,
    &ruff::Ruff,
    &tsc::Tsc,
    &vitest::Vitest,
];

/// Whether a file of the commit would be taken for what a command of ours leaves, or for what an earlier one left.
pub fn is_leftover(name: &[u8]) -> bool {
    name.starts_with(project::SCRATCH.as_bytes()) || name.ends_with(b".tsbuildinfo")
}

/// The tool of an id.
pub fn find(id: &str) -> Option<&'static dyn Tool> {
    ALL.iter().copied().find(|tool| tool.spec().id == id)
}
