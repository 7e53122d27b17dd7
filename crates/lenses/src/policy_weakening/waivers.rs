//! Waivers at head that excuse more than those of the base.

use super::files::on_removed_line;
use super::{WAIVER_ADDED, whole};
use crate::contract::{Draft, DraftExt};
use qa_contracts::v1::{Registry, Side, Waiver};
use qa_core::packet::{Line, Packet};
use qa_core::policy::WAIVERS_PATH;
use qa_core::policy::file::parse_waivers;
use qa_reading::documents::{Document, Format};
use qa_reading::syntax::Span;

/// Reports each waiver at head that no waiver of the base covers, on its first added line. The waivers are those that
/// later runs will apply, by the same parser. A file that it refuses excuses nothing and is reported by another rule.
pub(super) fn inspect(packet: &Packet<'_>, registry: &Registry) -> Vec<Draft> {
    let Some(head) = packet.text.full_head.as_deref() else { return Vec::new() };
    let new = waivers(head, registry);
    let old = waivers(base_text(packet), registry);
    let places = places(head, new.len());
    let mut drafts = Vec::new();
    for (at, waiver) in new.iter().enumerate() {
        let Some(reason) = reason(&old, waiver) else { continue };
        let line = places.get(at).and_then(|place| first_added(packet, head, *place));
        let draft = match line.or_else(|| packet.added().next()) {
            Some(line) => Draft::on_line(WAIVER_ADDED, packet, &line, whole(line.text), reason),
            None => on_removed_line(packet, WAIVER_ADDED, Side::Head, reason),
        };
        drafts.push(draft);
    }
    drafts
}

/// Returns the text that counted as waivers before: none where another file takes the name.
fn base_text<'p>(packet: &'p Packet<'_>) -> &'p str {
    let was_elsewhere =
        packet.file.old_path.as_ref().is_some_and(|old| old.as_bytes() != WAIVERS_PATH.as_bytes());
    let base = packet.text.full_base.as_deref().filter(|_| !was_elsewhere);
    base.unwrap_or_default()
}

fn waivers(text: &str, registry: &Registry) -> Vec<Waiver> {
    parse_waivers(text, registry).unwrap_or_default().waiver
}

/// Returns the summary of a waiver that excuses a finding for longer than the base does; `None` for any other.
fn reason(old: &[Waiver], new: &Waiver) -> Option<&'static str> {
    let same = old.iter().filter(|old| old.rule == new.rule && old.evidence_hash == new.evidence_hash);
    // Days are compared as texts, as they are where waivers are applied.
    match same.map(|old| &old.expires).max() {
        Some(expires) if *expires >= new.expires => None,
        Some(_) => Some("waiver holds for longer"),
        None => Some("waiver is added"),
    }
}

/// Returns the places of the waivers of a text in order; none where they cannot be told apart.
fn places(text: &str, count: usize) -> Vec<Span> {
    let Ok(document) = Document::parse(Format::Toml, text) else { return Vec::new() };
    let list = document.root().get("waiver");
    let spans: Vec<Span> = list.iter().flat_map(|list| list.items()).map(|waiver| waiver.span()).collect();
    if spans.len() == count { spans } else { Vec::new() }
}

fn first_added<'p>(packet: &Packet<'p>, text: &str, place: Span) -> Option<Line<'p>> {
    let [first, last] =
        [place.start, place.end].map(|offset| text[..offset].matches('\n').count() as u64 + 1);
    packet.added().find(|line| (first..=last).contains(&line.number))
}
