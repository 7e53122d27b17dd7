//! Go: modules of import paths, and what a go.mod requires.

use super::super::contract::Lookups;
use super::Judgement;
use super::manifest::{above, is_below, nearly};

pub(super) fn judged(lookups: &dyn Lookups, path: &str, import: &str) -> Option<Judgement> {
    let (host, _) = import.split_once('/')?;
    if !host.contains('.') {
        return None;
    }
    let manifests =
        above(lookups, path, &|name| matches!(name, "go.mod" | "go.work" | "WORKSPACE" | "MODULE.bazel"));
    // A workspace or another build may bring modules that this one does not require.
    if manifests.iter().any(|(path, _)| !path.ends_with("go.mod")) {
        return None;
    }
    let (manifest, lines) = manifests.first()?;
    let words: Vec<&str> = lines
        .iter()
        .map(|line| line.split("//").next().unwrap_or(line))
        .flat_map(str::split_whitespace)
        .map(|word| word.trim_matches('"'))
        .filter(|word| word.contains('.') && word.contains('/'))
        .collect();
    let own = lines.iter().find_map(|line| line.strip_prefix("module "))?.trim().trim_matches('"');
    if is_below(import, own) || words.iter().any(|word| is_below(import, word)) {
        return None;
    }
    // A module's path is a prefix of the import; its own parts are what a slip can be in.
    let resembles = words.iter().find(|word| {
        let parts = word.split('/').count();
        let prefix: Vec<&str> = import.split('/').take(parts).collect();
        nearly(&prefix.join("/"), [**word]).is_some()
    });
    let resembles = resembles.map(|word| (*word).to_owned());
    Some(Judgement { package: import.to_owned(), manifest: manifest.clone(), resembles })
}
