//! What lenses asked about the rest of the repository and were told, so that a replay needs no repository.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::contracts::artifact::{Artifact, schema_tag};

schema_tag! {
    /// Names the schema of [`RecordedLookups`].
    RecordedLookupsTag = "recorded-lookups.v1";
}

/// Everything lenses asked about files beside the changed lines, each list by side and path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedLookups {
    /// The schema's name.
    pub schema_version: RecordedLookupsTag,
    /// Whether something stands at a path.
    pub paths: Vec<RecordedPath>,
    /// The regular files of directories.
    pub directories: Vec<RecordedDirectory>,
    /// What files define and import.
    pub modules: Vec<RecordedModule>,
    /// What files import, by their statements alone.
    pub imports: Vec<RecordedImports>,
    /// Which files have certain words.
    pub mentions: Vec<RecordedMentions>,
}

impl Artifact for RecordedLookups {
    const SCHEMA: &'static str = "recorded-lookups.v1";
    const FILE: &'static str = "recordings/lookups.json";
}

/// Whether something stands at a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedPath {
    /// The merge base's tree or head's.
    pub side: Side,
    /// The path.
    pub path: String,
    /// Whether anything stands there, or what is on the way there is no directory.
    pub present: bool,
}

/// The regular files of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedDirectory {
    /// The merge base's tree or head's.
    pub side: Side,
    /// The directory; empty for the root.
    pub path: String,
    /// The names, sorted; none when there is no such directory.
    pub files: Vec<String>,
}

/// What a file defines and imports.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModuleOutline {
    /// The names other files may import, where each is defined, in the order of the text.
    pub names: Vec<PlacedName>,
    /// The imports, in the order of the text.
    pub imports: Vec<PlacedImport>,
    /// Whether there may be names that are not listed.
    pub open: bool,
    /// Whether there may be modules below it that the tree does not show.
    pub relocates: bool,
}

/// An outline of a file, or that there is none to be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedModule {
    /// The merge base's tree or head's.
    pub side: Side,
    /// The path.
    pub path: String,
    /// The outline; null when it is no regular file that could be read.
    pub outline: Option<ModuleOutline>,
}

/// The imports of a file as they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedImports {
    /// The merge base's tree or head's.
    pub side: Side,
    /// The path.
    pub path: String,
    /// The imports in the order of the text; null when it is no regular file that could be read. Which of them a compiler
    /// leaves out, because their names stand for types alone, is not looked into, and some may only look like imports:
    /// in a comment, or in a string over several lines.
    pub imports: Option<Vec<PlacedImport>>,
}

/// A name with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedName {
    /// The name.
    pub name: String,
    /// The line, from 1.
    pub line: u32,
    /// The first column in characters, from 1.
    pub start_column: u32,
    /// The column after the last.
    pub end_column: u32,
}

/// How a file asks for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ImportForm {
    /// An import.
    Import,
    /// An import whose names the file hands on.
    Reexport,
    /// A declaration that another file is a part of this one.
    File,
    /// A call that loads a package.
    Call,
}

/// An import with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedImport {
    /// How.
    pub form: ImportForm,
    /// What is imported from, as the language writes it.
    pub module: PlacedName,
    /// The names asked for, each where it stands; none when the module itself is.
    pub names: Vec<PlacedName>,
    /// Whether every name is asked for.
    pub star: bool,
    /// Whether it stands in the file's own scope and not in a function.
    pub top_level: bool,
    /// Whether it happens only under some condition or its failure is caught, so that it need not resolve.
    pub weak: bool,
    /// Whether types alone are taken from it, so that nothing is loaded when the program runs.
    pub types_alone: bool,
}

impl PlacedImport {
    /// Whether the import is one that has to resolve wherever its file is loaded.
    pub(crate) fn is_firm(&self) -> bool {
        !self.weak && self.top_level
    }
}

/// Among which files words are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum MentionKind {
    /// Whatever configures a build, and what git ignores.
    Configuration,
    /// JavaScript and TypeScript.
    Ecma,
    /// Go.
    Go,
    /// What package managers write down of the versions they chose.
    Lockfile,
    /// Python.
    Python,
    /// Rust.
    Rust,
}

/// Which files have one of some words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedMentions {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Among which files.
    pub kind: MentionKind,
    /// The words, sorted.
    pub words: Vec<String>,
    /// The files, sorted.
    pub paths: Vec<String>,
    /// Whether every file was looked at.
    pub complete: bool,
}
