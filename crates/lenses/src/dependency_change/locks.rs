//! Lockfiles as packages: the same version with another checksum, a package from elsewhere, a script on installation.

use std::collections::{BTreeMap, BTreeSet};

use super::address::{Origin, is_local};
use super::{CHANGED, ELSEWHERE, Finding, INSTALL, Place, REMOVED};
use qa_reading::packages::{LockFormat, LockedPackage, Part};
use qa_reading::syntax::Span;

/// A package as far as its checksums have to stay the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Identity<'p> {
    name: &'p str,
    version: &'p str,
    /// Repository with its commit; none for what a registry publishes once.
    repository: Option<&'p str>,
}

/// Checksums that have to agree: those of one kind of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group<'p> {
    /// Name of the file; empty for the package itself.
    file: &'p str,
    kind: &'p str,
    length: usize,
}

/// The entries of one identity: a lockfile may have a package at several places.
#[derive(Debug, Default)]
struct Entry<'p> {
    sums: BTreeMap<Group<'p>, BTreeMap<&'p str, Span>>,
    places: Vec<Span>,
}

impl Entry<'_> {
    /// Size in bits of the strongest checksum.
    fn strength(&self) -> usize {
        let sums = self.sums.values().flat_map(BTreeMap::keys);
        let bits = sums.map(|sum| {
            let digest = digest(sum);
            let is_hex = digest.bytes().all(|byte| byte.is_ascii_hexdigit());
            digest.trim_end_matches('=').len() * if is_hex { 4 } else { 6 }
        });
        bits.max().unwrap_or(0)
    }
}

/// Bits by which two spellings of a digest of one length differ.
const PADDING: usize = 8;

/// Returns the checksum behind the name of its kind: `sha512-…`, `sha256:…`, `h1:…`, `10c0/…`.
pub(super) fn digest(sum: &str) -> &str {
    match sum.find(['-', ':', '/', '=']) {
        Some(at) if is_kind(&sum[..at], sum[at..].starts_with('/')) => &sum[at + 1..],
        Some(_) | None => sum,
    }
}

/// Returns whether the text before a sign is the name of a kind, and not the begin of a checksum, which may have a
/// slash too.
fn is_kind(text: &str, before_slash: bool) -> bool {
    match before_slash {
        true => text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'c'),
        false => text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

fn entries(format: LockFormat, packages: &[LockedPackage]) -> BTreeMap<Identity<'_>, Entry<'_>> {
    let mut entries: BTreeMap<Identity<'_>, Entry<'_>> = BTreeMap::new();
    for package in packages {
        let source = source(package);
        let Some(version) = package.version.as_ref().filter(|_| !is_local(source)) else { continue };
        let is_commit = source.starts_with("patch:") || is_own_repository(format, source);
        let repository = is_commit.then_some(source);
        let entry = entries
            .entry(Identity { name: &package.name.text, version: &version.text, repository })
            .or_default();
        entry.places.extend([version.span, package.name.span, package.span]);
        for checksum in &package.checksums {
            let sum = checksum.sum.text.as_str();
            let digest = digest(sum);
            // A secret that was masked has no checksum's value.
            if digest.starts_with('*') {
                continue;
            }
            let file = checksum.file.as_ref().map(|file| file_name(&file.text)).unwrap_or_default();
            let group = Group { file, kind: &sum[..sum.len() - digest.len()], length: digest.len() };
            entry.sums.entry(group).or_default().entry(sum).or_insert(checksum.sum.span);
        }
    }
    entries
}

fn file_name(address: &str) -> &str {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    path.rsplit('/').next().unwrap_or(path)
}

/// Returns whether a source is a repository that a project chose, and not the usual place of what a registry lists.
fn is_own_repository(format: LockFormat, source: &str) -> bool {
    !lists_repositories(format) && Origin::parse(source).is_some_and(|origin| is_chosen(&origin))
}

fn is_chosen(origin: &Origin) -> bool {
    origin.is_repository && !origin.is_public_registry()
}

/// Returns whether every package of a lockfile comes from a repository of its own.
fn lists_repositories(format: LockFormat) -> bool {
    matches!(format, LockFormat::Composer | LockFormat::Flake | LockFormat::Swift)
}

/// Compares two versions of a lockfile.
pub(super) fn compare(format: LockFormat, base: &[LockedPackage], head: &[LockedPackage]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let old_entries = entries(format, base);
    for (identity, entry) in entries(format, head) {
        let Some(old) = old_entries.get(&identity) else { continue };
        findings.extend(changed(format, old, &entry));
        if entry.strength() + PADDING < old.strength() {
            let sums = old.sums.values().flat_map(BTreeMap::values);
            let mut places: Vec<Place> = sums.map(|span| Place::base(*span)).collect();
            places.extend(entry.places.iter().map(|span| Place::head(*span)));
            findings.push(Finding::new(REMOVED, "checksum of a locked version is removed", places));
        }
    }
    findings.extend(elsewhere(format, base, head));
    findings.extend(localized(base, head));
    let ran: BTreeSet<&str> =
        base.iter().filter(|package| package.install_script.is_some()).map(name).collect();
    for package in head.iter().filter(|package| !ran.contains(name(package))) {
        let Some(span) = package.install_script else { continue };
        let summary = "locked package runs an install script";
        let places = vec![Place::head(span), Place::head(package.span)];
        findings.push(Finding::new(INSTALL, summary, places).with("package", name(package)));
    }
    findings.sort_by_key(Finding::order);
    findings
}

fn name(package: &LockedPackage) -> &str {
    &package.name.text
}

fn source(package: &LockedPackage) -> &str {
    package.source_text()
}

/// Finds checksums that the entry did not have before.
///
/// An additional checksum of a kind counts as well, because a package manager accepts any of them. In formats that list
/// checksums of a package's files without their names it does not: there a version gained files.
fn changed(format: LockFormat, old: &Entry<'_>, new: &Entry<'_>) -> Option<Finding> {
    let lists_files = matches!(format, LockFormat::Pipfile | LockFormat::Python);
    for (group, sums) in &new.sums {
        let Some(before) = old.sums.get(group) else { continue };
        let gone = before.keys().find(|sum| !sums.contains_key(*sum));
        let added = sums.iter().find(|(sum, _)| !before.contains_key(*sum));
        let Some((_, span)) = added.filter(|_| gone.is_some() || !lists_files || !group.file.is_empty())
        else {
            continue;
        };
        let mut places = vec![Place::head(*span)];
        places.extend(new.places.iter().map(|span| Place::head(*span)));
        let was = gone.or(before.keys().next()).copied().unwrap_or_default();
        let summary = "checksum of the same version is changed";
        return Some(Finding::new(CHANGED, summary, places).with("was", was));
    }
    None
}

/// Finds packages from hosts and repositories that the lockfile did not name before, unless most come from there.
fn elsewhere(format: LockFormat, base: &[LockedPackage], head: &[LockedPackage]) -> Vec<Finding> {
    let mut known: BTreeMap<&str, BTreeSet<Origin>> = BTreeMap::new();
    for package in base {
        known
            .entry(package_key(format, package))
            .or_default()
            .extend(origins(package).map(|(_, origin)| origin));
    }
    let mut shares: BTreeMap<Origin, usize> = BTreeMap::new();
    for package in head {
        for origin in origins(package).map(|(_, origin)| origin).collect::<BTreeSet<_>>() {
            *shares.entry(origin).or_default() += 1;
        }
    }
    let published = head.iter().filter(|package| package.source.is_some() || !package.checksums.is_empty());
    let published = published.count();
    let mut findings = Vec::new();
    for package in head {
        let Some(before) = known.get(package_key(format, package)) else { continue };
        for (part, origin) in origins(package).filter(|(_, origin)| !before.contains(origin)) {
            let is_move = !origin.is_repository && !origin.is_plain && shares[&origin] * 2 > published;
            if origin.is_public_registry() || is_move || before.is_empty() && lists_repositories(format) {
                continue;
            }
            let summary = match (origin.is_plain, origin.is_repository) {
                (true, _) => "locked package is fetched without TLS",
                (false, true) => "locked package comes from a new repository",
                (false, false) => "locked package comes from a new host",
            };
            let places = vec![Place::head(part.span), Place::head(package.span)];
            findings.push(Finding::new(ELSEWHERE, summary, places).with("package", name(package)));
        }
    }
    findings
}

/// Finds the packages of a new lockfile that anybody on the way can replace.
pub(super) fn unprotected(packages: &[LockedPackage]) -> Vec<Finding> {
    packages.iter().filter_map(unprotected_package).collect()
}

fn unprotected_package(package: &LockedPackage) -> Option<Finding> {
    let (part, _) = origins(package).find(|(_, origin)| origin.is_plain && !origin.is_in_own_network())?;
    let places = vec![Place::head(part.span), Place::head(package.span)];
    let summary = "locked package is fetched without TLS";
    Some(Finding::new(ELSEWHERE, summary, places).with("package", name(package)))
}

/// Finds packages that a registry published and that come from a directory or a file now.
fn localized(base: &[LockedPackage], head: &[LockedPackage]) -> Vec<Finding> {
    let local_names: BTreeSet<&str> =
        base.iter().filter(|package| is_local(source(package))).map(name).collect();
    let names: BTreeSet<&str> = base.iter().map(name).collect();
    let published: BTreeSet<&str> = names.difference(&local_names).copied().collect();
    let mut findings = Vec::new();
    for package in
        head.iter().filter(|package| is_local(source(package)) && published.contains(name(package)))
    {
        let summary = "locked package comes from a local directory instead of its registry";
        let places = package.source.as_ref().map(|source| source.span).into_iter().chain([package.span]);
        let places = places.map(Place::head).collect();
        findings.push(Finding::new(ELSEWHERE, summary, places).with("package", name(package)));
    }
    findings
}

/// Returns the name under which the origins of a package are kept: one for all where packages share registries.
fn package_key(format: LockFormat, package: &LockedPackage) -> &str {
    if lists_repositories(format) { name(package) } else { "" }
}

fn origins(package: &LockedPackage) -> impl Iterator<Item = (&Part, Origin)> {
    let files = package.checksums.iter().filter_map(|checksum| checksum.file.as_ref());
    package.source.iter().chain(files).filter_map(|part| Some((part, Origin::parse(&part.text)?)))
}
