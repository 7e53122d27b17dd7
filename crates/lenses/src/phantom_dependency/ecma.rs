//! JavaScript and TypeScript: packages of specifiers, and what a package.json names.

use super::super::contract::Lookups;
use super::Judgement;
use super::known::NODE;
use super::manifest::{above, document, is_near, nearly, words};
use qa_reading::documents::{Document, Format};

/// Modules that a runtime or bundler provides, so that no manifest names them.
const BROUGHT: &[&str] = &[
    "@generated",
    "@site",
    "@theme",
    "atom",
    "aws-sdk",
    "bun",
    "client-only",
    "electron",
    "k6",
    "server-only",
    "vscode",
];

/// The package of a specifier, if it is one of a package.
pub(super) fn package(specifier: &str) -> Option<&str> {
    let mut slashes = specifier.match_indices('/').map(|(at, _)| at);
    let end = if specifier.starts_with('@') { slashes.nth(1) } else { slashes.next() };
    let package = &specifier[..end.unwrap_or(specifier.len())];
    let is_package = match package.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| is_plain(scope) && is_plain(name)),
        None => is_plain(package),
    };
    // A name with an ending is a file that some plug-in makes.
    let is_file = package
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ["css", "html", "json", "scss", "svg"].contains(&ending));
    (is_package && !is_file).then_some(package)
}

/// Returns whether a part of a package's name has only what such names have.
fn is_plain(part: &str) -> bool {
    part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && part
            .chars()
            .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_.".contains(letter))
}

pub(super) fn judged(lookups: &dyn Lookups, path: &str, specifier: &str) -> Option<Judgement> {
    let package = package(specifier)?;
    let first = package.split('/').next().unwrap_or(package);
    if NODE.contains(&package) || BROUGHT.contains(&first) {
        return None;
    }
    let manifests =
        above(lookups, path, &|name| matches!(name, "package.json" | "tsconfig.json" | "jsconfig.json"));
    let (packages, settings): (Vec<_>, Vec<_>) =
        manifests.iter().partition(|manifest| manifest.name() == "package.json");
    let nearest = packages.first()?;
    // Names that a compiler is told to look for elsewhere.
    if !package.starts_with('@') && settings.iter().any(|manifest| maps_names(&manifest.text)) {
        return None;
    }
    let Some(documents) =
        packages.iter().map(|manifest| document(Format::Json, &manifest.text)).collect::<Option<Vec<_>>>()
    else {
        lookups.stop_short();
        return None;
    };
    let types = package.trim_start_matches('@').replace('/', "__");
    let words = documents.iter().flat_map(words);
    let mut names = words.flat_map(|words| std::iter::once(words.text).chain(words.keys));
    if names.any(|name| name == package || name.strip_prefix("@types/") == Some(&types))
        || is_near(lookups, path, first)
    {
        return None;
    }
    let dependencies = documents.iter().flat_map(|document| dependencies(document));
    let resembles = nearly(package, dependencies).map(str::to_owned);
    Some(Judgement { package: package.to_owned(), manifest: nearest.path.clone(), resembles })
}

/// Returns whether settings of a compiler map names of any form, or cannot be read.
fn maps_names(text: &str) -> bool {
    let Some(settings) = document(Format::Json, text) else { return true };
    let options = settings.root().get("compilerOptions");
    options.is_some_and(|options| options.get("baseUrl").is_some() || options.at(&["paths", "*"]).is_some())
}

/// Returns the names that a package.json gives a version.
fn dependencies<'d>(document: &'d Document<'_>) -> impl Iterator<Item = &'d str> {
    let lists = document.root().entries().filter(|list| list.key.ends_with("ependencies"));
    let versions = lists.flat_map(|list| list.value.entries());
    versions.filter(move |entry| entry.value.text().is_some_and(is_version)).map(|entry| entry.key)
}

fn is_version(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || "^~>=<*".contains(first))
        || text.starts_with("workspace:")
        || text.starts_with("catalog:")
}
