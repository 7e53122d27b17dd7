//! Holds what a change adds to the conventions of a rubric.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::super::contract::{Draft, DraftExt, Fact, Inspection};
use super::case::Fit;
use super::sighting::{self, Sighting, fit};
use super::{collect, header};
use super::{rule_of, words};
use qa_contracts::v1::{ChangeKind, Convention, ConventionFamily, FileText, Rubric, Side, Strength};
use qa_core::classify::PathSet;
use qa_core::packet::{Line, Packet};

/// A fact about a convention that two files change together.
#[derive(Serialize, Deserialize)]
enum CoChange {
    /// The file changed that another changes with.
    Due { convention: String },
    /// That other file changed.
    Followed { convention: String },
}

/// Maximum number of exemplars in a message.
const NAMED: usize = 2;

/// Returns whether changed lines can hold anything that a convention is about.
pub(super) fn may_matter(hunks: &FileText) -> bool {
    const WORDS: &[&str] = &[
        "(",
        "=>",
        "class",
        "interface",
        "struct",
        "enum",
        "trait",
        "type",
        "import",
        "from",
        "const",
        "catch",
        "except",
        "?",
    ];
    hunks.cuts.iter().any(|cuts| {
        let removed = hunks.text.get(cuts.before as usize..cuts.removed as usize).unwrap_or("");
        let added = hunks.text.get(cuts.removed as usize..cuts.added as usize).unwrap_or("");
        WORDS.iter().any(|word| added.contains(word)) || header::begins_notice(removed)
    })
}

pub(super) fn inspect(packet: &Packet<'_>, rubric: &Rubric) -> Inspection {
    let mut inspection = Inspection::default();
    let Ok(path) = std::str::from_utf8(packet.path().as_bytes()) else { return inspection };
    co_changes(packet, path, rubric, &mut inspection.facts);
    if packet.file.kind == ChangeKind::Deleted
        || !sighting::keeps_conventions(packet.path(), packet.file.scope)
    {
        return inspection;
    }
    let in_force: Vec<&Convention> =
        rubric.conventions.iter().filter(|convention| holds_for(convention, packet)).collect();
    if in_force.is_empty() {
        return inspection;
    }
    let head = head_text(packet).map_or_else(
        || collect::in_path(path),
        |text| collect::in_changed_file(path, packet.file.scope, &text),
    );
    let mut before = of_base(packet, path);
    let lines: BTreeMap<u64, Line<'_>> = packet.added().map(|line| (line.number, line)).collect();
    let text = head_text(packet).unwrap_or_default();
    let lost = lost_notice(&in_force, &before);
    for seen in &head {
        let key = identity(seen);
        if let Some(count) = before.get_mut(&key).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let broken = in_force.iter().filter(|convention| is_about(convention, seen));
        let broken =
            broken.filter(|convention| fit(seen.family, &convention.form, &seen.value) == Fit::Breaks);
        for convention in broken {
            let is_lost = lost.contains(&convention.id.as_str()) && seen.value == header::ABSENT;
            inspection.drafts.extend(draft(packet, path, convention, seen, is_lost, &text, &lines));
        }
    }
    inspection
}

/// Returns the file's text at head. The only hunk of an added file holds all of it.
fn head_text<'p>(packet: &Packet<'p>) -> Option<Cow<'p, str>> {
    if let Some(whole) = &packet.text.full_head {
        return Some(Cow::Borrowed(whole));
    }
    let is_all =
        packet.file.kind == ChangeKind::Added && packet.file.hunks.len() == 1 && packet.included == [true];
    is_all
        .then(|| packet.hunks().next().map(|hunk| Cow::Borrowed(&packet.text.text[hunk.added_span()])))
        .flatten()
}

type Identity = (ConventionFamily, &'static str, String, String);

fn identity(seen: &Sighting) -> Identity {
    (seen.family, seen.topic, seen.value.clone(), seen.name.clone())
}

/// Counts the sightings of the base version by identity. An added file has none.
fn of_base(packet: &Packet<'_>, path: &str) -> BTreeMap<Identity, usize> {
    let mut before = BTreeMap::new();
    if packet.file.kind == ChangeKind::Added {
        return before;
    }
    let old = packet.file.old_path.as_ref().map_or(Ok(path), |old| std::str::from_utf8(old.as_bytes()));
    let old = old.unwrap_or(path);
    let base = packet.text.full_base.as_deref();
    let seen = base
        .map_or_else(|| collect::in_path(old), |text| collect::in_changed_file(old, packet.file.scope, text));
    for one in seen {
        *before.entry(identity(&one)).or_insert(0) += 1;
    }
    before
}

/// Returns the ids of the conventions about notices that the file kept before.
fn lost_notice<'c>(in_force: &[&'c Convention], before: &BTreeMap<Identity, usize>) -> Vec<&'c str> {
    let about = in_force.iter().filter(|convention| convention.family == ConventionFamily::LicenceHeader);
    let kept = about.filter(|convention| {
        let mut notices = before.keys().filter(|(family, ..)| *family == convention.family);
        notices.any(|(family, _, value, _)| fit(*family, &convention.form, value) == Fit::Keeps)
    });
    kept.map(|convention| convention.id.as_str()).collect()
}

fn holds_for(convention: &Convention, packet: &Packet<'_>) -> bool {
    let paths = PathSet::new(convention.paths.iter().map(String::as_str));
    convention.part == packet.file.scope && paths.is_ok_and(|paths| paths.matches(packet.path()))
}

fn is_about(convention: &Convention, seen: &Sighting) -> bool {
    (convention.family, convention.topic.as_str(), convention.language.as_str())
        == (seen.family, seen.topic, &*seen.language)
}

fn draft(
    packet: &Packet<'_>,
    path: &str,
    convention: &Convention,
    seen: &Sighting,
    is_lost: bool,
    text: &str,
    lines: &BTreeMap<u64, Line<'_>>,
) -> Option<Draft> {
    let rule = rule_of(convention.family, convention.strength);
    let summary = summary(convention, path, &seen.value);
    let draft = match seen.span {
        None => {
            // A file that always lacked something is left alone.
            let is_new = packet.file.kind == ChangeKind::Added || is_lost;
            let of_place =
                matches!(convention.family, ConventionFamily::FileName | ConventionFamily::TestPlacement);
            let is_judged = is_new || of_place && packet.file.kind == ChangeKind::Renamed;
            is_judged.then(|| Draft::on_file(rule, packet.path(), Side::Head, summary))?
        }
        Some(span) => {
            let before = text.get(..span.start)?;
            let start_of_line = before.rfind('\n').map_or(0, |end| end + 1);
            let number = before.matches('\n').count() as u64 + 1;
            let line = lines.get(&number)?;
            let start = span.start - start_of_line;
            let end = (span.end - start_of_line).min(line.text.len());
            if line.text.get(start..end)?.is_empty() {
                return None;
            }
            Draft::on_line(rule, packet, line, start..end, summary)
        }
    };
    Some(draft.with("convention", convention.id.clone()))
}

/// The convention with its numbers and where to see it kept, and the form that keeps it.
fn summary(convention: &Convention, path: &str, value: &str) -> String {
    let Convention { statement, support, exceptions, exemplars, .. } = convention;
    let places: Vec<String> =
        exemplars.iter().take(NAMED).map(|place| format!("{}:{}", place.path, place.line)).collect();
    let shown = if places.is_empty() { String::new() } else { format!(", as in {}", places.join(" and ")) };
    let instead = words::conforming(convention, path, value);
    format!("{statement} ({} of {support} places{shown}); {instead}", support - exceptions)
}

fn co_changes(packet: &Packet<'_>, path: &str, rubric: &Rubric, facts: &mut Vec<Fact>) {
    let pairs =
        rubric.conventions.iter().filter(|convention| convention.family == ConventionFamily::CoChange);
    for convention in pairs.filter(|convention| convention.strength != Strength::Off) {
        if convention.form == path {
            let followed = CoChange::Followed { convention: convention.id.clone() };
            facts.push(Fact::new(&followed, None));
        }
        if convention.topic == path && packet.file.kind == ChangeKind::Modified {
            let rule = rule_of(convention.family, convention.strength);
            let draft = Draft::on_file(rule, packet.path(), Side::Head, summary(convention, path, ""))
                .with("convention", convention.id.clone());
            let due = CoChange::Due { convention: convention.id.clone() };
            facts.push(Fact::new(&due, Some(draft)));
        }
    }
}

/// Returns the drafts about files that changed without the file that they change with.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let mut due = Vec::new();
    let mut followed = BTreeSet::new();
    for fact in facts {
        match fact.read::<CoChange>() {
            Some(CoChange::Due { convention }) => due.push((convention, &fact.draft)),
            Some(CoChange::Followed { convention }) => drop(followed.insert(convention)),
            None => {}
        }
    }
    due.retain(|(convention, _)| !followed.contains(convention));
    due.into_iter().filter_map(|(_, draft)| draft.clone()).collect()
}
