//! Readers of foreign text: configuration as values at key paths, source files as symbols and imports.

pub mod documents;
pub mod outlines;
pub mod syntax;
