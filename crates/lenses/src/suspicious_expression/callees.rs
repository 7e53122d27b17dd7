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
    let Form::Call { object: Some(object), .. } = site.form else { return Vec::new() };
    let [only] = site.arguments()[..] else { return Vec::new() };
    let is_bare = matches!(only.form(), Form::Name("parseInt") | Form::Member { name: "parseInt", .. });
    site.if_true(site.is_ecma() && is_bare && !is_of_library(object))
}

/// Returns whether `map` of an object is one of a library that gives the value alone: `R.map(parseInt)`,
/// `Maybe.of(text).map(parseInt)`.
fn is_of_library(object: Expression<'_>) -> bool {
    const BUILT_IN: &[&str] = &["Array", "Object", "String"];
    const LIBRARIES: &[&str] = &["_", "fp", "lodash", "ramda"];
    let source = object.source();
    let root = source.split(|sign: char| !sign.is_alphanumeric() && sign != '_').next().unwrap_or_default();
    let is_type = root.starts_with(|first: char| first.is_uppercase()) && !BUILT_IN.contains(&root);
    is_type || LIBRARIES.contains(&root)
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
    let is_joined = match (site.language(), object.source(), name) {
        (Language::Python, "os.path" | "path" | "posixpath" | "ntpath", "join") => true,
        (Language::JavaScript | Language::TypeScript | Language::Tsx, "path", "resolve") => true,
        (Language::Rust, _, "join") => {
            let only = arguments.first().and_then(|given| given.text_value());
            let is_path = only.is_some_and(|text| is_absolute(&text));
            return site.if_true(is_path && is_directory(object));
        }
        _ => false,
    };
    let later =
        arguments.iter().skip(1).find(|given| given.text_value().is_some_and(|text| is_absolute(&text)));
    let is_dropped = is_joined && !arguments.first().is_some_and(|first| is_root(*first));
    later.filter(|_| is_dropped).map(|later| vec![later.span()]).unwrap_or_default()
}

/// Returns whether an expression of Rust is a path by its words; an address and a list have `join` too.
fn is_directory(object: Expression<'_>) -> bool {
    const WORDS: &[&str] = &["cwd", "dir", "folder", "home", "path", "prefix", "root"];
    let source = object.source().to_lowercase();
    let is_address = ["url", "uri", "endpoint", "origin"].iter().any(|word| source.contains(word));
    let uses_addresses =
        ["url::Url", "Url::", "&Url", ": Url"].iter().any(|word| object.file().contains(word));
    WORDS.iter().any(|word| source.contains(word)) && !is_address && !uses_addresses
}

/// Returns whether a part is nothing, a drive or the root, behind which an absolute part is meant.
fn is_root(part: Expression<'_>) -> bool {
    let source = part.source().to_lowercase();
    let is_named = source.contains("drive") || matches!(source.as_str(), "os.sep" | "path.sep" | "sep");
    is_named || part.text_value().is_some_and(|text| text.is_empty() || text == "/" || text.ends_with(':'))
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
    let Some((given, _)) = wrong.next() else { return Vec::new() };
    if has_other_letters(site.expression.file()) || site.language() == Language::Go && !is_layout(site, given)
    {
        return Vec::new();
    }
    vec![given.span()]
}

/// Returns whether a file has to do with a library whose formats have letters of their own.
fn has_other_letters(text: &str) -> bool {
    static OTHERS: LazyLock<Regex> = LazyLock::new(|| {
        let libraries = r"(?i)\b(?:carbon|date-?format|dateparse|excelize|exceljs|goment|go-?moment|IntlDateFormatter|isoFormat|jodaTime|numFmt|SSF|strftime\.New|timefmt|xlsx)\b";
        Regex::new(libraries).expect("a valid pattern")
    });
    OTHERS.is_match(text)
}

/// Returns whether an argument in Go is a layout of the package `time`, and not a date or a layout of something else.
fn is_layout<'t>(site: &Site<'t>, given: Expression<'t>) -> bool {
    let Form::Call { object: Some(object), name, .. } = site.form else { return false };
    let arguments = site.arguments();
    match name {
        "Format" => arguments.len() == 1,
        _ => last_name(object) == Some("time") && arguments.first() == Some(&given),
    }
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
    // Whoever writes a million or more counts in nanoseconds.
    let given = arguments
        .get(position)
        .filter(|given| number(**given).is_some_and(|number| number > 1.0 && number < 1e6));
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
    let Form::Call { object: Some(object), name: "Lock" | "RLock", .. } = deferred.form() else {
        return Vec::new();
    };
    site.if_true(!is_released(site.expression, object))
}

/// Returns whether the lines before a statement release a lock, which the statement takes again at the end.
fn is_released(statement: Expression<'_>, lock: Expression<'_>) -> bool {
    let start = statement.function().map(|function| function.span().start).unwrap_or_default();
    let before = statement.file().get(start..statement.span().start).unwrap_or_default();
    let lock = lock.source();
    let mut last = None;
    for line in before.split(['\n', ';', '{']).map(str::trim) {
        let call = line.strip_prefix(lock).and_then(|rest| rest.strip_prefix('.')?.split_once(')'));
        last = match call.map(|(called, _)| called) {
            Some("Unlock(" | "RUnlock(") => Some(true),
            Some("Lock(" | "RLock(") => Some(false),
            _ => last,
        };
    }
    last == Some(true)
}
