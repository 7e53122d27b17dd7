//! Asynchronous code where a value is wanted.

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form};
use qa_reading::syntax::Language;

pub(super) const EXECUTOR: Check = Check::new(
    rules::ASYNC_EXECUTOR,
    "errors of an asynchronous executor do not reject the promise",
    executor,
)
.of_calls(&["Promise"]);
pub(super) const PREDICATE: Check = Check::new(
    rules::ASYNC_PREDICATE,
    "a promise is always true, so that the callback decides nothing",
    predicate,
)
.of_calls(&["filter", "some", "every", "find", "findIndex", "findLast", "sort", "toSorted"]);
pub(super) const FOR_EACH: Check =
    Check::new(rules::ASYNC_FOR_EACH, "`forEach` does not wait for the promises of its callback", for_each)
        .of_calls(&["ForEach", "forEach"]);
pub(super) const LIST: Check =
    Check::new(rules::AWAITED_LIST, "waiting for a list does not wait for what is in it", list);
pub(super) const ARGUMENTS: Check = Check::new(
    rules::JOINED_ARGUMENTS,
    "call takes one list here, or several arguments, and is given the other",
    arguments,
)
.of_calls(&["all", "race", "any", "allSettled", "gather"]);

/// Returns the first argument of a call if it is an asynchronous function.
pub(super) fn async_argument<'t>(call: Expression<'t>) -> Option<Expression<'t>> {
    let first = call.unwrapped().arguments().first().copied()?;
    (first.is_function() && first.is_async()).then_some(first)
}

/// Returns the asynchronous callback of a call in a language in which nothing awaits it.
fn async_callback<'t>(site: &Site<'t>) -> Option<Expression<'t>> {
    let is_void =
        site.language() == Language::CSharp && matches!(site.form, Form::Call { name: "ForEach", .. });
    async_argument(site.expression).filter(|_| site.is_ecma() || is_void)
}

/// Returns the place of a finding about a callback: its head, up to its body.
pub(super) fn head(callback: Expression<'_>) -> Found {
    let mut span = callback.span();
    span.end = callback.body().map(|body| body.span().start).unwrap_or(span.end);
    vec![span]
}

fn executor(site: &Site<'_>) -> Found {
    let Form::Call { is_new: true, .. } = site.form else { return Vec::new() };
    async_callback(site).map(head).unwrap_or_default()
}

fn predicate(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(_), .. } = site.form else { return Vec::new() };
    // A library whose methods take such callbacks returns something to wait for.
    let is_awaited = site.expression.parent().is_some_and(|around| matches!(around.form(), Form::Await(_)));
    let callback = async_callback(site).filter(|_| !is_awaited);
    callback.map(head).unwrap_or_default()
}

fn for_each(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(_), .. } = site.form else { return Vec::new() };
    let is_awaited = site.expression.parent().is_some_and(|around| matches!(around.form(), Form::Await(_)));
    let waits = async_callback(site).filter(|callback| !is_awaited && callback.tokens().contains(&"await"));
    waits.map(head).unwrap_or_default()
}

fn list(site: &Site<'_>) -> Found {
    let Form::Await(awaited) = site.form else { return Vec::new() };
    let form = awaited.form();
    let is_list = if site.language() == Language::Python {
        matches!(form, Form::List | Form::Tuple)
    } else {
        site.is_ecma() && form == Form::List
    };
    site.if_true(is_list && !awaited.unwrapped().children().is_empty())
}

fn arguments(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let is_wrong = match (site.language(), last_name(object), name) {
        (Language::Python, Some("asyncio"), "gather") => {
            matches!(arguments[..], [only] if only.form() == Form::List || only.kind() == "list_comprehension")
        }
        (_, Some("Promise"), "all" | "race" | "any" | "allSettled") => site.is_ecma() && arguments.len() > 1,
        _ => false,
    };
    site.if_true(is_wrong)
}
