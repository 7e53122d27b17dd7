//! The tools of the quality gates: each a file here, an entry in [`ALL`] and a page in `tests/corpus/gates`.

mod cargo_test;
mod clippy;
pub mod contract;
#[cfg(test)]
mod corpus;
mod eslint;
mod generic;
mod go_test;
mod go_vet;
mod jest;
pub mod judge;
pub mod manifests;
#[cfg(test)]
mod member_mutation_tests;
#[cfg(test)]
mod mutation_tests;
mod mypy;
pub mod normalize;
mod playwright;
mod project;
mod pytest;
mod readers;
pub mod report;
mod reported_path;
mod ruff;
pub mod selection;
pub mod sockets;
pub mod stories;
mod tags;
mod text;
mod tsc;
mod vitest;

use contract::{ReportFormat, Tool};

/// Registry of tools, sorted by id.
pub static ALL: &[&dyn Tool] = &[
    &cargo_test::CargoTest,
    &generic::CHECKSTYLE,
    &clippy::Clippy,
    &eslint::Eslint,
    &go_test::GoTest,
    &go_vet::GoVet,
    &jest::Jest,
    &generic::JUNIT,
    &mypy::Mypy,
    &playwright::Playwright,
    &pytest::Pytest,
    &ruff::Ruff,
    &generic::SARIF,
    &generic::TAP,
    &tsc::Tsc,
    &vitest::Vitest,
];

/// Returns whether a committed file has a name that our commands write to, or that a tool reuses as build state.
pub fn is_leftover(name: &[u8]) -> bool {
    name.starts_with(project::SCRATCH.as_bytes()) || name.ends_with(b".tsbuildinfo")
}

/// Returns the tool with that id.
pub fn find(id: &str) -> Option<&'static dyn Tool> {
    ALL.iter().copied().find(|tool| tool.spec().id == id)
}

/// Returns the tool of a report that the policy declares, with its format, or the tool's own without one.
pub fn declared_reader(tool: &str, format: Option<&str>) -> Option<(&'static dyn Tool, ReportFormat)> {
    let tool = find(tool)?;
    let format = match format {
        Some(name) => ReportFormat::parse(name)?,
        None => tool.spec().formats[0],
    };
    Some((tool, format))
}
