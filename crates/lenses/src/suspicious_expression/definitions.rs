//! Definitions whose use in the same file shows a fault.

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const HASH: Check =
    Check::new(rules::EQUALS_WITHOUT_HASH, "equal objects have different hashes", hash);
pub(super) const DEFAULT: Check = Check::new(
    rules::MUTABLE_DEFAULT,
    "default value is shared by all calls, and the function changes it",
    default,
);
pub(super) const FIXED: Check =
    Check::new(rules::FIXED_DEFAULT, "default value is made once, when the function is defined", fixed);
pub(super) const METHOD: Check =
    Check::new(rules::METHOD_AS_CONDITION, "a method is always true; it is not called", method);

/// A method for equality with the one that has to go with it.
struct Pair {
    language: Language,
    equals: &'static str,
    hash: &'static str,
}

const PAIRS: &[Pair] = &[
    Pair { language: Language::Java, equals: "equals", hash: "hashCode" },
    Pair { language: Language::CSharp, equals: "Equals", hash: "GetHashCode" },
    Pair { language: Language::Kotlin, equals: "equals", hash: "hashCode" },
];

fn hash(site: &Site<'_>) -> Found {
    let methods = site.expression.methods();
    let Some(pair) = PAIRS.iter().find(|pair| pair.language == site.language()) else { return Vec::new() };
    let equals = methods
        .iter()
        .find(|(name, function)| *name == pair.equals && takes_any(function) && !asks_for_identity(function));
    let has_hash = methods.iter().any(|(name, _)| *name == pair.hash);
    let name = equals.filter(|_| !has_hash).and_then(|(_, function)| function.defined_name());
    name.map(|name| vec![name.span()]).unwrap_or_default()
}

/// Returns whether equality is that of objects, with which their own hash goes.
fn asks_for_identity(function: &Expression<'_>) -> bool {
    let compared: Vec<&str> = function.body().map(Expression::tokens).unwrap_or_default();
    let is_short = !compared.iter().any(|word| matches!(*word, "&&" | "||" | "if" | "."));
    is_short && compared.contains(&"==") && compared.contains(&"this")
}

/// Returns whether a method takes one value of any type.
fn takes_any(function: &Expression<'_>) -> bool {
    let head = function.source().split('{').next().unwrap_or_default();
    let takes_object = ["Object ", "object ", "object? ", "Any?"].iter().any(|word| head.contains(word));
    takes_object && function.parameters().len() <= 1
}

fn default(site: &Site<'_>) -> Found {
    if site.language() != Language::Python {
        return Vec::new();
    }
    let Some(body) = site.expression.body() else { return Vec::new() };
    let own = site.expression.defined_name().map(Expression::source).unwrap_or_default();
    let changed = site.expression.defaults().into_iter().filter(|(name, value)| {
        is_empty(*value) && !is_kept(name) && changes(body, name) && hands_on(body, name, own)
    });
    let head = site.expression.head();
    let is_known = ["B006", "W0102", "dangerous-default-value"].iter().any(|code| head.contains(code));
    changed.filter(|_| !is_known).map(|(_, value)| value.span()).take(1).collect()
}

/// Returns whether an expression makes an empty list, map or set. One with entries holds the state of the function.
fn is_empty(value: Expression<'_>) -> bool {
    let form = value.form();
    let is_literal = matches!(form, Form::List | Form::Record) && value.unwrapped().children().is_empty();
    let is_call = matches!(form, Form::Call { object: None, name: "dict" | "list" | "set", .. });
    is_literal || is_call && value.unwrapped().arguments().is_empty()
}

/// Returns whether the name of a parameter says that its value is kept from call to call.
fn is_kept(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "cache",
        "counter",
        "history",
        "instances",
        "known",
        "memo",
        "pool",
        "registry",
        "seen",
        "state",
        "static",
    ];
    let small = name.to_lowercase();
    small.starts_with('_') || WORDS.iter().any(|word| small.contains(word))
}

/// Returns whether a body gives the object of a name to others as a whole: returns it, loops over it, passes it to another
/// function. One that only looks its entries up keeps them from call to call.
fn hands_on(body: Expression<'_>, name: &str, own: &str) -> bool {
    let mut is_handed = false;
    body.descend(&mut |node| {
        if matches!(node.form(), Form::Name(found) if found == name) && !is_part(node, own) {
            is_handed = true;
        }
        !is_handed
    });
    is_handed
}

/// Returns whether a name is that of a container in an expression about its entries, or goes to the same function again.
fn is_part(name: Expression<'_>, own: &str) -> bool {
    let Some(around) = name.parent() else { return false };
    let form = around.form();
    if let Form::Index { object: part, .. }
    | Form::Member { object: part, .. }
    | Form::Binary { operator: Operator::In | Operator::NotIn, right: part, .. }
    | Form::Assign { target: part, .. } = form
    {
        return part == name;
    }
    let call = around.parent().map(Expression::form);
    matches!(call, Some(Form::Call { object: None, name: called, .. }) if called == own)
}

/// Returns whether a body changes the object of a name before it gives the name to another one.
fn changes(body: Expression<'_>, name: &str) -> bool {
    const CHANGES: &[&str] =
        &["add", "append", "clear", "extend", "insert", "pop", "remove", "setdefault", "update"];
    let (mut is_changed, mut is_replaced) = (false, false);
    body.descend(&mut |node| {
        let form = node.form();
        if let Form::Assign { target, is_plain, .. } = form {
            let target = target.form();
            if matches!(target, Form::Name(target) if target == name) {
                is_replaced |= is_plain;
                is_changed |= !is_plain && !is_replaced;
            } else if let Form::Index { object, .. } = target {
                is_changed |= object.source() == name && !is_replaced;
            }
        } else if let Form::Call { object: Some(object), name: called, .. } = form {
            is_changed |= object.source() == name && CHANGES.contains(&called) && !is_replaced;
        }
        !is_changed
    });
    is_changed
}

fn method(site: &Site<'_>) -> Found {
    let Form::Member { object, name } = site.form else { return Vec::new() };
    let owner = object.source();
    let is_judged =
        if site.language() == Language::Python { owner == "self" } else { site.is_ecma() && owner == "this" };
    if !is_judged || !site.expression.is_condition() {
        return Vec::new();
    }
    let Some(class) = site.expression.class_body() else { return Vec::new() };
    let mut methods = class.methods().into_iter().filter(|(defined, _)| *defined == name);
    // Methods with decorators are in nodes of their own.
    let is_plain = methods.any(|(_, function)| {
        let head = function.source().trim_start();
        !["get ", "set ", "static "].iter().any(|word| head.starts_with(word))
    });
    let is_set = [format!("{owner}.{name} ="), format!("{owner}.{name}=")];
    let is_replaced = is_set.iter().any(|set| site.expression.file().contains(set.as_str()));
    site.if_true(is_plain && !is_replaced)
}

fn fixed(site: &Site<'_>) -> Found {
    if site.language() != Language::Python {
        return Vec::new();
    }
    let fixed = site.expression.defaults().into_iter().filter(|(_, value)| {
        let Form::Call { object, name, .. } = value.form() else { return false };
        let owner = object.and_then(last_name);
        matches!((owner, name), (Some("datetime"), "now" | "today" | "utcnow") | (Some("date"), "today"))
            || matches!(
                (owner, name),
                (Some("time"), "time" | "monotonic") | (Some("uuid"), "uuid1" | "uuid4")
            )
            || matches!((owner, name), (None, "uuid4" | "uuid1") | (Some("random"), "random" | "randint"))
    });
    fixed.map(|(_, value)| value.span()).take(1).collect()
}
