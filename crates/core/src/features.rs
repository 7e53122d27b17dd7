//! Reads `feature_list.json` with the places of its members, and proposes QA's result as an edit of its text.

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::{Map, Value};

use super::json_places::{self, MemberPlace};
use super::masking::sanitize_cut;
use qa_contracts::codes::Code;
use qa_contracts::limits::MAX_SAFE_INTEGER;
use qa_contracts::schema;
use qa_contracts::strict_json::{self, StrictJsonError};
use qa_contracts::v1::FeatureList;

/// Maximum number of schema faults that are reported; finding the line of each costs a pass over the text.
const MOST_FAULTS: usize = 20;

/// Error of a text that is no list of features, or of a list without the requested feature.
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
    /// No feature has that id.
    #[error("no feature has the id {0}")]
    UnknownFeature(u64),
}

impl FeatureListError {
    pub fn code(&self) -> Code {
        match self {
            Self::NotJson { .. } | Self::AnotherShape | Self::Fault(_) | Self::UnknownFeature(_) => {
                Code::FeatureListInvalid
            }
        }
    }
}

/// Violation of the contract of a feature list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, {pointer}: {message}")]
pub struct FeatureFault {
    /// Line number, from 1.
    pub line: u64,
    /// JSON pointer to the faulty value.
    pub(crate) pointer: String,
    pub(crate) message: String,
}

/// A feature with an id, as it stands in the text.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureEntry {
    pub id: u64,
    /// Position in the list, from 0.
    index: usize,
    /// Byte range of the object.
    pub place: Range<usize>,
    /// Members of the object, in the text's order.
    pub(crate) members: Vec<MemberPlace>,
    value: Map<String, Value>,
}

/// A parsed list of features, with the places of its members.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureDocument {
    /// The features that have an id, in the text's order.
    pub entries: Vec<FeatureEntry>,
    /// Violations of the schema, up to a bound, sorted by line. Repeated ids are not among them; see
    /// [`FeatureDocument::repeated`].
    pub faults: Vec<FeatureFault>,
    value: Value,
}

impl FeatureEntry {
    /// Returns the value of a member; null when it is absent.
    pub fn value(&self, name: &str) -> &Value {
        self.value.get(name).unwrap_or(&Value::Null)
    }

    /// Returns whether `passes` is true.
    pub fn passes(&self) -> bool {
        self.value("passes") == &Value::Bool(true)
    }

    /// Returns the place of a member.
    pub fn member(&self, name: &str) -> Option<&MemberPlace> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl FeatureDocument {
    /// Parses a text. An array is a list of features if it is empty or one item has `id` and `passes`; every other value is
    /// [`FeatureListError::AnotherShape`], whatever its file is called.
    pub fn parse(text: &str) -> Result<Self, FeatureListError> {
        let value = strict_json::parse(text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes())
            .map_err(|error| not_json(&error))?;
        let Value::Array(list) = &value else { return Err(FeatureListError::AnotherShape) };
        if !list.is_empty() && !list.iter().any(has_feature_members) {
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

    /// Returns the list as its contract has it, or the first fault or repeated id as an error.
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

    /// Returns the entries whose id an earlier one has, with the place of the id.
    pub fn repeated(&self) -> impl Iterator<Item = (&FeatureEntry, Range<usize>)> {
        let mut seen = BTreeSet::new();
        self.entries.iter().filter(move |entry| !seen.insert(entry.id)).map(|entry| {
            let place = match entry.member("id") {
                Some(member) => member.value.clone(),
                None => entry.place.clone(),
            };
            (entry, place)
        })
    }
}

fn has_feature_members(item: &Value) -> bool {
    item.get("id").is_some() && item.get("passes").is_some()
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

/// Returns the text with QA's result for one feature (S004-47): `passes`, `qa_validated`, `last_qa_run` and `qa_notes`
/// of that feature change, and no other byte.
pub fn propose(
    text: &str,
    feature_id: u64,
    passed: bool,
    now: &str,
    notes: Option<&str>,
) -> Result<String, FeatureListError> {
    let document = FeatureDocument::parse(text)?;
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
        ("qa_notes", Value::from(notes)),
    ];
    let mut added = String::new();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (name, value) in results {
        match entry.member(name) {
            Some(_) if entry.value(name) == &value => {}
            Some(member) => edits.push((member.value.clone(), to_json(text, &value))),
            None => added.push_str(&format!(
                "{}\"{name}\"{}{}",
                member_separator(text, entry),
                value_separator(text, entry),
                to_json(text, &value)
            )),
        }
    }
    let end = match entry.members.last() {
        Some(member) => member.value.end,
        None => entry.place.end,
    };
    edits.push((end..end, added));
    edits.sort_by_key(|(place, _)| place.start);
    let mut proposed = text.to_owned();
    for (place, value) in edits.into_iter().rev() {
        proposed.replace_range(place, &value);
    }
    Ok(proposed)
}

/// Features that trailers of commits name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredFeatures {
    pub features: BTreeSet<u64>,
    /// Trailers that do not name one feature by its number, escaped and cut.
    pub unreadable: BTreeSet<String>,
}

/// Maximum length of an unreadable trailer, in characters.
const MAX_TRAILER: usize = 100;

impl DeclaredFeatures {
    /// Adds the trailers of a commit's message: lines `Feature: 42` of its last paragraph, which the subject alone is not.
    pub fn add(&mut self, message: &str) {
        let lines: Vec<&str> = message.trim().lines().map(str::trim).collect();
        let Some(end) = lines.iter().rposition(|line| line.is_empty()) else { return };
        for line in &lines[end + 1..] {
            let Some(value) = feature_value(line) else { continue };
            match parse_feature(value) {
                Some(id) => drop(self.features.insert(id)),
                None => drop(self.unreadable.insert(sanitize_cut(line, MAX_TRAILER))),
            }
        }
    }
}

/// Returns the feature that a label of a pull request names, such as `feature:42`. Labels such as `feature:login` are
/// about something else.
pub fn labelled(label: &str) -> Option<u64> {
    parse_feature(feature_value(label.trim())?)
}

/// Returns the value of a line `Feature: value`.
fn feature_value(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    key.trim_end().eq_ignore_ascii_case("feature").then_some(value.trim())
}

fn parse_feature(value: &str) -> Option<u64> {
    let id = value.strip_prefix('#').unwrap_or(value);
    let is_plain = id.bytes().all(|byte| byte.is_ascii_digit());
    id.parse().ok().filter(|id| is_plain && *id <= MAX_SAFE_INTEGER)
}

/// Returns whether a list has features and all of them pass.
pub fn all_pass(text: &str) -> Result<bool, FeatureListError> {
    let FeatureList(features) = FeatureDocument::parse(text)?.list(text)?;
    Ok(!features.is_empty() && features.iter().all(|feature| feature.passes))
}

/// Returns a value as JSON, escaped to ASCII if the text around it is ASCII.
fn to_json(text: &str, value: &Value) -> String {
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

/// Returns the text between the last two members, from the comma on; for a single member a comma and the blanks before
/// it.
fn member_separator(text: &str, entry: &FeatureEntry) -> String {
    match entry.members.as_slice() {
        [.., before, last] => text[before.value.end..last.key.start].to_owned(),
        [only] => format!(",{}", &text[entry.place.start + 1..only.key.start]),
        [] => String::new(),
    }
}

/// Returns the text between a member's name and its value.
fn value_separator<'t>(text: &'t str, entry: &FeatureEntry) -> &'t str {
    match entry.members.last() {
        Some(member) => &text[member.key.end..member.value.start],
        None => ":",
    }
}

#[cfg(test)]
#[path = "features_tests.rs"]
mod tests;
