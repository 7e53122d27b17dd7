//! Readers of foreign text: source files as symbols and imports.

pub mod outlines;
pub mod syntax;
