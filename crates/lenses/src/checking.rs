//! Calls that may check something in the place of an assertion that is gone.

use qa_reading::names::{joins, places};
use qa_reading::syntax::Span;

/// Functions that tests call without checking anything: they say, wait, convert or collect something.
const IDLE: &[&str] = &[
    "Append",
    "Boolean",
    "DoesNotThrow",
    "EXPECT_NO_THROW",
    "Err",
    "Helper",
    "Int",
    "Log",
    "Logf",
    "Number",
    "Ok",
    "Print",
    "Printf",
    "Println",
    "SUCCEED",
    "Sleep",
    "Some",
    "Sprint",
    "Sprintf",
    "String",
    "Write",
    "WriteLine",
    "abs",
    "add",
    "addToAssertionCount",
    "and",
    "append",
    "assertDoesNotThrow",
    "assert_nothing_raised",
    "assert_silent",
    "assertions",
    "await",
    "bool",
    "callable",
    "catch",
    "clone",
    "close",
    "copy",
    "dbg",
    "debug",
    "deepcopy",
    "delay",
    "dict",
    "doesNotThrow",
    "drop",
    "dumps",
    "elif",
    "eprintln",
    "except",
    "expectNotToPerformAssertions",
    "extend",
    "float",
    "for",
    "foreach",
    "format",
    "freeze",
    "function",
    "getattr",
    "hasAssertions",
    "hasattr",
    "hash",
    "id",
    "if",
    "in",
    "info",
    "inspect",
    "int",
    "isinstance",
    "issubclass",
    "keys",
    "len",
    "list",
    "log",
    "make",
    "match",
    "max",
    "min",
    "new",
    "not",
    "or",
    "parse",
    "print",
    "print_r",
    "printf",
    "println",
    "push",
    "puts",
    "range",
    "repr",
    "resolve",
    "return",
    "reversed",
    "round",
    "set",
    "setTimeout",
    "setattr",
    "sleep",
    "sorted",
    "sprintf",
    "str",
    "strconv",
    "stringify",
    "sum",
    "switch",
    "toString",
    "to_s",
    "to_string",
    "tuple",
    "type",
    "typeof",
    "update",
    "var_dump",
    "wait",
    "warn",
    "while",
    "with",
    "write",
];

/// Words in the names of functions that check something.
const CHECKING: &[&str] = &[
    "accept",
    "approve",
    "assert",
    "case",
    "check",
    "compare",
    "confirm",
    "contain",
    "correct",
    "ensure",
    "equal",
    "expect",
    "fail",
    "golden",
    "has",
    "invariant",
    "is",
    "match",
    "must",
    "raise",
    "refute",
    "reject",
    "require",
    "round",
    "same",
    "satisfy",
    "scenario",
    "see",
    "shall",
    "should",
    "snapshot",
    "spec",
    "step",
    "subtest",
    "test",
    "then",
    "throw",
    "valid",
    "validate",
    "verify",
    "want",
];

/// Returns whether a called function says something and checks nothing.
pub(crate) fn is_idle(name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    IDLE.contains(&last)
}

/// Returns whether a call may check something: its name says so, or it takes a value that the test has. One without
/// either does its work whatever the code under test did: `time.sleep(1)`.
///
/// The place is that of the name in the text.
pub(crate) fn may_check(text: &str, name: Span) -> bool {
    let called = name.of(text);
    // What a console asserts, it prints.
    let is_of_console = called.starts_with("console.") || text[..name.start].ends_with("console.");
    !is_of_console && !is_idle(called) && (is_called_like_check(called) || takes_value(&text[name.end..]))
}

/// Returns whether any call of a function in a text may check something.
pub(crate) fn any_may_check(text: &str, name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    places(text, last).any(|place| may_check(text, place))
}

/// Returns whether a word of a name is one of those for checks.
fn is_called_like_check(name: &str) -> bool {
    let mut words: Vec<String> = vec![String::new()];
    for sign in name.chars() {
        let is_begin =
            sign.is_uppercase() && words.last().is_some_and(|word| word.ends_with(char::is_lowercase));
        if is_begin || !sign.is_alphabetic() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| sign.is_alphabetic()) {
            word.extend(sign.to_lowercase());
        }
    }
    words.iter().any(|word| {
        CHECKING.iter().any(|known| match known.len() {
            ..4 => word == known,
            _ => word.starts_with(known),
        })
    })
}

/// Returns whether the arguments behind a name have one of a variable: no text, number, keyword or name of an argument.
fn takes_value(behind: &str) -> bool {
    const WORDS: &[&str] =
        &["False", "None", "True", "false", "new", "nil", "null", "self", "this", "true", "undefined"];
    let rest = behind.trim_start_matches(['!', '?']);
    let (mut depth, mut quote) = (0_usize, None);
    let mut word = String::new();
    let is_open = rest.starts_with(['(', '<', '[', '{']);
    let line = rest.split('\n').next().unwrap_or_default();
    let arguments = if is_open { rest } else { line };
    let mut previous = ' ';
    for sign in arguments.chars().chain([' ']) {
        if quote.is_some() {
            if quote == Some(sign) && previous != '\\' {
                quote = None;
            }
            previous = sign;
            continue;
        }
        if joins(sign) {
            word.push(sign);
            previous = sign;
            continue;
        }
        let is_name = word.starts_with(|first: char| first.is_alphabetic() || first == '_');
        // A keyword argument, the begin of another call, or a member of a name that counted already.
        if is_name && !matches!(sign, '=' | '(' | ':') && !WORDS.contains(&word.as_str()) {
            return true;
        }
        word.clear();
        match sign {
            '"' | '\'' | '`' => quote = Some(sign),
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && is_open {
                    return false;
                }
            }
            _ => {}
        }
        previous = sign;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_may_check_by_its_name_or_by_what_it_takes() {
        for (text, name, expected) in [
            ("time.sleep(1)", "sleep", false),
            ("time.sleep(r)", "sleep", false),
            ("cache.clear()", "clear", false),
            ("log.info(\"total\", r)", "info", false),
            ("client.get(\"/a\", timeout=3)", "get", false),
            ("check_total(\"a\")", "check_total", true),
            ("runTest()", "runTest", true),
            ("roundTrip('a')", "roundTrip", true),
            ("process(r)", "process", true),
            ("process(\"a\", r.total)", "process", true),
            ("process(total(2))", "process", false),
            ("run { r.total }", "run", true),
            ("must_be r", "must_be", true),
            ("visit \"/a\"", "visit", false),
            ("island(1)", "island", false),
        ] {
            assert_eq!(any_may_check(text, name), expected, "{text}");
        }
    }
}
