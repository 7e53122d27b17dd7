//! Definitions that a change takes away, or whose parameters it changes, while callers elsewhere stay as they were.

use std::collections::{BTreeMap, BTreeSet};

use super::super::contract::{Draft, Lookups};
use super::super::imports::{Family, are_too_many, join, split};
use super::code::{by_name, is_gone};
use super::facts::{Change, Changed, is_of_callers};
use super::gone::{hides, is_missing_in_enumeration};
use super::place::{Place, followed, is_by_namespace, is_same_package, places};
use super::results::{ChangedResult, ReceivedCalls};
use super::types::{has_other_meaning, is_missing};
use super::{CHANGED_PARAMETERS, CHANGED_RESULT, REMOVED_NAME};
use qa_contracts::v1::{Definition, DefinitionKind, MentionKind, PlacedName, PlacedUse, Side};

/// Maximum number of words of one language that are looked for; a change that touches more is a reorganisation.
const MOST_WORDS: usize = 80;
/// Maximum number of files with the words that are read.
const MOST_CALLERS: usize = 400;
/// Maximum number of members whose types are asked for them, which searches the tree.
const MOST_MEMBERS: usize = 24;
/// Maximum number of callers that a finding names.
const MOST_NAMED: usize = 5;

/// A definition that is gone.
pub(super) struct Removed {
    /// Path at the base.
    pub(super) path: String,
    pub(super) place: Place,
    pub(super) definition: Definition,
}

/// A function that is called in another way than before, and its file at head.
struct Altered {
    path: String,
    changed: Changed,
}

/// A function with another result than before, and its file at head.
struct AlteredResult {
    path: String,
    changed: ChangedResult,
}

/// Definitions that a change removes or alters, for one family of languages.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) removed: BTreeMap<Place, Removed>,
    changed: BTreeMap<Place, Altered>,
    results: BTreeMap<Place, AlteredResult>,
}

impl Taken {
    fn places(&self) -> impl Iterator<Item = &Place> {
        self.removed.keys().chain(self.changed.keys()).chain(self.results.keys())
    }

    /// Returns the words of which every caller has one: a member is found by the type of its object.
    fn searched(&self) -> Vec<String> {
        let words: BTreeSet<&str> = self
            .places()
            .map(|place| place.owner.as_ref().unwrap_or(&place.name))
            // A module of Ruby is seldom written with those around it.
            .map(|word| word.rsplit("::").next().unwrap_or(word))
            .collect();
        words.into_iter().map(str::to_owned).collect()
    }

    /// Returns the words that are used.
    fn used(&self) -> Vec<String> {
        let words: BTreeSet<&String> = self.places().map(|place| &place.name).collect();
        words.into_iter().cloned().collect()
    }
}

/// Returns the definitions that are removed or changed, by family.
pub(super) fn taken(change: &Change, lookups: &dyn Lookups) -> BTreeMap<MentionKind, Taken> {
    let mut all: BTreeMap<MentionKind, Taken> = BTreeMap::new();
    for file in change.files.values() {
        let Some(path) = file.old_text() else { continue };
        let Some(kind) = path.parse_family() else { continue };
        let taken = all.entry(kind).or_default();
        // Another file may stand where a moved one was.
        let is_replaced = file.new != file.old && !file.removed.is_empty();
        let after = if is_replaced { lookups.surface(Side::Head, path) } else { None };
        let left = after.as_deref().map(by_name);
        let package = file.package.as_deref();
        for definition in &file.removed {
            let definition = definition.clone();
            if left.as_ref().is_none_or(|left| is_gone(left, path, &definition)) {
                let (path, place) = (path.to_owned(), Place::of(path, package, &definition));
                taken.removed.entry(place.clone()).or_insert(Removed { path, place, definition });
            }
        }
        for changed in &file.changed {
            let place = Place::new(path, package, changed.owner.clone(), &changed.name.name);
            let (path, changed) = (path.to_owned(), changed.clone());
            taken.changed.insert(place, Altered { path, changed });
        }
        for changed in &file.results {
            let place = Place::new(path, package, None, &changed.name.name);
            let (path, changed) = (path.to_owned(), changed.clone());
            taken.results.insert(place, AlteredResult { path, changed });
        }
    }
    all
}

/// Callers by what they call: path and line.
type Callers = BTreeMap<Place, BTreeSet<(String, u32)>>;

/// Callers that no longer fit, by the reason.
#[derive(Default)]
struct Misfits {
    missing: Callers,
    wrong: Callers,
    /// Those that call a method of a type as one of objects, or the other way round.
    unreached: Callers,
    results: Callers,
}

/// Returns the findings about callers that are left behind.
pub(super) fn drafts(
    change: &Change,
    lookups: &dyn Lookups,
    all: &BTreeMap<MentionKind, Taken>,
) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (kind, taken) in all {
        let words = taken.searched();
        if words.is_empty() {
            continue;
        }
        if words.len() > MOST_WORDS {
            lookups.stop_short();
            continue;
        }
        let found = lookups.mentions(Side::Head, *kind, &words);
        are_too_many(lookups, &found, MOST_CALLERS);
        let words = taken.used();
        let mut misfits = Misfits::default();
        for path in found.paths.iter().take(MOST_CALLERS).filter(|path| is_of_callers(path)) {
            let uses = lookups.uses(Side::Head, path, &words);
            let uses = uses.iter().flat_map(|uses| uses.iter());
            let old = change.files.get(path).map_or(Some(path.as_str()), |file| file.old_text());
            let Some(old) = old else { continue };
            let mut received = ReceivedCalls::new(lookups, path);
            for used in uses.filter(|used| !change.is_added(path, used.name.line)) {
                note(lookups, taken, path, old, used, &mut misfits);
                if let Some(place) = misread(lookups, taken, path, used, &mut received) {
                    add(&mut misfits.results, place, path, used);
                }
            }
        }
        let Misfits { missing, mut wrong, mut unreached, results } = misfits;
        drafts.extend(told_missing(change, lookups, *kind, taken, missing));
        wrong.retain(|place, _| !has_other_meaning(lookups, *kind, place));
        drafts.extend(told_changed(change, taken, wrong, CHANGED_PARAMETERS));
        unreached.retain(|place, _| !has_other_meaning(lookups, *kind, place));
        drafts.extend(told_changed(change, taken, unreached, REMOVED_NAME));
        drafts.extend(told_results(change, taken, results));
    }
    drafts
}

fn note(
    lookups: &dyn Lookups,
    taken: &Taken,
    path: &str,
    old: &str,
    used: &PlacedUse,
    misfits: &mut Misfits,
) {
    if !taken.removed.is_empty()
        && is_ours(path, used)
        && let Some(place) = meant(lookups, Side::Base, old, used, &taken.removed)
        && is_certain(used, &taken.removed[&place])
        && is_same_package(lookups, path, used, &place)
        && !is_inside(path, &place.file)
        && leads_there_still(lookups, path, used, &place)
    {
        add(&mut misfits.missing, place, path, used);
    }
    if taken.changed.is_empty() || !used.called {
        return;
    }
    let Some(kind) = path.parse_family() else { return };
    let Some(place) = meant(lookups, Side::Head, path, used, &taken.changed) else { return };
    let Altered { changed: Changed { before, after, .. }, .. } = &taken.changed[&place];
    let is_refused = used.arguments.as_ref().is_some_and(|arguments| {
        before.accepts(arguments) && !after.accepts(arguments) && !is_of_javascript(path)
    });
    let is_out_of_reach = before.is_reached(kind, used.of_object) && !after.is_reached(kind, used.of_object);
    if !(is_refused || is_out_of_reach) || !is_same_package(lookups, path, used, &place) {
        return;
    }
    if is_refused {
        add(&mut misfits.wrong, place, path, used);
    } else if !may_be_of_base(lookups, kind, path) {
        add(&mut misfits.unreached, place, path, used);
    }
}

/// Returns whether the classes of a file of PHP have others as their bases, whose methods they call by the name of the type.
fn may_be_of_base(lookups: &dyn Lookups, kind: MentionKind, path: &str) -> bool {
    kind == MentionKind::Php
        && lookups.text(Side::Head, path).is_none_or(|text| text.to_lowercase().contains("extends"))
}

/// Returns the function whose result a call takes in a way that it no longer gives.
fn misread(
    lookups: &dyn Lookups,
    taken: &Taken,
    path: &str,
    used: &PlacedUse,
    received: &mut ReceivedCalls<'_>,
) -> Option<Place> {
    if taken.results.is_empty() || !used.called {
        return None;
    }
    let place = meant(lookups, Side::Head, path, used, &taken.results)?;
    let is_ours = is_same_package(lookups, path, used, &place);
    (is_ours && received.is_broken(used, &taken.results[&place].changed)).then_some(place)
}

/// Returns the place among some that a use leads to.
fn meant<T>(
    lookups: &dyn Lookups,
    side: Side,
    path: &str,
    used: &PlacedUse,
    among: &BTreeMap<Place, T>,
) -> Option<Place> {
    let mut places = places(lookups, side, path, used).into_iter().filter_map(|place| {
        // An import that hands on what is gone fails by itself.
        let is_handed_on = side == Side::Head || place.owner.is_some();
        if among.contains_key(&place) || !is_handed_on {
            return Some(place);
        }
        followed(lookups, side, place)
    });
    places.find(|place| among.contains_key(place))
}

/// Returns whether a use leads at head to no other place than before: an import may name another module by now, and a
/// moved file has other neighbours.
fn leads_there_still(lookups: &dyn Lookups, path: &str, used: &PlacedUse, before: &Place) -> bool {
    let now = places(lookups, Side::Head, path, used);
    if path.parse_family().is_some_and(is_by_namespace) {
        return now.contains(before);
    }
    now.into_iter().all(|place| match followed(lookups, Side::Head, place.clone()) {
        Some(followed) => followed == *before,
        None => place.name == before.name,
    })
}

/// Returns whether a name that is gone surely is the one that is used: a function of PHP without a namespace may be one
/// of the language.
fn is_certain(used: &PlacedUse, removed: &Removed) -> bool {
    !removed.path.ends_with(".php")
        || removed.definition.kind != DefinitionKind::Function
        || removed.definition.owner.is_some()
        || used.module.is_some()
}

/// Returns whether a file of Rust is a module or a descendant of it, which sees its private items.
fn is_inside(path: &str, file: &str) -> bool {
    let (directory, name) = split(file);
    let stem = name.trim_end_matches(".rs");
    let module =
        if matches!(stem, "lib" | "main" | "mod") { directory.to_owned() } else { join(directory, stem) };
    file.ends_with(".rs")
        && (path == file || path.strip_prefix(&module).is_some_and(|rest| rest.starts_with('/')))
}

/// Adds a caller of a place.
fn add(callers: &mut Callers, place: Place, path: &str, used: &PlacedUse) {
    callers.entry(place).or_default().insert((path.to_owned(), used.name.line));
}

fn is_of_javascript(path: &str) -> bool {
    [".cjs", ".js", ".jsx", ".mjs"].iter().any(|ending| path.ends_with(ending))
}

/// Returns whether a use of a missing name is none that `unresolved-import` reports, and surely fails.
fn is_ours(path: &str, used: &PlacedUse) -> bool {
    match path.parse_family() {
        Some(MentionKind::Python) => !used.imported,
        // A member that is not there is no error before it is used, but for the compiler of TypeScript.
        Some(MentionKind::Ecma) => {
            (used.called || used.path.len() > 1 && !is_of_javascript(path)) && !used.imported
        }
        Some(
            MentionKind::C
            | MentionKind::CSharp
            | MentionKind::Configuration
            | MentionKind::Go
            | MentionKind::Java
            | MentionKind::Lockfile
            | MentionKind::Php
            | MentionKind::Ruby
            | MentionKind::Rust,
        )
        | None => true,
    }
}

fn told_missing(
    change: &Change,
    lookups: &dyn Lookups,
    kind: MentionKind,
    taken: &Taken,
    callers: Callers,
) -> Vec<Draft> {
    let (members, names): (Callers, Callers) =
        callers.into_iter().partition(|(place, _)| place.owner.is_some());
    if members.len() > MOST_MEMBERS {
        lookups.stop_short();
    }
    let asked = names.into_iter().chain(members.into_iter().take(MOST_MEMBERS));
    let drafts = asked.filter_map(|(place, mut callers)| {
        let removed = &taken.removed[&place];
        let summary = if hides(lookups, kind, &place) {
            // JavaScript asks for no modifier of TypeScript.
            callers.retain(|(path, _)| *path != removed.path && !is_of_javascript(path));
            "a name becomes private that other files still use"
        } else if removed.definition.kind == DefinitionKind::Variant
            && is_missing_in_enumeration(lookups, kind, &place)
            || is_missing(lookups, kind, &place)
        {
            "a name is removed that other files still use"
        } else {
            return None;
        };
        if callers.is_empty() {
            return None;
        }
        let draft = change.draft(REMOVED_NAME, Side::Base, &removed.path, &removed.definition.name, summary);
        Some(named(draft?, &callers))
    });
    drafts.collect()
}

fn told_changed(change: &Change, taken: &Taken, callers: Callers, rule: &'static str) -> Vec<Draft> {
    let drafts = callers.into_iter().filter_map(|(place, callers)| {
        let Altered { path, changed } = &taken.changed[&place];
        let is_struct = path.ends_with(".rs") && changed.name.name.starts_with(char::is_uppercase);
        let summary = match (rule, changed.after.is_static) {
            (CHANGED_PARAMETERS, _) if is_struct => {
                "fields are changed while other files still make the struct with the old ones"
            }
            (CHANGED_PARAMETERS, _) => {
                "parameters are changed while other files still pass the old arguments"
            }
            (_, true) => "a method becomes static while other files call it of objects",
            (_, false) => "a method is no longer static while other files call it of its type",
        };
        let draft = at_head(change, rule, path, &changed.name, summary);
        Some(named(draft?, &callers))
    });
    drafts.collect()
}

fn told_results(change: &Change, taken: &Taken, callers: Callers) -> Vec<Draft> {
    let drafts = callers.into_iter().filter_map(|(place, callers)| {
        let AlteredResult { path, changed } = &taken.results[&place];
        let summary = "the result is changed while other files still take the old one";
        let draft = at_head(change, CHANGED_RESULT, path, &changed.name, summary);
        Some(named(draft?, &callers))
    });
    drafts.collect()
}

/// Returns a draft about a changed function, whose name may stand above the lines of the change.
fn at_head(
    change: &Change,
    rule: &'static str,
    path: &str,
    name: &PlacedName,
    summary: &str,
) -> Option<Draft> {
    if change.is_added(path, name.line) {
        change.draft(rule, Side::Head, path, name, summary)
    } else {
        change.draft_of_file(rule, Side::Head, path, name, summary)
    }
}

fn named(draft: Draft, callers: &BTreeSet<(String, u32)>) -> Draft {
    let shown: Vec<String> =
        callers.iter().take(MOST_NAMED).map(|(path, line)| format!("{path}:{line}")).collect();
    draft.with("calledBy", shown).with("callers", callers.len())
}
