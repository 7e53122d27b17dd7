//! The definition that a use leads to, by the rules of each language.

use super::super::contract::Lookups;
use super::super::imports::{Family, Has, Target, has, has_stem, join, split, target};
use qa_contracts::v1::{
    Definition, DefinitionKind, ImportForm, MentionKind, PlacedImport, PlacedName, PlacedUse, Side,
};

/// Most files of a package of Go that are read.
const MOST_FILES: usize = 80;
/// Maximum number of files that a name is followed through.
const MOST_STEPS: usize = 4;

/// A name in a file, or in a package of Go, which is a directory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: String,
    /// The type that it is a member of.
    pub(super) owner: Option<String>,
    pub(super) name: String,
}

impl Place {
    /// Returns the place of a definition of a file.
    pub(super) fn of(file: &str, definition: &Definition) -> Self {
        Self::new(file, definition.owner.clone(), &definition.name.name)
    }

    pub(super) fn new(file: &str, owner: Option<String>, name: &str) -> Self {
        let is_go = file.parse_family() == Some(MentionKind::Go);
        let file = if is_go { split(file).0 } else { file };
        Self { file: file.to_owned(), owner, name: name.to_owned() }
    }
}

/// Returns whether files of a language are found by their directory, so that one may be moved within it.
pub(super) fn is_by_directory(kind: MentionKind) -> bool {
    matches!(kind, MentionKind::Go | MentionKind::Java)
}

/// Returns a name that stands nowhere.
fn placed(name: &str) -> PlacedName {
    PlacedName { name: name.to_owned(), written: None, line: 0, start_column: 0, end_column: 0 }
}

/// Returns an import of a module, as it would be written.
fn import(module: &str, names: &[String]) -> PlacedImport {
    PlacedImport {
        form: ImportForm::Import,
        module: placed(module),
        names: names.iter().map(|name| placed(name)).collect(),
        star: false,
        top_level: true,
        weak: false,
        types_alone: false,
    }
}

fn file_of(lookups: &dyn Lookups, side: Side, importer: &str, import: &PlacedImport) -> Option<String> {
    match target(lookups, side, importer, import) {
        Target::File(file) => Some(file),
        Target::Missing(_) | Target::Unsure => None,
    }
}

/// Resolves a use in the tree of one side; `None` where it does not surely lead into the repository.
pub(super) fn place(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    match importer.parse_family()? {
        MentionKind::Ecma => of_ecma(lookups, side, importer, used),
        MentionKind::Go => of_go(lookups, side, importer, used),
        MentionKind::Java => of_java(lookups, side, importer, used),
        MentionKind::Python => of_python(lookups, side, importer, used),
        MentionKind::Rust => of_rust(lookups, side, importer, used),
        MentionKind::C
        | MentionKind::Configuration
        | MentionKind::Lockfile
        | MentionKind::Php
        | MentionKind::Ruby => None,
    }
}

fn member(file: String, rest: &[String]) -> Option<Place> {
    match rest {
        [name] => Some(Place { file, owner: None, name: name.clone() }),
        [owner, name] => Some(Place { file, owner: Some(owner.clone()), name: name.clone() }),
        _ => None,
    }
}

fn of_ecma(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let file = file_of(lookups, side, importer, &import(used.module.as_deref()?, &[]))?;
    let [name] = &used.path[..] else { return None };
    (name != "default").then(|| Place { file, owner: None, name: name.clone() })
}

fn of_python(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let mut file = file_of(lookups, side, importer, &import(used.module.as_deref()?, &[]))?;
    let mut rest = &used.path[..];
    while let [first, _, ..] = rest {
        let (directory, own) = split(&file);
        if own != "__init__.py" || defines(lookups, side, &file, first) {
            break;
        }
        let inside = join(directory, first);
        file = if lookups.files_in(side, directory).contains(&format!("{first}.py")) {
            format!("{inside}.py")
        } else if lookups.files_in(side, &inside).iter().any(|name| name == "__init__.py") {
            join(&inside, "__init__.py")
        } else {
            return None;
        };
        rest = &rest[1..];
    }
    let [name] = rest else { return None };
    Some(Place { file, owner: None, name: name.clone() })
}

fn defines(lookups: &dyn Lookups, side: Side, file: &str, name: &str) -> bool {
    lookups.outline(side, file).is_some_and(|outline| outline.names.iter().any(|each| each.name == name))
}

fn of_go(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let [name] = &used.path[..] else { return None };
    let own = split(importer).0.to_owned();
    let file = match &used.module {
        Some(module) => split(&file_of(lookups, side, importer, &import(module, &[]))?).0.to_owned(),
        None => own,
    };
    Some(Place { file, owner: None, name: name.clone() })
}

fn of_java(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let package = match &used.module {
        Some(module) => module.clone(),
        None => lookups.surface(side, importer)?.package.clone()?,
    };
    let all: Vec<String> = package.split('.').map(str::to_owned).chain(used.path.iter().cloned()).collect();
    let class = all.iter().position(|part| part.starts_with(char::is_uppercase))?;
    let file = file_of(lookups, side, importer, &import(&all[..class].join("."), &all[class..=class]))?;
    member(file, &all[class..])
}

fn of_rust(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let (root, roots) = crate_root(lookups, side, importer)?;
    let (directory, own) = split(importer);
    let stem = own.trim_end_matches(".rs");
    let is_root = matches!(stem, "lib" | "main" | "mod");
    let mut inside = if is_root { directory.to_owned() } else { join(directory, stem) };
    let module = used.module.as_deref()?;
    let mut file = None;
    match module {
        "self" => file = Some(importer.to_owned()),
        "crate" => inside.clone_from(&root),
        _ => {
            for _ in module.split("::") {
                if inside == root {
                    return None;
                }
                inside = split(&inside).0.to_owned();
            }
        }
    }
    let mut rest = &used.path[..];
    while let [first, _, ..] = rest {
        let Some(next) = module_file(lookups, side, &join(&inside, first)) else { break };
        inside = join(&inside, first);
        file = Some(next);
        rest = &rest[1..];
    }
    let file = match (file, roots.as_slice()) {
        (Some(file), _) => file,
        (None, [only]) if inside == root => join(&root, only),
        (None, _) if inside == root => return None,
        (None, _) => module_file(lookups, side, &inside)?,
    };
    member(file, rest)
}

/// Returns the file of a module of Rust by the path without its ending.
fn module_file(lookups: &dyn Lookups, side: Side, module: &str) -> Option<String> {
    let (directory, name) = split(module);
    let beside = format!("{name}.rs");
    if lookups.files_in(side, directory).contains(&beside) {
        return Some(join(directory, &beside));
    }
    let is_inside = lookups.files_in(side, module).iter().any(|file| file == "mod.rs");
    is_inside.then(|| join(module, "mod.rs"))
}

/// Returns the directory of the crate that a file belongs to, with the files that it may begin in.
fn crate_root(lookups: &dyn Lookups, side: Side, importer: &str) -> Option<(String, Vec<String>)> {
    let mut directory = split(importer).0;
    loop {
        // Files there are crates of their own.
        if matches!(split(directory).1, "benches" | "bin" | "examples" | "tests") {
            return None;
        }
        let mut roots = lookups.files_in(side, directory);
        roots.retain(|file| matches!(file.as_str(), "lib.rs" | "main.rs"));
        if !roots.is_empty() {
            return Some((directory.to_owned(), roots));
        }
        if directory.is_empty() {
            return None;
        }
        directory = split(directory).0;
    }
}

/// Returns whether head has a name.
pub(super) fn is_missing(lookups: &dyn Lookups, place: &Place) -> bool {
    let file = &place.file;
    match file.parse_family() {
        Some(MentionKind::Python) => {
            place.owner.is_none()
                && has(lookups, Side::Head, file, &place.name) == Has::No
                && !mentions_one(lookups, file, &["global_enum", "_convert_"])
        }
        Some(MentionKind::Ecma) => {
            has(lookups, Side::Head, file, &place.name) == Has::No || is_gone_from_exports(lookups, place)
        }
        Some(MentionKind::Java) => is_missing_in_java(lookups, place),
        Some(MentionKind::Rust) => place.owner.is_none() && lacks(lookups, file, &place.name),
        Some(
            MentionKind::C
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Ruby,
        ) => false,
        None => is_missing_in_go(lookups, place),
    }
}

/// Returns whether a file of head surely does not define a name.
fn lacks(lookups: &dyn Lookups, path: &str, name: &str) -> bool {
    lookups
        .surface(Side::Head, path)
        .is_some_and(|surface| !surface.open && surface.definitions.iter().all(|each| each.name.name != name))
}

/// Returns whether every definition of a name in a file of Rust is private at head.
pub(super) fn hides(lookups: &dyn Lookups, place: &Place) -> bool {
    let (path, name) = (&place.file, &place.name);
    path.ends_with(".rs")
        && place.owner.is_none()
        && lookups.surface(Side::Head, path).is_some_and(|surface| {
            let mut named = surface.definitions.iter().filter(|each| each.name.name == *name).peekable();
            !surface.open
                && named.peek().is_some()
                && named.all(|each| !each.public && !each.open && each.owner.is_none())
        })
}

/// Returns whether a CommonJS module lacks a name.
fn is_gone_from_exports(lookups: &dyn Lookups, place: &Place) -> bool {
    // To an outline of imports, such a module may have any name.
    place.file.ends_with("js")
        && lookups.outline(Side::Head, &place.file).is_some_and(|outline| outline.open)
        && lacks(lookups, &place.file, &place.name)
}

/// Returns whether no file of a package of Go has a name.
fn is_missing_in_go(lookups: &dyn Lookups, place: &Place) -> bool {
    let mut files = lookups.files_in(Side::Head, &place.file);
    files.retain(|file| file.ends_with(".go"));
    let paths: Vec<String> = files.iter().map(|file| join(&place.file, file)).collect();
    !paths.is_empty()
        && paths.len() <= MOST_FILES
        && paths.iter().all(|path| lacks(lookups, path, &place.name))
        // A file that a command makes may not be in the repository.
        && !paths.iter().any(|path| mentions_one(lookups, path, &["//go:generate"]))
}

/// Returns whether the text of a file at head contains one of some words, by which names come to be that it does not
/// write.
fn mentions_one(lookups: &dyn Lookups, path: &str, words: &[&str]) -> bool {
    lookups.text(Side::Head, path).is_some_and(|text| words.iter().any(|word| text.contains(word)))
}

/// Returns whether a class is gone with its file, or a class that inherits nothing has nothing of a name.
fn is_missing_in_java(lookups: &dyn Lookups, place: &Place) -> bool {
    let Some(owner) = &place.owner else {
        return !is_in_other_language(lookups, place) && is_defined_nowhere(lookups, &place.name);
    };
    let Some(surface) = lookups.surface(Side::Head, &place.file) else { return false };
    let mut types =
        surface.definitions.iter().filter(|each| each.owner.is_none() && each.name.name == *owner);
    let is_whole = types.all(|each| each.kind == DefinitionKind::Type && !each.open);
    // Constants of enums, and fields after the first, are no definitions; every enum has these two methods.
    is_whole
        && !matches!(place.name.as_str(), "values" | "valueOf")
        && !surface.open
        && surface.definitions.iter().any(|each| each.name.name == *owner)
        && lookups
            .text(Side::Head, &place.file)
            .is_some_and(|text| !crate::mentions::has_word(MentionKind::Java, &text, &place.name))
}

/// Returns whether a file of the class's name stands in its package, in whatever language.
fn is_in_other_language(lookups: &dyn Lookups, place: &Place) -> bool {
    let (directory, name) = split(&place.file);
    let stem = name.trim_end_matches(".java");
    ["java", "groovy", "kotlin", "scala"].iter().any(|language| {
        let beside = directory.replacen("/java/", &format!("/{language}/"), 1);
        has_stem(&lookups.files_in(Side::Head, &beside), stem)
    })
}

/// Returns whether no file defines a class that may have been moved to one with others.
fn is_defined_nowhere(lookups: &dyn Lookups, class: &str) -> bool {
    let found = lookups.mentions(Side::Head, MentionKind::Java, &[class.to_owned()]);
    found.complete
        && found.paths.len() <= MOST_FILES
        && !found.paths.iter().any(|path| may_define_type(lookups, path, class))
}

/// Returns whether a file of head may define a type.
fn may_define_type(lookups: &dyn Lookups, path: &str, name: &str) -> bool {
    lookups.surface(Side::Head, path).is_none_or(|surface| {
        surface.open
            || surface
                .definitions
                .iter()
                .any(|each| each.kind == DefinitionKind::Type && each.name.name == name)
    })
}

/// Follows a name through files that only hand it on, to the one that defines it.
pub(super) fn followed(lookups: &dyn Lookups, side: Side, place: Place) -> Option<Place> {
    let mut place = place;
    for _ in 0..MOST_STEPS {
        if !matches!(place.file.parse_family(), Some(MentionKind::Ecma | MentionKind::Python)) {
            return Some(place);
        }
        let surface = lookups.surface(side, &place.file)?;
        let mut named = surface.definitions.iter().filter(|each| each.name.name == place.name);
        if named.clone().any(|each| each.kind != DefinitionKind::Imported) {
            return Some(place);
        }
        named.next()?;
        let outline = lookups.outline(side, &place.file)?;
        let mut origins = outline
            .imports
            .iter()
            .filter(|import| import.names.iter().any(|name| name.name == place.name) && !import.weak);
        let (origin, None) = (origins.next()?, origins.next()) else { return None };
        place.file = file_of(lookups, side, &place.file, origin)?;
    }
    None
}
