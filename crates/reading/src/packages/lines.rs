//! Lockfiles with formats of their own, line by line: yarn 1, go.sum, Gemfile.lock, Gradle.

use std::collections::BTreeMap;

use super::{Checksum, LockedPackage, Packages, Part, split_name};
use crate::documents::ReadError;
use crate::lines::lines;

/// `module version hash`, parted by blanks of any kind.
pub(super) fn go_sum(text: &str) -> Packages {
    let mut found = Vec::new();
    for line in lines(text) {
        let words: Vec<&str> = line.words().collect();
        let [module, version, sum] = words.as_slice() else {
            return Err(line.error("expected a module, its version and its hash"));
        };
        let mut package = LockedPackage::new(line.part(module), line.span());
        package.version = Some(line.part(version));
        package.add_checksum(Some(line.part(sum)));
        found.push(package);
    }
    Ok(found)
}

/// `group:name:version=configurations`
pub(super) fn gradle(text: &str) -> Packages {
    let mut found = Vec::new();
    for line in lines(text).filter(|line| !line.text.starts_with('#')) {
        let Some((module, _)) = line.text.split_once('=') else {
            return Err(line.error("expected `=` behind a module"));
        };
        if module.trim() == "empty" {
            continue;
        }
        let Some((name, version)) = module.trim().rsplit_once(':').filter(|(name, _)| name.contains(':'))
        else {
            return Err(line.error("expected group:name:version"));
        };
        let mut package = LockedPackage::new(line.part(name), line.span());
        package.version = Some(line.part(version));
        found.push(package);
    }
    Ok(found)
}

/// Sections with a `remote` and indented specs; checksums stand in a section of their own.
pub(super) fn gemfile(text: &str) -> Packages {
    let mut found: Vec<LockedPackage> = Vec::new();
    let mut sums: BTreeMap<String, Vec<Part>> = BTreeMap::new();
    let (mut section, mut remote, mut in_specs) = ("", None::<Part>, false);
    for line in lines(text) {
        if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| line.text.starts_with(mark)) {
            return Err(line.error("a merge conflict"));
        }
        if line.indent == 0 {
            if !line.text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b' ') {
                return Err(line.error("expected the name of a section"));
            }
            section = line.text;
            (remote, in_specs) = (None, false);
        } else if let Some(address) = line.text.strip_prefix("remote:") {
            remote = Some(line.part(address.trim()));
        } else if let (Some(commit), Some(remote)) = (line.text.strip_prefix("revision:"), &mut remote) {
            remote.text = format!("{}#{}", remote.text, commit.trim());
        } else if line.text == "specs:" {
            in_specs = true;
        } else if section == "CHECKSUMS" {
            let Some((gem, values)) = line.text.split_once(") ") else { continue };
            let parts = values.split(',').map(|sum| line.part(sum.trim()));
            sums.entry(format!("{gem})")).or_default().extend(parts);
        } else if in_specs && line.indent <= 4 {
            let Some((name, version)) = line.text.split_once(" (") else {
                return Err(line.error("expected name (version)"));
            };
            let mut package = LockedPackage::new(line.part(name), line.span());
            package.version = Some(line.part(version.trim_end_matches(['!', ')'])));
            package.source.clone_from(&remote);
            found.push(package);
        }
    }
    if section.is_empty() {
        return Err(ReadError::Syntax { message: "the lockfile has no section".to_owned(), at: 0 });
    }
    for package in &mut found {
        let key = format!("{} ({})", package.name.text, package.version_text());
        let own = sums.get(&key).into_iter().flatten();
        package.checksums.extend(own.map(|sum| Checksum { sum: sum.clone(), file: None }));
    }
    Ok(found)
}

/// Returns whether a yarn.lock is of yarn 1: later ones are YAML with a member that says so.
pub(super) fn is_yarn_1(text: &str) -> bool {
    !text.contains("__metadata")
}

/// Entries at the margin, members with two spaces: `version "1.0.0"`.
pub(super) fn yarn(text: &str) -> Packages {
    let mut found: Vec<LockedPackage> = Vec::new();
    for line in lines(text).filter(|line| !line.text.starts_with('#')) {
        if line.indent == 0 {
            let Some(keys) = line.text.strip_suffix(':') else { return Err(line.error("expected `:`")) };
            let first = keys.split(',').next().unwrap_or(keys).trim().trim_matches('"');
            let (name, _) = split_name(first).ok_or_else(|| line.error("expected name@range"))?;
            found.push(LockedPackage::new(line.part(name), line.span()));
            continue;
        }
        let Some(package) = found.last_mut() else { return Err(line.error("expected an entry")) };
        package.span.end = line.span().end;
        let (key, value) = line.text.split_once([' ', ':']).unwrap_or((line.text, ""));
        let value = value.trim().trim_matches('"');
        match key.trim_matches('"') {
            // Deeper members are names of dependencies.
            _ if line.indent > 2 => {}
            "version" => package.version = Some(line.part(value)),
            "resolved" => {
                package.source = Some(line.part(value));
                let fragment = value.split_once('#').map(|(_, fragment)| fragment);
                let sum = fragment.filter(|fragment| fragment.len() == 40 && is_hex(fragment));
                package.add_checksum(sum.map(|sum| line.part(sum)));
            }
            "integrity" => super::json::add_integrity(package, Some(line.part(value))),
            _ => {}
        }
    }
    let has_header = text.contains("yarn lockfile v1");
    if found.is_empty() && !has_header {
        return Err(ReadError::Syntax { message: "the lockfile has no entry".to_owned(), at: 0 });
    }
    Ok(found)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
