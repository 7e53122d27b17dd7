//! Both versions of a file with what their functions do, beside the lines that a change adds and removes.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::contract::{Draft, DraftExt};
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{
    Behaviour, Function, Language, OtherVersion, ParsedSource, Span, Table, without_comment,
};

/// A changed file that both sides have, parsed.
pub(super) struct Compared<'p> {
    pub(super) packet: &'p Packet<'p>,
    pub(super) language: Language,
    pub(super) base: Version<'p>,
    pub(super) head: Version<'p>,
}

/// Base or head version of a changed file.
pub(super) struct Version<'p> {
    pub(super) text: &'p str,
    pub(super) behaviour: Behaviour<'p>,
    source: &'p ParsedSource<'p>,
    /// Changed lines of this side.
    lines: Vec<Placed<'p>>,
}

struct Placed<'p> {
    line: Line<'p>,
    /// The line without its end.
    span: Span,
}

/// A function that both sides have.
pub(super) struct Pair<'c> {
    pub(super) base: &'c Function<'c>,
    pub(super) head: &'c Function<'c>,
}

/// The trees of both sides.
pub(super) struct Trees<'p> {
    language: Language,
    base: ParsedSource<'p>,
    head: ParsedSource<'p>,
}

impl<'p> Trees<'p> {
    /// Parses both sides, the earlier one beside the later. Returns `None` where a side is absent or cannot be parsed.
    pub(super) fn parse(packet: &'p Packet<'p>) -> Option<Self> {
        let language = Language::from_path(&packet.path_by_language())?;
        let (base, head) = (packet.text.full_base.as_deref()?, packet.text.full_head.as_deref()?);
        let other = OtherVersion { text: head, hunks: &packet.file.hunks, is_newer: true };
        let head = ParsedSource::parse(language, head, None)?;
        let base = ParsedSource::parse(language, base, Some(&other))?;
        Some(Self { language, base, head })
    }
}

impl<'p> Compared<'p> {
    pub(super) fn new(packet: &'p Packet<'p>, trees: &'p Trees<'p>) -> Self {
        let base = Version::new(&trees.base, packet.removed());
        let head = Version::new(&trees.head, packet.added());
        Self { packet, language: trees.language, base, head }
    }

    /// Returns the functions that both sides have, that differ, and that could be parsed.
    pub(super) fn pairs(&self) -> Vec<Pair<'_>> {
        let mut pairs = self.all_pairs();
        pairs.retain(|pair| {
            let is_changed = self.head.touches(pair.head.span) || self.base.touches(pair.base.span);
            is_changed && !pair.base.is_broken && !pair.head.is_broken
        });
        pairs
    }

    /// Returns the functions that both sides have, whether they differ or not. Of overloads with other parameters than
    /// before, those are a pair that alone are left on each side.
    pub(super) fn all_pairs(&self) -> Vec<Pair<'_>> {
        let mut older = self.base.behaviour.by_path();
        let newer = self.head.behaviour.by_path();
        let (mut pairs, mut left): (Vec<Pair<'_>>, BTreeMap<&str, Vec<&Function<'_>>>) = Default::default();
        for (key, head) in newer {
            match older.remove(&key) {
                Some(base) => pairs.push(Pair { base, head }),
                None => left.entry(&head.path).or_default().push(head),
            }
        }
        let mut gone: BTreeMap<&str, Vec<&Function<'_>>> = BTreeMap::new();
        for (_, base) in older.into_iter().filter(|(key, base)| *key != base.path) {
            gone.entry(&base.path).or_default().push(base);
        }
        for (path, heads) in left {
            if let ([head], Some([base])) = (heads.as_slice(), gone.get(path).map(Vec::as_slice)) {
                pairs.push(Pair { base, head });
            }
        }
        pairs
    }

    /// Returns the functions that head alone has, on changed lines.
    pub(super) fn new_functions(&self) -> impl Iterator<Item = &Function<'p>> {
        let older = LazyCell::new(|| {
            let functions = self.base.behaviour.functions.iter();
            functions.map(|function| function.path.as_str()).collect::<BTreeSet<_>>()
        });
        let newer = self.head.behaviour.functions.iter().skip(1);
        newer.filter(move |function| {
            let is_changed = !function.is_broken && self.head.touches(function.span);
            is_changed && !older.contains(function.path.as_str())
        })
    }

    /// Makes a draft on the first added line that a place at head touches.
    pub(super) fn at_head(&self, rule: &'static str, place: Span, summary: &str) -> Option<Draft> {
        self.head.draft(self.packet, rule, place, summary)
    }

    /// Makes a draft on the first removed line that a place at the base touches.
    pub(super) fn at_base(&self, rule: &'static str, place: Span, summary: &str) -> Option<Draft> {
        let (line, columns) = self.base.on(place)?;
        Some(Draft::on_base_line(rule, self.packet, line, columns, summary))
    }
}

impl<'p> Version<'p> {
    pub(super) fn new(source: &'p ParsedSource<'p>, changed: impl Iterator<Item = Line<'p>>) -> Self {
        let text = source.text();
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let lines = changed.filter_map(|line| {
            let index = usize::try_from(line.number.checked_sub(1)?).ok()?;
            let start = *starts.get(index)?;
            Some(Placed { line, span: Span { start, end: start + line.text.len() } })
        });
        Self { text, behaviour: Behaviour::new(source), source, lines: lines.collect() }
    }

    /// Returns the tables of cases with a changed line.
    pub(super) fn tables(&self) -> Vec<Table> {
        let places: Vec<Span> = self.lines.iter().map(|placed| placed.span).collect();
        if places.is_empty() { Vec::new() } else { self.source.tables(&places) }
    }

    /// Returns all tables of cases.
    pub(super) fn all_tables(&self) -> Vec<Table> {
        self.source.tables(&[Span { start: 0, end: self.text.len() }])
    }

    /// Makes a draft on the first added line that a place touches.
    pub(super) fn draft(
        &self,
        packet: &Packet<'_>,
        rule: &'static str,
        place: Span,
        summary: &str,
    ) -> Option<Draft> {
        let (line, columns) = self.on(place)?;
        Some(Draft::on_line(rule, packet, line, columns, summary))
    }

    /// Returns whether a changed line stands in a function of a name.
    pub(super) fn stands_in(&self, line: &Line<'_>, name: &str) -> bool {
        let functions = self.behaviour.functions.iter().skip(1);
        let mut named = functions.filter(|function| function.path.rsplit('.').next() == Some(name));
        named.any(|function| self.is_on(line, function.span))
    }

    /// Returns whether a changed line stands in a place.
    pub(super) fn is_on(&self, line: &Line<'_>, place: Span) -> bool {
        let first = self.lines.partition_point(|placed| placed.line.number < line.number);
        let mut lines = self.lines[first..].iter().take_while(|placed| placed.line.number == line.number);
        lines.any(|placed| place.start <= placed.span.start && placed.span.end <= place.end)
    }

    /// Returns whether every changed line that is not blank stands in one of some places.
    pub(super) fn changes_only(&self, places: &[Span]) -> bool {
        let mut lines = self.lines.iter().filter(|placed| !placed.line.text.trim().is_empty());
        lines.all(|Placed { line, span }| {
            let code = span.start + (line.text.len() - line.text.trim_start().len());
            let end =
                span.start + without_comment(line.text).trim_end_matches([' ', '\t', '\r', ';', ',']).len();
            places.iter().any(|place| place.start <= code && end <= place.end.max(code))
        })
    }

    /// Returns whether a place touches a changed line that is not blank.
    pub(super) fn touches(&self, place: Span) -> bool {
        self.on(place).is_some()
    }

    /// Returns the first changed line that a place touches, and the columns of the place there.
    fn on(&self, place: Span) -> Option<(&Line<'p>, Range<usize>)> {
        let first = self.lines.partition_point(|placed| placed.span.end <= place.start);
        for Placed { line, span } in &self.lines[first..] {
            if place.end <= span.start {
                return None;
            }
            let (from, to) = (place.start.max(span.start) - span.start, place.end.min(span.end) - span.start);
            let shown = line.text.get(from..to).unwrap_or_default();
            let begin = from + (shown.len() - shown.trim_start().len());
            let end = begin + shown.trim().len();
            if begin < end {
                return Some((line, begin..end));
            }
        }
        None
    }
}
