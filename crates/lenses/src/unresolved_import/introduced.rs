//! Added imports that lead nowhere.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::{
    Change, Family, Has, Target, are_too_many, has, has_import, may_be_made, may_be_provided, parsed, split,
    target, written,
};
use super::{MISSING_MODULE, MISSING_NAME};
use qa_contracts::v1::{MentionKind, PlacedImport, PlacedName, Side};
use qa_core::classify::is_example;

/// Maximum number of base files that are read to see whether the same import was unresolved before.
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
        for import in written(lookups, path).iter().filter(|import| import.is_firm()) {
            let mut names = std::iter::once(&import.module).chain(&import.names);
            if names.any(|name| change.is_added(path, name.line)) {
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
    match target {
        Target::Unsure => Vec::new(),
        Target::Missing(missing) => {
            let judged = change.is_added(path, import.module.line)
                && !may_be_made(lookups, &missing)
                && !may_be_provided(lookups, path, &missing)
                && !was_missing(lookups, path, &missing);
            let summary = "a file is imported that does not exist";
            let import = if judged { firm(lookups, path, &import) } else { None };
            let draft = import.and_then(|import| {
                change.on_name(MISSING_MODULE, Side::Head, path, class_or_module(path, &import), summary)
            });
            draft.map(|draft| draft.with("missing", missing)).into_iter().collect()
        }
        Target::File(file) if is_example(&file) => Vec::new(),
        Target::File(file) => {
            let added = import.names.iter().filter(|name| change.is_added(path, name.line));
            let unknown = added
                .map(|name| name.name.as_str())
                .filter(|name| has(lookups, Side::Head, &file, name) == Has::No);
            let missing: BTreeSet<&str> =
                unknown.filter(|name| !was_asked_for(lookups, path, &file, name)).collect();
            if missing.is_empty() {
                return Vec::new();
            }
            let Some(import) = firm(lookups, path, &import) else { return Vec::new() };
            let names = import.names.iter().filter(|name| missing.contains(name.name.as_str()));
            let drafts = names.filter(|name| change.is_added(path, name.line)).filter_map(|name| {
                // The name of a default import is the file's own.
                let place = if name.name == "default" { &import.module } else { name };
                let summary = "a name is imported that its file does not have";
                change.on_name(MISSING_NAME, Side::Head, path, place, summary)
            });
            drafts.map(|draft| draft.with("from", file.clone())).collect()
        }
    }
}

/// Returns the name of a file that is imported: in Java the class, which is the module of a static import.
fn class_or_module<'i>(path: &str, import: &'i PlacedImport) -> &'i PlacedName {
    let last = import.module.name.rsplit('.').next().unwrap_or_default();
    let of_package = path.ends_with(".java") && !last.starts_with(char::is_uppercase);
    import.names.first().filter(|_| of_package).unwrap_or(&import.module)
}

/// Returns an import as the parse has it, where it is firm.
fn firm(lookups: &dyn Lookups, path: &str, written: &PlacedImport) -> Option<PlacedImport> {
    parsed(lookups, path, written).filter(PlacedImport::is_firm)
}

/// Returns whether the base imported the file although it was missing there too, so that something else provides it.
fn was_missing(lookups: &dyn Lookups, path: &str, missing: &str) -> bool {
    let word = split(missing).1;
    asked_before(lookups, path, word, &|importer, import| {
        target(lookups, Side::Base, importer, import) == Target::Missing(missing.to_owned())
    })
}

/// Returns whether the base already imported the name although the file lacked it.
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
