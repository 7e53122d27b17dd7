//! Arithmetic, comparisons and sorts that are wrong for the type of their values.

use std::sync::LazyLock;

use regex::Regex;

use super::rules;
use super::site::{Check, Found, Site, last_name, number};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const FLOAT_SUM: Check = Check::new(
    rules::FLOAT_SUM,
    "result is rounded, so that it equals no number as it is written",
    float_sum,
);
pub(super) const QUOTIENT: Check =
    Check::new(rules::LOST_FRACTION, "whole numbers are divided first, which drops the fraction", quotient);
pub(super) const QUOTIENT_CALL: Check = Check::new(
    rules::LOST_FRACTION,
    "whole numbers are divided first, which drops the fraction",
    quotient_call,
)
.of_calls(&["float32", "float64"]);
pub(super) const QUOTIENT_DECLARED: Check = Check::new(
    rules::LOST_FRACTION,
    "whole numbers are divided first, which drops the fraction",
    quotient_declared,
);
pub(super) const SQUARED: Check =
    Check::new(rules::UNIT_MISMATCH, "a duration is multiplied by a unit a second time", squared);
pub(super) const SELF_COMPARED: Check =
    Check::new(rules::SAME_OPERAND, "both operands are the same expression", self_compared);
pub(super) const SELF_EQUALS: Check =
    Check::new(rules::SAME_OPERAND, "value is compared with itself", self_equals).of_calls(&[
        "Equals",
        "compareTo",
        "equals",
        "equalsIgnoreCase",
    ]);
pub(super) const NUMBER_EQUALS: Check =
    Check::new(rules::OTHER_TYPE, "text is never equal to a number", number_equals).of_calls(&["equals"]);
pub(super) const BOOLEAN_ORDER: Check = Check::new(
    rules::BOOLEAN_ORDER,
    "order is a truth value, which never says that the first is smaller",
    boolean_order,
)
.of_calls(&["sort", "toSorted"]);
pub(super) const SORTED_LENGTHS: Check =
    Check::new(rules::SORTED_NUMBERS, "numbers are sorted as texts", sorted_numbers)
        .of_calls(&["sort", "toSorted"]);

/// Returns the type that the head of a function declares for a parameter, without its qualifiers.
fn declared_type<'t>(expression: Expression<'t>, name: &str) -> Option<&'t str> {
    let head = expression.function()?.head();
    let name = regex::escape(name);
    let pattern = match expression.language() {
        Language::Go => format!(r"\b{name}(?:\s*,\s*\w+)*\s+([\w.\[\]*]+)"),
        Language::Kotlin | Language::Rust | Language::Tsx | Language::TypeScript => {
            format!(r"\b{name}\s*:\s*([\w:.&]+)")
        }
        Language::C | Language::CSharp | Language::Cpp | Language::Java => {
            format!(r"([\w:.]+)[\s*&]+{name}\s*[,)]")
        }
        Language::JavaScript | Language::Php | Language::Python | Language::Ruby => return None,
    };
    let found = Regex::new(&pattern).ok()?.captures(head)?;
    Some(found.get(1)?.as_str())
}

fn float_sum(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    let is_inexact = [left, right].into_iter().any(|side| {
        let Form::Binary { left: one, operator, right: two } = side.form() else { return false };
        let sign = side.written_operator();
        let adds = matches!(operator, Operator::Plus | Operator::Minus) || sign == "*";
        let are_numbers = number(one).is_some() && number(two).is_some();
        adds && are_numbers && (is_rounded(one) || is_rounded(two))
    });
    site.if_true(operator.is_equality() && is_inexact)
}

/// Returns whether a literal has no exact binary representation.
fn is_rounded(literal: Expression<'_>) -> bool {
    const DENOMINATOR: f64 = 1_048_576.0;
    number(literal).is_some_and(|number| (number * DENOMINATOR).fract() != 0.0)
}

const WHOLE: &[&str] =
    &["byte", "int", "int16", "int32", "int64", "long", "short", "uint", "uint32", "uint64"];

/// Returns whether an expression divides two parameters that are whole numbers.
fn divides_whole(value: Expression<'_>) -> bool {
    let Form::Binary { left, operator: Operator::Divide, right } = value.form() else { return false };
    [left, right].into_iter().all(|side| {
        let Form::Name(name) = side.form() else { return false };
        declared_type(value, name).is_some_and(|declared| WHOLE.contains(&declared))
    })
}

fn quotient(site: &Site<'_>) -> Found {
    if site.expression.kind() != "cast_expression" {
        return Vec::new();
    }
    let [target, value] = site.expression.children()[..] else { return Vec::new() };
    let is_fraction = matches!(target.source(), "double" | "float");
    let is_inside = value.kind().starts_with("parenthesized");
    site.if_true(is_fraction && is_inside && divides_whole(value))
}

fn quotient_call(site: &Site<'_>) -> Found {
    let [value] = site.arguments()[..] else { return Vec::new() };
    let Form::Call { object: None, .. } = site.form else { return Vec::new() };
    site.if_true(site.language() == Language::Go && divides_whole(value))
}

fn quotient_declared(site: &Site<'_>) -> Found {
    let Form::Declare { value, .. } = site.form else { return Vec::new() };
    let is_judged = matches!(site.language(), Language::CSharp | Language::Java);
    if !is_judged || !matches!(value.form(), Form::Binary { operator: Operator::Divide, .. }) {
        return Vec::new();
    }
    let statement = site.expression.statement().source();
    let is_fraction = ["double ", "float "].iter().any(|begin| statement.starts_with(begin));
    site.if_true(is_fraction && divides_whole(value))
}

fn squared(site: &Site<'_>) -> Found {
    let Form::Binary { left, right, .. } = site.form else { return Vec::new() };
    if site.language() != Language::Go || site.expression.written_operator() != "*" {
        return Vec::new();
    }
    let is_squared = [(left, right), (right, left)].into_iter().any(|(value, unit)| {
        let is_unit = matches!(unit.form(), Form::Member { object, name } if object.source() == "time"
            && matches!(name, "Hour" | "Microsecond" | "Millisecond" | "Minute" | "Second"));
        let Form::Name(name) = value.form() else { return false };
        is_unit && declared_type(value, name) == Some("time.Duration")
    });
    site.if_true(is_squared)
}

fn self_compared(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    let Form::Name(name) = left.form() else { return Vec::new() };
    if !operator.is_equality() || !left.is_same(right) {
        return Vec::new();
    }
    // A floating-point number may be NaN, which does not equal itself.
    const NO_NUMBERS: &[&str] = &[
        "&str", "String", "bool", "boolean", "byte", "char", "int", "long", "short", "string", "uint", "Int",
        "Long", "Boolean",
    ];
    site.if_true(declared_type(left, name).is_some_and(|declared| NO_NUMBERS.contains(&declared)))
}

fn self_equals(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let is_judged = matches!(site.language(), Language::CSharp | Language::Java | Language::Kotlin);
    let [other] = site.arguments()[..] else { return Vec::new() };
    let is_value =
        matches!(last_name(object), Some(name) if name != "this" && !name.starts_with(char::is_uppercase));
    site.if_true(is_judged && is_value && object.is_pure() && object.is_same(other))
}

fn number_equals(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let [other] = site.arguments()[..] else { return Vec::new() };
    let Form::Name(name) = object.form() else { return Vec::new() };
    let is_judged = matches!(site.language(), Language::Java) && number(other).is_some();
    site.if_true(is_judged && declared_type(object, name) == Some("String"))
}

fn is_ordering(expression: Expression<'_>) -> bool {
    matches!(
        expression.form(),
        Form::Binary {
            operator: Operator::Less | Operator::LessEqual | Operator::Greater | Operator::GreaterEqual,
            ..
        }
    )
}

fn boolean_order(site: &Site<'_>) -> Found {
    let (Form::Call { object: Some(_), .. }, true) = (&site.form, site.is_ecma()) else { return Vec::new() };
    let [callback] = site.arguments()[..] else { return Vec::new() };
    if !callback.is_function() || callback.parameters().len() != 2 {
        return Vec::new();
    }
    let Some(body) = callback.body() else { return Vec::new() };
    let result = match (body.kind(), &body.statements()[..]) {
        ("statement_block", [only]) if only.is_way_out() => only.children().first().copied(),
        ("statement_block", _) => None,
        _ => Some(body),
    };
    let Some(result) = result.map(Expression::unwrapped) else { return Vec::new() };
    let is_number_of_truth =
        matches!(result.form(), Form::Call { object: None, name: "Number" | "Boolean", .. })
            && result.arguments().first().is_some_and(|first| is_ordering(*first));
    let is_true = is_ordering(result) || is_number_of_truth;
    if is_true { vec![result.span()] } else { Vec::new() }
}

/// A call of `map` whose callback returns numbers.
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[\w.$]+\.map\(\s*\(?\s*(\w+)\s*(?::\s*\w+)?\)?\s*=>\s*(?:(\w+)(?:\.\w+)*\.(?:length|size)|Number\(.*\)|parseInt\(.*\)|parseFloat\(.*\))\s*\)$")
        .expect("a valid pattern")
});

fn sorted_numbers(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let Form::Name(name) = object.form() else { return Vec::new() };
    if !site.is_ecma() || !site.arguments().is_empty() {
        return Vec::new();
    }
    let Some(body) = site.expression.function().and_then(Expression::body) else { return Vec::new() };
    let (mut made, mut is_set_again) = (false, false);
    body.descend(&mut |node| {
        let form = node.form();
        if let Form::Declare { target, value } = form {
            let is_own = matches!(target.form(), Form::Name(own) if own == name);
            made |= is_own && NUMBERS.is_match(value.source());
        } else if let Form::Assign { target, .. } = form {
            is_set_again |= target.source() == name;
        }
        true
    });
    site.if_true(made && !is_set_again)
}
