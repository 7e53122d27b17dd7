//! JavaScript and TypeScript: packages of specifiers, and what a package.json names.

use super::super::contract::Lookups;
use super::Judgement;
use super::known::NODE;
use super::manifest::{above, is_near, nearly};

/// What a place where code runs brings, and no manifest names.
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
    let plain = |part: &str| {
        let letters =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_.".contains(letter);
        part.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
            && part.chars().all(letters)
    };
    let is_package = match package.strip_prefix('@') {
        Some(scoped) => scoped.split_once('/').is_some_and(|(scope, name)| plain(scope) && plain(name)),
        None => plain(package),
    };
    // A name with an ending is a file that some plug-in makes.
    let is_file = package
        .rsplit_once('.')
        .is_some_and(|(_, ending)| ["css", "html", "json", "scss", "svg"].contains(&ending));
    (is_package && !is_file).then_some(package)
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
        manifests.into_iter().partition(|(path, _)| path.ends_with("package.json"));
    let (manifest, _) = packages.first()?;
    // Names that a compiler is told to look for elsewhere.
    let mapped = settings.iter().flat_map(|(_, lines)| lines);
    if mapped
        .into_iter()
        .any(|line| line.contains("\"baseUrl\"") || line.contains("\"extends\"") && line.contains("\"*\""))
        && !package.starts_with('@')
    {
        return None;
    }
    let names: Vec<&str> =
        packages.iter().flat_map(|(_, lines)| lines).flat_map(|line| line.split('"')).collect();
    let declared = |name: &&str| {
        *name == package
            || name.strip_prefix("@types/") == Some(&package.trim_start_matches('@').replace('/', "__"))
    };
    if names.iter().any(declared) || is_near(lookups, path, first) {
        return None;
    }
    let dependencies = packages.iter().flat_map(|(_, lines)| lines).filter_map(|line| dependency(line));
    let resembles = nearly(package, dependencies).map(str::to_owned);
    Some(Judgement { package: package.to_owned(), manifest: manifest.clone(), resembles })
}

/// The name on a line `"name": "version"`.
fn dependency(line: &str) -> Option<&str> {
    let (name, version) = line.strip_prefix('"')?.split_once("\": \"")?;
    let versions = |first: char| first.is_ascii_digit() || "^~>=<*".contains(first);
    let is_version =
        version.starts_with(versions) || version.starts_with("workspace:") || version.starts_with("catalog:");
    (is_version && package(name) == Some(name)).then_some(name)
}
