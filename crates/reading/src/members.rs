//! Types whose members other files list one by one, the switches that list them, and the classes that implement them.

use crate::outlines::Lines;
use crate::syntax::{self, Language, members};
use qa_contracts::v1::PlacedName;

pub use crate::syntax::members::{Form, Label};

/// A type whose members another file may have to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedType {
    pub name: String,
    pub form: Form,
    /// Members in the order of the text; of an interface, those that an implementing class has to write.
    pub members: Vec<PlacedName>,
    /// Set where a build or another file may give it other members.
    pub is_open: bool,
}

/// A switch whose cases are all written out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switch {
    /// Line of its first label.
    pub line: u32,
    pub labels: Vec<Label>,
    /// Declared types of the variable that is looked at, by any declaration of its name in the file.
    pub subject_types: Vec<String>,
}

/// A class that says what it implements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Implementer {
    /// Empty for a class without a name.
    pub name: String,
    pub line: u32,
    /// Last names of the types that it extends or implements.
    pub bases: Vec<String>,
    /// Set where an interface of the file has its name, whose members it has as well.
    pub is_merged: bool,
}

/// Returns the types of a file that stand in no other one.
pub fn types(path: &str, text: &str) -> Vec<ListedType> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let found = members::types(language, &tree, text).into_iter();
    found
        .map(|found| ListedType {
            name: found.name,
            form: found.form,
            members: found.members.into_iter().map(|place| lines.name(place.of(text), place)).collect(),
            is_open: found.is_open,
        })
        .collect()
}

/// Returns the switches of a file that name each of their cases and have no default.
pub fn switches(path: &str, text: &str) -> Vec<Switch> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let found = members::switches(language, &tree, text).into_iter();
    found
        .map(|found| Switch {
            line: lines.name("", found.place).line,
            labels: found.labels,
            subject_types: found.subject_types,
        })
        .collect()
}

/// Returns the classes of a file that have to write every member of what they implement.
pub fn implementers(path: &str, text: &str) -> Vec<Implementer> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let Some(tree) = syntax::parse_tree_once(language, text) else { return Vec::new() };
    let lines = Lines::new(text);
    let found = members::implementers(language, &tree, text).into_iter();
    found
        .map(|found| Implementer {
            line: lines.name("", found.place).line,
            bases: found.bases,
            is_merged: !found.name.is_empty() && text.contains(&format!("interface {}", found.name)),
            name: found.name,
        })
        .collect()
}
