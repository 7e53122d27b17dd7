//! Lockfiles in TOML: Cargo, and those of Python.

use std::collections::BTreeMap;

use super::{Checksum, LockedPackage, Packages, Part, at_commit, expect_list, expect_map, missing, part};
use crate::documents::{Node, ReadError};

/// Checksums stand in their packages, and before version 2 in `metadata`.
pub(super) fn cargo(root: Node<'_>) -> Packages {
    let metadata: BTreeMap<&str, Node<'_>> = root
        .get("metadata")
        .into_iter()
        .flat_map(Node::entries)
        .filter_map(|entry| Some((entry.key.strip_prefix("checksum ")?, entry.value)))
        .collect();
    let mut found = Vec::new();
    for value in packages(root, "package")? {
        let mut package = LockedPackage::new(name(value)?, value.span());
        package.version = part(value.get("version"));
        package.source = part(value.get("source"));
        let key = format!("{} {} ({})", package.name.text, package.version_text(), package.source_text());
        package.add_checksum(part(value.get("checksum").or(metadata.get(key.as_str()).copied())));
        found.push(package);
    }
    Ok(found)
}

/// Elements of the array of packages; none is fine where a version says that it is a lockfile.
fn packages<'d>(root: Node<'d>, key: &str) -> Result<Vec<Node<'d>>, ReadError> {
    let Some(list) = root.get(key) else {
        let is_lockfile = ["version", "metadata", "lock-version"].iter().any(|key| root.get(key).is_some());
        return if is_lockfile { Ok(Vec::new()) } else { Err(missing(root.span(), key)) };
    };
    expect_list(list)?.items().map(expect_map).collect()
}

fn name(value: Node<'_>) -> Result<Part, ReadError> {
    part(value.get("name")).ok_or_else(|| missing(value.span(), "name"))
}

/// poetry, uv, pdm and `pylock.toml`: files with hashes stand in the package, or in `metadata` in old versions.
pub(super) fn python(root: Node<'_>) -> Packages {
    let key = if root.get("packages").is_some() { "packages" } else { "package" };
    let old_files = root.at(&["metadata", "files"]).or(root.at(&["metadata", "hashes"]));
    let mut found = Vec::new();
    for value in packages(root, key)? {
        let mut package = LockedPackage::new(name(value)?, value.span());
        package.version = part(value.get("version"));
        package.source = python_source(value);
        for list in ["files", "wheels"] {
            for file in value.get(list).into_iter().flat_map(Node::items) {
                add_file(&mut package, file);
            }
        }
        for single in ["sdist", "archive"] {
            if let Some(file) = value.get(single) {
                add_file(&mut package, file);
            }
        }
        let with_version = format!("{} {}", package.name.text, package.version_text());
        let old = old_files.and_then(|files| files.get(&package.name.text).or(files.get(&with_version)));
        for file in old.into_iter().flat_map(Node::items) {
            add_file(&mut package, file);
        }
        found.push(package);
    }
    Ok(found)
}

/// Address of a package that has one: poetry's and uv's `source`, pdm's and pylock's own members.
fn python_source(value: Node<'_>) -> Option<Part> {
    const ADDRESSES: &[&str] =
        &["url", "registry", "git", "hg", "path", "directory", "editable", "virtual", "index"];
    const COMMITS: &[&str] = &["resolved_reference", "revision", "reference", "commit-id", "ref"];
    let places = [value.get("source"), value.get("vcs"), Some(value)];
    places.into_iter().flatten().find_map(|place| {
        let address = ADDRESSES.iter().find_map(|key| part(place.get(key)));
        let commit = COMMITS.iter().find_map(|key| part(place.get(key)));
        at_commit(address, commit)
    })
}

/// Adds a hash, or a file with one or several.
fn add_file(package: &mut LockedPackage, file: Node<'_>) {
    let address = ["url", "file", "path", "name"].iter().find_map(|key| part(file.get(key)));
    let hashes = file.get("hashes").into_iter().flat_map(Node::entries).filter_map(|entry| {
        let sum = part(Some(entry.value))?;
        Some(Part::new(format!("{}:{}", entry.key, sum.text), sum.span))
    });
    let sums = part(Some(file)).or(part(file.get("hash"))).into_iter().chain(hashes);
    package.checksums.extend(sums.map(|sum| Checksum { sum, file: address.clone() }));
    if let (None, Some(address)) = (&package.source, address.filter(|address| address.text.contains("://"))) {
        package.source = Some(address);
    }
}
