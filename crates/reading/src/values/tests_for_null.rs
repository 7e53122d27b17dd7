//! Conditions that ask if a name is null.

use super::NullTest;
use crate::names::joins;
use crate::syntax::{Language, Span};
use crate::tree::Node;

/// Spellings of the test that hold for null, with `$` for the name.
const EXACT: &[(&str, &str)] = &[
    ("", "===null"),
    ("", "==null"),
    ("", "===undefined"),
    ("", "==undefined"),
    ("", "==nil"),
    ("", "==NULL"),
    ("", "==nullptr"),
    ("null===", ""),
    ("null==", ""),
    ("", " is None"),
    ("", " is null"),
    ("", ".nil?"),
    ("is_null(", ")"),
];
/// Spellings of the test that hold for anything else.
const OPPOSITE: &[(&str, &str)] = &[
    ("", "!==null"),
    ("", "!=null"),
    ("", "!==undefined"),
    ("", "!=undefined"),
    ("", "!=nil"),
    ("", "!=NULL"),
    ("", "!=nullptr"),
    ("null!==", ""),
    ("null!=", ""),
    ("", " is not None"),
    ("", " is not null"),
    ("!is_null(", ")"),
];

/// Returns the test of a condition, or of the first operand of a conjunction.
pub(super) fn null_test(language: Language, text: &str, condition: Node<'_>) -> Option<NullTest> {
    let mut at = condition;
    let mut is_whole = true;
    loop {
        let place = Span { start: at.start_byte(), end: at.end_byte() };
        if let "parenthesized_expression" | "parenthesized_statements" | "condition_clause" = at.word() {
            at = at.named_child(0).filter(|_| at.named_child_count() == 1)?;
        } else if let Some(left) = conjunct(text, at) {
            is_whole = false;
            at = left;
        } else {
            return spelled(language, place.of(text)).map(|test| NullTest { is_whole, ..test });
        }
    }
}

/// Returns the first operand of a conjunction.
fn conjunct<'t>(text: &str, node: Node<'t>) -> Option<Node<'t>> {
    if !matches!(node.word(), "binary_expression" | "boolean_operator" | "binary" | "logical_expression") {
        return None;
    }
    let operator = node.field("operator")?;
    let operator = &text[operator.byte_range()];
    matches!(operator, "&&" | "and").then(|| node.field("left")).flatten()
}

/// Returns the test that a text spells.
fn spelled(language: Language, text: &str) -> Option<NullTest> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = if words.contains(&"is") { words.join(" ") } else { words.concat() };
    for (spellings, is_null) in [(EXACT, true), (OPPOSITE, false)] {
        for (before, after) in spellings {
            let name = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            if let Some(name) = name.filter(|name| is_name(name)) {
                return Some(NullTest { name: bare(name), is_null, is_exact: true, is_whole: true });
            }
        }
    }
    let has_falsy_null = matches!(
        language,
        Language::C
            | Language::Cpp
            | Language::JavaScript
            | Language::Php
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript
    );
    let name = text.strip_prefix('!').filter(|name| has_falsy_null && is_name(name))?;
    Some(NullTest { name: bare(name), is_null: true, is_exact: false, is_whole: true })
}

fn is_name(text: &str) -> bool {
    let name = text.strip_prefix('$').unwrap_or(text);
    !name.is_empty() && !name.starts_with(|first: char| first.is_ascii_digit()) && name.chars().all(joins)
}

fn bare(name: &str) -> String {
    name.trim_start_matches('$').to_owned()
}
