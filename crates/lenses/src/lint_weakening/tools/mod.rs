//! The tools whose configuration is known. A tool is an entry here; a setting is a line of its table.

mod dotnet;
mod ecma;
mod general;
mod go;
mod jvm;
mod python;
mod runners;
mod rust;

use super::tool::Tool;

/// Returns every tool, by the language it is for, and the test runners.
pub(super) fn all_tools() -> impl Iterator<Item = &'static Tool> {
    [
        python::TOOLS,
        ecma::TOOLS,
        go::TOOLS,
        rust::TOOLS,
        jvm::TOOLS,
        dotnet::TOOLS,
        general::TOOLS,
        runners::TOOLS,
    ]
    .into_iter()
    .flatten()
}
