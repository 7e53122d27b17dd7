//! Skipped tests in each language.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use super::names::Test;
use super::needs::Needs;
use super::tests_by_hunk::{self, Side};
use super::version::Version;
use super::{TEST_SKIPPED, skip_rows};
use crate::contract::{Draft, DraftExt};
use crate::idioms::{self, Idiom, Table, code};
use crate::pattern::Pattern;
use crate::scan;
use qa_contracts::v1::ChangeKind;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{Mark, MarkKind, Span};

/// Skips in languages without a syntax tree here, and macros of C and C++ that no tree knows.
static SKIP_IDIOMS: &[Idiom] = &[
    code(&["scala", "groovy"], "@", r"^\s*(@(?:Disabled|Ignore)(?:\s*\(|\s*$|\s+[@\w]))"),
    code(&["scala", "groovy"], "nabled", r"@Test\([^)]*\b(enabled\s*=\s*false)\b"),
    code(&["scala", "groovy"], "abledIf(", r#"^\s*(@(?:EnabledIf\(\s*"false"|DisabledIf\(\s*"true"))"#),
    code(&["scala", "groovy"], "abort(", r"^\s*((?:\w+\.)*abort\()"),
    code(&["scala", "groovy"], "assume", r"^\s*((?:\w+\.)*(?:assumeTrue\(\s*false|assumeFalse\(\s*true))\b"),
    code(&["elixir"], "skip", r"^\s*(@(?:tag|moduletag|describetag)\s+(?::skip\b|skip:))"),
    code(&["swift"], "XCTSkip", r"\b(XCTSkip\s*\()"),
    code(&["swift"], ".disabled", r"@(?:Test|Suite)\b.*(\.disabled\()"),
    code(&["scala"], "ignore(", r#"^\s*(ignore\(\s*")"#),
    code(&["dart"], "skip", r#"\b(skip\s*:\s*(?:true|["']))"#),
    code(&["c++", "c"], "GTEST_SKIP", r"\b(GTEST_SKIP\s*\()"),
    code(&["c++", "c"], "SKIP", r"^\s*(SKIP\s*\()"),
    code(&["c++", "c"], "DISABLED_", r"^\s*(?:TYPED_)?TEST\w*\s*\(\s*(?:\w+\s*,\s*)?(DISABLED_\w+)"),
    code(&["c++", "c"], "doctest", r"(doctest::skip\(\s*(?:true\s*)?\))"),
    Idiom {
        languages: &["c++", "c"],
        literal: "[",
        pattern: r#"^\s*(?:TEMPLATE_)?(?:TEST_CASE|SCENARIO)\w*\s*\(.*,\s*"[^"]*(\[(?:\.[^\]]*|!hide|!mayfail|!shouldfail)\])"#,
        place: idioms::Place::Anywhere,
    },
    code(&["lua"], "pending(", r"^\s*(pending\()"),
];
pub(super) static SKIPS: LazyLock<Table> = LazyLock::new(|| Table::new(SKIP_IDIOMS));

/// A skip behind a condition is for a platform or a tool that is missing, not for the test.
static CONDITION: Pattern =
    Pattern::new(r"^\s*(?:\}\s*)?(?:if|elif|else|except|rescue|catch|case|unless|switch|default|when)\b");

/// The mark that skips a test, with the place of its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Off {
    pub(super) mark: Span,
    /// Empty for a test that no runner collects.
    pub(super) name: Span,
}

/// Returns how a mark switches off what it belongs to, on every platform.
pub(super) fn switched_off(language: Option<&str>, mark: &Mark) -> Option<Off> {
    if mark.kind == MarkKind::Uncollected {
        return Some(Off { mark: mark.span, name: Span::default() });
    }
    let skip = skip_rows::skip(language, mark)?;
    Some(Off { mark: mark.span, name: skip.span })
}

/// Returns how a mark leaves what it belongs to to a variable of the environment.
pub(super) fn asked_for(language: Option<&str>, mark: &Mark) -> Option<Off> {
    let skip = skip_rows::asked_for(language, mark).filter(|_| mark.kind != MarkKind::Nested)?;
    Some(Off { mark: mark.span, name: skip.span })
}

/// Returns what a mark needs somebody to give.
pub(super) fn needs(language: Option<&str>, mark: &Mark) -> Option<Needs> {
    let words = skip_rows::needed(language, mark);
    let off = Off { mark: mark.span, name: mark.span };
    (!words.is_empty() && mark.kind != MarkKind::Nested).then_some(Needs { off, words })
}

/// Finds tests that ran at the base and are switched off at head. A test that is new as a whole never ran, so its skip
/// takes nothing away; it replaces no other test either.
pub(super) fn by_tree(packet: &Packet<'_>, base: &Version<'_>, head: &Version<'_>) -> Vec<Draft> {
    let added = Added::new(packet);
    let mut places: BTreeMap<Span, Place> = BTreeMap::new();
    // A test that runs where it is asked for is weaker than one that runs always, and stronger than one that never does.
    for off in [(|test| test.off) as fn(&Test) -> Option<Off>, |test| test.off.or(test.asked_for)] {
        for (test, off) in newly_off(base, head, &added, off) {
            let whole = span_of_lines(head.text, test.mark, test.end);
            places.entry(off.mark).or_insert(Place { name: off.name, whole });
        }
    }
    for test in &head.tests {
        let old = base.tests.iter().find(|old| old.name == test.name && old.off.is_none());
        if old.is_some_and(|old| old.nested.len() < test.nested.len()) {
            let new = test.nested.iter().filter(|off| added.first_on(head.text, off.mark).is_some());
            places.extend(new.map(|off| (off.mark, Place { name: off.name, whole: off.mark })));
        }
    }
    places.extend(marks_for_others(packet, base, head));
    let mut drafts: Vec<Draft> = places
        .into_iter()
        .filter_map(|(mark, place)| draft(packet, head.text, &added, mark, place))
        .collect();
    drafts.dedup_by_key(|draft| (draft.side, draft.start_line));
    drafts
}

/// Places that a finding may be at.
pub(super) struct Place {
    /// The name or call that skips; empty where none does.
    pub(super) name: Span,
    pub(super) whole: Span,
}

/// Returns the marks of a conftest, and of a file without tests for those of other files, that skip tests anew.
fn marks_for_others(packet: &Packet<'_>, base: &Version<'_>, head: &Version<'_>) -> Vec<(Span, Place)> {
    let language = packet.file.language.as_deref();
    let has_no_tests =
        base.tests.is_empty() && head.tests.is_empty() && packet.file.kind != ChangeKind::Added;
    if packet.path().file_name() != b"conftest.py" && !has_no_tests {
        return Vec::new();
    }
    let old: BTreeSet<String> = base.marks.iter().filter_map(|mark| skip_key(language, mark)).collect();
    let new = head.marks.iter();
    let new = new.filter(|mark| skip_key(language, mark).is_some_and(|key| !old.contains(&key)));
    let new = new.filter_map(|mark| switched_off(language, mark));
    let new = new.filter(|off| !ignores_other_files(off.mark.of(head.text)));
    let mut places: Vec<(Span, Place)> =
        new.map(|off| (off.mark, Place { name: off.name, whole: off.mark })).collect();
    places.extend(named_tests_skipped(base.text, head.text).into_iter().map(|mark| {
        let place = Place { name: mark, whole: mark };
        (mark, place)
    }));
    places
}

/// Returns the name and the arguments by which a mark skips, which tell it from the other marks of a file.
fn skip_key(language: Option<&str>, mark: &Mark) -> Option<String> {
    let skip = skip_rows::skip(language, mark)?;
    Some(format!("{:?} {:?}", skip.path, skip.arguments))
}

/// A list of files that pytest is not to collect, none of which has the name of a test.
static OTHER_FILES: Pattern = Pattern::new(r#"^collect_ignore(?:_glob)?\b[^"']*["']"#);
/// The name of a file or a directory of tests, or any name.
static TEST_FILES: Pattern =
    Pattern::new(r#"["'](?:[^"']*(?:test_|_test|tests?["'/*])|(?:\*\*/)?\*(?:\.py)?["'])"#);

/// Returns whether a statement keeps pytest from collecting files none of which is one of tests.
fn ignores_other_files(statement: &str) -> bool {
    OTHER_FILES.is_match(statement) && !TEST_FILES.is_match(statement)
}

/// A hook that skips a test by its name.
static NAMED_TEST: Pattern = Pattern::new(
    r#"(?m)^[ \t]*((?:el)?if\b[^\n]*\b(?:function|item|node|request)\b[^\n]*["'][^"'\n]*\b(?:test_?\w+|Test\w+)[^"'\n]*["'][^\n]*:)[ \t]*\r?\n(?:[^\n]*\n){0,2}?[^\n]*(?:mark\.(?:skip|xfail)|pytest\.(?:skip|xfail)|\bitems\.(?:remove|pop))"#,
);

/// Returns the conditions by which hooks of pytest skip single tests, and did not at the base.
fn named_tests_skipped(base: &str, head: &str) -> Vec<Span> {
    let found = NAMED_TEST.captures_all(head);
    let conditions = found.iter().filter_map(|found| found.get(1));
    let new = conditions.filter(|condition| !base.contains(condition.as_str()));
    new.map(|condition| Span { start: condition.start(), end: condition.end() }).collect()
}

/// Returns the tests of which head has fewer that run than the base, with what switches them off.
pub(super) fn newly_off<'v>(
    base: &Version<'_>,
    head: &'v Version<'_>,
    added: &Added<'_>,
    off: fn(&Test) -> Option<Off>,
) -> Vec<(&'v Test, Off)> {
    let (before, now) = (running(base, off), running(head, off));
    let mut fewer: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in before {
        fewer.insert(name, count.saturating_sub(now.get(name).copied().unwrap_or(0)));
    }
    let mut all: Vec<(&Test, Off)> = head.tests.iter().filter_map(|test| Some((test, off(test)?))).collect();
    // A mark that is written anew comes before one that a change elsewhere brings into force.
    all.sort_by_key(|(_, off)| added.first_on(head.text, off.mark).is_none());
    all.retain(|(test, _)| match fewer.get_mut(test.name.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            true
        }
        Some(_) | None => false,
    });
    all
}

/// Makes the draft of a mark: on the added line of its name, of the mark, of the test, or of any.
pub(super) fn draft(
    packet: &Packet<'_>,
    text: &str,
    added: &Added<'_>,
    mark: Span,
    place: Place,
) -> Option<Draft> {
    let is_named = place.name != Span::default();
    let summary = if is_named { "test is skipped" } else { "test is no longer collected" };
    let named = added.first_on(text, place.name).filter(|_| is_named);
    let line = named
        .or_else(|| added.first_on(text, mark))
        .or_else(|| added.first_on(text, place.whole))
        .or_else(|| added.lines.values().next());
    if let Some(line) = line {
        let span = match named {
            Some(line) => part_on(text, place.name, line),
            None => super::whole(line.text),
        };
        return Some(Draft::on_line(TEST_SKIPPED, packet, line, span, summary));
    }
    let line = packet.removed().next()?;
    Some(Draft::on_base_line(TEST_SKIPPED, packet, &line, super::whole(line.text), summary))
}

/// Returns the part of a place that is on a line.
fn part_on(text: &str, place: Span, line: &Line<'_>) -> Range<usize> {
    let start = text[..place.start].rfind('\n').map(|newline| newline + 1).unwrap_or_default();
    let from = place.start - start;
    let is_first = lines_of(text, place).next() == Some(line.number);
    match line.text.get(from..(from + place.end - place.start).min(line.text.trim_end().len())) {
        Some(part) if is_first && !part.is_empty() => from..from + part.len(),
        Some(_) | None => super::whole(line.text),
    }
}

/// Counts the tests of each name that are not switched off.
fn running<'v>(version: &'v Version<'_>, off: fn(&Test) -> Option<Off>) -> BTreeMap<&'v str, usize> {
    let mut counts = BTreeMap::new();
    for test in version.tests.iter().filter(|test| off(test).is_none()) {
        *counts.entry(test.name.as_str()).or_insert(0) += 1;
    }
    counts
}

/// Added lines by number.
pub(super) struct Added<'a> {
    lines: BTreeMap<u64, Line<'a>>,
}

impl<'a> Added<'a> {
    pub(super) fn new(packet: &Packet<'a>) -> Self {
        Self { lines: packet.added().map(|line| (line.number, line)).collect() }
    }

    /// Returns the added lines that a place touches.
    fn lines_on(&self, text: &str, span: Span) -> impl Iterator<Item = &Line<'a>> {
        lines_of(text, span).filter_map(|number| self.lines.get(&number))
    }

    fn first_on(&self, text: &str, span: Span) -> Option<&Line<'a>> {
        self.lines_on(text, span).next()
    }
}

/// Returns the numbers of the lines that a place touches.
fn lines_of(text: &str, span: Span) -> impl Iterator<Item = u64> + use<> {
    let first = text[..span.start].matches('\n').count() as u64 + 1;
    let last = text[..span.end].trim_end().matches('\n').count() as u64 + 1;
    first..=last.max(first)
}

pub(super) fn span_of_lines(text: &str, first: usize, end: usize) -> Span {
    let [start, end] = [first, end].map(|line| {
        let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        starts.nth(line).unwrap_or(text.len())
    });
    Span { start, end }
}

/// Skips that come without another going from the same hunk. A test that is new as a whole never ran, so its skip
/// takes nothing away; it replaces no other test either.
pub(super) fn by_line(packet: &Packet<'_>, sides: &Compared<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let [old_marks, new_marks] = [sides.old, sides.new].map(|version| loose_skips(language, version));
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        let old = scan::removed(language, hunk)
            .filter(|(line, parts)| {
                SKIPS.find(language, line.text, parts).is_some() || old_marks.contains_key(&line.number)
            })
            .count();
        let mut previous = hunk.before().last().map(|line| line.text).unwrap_or_default();
        let mut found = Vec::new();
        for (line, parts) in scan::added(language, hunk) {
            let by_idiom = SKIPS.find(language, line.text, &parts).filter(|span| {
                !CONDITION.is_match(previous) && !CONDITION.is_match(&line.text[..span.start])
            });
            let by_mark = new_marks.get(&line.number).map(|skip| part_on(sides.new.text, *skip, &line));
            if let Some(span) = by_idiom.or(by_mark)
                && !tests_by_hunk::is_of_new_test(sides.base, sides.head, &line)
            {
                found.push(Draft::on_line(TEST_SKIPPED, packet, &line, span, "test is skipped"));
            }
            if !line.text.trim().is_empty() {
                previous = line.text;
            }
        }
        drafts.extend(found.into_iter().skip(old));
    }
    drafts
}

/// Both versions of a file, with their tests by lines.
pub(super) struct Compared<'a> {
    pub(super) old: &'a Version<'a>,
    pub(super) new: &'a Version<'a>,
    pub(super) base: &'a Side<'a>,
    pub(super) head: &'a Side<'a>,
}

/// Returns the skips of a text whose tree has errors, by the number of the line on which each begins.
fn loose_skips(language: Option<&str>, version: &Version<'_>) -> BTreeMap<u64, Span> {
    let mut skips = BTreeMap::new();
    for skip in version.marks.iter().filter_map(|mark| skip_rows::skip(language, mark)) {
        if let Some(number) = lines_of(version.text, skip.span).next() {
            skips.entry(number).or_insert(skip.span);
        }
    }
    skips
}

/// Returns whether a test is switched off by one of its own lines.
pub(super) fn is_skipped(language: Option<&str>, lines: &[&str]) -> bool {
    (0..lines.len()).any(|at| {
        // Hardly any line skips, so that is tested first.
        SKIPS.find(language, lines[at], &scan::Parts::default()).is_some()
            && !lines[at.saturating_sub(1)..=at].iter().any(|line| CONDITION.is_match(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_tests_need_not_be_collected() {
        for (statement, expected) in [
            ("collect_ignore = ['setup.py', \"docs/conf.py\"]", true),
            ("collect_ignore_glob = ['fixtures/*']", true),
            ("collect_ignore = ['test_a.py']", false),
            ("collect_ignore = ['tests']", false),
            ("collect_ignore_glob = ['*.py']", false),
            ("collect_ignore = find()", false),
        ] {
            assert_eq!(ignores_other_files(statement), expected, "{statement}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        SKIPS.check();
        assert!(CONDITION.is_match("    if x:"));
        for pattern in [&OTHER_FILES, &TEST_FILES, &NAMED_TEST] {
            pattern.check();
        }
    }
}
