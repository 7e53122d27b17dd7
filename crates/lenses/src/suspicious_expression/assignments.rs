//! Assignments that lose a value: to itself, after another, of a call that returns nothing, in another unit.

use super::rules;
use super::site::{Check, Found, Site, bare, last_name};
use qa_reading::expressions::{Expression, Form};
use qa_reading::syntax::Language;

pub(super) const SELF: Check = Check::new(rules::SELF_ASSIGNMENT, "value is assigned to itself", to_itself);
pub(super) const SWAP: Check =
    Check::new(rules::LOST_SWAP, "first assignment has overwritten the value that this one needs", swap);
pub(super) const NOTHING: Check = Check::new(
    rules::CHANGED_IN_PLACE,
    "call changes the value in place and returns something else",
    nothing,
);
pub(super) const UNIT: Check =
    Check::new(rules::UNIT_MISMATCH, "value is in another unit than the name says", unit);
pub(super) const UNIT_CALL: Check =
    Check::new(rules::UNIT_MISMATCH, "value is in another unit than the function takes", unit_of_call)
        .of_calls(&["sleep", "setTimeout", "setInterval", "usleep"]);
pub(super) const COPIED: Check = Check::new(
    rules::COPIED_LINE,
    "the line before has the same value, and the parameter of this name is unused here",
    copied,
);

/// Members that do something when they are set.
const SETTERS: &[&str] = &[
    "className",
    "href",
    "innerHTML",
    "location",
    "offsetHeight",
    "offsetWidth",
    "outerHTML",
    "src",
    "stack",
    "value",
];
/// Objects whose members are names of the whole program.
const WORLDS: &[&str] = &["exports", "global", "globalThis", "module", "self", "window"];

fn to_itself(site: &Site<'_>) -> Found {
    let Form::Assign { target, value, is_plain: true } = site.form else { return Vec::new() };
    if let Form::Update(updated) = value.form() {
        let is_behind = value.source().ends_with("++") || value.source().ends_with("--");
        return site.if_true(is_behind && updated.is_same(target));
    }
    if !target.is_place() || !target.is_same(value) || site.expression.is_initializer_entry() {
        return Vec::new();
    }
    let form = target.form();
    let is_judged = if let Form::Name(name) = form {
        // A name of a module or a class is taken over from outside, and Ruby has methods that look like variables.
        if site.language() == Language::Python {
            site.expression.function().is_some()
        } else {
            site.language() != Language::Ruby || name.starts_with('@')
        }
    } else if let Form::Member { object, name } = form {
        let is_world = site.is_ecma() && last_name(object).is_some_and(|owner| WORLDS.contains(&owner));
        let is_setter = site.is_ecma() && SETTERS.contains(&name);
        !is_world && !is_setter && site.language() != Language::Ruby
    } else {
        true
    };
    site.if_true(is_judged)
}

/// Returns the target and the value of a statement that assigns one.
pub(super) fn assignment<'t>(statement: Expression<'t>) -> Option<(Expression<'t>, Expression<'t>)> {
    let form = statement.form();
    let inside = if let Form::Statement(inside) = form { inside.form() } else { form };
    let Form::Assign { target, value, is_plain: true } = inside else { return None };
    Some((target, value))
}

fn swap(site: &Site<'_>) -> Found {
    let statements = site.expression.children();
    for (one, two) in statements.iter().zip(statements.iter().skip(1)) {
        let (Some((first, second)), Some((third, fourth))) = (assignment(*one), assignment(*two)) else {
            continue;
        };
        let is_swap = first.is_same(fourth) && second.is_same(third) && !first.is_same(second);
        if is_swap && first.is_place() && second.is_place() && first.kind() == second.kind() {
            return vec![two.span(), one.span()];
        }
    }
    Vec::new()
}

fn nothing(site: &Site<'_>) -> Found {
    let Form::Assign { target, value, is_plain: true } = site.form else { return Vec::new() };
    let Form::Call { object, name, .. } = value.form() else { return Vec::new() };
    let arguments = value.unwrapped().arguments();
    let is_changed = match (site.language(), object) {
        (Language::Python, Some(object)) => {
            matches!(name, "append" | "clear" | "extend" | "insert" | "reverse" | "sort")
                && object.is_same(target)
        }
        (Language::JavaScript | Language::TypeScript | Language::Tsx, Some(object)) => {
            matches!(name, "forEach" | "push" | "unshift") && object.is_same(target)
        }
        (Language::Php, None) => {
            const SORTS: &[&str] =
                &["array_push", "array_unshift", "asort", "ksort", "rsort", "shuffle", "sort", "usort"];
            SORTS.contains(&name) && arguments.first().is_some_and(|first| first.is_same(target))
        }
        _ => false,
    };
    site.if_true(is_changed)
}

/// A dimension with the name of a unit in it.
pub(super) type Unit = (&'static str, &'static str);

/// Returns the unit that the last word of a name says.
pub(super) fn unit_of(name: &str) -> Option<Unit> {
    let start = name.rfind(|letter: char| letter == '_' || letter.is_uppercase()).unwrap_or(0);
    let mut word = name[start..].trim_start_matches('_').to_lowercase();
    if !name.chars().any(char::is_lowercase) {
        word = name.rsplit('_').next().unwrap_or_default().to_lowercase();
    }
    // `timeoutMS` and `sizeKB` end with two capitals.
    if let Some(pair) = name.len().checked_sub(2).and_then(|at| name.get(at..)).filter(|_| word.len() == 1) {
        word = pair.to_lowercase();
    }
    let is_alone = word.len() == name.len();
    Some(match word.as_str() {
        "ms" | "millis" | "milliseconds" | "msec" | "msecs" => ("time", "ms"),
        "sec" | "secs" | "seconds" => ("time", "s"),
        "us" | "micros" | "microseconds" if !is_alone => ("time", "us"),
        "ns" | "nanos" | "nanoseconds" if !is_alone => ("time", "ns"),
        "minutes" | "mins" => ("time", "min"),
        "hours" => ("time", "h"),
        "bytes" => ("size", "B"),
        "kb" | "kib" | "kilobytes" => ("size", "KB"),
        "mb" | "mib" | "megabytes" => ("size", "MB"),
        "gb" | "gib" | "gigabytes" => ("size", "GB"),
        _ => return None,
    })
}

pub(super) fn differs(one: Option<Unit>, two: Option<Unit>) -> bool {
    one.zip(two).is_some_and(|(one, two)| one.0 == two.0 && one.1 != two.1)
}

fn unit(site: &Site<'_>) -> Found {
    let (Form::Assign { target: name, value, is_plain: true }
    | Form::Declare { target: name, value }
    | Form::Pair { name, value }) = site.form
    else {
        return Vec::new();
    };
    let is_name = matches!(value.form(), Form::Name(_) | Form::Member { .. });
    let units = (last_name(name).and_then(unit_of), last_name(value).and_then(unit_of));
    site.if_true(is_name && differs(units.0, units.1))
}

fn unit_of_call(site: &Site<'_>) -> Found {
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let taken = match (site.language(), name) {
        (Language::Python, "sleep")
            if object.is_some_and(|object| matches!(last_name(object), Some("time" | "asyncio"))) =>
        {
            Some(("s", arguments.first()))
        }
        (Language::Ruby | Language::Php, "sleep") if object.is_none() => Some(("s", arguments.first())),
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "setTimeout" | "setInterval") => {
            Some(("ms", arguments.get(1)))
        }
        (Language::Java, "sleep") if object.and_then(last_name) == Some("Thread") => {
            Some(("ms", arguments.first()))
        }
        _ => None,
    };
    let Some((unit, Some(given))) = taken else { return Vec::new() };
    let is_name = matches!(given.form(), Form::Name(_) | Form::Member { .. });
    let given = last_name(*given).and_then(unit_of);
    site.if_true(is_name && differs(Some(("time", unit)), given))
}

/// An assignment of a parameter to a place of the same name.
struct Copy<'t> {
    statement: Expression<'t>,
    target: &'t str,
    value: &'t str,
}

impl<'t> Copy<'t> {
    fn of(statement: Expression<'t>) -> Option<Self> {
        let (target, value) = assignment(statement)?;
        let Form::Name(value) = value.form() else { return None };
        let Form::Member { name: target, .. } = target.form() else { return None };
        Some(Self { statement, target: bare(target), value: bare(value) })
    }
}

fn copied(site: &Site<'_>) -> Found {
    let Some(function) = site.expression.function() else { return Vec::new() };
    let statements = site.expression.children();
    for three in statements.windows(3) {
        let copies: Option<Vec<Copy<'_>>> = three.iter().map(|statement| Copy::of(*statement)).collect();
        let Some([one, two, three]) = copies.as_deref() else { continue };
        let is_pattern = one.target == one.value && two.target == two.value && two.value == three.value;
        if is_pattern
            && three.target != three.value
            && function.parameters().iter().any(|parameter| bare(parameter) == three.target)
        {
            return vec![three.statement.span()];
        }
    }
    Vec::new()
}
