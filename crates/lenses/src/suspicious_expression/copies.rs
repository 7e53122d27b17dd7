//! Copied lines that were edited incompletely.

use super::assignments::assignment;
use super::rules;
use super::site::{Check, Found, Site, bare};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::names::joins;

pub(super) const COLUMN: Check =
    Check::new(rules::COPIED_LINE, "the value still has a name of the line before", column);
pub(super) const BRANCH: Check = Check::new(
    rules::COPIED_LINE,
    "the condition is still the one before, and the branch is about another value",
    branch,
);

/// Maximum number of tokens of a copied statement.
const MOST_WORDS: usize = 60;
/// Minimum length of the suffix that names of one family share.
const FAMILY: usize = 4;
/// Groups of names for parallel values.
const SIBLINGS: &[&[&str]] = &[
    &["x", "y", "z", "w"],
    &["left", "right", "top", "bottom"],
    &["width", "height", "depth"],
    &["red", "green", "blue", "alpha"],
    &["year", "month", "day", "hour", "minute", "second"],
    &["north", "south", "east", "west"],
    &["first", "second", "third"],
];

fn column(site: &Site<'_>) -> Found {
    let statements = site.expression.children();
    for three in statements.windows(3) {
        let [one, two, three] = three else { continue };
        if let Some(wrong) = wrong_column(site, *one, *two, *three) {
            return vec![wrong];
        }
    }
    Vec::new()
}

/// Returns whether a statement assigns or declares a value.
fn gives(statement: Expression<'_>) -> bool {
    let kind = statement.kind();
    assignment(statement).is_some()
        || kind.ends_with("declaration")
        || kind.ends_with("declaration_statement")
        || kind == "lexical_declaration"
}

fn wrong_column(
    site: &Site<'_>,
    one: Expression<'_>,
    two: Expression<'_>,
    three: Expression<'_>,
) -> Option<qa_reading::syntax::Span> {
    if one.kind() != two.kind() || two.kind() != three.kind() || !gives(three) {
        return None;
    }
    let (first, second, third) = (one.tokens(), two.tokens(), three.tokens());
    if first.len() != second.len() || second.len() != third.len() || first.len() > MOST_WORDS {
        return None;
    }
    let varying: Vec<usize> = (0..first.len()).filter(|at| first[*at] != second[*at]).collect();
    let (target, values) = varying.split_first()?;
    let is_same_elsewhere = (0..third.len()).all(|at| varying.contains(&at) || third[at] == first[at]);
    let (a, b, c) = (first[*target], second[*target], third[*target]);
    let are_names =
        varying.iter().all(|at| [first[*at], second[*at], third[*at]].iter().all(|word| is_name(word)));
    if values.is_empty() || !is_same_elsewhere || !are_names || c == a || c == b {
        return None;
    }
    let keeps_pattern = values.iter().all(|at| relates(a, first[*at]) && relates(b, second[*at]));
    let (wrong, right): (Vec<usize>, Vec<usize>) =
        values.iter().copied().partition(|at| !relates(c, third[*at]));
    let is_copied = !wrong.is_empty() && wrong.iter().all(|at| third[*at] == second[*at]);
    if !keeps_pattern || !is_copied {
        return None;
    }
    let are_members = wrong.iter().all(|at| *at > 0 && third[*at - 1] == ".");
    let is_member = are_members && *target > 0 && third[*target - 1] == ".";
    let prefix = a.len().saturating_sub(first[values[0]].len());
    let expected = c.get(prefix..).unwrap_or(c).trim_start_matches('_').to_lowercase();
    let is_parameter = site.expression.function().is_some_and(|function| {
        function.parameters().iter().any(|name| bare(name).to_lowercase() == expected)
    });
    let is_known = !right.is_empty()
        || is_parameter
        || are_members && are_siblings(a, b, c)
        || is_member && are_family(a, b, c);
    is_known.then(|| three.span())
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_') && word.chars().all(joins)
}

/// Returns whether the name of a value equals that of its target, or is a suffix of it.
fn relates(target: &str, value: &str) -> bool {
    let (target, value) = (bare(target).to_lowercase(), bare(value).to_lowercase());
    target == value || value.len() > 1 && target.ends_with(&value)
}

fn are_siblings(a: &str, b: &str, c: &str) -> bool {
    SIBLINGS
        .iter()
        .any(|names| [a, b, c].iter().all(|name| names.contains(&bare(name).to_lowercase().as_str())))
}

/// Returns whether names share a suffix, such as `Timeout`.
fn are_family(a: &str, b: &str, c: &str) -> bool {
    let shared = a.chars().rev().zip(b.chars().rev()).zip(c.chars().rev());
    shared.take_while(|((a, b), c)| a == b && b == c).count() >= FAMILY
}

fn branch(site: &Site<'_>) -> Found {
    let statements = site.expression.children();
    for two in statements.windows(2) {
        if let Some(condition) = repeated(two[0], two[1]) {
            return vec![condition];
        }
    }
    Vec::new()
}

/// Returns the condition of the second of two branches that was copied from the first.
fn repeated(one: Expression<'_>, two: Expression<'_>) -> Option<qa_reading::syntax::Span> {
    if !one.is_choice() || !two.is_choice() {
        return None;
    }
    let (first, second) = (one.branches()?, two.branches()?);
    let ([early], [late], None, None) =
        (&first.arms[..], &second.arms[..], first.otherwise, second.otherwise)
    else {
        return None;
    };
    let Form::Binary { left, operator: Operator::NotEqual | Operator::NotIdentical, right } =
        early.condition.form()
    else {
        return None;
    };
    let tested = Some(left).filter(|_| right.form() == Form::Null)?;
    let Form::Name(tested) = tested.form() else { return None };
    let (before, after) = (early.body?.tokens(), late.body?.tokens());
    if !early.condition.is_same(late.condition) || before.len() != after.len() || before.len() > MOST_WORDS {
        return None;
    }
    let differing: Vec<(&str, &str)> =
        before.iter().zip(&after).filter(|(one, two)| one != two).map(|(one, two)| (*one, *two)).collect();
    let (_, other) = *differing.first()?;
    let is_copy = is_name(other) && differing.iter().all(|pair| *pair == (tested, other));
    (is_copy && !after.contains(&tested)).then(|| late.condition.span())
}
