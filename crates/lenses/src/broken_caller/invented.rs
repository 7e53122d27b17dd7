//! Added uses of members that a module of the repository does not have.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::Family;
use super::facts::Change;
use super::place::{Place, followed, is_same_package, place};
use super::types::{defined, has_other_meaning, is_missing};
use super::{MISSING_MEMBER, WRONG_ARGUMENTS};
use qa_contracts::v1::{DefinitionKind, MentionKind, PlacedUse, Side};

/// Maximum number of files of the base that are asked whether it was like that before.
const MOST_ASKED: usize = 60;

pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (path, file) in &change.files {
        if file.is_cut {
            lookups.stop_short();
        }
        let Some(kind) = path.parse_family() else { continue };
        let mut seen = BTreeSet::new();
        for used in &file.uses {
            let place = place(lookups, Side::Head, path, used)
                .filter(|place| place.file != *path && is_same_package(lookups, path, used, place));
            if let Some(place) = &place
                && is_judged(path)
                && is_wrong(lookups, kind, place, used)
            {
                let summary = "the function does not take these arguments";
                let draft = change.draft(WRONG_ARGUMENTS, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
            // `unresolved-import` reports imported names of these languages.
            let is_of_import = matches!(kind, MentionKind::Ecma | MentionKind::Python);
            // A function of the own package may be one that a command makes.
            let is_plain = kind == MentionKind::Go && used.module.is_none() && used.path.len() == 1;
            // Elsewhere objects may have members that no definition of their type shows.
            let is_checked = matches!(kind, MentionKind::Go | MentionKind::Java);
            let is_ours = (!used.imported || !is_of_import) && !is_plain;
            let place = place.filter(|place| is_ours && (place.owner.is_none() || is_checked));
            let place = place.and_then(|place| match &place.owner {
                Some(_) => followed(lookups, Side::Head, place),
                None => Some(place),
            });
            let Some(place) = place.filter(|place| seen.insert(place.clone())) else { continue };
            if is_missing(lookups, kind, &place) && !was_used_before(lookups, path, &place) {
                let summary = "module has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
        }
    }
    drafts
}

/// Returns whether calls in a file are held to the number of parameters. One of JavaScript may leave out any argument, and
/// definitions of a namespace would have to be searched for.
fn is_judged(path: &str) -> bool {
    [".cts", ".go", ".java", ".mts", ".py", ".pyi", ".rake", ".rb", ".rs", ".ts", ".tsx"]
        .iter()
        .any(|ending| path.ends_with(ending))
}

/// Returns whether a call surely passes other arguments than the only definition of its function takes.
fn is_wrong(lookups: &dyn Lookups, kind: MentionKind, place: &Place, used: &PlacedUse) -> bool {
    let Some(arguments) = used.arguments.as_ref().filter(|_| used.called) else { return false };
    let Some(place) = followed(lookups, Side::Head, place.clone()) else { return false };
    let Some(all) = defined(lookups, kind, &place) else { return false };
    let [only] = &all[..] else { return false };
    (!only.open || only.kind != DefinitionKind::Function)
        && only.signature.as_ref().is_some_and(|signature| !signature.accepts(arguments))
        && !has_other_meaning(lookups, kind, &place)
}

/// Returns whether the base used the name as well and did without a definition.
fn was_used_before(lookups: &dyn Lookups, path: &str, missing: &Place) -> bool {
    let Some(kind) = path.parse_family() else { return true };
    let words = [missing.name.clone()];
    let found = lookups.mentions(Side::Base, kind, &words);
    !found.complete
        || found.paths.len() > MOST_ASKED
        || found.paths.iter().any(|user| {
            let uses = lookups.uses(Side::Base, user, &words);
            let mut uses = uses.iter().flat_map(|uses| uses.iter());
            uses.any(|used| place(lookups, Side::Base, user, used).as_ref() == Some(missing))
                && lookups.surface(Side::Base, &missing.file).is_none_or(|surface| {
                    surface.definitions.iter().all(|each| each.name.name != missing.name)
                })
        })
}
