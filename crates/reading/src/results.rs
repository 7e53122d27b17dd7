//! Results of functions by their shapes, and what callers do with them, with places.

use crate::outlines::Lines;
use crate::syntax::{self, Language, results};
use qa_contracts::v1::PlacedName;

pub use crate::syntax::results::{Shape, Use};

/// A function outside of types, with the shape of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Returned {
    pub name: PlacedName,
    pub shape: Shape,
}

/// A call of a function, by the place of its name, with the use of its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    pub name: PlacedName,
    pub used: Use,
}

/// Returns the functions of a file outside of types; none of a file that could not be parsed.
pub fn returned(path: &str, text: &str) -> Vec<Returned> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let found = results::returned(language, &tree, text).into_iter();
    found.map(|(name, shape)| Returned { name: lines.name(name.of(text), name), shape }).collect()
}

/// Returns the calls of functions of a name in a file.
pub fn received(path: &str, text: &str, name: &str) -> Vec<Received> {
    let Some(language) = Language::from_path(path).filter(|_| text.contains(name)) else { return Vec::new() };
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let found = results::received(language, &tree, text, name).into_iter();
    found.map(|(name, used)| Received { name: lines.name(name.of(text), name), used }).collect()
}
