//! Lockfiles in JSON: npm, bun, deno, Pipenv, composer, NuGet, Swift packages, Nix flakes.

use super::{
    Checksum, LockedPackage, Packages, Part, at_commit, expect_list, expect_map, map_at, missing, part,
    part_at, required_map, split_name, unexpected,
};
use crate::documents::{Entry, Node};

/// Versions 1 to 3. Version 2 has every package twice, for old and new npm; an entry that only repeats is left out.
pub(super) fn npm(root: Node<'_>) -> Packages {
    let mut found = Vec::new();
    let packages = map_at(root, "packages")?;
    let dependencies = map_at(root, "dependencies")?;
    if packages.is_none() && dependencies.is_none() && root.get("lockfileVersion").is_none() {
        return Err(missing(root.span(), "lockfileVersion"));
    }
    for entry in packages.into_iter().flat_map(Node::entries) {
        let value = expect_map(entry.value)?;
        let Some((_, folder)) = entry.key.rsplit_once("node_modules/") else { continue };
        let name = part(value.get("name")).unwrap_or_else(|| Part::new(folder, entry.key_span));
        found.push(npm_package(name, value));
    }
    let mut known: std::collections::BTreeSet<_> = found.iter().map(content).collect();
    let mut pending: Vec<Node<'_>> = dependencies.into_iter().collect();
    while let Some(dependencies) = pending.pop() {
        for entry in dependencies.entries() {
            let value = expect_map(entry.value)?;
            let package = npm_package(Part::new(entry.key, entry.key_span), value);
            if known.insert(content(&package)) {
                found.push(package);
            }
            pending.extend(map_at(value, "dependencies")?);
        }
    }
    found.sort_by_key(|package| package.span);
    Ok(found)
}

fn content(package: &LockedPackage) -> Vec<String> {
    let own = [package.name.text.as_str(), package.version_text(), package.source_text()];
    let sums = package.checksums.iter().map(|checksum| checksum.sum.text.as_str());
    own.into_iter().chain(sums).map(str::to_owned).collect()
}

fn npm_package(name: Part, value: Node<'_>) -> LockedPackage {
    let mut package = LockedPackage::new(name, value.span());
    package.version = part(value.get("version"));
    package.source = part(value.get("resolved"));
    package.install_script = super::flagged(value, "hasInstallScript");
    add_integrity(&mut package, part(value.get("integrity")));
    package
}

/// Adds each of the checksums of an integrity text, which blanks part.
pub(super) fn add_integrity(package: &mut LockedPackage, integrity: Option<Part>) {
    let Some(integrity) = integrity else { return };
    for sum in integrity.text.split_whitespace() {
        package.add_checksum(Some(Part::new(sum, integrity.span)));
    }
}

/// `"name": ["name@version", registry or settings …, checksum]`
pub(super) fn bun(root: Node<'_>) -> Packages {
    let mut found = Vec::new();
    for entry in required_map(root, "packages")?.entries() {
        let items: Vec<Node<'_>> = expect_list(entry.value)?.items().collect();
        let identity =
            part(items.first().copied()).ok_or_else(|| unexpected(entry.value.span(), "name@version"))?;
        let (name, version) = split_name(&identity.text).unwrap_or((&identity.text, ""));
        let mut package = LockedPackage::new(Part::new(name, identity.span), entry.value.span());
        let is_address = version.contains("://") || version.contains(':');
        let version = (!version.is_empty()).then(|| Part::new(version, identity.span));
        package.source = part(items.get(1).copied());
        if is_address && package.source.is_none() {
            package.source = version.clone();
        }
        package.version = version;
        let sum = items.get(2..).and_then(<[Node<'_>]>::last);
        add_integrity(&mut package, part(sum.copied()));
        found.push(package);
    }
    Ok(found)
}

/// `npm`, `jsr` and `remote`, at the root since version 4, below `packages` or `npm.packages` before.
pub(super) fn deno(root: Node<'_>) -> Packages {
    let root = expect_map(root)?;
    if root.get("version").is_none() {
        return Err(missing(root.span(), "version"));
    }
    let mut found = Vec::new();
    let packages = root.get("packages").unwrap_or(root);
    for registry in ["jsr", "npm"] {
        let Some(section) = map_at(packages, registry)? else { continue };
        for entry in section.get("packages").unwrap_or(section).entries() {
            let Some((name, version)) = split_name(entry.key) else { continue };
            let mut package = LockedPackage::new(Part::new(name, entry.key_span), entry.value.span());
            package.version = Some(Part::new(version, entry.key_span));
            package.source = part(entry.value.get("tarball"));
            add_integrity(&mut package, part(entry.value.get("integrity")));
            found.push(package);
        }
    }
    for entry in map_at(root, "remote")?.into_iter().flat_map(Node::entries) {
        let address = Part::new(entry.key, entry.key_span);
        let mut package = LockedPackage::new(address.clone(), entry.value.span());
        package.source = Some(address);
        package.add_checksum(part(Some(entry.value)));
        found.push(package);
    }
    Ok(found)
}

/// Parses `Pipfile.lock`, which has a map of packages for each category.
pub(super) fn pipfile(root: Node<'_>) -> Packages {
    if map_at(root, "_meta")?.is_none() {
        return Err(missing(root.span(), "_meta"));
    }
    let mut found = Vec::new();
    for category in root.entries().filter(|category| category.key != "_meta") {
        for entry in expect_map(category.value)?.entries() {
            let value = expect_map(entry.value)?;
            let mut package = LockedPackage::new(Part::new(entry.key, entry.key_span), value.span());
            package.version = part(value.get("version")).map(|version| {
                let text = version.text.trim_start_matches('=').to_owned();
                Part::new(text, version.span)
            });
            let address =
                ["git", "hg", "svn", "file", "path", "index"].iter().find_map(|key| part(value.get(key)));
            package.source = at_commit(address, part(value.get("ref")));
            for hash in value.get("hashes").into_iter().flat_map(Node::items) {
                package.add_checksum(part(Some(hash)));
            }
            found.push(package);
        }
    }
    Ok(found)
}

pub(super) fn composer(root: Node<'_>) -> Packages {
    if root.get("packages").is_none() {
        return Err(missing(root.span(), "packages"));
    }
    let mut found = Vec::new();
    for key in ["packages", "packages-dev"] {
        let Some(list) = root.get(key) else { continue };
        for value in expect_list(list)?.items() {
            let name = part(value.get("name")).ok_or_else(|| missing(value.span(), "name"))?;
            let mut package = LockedPackage::new(name, value.span());
            package.version = part(value.get("version"));
            let dist = at_commit(part_at(value, &["dist", "url"]), part_at(value, &["dist", "reference"]));
            let repository =
                at_commit(part_at(value, &["source", "url"]), part_at(value, &["source", "reference"]));
            package.source = dist.or(repository);
            package.add_checksum(part_at(value, &["dist", "shasum"]));
            // A released version is of one commit, and mostly has no other checksum.
            let version = package.version_text();
            let is_released =
                !version.is_empty() && !version.starts_with("dev-") && !version.ends_with("-dev");
            if is_released {
                let commits = [&["dist", "reference"], &["source", "reference"]];
                package.add_checksum(commits.iter().find_map(|path| part_at(value, *path)));
            }
            found.push(package);
        }
    }
    Ok(found)
}

/// Parses NuGet's lockfile, which has a map of packages for each framework.
pub(super) fn nuget(root: Node<'_>) -> Packages {
    let mut found = Vec::new();
    for framework in required_map(root, "dependencies")?.entries() {
        for entry in expect_map(framework.value)?.entries() {
            let value = expect_map(entry.value)?;
            let mut package = LockedPackage::new(Part::new(entry.key, entry.key_span), value.span());
            package.version = part(value.get("resolved"));
            package.add_checksum(part(value.get("contentHash")));
            found.push(package);
        }
    }
    Ok(found)
}

/// `pins`, inside of `object` in version 1. The commit is the checksum.
pub(super) fn swift(root: Node<'_>) -> Packages {
    let pins =
        root.get("pins").or(root.at(&["object", "pins"])).ok_or_else(|| missing(root.span(), "pins"))?;
    let mut found = Vec::new();
    for pin in expect_list(pins)?.items() {
        let name = part(pin.get("identity").or(pin.get("package")));
        let name = name.ok_or_else(|| missing(pin.span(), "identity"))?;
        let mut package = LockedPackage::new(name, pin.span());
        let commit = part_at(pin, &["state", "revision"]);
        package.version = part_at(pin, &["state", "version"]).or(commit.clone());
        package.source = part(pin.get("location").or(pin.get("repositoryURL")));
        package.add_checksum(commit);
        found.push(package);
    }
    Ok(found)
}

/// Returns the inputs of a flake; the root has no source of its own.
pub(super) fn flake(root: Node<'_>) -> Packages {
    let mut found = Vec::new();
    for Entry { key, key_span, value } in required_map(root, "nodes")?.entries() {
        let Some(locked) = map_at(value, "locked")? else { continue };
        let mut package = LockedPackage::new(Part::new(key, key_span), value.span());
        package.version = part(locked.get("rev"));
        let words: Vec<Part> = ["type", "host", "owner", "repo", "url", "path"]
            .iter()
            .filter_map(|key| part(locked.get(key)))
            .collect();
        let text: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
        package.source = words.last().map(|last| Part::new(text.join("/"), last.span));
        package.checksums.extend(part(locked.get("narHash")).map(|sum| Checksum { sum, file: None }));
        found.push(package);
    }
    Ok(found)
}
