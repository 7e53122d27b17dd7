//! Which of two neighbouring directories imports the other, and never the other way.

use std::collections::{BTreeMap, BTreeSet};

use super::mine::{Found, Seen, exemplars, position_of};
use qa_contracts::v1::{Convention, ConventionFamily, Scope, Witness};

/// Minimum number of imports one way for an import the other way to count as an inversion.
const MOST_TRAVELLED: usize = 5;
/// Number of imports one way, and of imports of the directory that does not import back, that together say that there is
/// a direction. A directory that hardly imports at all is known by those that import it.
const EVIDENCE: u64 = 15;

pub(super) fn mine(language: &str, seen: &[Seen<'_>]) -> Vec<Convention> {
    let directories: BTreeSet<&str> = seen
        .iter()
        .filter_map(|(file, _)| position_of(language, &file.path)?.rsplit_once('/'))
        .flat_map(|(directory, _)| prefixes(directory))
        .collect();
    let mut edges: BTreeMap<(String, String), Vec<Witness>> = BTreeMap::new();
    let mut own: BTreeMap<String, u64> = BTreeMap::new();
    for (file, (sighting, line)) in seen {
        let Some((from, _)) = position_of(language, &file.path).and_then(|place| place.rsplit_once('/'))
        else {
            continue;
        };
        for directory in prefixes(from) {
            *own.entry(directory.to_owned()).or_default() += 1;
        }
        if let Some((from, to)) = neighbours(from, &sighting.value)
            && directories.contains(to.as_str())
        {
            edges.entry((from, to)).or_default().push(file.witness(*line));
        }
    }
    let one_way = edges.iter().filter(|((from, to), witnesses)| {
        witnesses.len() >= MOST_TRAVELLED
            && !edges.contains_key(&(to.clone(), from.clone()))
            && own.get(to).is_some_and(|imports| *imports + witnesses.len() as u64 >= EVIDENCE)
    });
    one_way
        .map(|((from, to), witnesses)| {
            // `to` is what must not import `from`.
            let glob = if matches!(language, "java" | "kotlin" | "python") {
                format!("**/{to}/**")
            } else {
                format!("{to}/**")
            };
            let found = Found {
                family: ConventionFamily::ImportDirection,
                language: language.to_owned(),
                part: Scope::Product,
                topic: String::new(),
                paths: vec![glob],
                form: from.clone(),
            };
            let support = own.get(to).copied().unwrap_or(0);
            found.convention(support, 0, exemplars(witnesses.iter().cloned()), Vec::new())
        })
        .collect()
}

/// The directory and all above it.
fn prefixes(directory: &str) -> impl Iterator<Item = &str> {
    directory.match_indices('/').map(|(at, _)| &directory[..at]).chain(std::iter::once(directory))
}

/// The two directories below the last common one, if both places are in one.
fn neighbours(from: &str, to: &str) -> Option<(String, String)> {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let common = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    if from.len() <= common || to.len() <= common {
        return None;
    }
    Some((from[..=common].join("/"), to[..=common].join("/")))
}
