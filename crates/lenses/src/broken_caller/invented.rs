//! Added uses of members that a module of the repository does not have.

use std::collections::BTreeSet;

use super::super::contract::{Draft, Lookups};
use super::super::imports::{Family, Target, target};
use super::MISSING_MEMBER;
use super::facts::Change;
use super::place::{Place, is_missing, place};
use qa_contracts::v1::{MentionKind, PlacedUse, Side};

/// Maximum number of files of the base that are asked whether it was like that before.
const MOST_ASKED: usize = 60;

pub(super) fn drafts(change: &Change, lookups: &dyn Lookups) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (path, file) in &change.files {
        if file.new.is_none() || file.members.is_empty() || !may_use_others(lookups, path) {
            continue;
        }
        if file.is_cut {
            lookups.stop_short();
        }
        let words: Vec<String> = file.members.iter().cloned().collect();
        let Some(uses) = lookups.uses(Side::Head, path, &words) else { continue };
        let mut seen = BTreeSet::new();
        for used in uses.iter().filter(|used| change.is_added(path, used.name.line)) {
            let Some(place) = invented(lookups, path, used) else { continue };
            if seen.insert(place.clone()) && !was_used_before(lookups, path, &place) {
                let summary = "module has no member of this name";
                let draft = change.draft(MISSING_MEMBER, Side::Head, path, &used.name, summary);
                drafts.extend(draft.map(|draft| draft.with("from", place.file.clone())));
            }
        }
    }
    drafts
}

/// Returns whether a file imports another one of the repository, or shares its package.
fn may_use_others(lookups: &dyn Lookups, path: &str) -> bool {
    let is_java = path.parse_family() == Some(MentionKind::Java);
    is_java
        || path.parse_family() == Some(MentionKind::Rust)
        || lookups.imports(Side::Head, path).is_some_and(|imports| {
            imports.iter().any(|import| matches!(target(lookups, Side::Head, path, import), Target::File(_)))
        })
}

/// Returns the place of a use that is not there.
fn invented(lookups: &dyn Lookups, path: &str, used: &PlacedUse) -> Option<Place> {
    let family = path.parse_family()?;
    let is_sure = match family {
        MentionKind::Ecma => used.called && !used.imported,
        MentionKind::Go | MentionKind::Java => used.module.is_some() || used.path.len() > 1,
        MentionKind::C
        | MentionKind::Configuration
        | MentionKind::Lockfile
        | MentionKind::Php
        | MentionKind::Python
        | MentionKind::Ruby
        | MentionKind::Rust => !used.imported,
    };
    if !is_sure {
        return None;
    }
    let place = place(lookups, Side::Head, path, used)?;
    (place.file != path && is_missing(lookups, &place)).then_some(place)
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
