//! Operators with operands that make them pointless.

use super::rules;
use super::site::{Check, Found, Site, is_inner, last_name, number, operands};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const SAME: Check =
    Check::new(rules::SAME_OPERAND, "both operands are the same expression", same_operand);
pub(super) const REPEATED: Check =
    Check::new(rules::SAME_OPERAND, "an operand of the condition is repeated", repeated_operand);
pub(super) const CHAINED: Check =
    Check::new(rules::CHAINED_COMPARISON, "result of a comparison is compared with a number", chained);
pub(super) const MASKED: Check =
    Check::new(rules::MASKED_COMPARISON, "comparison binds tighter than the bitwise operator", masked);
pub(super) const NEGATED: Check =
    Check::new(rules::NEGATED_OPERAND, "negation binds tighter than the operator behind it", negated);
pub(super) const POWER: Check = Check::new(rules::XOR_AS_POWER, "`^` is exclusive or, and no power", power);

/// Lines around a comparison in which a word excuses it.
const NEAR: usize = 200;

fn same_operand(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    let is_arithmetic = matches!(
        operator,
        Operator::Minus | Operator::Divide | Operator::Remainder | Operator::BitAnd | Operator::BitXor
    );
    // Templates of C++ look like comparisons.
    let is_ordering =
        !matches!(operator, Operator::Less | Operator::Greater) || site.language() != Language::Cpp;
    let is_judged = is_arithmetic || operator.is_comparison() && is_ordering;
    if !is_judged || left.is_literal() || !left.is_pure() || !left.is_same(right) {
        return Vec::new();
    }
    // `x != x` asks whether x is not a number.
    let value = if let Form::Unary { operator: "+" | "-", operand } = left.form() { operand } else { left };
    let asks_for_nan = operator.is_equality() && value.is_place();
    let is_bare = matches!(value.form(), Form::Name(_));
    site.if_true(!asks_for_nan || !is_bare && !is_near(site.expression, "nan"))
}

/// Returns whether a word stands in the text around an expression, in any case.
fn is_near(expression: Expression<'_>, word: &str) -> bool {
    let (text, span) = (expression.file(), expression.span());
    let from = (span.start.saturating_sub(NEAR)..=span.start).find(|at| text.is_char_boundary(*at));
    let until = (span.end..=text.len().min(span.end + NEAR)).rev().find(|at| text.is_char_boundary(*at));
    let near = text.get(from.unwrap_or(span.start)..until.unwrap_or(span.end)).unwrap_or_default();
    near.to_lowercase().contains(word)
}

fn repeated_operand(site: &Site<'_>) -> Found {
    let Form::Binary { operator, .. } = site.form else { return Vec::new() };
    if is_inner(site.expression, operator) {
        return Vec::new();
    }
    let all = operands(site.expression, operator);
    for (position, operand) in all.iter().enumerate() {
        // The last operand of a value with `and` is its result.
        let is_result =
            operator == Operator::And && position + 1 == all.len() && !site.expression.is_condition();
        let is_judged = operand.is_pure() && !operand.is_literal() && !(is_result && operand.is_place());
        let earlier = all[..position].iter().rposition(|earlier| is_judged && earlier.is_same(*operand));
        // A call between the two may have changed the value.
        let earlier =
            earlier.filter(|earlier| !all[*earlier..position].iter().any(|between| between.has_effect()));
        if let Some(earlier) = earlier {
            return vec![operand.span(), all[earlier].span()];
        }
    }
    Vec::new()
}

fn is_ordering(operator: Operator) -> bool {
    matches!(operator, Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual)
}

fn chained(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, .. } = site.form else { return Vec::new() };
    let is_cpp = site.language() == Language::Cpp && is_between_numbers(left, site);
    let is_judged = site.is_ecma() || site.language() == Language::C || is_cpp;
    let is_compared = matches!(left.form(), Form::Binary { operator, .. } if is_ordering(operator));
    site.if_true(is_judged && is_ordering(operator) && is_compared)
}

/// Returns whether a chain of C++ begins and ends with numbers, so that it is no template argument list.
fn is_between_numbers(left: Expression<'_>, site: &Site<'_>) -> bool {
    let (Form::Binary { left: low, .. }, Form::Binary { right: high, .. }) = (left.form(), &site.form) else {
        return false;
    };
    number(low).is_some() && number(*high).is_some()
}

fn masked(site: &Site<'_>) -> Found {
    let Form::Binary { left, right, .. } = site.form else { return Vec::new() };
    let is_judged = site.is_ecma() || matches!(site.language(), Language::C | Language::Cpp | Language::Php);
    let Form::Binary { left: mask, operator, right: value } = right.form() else { return Vec::new() };
    let is_value = matches!(left.form(), Form::Name(_) | Form::Member { .. } | Form::Index { .. });
    let is_mask = number(mask).is_some() || last_name(mask).is_some_and(is_constant);
    let compares = operator.is_equality() && number(value).is_some();
    site.if_true(is_judged && is_value && is_mask && compares)
}

/// Returns whether a name is written in capitals.
fn is_constant(name: &str) -> bool {
    name.len() > 1
        && !name.chars().any(char::is_lowercase)
        && name.starts_with(|first: char| first.is_alphabetic())
}

fn negated(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    if !matches!(left.form(), Form::Unary { operator: "!", .. }) {
        return Vec::new();
    }
    let is_c = matches!(site.language(), Language::C | Language::Cpp | Language::Php);
    let asks_for_member = matches!(operator, Operator::In | Operator::InstanceOf) && site.is_ecma();
    let orders = is_ordering(operator) && (site.is_ecma() || is_c) && number(right).is_some();
    let is_value = matches!(right.form(), Form::Number(_) | Form::Text(_));
    let masks =
        operator == Operator::BitAnd && is_c && (is_value || last_name(right).is_some_and(is_constant));
    let equals = operator.is_equality() && (site.is_ecma() || is_c) && is_value && !is_flag(right);
    site.if_true(asks_for_member || orders || masks || equals)
}

/// Returns whether a literal may represent a boolean.
fn is_flag(literal: Expression<'_>) -> bool {
    matches!(literal.form(), Form::Number("0" | "1"))
        || literal.text_value().is_some_and(|text| text.is_empty())
}

fn power(site: &Site<'_>) -> Found {
    let Form::Binary { left, right, .. } = site.form else { return Vec::new() };
    let (Form::Number(base), Form::Number(exponent)) = (left.form(), right.form()) else { return Vec::new() };
    let is_decimal = exponent.chars().all(|digit| digit.is_ascii_digit()) && exponent != "0";
    site.if_true(matches!(base, "2" | "10") && is_decimal && exponent != "1")
}
