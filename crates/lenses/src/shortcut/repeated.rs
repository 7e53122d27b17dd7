//! Assertions of one text that a test makes several times, each about what the code before it has left.

use std::collections::BTreeMap;

use super::compared::{Compared, Pair, Version};
use super::expected::root;
use crate::pattern::Pattern;
use qa_reading::names::places;
use qa_reading::syntax::{Check, Function, Span, without_comment};

/// An assignment, with what is given a value.
static ASSIGNS: Pattern = Pattern::new(
    r"^(?:(?:auto|const|final|let|mut|my|val|var)\s+)*([^=(]*?)\s*(?::[^=]+)?(?::=|[-+*/|&]?=)(?:[^=>~]|$)",
);
/// A line that only opens, closes or divides a block.
static DIVIDES: Pattern = Pattern::new(
    r"^(?:[\W_]*|[})\]]*\s*(?:case|catch|elif|else|end|ensure|except|finally|for|if|rescue|switch|try|unless|when|while|with)\b.*)$",
);
/// Functions that print, log or wait.
const INERT: &[&str] = &[
    "Log", "Logf", "Print", "Printf", "Println", "Sleep", "dbg", "debug", "eprintln", "echo", "info", "log",
    "p", "pp", "print", "printf", "println", "puts", "sleep", "warn",
];
/// Begin of a line, up to the name of what it calls.
static CALLS: Pattern = Pattern::new(r"^[\w.$@:]*?(\w+)\s*(?:\(|\s[\w\x22':\[]|$)");

/// Returns the assertions of a function that another version of it lacks.
pub(super) fn without<'c>(function: &'c Function<'_>, other: &Function<'_>) -> Vec<&'c Check> {
    let checks = function.checks().iter();
    checks.filter(|check| other.times(&check.text) == 0).collect()
}

/// Returns the assertions of the base that head lacks, and those that it makes less often where no step goes with them.
pub(super) fn gone_from<'c>(compared: &Compared<'_>, pair: &Pair<'c>) -> Vec<&'c Check> {
    let Pair { base, head } = pair;
    let mut gone = without(base, head);
    let older = distinct(&compared.base, base, may_change);
    let newer = distinct(&compared.head, head, may_change);
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    for check in base.checks().iter().filter(|check| compared.base.touches(check.span)) {
        let text = check.text.as_str();
        let is_fewer = known.entry(text).or_insert_with(|| {
            let is_left = newer.get(text).is_some_and(|left| *left < older[text]);
            is_left && head.times(text) < base.times(text) && does_as_much(compared, pair, check)
        });
        gone.extend(is_fewer.then_some(check));
    }
    gone.sort_by_key(|check| check.span.start);
    gone
}

/// Returns whether one of some new assertions is about the same as one of the base, which it may say in other words.
pub(super) fn is_reworded(new: &[&Check], gone: &Check) -> bool {
    let roots: Vec<&str> = gone.subjects.iter().map(|subject| root(subject)).collect();
    new.iter().flat_map(|check| &check.subjects).any(|subject| roots.contains(&root(subject)))
}

/// Returns whether a test asserts less than at the base, without some of its assertions. To assert the same once more is
/// to assert no more, unless its subject is another one by then.
pub(super) fn asserts_less(compared: &Compared<'_>, pair: &Pair<'_>, excluded: &[&Check]) -> bool {
    let Pair { base, head } = pair;
    let older = distinct(&compared.base, base, may_change);
    let given = distinct(&compared.head, head, reassigns);
    let mut newer = distinct(&compared.head, head, may_change);
    newer.retain(|text, _| !excluded.iter().any(|check| check.text == *text));
    let now = newer.iter().map(|(text, times)| {
        let most = older.get(text).copied().unwrap_or(1).max(given[text]);
        (*times).min(most)
    });
    now.sum::<usize>() < older.values().sum()
}

/// Counts the assertions of a function by their text: those of one text are one, unless a statement between them changes
/// what they see.
fn distinct<'c>(
    version: &Version<'_>,
    function: &'c Function<'_>,
    changes: fn(&str, &[String]) -> bool,
) -> BTreeMap<&'c str, usize> {
    let mut checks: Vec<&Check> = function.checks().iter().collect();
    checks.sort_by_key(|check| check.span.start);
    let asserted = asserted(function);
    let mut last: BTreeMap<&str, &Check> = BTreeMap::new();
    let mut counts = BTreeMap::new();
    for check in checks {
        let before = last.insert(&check.text, check);
        let is_new = before.is_none_or(|before| {
            let between = Span { start: before.span.end, end: check.span.start };
            statements(version, &asserted, between).any(|line| changes(line, &check.subjects))
        });
        *counts.entry(check.text.as_str()).or_default() += usize::from(is_new);
    }
    counts
}

/// Returns whether a version of a function does as much as an older one beside asserting, also for what an assertion is about.
fn does_as_much(compared: &Compared<'_>, pair: &Pair<'_>, check: &Check) -> bool {
    let [older, newer] =
        [(&compared.base, pair.base), (&compared.head, pair.head)].map(|(version, function)| {
            let body = Span { start: function.head.end, end: function.span.end };
            let all: Vec<&str> = statements(version, &asserted(function), body).collect();
            let targets = all.iter().filter_map(|line| target(line));
            (all.len(), targets.filter(|target| is_of(target, &check.subjects)).count())
        });
    older.0 <= newer.0 && older.1 <= newer.1
}

/// Returns the places of a function's assertions in their order.
pub(super) fn asserted(function: &Function<'_>) -> Vec<Span> {
    let mut places: Vec<Span> = function.checks().iter().map(|check| check.span).collect();
    places.sort_by_key(|span| span.start);
    places
}

/// Returns the lines of a place outside of assertions, without those that only divide it into blocks.
pub(super) fn statements<'v>(
    version: &'v Version<'_>,
    asserted: &[Span],
    place: Span,
) -> impl Iterator<Item = &'v str> {
    let first = asserted.partition_point(|span| span.start < place.start);
    let inside = asserted[first..].iter().take_while(|span| span.start < place.end).copied();
    let mut at = place.start;
    let mut between = Vec::new();
    for span in inside.filter(|span| span.end <= place.end).chain([Span { start: place.end, end: place.end }])
    {
        between.push(version.text.get(at..span.start).unwrap_or_default());
        at = at.max(span.end);
    }
    let mut depth = 0_usize;
    let lines = between.into_iter().flat_map(str::lines).map(|line| without_comment(line).trim());
    // A line inside of brackets goes on with the statement above.
    let begins = lines.filter(move |line| {
        let is_begin = depth == 0;
        let mut quote = None;
        for sign in line.chars() {
            match (quote, sign) {
                (None, '"' | '\'' | '`') => quote = Some(sign),
                (Some(open), _) if open == sign => quote = None,
                (None, '(' | '[') => depth += 1,
                (None, ')' | ']') => depth = depth.saturating_sub(1),
                (Some(_) | None, _) => {}
            }
        }
        is_begin
    });
    begins.filter(|line| !DIVIDES.is_match(line) && !matches!(*line, "assert" | "await" | "self." | "t."))
}

/// Returns whether a statement may change what assertions about some expressions see: it gives a value to one of their
/// names, or calls something for what that does.
fn may_change(line: &str, subjects: &[String]) -> bool {
    if let Some(target) = target(line) {
        return is_of(&target, subjects);
    }
    let called = CALLS.captures(line);
    !called.as_ref().and_then(|found| found.get(1)).is_some_and(|name| INERT.contains(&name.as_str()))
}

/// Returns whether a statement gives a value to a name of one of some expressions.
fn reassigns(line: &str, subjects: &[String]) -> bool {
    target(line).is_some_and(|target| is_of(&target, subjects))
}

/// Returns what a statement gives a value.
fn target(line: &str) -> Option<String> {
    ASSIGNS.captures(line)?.get(1).map(|target| target.as_str().to_owned())
}

/// Returns whether a statement's target has the first name of one of some expressions.
fn is_of(target: &str, subjects: &[String]) -> bool {
    subjects.iter().any(|subject| places(target, root(subject)).next().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_may_change_what_an_assertion_sees() {
        let cases = [
            ("result = runner.invoke(cli)", true),
            ("const result = run();", true),
            ("let (result, other) = run();", true),
            ("result, err := run()", true),
            ("lines = result.output.splitlines()", false),
            ("const lines = result.output.split();", false),
            ("cart.add(\"a\");", true),
            ("await page.click('a')", true),
            ("click_on \"Save\"", true),
            ("cart.rename \"a\", \"b\"", true),
            ("del rows[0]", true),
            ("results <- 2", true),
            ("count++", true),
            ("print(result)", false),
            ("console.log(result)", false),
        ];
        for (line, expected) in cases {
            assert_eq!(may_change(line, &["result.code".to_owned()]), expected, "{line}");
        }
    }

    #[test]
    fn lines_of_blocks_do_nothing() {
        for line in [
            "}",
            "});",
            "else:",
            "with runner.isolated():",
            "} catch (error) {",
            "end",
            "",
            "for row in rows:",
        ] {
            assert!(DIVIDES.is_match(line), "{line}");
        }
        for line in ["run()", "del rows[0]", "done = True", "ended()"] {
            assert!(!DIVIDES.is_match(line), "{line}");
        }
    }
}
