//! Changed files as facts: their paths and lines, by which a comparison of the two trees places its findings.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::contract::{Draft, DraftExt, Lookups};
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, Scope, Side};
use qa_core::classify::{ScopeGlobs, class};
use qa_core::packet::{Packet, line_start};
use qa_reading::syntax::Span;

/// A changed file with the lines that findings may quote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Change {
    /// Path at the base; none for a new file.
    base: Option<String>,
    /// Path at head; none for a deleted file, or one that is taken over from others.
    head: Option<String>,
    removed: BTreeSet<u64>,
    added: BTreeSet<u64>,
}

impl Change {
    /// Returns the change of a file, which counts as deleted where it moves to a scope that is none of those given. A file
    /// that stays in such a scope is a changed one: its values are compared as those of any other.
    pub(crate) fn new(packet: &Packet<'_>, scopes: &[Scope]) -> Self {
        let file = packet.file;
        let is_own = scopes.contains(&file.scope) || keeps_scope(file);
        let old_path = file.old_path.as_ref().unwrap_or(&file.path);
        Self {
            base: file.old_mode.as_ref().map(|_| old_path.to_text().into_owned()),
            head: file.new_mode.as_ref().filter(|_| is_own).map(|_| file.path.to_text().into_owned()),
            removed: packet.removed().map(|line| line.number).collect(),
            added: packet.added().map(|line| line.number).collect(),
        }
    }

    /// Path on one side.
    pub(crate) fn path(&self, side: Side) -> Option<&str> {
        match side {
            Side::Base => self.base.as_deref(),
            Side::Head => self.head.as_deref(),
        }
    }

    /// Returns the removed lines of the file's text at the base.
    pub(crate) fn removed_lines<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let lines = (1..).zip(text.lines()).filter(|(number, _)| self.removed.contains(number));
        lines.map(|(_, line)| line).collect()
    }

    /// Makes a draft on the first changed line that a place touches; without a place, on the first that is not blank.
    pub(crate) fn on_line(
        &self,
        rule: &'static str,
        side: Side,
        span: Option<Span>,
        summary: &str,
        lookups: &dyn Lookups,
    ) -> Option<Draft> {
        let path = self.path(side)?;
        let lines = match side {
            Side::Base => &self.removed,
            Side::Head => &self.added,
        };
        let text = lookups.text(side, path)?;
        let before = span.and_then(|span| text.get(..span.start));
        let mut start = before.map(|before| line_start(before, before.len())).unwrap_or_default();
        let first = text[..start].matches('\n').count() as u64 + 1;
        for (number, raw) in (first..).zip(text[start..].split_inclusive('\n')) {
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

    /// Makes a draft on the first changed line of one side, else of the other one, or on the file where it has neither.
    pub(crate) fn on_any_line(
        &self,
        rule: &'static str,
        first: Side,
        summary: &str,
        lookups: &dyn Lookups,
    ) -> Draft {
        let sides = match first {
            Side::Base => [Side::Base, Side::Head],
            Side::Head => [Side::Head, Side::Base],
        };
        let draft = sides.into_iter().find_map(|side| self.on_line(rule, side, None, summary, lookups));
        draft.unwrap_or_else(|| self.on_file(rule, summary))
    }

    /// Makes a draft on the file: at head, or at the base where it is deleted.
    fn on_file(&self, rule: &'static str, summary: &str) -> Draft {
        let (path, side) = match (&self.head, &self.base) {
            (Some(path), _) => (path.as_str(), Side::Head),
            (None, Some(path)) => (path.as_str(), Side::Base),
            (None, None) => ("", Side::Head),
        };
        Draft::on_file(rule, &repo_path(path), side, summary)
    }
}

/// Returns whether a file of the base has the same scope at head, by its names.
fn keeps_scope(file: &ChangedFile) -> bool {
    let Some(old_path) = &file.old_path else { return file.old_mode.is_some() };
    ScopeGlobs::new(|_| &[]).is_ok_and(|globs| globs.scope(old_path, class(old_path)) == file.scope)
}

pub(crate) fn repo_path(path: &str) -> RepoPath {
    RepoPath::from_bytes(path.as_bytes()).expect("it comes from a path of the change or of its trees")
}
