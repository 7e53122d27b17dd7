//! Places of findings in a change: which are new, and the changed line that shows each.

use std::collections::BTreeMap;
use std::ops::Range;

use qa_core::packet::{Line, Packet};
use qa_reading::documents::ReadError;
use qa_reading::syntax::Span;
use qa_reading::workflow::Value;

use super::model::{Kind, Model};
use crate::contract::{Draft, DraftExt, Inspection};

/// A fault in a workflow, wherever it stands.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) rule: &'static str,
    pub(crate) place: Span,
    /// Begin of the quote, where it stands before the place and on the same line.
    lead: usize,
    /// Meaning of the fault: one of the same rule and subject at the base is the same fault.
    pub(crate) subject: String,
    pub(crate) summary: &'static str,
    /// Places without which it would be no fault.
    pub(crate) because: Vec<Span>,
}

impl Found {
    /// A fault of a value, at the place of its text; an alias that names it makes it a fault too.
    pub(crate) fn new(
        rule: &'static str,
        value: Value<'_>,
        subject: impl Into<String>,
        summary: &'static str,
    ) -> Self {
        Self::at_place(rule, value.definition(), subject, summary).because([value.span()])
    }

    pub(crate) fn at_place(
        rule: &'static str,
        place: Span,
        subject: impl Into<String>,
        summary: &'static str,
    ) -> Self {
        Self { rule, place, lead: place.start, subject: subject.into(), summary, because: Vec::new() }
    }

    /// Moves the fault to a part of the value.
    pub(crate) fn placed_at(self, place: Span) -> Self {
        Self { place, lead: place.start, ..self }
    }

    /// Quotes from an earlier place on, such as the begin of a pipeline.
    pub(crate) fn from(self, lead: usize) -> Self {
        Self { lead: lead.min(self.place.start), ..self }
    }

    pub(crate) fn because(mut self, places: impl IntoIterator<Item = Span>) -> Self {
        self.because.extend(places);
        self
    }
}

/// Returns the faults of head that the base does not have, as often as head has more of them. Of several with the same
/// meaning, those on changed lines are new.
pub(crate) fn new_ones(base: Vec<Found>, head: Vec<Found>, changes: &Changes<'_>) -> Vec<Found> {
    let mut before: BTreeMap<(&'static str, String), usize> = BTreeMap::new();
    for each in base {
        *before.entry((each.rule, each.subject)).or_default() += 1;
    }
    let mut known = vec![false; head.len()];
    let (old, touched): (Vec<usize>, Vec<usize>) =
        (0..head.len()).partition(|&position| changes.line_of(&head[position]).is_none());
    for position in old.into_iter().chain(touched) {
        let each = &head[position];
        if let Some(count) = before.get_mut(&(each.rule, each.subject.clone()))
            && *count > 0
        {
            *count -= 1;
            known[position] = true;
        }
    }
    head.into_iter().zip(known).filter(|(_, known)| !known).map(|(each, _)| each).collect()
}

/// Reads both versions of a file that the platform executes and gives them to a judge. A base that is no such file, or
/// none at all, is `None`.
pub(crate) fn inspect_versions(
    packet: &Packet<'_>,
    judge: impl FnOnce(
        Option<Result<Model<'_>, ReadError>>,
        Result<Model<'_>, ReadError>,
        &Changes<'_>,
    ) -> Vec<Draft>,
) -> Inspection {
    let Some(head_kind) = Kind::of(packet.path()) else { return Inspection::default() };
    let Some(head_text) = packet.text.full_head.as_deref() else { return Inspection::default() };
    let base_kind = Kind::of(packet.file.old_path.as_ref().unwrap_or(&packet.file.path));
    let base_text = packet.text.full_base.as_deref();
    let base_document = base_kind.zip(base_text).map(|(kind, text)| (kind, kind.document(text)));
    let base = base_document.as_ref().map(|(kind, document)| Model::parse(*kind, document));
    let head_document = head_kind.document(head_text);
    let head = Model::parse(head_kind, &head_document);
    let drafts = judge(base, head, &Changes::new(packet, head_text));
    Inspection { drafts, facts: Vec::new() }
}

/// The changed lines of a file.
pub(crate) struct Changes<'p> {
    packet: &'p Packet<'p>,
    /// Begins of the lines of head.
    begins: Vec<usize>,
    added: BTreeMap<u64, Line<'p>>,
    removed: Vec<Removed<'p>>,
}

/// A removed line, with the line of head where it stood.
struct Removed<'p> {
    line: Line<'p>,
    at: u64,
}

impl<'p> Changes<'p> {
    pub(crate) fn new(packet: &'p Packet<'p>, head: &str) -> Self {
        let begins = std::iter::once(0).chain(head.match_indices('\n').map(|(at, _)| at + 1));
        let mut removed = Vec::new();
        for hunk in packet.hunks() {
            removed.extend(hunk.removed().map(|line| Removed { line, at: hunk.hunk.new_start }));
        }
        let added = packet.added().map(|line| (line.number, line)).collect();
        Self { packet, begins: begins.collect(), added, removed }
    }

    /// Number of the line of a place, from 1.
    fn number(&self, at: usize) -> u64 {
        self.begins.partition_point(|begin| *begin <= at) as u64
    }

    /// Returns the first added line of a fault, or of what makes it one.
    fn line_of(&self, found: &Found) -> Option<&Line<'p>> {
        let last = self.number(found.place.end.saturating_sub(1).max(found.place.start));
        let own = self.added.range(self.number(found.place.start)..=last).next().map(|(_, line)| line);
        own.or_else(|| self.reason(found))
    }

    fn reason(&self, found: &Found) -> Option<&Line<'p>> {
        found.because.iter().find_map(|place| self.added.get(&self.number(place.start)))
    }

    /// Returns a fault as a finding on a changed line. One that is new although none of its lines is, because a
    /// condition or a setting went away, stands on the nearest changed line where the base was compared.
    pub(crate) fn draft(&self, found: &Found, is_compared: bool) -> Option<Draft> {
        let first = self.number(found.place.start);
        let last = self.number(found.place.end.saturating_sub(1).max(found.place.start));
        if let Some(line) = self.added.range(first..=last).map(|(_, line)| line).next() {
            let columns = self.columns(found, line);
            return Some(Draft::on_line(found.rule, self.packet, line, columns, found.summary));
        }
        let draft = match self.reason(found) {
            Some(line) => {
                Some(Draft::on_line(found.rule, self.packet, line, trimmed(line.text), found.summary))
            }
            None if is_compared => self.nearest(found.rule, found.summary, first),
            None => None,
        };
        draft.map(|draft| draft.with("because", first))
    }

    /// Returns the part of a line that a fault takes up; the whole line where that is not known.
    fn columns(&self, found: &Found, line: &Line<'_>) -> Range<usize> {
        let index = usize::try_from(line.number - 1).expect("a line of a text in memory has a small number");
        let begin = self.begins[index];
        let start = found.lead.max(begin) - begin;
        let end = (found.place.end.max(begin) - begin).min(line.text.len());
        let whole = trimmed(line.text);
        match line.text.get(start..end) {
            Some(part) if !part.is_empty() => start.max(whole.start.min(end))..end,
            Some(_) | None => whole,
        }
    }

    /// Returns a finding about a file that cannot be read, on the line of the error or on the nearest changed line.
    pub(crate) fn unreadable(&self, rule: &'static str, error: &ReadError) -> Option<Draft> {
        let summary = "workflow file cannot be parsed, so GitHub runs none of it";
        let at = match error {
            ReadError::Syntax { at, .. } => *at,
            ReadError::TooLarge | ReadError::TooDeep => 0,
        };
        let number = self.number(at);
        let draft = match self.added.get(&number) {
            Some(line) => Some(Draft::on_line(rule, self.packet, line, trimmed(line.text), summary)),
            None => self.nearest(rule, summary, number),
        };
        draft.map(|draft| draft.with("error", error.to_string()))
    }

    fn nearest(&self, rule: &'static str, summary: &'static str, number: u64) -> Option<Draft> {
        let added = self.added.values().filter(|line| has_content(line));
        let added = added.min_by_key(|line| line.number.abs_diff(number));
        let removed = self.removed.iter().filter(|removed| has_content(&removed.line));
        let removed = removed.min_by_key(|removed| removed.at.abs_diff(number));
        if let Some(removed) = removed
            && added.is_none_or(|line| removed.at.abs_diff(number) < line.number.abs_diff(number))
        {
            let line = &removed.line;
            return Some(Draft::on_base_line(rule, self.packet, line, trimmed(line.text), summary));
        }
        let line = added?;
        Some(Draft::on_line(rule, self.packet, line, trimmed(line.text), summary))
    }
}

fn trimmed(line: &str) -> Range<usize> {
    let lead = line.len() - line.trim_start().len();
    lead..line.trim_end().len().max(lead)
}

/// Returns whether a line is neither blank nor a comment.
fn has_content(line: &Line<'_>) -> bool {
    let text = line.text.trim_start();
    !text.is_empty() && !text.starts_with('#')
}
