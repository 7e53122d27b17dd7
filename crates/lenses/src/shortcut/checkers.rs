//! Functions of the repository that a test calls in the place of assertions, and that can fail no test.

use crate::contract::Lookups;
use crate::imports::{Family, split};
use crate::pattern::Pattern;
use qa_contracts::v1::{MentionKind, Side};
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Behaviour, Function, Language, ParsedSource};

/// Maximum number of files that are read for the definition of one function.
const MOST_FILES: usize = 20;

/// Words by which a function may fail, also by what the language does.
static FAILS: Pattern = Pattern::new(concat!(
    r"(?i)assert|expect|[\[!?]|\.\(|\b(?:abort|as|die|err|error\w*|exit\w*|fail\w*|fatal\w*|match|must\w*|panic\w*|raise\w*|reject\w*",
    r"|require\w*|should\w*|switch|throw\w*|unreachable|unwrap\w*|yield)\b",
));
/// Functions that fail nothing and keep nothing.
const HARMLESS: &[&str] = &[
    "Log",
    "Logf",
    "Printf",
    "Println",
    "bool",
    "debug",
    "float",
    "info",
    "int",
    "isinstance",
    "len",
    "log",
    "print",
    "println",
    "repr",
    "str",
    "warn",
];

/// Returns whether all functions of some names are defined in the repository, and none of them can fail.
pub(super) fn none_fails(lookups: &dyn Lookups, test: &str, names: &[String]) -> bool {
    !names.is_empty() && names.iter().all(|name| is_known_to_hold(lookups, test, name))
}

fn is_known_to_hold(lookups: &dyn Lookups, test: &str, name: &str) -> bool {
    // A method may be one of any object, and Ruby calls functions without a sign.
    let kind = test.parse_family().filter(|kind| *kind != MentionKind::Ruby && name.chars().all(joins));
    let (Some(kind), Some(own)) = (kind, lookups.text(Side::Head, test)) else { return false };
    let words: Vec<String> = ["const", "def", "fn", "fun", "func", "function", "let", "void"]
        .iter()
        .map(|keyword| format!("{keyword} {name}"))
        .collect();
    let found = lookups.mentions(Side::Head, kind, &words);
    if !found.complete || found.paths.len() > MOST_FILES {
        return false;
    }
    let mut is_defined = false;
    for path in &found.paths {
        if path != test && !is_reached(kind, test, &own, path, name) {
            continue;
        }
        let Some(language) = Language::from_path(path) else { return false };
        let Some(text) = lookups.text(Side::Head, path) else { return false };
        let Some(source) = ParsedSource::parse(language, &text, None) else { return false };
        let behaviour = Behaviour::new(&source);
        let functions = behaviour.functions.iter().skip(1);
        for function in functions.filter(|function| last(&function.path) == name) {
            if may_fail(function, &text) {
                return false;
            }
            is_defined = true;
        }
    }
    is_defined
}

/// Returns whether a test, by its text, calls the function of a name that a file defines: it imports the name from a module
/// of the file's name, or both are in one package of Go.
fn is_reached(kind: MentionKind, test: &str, text: &str, path: &str, name: &str) -> bool {
    let (directory, file) = split(path);
    if kind == MentionKind::Go {
        return directory == split(test).0;
    }
    let stem = file.split('.').next().unwrap_or(file);
    let stem = if matches!(stem, "__init__" | "index" | "mod") { split(directory).1 } else { stem };
    text.lines().any(|line| {
        let is_import =
            ["import", "from", "const", "use"].iter().any(|word| line.trim_start().starts_with(word));
        let is_relative =
            line.contains("from .") || line.contains("\"./") || line.contains("'./") || line.contains("../");
        is_import && is_relative && [stem, name].iter().all(|word| places(line, word).next().is_some())
    })
}

fn last(path: &str) -> &str {
    path.rsplit('.').next().unwrap_or(path)
}

/// Returns whether a function asserts, fails by itself, or calls something that may.
fn may_fail(function: &Function<'_>, text: &str) -> bool {
    let mut calls = function.facts().calls.iter();
    function.is_broken
        || !function.checks().is_empty()
        || FAILS.is_match(
            function.span.of(text).get(function.head.end - function.span.start..).unwrap_or_default(),
        )
        || calls.any(|called| !HARMLESS.contains(&called.rsplit(['.', ':']).next().unwrap_or(called)))
}
