//! The lines of a changed file that findings may quote, for lenses that compare the two trees.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::contract::{Draft, Lookups};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::Side;
use qa_core::packet::Packet;
use qa_reading::syntax::Span;

/// A changed file with the numbers of its changed lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ChangedLines {
    /// Path at the base; none for a new file.
    pub(crate) base: Option<String>,
    /// Path at head; none for a deleted file.
    pub(crate) head: Option<String>,
    removed: BTreeSet<u64>,
    added: BTreeSet<u64>,
}

impl ChangedLines {
    pub(crate) fn new(packet: &Packet<'_>) -> Self {
        let file = packet.file;
        let text = |path: &RepoPath| path.to_text().into_owned();
        Self {
            base: file.old_mode.as_ref().map(|_| text(file.old_path.as_ref().unwrap_or(&file.path))),
            head: file.new_mode.as_ref().map(|_| text(&file.path)),
            removed: packet.removed().map(|line| line.number).collect(),
            added: packet.added().map(|line| line.number).collect(),
        }
    }

    pub(crate) fn path(&self, side: Side) -> Option<&str> {
        match side {
            Side::Base => self.base.as_deref(),
            Side::Head => self.head.as_deref(),
        }
    }

    /// Makes a draft on the first changed line of a side that a place touches; without a place, on the first that is
    /// not blank.
    pub(crate) fn draft(
        &self,
        lookups: &dyn Lookups,
        rule: &'static str,
        side: Side,
        span: Option<Span>,
        summary: &str,
    ) -> Option<Draft> {
        let path = self.path(side)?;
        let lines = match side {
            Side::Base => &self.removed,
            Side::Head => &self.added,
        };
        let text = lookups.text(side, path)?;
        let mut start = 0;
        for (number, raw) in (1..).zip(text.split_inclusive('\n')) {
            let line = Span { start, end: start + raw.trim_end().len() };
            start += raw.len();
            let content = line.of(&text);
            if !lines.contains(&number) || content.trim().is_empty() {
                continue;
            }
            let quoted = match span {
                Some(span) if span.start <= line.end && line.start <= span.end.max(span.start) => {
                    Span { start: span.start.max(line.start), end: span.end.min(line.end) }
                }
                Some(_) => continue,
                None => line,
            };
            return Some(Draft::on_text(rule, &repo_path(path), side, &text, quoted, summary));
        }
        None
    }
}

/// Returns the path of a text that came from a path.
pub(crate) fn repo_path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path.as_bytes()).expect("it comes from a path of the change or of its trees")
}
