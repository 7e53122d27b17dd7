//! Expressions and statements that are a fault by themselves, whatever the program is about.

mod assignments;
mod asynchronous;
mod branches;
mod callees;
mod comparisons;
mod conditions;
mod copies;
mod definitions;
mod errors;
mod flows;
#[cfg(test)]
mod hostile_tests;
mod ids;
mod late;
mod loops;
mod numbers;
mod operands;
mod results;
mod rules;
mod secrets;
mod site;
mod swapped;
mod table;
mod texts;
mod trust;
mod units;

use std::collections::BTreeSet;

use crate::calls::AddedLines;
use crate::contract::{Census, Draft, DraftExt, Fact, Inspection, Lens, LensSpec, Need};
use crate::parsed;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{ChangeKind, ChangedFile, FileText, LensClass, Scope};
use qa_core::findings::EXPRESSION;
use qa_core::packet::Packet;
use qa_reading::expressions::Expressions;
use qa_reading::syntax::{Language, Span};
use rules::*;
use site::{Check, Site};

static SPEC: LensSpec = LensSpec {
    id: "suspicious-expression",
    version: "6",
    class: LensClass::Style,
    title: "Expressions that are faults by themselves",
    required_by_default: false,
    triggers: parsed::GRAMMARS,
    page: include_str!(concat!(env!("OUT_DIR"), "/suspicious-expression.md")),
    rules: ALL,
};

/// Finds expressions that cannot be meant as they are.
pub(crate) struct SuspiciousExpression;

impl Lens for SuspiciousExpression {
    fn spec(&self) -> &'static LensSpec {
        &SPEC
    }

    fn need(&self, file: &ChangedFile) -> Need {
        if is_judged(file) { parsed::content_need(file) } else { Need::Hunks }
    }

    fn wants_whole_file(&self, file: &ChangedFile, hunks: &FileText) -> bool {
        let included = vec![true; file.hunks.len()];
        may_tell(&Packet { file, text: hunks, included: &included })
    }

    fn inspect(&self, packet: &Packet<'_>) -> Inspection {
        let language = Language::from_path(&packet.path_by_language());
        let text = packet.text.full_head.as_deref().filter(|_| is_judged(packet.file) && may_tell(packet));
        let Some((language, text)) = language.zip(text) else { return Inspection::default() };
        let Some(all) = Expressions::parse(language, text) else {
            return Inspection { drafts: Vec::new(), facts: vec![Fact::unread()] };
        };
        let lines = AddedLines::new(packet, text);
        let mut drafts: Vec<Draft> = Vec::new();
        let mut places = BTreeSet::new();
        all.visit(lines.spans(), |expression| {
            let site = Site::new(expression);
            for check in table::checks(&site) {
                let draft = draft(packet, &lines, &site, check);
                drafts.extend(
                    draft.filter(|draft| places.insert((check.rule, draft.start_line, draft.start_column))),
                );
            }
        });
        Inspection { drafts, facts: Vec::new() }
    }

    fn census(&self, rule: &str, file: &RepoPath, text: &str) -> Census {
        let path = file.to_text();
        let all = Language::from_path(&path).and_then(|language| Expressions::parse(language, text));
        all.map(|all| Census::of_rare(has(&all, rule, text))).unwrap_or_default()
    }
}

/// Returns whether a rule finds a place in a file.
fn has(all: &Expressions<'_>, rule: &str, text: &str) -> bool {
    let mut is_found = false;
    all.visit(&[Span { start: 0, end: text.len() }], |expression| {
        if !is_found && !expression.is_broken() {
            let site = Site::new(expression);
            let mut checks = table::checks(&site).filter(|check| check.rule == rule);
            is_found = checks.any(|check| !(check.find)(&site).is_empty());
        }
    });
    is_found
}

fn is_judged(file: &ChangedFile) -> bool {
    file.scope == Scope::Product && file.kind != ChangeKind::Deleted
}

/// Returns whether the added lines have more than names, numbers and punctuation that no rule looks at.
fn may_tell(packet: &Packet<'_>) -> bool {
    packet.added().any(|line| {
        line.text.contains(['(', '=', '[', '<', '>', '{', '^', '-', '/', '!', '+', '*', '%'])
            || has_word(line.text)
    })
}

fn has_word(line: &str) -> bool {
    const WORDS: &[&str] =
        &["and", "assert", "await", "else", "except", "is", "or", "raise", "rescue", "return", "when"];
    line.split_whitespace().any(|word| WORDS.contains(&word) || word.contains(['"', '\'', '&', '|', '.']))
}

/// Reports what a check finds at a place, on the first added line that a part of it touches.
fn draft(packet: &Packet<'_>, lines: &AddedLines<'_>, site: &Site<'_>, check: &Check) -> Option<Draft> {
    let parts = (check.find)(site);
    if parts.is_empty() || site.expression.is_broken() {
        return None;
    }
    let (line, columns) = parts.iter().find_map(|part| lines.on(*part))?;
    // A program has written or packed it.
    if code_length(line.text, columns.end) > LONGEST_LINE {
        return None;
    }
    let draft = Draft::on_line(check.rule, packet, line, columns, check.summary);
    let whole = site.expression.tokens().concat();
    let is_short = whole.len() <= LONGEST_EXPRESSION;
    let is_part = is_short && whole != draft.quote;
    Some(if is_part { draft.with(EXPRESSION, whole) } else { draft })
}

/// Returns the length of a line without the comment that may follow a column.
fn code_length(line: &str, column: usize) -> usize {
    let rest = line.get(column..).unwrap_or_default();
    let comments = ["//", "/*", "#"].iter().filter_map(|mark| rest.find(mark));
    column + comments.min().unwrap_or(rest.len())
}

/// Longer expressions are told apart by their quotes.
const LONGEST_EXPRESSION: usize = 200;
/// Longer lines are written by programs.
const LONGEST_LINE: usize = 500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_chains_and_large_numbers_are_judged() {
        let count = 300;
        let texts = [
            (Language::JavaScript, format!("x_ms = {}y", "!".repeat(count))),
            (Language::JavaScript, format!("f(a, {}1)", "- ".repeat(count))),
            (Language::JavaScript, format!("if (a{}) {{}}", " && a".repeat(count))),
            (Language::Rust, format!("fn f() {{ let _ = x{}; }}", ".unwrap()".repeat(count))),
            (Language::Python, format!("x = f{}", "()".repeat(count))),
            (Language::Python, "\"{18446744073709551615}\".format(1)".to_owned()),
            (
                Language::CSharp,
                "class A { void F() { string.Format(\"{18446744073709551615}\", 1, 2); } }".to_owned(),
            ),
        ];
        for (language, text) in texts {
            let all = Expressions::parse(language, &text).unwrap();
            let mut found = 0;
            let whole = Span { start: 0, end: text.len() };
            all.visit(&[whole], |expression| {
                let site = Site::new(expression);
                found += table::checks(&site).map(|check| (check.find)(&site).len()).sum::<usize>();
            });
            assert!(found <= count, "{language:?}");
        }
    }
}
