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
pub(super) const OTHER_ERROR: Check =
    Check::new(rules::OTHER_ERROR, "another error is returned than the one that was checked", other_error);

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
    let raised = match site.form {
        Form::Throw => site.expression.children().first().copied(),
        Form::Call { object: None, name: "raise" | "fail", .. } if site.language() == Language::Ruby => {
            site.first()
        }
        _ => None,
    };
    let is_constant = raised.and_then(last_name) == Some("NotImplemented");
    site.if_true(is_constant && matches!(site.language(), Language::Python | Language::Ruby))
}

fn is_error_name(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("err") || name == "e" || name == "ex"
}

fn other_error(site: &Site<'_>) -> Found {
    let Some(branches) = site.expression.branches() else { return Vec::new() };
    let [arm] = branches.arms[..] else { return Vec::new() };
    let checked = match arm.condition.form() {
        Form::Binary { left, operator: Operator::NotEqual, right } if right.form() == Form::Null => left,
        Form::Name(_) if site.is_ecma() => arm.condition,
        _ => return Vec::new(),
    };
    let (Form::Name(checked), Some(body)) = (checked.form(), arm.body) else { return Vec::new() };
    let inside = if body.tokens().contains(&checked) { None } else { body.only_statement() };
    let returned =
        inside.filter(|_| is_error_name(checked)).and_then(|statement| returned_error(site, statement));
    let is_other = returned.is_some_and(
        |returned| matches!(returned.form(), Form::Name(name) if is_error_name(name) && name != checked),
    );
    if is_other { returned.map(|returned| vec![returned.span()]).unwrap_or_default() } else { Vec::new() }
}

/// Returns what a statement returns as the error: the last value in Go, the argument of a callback elsewhere.
fn returned_error<'t>(site: &Site<'t>, statement: Expression<'t>) -> Option<Expression<'t>> {
    if site.language() == Language::Go && statement.kind() == "return_statement" {
        let list = statement.children().first().copied()?;
        return if list.kind() == "expression_list" { list.children().last().copied() } else { Some(list) };
    }
    let call = statement.children().first().copied().filter(|_| site.is_ecma())?.unwrapped();
    let Form::Call { object: None, name: "callback" | "cb" | "done" | "next" | "reject", .. } = call.form()
    else {
        return None;
    };
    call.arguments().first().copied()
}
