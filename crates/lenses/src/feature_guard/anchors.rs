//! Finds the changed line to quote for what is wrong with a feature: the member's own, else one of the feature's, else
//! the file.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::contract::{Draft, DraftExt};
use qa_contracts::v1::Side;
use qa_core::features::FeatureEntry;
use qa_core::json_places::LineStarts;
use qa_core::packet::{Line, Packet};

/// A quote is for people and for finding the place again; a whole list may stand on one line.
const LONGEST_QUOTE: usize = 200;

/// The changed lines of a file and the texts they are of.
pub(super) struct Anchors<'p> {
    packet: &'p Packet<'p>,
    base: LineStarts,
    head: LineStarts,
    base_bytes: usize,
    added: BTreeMap<u64, Line<'p>>,
    removed: BTreeMap<u64, Line<'p>>,
}

impl<'p> Anchors<'p> {
    pub(super) fn new(packet: &'p Packet<'p>, base: &str, head: &str) -> Self {
        let added = packet.added().map(|line| (line.number, line)).collect();
        let removed = packet.removed().map(|line| (line.number, line)).collect();
        let (base, head, base_bytes) = (LineStarts::new(base), LineStarts::new(head), base.len());
        Self { packet, base, head, base_bytes, added, removed }
    }

    /// Returns whether a line of a feature at head is added.
    pub(super) fn is_new(&self, entry: &FeatureEntry) -> bool {
        first(&self.head, &self.added, entry.place.clone()).is_some()
    }

    /// About a member of a feature at head.
    pub(super) fn on_member(
        &self,
        rule: &'static str,
        entry: &FeatureEntry,
        name: &str,
        summary: String,
    ) -> Draft {
        let place = member(entry, name);
        self.at_head(rule, place, &summary)
            .or_else(|| self.at_head(rule, entry.place.clone(), &summary))
            .unwrap_or_else(|| Draft::on_file(rule, self.packet.path(), Side::Head, summary))
    }

    /// About a feature of both sides: where its member stands at head, or where it stood when it is gone.
    pub(super) fn on_both(
        &self,
        rule: &'static str,
        before: &FeatureEntry,
        after: &FeatureEntry,
        name: &str,
        summary: String,
    ) -> Draft {
        let mut places = vec![
            (Side::Head, member(after, name)),
            (Side::Head, after.place.clone()),
            (Side::Base, member(before, name)),
        ];
        if after.member(name).is_none() {
            places.rotate_right(1);
        }
        places.push((Side::Base, before.place.clone()));
        let draft = places.into_iter().find_map(|(side, place)| match side {
            Side::Base => self.at_base(rule, place, &summary),
            Side::Head => self.at_head(rule, place, &summary),
        });
        draft.unwrap_or_else(|| Draft::on_file(rule, self.packet.path(), Side::Head, summary))
    }

    /// About a feature that is only at the base.
    pub(super) fn on_gone(&self, rule: &'static str, entry: &FeatureEntry, summary: String) -> Draft {
        self.at_base(rule, member(entry, "id"), &summary)
            .or_else(|| self.at_base(rule, entry.place.clone(), &summary))
            .unwrap_or_else(|| self.on_gone_file(rule, summary))
    }

    /// About a file that is gone: its first line, when lines were removed.
    pub(super) fn on_gone_file(&self, rule: &'static str, summary: String) -> Draft {
        let whole = 0..self.base_bytes;
        self.at_base(rule, whole, &summary).unwrap_or_else(|| {
            let path = self.packet.file.old_path.as_ref().unwrap_or(self.packet.path());
            Draft::on_file(rule, path, Side::Base, summary)
        })
    }

    /// About a line at head, or the first changed one when it is not changed.
    pub(super) fn on_line(&self, rule: &'static str, line: u64, summary: &str) -> Draft {
        let line = self.added.get(&line).or_else(|| self.added.values().next());
        match line {
            Some(line) => {
                let quote = cut(line.text, 0..line.text.len());
                Draft::on_line(rule, self.packet, line, quote, summary)
            }
            None => self
                .at_base(rule, 0..self.base_bytes, summary)
                .unwrap_or_else(|| Draft::on_file(rule, self.packet.path(), Side::Head, summary)),
        }
    }

    /// Quotes the first added line of a place.
    pub(super) fn at_head(&self, rule: &'static str, place: Range<usize>, summary: &str) -> Option<Draft> {
        let (line, span) = first(&self.head, &self.added, place)?;
        Some(Draft::on_line(rule, self.packet, line, span, summary))
    }

    fn at_base(&self, rule: &'static str, place: Range<usize>, summary: &str) -> Option<Draft> {
        let (line, span) = first(&self.base, &self.removed, place)?;
        Some(Draft::on_base_line(rule, self.packet, line, span, summary))
    }
}

/// Returns a member with its name, or the whole feature.
fn member(entry: &FeatureEntry, name: &str) -> Range<usize> {
    match entry.member(name) {
        Some(member) => member.key.start..member.value.end,
        None => entry.place.clone(),
    }
}

/// Returns the first changed line of a place, and what of it belongs to the place.
fn first<'l, 't>(
    starts: &LineStarts,
    lines: &'l BTreeMap<u64, Line<'t>>,
    place: Range<usize>,
) -> Option<(&'l Line<'t>, Range<usize>)> {
    let (from, from_start) = starts.line(place.start);
    let (to, to_start) = starts.line(place.end.saturating_sub(1).max(place.start));
    let (number, line) = lines.range(from..=to).next()?;
    // A place of several lines begins inside its first one and ends inside its last one.
    let start = if *number == from { place.start - from_start } else { 0 };
    let end = if *number == to { place.end - to_start } else { line.text.len() };
    Some((line, cut(line.text, start..end)))
}

/// Returns a part of a line without the blanks around it, and not too long.
fn cut(line: &str, part: Range<usize>) -> Range<usize> {
    let mut end = part.end.min(line.len()).min(part.start + LONGEST_QUOTE);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    let Some(text) = line.get(part.start..end) else { return cut(line, 0..line.len()) };
    let lead = text.len() - text.trim_start().len();
    let span = part.start + lead..part.start + text.trim_end().len().max(lead);
    if span.is_empty() && part != (0..line.len()) { cut(line, 0..line.len()) } else { span }
}
