//! Reads `feature_list.json` with the places of its members, and proposes QA's result as an edit of its text.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::json_places::{self, MemberPlace};
use super::masking::sanitize_cut;
use qa_contracts::codes::Code;
use qa_contracts::schema;
use qa_contracts::strict_json::{self, StrictJsonError};
use qa_contracts::v1::FeatureList;

/// More faults than anybody mends at once; to find the place of each costs a pass over the text.
const MOST_FAULTS: usize = 20;

/// Why a text is not a list of features, or has not the feature that is asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FeatureListError {
    /// Not JSON, or JSON that means different things to different readers.
    #[error("line {line}: {message}")]
    NotJson { line: u64, message: String },
    /// JSON of another shape.
    #[error("it is not a list of features with `id` and `passes`")]
    AnotherShape,
    /// A list of features with something wrong in it.
    #[error("{0}")]
    Fault(FeatureFault),
    /// Nothing has that id.
    #[error("no feature has the id {0}")]
    UnknownFeature(u64),
}

impl FeatureListError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::NotJson { .. } | Self::AnotherShape | Self::Fault(_) | Self::UnknownFeature(_) => {
                Code::FeatureListInvalid
            }
        }
    }
}

/// One way in which a list breaks its contract.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {pointer}: {message}")]
pub struct FeatureFault {
    /// The line, from 1.
    pub line: u64,
    /// A JSON pointer.
    pub(crate) pointer: String,
    /// What is wrong.
    pub(crate) message: String,
}

/// A feature with an id, as it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureEntry {
    /// The id.
    pub id: u64,
    /// The position in the list.
    index: usize,
    /// The object.
    pub place: Range<usize>,
    /// Its members, in the text's order.
    pub(crate) members: Vec<MemberPlace>,
    value: Map<String, Value>,
}

/// A list of features.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureDocument {
    /// The features that have an id, in the text's order.
    pub entries: Vec<FeatureEntry>,
    /// What breaks the contract, up to a bound, the first by line first. An id that stands twice is none of these: it is the entries'
    /// matter.
    pub faults: Vec<FeatureFault>,
    value: Value,
}

impl FeatureEntry {
    /// What a member says; null when it is absent.
    pub fn value(&self, name: &str) -> &Value {
        self.value.get(name).unwrap_or(&Value::Null)
    }

    /// Whether it says that it passes.
    pub fn passes(&self) -> bool {
        self.value("passes") == &Value::Bool(true)
    }

    /// The place of a member.
    pub fn member(&self, name: &str) -> Option<&MemberPlace> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl FeatureDocument {
    /// Reads a text. A list is known by a feature with `id` and `passes`, or by being empty; everything else has another
    /// shape, whatever its file is called.
    pub fn read(text: &str) -> Result<Self, FeatureListError> {
        let value = strict_json::parse(text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes())
            .map_err(|error| not_json(&error))?;
        let Value::Array(list) = &value else { return Err(FeatureListError::AnotherShape) };
        let is_feature = |item: &Value| item.get("id").is_some() && item.get("passes").is_some();
        if !list.is_empty() && !list.iter().any(is_feature) {
            return Err(FeatureListError::AnotherShape);
        }
        let mut faults = schema_faults(text, &value);
        let mut entries = Vec::with_capacity(list.len());
        for (index, (item, place)) in
            list.iter().zip(json_places::items(text, json_places::root(text))).enumerate()
        {
            let Value::Object(members) = item else { continue };
            let places = json_places::members(text, place.clone());
            match members.get("id").map(Value::as_u64) {
                Some(Some(id)) => {
                    entries.push(FeatureEntry { id, index, place, members: places, value: members.clone() });
                }
                // A number like 1.0 is an integer to the schema and to nobody who compares ids.
                Some(None) if faults.len() < 2 * MOST_FAULTS => {
                    faults.push(fault(text, format!("/{index}/id"), "the id is not an integer"))
                }
                Some(None) | None => {}
            }
        }
        faults.sort_by(|left, right| (left.line, &left.pointer).cmp(&(right.line, &right.pointer)));
        faults.dedup_by(|next, kept| next.pointer == kept.pointer);
        Ok(Self { entries, faults, value })
    }

    /// The list by its contract: without faults, every id once.
    pub fn list(&self, text: &str) -> Result<FeatureList, FeatureListError> {
        if let Some(fault) = self.faults.first() {
            return Err(FeatureListError::Fault(fault.clone()));
        }
        if let Some((entry, place)) = self.repeated().next() {
            let line = json_places::line(text, place.start);
            let (pointer, message) =
                (format!("/{}/id", entry.index), format!("the id {} stands twice", entry.id));
            return Err(FeatureListError::Fault(FeatureFault { line, pointer, message }));
        }
        serde_json::from_value(self.value.clone()).map_err(|error| {
            let message = sanitize_cut(&error.to_string(), 300);
            FeatureListError::Fault(FeatureFault { line: 1, pointer: String::new(), message })
        })
    }

    /// Entries whose id an earlier one has, with the place of the id.
    pub fn repeated(&self) -> impl Iterator<Item = (&FeatureEntry, Range<usize>)> {
        let mut seen = BTreeSet::new();
        self.entries.iter().filter(move |entry| !seen.insert(entry.id)).map(|entry| {
            let place = entry.member("id").map_or(entry.place.clone(), |member| member.value.clone());
            (entry, place)
        })
    }
}

fn not_json(error: &StrictJsonError) -> FeatureListError {
    let line = match error {
        StrictJsonError::TooLarge(_) => 1,
        StrictJsonError::Refused(error) => error.line().max(1) as u64,
    };
    FeatureListError::NotJson { line, message: sanitize_cut(&error.to_string(), 300) }
}

fn fault(text: &str, pointer: String, message: &str) -> FeatureFault {
    let line = json_places::line(text, json_places::find(text, &pointer).start);
    FeatureFault { line, message: sanitize_cut(message, 300), pointer }
}

fn schema_faults(text: &str, value: &Value) -> Vec<FeatureFault> {
    let schema = schema::find("feature-list.v1").expect("the schema is embedded");
    schema
        .faults(value)
        .into_iter()
        .take(MOST_FAULTS)
        .map(|found| fault(text, found.pointer, &found.message))
        .collect()
}

/// The text with QA's result for one feature (S004-47): `passes`, `qa_validated`, `last_qa_run` and `qa_notes` of that
/// feature, and not a byte besides.
pub fn propose(
    text: &str,
    feature_id: u64,
    passed: bool,
    now: &str,
    notes: Option<&str>,
) -> Result<String, FeatureListError> {
    let document = FeatureDocument::read(text)?;
    document.list(text)?;
    let entry = document
        .entries
        .iter()
        .find(|entry| entry.id == feature_id)
        .ok_or(FeatureListError::UnknownFeature(feature_id))?;
    let results = [
        ("passes", Value::Bool(passed)),
        ("qa_validated", Value::Bool(true)),
        ("last_qa_run", now.into()),
        ("qa_notes", notes.map_or(Value::Null, Value::from)),
    ];
    let mut added = String::new();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, value) in results {
        match entry.member(name) {
            Some(_) if entry.value(name) == &value => {}
            Some(member) => edits.push((member.value.clone(), written(text, &value))),
            None => added.push_str(&format!(
                "{}\"{name}\"{}{}",
                between(text, entry),
                colon(text, entry),
                written(text, &value)
            )),
        }
    }
    let end = entry.members.last().map_or(entry.place.end, |member| member.value.end);
    edits.push((end..end, added));
    edits.sort_by_key(|(place, _)| place.start);
    let mut proposed = text.to_owned();
    for (place, value) in edits.into_iter().rev() {
        proposed.replace_range(place, &value);
    }
    Ok(proposed)
}

/// Whether a list has features and all of them pass.
pub fn all_pass(text: &str) -> Result<bool, FeatureListError> {
    let FeatureList(features) = FeatureDocument::read(text)?.list(text)?;
    Ok(!features.is_empty() && features.iter().all(|feature| feature.passes))
}

/// A value as JSON; in a text without other letters than ASCII's it has none either.
fn written(text: &str, value: &Value) -> String {
    let json = value.to_string();
    if !text.is_ascii() {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for character in json.chars() {
        if character.is_ascii() {
            escaped.push(character);
        } else {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    escaped
}

/// What stands between the last two members, from the comma on; before the first, with a comma, when it is the only one.
fn between(text: &str, entry: &FeatureEntry) -> String {
    match entry.members.as_slice() {
        [.., before, last] => text[before.value.end..last.key.start].to_owned(),
        [only] => format!(",{}", &text[entry.place.start + 1..only.key.start]),
        [] => String::new(),
    }
}

/// What stands between a name and its value.
fn colon<'t>(text: &'t str, entry: &FeatureEntry) -> &'t str {
    entry.members.last().map_or(":", |member| &text[member.key.end..member.value.start])
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
