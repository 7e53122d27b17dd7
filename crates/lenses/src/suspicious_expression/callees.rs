//! Calls that do something else than they look like.

use std::sync::LazyLock;

use regex::Regex;

use super::rules;
use super::site::{Check, Found, Site, last_name, number};
use qa_reading::expressions::{Expression, Form, Operator};
use qa_reading::syntax::Language;

pub(super) const PARSE_INT: Check =
    Check::new(rules::MAPPED_PARSE_INT, "`map` gives the position as the base", parse_int).of_calls(&["map"]);
pub(super) const SORT: Check =
    Check::new(rules::SORTED_NUMBERS, "numbers are sorted as texts", sort).of_calls(&["sort", "toSorted"]);
pub(super) const HOLES: Check =
    Check::new(rules::MAPPED_HOLES, "an array without entries has nothing to call the function for", holes)
        .of_calls(&["map", "forEach", "filter", "reduce", "some", "every"]);
pub(super) const SHARED: Check = Check::new(rules::SHARED_VALUE, "all entries are the same object", shared)
    .of_calls(&["fromkeys", "new", "fill"]);
pub(super) const SHARED_TIMES: Check =
    Check::new(rules::SHARED_VALUE, "all entries are the same object", shared_times);
pub(super) const STRIP: Check =
    Check::new(rules::STRIPPED_CHARACTERS, "argument is a set of characters, and no prefix or suffix", strip)
        .of_calls(&["strip", "lstrip", "rstrip", "Trim", "TrimLeft", "TrimRight", "trim", "ltrim", "rtrim"]);
pub(super) const JOIN: Check =
    Check::new(rules::ABSOLUTE_PART, "an absolute part drops everything before it", join)
        .of_calls(&["join", "resolve"]);
pub(super) const LIST: Check =
    Check::new(rules::LIST_FOR_TUPLE, "call takes a tuple and raises `TypeError` for a list", list)
        .of_calls(&["isinstance", "issubclass", "startswith", "endswith"]);
pub(super) const DATE: Check =
    Check::new(rules::DATE_LETTERS, "letters of the format stand for another part of the date", date)
        .of_calls(&[
            "SimpleDateFormat",
            "ofPattern",
            "strftime",
            "strptime",
            "date",
            "format",
            "ToString",
            "ParseExact",
            "Format",
            "Parse",
        ]);
pub(super) const NAIVE: Check =
    Check::new(rules::NAIVE_DATE, "date without a zone counts as local time", naive)
        .of_calls(&["utcnow", "utcfromtimestamp"]);
pub(super) const DURATION: Check = Check::new(rules::BARE_DURATION, "number is in nanoseconds", duration)
    .of_calls(&["Sleep", "After", "NewTicker", "NewTimer", "Tick", "WithTimeout", "AfterFunc"]);
pub(super) const LOCK: Check = Check::new(rules::LOCK_NOT_HELD, "lock is released at once", lock);
pub(super) const DEFERRED_LOCK: Check =
    Check::new(rules::LOCK_NOT_HELD, "lock is taken when the function ends", deferred_lock);

fn parse_int(site: &Site<'_>) -> Found {
    let [only] = site.arguments()[..] else { return Vec::new() };
    let is_bare = matches!(only.form(), Form::Name("parseInt") | Form::Member { name: "parseInt", .. });
    site.if_true(site.is_ecma() && is_bare)
}

fn sort(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    if !site.is_ecma() || !site.arguments().is_empty() {
        return Vec::new();
    }
    let form = object.form();
    if form == Form::List {
        let items = object.unwrapped().children();
        return site.if_true(!items.is_empty() && items.iter().all(|item| number(*item).is_some()));
    }
    let Form::Call { object: Some(_), name: "map", .. } = form else { return Vec::new() };
    let [only] = object.unwrapped().arguments()[..] else { return Vec::new() };
    site.if_true(matches!(only.form(), Form::Name("Number" | "parseFloat")))
}

/// Returns whether an expression makes an array that has a length and no entries.
fn is_hollow(expression: Expression<'_>) -> bool {
    let Form::Call { object: None, name: "Array", .. } = expression.form() else { return false };
    let [length] = expression.unwrapped().arguments()[..] else { return false };
    !matches!(length.form(), Form::Text(_) | Form::Other | Form::List)
}

fn holes(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    site.if_true(site.is_ecma() && is_hollow(object))
}

/// Returns whether an expression makes a list or a map that can be changed.
fn is_changeable(expression: Expression<'_>) -> bool {
    let form = expression.form();
    let is_call = matches!(form, Form::Call { object: None, name: "dict" | "list" | "set", .. });
    matches!(form, Form::List | Form::Record) || is_call && expression.language() == Language::Python
}

fn shared(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let given = match (site.language(), last_name(object), name) {
        (Language::Python, Some("dict"), "fromkeys") => arguments.get(1),
        (Language::Ruby, Some("Hash"), "new") => arguments.first(),
        (Language::Ruby, Some("Array"), "new") => arguments.get(1),
        (Language::JavaScript | Language::TypeScript | Language::Tsx, _, "fill") if is_hollow(object) => {
            arguments.first()
        }
        _ => None,
    };
    site.if_true(given.is_some_and(|given| is_changeable(*given)))
}

fn shared_times(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator: Operator::Other, .. } = site.form else { return Vec::new() };
    let is_product = site.language() == Language::Python && site.expression.written_operator() == "*";
    let [only] = left.unwrapped().children()[..] else { return Vec::new() };
    site.if_true(is_product && left.form() == Form::List && is_changeable(only))
}

fn strip(site: &Site<'_>) -> Found {
    static AFFIX: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\.[a-z]{2,}\d?$|^[a-z]+://$|^www\.$").expect("a valid pattern"));
    let Form::Call { object, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let characters = match (site.language(), object.and_then(last_name), &arguments[..]) {
        (Language::Python, _, [only]) if object.is_some() => Some(only),
        (Language::Go, Some("strings"), [_, characters]) => Some(characters),
        (Language::Php, None, [_, characters]) => Some(characters),
        _ => None,
    };
    let text = characters.and_then(|characters| characters.text_value());
    site.if_true(text.is_some_and(|text| AFFIX.is_match(&text)))
}

fn join(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let is_joined = match (site.language(), last_name(object), name) {
        (Language::Python, Some("path"), "join") => true,
        (Language::JavaScript | Language::TypeScript | Language::Tsx, Some("path"), "resolve") => true,
        (Language::Rust, _, "join") => {
            let only = arguments.first().and_then(|given| given.text_value());
            let is_path = only.is_some_and(|text| is_absolute(&text));
            return site.if_true(is_path && !matches!(object.form(), Form::Text(_)));
        }
        _ => false,
    };
    let later =
        arguments.iter().skip(1).find(|given| given.text_value().is_some_and(|text| is_absolute(&text)));
    later.filter(|_| is_joined).map(|later| vec![later.span()]).unwrap_or_default()
}

fn is_absolute(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|rest| rest.starts_with(|first: char| first.is_alphanumeric()))
}

fn list(site: &Site<'_>) -> Found {
    let Form::Call { object, name, .. } = site.form else { return Vec::new() };
    let arguments = site.arguments();
    let given = match (object, name, &arguments[..]) {
        (None, "isinstance" | "issubclass", [_, types]) => Some(types),
        (Some(_), "startswith" | "endswith", [only]) => Some(only),
        _ => None,
    };
    site.if_true(site.language() == Language::Python && given.is_some_and(|given| given.form() == Form::List))
}

/// Formats that name another part of the date than the one they stand for.
struct Letters {
    languages: &'static [Language],
    calls: &'static [&'static str],
    wrong: &'static str,
}

const DATES: &[Letters] = &[
    Letters {
        languages: &[Language::Java, Language::Kotlin],
        calls: &["SimpleDateFormat", "ofPattern"],
        // The year of the week, minutes for the month, the month for minutes, the day of the year.
        wrong: r"^(?:YYYY[-/. ]?(?:MM|dd)|(?:dd|MM)[-/. ]?MM?[-/. ]?YYYY)|yyyy[-/.]?mm[-/.]?dd|dd[-/.]mm[-/.]yy|HH:MM|hh:MM|MM[-/.]DD",
    },
    Letters {
        languages: &[Language::CSharp],
        calls: &["ToString", "ParseExact"],
        wrong: r"yyyy[-/.]?mm[-/.]?dd|dd[-/.]mm[-/.]yy|HH:MM|hh:MM",
    },
    Letters {
        languages: &[Language::Python, Language::Ruby],
        calls: &["strftime", "strptime"],
        wrong: r"%Y[-/.]?%M[-/.]?%d|%d[-/.]?%M[-/.]?%[Yy]|%H:%m|%I:%m",
    },
    Letters {
        languages: &[Language::Php],
        calls: &["date", "format"],
        wrong: r"Y[-/.]i[-/.]d|d[-/.]i[-/.]Y|H:m|h:m\b",
    },
    Letters {
        languages: &[Language::Go],
        calls: &["Format", "Parse"],
        wrong: r"YYYY|yyyy|%Y|15:05\b|2006-02-01",
    },
    Letters {
        languages: &[Language::JavaScript, Language::TypeScript, Language::Tsx],
        calls: &["format"],
        wrong: r"(?i:yyyy)[-/.]mm[-/.](?i:dd)|(?i:dd)[-/.]mm[-/.](?i:yyyy)|HH:MM|hh:MM",
    },
];

fn date(site: &Site<'_>) -> Found {
    static WRONG: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        DATES.iter().map(|letters| Regex::new(letters.wrong).expect("a valid pattern")).collect()
    });
    let Form::Call { name, .. } = site.form else { return Vec::new() };
    let row =
        DATES.iter().position(|row| row.languages.contains(&site.language()) && row.calls.contains(&name));
    let Some(row) = row else { return Vec::new() };
    let texts = site.arguments().into_iter().filter_map(|given| Some((given, given.text_value()?)));
    let mut wrong = texts.filter(|(_, text)| WRONG[row].is_match(text));
    wrong.next().map(|(given, _)| vec![given.span()]).unwrap_or_default()
}

fn naive(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    site.if_true(site.language() == Language::Python && last_name(object) == Some("datetime"))
}

fn duration(site: &Site<'_>) -> Found {
    let Form::Call { object: Some(object), name, .. } = site.form else { return Vec::new() };
    let position = match (last_name(object), name) {
        (Some("time"), "Sleep" | "After" | "NewTicker" | "NewTimer" | "Tick" | "AfterFunc") => 0,
        (Some("context"), "WithTimeout") => 1,
        _ => return Vec::new(),
    };
    let arguments = site.arguments();
    let given = arguments.get(position).filter(|given| number(**given).is_some_and(|number| number > 1.0));
    given.filter(|_| site.language() == Language::Go).map(|given| vec![given.span()]).unwrap_or_default()
}

/// Returns whether an expression takes a lock, be it behind a few calls that unwrap the result.
fn takes_lock(mut expression: Expression<'_>) -> bool {
    for _ in 0..4 {
        let form = expression.form();
        if let Form::Await(inside) = form {
            expression = inside;
            continue;
        }
        let Form::Call { object: Some(object), name, .. } = form else { return false };
        match name {
            "lock" | "read" | "write" => {
                let is_lock = expression.source().contains("lock()");
                return expression.unwrapped().arguments().is_empty() && is_lock;
            }
            "unwrap" | "expect" | "unwrap_or_else" => expression = object,
            _ => return false,
        }
    }
    false
}

fn lock(site: &Site<'_>) -> Found {
    if let Form::Declare { target, value } = site.form {
        let is_rust = site.language() == Language::Rust;
        return site.if_true(is_rust && target.source() == "_" && takes_lock(value));
    }
    let Form::Call { name, .. } = site.form else { return Vec::new() };
    let is_guard = matches!(name, "lock_guard" | "scoped_lock" | "unique_lock" | "shared_lock");
    // A guard without a name lives until the end of the statement.
    site.if_true(is_guard && site.language() == Language::Cpp && site.expression.is_dropped())
}

fn deferred_lock(site: &Site<'_>) -> Found {
    let Form::Defer(deferred) = site.form else { return Vec::new() };
    site.if_true(matches!(deferred.form(), Form::Call { object: Some(_), name: "Lock" | "RLock", .. }))
}
