//! Compares two lists feature by feature, by id, whatever their text looks like.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::anchors::Anchors;
use super::{ADDED_PASSING, DUPLICATE_ID, PASSES_SET, QA_FIELD, REDEFINED, REMOVED, REORDERED, REPLACED};
use crate::contract::Draft;
use qa_core::features::{FeatureDocument, FeatureEntry};

/// The members that only QA sets.
const PROTECTED: &[&str] = &["passes", "qa_validated", "last_qa_run", "qa_notes", "qa_report_path"];
/// The members that define a feature.
const DEFINITION: &[&str] = &["category", "description", "steps"];

type ById<'d> = BTreeMap<u64, Vec<&'d FeatureEntry>>;

/// Everything that is wrong with what became of a list.
pub(super) fn compare(
    before: &FeatureDocument,
    after: &FeatureDocument,
    anchors: &Anchors<'_>,
) -> Vec<Draft> {
    let (old, new) = (by_id(before), by_id(after));
    let renumbered = Renumbered::new(before, after, &old, &new);
    let mut drafts = duplicates(Some(before), after, anchors);
    for entry in &after.entries {
        match old.get(&entry.id) {
            Some(versions) => drafts.extend(changed(versions, entry, anchors)),
            None => drafts.extend(added(&renumbered, entry, anchors)),
        }
    }
    for entry in before.entries.iter().filter(|entry| !new.contains_key(&entry.id)) {
        let summary = match renumbered.now(entry) {
            Some(id) => format!("feature {} is renumbered to {id}", entry.id),
            None => format!("feature {} is removed", entry.id),
        };
        drafts.push(anchors.on_gone(REMOVED, entry, summary).with("feature", entry.id));
    }
    drafts.extend(reordered(before, after, anchors));
    drafts
}

/// Features that only changed their id, by what they ask for.
struct Renumbered {
    /// The ids that are new.
    now: BTreeMap<String, u64>,
    /// The descriptions that passed under an id that is gone.
    passed: BTreeSet<String>,
}

impl Renumbered {
    fn new(before: &FeatureDocument, after: &FeatureDocument, old: &ById<'_>, new: &ById<'_>) -> Self {
        let added = after.entries.iter().filter(|entry| !old.contains_key(&entry.id));
        let gone = before.entries.iter().filter(|entry| !new.contains_key(&entry.id));
        Self {
            now: added.map(|entry| (asks_for(entry), entry.id)).collect(),
            passed: gone.filter(|entry| entry.passes()).map(asks_for).collect(),
        }
    }

    fn now(&self, gone: &FeatureEntry) -> Option<u64> {
        self.now.get(&asks_for(gone)).copied()
    }
}

/// Returns a feature's definition as one text.
fn asks_for(entry: &FeatureEntry) -> String {
    DEFINITION.iter().map(|name| format!("{}\n", entry.value(name))).collect()
}

/// Ids that stand twice and did not before.
pub(super) fn duplicates(
    before: Option<&FeatureDocument>,
    after: &FeatureDocument,
    anchors: &Anchors<'_>,
) -> Vec<Draft> {
    let known: BTreeSet<u64> =
        before.into_iter().flat_map(FeatureDocument::repeated).map(|(entry, _)| entry.id).collect();
    let features = by_id(after);
    after
        .repeated()
        .filter(|(entry, _)| !known.contains(&entry.id))
        .map(|(entry, _)| {
            let summary =
                format!("feature id {} is duplicated, and readers differ in which entry they use", entry.id);
            // Of two that are the same, the difference may count the first one as added.
            let twins = features.get(&entry.id).into_iter().flatten();
            let anchor = std::iter::once(&entry).chain(twins).find(|twin| anchors.is_new(twin));
            let anchor = anchor.unwrap_or(&entry);
            anchors.on_member(DUPLICATE_ID, anchor, "id", summary).with("feature", entry.id)
        })
        .collect()
}

fn by_id(document: &FeatureDocument) -> ById<'_> {
    let mut features = ById::new();
    for entry in &document.entries {
        features.entry(entry.id).or_default().push(entry);
    }
    features
}

/// Returns the members of some that differ between two versions.
fn differing(members: &[&'static str], before: &FeatureEntry, after: &FeatureEntry) -> Vec<&'static str> {
    let differing = members.iter().copied().filter(|name| match *name {
        // Absent is not passing, and not validated.
        "passes" | "qa_validated" => is_true(before.value(name)) != is_true(after.value(name)),
        name => before.value(name) != after.value(name),
    });
    differing.collect()
}

fn is_true(value: &Value) -> bool {
    value == &Value::Bool(true)
}

/// Reports a feature that keeps its id. Where the id was duplicated, one version that explains it is enough.
fn changed(versions: &[&FeatureEntry], after: &FeatureEntry, anchors: &Anchors<'_>) -> Vec<Draft> {
    let alike: Vec<_> =
        versions.iter().filter(|before| differing(DEFINITION, before, after).is_empty()).collect();
    if alike.iter().any(|before| differing(PROTECTED, before, after).is_empty()) {
        return Vec::new();
    }
    let Some(before) = alike.first().copied().or(versions.first()) else { return Vec::new() };
    let results = results(before, after, anchors);
    results.into_iter().chain(definition(before, after, anchors)).collect()
}

fn results(before: &FeatureEntry, after: &FeatureEntry, anchors: &Anchors<'_>) -> Option<Draft> {
    let fields = differing(PROTECTED, before, after);
    let first = fields.first()?;
    let is_set = *first == "passes" && after.passes();
    let (rule, summary) = if is_set {
        (PASSES_SET, format!("feature {} is marked as passing, but not by QA", after.id))
    } else {
        (QA_FIELD, format!("fields of feature {} that QA owns are edited: {}", after.id, fields.join(", ")))
    };
    let draft = anchors.on_both(rule, before, after, first, summary);
    Some(draft.with("feature", after.id).with("fields", fields))
}

fn definition(before: &FeatureEntry, after: &FeatureEntry, anchors: &Anchors<'_>) -> Option<Draft> {
    let members = differing(DEFINITION, before, after);
    let first = members.first()?;
    let (rule, summary) = if is_another(before, after) {
        (REPLACED, format!("id {} now names another feature", after.id))
    } else {
        (REDEFINED, format!("definition of feature {} is edited: {}", after.id, members.join(", ")))
    };
    let draft = anchors.on_both(rule, before, after, first, summary);
    Some(draft.with("feature", after.id).with("members", members))
}

/// Returns the words of a feature's description that are longer than three characters.
fn long_words(entry: &FeatureEntry) -> BTreeSet<String> {
    let description = entry.value("description").as_str().unwrap_or("").to_lowercase();
    let words = description.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| word.chars().count() > 3).map(str::to_owned).collect()
}

/// Returns whether nothing of a feature is left: no word of its description and no step.
fn is_another(before: &FeatureEntry, after: &FeatureEntry) -> bool {
    let (old, new) = (long_words(before), long_words(after));
    let [old_steps, new_steps] =
        [before, after].map(|entry| entry.value("steps").as_array().cloned().unwrap_or_default());
    !old.is_empty()
        && !new.is_empty()
        && old.is_disjoint(&new)
        && !old_steps.iter().any(|step| new_steps.contains(step))
}

/// Reports a feature with a new id: it is new, or it had another id before.
fn added(renumbered: &Renumbered, entry: &FeatureEntry, anchors: &Anchors<'_>) -> Option<Draft> {
    if !entry.passes() || renumbered.passed.contains(&asks_for(entry)) {
        return None;
    }
    let summary = format!("new feature {} is marked as passing, but not by QA", entry.id);
    Some(anchors.on_member(ADDED_PASSING, entry, "passes", summary).with("feature", entry.id))
}

/// Reports a list whose features are reordered, at the first feature that is out of place.
fn reordered(before: &FeatureDocument, after: &FeatureDocument, anchors: &Anchors<'_>) -> Option<Draft> {
    let [old_ids, new_ids]: [BTreeSet<u64>; 2] =
        [before, after].map(|document| document.entries.iter().map(|entry| entry.id).collect());
    let both: BTreeSet<u64> = old_ids.intersection(&new_ids).copied().collect();
    let (old, new) = (first_of_each(before, &both), first_of_each(after, &both));
    let moved: Vec<&FeatureEntry> =
        new.iter().zip(&old).filter(|(new, old)| new.id != old.id).map(|(new, _)| *new).collect();
    let first = moved.first()?;
    let summary = "features are reordered".to_owned();
    let on_added = moved.iter().find_map(|entry| anchors.at_head(REORDERED, entry.place.clone(), &summary));
    Some(on_added.unwrap_or_else(|| anchors.on_member(REORDERED, first, "id", summary)))
}

fn first_of_each<'d>(document: &'d FeatureDocument, ids: &BTreeSet<u64>) -> Vec<&'d FeatureEntry> {
    let mut seen = BTreeSet::new();
    document.entries.iter().filter(|entry| ids.contains(&entry.id) && seen.insert(entry.id)).collect()
}
