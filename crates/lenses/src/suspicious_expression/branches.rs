//! Branches, cases and keys that are there twice.

use std::collections::BTreeMap;

use super::rules;
use super::site::{Check, Found, Site};
use qa_reading::expressions::{Expression, Form, MOST_TOKENS};
use qa_reading::syntax::{Language, has_reason};

pub(super) const IDENTICAL: Check =
    Check::new(rules::IDENTICAL_BRANCHES, "all branches do the same", identical);
pub(super) const CONDITION: Check =
    Check::new(rules::DUPLICATE_CONDITION, "an earlier branch has the same condition", condition);
pub(super) const CASE: Check = Check::new(rules::DUPLICATE_CASE, "an earlier case has the same label", case);
pub(super) const KEY: Check = Check::new(rules::DUPLICATE_KEY, "a later entry has the same key", key);

/// Shorter branches are empty.
const FEWEST_TOKENS: usize = 3;

fn identical(site: &Site<'_>) -> Found {
    let Some(branches) = site.expression.branches() else { return Vec::new() };
    let Some(otherwise) = branches.otherwise else { return Vec::new() };
    let tokens = otherwise.tokens();
    let fewest = if branches.is_value { 1 } else { FEWEST_TOKENS };
    let bodies: Option<Vec<Expression<'_>>> = branches.arms.iter().map(|arm| arm.body).collect();
    let bodies = bodies.unwrap_or_default();
    let is_alike = !bodies.is_empty() && bodies.iter().all(|body| body.tokens() == tokens);
    if tokens.len() < fewest
        || tokens.len() >= MOST_TOKENS
        || !is_alike
        || has_reason(site.expression.source())
        || site.expression.is_broken()
        || otherwise.source().contains('(') && branches.arms.iter().any(|arm| narrows(arm.condition))
    {
        return Vec::new();
    }
    std::iter::once(otherwise).chain(bodies).map(Expression::span).collect()
}

/// Returns whether a condition gives a value another type in its branch, so that the same text calls another overload.
fn narrows(condition: Expression<'_>) -> bool {
    let text = condition.source();
    let words: &[&str] = match condition.language() {
        Language::Tsx | Language::TypeScript => {
            &["typeof ", "instanceof ", " in ", "isArray(", ".kind ", ".type ", ".tag ", "_tag "]
        }
        Language::Python => &["isinstance(", "issubclass(", "callable("],
        Language::Kotlin => &[" is ", " !is "],
        Language::Php => &["instanceof "],
        Language::Cpp => &["is_same", "is_base_of", "_v<", "sizeof"],
        Language::C
        | Language::CSharp
        | Language::Go
        | Language::Java
        | Language::JavaScript
        | Language::Ruby
        | Language::Rust => &[],
    };
    let is_guard =
        matches!(condition.language(), Language::Tsx | Language::TypeScript) && calls_guard(condition);
    is_guard || words.iter().any(|word| text.contains(word))
}

/// Returns whether an expression calls a function whose name asks for a type: `isString(value)`.
fn calls_guard(condition: Expression<'_>) -> bool {
    let mut found = false;
    condition.descend(&mut |node| {
        if let Form::Call { name, .. } = node.form() {
            found |= name.strip_prefix("is").is_some_and(|rest| rest.starts_with(char::is_uppercase));
        }
        !found
    });
    found
}

fn condition(site: &Site<'_>) -> Found {
    let Some(branches) = site.expression.branches() else { return Vec::new() };
    for (position, arm) in branches.arms.iter().enumerate() {
        let mut before = branches.arms[..position].iter();
        let earlier = before.find(|earlier| earlier.condition.is_same(arm.condition));
        if let Some(earlier) = earlier.filter(|_| reads_only(arm.condition) && !is_bound(arm.condition)) {
            return vec![arm.condition.span(), earlier.condition.span()];
        }
    }
    Vec::new()
}

/// Returns whether a condition has the same value twice: it calls nothing but functions that ask.
fn reads_only(condition: Expression<'_>) -> bool {
    const ASKS: &[&str] =
        &["is", "has", "starts", "ends", "contains", "includes", "equals", "Has", "Contains"];
    let mut reads = true;
    condition.descend(&mut |node| {
        let form = node.form();
        reads &= if let Form::Call { name, .. } = form {
            ASKS.iter().any(|word| name.starts_with(word))
        } else {
            !matches!(
                form,
                Form::Assign { .. }
                    | Form::Update(_)
                    | Form::Await(_)
                    | Form::Function
                    | Form::Declare { .. }
            )
        };
        reads
    });
    reads
}

/// Returns whether a statement before the condition binds its names, as in Go.
fn is_bound(condition: Expression<'_>) -> bool {
    let Some(choice) = condition.parent() else { return false };
    let before = choice.file().get(choice.span().start..condition.span().start).unwrap_or_default();
    before.contains(';') || condition.source().contains("let ")
}

fn case(site: &Site<'_>) -> Found {
    if !matches!(
        site.language(),
        Language::Go
            | Language::JavaScript
            | Language::Kotlin
            | Language::Php
            | Language::Ruby
            | Language::Tsx
            | Language::TypeScript
    ) {
        return Vec::new();
    }
    let mut labels = BTreeMap::new();
    for label in site.expression.cases() {
        let tokens = label.unwrapped().tokens();
        if tokens.len() < MOST_TOKENS
            && (label.is_pure() || reads_only(label))
            && let Some(earlier) = labels.insert(tokens, label)
        {
            return vec![label.span(), earlier.span()];
        }
    }
    Vec::new()
}

fn key(site: &Site<'_>) -> Found {
    let mut names = BTreeMap::new();
    for entry in site.expression.entries() {
        let span = entry.key.span();
        let name = entry.name.filter(|name| !name.is_empty());
        if let Some(earlier) = name.and_then(|name| names.insert(name, span)) {
            return vec![span, earlier];
        }
    }
    Vec::new()
}
