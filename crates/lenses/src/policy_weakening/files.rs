//! The gate's own settings: policy, rubrics and waivers.

use std::collections::BTreeMap;

use super::{POLICY_CHANGED, POLICY_REMOVED, RUBRIC_CHANGED, WAIVER_ADDED, whole};
use crate::contract::{Draft, DraftExt};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, Side};
use qa_core::packet::{Line, Packet};
use qa_core::policy::WAIVERS_PATH;
use qa_core::rubric::RUBRICS;
use qa_reading::documents::{Document, Format};
use qa_reading::syntax::Span;

/// Returns whether a file holds settings of the gate.
pub(super) fn is_own(path: &RepoPath) -> bool {
    path.as_bytes().starts_with(b".qa-skill/") && !path.as_bytes().starts_with(b".qa-skill/runs/")
}

/// Returns whether a file is the list of waivers, which is compared as a whole.
pub(super) fn is_waivers(path: &RepoPath) -> bool {
    path.as_bytes() == WAIVERS_PATH.as_bytes()
}

fn first_changed<'a>(packet: &Packet<'a>) -> Option<Line<'a>> {
    packet.added().find(|line| !line.text.trim().is_empty()).or_else(|| packet.added().next())
}

/// Looks at one file of settings.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Draft> {
    if packet.file.kind == ChangeKind::Deleted {
        let summary = "configuration of the gate is deleted";
        return vec![on_removed_line(packet, POLICY_REMOVED, Side::Base, summary)];
    }
    if is_waivers(packet.path()) {
        let new = new_waivers(packet);
        if !new.is_empty() {
            return new;
        }
    }
    let is_frozen = packet.path().as_bytes().starts_with(RUBRICS.as_bytes());
    let rubric = is_frozen && packet.file.kind != ChangeKind::Added;
    let (rule, summary) = if rubric {
        (RUBRIC_CHANGED, "frozen rubric is edited")
    } else {
        (POLICY_CHANGED, "configuration of the gate is changed")
    };
    match first_changed(packet) {
        Some(line) => vec![Draft::on_line(rule, packet, &line, whole(line.text), summary)],
        None => vec![on_removed_line(packet, rule, Side::Head, summary)],
    }
}

/// Reports the first removed line, or the file where none is removed.
pub(super) fn on_removed_line(packet: &Packet<'_>, rule: &'static str, side: Side, summary: &str) -> Draft {
    match packet.removed().next() {
        Some(line) => Draft::on_base_line(rule, packet, &line, whole(line.text), summary),
        None => Draft::on_file(rule, packet.path(), side, summary),
    }
}

/// Finds waivers of findings that no waiver of the base is about, on the first line that changed of each.
fn new_waivers(packet: &Packet<'_>) -> Vec<Draft> {
    let Some(head) = packet.text.full_head.as_deref() else { return Vec::new() };
    let mut old: BTreeMap<String, usize> = BTreeMap::new();
    for waiver in waivers(packet.text.full_base.as_deref().unwrap_or("")) {
        *old.entry(waiver.evidence).or_insert(0) += 1;
    }
    let mut drafts = Vec::new();
    for waiver in waivers(head) {
        if let Some(count) = old.get_mut(&waiver.evidence).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let first = head[..waiver.span.start].matches('\n').count() as u64 + 1;
        let last = head[..waiver.span.end].matches('\n').count() as u64 + 1;
        let line = packet.added().find(|line| (first..=last).contains(&line.number));
        if let Some(line) = line {
            drafts.push(Draft::on_line(WAIVER_ADDED, packet, &line, whole(line.text), "waiver is added"));
        }
    }
    drafts
}

/// A waiver with the finding that it is about.
struct PlacedWaiver {
    /// Hash of the evidence; empty where none stands.
    evidence: String,
    span: Span,
}

/// Returns the waivers of a text; none of a text that cannot be read, which ends every later run.
fn waivers(text: &str) -> Vec<PlacedWaiver> {
    let Ok(document) = Document::parse(Format::Toml, text) else { return Vec::new() };
    let Some(list) = document.root().get("waiver") else { return Vec::new() };
    let waivers = list.items().map(|waiver| {
        let evidence = waiver.get("evidence-hash").and_then(|hash| hash.text()).unwrap_or_default();
        PlacedWaiver { evidence: evidence.to_owned(), span: waiver.span() }
    });
    waivers.collect()
}
