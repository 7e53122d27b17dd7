//! Readers of foreign text: configuration as values at key paths, scripts as commands, source files as symbols and
//! imports.

pub mod documents;
pub mod outlines;
pub mod packages;
pub mod shell;
pub mod syntax;
