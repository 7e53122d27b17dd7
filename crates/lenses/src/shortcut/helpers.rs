//! Functions of test files that assert for the tests that call them.

use super::REMOVED;
use super::compared::{Compared, Pair};
use crate::contract::Draft;

/// First words of the name of a function that asserts.
const ASSERTING: &[&str] = &[
    "assert", "check", "compare", "ensure", "expect", "must", "require", "should", "validate", "verify",
    "want",
];
/// Functions that tests may call without asserting anything.
const IDLE: &[&str] = &[
    "Helper",
    "Log",
    "Logf",
    "bool",
    "console.log",
    "debug",
    "info",
    "log",
    "print",
    "printf",
    "println",
    "puts",
    "str",
    "warn",
    "write",
];

/// Returns whether a function asserted for others at the base: its name says so, or a test calls it for nothing else.
pub(super) fn asserts_for_others(compared: &Compared<'_>, pair: &Pair<'_>) -> bool {
    let name = pair.head.path.rsplit('.').next().unwrap_or_default();
    let small = name.to_lowercase();
    // The title of a test has blanks.
    let is_test = small.starts_with("test") || small.starts_with("bench") || name.contains(' ');
    let is_named = ASSERTING.iter().any(|word| small.starts_with(word));
    let mut others = compared.head.behaviour.functions.iter().filter(|other| other.span != pair.head.span);
    // A function that makes a value may have asserted that it can.
    let gives_nothing = !pair.base.span.of(compared.base.text).contains("return ");
    !is_test && (is_named || gives_nothing && others.any(|other| other.facts().calls.contains(name)))
}

/// Reports a function that asserts for the tests that call it, and that is left now before assertions of the base.
pub(super) fn cut_short(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let cut = head.facts().cut.filter(|_| base.facts().cut.is_none())?;
    let mut behind = head.checks().iter().filter(|check| cut.end <= check.span.start);
    let is_lost = behind.any(|check| base.checks().iter().any(|before| before.text == check.text));
    if !is_lost || !asserts_for_others(compared, pair) {
        return None;
    }
    compared.at_head(REMOVED, cut, "function that tests call to assert is left before its assertions")
}

/// Counts the added lines of a function that seem to assert something.
pub(super) fn asserting_lines(compared: &Compared<'_>, pair: &Pair<'_>) -> usize {
    const WORDS: &[&str] = &["assert", "expect", "must", "require", "should", "verify"];
    let own = compared.packet.added().filter(|line| compared.head.is_on(line, pair.head.span));
    let code = own.map(|line| line.text.trim_start().to_lowercase());
    let code = code.filter(|line| !["#", "*", "//"].iter().any(|mark| line.starts_with(mark)));
    code.filter(|line| WORDS.iter().any(|word| line.contains(word))).count()
}

/// Returns whether a called function says something and asserts nothing.
pub(super) fn is_idle(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    IDLE.contains(&name) || IDLE.contains(&last)
}
