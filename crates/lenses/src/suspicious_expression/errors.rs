//! Handling of errors that handles another one, or none.

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const FINALLY: Check = Check::new(
    rules::FINALLY_OVERRIDES,
    "leaves the handler, so that an error or a result is lost",
    overrides,
);
pub(super) const EITHER: Check = Check::new(
    rules::CAUGHT_EITHER,
    "`or` of two types is the first, so that the other is not caught",
    either,
);
pub(super) const TUPLE: Check = Check::new(
    rules::ASSERTED_TUPLE,
    "a tuple with entries is always true, so that nothing is asserted",
    tuple,
);
pub(super) const NOT_IMPLEMENTED: Check =
    Check::new(rules::RAISED_NOT_IMPLEMENTED, "`NotImplemented` is no exception", not_implemented);

fn overrides(site: &Site<'_>) -> Found {
    let mut leaves = None;
    site.expression.descend(&mut |node| {
        let kind = node.kind();
        // A function has its own way out.
        if node.is_function() || leaves.is_some() {
            return false;
        }
        if matches!(kind, "return" | "return_expression" | "return_statement") && node != site.expression {
            leaves = Some(node);
        }
        true
    });
    leaves.map(|node| vec![node.span()]).unwrap_or_default()
}

fn either(site: &Site<'_>) -> Found {
    let caught = site.expression.caught().into_iter();
    let either = caught.filter(|caught| {
        matches!(caught.form(), Form::Binary { operator: Operator::Or | Operator::And, .. })
    });
    either.map(Expression::span).collect()
}

fn tuple(site: &Site<'_>) -> Found {
    let first = site.expression.children().first().map(|first| first.unwrapped());
    let is_filled = first.is_some_and(|first| first.form() == Form::Tuple && !first.children().is_empty());
    site.if_true(is_filled)
}

fn not_implemented(site: &Site<'_>) -> Found {
    let is_raise = site.language() == Language::Ruby
        && matches!(site.form, Form::Call { object: None, name: "raise" | "fail", .. });
    let raised = if matches!(site.form, Form::Throw) {
        site.expression.children().first().copied()
    } else if is_raise {
        site.first()
    } else {
        None
    };
    let is_constant = raised.and_then(last_name) == Some("NotImplemented");
    site.if_true(is_constant && matches!(site.language(), Language::Python | Language::Ruby))
}
