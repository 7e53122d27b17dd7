//! What lenses asked about the rest of the repository and were told, so that a replay needs no repository.

use serde::{Deserialize, Serialize};

use super::Side;
use crate::artifact::{Artifact, schema_tag};
use crate::limits::VALIDATED_ITEMS;

schema_tag! {
    /// Names the schema of [`RecordedLookups`].
    RecordedLookupsTag = "recorded-lookups.v1";
}

/// How many items are validated at a time that have lists of their own.
const VALIDATED_LISTS: usize = 16;

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
    /// Texts of files that are read as a whole, such as configurations.
    pub texts: Vec<RecordedText>,
}

impl Artifact for RecordedLookups {
    const SCHEMA: &'static str = "recorded-lookups.v1";
    const FILE: &'static str = "recordings/lookups.json";

    fn parts(&self) -> impl Iterator<Item = Self> {
        let Self { schema_version, paths, directories, modules, imports, mentions, texts } = self;
        let empty = || Self { schema_version: *schema_version, ..Self::default() };
        let paths = paths.chunks(VALIDATED_ITEMS).map(move |paths| Self { paths: paths.to_vec(), ..empty() });
        let directories = directories
            .chunks(VALIDATED_LISTS)
            .map(move |directories| Self { directories: directories.to_vec(), ..empty() });
        let modules =
            modules.chunks(VALIDATED_LISTS).map(move |modules| Self { modules: modules.to_vec(), ..empty() });
        let imports =
            imports.chunks(VALIDATED_LISTS).map(move |imports| Self { imports: imports.to_vec(), ..empty() });
        let mentions = mentions
            .chunks(VALIDATED_LISTS)
            .map(move |mentions| Self { mentions: mentions.to_vec(), ..empty() });
        let texts = texts.chunks(VALIDATED_LISTS).map(move |texts| Self { texts: texts.to_vec(), ..empty() });
        paths.chain(directories).chain(modules).chain(imports).chain(mentions).chain(texts)
    }
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

/// Text of a file, secrets masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedText {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Path of the file.
    pub path: String,
    /// The text; null when the path is no regular file of text that is small enough to be read.
    pub text: Option<String>,
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
    pub fn is_firm(&self) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_have_every_item_once() {
        const COUNT: usize = VALIDATED_ITEMS + 1;
        let path = |number: usize| format!("f{number}");
        let side = Side::Base;
        let recorded = |number| RecordedPath { side, path: path(number), present: true };
        let directory = |number| RecordedDirectory { side, path: path(number), files: Vec::new() };
        let module = |number| RecordedModule { side, path: path(number), outline: None };
        let imports = |number| RecordedImports { side, path: path(number), imports: None };
        let mentions = |number| RecordedMentions {
            side,
            kind: MentionKind::Go,
            words: vec![path(number)],
            paths: Vec::new(),
            complete: true,
        };
        let text = |number| RecordedText { side, path: path(number), text: None };
        let lookups = RecordedLookups {
            schema_version: Default::default(),
            paths: (0..COUNT).map(recorded).collect(),
            directories: (0..COUNT).map(directory).collect(),
            modules: (0..COUNT).map(module).collect(),
            imports: (0..COUNT).map(imports).collect(),
            mentions: (0..COUNT).map(mentions).collect(),
            texts: (0..COUNT).map(text).collect(),
        };
        let mut joined = RecordedLookups::default();
        for part in lookups.parts() {
            joined.paths.extend(part.paths);
            joined.directories.extend(part.directories);
            joined.modules.extend(part.modules);
            joined.imports.extend(part.imports);
            joined.mentions.extend(part.mentions);
            joined.texts.extend(part.texts);
        }
        assert!(joined == lookups);
        assert_eq!(RecordedLookups::default().parts().count(), 0);
    }
}
