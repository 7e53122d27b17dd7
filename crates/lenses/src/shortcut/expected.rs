//! Expected values that are made by the very expression that they are compared with.

use super::WEAKENED;
use super::assertions::has;
use super::compared::{Compared, Pair, Version};
use super::repeated::{asserted, statements};
use crate::contract::Draft;
use qa_reading::names::{joins, places};
use qa_reading::syntax::{Check, Demand, Function, Span, without_comment};

/// Reports an assertion that compares a value with the expression that it comes from, where the base compared it with
/// something else.
pub(super) fn inspect(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let (now, then) = (&compared.head, &compared.base);
    let mut same = head.checks().iter().filter(|check| compares_same(now, head, check));
    let check = same.find(|check| {
        let mut before = base.checks().iter().filter(|old| {
            let is_gone = old.text == check.text || !has(head, old);
            let is_about = old.subjects.iter().any(|subject| is_of(head, check, subject));
            is_gone && is_about && old.demand >= Demand::Size
        });
        before.any(|old| !compares_same(then, base, old)) && !has_same(then, base, check)
    })?;
    let summary = "the expected value is made from the actual one";
    let place = compared.at_head(WEAKENED, check.span, summary);
    place.or_else(|| compared.at_head(WEAKENED, head.span, summary))
}

/// Returns whether an assertion compares two names of one expression, or one with the expression itself.
fn compares_same(version: &Version<'_>, function: &Function<'_>, check: &Check) -> bool {
    let [one, other] = check.subjects.as_slice() else { return false };
    let [own, expected] = [one, other].map(|side| expanded(function, side));
    let is_copied = without_copies(one) == without_copies(other);
    let is_alike = own.contains('(') && own == expected || is_copied;
    check.demand >= Demand::Size
        && one != other
        && (is_alike
            || is_copy(version, function, check, one, other)
            || is_copy(version, function, check, other, one))
}

/// Returns whether an expression is a copy of another one, with other parts or without, that is made right before the
/// assertion: the code under test may change the other one after it.
fn is_copy(version: &Version<'_>, function: &Function<'_>, check: &Check, copy: &str, of: &str) -> bool {
    let value = value_of(function, copy);
    let is_alike = copy != value && without_copies(value) == without_copies(of);
    (is_alike || is_made_of(value, of))
        && (copy == value
            || last_statement(version, function, check).is_some_and(|last| assigns(&last, copy)))
}

/// Returns the statement before an assertion, without blanks, where no other one stands between but assertions.
fn last_statement(version: &Version<'_>, function: &Function<'_>, check: &Check) -> Option<String> {
    let before = Span { start: function.head.end, end: check.span.start };
    let line = statements(version, &asserted(function), before).last()?;
    let start = line.as_ptr() as usize - version.text.as_ptr() as usize;
    version.text.get(start..check.span.start).map(tightened)
}

/// Returns whether a statement gives a name a value.
fn assigns(statement: &str, name: &str) -> bool {
    let names = statement.split('=').next().unwrap_or_default();
    names.len() < statement.len() && places(names, name).next().is_some()
}

/// Returns whether a value is written as all of another one with some parts beside: `{**order, "total": 4}`.
fn is_made_of(value: &str, other: &str) -> bool {
    let spread = ["**", "...", ".."].iter().any(|sign| value.contains(&format!("{sign}{other}")));
    let is_merged = ["Object.assign(", "dict(", "replace("]
        .iter()
        .any(|begin| value.contains(&format!("{begin}{other},")));
    let is_changed = value.strip_prefix(other).is_some_and(|rest| {
        rest.starts_with(['|', '+'])
            || rest.starts_with("with{")
            || rest.starts_with(".merge(")
            || rest.starts_with(".copy(")
    });
    let is_struct = value.contains('{') && value.contains(&format!("..{other}"));
    is_struct || value.starts_with(['{', '[', '(']) && spread || is_merged || is_changed
}

/// Returns an expression with its first name replaced by the value that the name is given.
fn expanded(function: &Function<'_>, expression: &str) -> String {
    let value = value_of(function, expression);
    let first = root(value);
    match function.facts().values.get(first).and_then(Option::as_deref) {
        Some(given) if value.starts_with(first) => format!("{given}{}", &value[first.len()..]),
        Some(_) | None => value.to_owned(),
    }
}

/// Returns the first name of an expression.
pub(super) fn root(expression: &str) -> &str {
    let mut names = expression.split(|sign| !joins(sign));
    names
        .find(|name| name.starts_with(|first: char| first.is_alphabetic() || first == '_'))
        .unwrap_or(expression)
}

/// Returns an expression without brackets and the calls that make a copy.
fn without_copies(expression: &str) -> String {
    const METHODS: &[&str] = &[".clone()", ".copy()", ".dup", "..."];
    const FUNCTIONS: &[&str] = &[
        "JSON.parse",
        "JSON.stringify",
        "copy.copy",
        "copy.deepcopy",
        "deepcopy",
        "copy",
        "dict",
        "list",
        "sorted",
        "structuredClone",
    ];
    let mut text = METHODS.iter().fold(expression.to_owned(), |text, method| text.replace(method, ""));
    for copy in FUNCTIONS {
        // From the last on, so that the places before stay where they are.
        let found: Vec<Span> = places(&text, copy).collect();
        found.iter().rev().for_each(|place| text.replace_range(place.start..place.end, ""));
    }
    text.retain(|sign| !matches!(sign, '(' | ')' | '[' | ']' | '{' | '}' | ' '));
    text
}

/// Objects that a test makes in the place of what the code under test gives.
const STAND_INS: &[&str] = &[
    "AsyncMock(",
    "MagicMock(",
    "Mock(",
    "Mockito.mock(",
    "SimpleNamespace(",
    "double(",
    "instance_double(",
    "jest.fn(",
    "mock(",
    "mock.MagicMock(",
    "mock.Mock(",
    "sinon.stub(",
    "types.SimpleNamespace(",
    "vi.fn(",
];

/// Reports a test whose subject is given what it asserts about, where the code under test gave it at the base.
pub(super) fn given(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let [then, now] = [(base, compared.base.text), (head, compared.head.text)]
        .map(|(function, text)| tightened(function.span.of(text)));
    let stand_ins = STAND_INS.iter().copied().filter(|stand_in| now.contains(stand_in)).collect();
    let changes = CHANGES.iter().copied();
    let changes = changes
        .filter(|(before, behind)| now.contains(before.trim_start_matches('$')) && now.contains(behind));
    let test = TestValues { compared, pair, stand_ins, changes: changes.collect(), then, now };
    let mut kept = head.checks().iter().filter(|check| has(base, check));
    let check =
        kept.find(|check| matches!(check.subjects.as_slice(), [subject] if test.provides(check, subject)))?;
    let summary = "the test itself gives the value that the assertion is about";
    let place = compared.at_head(WEAKENED, check.span, summary);
    place.or_else(|| compared.at_head(WEAKENED, head.span, summary))
}

/// Both versions of a test, without blanks, and the ways in which it may give values.
struct TestValues<'c, 'p> {
    compared: &'c Compared<'p>,
    pair: &'c Pair<'c>,
    stand_ins: Vec<&'static str>,
    changes: Vec<(&'static str, &'static str)>,
    then: String,
    now: String,
}

impl TestValues<'_, '_> {
    /// Returns whether a test gives an expression its value, or a part of it, which the code under test gave at the base.
    fn provides(&self, check: &Check, subject: &str) -> bool {
        let name = root(subject);
        let [older, newer] = [self.pair.base, self.pair.head].map(|function| &function.facts().values);
        let Some(Some(made)) = older.get(name) else { return false };
        if !made.contains('(') || STAND_INS.iter().any(|name| made.starts_with(name)) {
            return false;
        }
        let is_set = subject != name && newer.contains_key(subject) && !older.contains_key(subject);
        let now = newer.get(name).and_then(Option::as_deref);
        let is_made = now.is_some_and(|now| is_made_of(now, made));
        is_set
            || self.has_stand_in(name)
            || (is_made || self.changes(name)) && self.gives_member(check, subject)
    }

    /// Returns whether the test puts something else in the place of a name's value, and did not at the base.
    fn has_stand_in(&self, name: &str) -> bool {
        self.stand_ins.iter().any(|stand_in| self.gains(&format!("{name}={stand_in}")))
    }

    /// Returns whether the test gives a name's value other parts, and did not at the base.
    fn changes(&self, name: &str) -> bool {
        let mut ways = self.changes.iter();
        ways.any(|(before, behind)| self.gains(&format!("{}{name}{behind}", before.replace('$', name))))
    }

    fn gains(&self, way: &str) -> bool {
        begins_in(&self.now, way) && !begins_in(&self.then, way)
    }

    /// Returns whether the statement before an assertion has the member that it is about. Data that is changed before the
    /// code runs is no answer of the test.
    fn gives_member(&self, check: &Check, subject: &str) -> bool {
        let name = root(subject);
        let member = subject.rsplit(|sign| !joins(sign)).next().filter(|member| *member != name);
        member.is_some_and(|member| {
            let last = last_statement(&self.compared.head, self.pair.head, check);
            last.is_some_and(|last| [name, member].iter().all(|word| places(&last, word).next().is_some()))
        })
    }
}

/// Ways to give a value other parts: what stands before the name, and behind it.
const CHANGES: &[(&str, &str)] = &[
    ("setattr(", ","),
    ("Object.assign(", ","),
    ("$=replace(", ","),
    ("$=dataclasses.replace(", ","),
    ("$=", ".copy("),
    ("$=", "._replace("),
    ("$=", " with"),
    ("$={...", ","),
];

/// Returns a text without comments and the blanks that do not divide words.
pub(super) fn tightened(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.lines().map(without_comment).flat_map(str::split_whitespace) {
        if out.ends_with(joins) && word.starts_with(joins) {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// Returns whether a text has another one that begins with no part of a word.
fn begins_in(text: &str, part: &str) -> bool {
    text.match_indices(part).any(|(at, _)| !text[..at].ends_with(joins))
}

/// Returns whether a function compares the same at the base in words of its own.
fn has_same(version: &Version<'_>, base: &Function<'_>, check: &Check) -> bool {
    let mut same = base.checks().iter().filter(|old| old.text == check.text);
    same.any(|old| compares_same(version, base, old))
}

/// Returns whether an assertion is about an expression, by one of its names.
fn is_of(function: &Function<'_>, check: &Check, subject: &str) -> bool {
    let value = value_of(function, subject);
    check.subjects.iter().any(|own| own == subject || value_of(function, own) == value)
}

/// Returns the value of a name that is given one, or the expression itself.
fn value_of<'f>(function: &'f Function<'_>, expression: &'f str) -> &'f str {
    let value = function.facts().values.get(expression).and_then(Option::as_deref);
    value.unwrap_or(expression)
}
