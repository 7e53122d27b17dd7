//! Names that do not fit their place: swapped arguments, misspelled members and shadowed functions.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::rules;
use super::site::{Check, Found, Site, bare};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const SWAPPED: Check =
    Check::new(rules::SWAPPED_ARGUMENTS, "arguments have the names of each other's parameters", swapped);
pub(super) const TRANSPOSED: Check =
    Check::new(rules::TRANSPOSED_NAME, "two letters of a usual name are swapped", transposed);
pub(super) const CALLED: Check = Check::new(
    rules::CALLED_VALUE,
    "the name of a built-in function is a value that is called below",
    called,
);

/// Minimum length of an argument name that is compared with parameters.
const SHORTEST_NAME: usize = 3;
/// Words in the names of functions that swap on purpose.
const REVERSING: &[&str] = &[
    "back",
    "compl",
    "desc",
    "exchang",
    "flip",
    "inver",
    "mirror",
    "landscape",
    "opposite",
    "portrait",
    "revers",
    "rotat",
    "swap",
    "symmetr",
    "transpos",
    "undo",
    "vice",
];

/// Words in the names of functions that relate two values, which the opposite relation asks the other way round.
const RELATING: &[&str] = &[
    "above",
    "after",
    "before",
    "below",
    "cmp",
    "compar",
    "contain",
    "cover",
    "depend",
    "differ",
    "distance",
    "dominat",
    "equal",
    "follow",
    "greater",
    "intersect",
    "isin",
    "larger",
    "less",
    "match",
    "merge",
    "newer",
    "older",
    "overlap",
    "preced",
    "same",
    "smaller",
    "subset",
    "superset",
    "union",
    "within",
];

/// Returns whether a function relates two values, or has a short name such as `lt` or `max` that does not tell.
fn is_relating(name: &str) -> bool {
    let name: String = name.to_lowercase().chars().filter(|letter| letter.is_alphanumeric()).collect();
    name.len() < SHORTEST_NAME + 1 || RELATING.iter().any(|word| name.contains(word))
}

fn is_reversing(name: &str) -> bool {
    let name = name.to_lowercase();
    REVERSING.iter().any(|word| name.contains(word))
}

fn swapped(site: &Site<'_>) -> Found {
    let Form::Call { object, name, is_new: false } = site.form else { return Vec::new() };
    let is_own = object.is_none_or(|object| {
        matches!(object.source(), "self" | "this" | "cls" | "Self" | "$this" | "static")
    });
    let arguments = site.arguments();
    if !is_own || arguments.len() < 2 || is_reversing(name) || is_relating(name) {
        return Vec::new();
    }
    let given: Vec<&str> = arguments
        .iter()
        .map(|given| if let Form::Name(name) = given.form() { bare(name) } else { "" })
        .map(|name| if name.len() < SHORTEST_NAME { "" } else { name })
        .collect();
    if given.iter().filter(|name| !name.is_empty()).count() < 2
        || !may_define(site.expression.file(), name, &given)
    {
        return Vec::new();
    }
    let around = site.expression.function();
    let own_name =
        around.and_then(|around| around.defined_name()).map(|own| own.source()).unwrap_or_default();
    if own_name == name || is_reversing(own_name) {
        return Vec::new();
    }
    // A closure without a name that is given both is an order from high to low.
    let is_order = around.is_some_and(|around| {
        let own = around.parameters();
        around.defined_name().is_none()
            && given.iter().filter(|name| !name.is_empty()).all(|name| own.contains(name))
    });
    if is_order {
        return Vec::new();
    }
    let [definition] = site.expression.definitions(name)[..] else { return Vec::new() };
    let mut parameters: Vec<&str> = definition.parameters().into_iter().map(bare).collect();
    if parameters
        .first()
        .is_some_and(|first| matches!(*first, "self" | "cls" | "this" | "mut self" | "&self"))
    {
        parameters.remove(0);
    }
    for (second, late) in given.iter().enumerate() {
        for (first, early) in given[..second].iter().enumerate() {
            let is_swapped = !late.is_empty()
                && early != late
                && parameters.get(first) == Some(late)
                && parameters.get(second) == Some(early);
            if is_swapped && !is_asked_both_ways(around, name, &arguments, (first, second)) {
                return vec![arguments[first].span(), arguments[second].span()];
            }
        }
    }
    Vec::new()
}

/// Returns whether the text of a file may define a function with parameters of these names. Cheaper than a walk.
fn may_define(text: &str, name: &str, parameters: &[&str]) -> bool {
    if name.is_empty() {
        return false;
    }
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].trim_end();
        let rest = text[at + name.len()..].trim_start();
        // A definition follows a type or a keyword such as `def`.
        let is_behind_word = before.ends_with(|last: char| last.is_alphanumeric() || "_>]*&".contains(last));
        let list = rest.strip_prefix('(').and_then(|rest| rest.split(')').next());
        is_behind_word
            && !before.ends_with("return")
            && list.is_some_and(|list| parameters.iter().all(|name| list.contains(name)))
    })
}

/// Returns whether a function also makes the same call with these two arguments in the other order.
fn is_asked_both_ways(
    around: Option<Expression<'_>>,
    name: &str,
    arguments: &[Expression<'_>],
    (first, second): (usize, usize),
) -> bool {
    let mut other: Vec<&str> = arguments.iter().map(|given| given.source()).collect();
    other.swap(first, second);
    let Some(around) = around else { return false };
    let mut is_straight = false;
    around.descend(&mut |node| {
        is_straight |= matches!(node.form(), Form::Call { name: called, .. } if called == name)
            && node.unwrapped().arguments().iter().map(|given| given.source()).eq(other.iter().copied());
        !is_straight
    });
    is_straight
}

/// Common names that two swapped letters turn into no other word.
const USUAL: &[&str] = &[
    "append",
    "attributes",
    "charAt",
    "children",
    "concat",
    "constructor",
    "content",
    "description",
    "environment",
    "extend",
    "filename",
    "filter",
    "forEach",
    "headers",
    "height",
    "indexOf",
    "initialize",
    "length",
    "message",
    "options",
    "parameters",
    "parent",
    "password",
    "prototype",
    "query",
    "reduce",
    "remove",
    "replace",
    "request",
    "response",
    "result",
    "source",
    "status",
    "strength",
    "string",
    "substring",
    "target",
    "timestamp",
    "toString",
    "username",
    "value",
    "values",
    "version",
    "width",
];

/// Returns the common names by their spellings with two neighbouring letters swapped.
fn misspelt() -> &'static BTreeMap<String, &'static str> {
    static ALL: LazyLock<BTreeMap<String, &'static str>> = LazyLock::new(|| {
        let mut all = BTreeMap::new();
        for name in USUAL {
            for at in 1..name.len() - 1 {
                let mut letters: Vec<char> = name.chars().collect();
                letters.swap(at, at + 1);
                let spelled: String = letters.into_iter().collect();
                if spelled != *name {
                    all.insert(spelled, *name);
                }
            }
        }
        all
    });
    &ALL
}

/// Number of occurrences in a file from which a spelling counts as intended.
const OFTEN: usize = 3;

fn transposed(site: &Site<'_>) -> Found {
    let (Form::Member { name, .. } | Form::Call { object: Some(_), name, .. }) = site.form else {
        return Vec::new();
    };
    if !misspelt().contains_key(name) || site.expression.file().matches(name).count() >= OFTEN {
        return Vec::new();
    }
    let whole = site.expression.span();
    let at = site.expression.source().rfind(name).unwrap_or_default();
    vec![qa_reading::syntax::Span { start: whole.start + at, end: whole.start + at + name.len() }]
}

const PYTHON: &[&str] = &[
    "all", "any", "bool", "bytes", "dict", "filter", "float", "format", "hash", "id", "input", "int", "iter",
    "len", "list", "map", "max", "min", "next", "open", "print", "range", "set", "sorted", "str", "sum",
    "tuple", "type", "zip",
];
const ECMA: &[&str] = &[
    "Array",
    "Boolean",
    "Number",
    "Object",
    "String",
    "decodeURIComponent",
    "encodeURIComponent",
    "fetch",
    "isNaN",
    "parseFloat",
    "parseInt",
    "setInterval",
    "setTimeout",
];

fn called(site: &Site<'_>) -> Found {
    let (Form::Assign { target, value, is_plain: true } | Form::Declare { target, value }) = site.form else {
        return Vec::new();
    };
    let Form::Name(name) = target.form() else { return Vec::new() };
    let is_built_in = if site.is_ecma() {
        ECMA.contains(&name)
    } else {
        site.language() == Language::Python && PYTHON.contains(&name)
    };
    if !is_built_in || !is_value(value) {
        return Vec::new();
    }
    let Some(body) = site.expression.function().and_then(Expression::body) else { return Vec::new() };
    let mut found = None;
    body.descend(&mut |node| {
        let is_call =
            matches!(node.form(), Form::Call { object: None, name: called, is_new: false } if called == name);
        if found.is_none() && is_call && node.span().start >= site.expression.span().end {
            found = Some(node.span());
        }
        // A parameter of an inner function shadows the name.
        !node.is_function() || node.parameters().iter().all(|parameter| *parameter != name)
    });
    found.map(|call| vec![call, target.span()]).unwrap_or_default()
}

/// Returns whether a value certainly is no function.
fn is_value(value: Expression<'_>) -> bool {
    let is_comprehension = value.unwrapped().kind().ends_with("_comprehension");
    let form = value.form();
    let is_length = matches!(form, Form::Member { name: "length", .. });
    is_comprehension
        || is_length
        || matches!(
            form,
            Form::List
                | Form::Number(_)
                | Form::Record
                | Form::Template
                | Form::Text(_)
                | Form::Truth(_)
                | Form::Tuple
                | Form::Binary { .. }
        ) && !matches!(
            form,
            Form::Binary { operator: Operator::Or | Operator::And | Operator::Coalesce, .. }
        )
}
