//! Added uses of members that a module of the repository does not have.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::Family;
use super::MISSING_MEMBER;
use super::facts::Change;
use super::place::{Place, is_missing, place};
use qa_contracts::v1::Side;

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
            let Some(place) = place.filter(|place| seen.insert(place.clone())) else { continue };
            if is_missing(lookups, &place) && !was_used_before(lookups, path, &place) {
                let summary = "module has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
        }
    }
    drafts
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
