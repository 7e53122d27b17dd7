//! Python: packages and modules, relative and absolute.

use super::super::contract::Lookups;
use super::standard;
use super::target::{Has, Target, has_stem, join, split};
use qa_contracts::v1::Side;

const PACKAGE: &str = "__init__.py";
/// Directories in which packages are looked for, besides that of the importing file.
const ROOTS: &[&str] = &["", "src", "lib", "python"];

pub(super) fn target(lookups: &dyn Lookups, side: Side, importer: &str, module: &str) -> Target {
    let rest = module.trim_start_matches('.');
    let dots = module.len() - rest.len();
    let parts: Vec<&str> = rest.split('.').filter(|part| !part.is_empty()).collect();
    let (directory, _) = split(importer);
    if dots == 0 {
        return absolute(lookups, side, directory, &parts);
    }
    let mut from = directory;
    for _ in 1..dots {
        if from.is_empty() {
            return Target::Unsure;
        }
        from = split(from).0;
    }
    below(lookups, side, from, &parts)
}

fn is_package(lookups: &dyn Lookups, side: Side, directory: &str) -> bool {
    lookups.files_in(side, directory).iter().any(|file| file == PACKAGE)
}

/// An absolute import is only sure when exactly one package of the repository has the name.
fn absolute(lookups: &dyn Lookups, side: Side, directory: &str, parts: &[&str]) -> Target {
    let Some((top, rest)) = parts.split_first() else { return Target::Unsure };
    // Which of both it is depends on how the program is started.
    if standard::MODULES.binary_search(top).is_ok() {
        return Target::Unsure;
    }
    let mut root = directory;
    while !root.is_empty() && is_package(lookups, side, root) {
        root = split(root).0;
    }
    let mut roots: Vec<&str> = ROOTS.iter().copied().chain([root]).collect();
    roots.sort_unstable();
    roots.dedup();
    let module = format!("{top}.py");
    let mut packages = Vec::new();
    for root in roots {
        let package = join(root, top);
        if is_package(lookups, side, &package) {
            packages.push(package);
        }
        if lookups.files_in(side, root).contains(&module) {
            return Target::Unsure;
        }
    }
    match packages.as_slice() {
        [package] => below(lookups, side, package, rest),
        _ => Target::Unsure,
    }
}

/// The one file of a module whose directories do not say that they are packages, which they need not.
pub(super) fn loose(lookups: &dyn Lookups, side: Side, module: &str) -> Option<String> {
    let (directories, name) = module.rsplit_once('.')?;
    let parts: Vec<&str> = directories.split('.').collect();
    if parts.contains(&"") || name.is_empty() || standard::MODULES.binary_search(&parts[0]).is_ok() {
        return None;
    }
    let file = format!("{name}.py");
    let mut found = ROOTS.iter().filter_map(|root| {
        let directory = parts.iter().fold((*root).to_owned(), |above, part| join(&above, part));
        lookups.files_in(side, &directory).contains(&file).then(|| join(&directory, &file))
    });
    found.next().filter(|_| found.next().is_none())
}

fn below(lookups: &dyn Lookups, side: Side, directory: &str, parts: &[&str]) -> Target {
    let mut directory = directory.to_owned();
    for (index, part) in parts.iter().enumerate() {
        let files = lookups.files_in(side, &directory);
        let package = join(&directory, part);
        if is_package(lookups, side, &package) {
            directory = package;
            continue;
        }
        if files.iter().any(|file| *file == format!("{part}.py")) {
            let last = index + 1 == parts.len();
            return if last { Target::File(format!("{package}.py")) } else { Target::Unsure };
        }
        if has_stem(&files, part)
            || lookups.is_present(side, &package)
            // A link is no regular file.
            || lookups.is_present(side, &format!("{package}.py"))
            || !files.iter().any(|file| file == PACKAGE)
        {
            return Target::Unsure;
        }
        // A package may look for its modules elsewhere, or put them where imports look first.
        let relocates =
            lookups.outline(side, &join(&directory, PACKAGE)).is_none_or(|outline| outline.relocates);
        return if relocates { Target::Unsure } else { Target::Missing(package) };
    }
    if is_package(lookups, side, &directory) {
        Target::File(join(&directory, PACKAGE))
    } else {
        Target::Unsure
    }
}

pub(super) fn has(lookups: &dyn Lookups, side: Side, file: &str, name: &str) -> Has {
    let Some(outline) = lookups.outline(side, file) else { return Has::Unsure };
    if outline.names.iter().any(|known| known.name == name) {
        return Has::Yes;
    }
    let (directory, own) = split(file);
    let stub = own.trim_end_matches(".py").to_owned() + ".pyi";
    let files = lookups.files_in(side, directory);
    if own == PACKAGE && (has_stem(&files, name) || lookups.is_present(side, &join(directory, name))) {
        return Has::Yes;
    }
    if outline.open || name.starts_with("__") || files.contains(&stub) { Has::Unsure } else { Has::No }
}
