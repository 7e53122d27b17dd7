//! The definition that a use leads to, by the rules of each language.

use super::super::contract::Lookups;
use super::super::imports::{Family, Target, join, split, target};
use qa_contracts::v1::{
    Definition, DefinitionKind, ImportForm, MentionKind, PlacedImport, PlacedName, PlacedUse, Side,
};

/// Maximum number of files that a name is followed through.
const MOST_STEPS: usize = 4;

/// A name in a file, in a package of Go, which is a directory, or in a namespace of C# or PHP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) file: String,
    /// The type that it is a member of.
    pub(super) owner: Option<String>,
    pub(super) name: String,
}

impl Place {
    /// Returns the place of a definition of a file.
    pub(super) fn of(file: &str, package: Option<&str>, definition: &Definition) -> Self {
        Self::new(file, package, definition.owner.clone(), &definition.name.name)
    }

    pub(super) fn new(file: &str, package: Option<&str>, owner: Option<String>, name: &str) -> Self {
        let file = match file.parse_family() {
            Some(MentionKind::Go) => split(file).0,
            Some(kind) if is_by_namespace(kind) => package.unwrap_or_default(),
            Some(_) | None => file,
        };
        Self { file: file.to_owned(), owner, name: name.to_owned() }
    }
}

/// Returns whether names of a language are found by their namespace, wherever the files are.
pub(super) fn is_by_namespace(kind: MentionKind) -> bool {
    matches!(kind, MentionKind::CSharp | MentionKind::Php)
}

/// Returns whether files of a language are found by their directory, so that one may be moved within it.
pub(super) fn is_by_directory(kind: MentionKind) -> bool {
    matches!(kind, MentionKind::Go | MentionKind::Java) || is_by_namespace(kind)
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

/// Returns the places in the tree of one side that a use may lead to, the nearest first.
pub(super) fn places(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Vec<Place> {
    let Some(kind) = importer.parse_family().filter(|kind| is_by_namespace(*kind)) else {
        return place(lookups, side, importer, used).into_iter().collect();
    };
    let namespaces = match &used.module {
        Some(module) => vec![module.clone()],
        None => {
            let surface = lookups.surface(side, importer);
            let package = surface.and_then(|surface| surface.package.clone());
            if kind == MentionKind::CSharp {
                namespaces(lookups, side, importer, package)
            } else {
                package.into_iter().collect()
            }
        }
    };
    namespaces.into_iter().filter_map(|namespace| member(namespace, &used.path)).collect()
}

/// Returns the namespaces in which a file of C# looks for names: its own with those around it, and those that it uses.
fn namespaces(lookups: &dyn Lookups, side: Side, importer: &str, package: Option<String>) -> Vec<String> {
    let mut all = Vec::new();
    let mut own = package.as_deref();
    while let Some(namespace) = own {
        all.push(namespace.to_owned());
        own = namespace.rsplit_once('.').map(|(around, _)| around);
    }
    all.extend(package.map(|_| String::new()));
    let imports = lookups.imports(side, importer);
    all.extend(imports.iter().flat_map(|imports| imports.iter()).map(|import| import.module.name.clone()));
    all
}

/// Resolves a use to a type of C# or PHP whose file stands where its namespace says, as seen from the file that uses it.
fn beside(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let own = lookups.surface(side, importer)?.package.clone()?;
    let namespace = used.module.as_ref().unwrap_or(&own);
    let separator = if importer.ends_with(".php") { '\\' } else { '.' };
    let (from, to): (Vec<&str>, Vec<&str>) =
        (own.split(separator).collect(), namespace.split(separator).collect());
    let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let mut directory = split(importer).0;
    for part in from[shared..].iter().rev() {
        let (around, last) = split(directory);
        if last != *part {
            return None;
        }
        directory = around;
    }
    let directory = to[shared..].iter().fold(directory.to_owned(), |directory, part| join(&directory, part));
    let ending = importer.rsplit('.').next()?;
    let path = join(&directory, &format!("{}.{ending}", used.path.first()?));
    let surface = lookups.surface(side, &path)?;
    let is_there = surface.package.as_ref() == Some(namespace)
        && surface.definitions.iter().any(|each| {
            each.owner.is_none()
                && each.kind == DefinitionKind::Type
                && used.path.first() == Some(&each.name.name)
        });
    is_there.then(|| member(namespace.clone(), &used.path)).flatten()
}

/// Resolves a use in the tree of one side; `None` where it does not surely lead into the repository.
pub(super) fn place(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    match importer.parse_family()? {
        MentionKind::Ecma => of_ecma(lookups, side, importer, used),
        MentionKind::Go => of_go(lookups, side, importer, used),
        MentionKind::Java => of_java(lookups, side, importer, used),
        MentionKind::Python => of_python(lookups, side, importer, used),
        MentionKind::Ruby => of_ruby(lookups, side, used),
        MentionKind::Rust => of_rust(lookups, side, importer, used),
        MentionKind::CSharp | MentionKind::Php => beside(lookups, side, importer, used),
        MentionKind::C | MentionKind::Configuration | MentionKind::Lockfile => None,
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
    (used.path.first()? != "default").then(|| member(file, &used.path)).flatten()
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
    member(file, rest)
}

fn defines(lookups: &dyn Lookups, side: Side, file: &str, name: &str) -> bool {
    lookups.outline(side, file).is_some_and(|outline| outline.names.iter().any(|each| each.name == name))
}

fn of_go(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let own = split(importer).0.to_owned();
    let file = match &used.module {
        Some(module) => split(&file_of(lookups, side, importer, &import(module, &[]))?).0.to_owned(),
        None => own,
    };
    member(file, &used.path)
}

fn of_java(lookups: &dyn Lookups, side: Side, importer: &str, used: &PlacedUse) -> Option<Place> {
    let package = match &used.module {
        Some(module) => module.clone(),
        None => lookups.surface(side, importer)?.package.clone()?,
    };
    // A package is one directory in any layout.
    let directory = split(importer).0;
    let file = join(directory, &format!("{}.java", used.path.first()?));
    if used.module.is_none()
        && lookups.surface(side, &file).is_some_and(|file| file.package == Some(package.clone()))
    {
        return member(file, &used.path);
    }
    let all: Vec<String> = package.split('.').map(str::to_owned).chain(used.path.iter().cloned()).collect();
    let class = all.iter().position(|part| part.starts_with(char::is_uppercase))?;
    let file = file_of(lookups, side, importer, &import(&all[..class].join("."), &all[class..=class]))?;
    member(file, &all[class..])
}

/// Resolves a call on a constant of Ruby to the only file that defines the module of that name, the nearest one first.
fn of_ruby(lookups: &dyn Lookups, side: Side, used: &PlacedUse) -> Option<Place> {
    /// Maximum number of files with a module of the name that are read.
    const MOST_FILES: usize = 8;
    let (name, module) = used.path.split_last()?;
    let last = module.last()?;
    let heads = [format!("class {last}"), format!("module {last}")];
    let found = lookups.mentions(side, MentionKind::Ruby, &heads);
    if !found.complete || found.paths.len() > MOST_FILES {
        return None;
    }
    let written = module.join("::");
    let mut around = used.module.as_deref().unwrap_or_default();
    loop {
        let full = if around.is_empty() { written.clone() } else { format!("{around}::{written}") };
        let mut files = found.paths.iter().filter(|path| has_module(lookups, side, path, &full));
        match (files.next(), files.next()) {
            (Some(file), None) => {
                return Some(Place { file: file.clone(), owner: Some(full), name: name.clone() });
            }
            (Some(_), Some(_)) => return None,
            (None, _) if around.is_empty() => return None,
            (None, _) => around = around.rsplit_once("::").map_or("", |(outer, _)| outer),
        }
    }
}

/// Returns whether a file of Ruby defines a module or a class by its full name.
fn has_module(lookups: &dyn Lookups, side: Side, path: &str, name: &str) -> bool {
    lookups.surface(side, path).is_some_and(|surface| {
        surface.definitions.iter().any(|each| each.owner.is_none() && each.name.name == name)
    })
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

/// Returns whether a file of Go is in every build, and in the package of its directory where it uses a name of its own, not
/// in that of its tests.
pub(super) fn is_same_package(lookups: &dyn Lookups, path: &str, used: &PlacedUse, place: &Place) -> bool {
    if path.parse_family() != Some(MentionKind::Go) {
        return true;
    }
    let Some(own) = lookups.surface(Side::Head, path) else { return false };
    if used.module.is_some() {
        // A file that no build has may be left as it was.
        return !own.conditional;
    }
    let is_test = own.package.as_deref().is_some_and(|package| package.ends_with("_test"));
    let is_exported = place.name.starts_with(char::is_uppercase);
    !own.conditional && !own.open && !is_test && (is_exported || !is_predeclared(&place.name))
}

/// Returns whether a name of Go means something without a definition.
fn is_predeclared(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "any",
        "append",
        "bool",
        "byte",
        "cap",
        "clear",
        "close",
        "comparable",
        "complex",
        "copy",
        "delete",
        "error",
        "false",
        "float32",
        "float64",
        "imag",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "iota",
        "len",
        "make",
        "max",
        "min",
        "new",
        "nil",
        "panic",
        "print",
        "println",
        "real",
        "recover",
        "rune",
        "string",
        "true",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "uintptr",
    ];
    NAMES.contains(&name)
}

/// Follows a name through files that only hand it on, to the one that defines it.
pub(super) fn followed(lookups: &dyn Lookups, side: Side, place: Place) -> Option<Place> {
    let mut place = place;
    for _ in 0..MOST_STEPS {
        if !matches!(place.file.parse_family(), Some(MentionKind::Ecma | MentionKind::Python)) {
            return Some(place);
        }
        let surface = lookups.surface(side, &place.file)?;
        // A member is where its type is.
        let first = place.owner.as_ref().unwrap_or(&place.name).clone();
        let mut named =
            surface.definitions.iter().filter(|each| each.name.name == first && each.owner.is_none());
        if named.clone().any(|each| each.kind != DefinitionKind::Imported) {
            return Some(place);
        }
        named.next()?;
        let outline = lookups.outline(side, &place.file)?;
        let mut origins = outline
            .imports
            .iter()
            .filter(|import| import.names.iter().any(|name| name.name == first) && !import.weak);
        let (origin, None) = (origins.next()?, origins.next()) else { return None };
        place.file = file_of(lookups, side, &place.file, origin)?;
    }
    None
}
