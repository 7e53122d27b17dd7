//! Added imports that lead nowhere.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::{
    Change, Family, Has, Target, are_too_many, has, has_import, may_be_made, parsed, split, target, written,
};
use super::{MISSING_MODULE, MISSING_NAME};
use qa_contracts::v1::{MentionKind, PlacedImport, PlacedName, Side};
use qa_core::classify::is_example;

/// How many files of the base are asked whether it was like that before.
const MOST_ASKED: usize = 200;

/// An import with something that is added, and what it leads to.
struct Introduced<'c> {
    path: &'c str,
    import: PlacedImport,
    target: Target,
}

pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let paths: Vec<&str> = change.added.keys().map(String::as_str).collect();
    lookups.expect_imports(Side::Head, &paths);
    let mut introduced = Vec::new();
    for path in paths {
        let touched = |name: &PlacedName| change.is_added(path, name.line);
        for import in written(lookups, path).iter().filter(|import| import.is_firm()) {
            if touched(&import.module) || import.names.iter().any(touched) {
                let target = target(lookups, Side::Head, path, import);
                introduced.push(Introduced { path, import: import.clone(), target });
            }
        }
    }
    let names = introduced.iter().filter(|each| !each.import.names.is_empty());
    let files = names.filter_map(|each| match &each.target {
        Target::File(file) if !is_example(file) => Some(file.as_str()),
        Target::File(_) | Target::Missing(_) | Target::Unsure => None,
    });
    lookups.expect_outlines(Side::Head, &files.collect::<Vec<_>>());
    introduced.into_iter().flat_map(|each| of_import(change, lookups, each)).collect()
}

fn of_import(change: &Change, lookups: &dyn Lookups, introduced: Introduced<'_>) -> Vec<Draft> {
    let Introduced { path, import, target } = introduced;
    let touched = |line| change.is_added(path, line);
    let exact = || parsed(lookups, path, &import).filter(PlacedImport::is_firm);
    match target {
        Target::Unsure => Vec::new(),
        Target::Missing(missing) => {
            let judged = touched(import.module.line)
                && !may_be_made(lookups, &missing)
                && !was_missing(lookups, path, &missing);
            let summary = "a file is imported that does not exist";
            let drafts = judged
                .then(exact)
                .flatten()
                .and_then(|import| change.on_name(MISSING_MODULE, Side::Head, path, &import.module, summary));
            drafts.map(|draft| draft.with("missing", missing)).into_iter().collect()
        }
        Target::File(file) if is_example(&file) => Vec::new(),
        Target::File(file) => {
            let is_missing = |name: &&PlacedName| {
                touched(name.line)
                    && has(lookups, Side::Head, &file, &name.name) == Has::No
                    && !was_asked_for(lookups, path, &file, &name.name)
            };
            let missing: BTreeSet<&str> =
                import.names.iter().filter(is_missing).map(|name| name.name.as_str()).collect();
            let Some(import) = (!missing.is_empty()).then(exact).flatten() else { return Vec::new() };
            let names = import.names.iter().filter(|name| missing.contains(name.name.as_str()));
            let drafts = names.filter(|name| touched(name.line)).filter_map(|name| {
                // The name of a default import is the file's own.
                let place = if name.name == "default" { &import.module } else { name };
                let summary = "a name is imported that its file does not have";
                change.on_name(MISSING_NAME, Side::Head, path, place, summary)
            });
            drafts.map(|draft| draft.with("from", file.clone())).collect()
        }
    }
}

/// Whether the base lacked the file as well and imported it nevertheless: then something provides it.
fn was_missing(lookups: &dyn Lookups, path: &str, missing: &str) -> bool {
    let word = split(missing).1;
    asked_before(lookups, path, word, &|importer, import| {
        target(lookups, Side::Base, importer, import) == Target::Missing(missing.to_owned())
    })
}

/// Whether the base asked for the name as well and did without.
fn was_asked_for(lookups: &dyn Lookups, path: &str, file: &str, name: &str) -> bool {
    asked_before(lookups, path, name, &|importer, import| {
        import.names.iter().any(|asked| asked.name == name)
            && target(lookups, Side::Base, importer, import) == Target::File(file.to_owned())
            && has(lookups, Side::Base, file, name) != Has::Yes
    })
}

fn asked_before(
    lookups: &dyn Lookups,
    path: &str,
    word: &str,
    is_same: &dyn Fn(&str, &PlacedImport) -> bool,
) -> bool {
    let kind = path.parse_family().unwrap_or(MentionKind::Configuration);
    let found = lookups.mentions(Side::Base, kind, &[word.to_owned()]);
    are_too_many(lookups, &found, MOST_ASKED)
        || found
            .paths
            .iter()
            .any(|importer| has_import(lookups, Side::Base, importer, &|import| is_same(importer, import)))
}
