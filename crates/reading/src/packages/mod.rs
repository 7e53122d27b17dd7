//! Reads lockfiles of every package manager as one list of packages with version, source and checksums.

mod json;
mod lines;
mod mix;
mod toml;
mod yaml;

#[cfg(test)]
mod tests;

use crate::documents::{Document, Format, Node, ReadError};
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
    /// Place of the whole entry.
    pub span: Span,
}

/// Checksum of a package or of one of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    pub sum: Part,
    /// Name or address of the file.
    pub file: Option<Part>,
}

/// Text with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part {
    pub text: String,
    pub span: Span,
}

impl LockFormat {
    /// Returns the format of a file by its name, without folders.
    pub fn of(file_name: &str) -> Option<Self> {
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
/// A text that the package manager would refuse, or that is no lockfile of the format. An empty text is an empty
/// lockfile only where the package manager writes one.
pub fn locked_packages(format: LockFormat, text: &str) -> Result<Vec<LockedPackage>, ReadError> {
    if text.len() > crate::documents::MAX_BYTES {
        return Err(ReadError::TooLarge);
    }
    match format {
        LockFormat::GoSum => lines::go_sum(text),
        LockFormat::Gemfile => lines::gemfile(text),
        LockFormat::Gradle => lines::gradle(text),
        LockFormat::Mix => mix::read(text),
        LockFormat::Yarn if lines::is_yarn_1(text) => lines::yarn(text),
        LockFormat::Yarn => in_document(Format::Yaml, text, yaml::yarn),
        LockFormat::Pnpm => yaml::pnpm(&Document::parse(Format::Yaml, text)?),
        LockFormat::Podfile => in_document(Format::Yaml, text, yaml::podfile),
        LockFormat::Pub => in_document(Format::Yaml, text, yaml::pubspec),
        LockFormat::Cargo => in_document(Format::Toml, text, self::toml::cargo),
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

fn in_document(format: Format, text: &str, read: fn(Node<'_>) -> Packages) -> Packages {
    let document = Document::parse(format, text)?;
    read(document.root())
}

impl Part {
    pub(crate) fn new(text: impl Into<String>, span: Span) -> Self {
        Self { text: text.into(), span }
    }

    /// Part of the text at its place; at the place of the whole where an escape or a line end stands between.
    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let is_verbatim = self.span.end - self.span.start == self.text.len();
        let span = match is_verbatim {
            true => Span { start: self.span.start + range.start, end: self.span.start + range.end },
            false => self.span,
        };
        Self::new(&self.text[range], span)
    }
}

impl LockedPackage {
    fn new(name: Part, span: Span) -> Self {
        Self { name, version: None, source: None, checksums: Vec::new(), span }
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

/// The member of a name, which has to be a map.
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

/// The member of a name, which has to exist and to be a map.
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
