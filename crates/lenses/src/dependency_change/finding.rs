//! Findings of the comparison of two texts, and the changed lines that they are reported on.

use std::collections::{BTreeMap, BTreeSet};

use super::super::contract::{Draft, DraftExt};
use qa_contracts::v1::Side;
use qa_core::packet::Packet;
use qa_reading::syntax::Span;

/// Place in one of the two versions of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    side: Side,
    span: Span,
}

impl Place {
    pub(super) fn base(span: Span) -> Self {
        Self { side: Side::Base, span }
    }

    pub(super) fn head(span: Span) -> Self {
        Self { side: Side::Head, span }
    }
}

/// A difference that breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    rule: &'static str,
    summary: &'static str,
    /// Places that show it, the best one first.
    places: Vec<Place>,
    detail: BTreeMap<&'static str, String>,
}

impl Finding {
    pub(super) fn new(rule: &'static str, summary: &'static str, places: Vec<Place>) -> Self {
        Self { rule, summary, places, detail: BTreeMap::new() }
    }

    /// Rule and place, by which findings are sorted.
    pub(super) fn order(&self) -> (&'static str, Option<usize>) {
        (self.rule, self.places.first().map(|place| place.span.start))
    }

    /// Adds a member to the evidence.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.detail.insert(name, value.into());
        self
    }
}

/// The changed lines of one version of a file.
struct Lines<'t> {
    text: &'t str,
    /// The offset of each line.
    starts: Vec<usize>,
    /// Numbers from 0 of the changed lines that are not blank.
    changed: BTreeSet<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str, numbers: impl Iterator<Item = u64>) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at + 1);
        let mut lines =
            Self { text, starts: std::iter::once(0).chain(ends).collect(), changed: BTreeSet::new() };
        let numbers = numbers.map(|number| number as usize - 1).filter(|number| *number < lines.starts.len());
        let changed = numbers.filter(|number| !lines.line(*number).of(text).trim().is_empty()).collect();
        lines.changed = changed;
        lines
    }

    /// Place of a line without its end.
    fn line(&self, number: usize) -> Span {
        let start = self.starts[number];
        let end = self.starts.get(number + 1).copied().unwrap_or(self.text.len());
        Span { start, end: start + self.text[start..end].trim_end_matches(['\n', '\r']).len() }
    }

    /// Returns the part of a place on the first changed line that it touches.
    fn changed_part(&self, span: Span) -> Option<Span> {
        let last_byte = span.end.saturating_sub(1).max(span.start);
        let [first, last] = [span.start, last_byte]
            .map(|at| self.starts.partition_point(|start| *start <= at).saturating_sub(1));
        let line = self.line(*self.changed.range(first..=last).next()?);
        let (start, end) = (span.start.max(line.start), span.end.min(line.end));
        Some(if start < end { Span { start, end } } else { line })
    }

    fn first_changed(&self) -> Option<Span> {
        self.changed.first().map(|number| self.line(*number))
    }
}

/// Puts findings on the changed lines of a file.
pub(super) struct Placer<'a> {
    packet: &'a Packet<'a>,
    base: Lines<'a>,
    head: Lines<'a>,
}

impl<'a> Placer<'a> {
    pub(super) fn new(packet: &'a Packet<'a>, base: &'a str, head: &'a str) -> Self {
        let base = Lines::new(base, packet.removed().map(|line| line.number));
        let head = Lines::new(head, packet.added().map(|line| line.number));
        Self { packet, base, head }
    }

    /// Makes drafts, in the order of the findings. Rules about lockfiles get one draft each, which counts the others: a
    /// lockfile repeats itself a thousand times.
    pub(super) fn drafts(&self, findings: Vec<Finding>) -> Vec<Draft> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &findings {
            *counts.entry(finding.rule).or_default() += 1;
        }
        let is_lockfile = qa_reading::packages::LockFormat::from_file_name(&self.file_name()).is_some();
        let mut drafts = Vec::new();
        for finding in findings {
            let count = counts.get_mut(finding.rule).map(std::mem::take).unwrap_or_default();
            if is_lockfile && count == 0 {
                continue;
            }
            let mut draft = self.draft(finding);
            if is_lockfile && count > 1 {
                draft.summary = format!("{}, and {} more in this file", draft.summary, count - 1);
            }
            drafts.push(draft);
        }
        drafts
    }

    fn file_name(&self) -> String {
        String::from_utf8_lossy(self.packet.path().file_name()).into_owned()
    }

    fn lines(&self, side: Side) -> &Lines<'a> {
        match side {
            Side::Base => &self.base,
            Side::Head => &self.head,
        }
    }

    fn draft(&self, finding: Finding) -> Draft {
        let file = self.packet.file;
        let shown = finding.places.iter().find_map(|place| {
            let part = self.lines(place.side).changed_part(place.span)?;
            Some(Place { side: place.side, span: part })
        });
        let shown = shown
            .or_else(|| self.head.first_changed().map(Place::head))
            .or_else(|| self.base.first_changed().map(Place::base));
        let mut draft = match shown {
            Some(Place { side, span }) => {
                let path = match side {
                    Side::Base => file.old_path.as_ref().unwrap_or(&file.path),
                    Side::Head => &file.path,
                };
                Draft::on_text(finding.rule, path, side, self.lines(side).text, span, finding.summary)
            }
            None => Draft::on_file(finding.rule, &file.path, Side::Head, finding.summary),
        };
        for (name, value) in finding.detail {
            draft = draft.with(name, value);
        }
        draft
    }
}
