//! Functions of test files that assert for the tests that call them.

use std::collections::BTreeMap;

use super::REMOVED;
use super::compared::{Compared, Pair};
use super::guarded::is_inside;
use crate::contract::Draft;
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Check, Function, Language, Span};

/// First words of the name of a function that asserts.
const ASSERTING: &[&str] = &[
    "assert", "check", "compare", "ensure", "expect", "must", "require", "should", "validate", "verify",
    "want",
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

/// Returns whether as many assertions of the same text run in the file as at the base, or it runs in a function that others
/// share and that did not have it before.
pub(super) fn runs_as_often(compared: &Compared<'_>, check: &Check) -> bool {
    let older: BTreeMap<&str, usize> =
        compared.base.behaviour.functions.iter().fold(BTreeMap::new(), |mut older, function| {
            *older.entry(function.path.as_str()).or_default() += running(function, &check.text);
            older
        });
    let mut now = 0;
    for function in
        compared.head.behaviour.functions.iter().filter(|function| !is_uncalled(compared, function))
    {
        let times = running(function, &check.text);
        let before = older.get(function.path.as_str()).copied().unwrap_or_default();
        if times > 0 && before == 0 && is_shared(compared, function) {
            return true;
        }
        // To assert the same twice is to assert it once.
        now += match before {
            0 if may_be_test(compared, function) => times,
            0 => 0,
            before => times.min(before),
        };
    }
    now >= older.values().sum()
}

/// Returns the place of the function of head that has an assertion of the same text, and did not have it at the base.
pub(super) fn new_place(compared: &Compared<'_>, check: &Check) -> Option<Span> {
    let mut newer = compared.head.behaviour.functions.iter().filter(|function| {
        let mut older = compared.base.behaviour.functions.iter();
        running(function, &check.text) > 0 && !older.any(|old| old.path == function.path)
    });
    newer.next().map(|function| function.span)
}

/// Returns whether a function of head runs for several tests: they call it, or a runner calls it before each.
fn is_shared(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    const HOOKS: &[&str] = &[
        "After",
        "AfterEach",
        "Before",
        "BeforeEach",
        "OneTimeSetUp",
        "SetUp",
        "TearDown",
        "TestCleanup",
        "TestInitialize",
        "after",
        "afterEach",
        "before",
        "beforeEach",
        "fixture",
        "setUp",
        "setup",
        "setup_method",
        "tearDown",
        "teardown",
        "teardown_method",
    ];
    let name = function.path.rsplit('.').next().unwrap_or_default();
    let marks = marks(compared, function);
    let mut words = marks.split(|sign| !joins(sign));
    let is_hook = HOOKS.contains(&name) || words.any(|word| HOOKS.contains(&word));
    let text = compared.head.text;
    let uses = places(text, name);
    // A call of Ruby needs no parentheses.
    let uses = uses.filter(|place| compared.language == Language::Ruby || text[place.end..].starts_with('('));
    let is_name = !name.is_empty() && name.chars().all(joins);
    is_hook || is_name && !may_be_test(compared, function) && uses.count() > 1
}

/// Returns whether a function of head may be a test, by its name or by what stands above it.
fn may_be_test(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    let name = function.path.rsplit('.').next().unwrap_or_default().to_lowercase();
    let is_titled = name.contains(' ') || ["should", "spec", "test"].iter().any(|word| name.contains(word));
    let marks = marks(compared, function).replace("pytest.fixture", "");
    is_titled
        || marks.trim() == "it"
        || ["Fact", "Test", "Theory", "test"].iter().any(|word| marks.contains(word))
}

/// Returns the attributes above a function of head, with its line up to the first bracket: a hook of a test may be a call.
fn marks<'c>(compared: &'c Compared<'_>, function: &Function<'_>) -> &'c str {
    let before = &compared.head.text[..function.span.start];
    let mut start = before.rfind('\n').map_or(0, |end| end + 1);
    while let Some(above) = before[..start].strip_suffix('\n') {
        let line = above.rsplit('\n').next().unwrap_or_default();
        if !line.trim_start().starts_with(['@', '[', '#']) {
            break;
        }
        start -= line.len() + 1;
    }
    let rest = &compared.head.text[function.span.start..];
    let end = rest.find(['(', '\n']).unwrap_or_default();
    &compared.head.text[start..function.span.start + end]
}

/// Counts the assertions of a text that run in a function.
fn running(function: &Function<'_>, text: &str) -> usize {
    let own = function.checks().iter().filter(|check| check.text == text);
    let running = own.filter(|check| {
        let mut dead = function.facts().guards.iter().filter(|guard| guard.is_dead);
        !dead.any(|guard| is_inside(guard, check))
    });
    running.count()
}

/// Returns whether a function is a new one inside of another that nothing of the file calls, by its name.
pub(super) fn is_uncalled(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    let Some((around, name)) = function.path.rsplit_once('.') else { return false };
    let functions = compared.head.behaviour.functions.iter().skip(1);
    let is_inside = functions.map(|other| &other.path).any(|path| path == around);
    let is_known = compared.base.behaviour.functions.iter().any(|old| old.path == function.path);
    // The title of a test is no name.
    let name = name.trim_start_matches('$');
    let is_name = !name.is_empty() && name.chars().all(joins) && !name.to_lowercase().starts_with("test");
    is_inside && is_name && !is_known && places(compared.head.text, name).count() == 1
}

/// Counts the added lines of a function that seem to assert something, but for those that call one of some functions.
pub(super) fn asserting_lines(compared: &Compared<'_>, pair: &Pair<'_>, excluded: &[String]) -> usize {
    const WORDS: &[&str] = &["assert", "expect", "must", "require", "should", "verify"];
    let own = compared.packet.added().filter(|line| compared.head.is_on(line, pair.head.span));
    let excluded: Vec<&str> = excluded.iter().filter_map(|name| name.rsplit(['.', ':']).next()).collect();
    let own = own.filter(|line| !excluded.iter().any(|name| places(line.text, name).next().is_some()));
    let code = own.map(|line| line.text.trim_start().to_lowercase());
    let code =
        code.filter(|line| !["\"", "#", "'", "*", "//", "`"].iter().any(|mark| line.starts_with(mark)));
    let code = code.filter(|line| !is_of_no_failure(line) && !line.contains("console."));
    code.filter(|line| WORDS.iter().any(|word| line.contains(word))).count()
}

/// Returns whether a function asserts on a changed line that nothing fails.
pub(super) fn asserts_no_failure(compared: &Compared<'_>, function: &Function<'_>) -> bool {
    let mut own = compared.packet.added().filter(|line| compared.head.is_on(line, function.span));
    own.any(|line| is_of_no_failure(&line.text.to_lowercase()))
}

/// Returns whether a line in small letters asserts only that nothing fails.
fn is_of_no_failure(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "addtoassertioncount",
        "doesnotthrow",
        "expect.assertions",
        "expect.hasassertions",
        "expect_no_throw",
        "expectnottoperformassertions",
        "nothing_raised",
        "silent",
    ];
    WORDS.iter().any(|word| line.contains(word))
}
