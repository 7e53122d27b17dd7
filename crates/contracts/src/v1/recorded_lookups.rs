//! The lenses' recorded lookups in the rest of the repository, so that a replay needs no repository.

use serde::{Deserialize, Serialize};

use super::{RecordedSurface, RecordedUses, Side};
use crate::artifact::{Artifact, schema_tag};
use crate::limits::VALIDATED_ITEMS;

schema_tag! {
    /// Names the schema of [`RecordedLookups`].
    RecordedLookupsTag = "recorded-lookups.v1";
}

/// Number of items with lists of their own that are validated at a time.
const VALIDATED_LISTS: usize = 16;

/// Lookups of lenses in files beside the changed lines, each list sorted by side and path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedLookups {
    /// The schema's name.
    pub schema_version: RecordedLookupsTag,
    /// Lookups of paths.
    pub paths: Vec<RecordedPath>,
    /// The regular files of directories.
    pub directories: Vec<RecordedDirectory>,
    /// Definitions and imports of files.
    pub modules: Vec<RecordedModule>,
    /// Imports of files, by their statements alone.
    pub imports: Vec<RecordedImports>,
    /// Lookups of files by words.
    pub mentions: Vec<RecordedMentions>,
    /// Definitions of files with their parameters.
    pub surfaces: Vec<RecordedSurface>,
    /// Texts of files that are read as a whole, such as configurations.
    pub texts: Vec<RecordedText>,
    /// Uses of names in files.
    pub uses: Vec<RecordedUses>,
}

impl Artifact for RecordedLookups {
    const SCHEMA: &'static str = "recorded-lookups.v1";
    const FILE: &'static str = "recordings/lookups.json";

    fn parts(&self) -> impl Iterator<Item = Self> {
        let Self {
            schema_version: RecordedLookupsTag::V1,
            paths,
            directories,
            modules,
            imports,
            mentions,
            surfaces,
            texts,
            uses,
        } = self;
        let paths =
            paths.chunks(VALIDATED_ITEMS).map(|paths| Self { paths: paths.to_vec(), ..Self::default() });
        let directories = directories
            .chunks(VALIDATED_LISTS)
            .map(|directories| Self { directories: directories.to_vec(), ..Self::default() });
        let modules = modules
            .chunks(VALIDATED_LISTS)
            .map(|modules| Self { modules: modules.to_vec(), ..Self::default() });
        let imports = imports
            .chunks(VALIDATED_LISTS)
            .map(|imports| Self { imports: imports.to_vec(), ..Self::default() });
        let mentions = mentions
            .chunks(VALIDATED_LISTS)
            .map(|mentions| Self { mentions: mentions.to_vec(), ..Self::default() });
        let texts =
            texts.chunks(VALIDATED_LISTS).map(|texts| Self { texts: texts.to_vec(), ..Self::default() });
        let surfaces = surfaces
            .chunks(VALIDATED_LISTS)
            .map(|surfaces| Self { surfaces: surfaces.to_vec(), ..Self::default() });
        let uses = uses.chunks(VALIDATED_LISTS).map(|uses| Self { uses: uses.to_vec(), ..Self::default() });
        let files = paths.chain(directories).chain(modules).chain(imports).chain(mentions);
        files.chain(surfaces).chain(texts).chain(uses)
    }
}

/// Lookup of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedPath {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Path that was looked up.
    pub path: String,
    /// True if the path exists, or one of its parents is not a directory.
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

/// Definitions and imports of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ModuleOutline {
    /// The names other files may import, where each is defined, in the order of the text.
    pub names: Vec<PlacedName>,
    /// The imports, in the order of the text.
    pub imports: Vec<PlacedImport>,
    /// True if there may be names that are not listed.
    pub open: bool,
    /// True if there may be modules below it that the tree does not have.
    pub relocates: bool,
}

/// Outline of a file, or the fact that there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedModule {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Path of the file.
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
    /// Path of the file.
    pub path: String,
    /// The imports in the order of the text; null when it is no regular file that could be read. Imports of types only,
    /// which a compiler drops, are included, and so may be text in comments and multi-line strings that looks like an
    /// import.
    pub imports: Option<Vec<PlacedImport>>,
}

/// A name with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlacedName {
    /// The name.
    pub name: String,
    /// The part of the name's line that writes it, where that is not the name itself: with escapes or blanks, or where it
    /// goes on in the next line.
    pub written: Option<String>,
    /// The line, from 1.
    pub line: u32,
    /// The first column in characters, from 1.
    pub start_column: u32,
    /// The column after the last.
    pub end_column: u32,
}

/// Kind of statement that imports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum ImportForm {
    /// An import of names or of a module.
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
    /// Kind of statement.
    pub form: ImportForm,
    /// Imported module, as the language writes it.
    pub module: PlacedName,
    /// Imported names with their places; empty when the module itself is imported.
    pub names: Vec<PlacedName>,
    /// True if every name is imported.
    pub star: bool,
    /// True if it is in the file's own scope and not in a function.
    pub top_level: bool,
    /// True if it is conditional or its failure is caught, so that it need not resolve.
    pub weak: bool,
    /// True if only types are imported, so that nothing is loaded when the program runs.
    pub types_alone: bool,
}

impl PlacedImport {
    /// Returns whether the import has to resolve wherever its file is loaded.
    pub fn is_firm(&self) -> bool {
        !self.weak && self.top_level
    }
}

/// Group of files that is searched for words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub enum MentionKind {
    /// C and C++.
    C,
    /// C#.
    CSharp,
    /// Build configuration and git's ignore files.
    Configuration,
    /// JavaScript and TypeScript.
    Ecma,
    /// Go.
    Go,
    /// Java.
    Java,
    /// Lock files of package managers.
    Lockfile,
    /// PHP.
    Php,
    /// Python.
    Python,
    /// Ruby.
    Ruby,
    /// Rust.
    Rust,
}

/// Files that contain at least one of some words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedMentions {
    /// The merge base's tree or head's.
    pub side: Side,
    /// Group of the searched files.
    pub kind: MentionKind,
    /// The words, sorted.
    pub words: Vec<String>,
    /// The files, sorted.
    pub paths: Vec<String>,
    /// True if every file was searched.
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
        let surface = |number| RecordedSurface { side, path: path(number), surface: None };
        let uses = |number| RecordedUses { side, path: path(number), words: vec![path(number)], uses: None };
        let lookups = RecordedLookups {
            schema_version: Default::default(),
            paths: (0..COUNT).map(recorded).collect(),
            directories: (0..COUNT).map(directory).collect(),
            modules: (0..COUNT).map(module).collect(),
            imports: (0..COUNT).map(imports).collect(),
            mentions: (0..COUNT).map(mentions).collect(),
            surfaces: (0..COUNT).map(surface).collect(),
            texts: (0..COUNT).map(text).collect(),
            uses: (0..COUNT).map(uses).collect(),
        };
        let mut joined = RecordedLookups::default();
        for part in lookups.parts() {
            joined.paths.extend(part.paths);
            joined.directories.extend(part.directories);
            joined.modules.extend(part.modules);
            joined.imports.extend(part.imports);
            joined.mentions.extend(part.mentions);
            joined.surfaces.extend(part.surfaces);
            joined.texts.extend(part.texts);
            joined.uses.extend(part.uses);
        }
        assert!(joined == lookups);
        assert_eq!(RecordedLookups::default().parts().count(), 0);
    }
}
