//! Loops that run once or never end, and cases that fall through.

use super::assignments::assignment;
use super::loops::changes;
use super::rules;
use super::site::{Check, Found, Site, number};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::{Language, Span, comments, has_reason};

pub(super) const FALLS: Check = Check::new(
    rules::FALLS_THROUGH,
    "the case before runs on into this one, which overwrites its value",
    falls,
);
pub(super) const ONCE: Check =
    Check::new(rules::RUNS_ONCE, "loop leaves the function in its first turn", once);
pub(super) const NEVER: Check =
    Check::new(rules::LOOP_STEP, "nothing in the loop changes what its condition compares", never);

fn falls(site: &Site<'_>) -> Found {
    let runs_on = matches!(site.language(), Language::C | Language::Cpp | Language::Java | Language::Php);
    if !runs_on && !site.is_ecma() {
        return Vec::new();
    }
    let cases = site.expression.case_bodies();
    for pair in cases.windows(2) {
        let (Some(last), Some(first)) = (pair[0].statements.last(), pair[1].statements.first()) else {
            continue;
        };
        let (Some((set, _)), Some((again, value))) = (assignment(*last), assignment(*first)) else {
            continue;
        };
        let between = site.expression.file().get(last.span().start..first.span().end).unwrap_or_default();
        let is_marked = between.contains("[[fallthrough]]")
            || comments(between).to_lowercase().contains("fall")
            || has_reason(between);
        let reads = value.tokens().windows(set.tokens().len()).any(|part| part == set.tokens());
        if set.is_place() && set.is_same(again) && !reads && !is_marked {
            return vec![pair[1].label.span(), last.span()];
        }
    }
    Vec::new()
}

fn once(site: &Site<'_>) -> Found {
    let kind = site.expression.kind();
    let is_each = match site.language() {
        Language::CSharp | Language::Php => kind == "foreach_statement",
        Language::Go => {
            kind == "for_statement"
                && site.expression.children().iter().any(|part| part.kind() == "range_clause")
        }
        Language::Java => kind == "enhanced_for_statement",
        Language::JavaScript | Language::Tsx | Language::TypeScript => kind == "for_in_statement",
        Language::Python => kind == "for_statement",
        Language::C | Language::Cpp | Language::Kotlin | Language::Ruby | Language::Rust => false,
    };
    let Some(body) = site.expression.body().filter(|_| is_each) else { return Vec::new() };
    let statements = body.statements();
    let [before @ .., last] = &statements[..] else { return Vec::new() };
    let chooses = before.iter().any(|statement| statement.is_choice() && statement.has_way_out());
    let goes_on = body.tokens().iter().any(|word| matches!(*word, "continue" | "goto" | "yield"));
    let head = Span { start: site.expression.span().start, end: body.span().start };
    // What the loop gives back of its first entry is meant.
    let gives_entry = has_word_of(*last, head.of(site.expression.file()));
    if !last.is_way_out() || !chooses || goes_on || gives_entry {
        return Vec::new();
    }
    vec![head, last.span()]
}

/// Returns whether an expression has one of the names in a text.
fn has_word_of(expression: Expression<'_>, text: &str) -> bool {
    let mut words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let tokens = expression.tokens();
    words.any(|word| word.starts_with(char::is_alphabetic) && tokens.contains(&word))
}

fn never(site: &Site<'_>) -> Found {
    if site.expression.kind() != "while_statement" {
        return Vec::new();
    }
    let (Some(condition), Some(body)) = (site.expression.condition(), site.expression.body()) else {
        return Vec::new();
    };
    let Form::Binary { left, operator, right } = condition.form() else { return Vec::new() };
    let Form::Name(counter) = left.form() else { return Vec::new() };
    let is_bound = number(right).is_some() || matches!(right.form(), Form::Name(_));
    let is_judged =
        matches!(operator, Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual)
            && is_bound;
    if !is_judged || body.statements().is_empty() {
        return Vec::new();
    }
    const LEAVES: &[&str] = &["await", "break", "exit", "goto", "raise", "return", "throw", "yield"];
    let leaves = body.tokens().iter().any(|word| LEAVES.contains(word));
    let mut calls = false;
    body.descend(&mut |node| {
        calls |= matches!(node.form(), Form::Call { .. } | Form::Await(_));
        !calls
    });
    let changes_bound = matches!(right.form(), Form::Name(bound) if changes(body, bound));
    // Other code may change a variable that is not local.
    let is_local =
        site.expression.function().and_then(Expression::body).is_some_and(|body| changes(body, counter));
    if leaves || calls || changes_bound || changes(body, counter) || !is_local {
        return Vec::new();
    }
    vec![Span { start: site.expression.span().start, end: condition.span().end }]
}
