//! Lockfiles in YAML: pnpm, yarn since version 2, pub, CocoaPods.

use super::json::add_integrity;
use super::{
    LockedPackage, Packages, Part, at_commit, expect_list, expect_map, missing, part, part_at, required_map,
    split_name, unexpected,
};
use crate::documents::{Document, Entry, Node, ReadError};

/// Versions 5 to 9. Newer ones have a document for pnpm's own packages before that of the project.
pub(super) fn pnpm(document: &Document<'_>) -> Packages {
    let mut found = Vec::new();
    for root in document.roots() {
        let version = root.get("lockfileVersion").and_then(Node::text);
        let version = version.ok_or_else(|| missing(root.span(), "lockfileVersion"))?;
        for entry in super::map_at(root, "packages")?.into_iter().flat_map(Node::entries) {
            found.push(pnpm_package(&entry, version)?);
        }
    }
    Ok(found)
}

fn pnpm_package(entry: &Entry<'_>, lockfile_version: &str) -> Result<LockedPackage, ReadError> {
    let value = expect_map(entry.value)?;
    let (name, version) = pnpm_identity(entry.key, lockfile_version);
    let name = part(value.get("name")).unwrap_or_else(|| Part::new(name, entry.key_span));
    let mut package = LockedPackage::new(name, value.span());
    package.version = part(value.get("version")).or(Some(Part::new(version, entry.key_span)));
    let Some(resolution) = value.get("resolution") else {
        return Err(missing(value.span(), "resolution"));
    };
    let repository = at_commit(part(resolution.get("repo")), part(resolution.get("commit")));
    let archive = part(resolution.get("tarball").or(resolution.get("url")));
    package.source = archive.or(repository).or(part(resolution.get("directory")));
    package.install_script = super::flagged(value, "requiresBuild");
    add_integrity(&mut package, part(resolution.get("integrity")));
    Ok(package)
}

/// Splits `/name/1.0.0_peer` of version 5, or `/name@1.0.0(peer)` and `name@1.0.0` since.
fn pnpm_identity<'k>(key: &'k str, lockfile_version: &str) -> (&'k str, &'k str) {
    let text = key.strip_prefix('/').unwrap_or(key);
    let text = text.split('(').next().unwrap_or(text);
    if lockfile_version.starts_with('5') {
        // A peer's scope may have a slash, so the name is cut at its own.
        let slashes = if text.starts_with('@') { 2 } else { 1 };
        let mut places = text.match_indices('/').map(|(at, _)| at);
        if let Some(at) = places.nth(slashes - 1) {
            let version = &text[at + 1..];
            return (&text[..at], version.split('_').next().unwrap_or(version));
        }
    }
    split_name(text).unwrap_or((text, ""))
}

/// `"name@range": {version, resolution: "name@npm:version", checksum}`
pub(super) fn yarn(root: Node<'_>) -> Packages {
    required_map(root, "__metadata")?;
    let mut found = Vec::new();
    for entry in root.entries().filter(|entry| entry.key != "__metadata") {
        let value = expect_map(entry.value)?;
        let resolution = part(value.get("resolution")).ok_or_else(|| missing(value.span(), "resolution"))?;
        let Some((name, source)) = split_name(&resolution.text) else {
            return Err(unexpected(resolution.span, "name@source"));
        };
        let mut package = LockedPackage::new(Part::new(name, resolution.span), value.span());
        package.version = part(value.get("version"));
        package.source = Some(Part::new(source, resolution.span));
        package.add_checksum(part(value.get("checksum")));
        found.push(package);
    }
    Ok(found)
}

pub(super) fn pubspec(root: Node<'_>) -> Packages {
    let mut found = Vec::new();
    for entry in required_map(root, "packages")?.entries() {
        let value = expect_map(entry.value)?;
        let mut package = LockedPackage::new(Part::new(entry.key, entry.key_span), value.span());
        package.version = part(value.get("version"));
        let address = part_at(value, &["description", "url"]).or(part_at(value, &["description", "path"]));
        package.source = at_commit(address, part_at(value, &["description", "resolved-ref"]));
        package.add_checksum(part_at(value, &["description", "sha256"]));
        found.push(package);
    }
    Ok(found)
}

/// `PODS` has `Name (1.0)`, alone or with a list of dependencies; checksums and sources stand below.
pub(super) fn podfile(root: Node<'_>) -> Packages {
    let pods = root.get("PODS").ok_or_else(|| missing(root.span(), "PODS"))?;
    let mut found = Vec::new();
    for item in expect_list(pods)?.items() {
        let named = match item.entries().next() {
            Some(entry) => Part::new(entry.key, entry.key_span),
            None => part(Some(item)).ok_or_else(|| unexpected(item.span(), "Name (version)"))?,
        };
        let (name, version) = named.text.split_once(" (").unwrap_or((&named.text, ""));
        let mut package = LockedPackage::new(Part::new(name, named.span), item.span());
        let version = version.trim_end_matches(')');
        package.version = (!version.is_empty()).then(|| Part::new(version, named.span));
        // Parts of a pod have the checksum and the source of the whole.
        let pod = name.split('/').next().unwrap_or(name);
        package.add_checksum(part_at(root, &["SPEC CHECKSUMS", pod]));
        let external = root.at(&["EXTERNAL SOURCES", pod]);
        let address = [":git", ":podspec", ":path", ":http"].iter().find_map(|key| part(external?.get(key)));
        package.source = at_commit(address, part_at(root, &["CHECKOUT OPTIONS", pod, ":commit"]));
        found.push(package);
    }
    Ok(found)
}
