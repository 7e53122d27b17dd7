//! Collects the sightings of a file, of every family.

use super::sighting::{Sighting, Source};
use super::{documented, errors, header, imports, names, place};
use qa_contracts::v1::Scope;
use qa_reading::syntax::{self, Language, Outline};

/// Returns the sightings in a path alone.
pub fn in_path(path: &str) -> Vec<Sighting> {
    let mut all = Vec::new();
    all.extend(names::of_file(path));
    all.extend(place::of_test(path));
    all
}

/// Returns the sightings in a file. The text is the whole file.
pub fn in_file(path: &str, part: Scope, text: &str) -> Vec<Sighting> {
    let parsed = Language::from_path(path).map(|language| (language, syntax::parse(language, text)));
    in_parsed_file(path, part, text, parsed.as_ref().map(|(language, outline)| (*language, outline)))
}

/// Returns the sightings in a changed file, whose outline other lenses use too.
pub(crate) fn in_changed_file(path: &str, part: Scope, text: &str) -> Vec<Sighting> {
    let parsed =
        Language::from_path(path).map(|language| (language, syntax::parse_once(language, text, None)));
    in_parsed_file(path, part, text, parsed.as_ref().map(|(language, outline)| (*language, &**outline)))
}

fn in_parsed_file(
    path: &str,
    part: Scope,
    text: &str,
    parsed: Option<(Language, &Outline)>,
) -> Vec<Sighting> {
    let mut all = in_path(path);
    let Some((language, outline)) = parsed else { return all };
    let whole = Source { path, part, language, text, outline };
    header::sightings(&whole, &mut all);
    names::sightings(&whole, &mut all);
    documented::sightings(&whole, &mut all);
    errors::sightings(&whole, &mut all);
    imports::sightings(&whole, &mut all);
    all
}
