//! Results that nothing uses although the call does nothing else.

use super::rules;
use super::site::{Check, Found, Site, last_name};
use qa_reading::expressions::{Expression, Form};
use qa_reading::syntax::Language;

pub(super) const DEAD: Check =
    Check::new(rules::DEAD_RESULT, "result is unused, and the call does nothing else", dead);
pub(super) const COMPARED: Check =
    Check::new(rules::DEAD_COMPARISON, "comparison is a statement, and its result is unused", compared);
pub(super) const ERROR: Check =
    Check::new(rules::DEAD_ERROR, "error is made and neither thrown nor returned", error);

/// Methods that return a new value and change nothing, by language.
struct Row {
    languages: &'static [Language],
    names: &'static [&'static str],
    takes: Takes,
}

/// The way in which a call takes the value.
#[derive(PartialEq, Eq)]
enum Takes {
    /// The value is the receiver.
    Receiver,
    /// The value is the receiver, and a literal is looked for in it and replaced.
    Literal,
    /// The value is an argument of a function.
    Argument,
    /// The value is an argument of a function of this package.
    Package(&'static str),
}

const ECMA: &[Language] = &[Language::JavaScript, Language::TypeScript, Language::Tsx];
const ROWS: &[Row] = &[
    Row {
        languages: &[Language::Python],
        names: &[
            "strip",
            "lstrip",
            "rstrip",
            "lower",
            "upper",
            "capitalize",
            "splitlines",
            "casefold",
            "removeprefix",
            "removesuffix",
            "swapcase",
            "zfill",
        ],
        takes: Takes::Receiver,
    },
    Row { languages: &[Language::Python], names: &["replace"], takes: Takes::Literal },
    Row {
        languages: &[Language::Python],
        names: &["sorted", "reversed", "enumerate", "zip"],
        takes: Takes::Argument,
    },
    Row {
        languages: ECMA,
        names: &[
            "trim",
            "trimStart",
            "trimEnd",
            "toLowerCase",
            "toUpperCase",
            "padStart",
            "padEnd",
            "concat",
            "slice",
            "toSorted",
            "toReversed",
            "toFixed",
        ],
        takes: Takes::Receiver,
    },
    Row { languages: ECMA, names: &["replace", "replaceAll"], takes: Takes::Literal },
    Row {
        languages: &[Language::Java, Language::Kotlin],
        names: &[
            "trim",
            "toLowerCase",
            "toUpperCase",
            "substring",
            "strip",
            "lowercase",
            "uppercase",
            "stripLeading",
        ],
        takes: Takes::Receiver,
    },
    Row {
        languages: &[Language::Java, Language::Kotlin],
        names: &["replaceAll", "replaceFirst"],
        takes: Takes::Literal,
    },
    Row {
        languages: &[Language::CSharp],
        names: &[
            "Trim",
            "TrimEnd",
            "TrimStart",
            "ToLower",
            "ToUpper",
            "Substring",
            "PadLeft",
            "PadRight",
            "ToLowerInvariant",
        ],
        takes: Takes::Receiver,
    },
    Row { languages: &[Language::CSharp], names: &["Replace"], takes: Takes::Literal },
    Row {
        languages: &[Language::Rust],
        names: &["to_lowercase", "to_uppercase", "trim", "trim_end", "trim_start"],
        takes: Takes::Receiver,
    },
    Row {
        languages: &[Language::Ruby],
        names: &["strip", "downcase", "upcase", "gsub", "chomp", "squeeze", "capitalize"],
        takes: Takes::Receiver,
    },
    Row {
        languages: &[Language::Php],
        names: &[
            "trim",
            "rtrim",
            "ltrim",
            "strtolower",
            "strtoupper",
            "str_replace",
            "substr",
            "ucfirst",
            "array_merge",
            "array_filter",
            "array_unique",
            "array_values",
            "array_reverse",
            "implode",
            "explode",
            "sprintf",
        ],
        takes: Takes::Argument,
    },
    Row {
        languages: &[Language::Go],
        names: &[
            "TrimSpace",
            "Trim",
            "Replace",
            "ReplaceAll",
            "ToLower",
            "ToUpper",
            "TrimPrefix",
            "TrimSuffix",
            "TrimLeft",
            "TrimRight",
            "Split",
            "Repeat",
        ],
        takes: Takes::Package("strings"),
    },
    Row {
        languages: &[Language::Go],
        names: &["Sprintf", "Sprint", "Sprintln"],
        takes: Takes::Package("fmt"),
    },
];

/// Objects whose methods have such names and do something.
const DOERS: &[&str] = &[
    "buffer",
    "builder",
    "cache",
    "df",
    "file",
    "history",
    "list",
    "location",
    "log",
    "lru",
    "memory",
    "nav",
    "navigate",
    "navigation",
    "page",
    "path",
    "pool",
    "queue",
    "router",
    "self",
    "stack",
    "store",
    "super",
    "this",
    "tree",
];

fn dead(site: &Site<'_>) -> Found {
    let Form::Call { object, name, is_new: false } = site.form else { return Vec::new() };
    let language = site.language();
    let row = ROWS.iter().find(|row| row.languages.contains(&language) && row.names.contains(&name));
    let Some(row) = row.filter(|_| site.expression.is_dropped()) else { return Vec::new() };
    let is_doer = object.and_then(last_name).is_some_and(is_doer);
    let takes_value = match row.takes {
        Takes::Receiver => object.is_some_and(is_value),
        Takes::Literal => {
            let arguments = site.arguments();
            let is_literal = |given: &Expression<'_>| {
                matches!(given.form(), Form::Text(_) | Form::Regex | Form::Character(_))
            };
            let is_path =
                |given: &Expression<'_>| given.text_value().is_some_and(|text| text.starts_with('/'));
            object.is_some() && arguments.len() >= 2 && is_literal(&arguments[0]) && !is_path(&arguments[0])
        }
        Takes::Argument => object.is_none() && !site.arguments().is_empty(),
        Takes::Package(package) => object.and_then(last_name) == Some(package),
    };
    site.if_true(takes_value && !is_doer)
}

/// Returns whether the last word of an object's name is that of one whose methods do something.
fn is_doer(owner: &str) -> bool {
    let owner = owner.to_lowercase();
    DOERS.iter().any(|word| owner.ends_with(word))
}

/// Returns whether a receiver may be a text or a list, and is no type.
fn is_value(object: Expression<'_>) -> bool {
    !matches!(object.form(), Form::Name(name) if name.starts_with(char::is_uppercase))
}

fn compared(site: &Site<'_>) -> Found {
    let Form::Binary { left, operator, right } = site.form else { return Vec::new() };
    let is_judged = operator.is_equality() && !matches!(site.language(), Language::Java | Language::CSharp);
    let is_place = left.is_place() || right.is_place();
    site.if_true(is_judged && is_place && site.expression.is_dropped())
}

fn error(site: &Site<'_>) -> Found {
    let Form::Call { object, name, is_new } = site.form else { return Vec::new() };
    let is_error = |name: &str| {
        let is_type = name.starts_with(char::is_uppercase);
        is_type && (name.ends_with("Error") || name.ends_with("Exception"))
    };
    let is_made = match site.language() {
        Language::Python | Language::Kotlin => object.is_none() && is_error(name),
        Language::Ruby => name == "new" && object.and_then(last_name).is_some_and(is_error),
        Language::Go => {
            let package = object.and_then(last_name);
            matches!((package, name), (Some("errors"), "New") | (Some("fmt"), "Errorf"))
        }
        Language::JavaScript
        | Language::TypeScript
        | Language::Tsx
        | Language::Java
        | Language::CSharp
        | Language::Php => is_new && is_error(name),
        Language::C | Language::Cpp | Language::Rust => false,
    };
    site.if_true(is_made && site.expression.is_dropped())
}
