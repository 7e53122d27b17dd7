//! Members that a type of head no longer has, or keeps to itself.

use super::super::contract::Lookups;
use super::place::Place;
use super::types::{are_nowhere, has_foreign_trait, is_extended, is_universal, sole_type, surfaces};
use qa_contracts::v1::{DefinitionKind, MentionKind, Side};

/// Returns whether the only enumeration of a name has no member of another, nor anything else of that name.
pub(super) fn is_missing_in_enumeration(lookups: &dyn Lookups, kind: MentionKind, place: &Place) -> bool {
    let Some(owner) = &place.owner else { return false };
    let Some(all) = surfaces(lookups, kind, place, owner) else { return false };
    let mut types = 0;
    for definition in all.iter().flat_map(|surface| &surface.definitions.definitions) {
        if definition.owner.as_ref() == Some(owner) && definition.name.name == place.name {
            return false;
        }
        let is_named = definition.owner.is_none() && definition.name.name == *owner;
        // Attributes of Rust may make anything of an item.
        if is_named
            && (definition.kind != DefinitionKind::Type || kind == MentionKind::Rust && definition.open)
        {
            return false;
        }
        types += usize::from(is_named);
    }
    let is_constant =
        kind == MentionKind::Rust && !are_nowhere(lookups, kind, &format!("const {}", place.name));
    types == 1 && !is_constant && all.iter().all(|surface| !surface.definitions.conditional)
}

/// Returns whether every definition of a name is private at head: to its module of Rust, or to its type.
pub(super) fn hides(lookups: &dyn Lookups, kind: MentionKind, place: &Place) -> bool {
    let (path, name) = (&place.file, &place.name);
    if let Some(owner) = &place.owner {
        return hides_member(lookups, kind, place, owner);
    }
    path.ends_with(".rs")
        && lookups.surface(Side::Head, path).is_some_and(|surface| {
            let mut named = surface.definitions.iter().filter(|each| each.name.name == *name).peekable();
            !surface.open
                && named.peek().is_some()
                && named.all(|each| !each.public && !each.open && each.owner.is_none())
        })
}

/// Returns whether the only type of a name has members of another, all of which are private to it.
fn hides_member(lookups: &dyn Lookups, kind: MentionKind, place: &Place, owner: &str) -> bool {
    if is_universal(&place.name) {
        return false;
    }
    let all = surfaces(lookups, kind, place, owner).unwrap_or_default();
    let types = all.iter().flat_map(|surface| &surface.definitions.definitions);
    let is_sole = types.filter(|each| each.owner.is_none() && each.name.name == owner).count() == 1;
    let named = all.iter().flat_map(|surface| &surface.definitions.definitions);
    let mut named =
        named.filter(|each| each.owner.as_deref() == Some(owner) && each.name.name == place.name).peekable();
    let is_hidden = is_sole && named.peek().is_some() && named.clone().all(|each| each.hidden);
    is_hidden
        && match kind {
            // A base may have another function of the name, and an extension or a record gives one.
            MentionKind::CSharp => {
                sole_type(lookups, kind, place, owner).is_some() && !is_extended(lookups, &place.name)
            }
            MentionKind::Java => sole_type(lookups, kind, place, owner)
                .and_then(|path| lookups.text(Side::Head, &path))
                .is_some_and(|text| !text.contains(&format!("record {owner}"))),
            MentionKind::Ecma | MentionKind::Php => sole_type(lookups, kind, place, owner).is_some(),
            // A trait gives a function back.
            MentionKind::Rust => {
                named.all(|each| each.kind == DefinitionKind::Value)
                    || is_only_function(lookups, place) && !has_foreign_trait(lookups, owner)
            }
            MentionKind::C
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Lockfile
            | MentionKind::Python
            | MentionKind::Ruby => false,
        }
}

/// Returns whether no file but that of a place has a function of its name, which has one.
fn is_only_function(lookups: &dyn Lookups, place: &Place) -> bool {
    let words = format!("fn {}", place.name);
    let found = lookups.mentions(Side::Head, MentionKind::Rust, std::slice::from_ref(&words));
    let text = lookups.text(Side::Head, &place.file);
    found.complete
        && found.paths == [place.file.as_str()]
        && text.is_some_and(|text| text.matches(&words).count() == 1)
}
