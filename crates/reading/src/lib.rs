//! Readers of foreign text: configuration as values at key paths, scripts as commands, workflows as jobs and steps,
//! source files as symbols and imports.

pub mod callers;
pub mod codeowners;
pub mod dockerfile;
pub mod documents;
pub mod escapes;
pub mod expressions;
pub mod glob;
pub mod go_mod;
pub mod ignore;
mod lines;
pub mod makefile;
pub mod members;
pub mod names;
pub mod outlines;
pub mod packages;
pub mod patterns;
#[cfg(test)]
mod random_tests;
pub mod requirements;
pub mod results;
pub mod shell;
pub mod syntax;
mod tree;
pub mod values;
#[doc(hidden)]
pub mod work;
pub mod workflow;
