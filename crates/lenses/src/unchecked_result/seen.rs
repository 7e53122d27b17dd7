//! A changed file with its functions, and the findings in it.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::calls::AddedLines;
use crate::contract::{Draft, DraftExt};
use qa_core::packet::Packet;
use qa_reading::syntax::{Language, Span};
use qa_reading::values::{Body, Call};

/// Functions of one file that have added lines, with the drafts about them.
pub(super) struct Seen<'p> {
    /// The change and its added lines; `None` for a file of the base, of which every line counts.
    added: Option<Added<'p>>,
    pub(super) language: Language,
    pub(super) text: &'p str,
    pub(super) bodies: Vec<Body>,
    pub(super) drafts: Vec<Draft>,
    /// Rules with a place in a file of the base.
    pub(super) rules: BTreeSet<&'static str>,
}

struct Added<'p> {
    packet: &'p Packet<'p>,
    lines: AddedLines<'p>,
}

impl<'p> Seen<'p> {
    /// Parses a file; `None` where it is too large or takes too long.
    pub(super) fn parse(packet: &'p Packet<'p>, language: Language, text: &'p str) -> Option<Self> {
        let lines = AddedLines::new(packet, text);
        let bodies = Body::parse_touching(language, text, lines.spans())?;
        let added = Some(Added { packet, lines });
        Some(Self { added, language, text, bodies, drafts: Vec::new(), rules: BTreeSet::new() })
    }

    /// Parses a file of the base; `None` where it is too large or takes too long.
    pub(super) fn parse_base(language: Language, text: &'p str) -> Option<Self> {
        let bodies = Body::parse_touching(language, text, &[Span { start: 0, end: text.len() }])?;
        Some(Self { added: None, language, text, bodies, drafts: Vec::new(), rules: BTreeSet::new() })
    }

    /// Reports the first of some places that stands on an added line: the fault, or what made it one.
    pub(super) fn report(&mut self, rule: &'static str, places: &[Span], summary: impl Into<String>) {
        let Some(Added { packet, lines }) = &self.added else {
            self.rules.insert(rule);
            return;
        };
        let Some((line, columns)) = places.iter().find_map(|place| lines.on(*place)) else { return };
        let Range { start, end } = columns;
        let draft = Draft::on_line(rule, packet, line, start..end, summary);
        let is_known = self.drafts.iter().any(|known| {
            (&known.rule, known.start_line, known.start_column)
                == (&draft.rule, draft.start_line, draft.start_column)
        });
        if !is_known {
            self.drafts.push(draft);
        }
    }
}

/// Returns whether a callee is one of some, which begin with a dot where the receiver may be anything.
pub(super) fn is_one_of(callee: &str, names: &[&str]) -> bool {
    names.iter().any(|name| match name.strip_prefix('.') {
        Some(_) => callee.ends_with(name),
        None => {
            callee == *name || callee.strip_suffix(name).is_some_and(|rest| rest.ends_with(['.', ':', '\\']))
        }
    })
}

/// Returns the part of a callee before its last name.
pub(super) fn receiver(call: &Call) -> &str {
    let callee = call.callee.as_str();
    let name = callee.rfind(['.', '>', ':']).unwrap_or(0);
    callee[..name].trim_end_matches(['-', ':', '?'])
}

/// Returns the last name of a path such as `self.lock`.
pub(super) fn last_name(path: &str) -> &str {
    path.rsplit(['.', '>', ':', '$']).next().unwrap_or(path)
}
