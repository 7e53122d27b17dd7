//! Turns drafts of a lens into statements, and checks that each quote stands on the touched lines it claims.

use std::collections::BTreeMap;

use serde_json::Value;

use qa_contracts::codes::Code;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangedFile, Edit, FileText, LensPlan, Severity, Side};
use qa_core::crosscheck::stands_in;
use qa_core::edits;
use qa_core::escape::harmless;
use qa_core::findings::{ALSO_ON_LINES, Statement, UNLISTED};
use qa_core::packet::{Line, Packet};
use qa_core::plan::included_hunks;
use qa_lenses::contract::{Draft, Lens};

use super::operands::Places;

/// Returns a statement for each draft. `texts` has the text of every file that a draft is about. A draft whose quote is
/// not on a line that the plan includes has a doubt and cannot block.
pub(super) fn checked_statements(
    lens: &dyn Lens,
    plan: &LensPlan,
    files: &[ChangedFile],
    texts: &BTreeMap<RepoPath, FileText>,
    drafts: &[Draft],
) -> Vec<Statement> {
    let included = included_hunks(plan, files);
    // Drafts come file by file, and the lines of one are looked up many times.
    let mut last: Option<(usize, TouchedLines<'_>, Places<'_>)> = None;
    let mut statements = Vec::with_capacity(drafts.len());
    for draft in drafts {
        let Some(position) = find_file(files, draft) else {
            statements.push(statement(lens, draft, draft.file.clone(), false));
            continue;
        };
        let file = &files[position];
        let included = included[position].as_deref().unwrap_or(&[]);
        let packet = Packet { file, text: &texts[&file.path], included };
        let (lines, places) = match last.take() {
            Some((known, lines, places)) if known == position => (lines, places),
            _ => (TouchedLines::new(&packet), Places::new(file, packet.text)),
        };
        let operand = match draft.side {
            Side::Head => places.operand(lens, draft, &file.path),
            Side::Base => None,
        };
        let is_verified = lines.show(draft);
        let edit = if is_verified { edit(lens, draft, &packet) } else { None };
        let statement = statement(lens, draft, file.path.clone(), is_verified);
        statements.push(Statement { operand, edit, ..statement });
        last = Some((position, lines, places));
    }
    statements
}

/// Returns the position of the changed file that a draft is about. A draft about the base may name the old path.
pub(super) fn find_file(files: &[ChangedFile], draft: &Draft) -> Option<usize> {
    let by_path = files.binary_search_by(|file| file.path.cmp(&draft.file)).ok();
    match draft.side {
        Side::Head => by_path,
        Side::Base => {
            by_path.or_else(|| files.iter().position(|file| file.old_path.as_ref() == Some(&draft.file)))
        }
    }
}

/// Returns the edit that mends all that a draft stands for, if it may be shown and applied.
fn edit(lens: &dyn Lens, draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let stands_for_more = [UNLISTED, ALSO_ON_LINES].iter().any(|name| draft.detail.contains_key(*name));
    let edit = if stands_for_more { None } else { lens.edit(draft, packet) };
    edit.filter(|edit| edits::is_harmless(edit, packet))
}

/// Returns the statement of a draft, without its operand and its edit.
fn statement(lens: &dyn Lens, draft: &Draft, file: RepoPath, verified: bool) -> Statement {
    let rule = lens.spec().rules.iter().find(|rule| rule.id == draft.rule);
    let (fix, moves, severity) = match rule {
        Some(rule) => (rule.fix, rule.moves, rule.severity),
        None => ("", false, Severity::Info),
    };
    Statement {
        rule_id: draft.rule.to_string(),
        severity: draft.severity.unwrap_or(severity),
        fix: lens.fix(draft).unwrap_or(fix).to_owned(),
        edit: None,
        moves: moves && !draft.detail.contains_key(UNLISTED),
        file,
        side: draft.side,
        start_line: draft.start_line,
        end_line: draft.end_line.max(draft.start_line),
        start_column: draft.start_column,
        end_column: draft.end_column,
        quote: harmless(&draft.quote),
        value: draft.value,
        subject: String::new(),
        operand: None,
        summary: harmless(&draft.summary),
        detail: draft.detail.iter().map(|(name, value)| (name.to_string(), harmless_value(value))).collect(),
        doubt: (!verified || rule.is_none()).then_some(Code::EvidenceUnverified),
    }
}

fn harmless_value(value: &Value) -> Value {
    match value {
        Value::String(text) => harmless(text).into(),
        Value::Array(items) => items.iter().map(harmless_value).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (harmless(name), harmless_value(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Lines of a file that the change touches and the plan includes, by number.
struct TouchedLines<'t> {
    added: Vec<Line<'t>>,
    removed: Vec<Line<'t>>,
}

impl<'t> TouchedLines<'t> {
    fn new(packet: &Packet<'t>) -> Self {
        Self { added: packet.added().collect(), removed: packet.removed().collect() }
    }

    /// Returns whether the quote stands where the draft says. A draft without a quote is about the file, and the file is
    /// in the change.
    fn show(&self, draft: &Draft) -> bool {
        if draft.quote.is_empty() {
            return true;
        }
        let lines = match draft.side {
            Side::Head => &self.added,
            Side::Base => &self.removed,
        };
        let first = lines.partition_point(|line| line.number < draft.start_line);
        let after = lines.partition_point(|line| line.number <= draft.end_line.max(draft.start_line));
        lines[first..after].iter().any(|line| stands_in(&draft.quote, line.text))
    }
}
