//! Bounds of what an edit may be, whichever lens made it.

use std::ops::{Range, RangeInclusive};

use crate::escape::harmless;
use crate::packet::Packet;
use crate::secrets;
use qa_contracts::codes::Code;
use qa_contracts::ids::is_unprintable;
use qa_contracts::v1::{Edit, Replacement, TextPlace};

/// Most bytes of all texts of an edit.
const MOST_BYTES: usize = 16 << 10;
/// Most ranges that an edit replaces.
const MOST_REPLACEMENTS: usize = 50;
/// Lines on each side of an edit that a patch shows with it.
const CONTEXT: u64 = 3;
/// Most characters of a title.
const MOST_TITLE: usize = 200;

/// Returns whether an edit may be shown and applied: it is small, it is about lines of the packet's file that hide no secret,
/// and its texts hide nothing either.
pub fn is_harmless(edit: &Edit, packet: &Packet<'_>) -> bool {
    let bytes: usize = edit.replacements.iter().map(|replacement| replacement.text.len()).sum();
    let is_file = packet.file.new_mode.as_deref().is_some_and(|mode| mode.starts_with("100"));
    let is_named = !packet.file.codes.contains(&Code::SecretInName);
    let is_titled = !edit.title.chars().any(is_unprintable) && edit.title.chars().count() <= MOST_TITLE;
    is_file
        && is_named
        && is_titled
        && bytes <= MOST_BYTES
        && (1..=MOST_REPLACEMENTS).contains(&edit.replacements.len())
        && edit.replacements.iter().all(|replacement| is_plain(replacement, packet))
}

fn is_plain(replacement: &Replacement, packet: &Packet<'_>) -> bool {
    let text = &replacement.text;
    let is_layout = |sign: char| matches!(sign, '\t' | '\r' | '\n');
    let is_visible = !text.chars().any(|sign| is_unprintable(sign) && !is_layout(sign))
        && !text.contains(char::REPLACEMENT_CHARACTER)
        && harmless(text) == *text;
    replacement.file == packet.file.path
        && is_visible
        && secrets::find(text).is_empty()
        && hides_no_secret(replacement, packet)
}

/// Returns whether nothing is masked in the lines that are replaced or shown with them, nor in a hunk that these are in: its
/// removed lines may be the text that comes back.
fn hides_no_secret(replacement: &Replacement, packet: &Packet<'_>) -> bool {
    let lines = replacement.start_line..=replacement.end_line;
    let shown = shown_lines(replacement);
    let included = vec![true; packet.file.hunks.len()];
    let whole = Packet { included: &included, ..*packet };
    let mut seen = false;
    for hunk in whole.hunks() {
        let own = hunk.head_lines();
        let is_beside = hunk.hunk.new_start + 1 == replacement.start_line;
        seen |= overlap(&own, &lines) || is_beside;
        if overlap(&own, &shown) || is_beside {
            let span = hunk.span();
            let secrets = packet.text.secrets.iter().filter(|secret| secret.place == TextPlace::Hunks);
            let mut ranges = secrets.map(|secret| (secret.start as usize, secret.end as usize));
            if ranges.any(|(start, end)| start < span.end && span.start < end) {
                return false;
            }
        }
    }
    seen && whole_version_hides_none(replacement, packet)
}

fn overlap(own: &Range<u64>, lines: &RangeInclusive<u64>) -> bool {
    own.start.max(*lines.start()) < own.end.min(lines.end().saturating_add(1))
}

/// Returns the lines that are replaced or shown with these.
fn shown_lines(replacement: &Replacement) -> RangeInclusive<u64> {
    replacement.start_line.saturating_sub(CONTEXT)..=replacement.end_line.saturating_add(CONTEXT)
}

/// Returns whether no secret that is masked in the whole version at head is in the lines that are replaced or shown.
fn whole_version_hides_none(replacement: &Replacement, packet: &Packet<'_>) -> bool {
    let Some(text) = &packet.text.full_head else { return true };
    let shown = shown_lines(replacement);
    let secrets = packet.text.secrets.iter().filter(|secret| secret.place == TextPlace::FullHead);
    let mut secrets = secrets.map(|secret| (line_at(text, secret.start), line_at(text, secret.end)));
    secrets.all(|(first, last)| last < *shown.start() || *shown.end() < first)
}

/// Returns the number of the line at an offset.
fn line_at(text: &str, offset: u32) -> u64 {
    text.as_bytes()[..offset as usize].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}
