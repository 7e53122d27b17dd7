//! Reads lockfiles of every package manager as one list of packages with version, source and checksums.

mod json;
mod lines;
mod mix;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::documents::{Document, Format, Node, ReadError};
pub use crate::lines::Part;
use crate::syntax::Span;

/// Lockfile of a package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LockFormat {
    Bun,
    Cargo,
    Composer,
    Deno,
    Flake,
    Gemfile,
    GoSum,
    Gradle,
    Mix,
    Npm,
    NuGet,
    Pipfile,
    Pnpm,
    Podfile,
    Pub,
    /// poetry, uv, pdm, and `pylock.toml`
    Python,
    Swift,
    /// Both formats: that of yarn 1, and YAML since yarn 2.
    Yarn,
}

/// A package of a lockfile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockedPackage {
    pub name: Part,
    /// Version; commit of a git source without one. None for packages of the project itself.
    pub version: Option<Part>,
    /// Address of the registry, archive or repository; none where the lockfile leaves it to the settings.
    pub source: Option<Part>,
    pub checksums: Vec<Checksum>,
    /// Place where the lockfile records that the package runs a script when it is installed.
    pub install_script: Option<Span>,
    /// Place of the whole entry.
    pub span: Span,
}

/// Packages of a lockfile, and what it has twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lockfile {
    /// In the order of the text.
    pub packages: Vec<LockedPackage>,
    pub repeated: Vec<Repeated>,
}

/// A name that a map, or a list of packages, has twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repeated {
    pub name: String,
    pub first: Span,
    pub last: Span,
}

/// Checksum of a package or of one of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    pub sum: Part,
    /// Name or address of the file.
    pub file: Option<Part>,
}

impl LockFormat {
    /// Returns the format of a file by its name, without folders.
    pub fn from_file_name(file_name: &str) -> Option<Self> {
        Some(match file_name {
            "package-lock.json" | "npm-shrinkwrap.json" | ".package-lock.json" => Self::Npm,
            "pnpm-lock.yaml" => Self::Pnpm,
            "yarn.lock" => Self::Yarn,
            "bun.lock" => Self::Bun,
            "deno.lock" => Self::Deno,
            "Cargo.lock" => Self::Cargo,
            "poetry.lock" | "uv.lock" | "pdm.lock" | "pylock.toml" => Self::Python,
            "Pipfile.lock" => Self::Pipfile,
            "go.sum" | "go.work.sum" => Self::GoSum,
            "Gemfile.lock" | "gems.locked" => Self::Gemfile,
            "composer.lock" => Self::Composer,
            "packages.lock.json" => Self::NuGet,
            "gradle.lockfile" | "buildscript-gradle.lockfile" => Self::Gradle,
            "pubspec.lock" => Self::Pub,
            "mix.lock" => Self::Mix,
            "Podfile.lock" => Self::Podfile,
            "Package.resolved" => Self::Swift,
            "flake.lock" => Self::Flake,
            // PEP 751 allows a name between.
            _ if file_name.starts_with("pylock.") && file_name.ends_with(".toml") => Self::Python,
            _ => return None,
        })
    }
}

/// Returns the packages of a lockfile, in the order of the text.
///
/// # Errors
/// Returns the errors of [`lockfile`].
pub fn locked_packages(format: LockFormat, text: &str) -> Result<Vec<LockedPackage>, ReadError> {
    lockfile(format, text).map(|lockfile| lockfile.packages)
}

/// Reads a lockfile.
///
/// # Errors
/// A text that the package manager would refuse, or that is no lockfile of the format. An empty text is an empty
/// lockfile only where the package manager writes one.
pub fn lockfile(format: LockFormat, text: &str) -> Result<Lockfile, ReadError> {
    if text.len() > crate::documents::MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    match format {
        LockFormat::GoSum => lines::go_sum(text).map(listed),
        LockFormat::Gemfile => lines::gemfile(text).map(Lockfile::from),
        LockFormat::Gradle => lines::gradle(text).map(Lockfile::from),
        LockFormat::Mix => mix::packages(text).map(Lockfile::from),
        LockFormat::Yarn if lines::is_yarn_1(text) => lines::yarn(text).map(Lockfile::from),
        LockFormat::Yarn => in_document(Format::Yaml, text, yaml::yarn),
        LockFormat::Pnpm => {
            let document = Document::parse(Format::Yaml, text)?;
            Ok(Lockfile { packages: yaml::pnpm(&document)?, repeated: repeated_keys(&document) })
        }
        LockFormat::Podfile => in_document(Format::Yaml, text, yaml::podfile),
        LockFormat::Pub => in_document(Format::Yaml, text, yaml::pubspec),
        LockFormat::Cargo => self::toml::cargo(Document::parse(Format::Toml, text)?.root()).map(listed),
        LockFormat::Python => in_document(Format::Toml, text, self::toml::python),
        LockFormat::Bun => in_document(Format::Json, text, json::bun),
        LockFormat::Composer => in_document(Format::Json, text, json::composer),
        LockFormat::Deno => in_document(Format::Json, text, json::deno),
        LockFormat::Flake => in_document(Format::Json, text, json::flake),
        LockFormat::Npm => in_document(Format::Json, text, json::npm),
        LockFormat::NuGet => in_document(Format::Json, text, json::nuget),
        LockFormat::Pipfile => in_document(Format::Json, text, json::pipfile),
        LockFormat::Swift => in_document(Format::Json, text, json::swift),
    }
}

type Packages = Result<Vec<LockedPackage>, ReadError>;

impl From<Vec<LockedPackage>> for Lockfile {
    fn from(packages: Vec<LockedPackage>) -> Self {
        Self { packages, repeated: Vec::new() }
    }
}

fn in_document(format: Format, text: &str, read: fn(Node<'_>) -> Packages) -> Result<Lockfile, ReadError> {
    let document = Document::parse(format, text)?;
    Ok(Lockfile { packages: read(document.root())?, repeated: repeated_keys(&document) })
}

/// Packages of a list without keys, in which a name, version and source stand once.
fn listed(packages: Vec<LockedPackage>) -> Lockfile {
    let mut known = BTreeMap::new();
    let mut repeated = Vec::new();
    for package in &packages {
        let identity = [Some(&package.name), package.version.as_ref(), package.source.as_ref()]
            .map(|part| part.map(|part| &part.text));
        if let Some(first) = known.insert(identity, package.span) {
            repeated.push(Repeated { name: package.name.text.clone(), first, last: package.span });
        }
    }
    Lockfile { packages, repeated }
}

/// Returns the keys that a map of a document has twice.
pub fn repeated_keys(document: &Document<'_>) -> Vec<Repeated> {
    let keys = document.shadowed().into_iter();
    keys.map(|key| Repeated { name: key.entry.key.to_owned(), first: key.entry.key_span, last: key.by })
        .collect()
}

impl LockedPackage {
    fn new(name: Part, span: Span) -> Self {
        Self { name, version: None, source: None, checksums: Vec::new(), install_script: None, span }
    }

    /// Returns the version; empty where the lockfile has none.
    pub fn version_text(&self) -> &str {
        self.version.as_ref().map(|version| version.text.as_str()).unwrap_or_default()
    }

    /// Returns the source; empty where the lockfile has none.
    pub fn source_text(&self) -> &str {
        self.source.as_ref().map(|source| source.text.as_str()).unwrap_or_default()
    }

    fn add_checksum(&mut self, sum: Option<Part>) {
        self.checksums.extend(sum.map(|sum| Checksum { sum, file: None }));
    }
}

/// Text of a scalar with its place; none where it is missing or empty.
fn part(node: Option<Node<'_>>) -> Option<Part> {
    let node = node?;
    let text = node.text().filter(|text| !text.is_empty())?;
    Some(Part::new(text, node.span()))
}

/// Place of a member that is true.
fn flagged(node: Node<'_>, key: &str) -> Option<Span> {
    node.entry(key).filter(|entry| entry.value.flag() == Some(true)).map(|entry| entry.key_span)
}

/// Scalar at a path of names.
fn part_at(node: Node<'_>, path: &[&str]) -> Option<Part> {
    part(node.at(path))
}

/// Address with the commit of a repository behind `#`.
fn at_commit(address: Option<Part>, commit: Option<Part>) -> Option<Part> {
    match (address, commit) {
        (Some(address), Some(commit)) => {
            let text = format!("{}#{}", address.text, commit.text);
            Some(Part::new(text, address.span))
        }
        (address, _) => address,
    }
}

/// Returns the member of a name, which has to be a map.
fn map_at<'d>(node: Node<'d>, key: &str) -> Result<Option<Node<'d>>, ReadError> {
    match node.get(key) {
        Some(member) => expect_map(member).map(Some),
        None => Ok(None),
    }
}

fn expect_map(node: Node<'_>) -> Result<Node<'_>, ReadError> {
    if node.is_map() { Ok(node) } else { Err(unexpected(node.span(), "a map")) }
}

fn expect_list(node: Node<'_>) -> Result<Node<'_>, ReadError> {
    if node.is_list() { Ok(node) } else { Err(unexpected(node.span(), "a list")) }
}

/// Returns the member of a name, which has to exist and to be a map.
fn required_map<'d>(node: Node<'d>, key: &str) -> Result<Node<'d>, ReadError> {
    map_at(node, key)?.ok_or_else(|| missing(node.span(), key))
}

fn missing(span: Span, key: &str) -> ReadError {
    ReadError::Syntax { message: format!("the lockfile has no `{key}`"), at: span.start }
}

fn unexpected(span: Span, wanted: &str) -> ReadError {
    ReadError::Syntax { message: format!("expected {wanted}"), at: span.start }
}

/// Splits `@scope/name@rest` behind the name.
fn split_name(text: &str) -> Option<(&str, &str)> {
    let at = text.char_indices().skip(1).find(|(_, character)| *character == '@')?.0;
    Some((&text[..at], &text[at + 1..]))
}
