//! Added uses of members that a module of the repository does not have.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::Family;
use super::facts::Change;
use super::place::{Place, followed, is_missing, place};
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
        let mut seen = BTreeSet::new();
        for used in &file.uses {
            let place = place(lookups, Side::Head, path, used).filter(|place| place.file != *path);
            if let Some(place) = &place
                && is_wrong(lookups, place, used)
            {
                let summary = "the function does not take these arguments";
                let draft = change.draft(WRONG_ARGUMENTS, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
            // `unresolved-import` reports imported names of these languages.
            let is_of_import = matches!(path.parse_family(), Some(MentionKind::Ecma | MentionKind::Python));
            let is_ours = !used.imported || !is_of_import;
            let Some(place) = place.filter(|place| is_ours && seen.insert(place.clone())) else { continue };
            if is_missing(lookups, &place) && !was_used_before(lookups, path, &place) {
                let summary = "module has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
        }
    }
    drafts
}

/// Returns whether a call surely passes other arguments than the only definition of its function takes.
fn is_wrong(lookups: &dyn Lookups, place: &Place, used: &PlacedUse) -> bool {
    let Some(arguments) = used.arguments.as_ref().filter(|_| used.called) else { return false };
    // A call of JavaScript may leave out any argument.
    let is_judged = [".py", ".pyi", ".rs", ".java", ".ts", ".tsx", ".mts", ".cts"]
        .iter()
        .any(|ending| place.file.ends_with(ending));
    let Some(place) = followed(lookups, Side::Head, place.clone()).filter(|_| is_judged) else {
        return false;
    };
    let Some(surface) = lookups.surface(Side::Head, &place.file) else { return false };
    let mut named =
        surface.definitions.iter().filter(|each| each.name.name == place.name && each.owner == place.owner);
    let (Some(only), None) = (named.next(), named.next()) else { return false };
    !surface.conditional
        && (!only.open || only.kind != DefinitionKind::Function)
        && only.signature.as_ref().is_some_and(|signature| !signature.accepts(arguments))
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
