//! Names that head does not have: in a module, in a package, or in a type whose members are all known.

use std::sync::Arc;

use super::super::contract::Lookups;
use super::super::imports::{Has, has, has_stem, join, split};
use super::place::{Place, is_by_namespace};
use qa_contracts::v1::{Definition, DefinitionKind, MentionKind, ModuleSurface, Side};
use qa_reading::callers::CLOSED_TRAITS;

/// Most files of a package, or with the name of a type, that are read.
const MOST_FILES: usize = 80;
/// Most files with the name of a member that are asked whether they define it.
const MOST_SEARCHED: usize = 120;

/// Members that objects have without a definition, in one language or another.
const UNIVERSAL: &[&str] = &[
    "Deconstruct",
    "Equals",
    "GetHashCode",
    "GetType",
    "GetValueOrDefault",
    "HasValue",
    "ReferenceEquals",
    "ToString",
    "Value",
    "apply",
    "bind",
    "borrow",
    "borrow_mut",
    "call",
    "class",
    "clone",
    "clone_into",
    "constructor",
    "equals",
    "fmt",
    "from",
    "getClass",
    "hasOwnProperty",
    "hashCode",
    "into",
    "isPrototypeOf",
    "length",
    "mro",
    "name",
    "notify",
    "notifyAll",
    "prototype",
    "toLocaleString",
    "toString",
    "to_owned",
    "to_string",
    "try_from",
    "try_into",
    "type_id",
    "valueOf",
    "values",
    "wait",
];

/// Words of a file of JavaScript that gives objects members under names that it may put together.
const MADE_IN_ECMA: &[&str] = &[
    "(this)",
    "(this,",
    ".prototype",
    ": string]",
    "Object.assign",
    "Object.define",
    "Proxy(",
    "Reflect.",
    "declare module",
    "setPrototypeOf",
    "this[",
];
/// Words of a file of Python that does.
const MADE_IN_PYTHON: &[&str] = &[
    "__dict__",
    "__getattr",
    "__init_subclass__",
    "__new__",
    "locals(",
    "metaclass",
    "partialmethod",
    "setattr(",
    "type(",
    "vars(",
];

/// Methods that every module of Ruby has.
const OF_MODULES: &[&str] = &[
    "allocate",
    "ancestors",
    "attr",
    "constants",
    "display",
    "dup",
    "extend",
    "freeze",
    "hash",
    "include",
    "inspect",
    "instance_method",
    "instance_methods",
    "method",
    "methods",
    "module_eval",
    "new",
    "prepend",
    "send",
    "superclass",
    "tap",
    "then",
    "to_s",
];

/// Returns whether head has no definition of a name.
pub(super) fn is_missing(lookups: &dyn Lookups, kind: MentionKind, place: &Place) -> bool {
    let (file, name) = (&place.file, &place.name);
    if place.owner.is_some() && is_universal(name) {
        return false;
    }
    match (kind, &place.owner) {
        (MentionKind::Python, None) => {
            has(lookups, Side::Head, file, name) == Has::No
                && !mentions_one(lookups, file, &["global_enum", "_convert_"])
        }
        (MentionKind::Ecma, None) => {
            has(lookups, Side::Head, file, name) == Has::No || is_gone_from_exports(lookups, place)
        }
        (MentionKind::Rust, None) => lacks(lookups, file, name),
        (MentionKind::Java, None) => {
            !is_in_other_language(lookups, place) && is_defined_nowhere(lookups, MentionKind::Java, name)
        }
        (MentionKind::Go, _) => is_missing_in_go(lookups, place),
        (MentionKind::Php, None) => is_missing_in_php(lookups, place),
        (MentionKind::Rust, Some(owner)) => {
            is_missing_in_type(lookups, kind, place, owner)
                && are_nowhere(lookups, kind, &format!("fn {name}"))
                // A macro may define a function under any name.
                && !may_have(lookups, kind, "macro_rules", "fn $")
                && !has_foreign_trait(lookups, owner)
        }
        (MentionKind::Php, Some(owner)) => {
            is_missing_in_type(lookups, kind, place, owner) && is_defined_by_none(lookups, kind, name)
        }
        (MentionKind::CSharp, Some(owner)) => {
            is_missing_in_type(lookups, kind, place, owner)
                && !is_extended(lookups, name)
                && !may_have(lookups, kind, "extension", "extension(")
        }
        (MentionKind::Ecma, Some(owner)) => {
            is_missing_in_type(lookups, kind, place, owner)
                && !mentions_one(lookups, file, MADE_IN_ECMA)
                && is_made_nowhere(lookups, kind, owner, name)
        }
        (MentionKind::Java, Some(owner)) => is_missing_in_type(lookups, kind, place, owner),
        (MentionKind::Python, Some(owner)) => {
            is_missing_in_type(lookups, kind, place, owner)
                && !mentions_one(lookups, file, MADE_IN_PYTHON)
                && is_made_nowhere(lookups, kind, owner, name)
        }
        (MentionKind::Ruby, Some(owner)) => {
            !OF_MODULES.contains(&name.as_str())
                && is_only_module(lookups, place, owner)
                && is_missing_in_type(lookups, kind, place, owner)
        }
        // A type of another library may have the name of one that is gone.
        (MentionKind::CSharp | MentionKind::Ruby, None) => false,
        (MentionKind::C | MentionKind::Configuration | MentionKind::Lockfile, _) => false,
    }
}

/// Returns whether a call of a function with other parameters may mean another function than the changed one.
pub(super) fn has_other_meaning(lookups: &dyn Lookups, kind: MentionKind, place: &Place) -> bool {
    let (file, name) = (&place.file, &place.name);
    let Some(owner) = &place.owner else {
        return match kind {
            // Of a class with several parts, or of several classes of one name, each may have a constructor.
            MentionKind::CSharp => sole_type(lookups, kind, place, name).is_none(),
            MentionKind::Php => !is_defined_once(lookups, place),
            MentionKind::C
            | MentionKind::Configuration
            | MentionKind::Ecma
            | MentionKind::Go
            | MentionKind::Java
            | MentionKind::Lockfile
            | MentionKind::Python
            | MentionKind::Ruby
            | MentionKind::Rust => false,
        };
    };
    is_universal(name)
        || match kind {
            // A base may have a function of the same name.
            MentionKind::CSharp => {
                sole_type(lookups, kind, place, owner).is_none() || is_extended(lookups, name)
            }
            MentionKind::Ecma | MentionKind::Java => sole_type(lookups, kind, place, owner).is_none(),
            // A class that inherits may take fewer arguments.
            MentionKind::Php => !is_defined_once(lookups, place),
            MentionKind::Python => {
                sole_type(lookups, kind, place, owner).is_none()
                    || mentions_one(lookups, file, &[&format!("self.{name} =")])
            }
            MentionKind::Go | MentionKind::Rust => false,
            MentionKind::Ruby => {
                !is_only_module(lookups, place, owner) || mentions_one(lookups, file, &["alias", "prepend"])
            }
            MentionKind::C | MentionKind::Configuration | MentionKind::Lockfile => true,
        }
}

/// Returns whether one file alone defines a module of Ruby, and nothing gives it methods from outside.
fn is_only_module(lookups: &dyn Lookups, place: &Place, owner: &str) -> bool {
    let last = owner.rsplit("::").next().unwrap_or(owner);
    let found = lookups.mentions(Side::Head, MentionKind::Ruby, &[last.to_owned()]);
    if !found.complete || found.paths.len() > MOST_FILES {
        return false;
    }
    let given =
        ["class_eval", "define_singleton_method", "extend", "instance_eval", "prepend", "singleton_class"];
    let given: Vec<String> = given.iter().map(|method| format!("{last}.{method}")).collect();
    let heads = [format!("class << {last}"), format!("def {last}.")];
    let mut modules = 0;
    for path in &found.paths {
        let (Some(text), Some(surface)) = (lookups.text(Side::Head, path), lookups.surface(Side::Head, path))
        else {
            return false;
        };
        let is_given = given.iter().chain(&heads).any(|words| text.contains(words.as_str()));
        let named = surface
            .definitions
            .iter()
            .filter(|each| each.owner.is_none() && each.name.name.rsplit("::").next() == Some(last));
        let count = named.count();
        modules += count;
        if is_given || surface.open || count > 0 && *path != place.file {
            return false;
        }
    }
    modules == 1
}

pub(super) fn is_universal(name: &str) -> bool {
    name.starts_with("__") || UNIVERSAL.contains(&name)
}

/// Returns the definitions that a place may mean, with the surfaces that have them; `None` where some are not known.
pub(super) fn defined(lookups: &dyn Lookups, kind: MentionKind, place: &Place) -> Option<Vec<Definition>> {
    let mut all = Vec::new();
    let word = place.owner.as_ref().unwrap_or(&place.name);
    for Surface { definitions: surface, .. } in surfaces(lookups, kind, place, word)? {
        let is_ours = !is_by_namespace(kind) || surface.package.as_ref() == Some(&place.file);
        let found = surface
            .definitions
            .iter()
            .filter(|each| is_ours && each.name.name == place.name && each.owner == place.owner);
        let before = all.len();
        all.extend(found.cloned());
        if surface.conditional && all.len() > before {
            return None;
        }
    }
    Some(all)
}

/// A file of head and its definitions.
pub(super) struct Surface {
    path: String,
    pub(super) definitions: Arc<ModuleSurface>,
}

/// Returns the surfaces of the files of head that may define a type or a name of a place.
pub(super) fn surfaces(
    lookups: &dyn Lookups,
    kind: MentionKind,
    place: &Place,
    word: &str,
) -> Option<Vec<Surface>> {
    let paths = match kind {
        MentionKind::CSharp | MentionKind::Php => {
            let found = lookups.mentions(Side::Head, kind, &[word.to_owned()]);
            found.complete.then_some(found.paths)?
        }
        MentionKind::Go => {
            let files = lookups.files_in(Side::Head, &place.file);
            let files = files.iter().filter(|file| file.ends_with(".go"));
            files.map(|file| join(&place.file, file)).collect()
        }
        MentionKind::C
        | MentionKind::Configuration
        | MentionKind::Ecma
        | MentionKind::Java
        | MentionKind::Lockfile
        | MentionKind::Python
        | MentionKind::Ruby
        | MentionKind::Rust => vec![place.file.clone()],
    };
    if paths.is_empty() || paths.len() > MOST_FILES {
        return None;
    }
    let read = paths.into_iter().map(|path| {
        let surface = lookups.surface(Side::Head, &path)?;
        (!surface.open).then_some(Surface { path, definitions: surface })
    });
    read.collect()
}

/// Returns the file with the only type of a name, if all members of that are known.
pub(super) fn sole_type(
    lookups: &dyn Lookups,
    kind: MentionKind,
    place: &Place,
    owner: &str,
) -> Option<String> {
    let mut found = None;
    for Surface { path, definitions: surface } in surfaces(lookups, kind, place, owner)? {
        let named =
            surface.definitions.iter().filter(|each| each.owner.is_none() && each.name.name == *owner);
        for definition in named {
            let is_whole = definition.kind == DefinitionKind::Type && !definition.open;
            let is_other = is_by_namespace(kind) && surface.package.as_ref() != Some(&place.file);
            if found.is_some() || !is_whole || is_other || surface.conditional {
                return None;
            }
            found = Some(path.clone());
        }
    }
    found
}

/// Returns whether a type, all members of which are known, has none of a name. Its file must not have the word at all: a
/// field after the first, a constant of an enum and an assignment to an object are no definitions.
fn is_missing_in_type(lookups: &dyn Lookups, kind: MentionKind, place: &Place, owner: &str) -> bool {
    let Some(path) = sole_type(lookups, kind, place, owner) else { return false };
    lookups.text(Side::Head, &path).is_some_and(|text| {
        // PHP finds methods in any letters.
        let (text, name) = if kind == MentionKind::Php {
            (text.to_lowercase().into(), place.name.to_lowercase())
        } else {
            (text, place.name.clone())
        };
        !crate::mentions::has_word(kind, &text, &name)
    })
}

/// Returns whether a type of Rust implements a trait that may give it methods without a word in the repository: another
/// library's, or that of a pointer to another type.
pub(super) fn has_foreign_trait(lookups: &dyn Lookups, owner: &str) -> bool {
    let found = lookups.mentions(Side::Head, MentionKind::Rust, &[owner.to_owned()]);
    !found.complete
        || found.paths.len() > MOST_FILES
        || found.paths.iter().any(|path| {
            let text = lookups.text(Side::Head, path);
            text.is_none_or(|text| {
                // It has other names there.
                text.contains(&format!("{owner} as "))
                    || text.split("impl").skip(1).any(|after| !is_closed(after, owner))
            })
        })
}

/// Returns whether an implementation, the text after its keyword, is of another type, of none of its traits, or of one that
/// gives a type no method of another name.
fn is_closed(implementation: &str, owner: &str) -> bool {
    let header = implementation.split(['{', ';']).next().unwrap_or(implementation);
    let Some((implemented, of)) = header.split_once(" for ").or_else(|| header.split_once("\nfor ")) else {
        return true;
    };
    let mut named = of.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    if !named.any(|word| word == owner) {
        return true;
    }
    let path = without_arguments(implemented.trim_end());
    let name = path.rsplit(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or(path);
    CLOSED_TRAITS.contains(&name)
}

/// Returns a path without the list of arguments at its end.
fn without_arguments(path: &str) -> &str {
    let mut depth = 0_usize;
    for (at, sign) in path.char_indices().rev() {
        match sign {
            '>' => depth += 1,
            '<' if depth <= 1 => return &path[..at],
            '<' => depth -= 1,
            _ if depth == 0 => return path,
            _ => {}
        }
    }
    path
}

/// Returns whether nothing gives a type of JavaScript or Python a member when the code runs, by a text or an assignment, and
/// no other type has one that an object may be of.
fn is_made_nowhere(lookups: &dyn Lookups, kind: MentionKind, owner: &str, name: &str) -> bool {
    let words = [
        format!("\"{name}\""),
        format!("'{name}'"),
        format!("{name} ="),
        format!("{owner}.prototype"),
        format!("assign({owner}"),
    ];
    let found = lookups.mentions(Side::Head, kind, &words);
    found.complete
        && found.paths.is_empty()
        && !may_have(lookups, kind, owner, &format!("{owner}["))
        && is_defined_by_none(lookups, kind, name)
}

/// Returns whether a file of head with a word may have a text as well.
fn may_have(lookups: &dyn Lookups, kind: MentionKind, word: &str, text: &str) -> bool {
    let found = lookups.mentions(Side::Head, kind, &[word.to_owned()]);
    !found.complete
        || found.paths.len() > MOST_SEARCHED
        || found.paths.iter().any(|path| lookups.text(Side::Head, path).is_none_or(|all| all.contains(text)))
}

/// Returns whether no file of head defines a name in any way.
fn is_defined_by_none(lookups: &dyn Lookups, kind: MentionKind, name: &str) -> bool {
    let found = lookups.mentions(Side::Head, kind, &[name.to_owned()]);
    found.complete
        && found.paths.len() <= MOST_SEARCHED
        && found.paths.iter().all(|path| {
            lookups.surface(Side::Head, path).is_some_and(|surface| {
                !surface.definitions.iter().any(|each| each.name.name.eq_ignore_ascii_case(name))
            })
        })
}

/// Returns whether no file of a language has some words.
pub(super) fn are_nowhere(lookups: &dyn Lookups, kind: MentionKind, words: &str) -> bool {
    let found = lookups.mentions(Side::Head, kind, &[words.to_owned()]);
    found.complete && found.paths.is_empty()
}

/// Returns whether a function of PHP is the only one of its name.
fn is_defined_once(lookups: &dyn Lookups, place: &Place) -> bool {
    // A class has its constructor's parameters.
    let word = match &place.owner {
        None if place.name.starts_with(char::is_uppercase) => return is_only_type(lookups, place),
        None | Some(_) => format!("function {}", place.name),
    };
    let found = lookups.mentions(Side::Head, MentionKind::Php, &[word]);
    let [only] = &found.paths[..] else { return false };
    found.complete
        && lookups.surface(Side::Head, only).is_some_and(|surface| {
            !surface.open
                && surface.definitions.iter().filter(|each| each.name.name == place.name).count() == 1
        })
}

fn is_only_type(lookups: &dyn Lookups, place: &Place) -> bool {
    defined(lookups, MentionKind::Php, place).is_some_and(|all| all.len() == 1)
}

/// Returns whether a class or a function of PHP is defined nowhere, under any other name either.
fn is_missing_in_php(lookups: &dyn Lookups, place: &Place) -> bool {
    let found = lookups.mentions(Side::Head, MentionKind::Php, std::slice::from_ref(&place.name));
    is_defined_nowhere(lookups, MentionKind::Php, &place.name)
        && are_nowhere(lookups, MentionKind::Php, &format!("function {}", place.name))
        && !found.paths.iter().any(|path| mentions_one(lookups, path, &["class_alias"]))
}

/// Returns whether a method of C# is called on objects of another type than its own.
pub(super) fn is_extended(lookups: &dyn Lookups, name: &str) -> bool {
    let found = lookups.mentions(Side::Head, MentionKind::CSharp, &[name.to_owned()]);
    !found.complete
        || found.paths.len() > MOST_FILES
        || found.paths.iter().any(|path| {
            lookups.surface(Side::Head, path).is_none_or(|surface| {
                let mut named = surface.definitions.iter().filter(|each| each.name.name == name);
                named.any(|each| each.open && each.kind == DefinitionKind::Function)
            })
        })
}

/// Returns whether a file of head surely does not define a name.
fn lacks(lookups: &dyn Lookups, path: &str, name: &str) -> bool {
    lookups
        .surface(Side::Head, path)
        .is_some_and(|surface| !surface.open && surface.definitions.iter().all(|each| each.name.name != name))
}

/// Returns whether a CommonJS module lacks a name.
fn is_gone_from_exports(lookups: &dyn Lookups, place: &Place) -> bool {
    // To an outline of imports, such a module may have any name.
    place.file.ends_with("js")
        && lookups.outline(Side::Head, &place.file).is_some_and(|outline| outline.open)
        && lacks(lookups, &place.file, &place.name)
}

/// Returns whether no file of a package of Go has a name, or a type of it has no member of the name.
fn is_missing_in_go(lookups: &dyn Lookups, place: &Place) -> bool {
    let kind = MentionKind::Go;
    let Some(all) = surfaces(lookups, kind, place, &place.name) else { return false };
    let is_known = place.owner.as_ref().is_none_or(|owner| sole_type(lookups, kind, place, owner).is_some());
    is_known
        && all.iter().all(|Surface { path, definitions }| {
            let mut definitions = definitions.definitions.iter();
            definitions.all(|each| each.name.name != place.name || each.owner != place.owner)
                // A file that a command makes may not be in the repository.
                && !mentions_one(lookups, path, &["//go:generate"])
        })
}

/// Returns whether the text of a file at head contains one of some words, by which names come to be that it does not
/// write.
fn mentions_one(lookups: &dyn Lookups, path: &str, words: &[&str]) -> bool {
    lookups.text(Side::Head, path).is_some_and(|text| words.iter().any(|word| text.contains(word)))
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
fn is_defined_nowhere(lookups: &dyn Lookups, kind: MentionKind, class: &str) -> bool {
    let found = lookups.mentions(Side::Head, kind, &[class.to_owned()]);
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
