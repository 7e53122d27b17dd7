//! Which tests only one version of a file has, and what each of them says.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::lenses::pattern::Pattern;

use super::checks::{is_assertion, is_skipped, is_trivial};
use super::gone_tests::{ADDED, DELETED, ENOUGH, GROWN, IN_DELETED, REMOVED, Shape, TELLING, share, words};
use super::names::{self, Test, alike};
use super::{TEST_DELETED, TEST_REMOVED};
use crate::contracts::v1::ChangeKind;
use crate::core::packet::{HunkView, Line, Packet};
use crate::lenses::contract::{Draft, Fact, Inspection};

/// One body for many cases.
static TABLE: Pattern = Pattern::new(
    r"parametri[sz]e|\.each\b|\bsubTest\b|@(?:ParameterizedTest|DataProvider|\w+Source)\b|#\[(?:case|test_case|rstest)|\[(?:TestCase|InlineData|Theory)|\bt\.Run\(|(?i)\bfor\b.*\b(?:tests?|tt|tc|tcs|cases?|styles?|inputs?)\b",
);

/// What tests of every kind say, so that it tells none from another where the rest of a file is not known.
const COMMON: &[&str] = &[
    "assert",
    "assert_eq",
    "assert_ne",
    "assertEquals",
    "assertThat",
    "assertTrue",
    "assertFalse",
    "assertRaises",
    "async",
    "await",
    "be",
    "build",
    "catch",
    "class",
    "const",
    "create",
    "def",
    "describe",
    "do",
    "else",
    "end",
    "eq",
    "equal",
    "err",
    "Err",
    "Error",
    "Equal",
    "Errorf",
    "Exception",
    "expect",
    "False",
    "false",
    "fail",
    "Fatal",
    "Fatalf",
    "final",
    "fn",
    "for",
    "format",
    "from",
    "func",
    "function",
    "get",
    "if",
    "import",
    "in",
    "int",
    "isEqualTo",
    "it",
    "len",
    "let",
    "match",
    "mock",
    "mut",
    "name",
    "new",
    "nil",
    "None",
    "not",
    "null",
    "of",
    "ok",
    "Ok",
    "path",
    "public",
    "pytest",
    "raises",
    "require",
    "result",
    "return",
    "self",
    "set",
    "should",
    "Some",
    "std",
    "str",
    "string",
    "String",
    "super",
    "test",
    "testing",
    "then",
    "throw",
    "throws",
    "to",
    "toBe",
    "toEqual",
    "to_string",
    "True",
    "true",
    "try",
    "unwrap",
    "use",
    "value",
    "var",
    "vec",
    "void",
    "with",
];

/// One version of a file, as far as it is known.
pub(super) struct Side<'a> {
    pub(super) lines: Vec<&'a str>,
    /// The number of each line; 0 for one that a hunk shows and that did not change.
    numbers: Vec<u64>,
    pub(super) tests: Vec<Test>,
    /// The positions where what is known breaks off: a test that reaches one may go on.
    breaks: Vec<usize>,
}

impl<'a> Side<'a> {
    /// The whole text.
    pub(super) fn whole(language: Option<&str>, text: &'a str) -> Self {
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        let tests = names::tests(language, true, lines.iter().copied());
        let numbers = (1..=lines.len() as u64).collect();
        Self { lines, numbers, tests, breaks: Vec::new() }
    }

    /// What the hunks show of it.
    pub(super) fn shown(
        language: Option<&str>,
        packet: &Packet<'a>,
        own: impl Fn(&HunkView<'a>) -> Vec<Line<'a>>,
    ) -> Self {
        let mut side = Self { lines: Vec::new(), numbers: Vec::new(), tests: Vec::new(), breaks: Vec::new() };
        for hunk in packet.hunks() {
            let start = side.lines.len();
            let context = |lines: &mut dyn Iterator<Item = Line<'a>>| -> Vec<(&'a str, u64)> {
                lines.map(|line| (line.text, 0)).collect()
            };
            let changed = own(&hunk).into_iter().map(|line| (line.text, line.number));
            let shown =
                context(&mut hunk.before()).into_iter().chain(changed).chain(context(&mut hunk.after()));
            for (text, number) in shown {
                side.lines.push(text);
                side.numbers.push(number);
            }
            side.tests.extend(
                names::tests(language, false, side.lines[start..].iter().copied()).into_iter().map(|test| {
                    Test { at: test.at + start, mark: test.mark + start, end: test.end + start, ..test }
                }),
            );
            // An added or deleted file is shown from its first line to its last.
            if !matches!(packet.file.kind, ChangeKind::Added | ChangeKind::Deleted) {
                side.breaks.push(side.lines.len());
            }
        }
        side
    }

    /// What a test says; the line of its name only where it says more than the name.
    fn body(&self, test: &Test) -> &[&'a str] {
        let name = self.lines[test.at].trim_end();
        let opens =
            name.ends_with(['{', ':', '(', ',', ')', '=']) || name.ends_with("do") || name.ends_with("=>");
        &self.lines[test.at + usize::from(opens)..test.end]
    }

    /// A test with what is written above it, up to what is written above the next.
    fn extent(&self, position: usize) -> Range<usize> {
        let test = &self.tests[position];
        let above = position.checked_sub(1).map_or(0, |previous| self.tests[previous].at + 1);
        let end = self.tests.get(position + 1).map_or(test.end, |next| self.top(next));
        self.top(test).clamp(above, test.at)..end.max(test.at + 1)
    }

    fn top(&self, test: &Test) -> usize {
        let is_mark = |line: &str| line.starts_with(['@', '#', '[', '/', '*']);
        let mut top = test.mark;
        while top > 0 {
            let above = self.lines[top - 1].trim();
            let closes = above.ends_with([')', ']']).then(|| self.opening_of_mark(top - 1));
            top = match closes.flatten() {
                Some(opening) => opening,
                None if is_mark(above) => top - 1,
                None => break,
            };
        }
        top
    }

    /// Where a mark of several lines that ends at a position begins: at an annotation with no statement in between.
    fn opening_of_mark(&self, end: usize) -> Option<usize> {
        let lines = (end.saturating_sub(12)..=end).rev();
        let is_part = |at: &usize| {
            let line = self.lines[*at].trim();
            !line.is_empty() && !line.ends_with([';', '{', '}', ':'])
        };
        lines.take_while(is_part).find(|&at| self.lines[at].trim_start().starts_with(['@', '#']))
    }

    fn asserts(&self, test: &Test) -> bool {
        self.body(test).iter().any(|line| is_assertion(line))
    }

    /// Whether nothing in a test can check anything: no assertion in words that are known and no call that could hide
    /// one.
    fn is_hollow(&self, test: &Test) -> bool {
        let calls = |line: &&str| line.contains('(') && !is_trivial(line);
        !self.breaks.contains(&test.end) && !self.asserts(test) && !self.body(test).iter().any(calls)
    }

    fn position(&self, test: &Test) -> usize {
        self.tests.iter().position(|own| own.at == test.at).expect("the test is one of this side")
    }

    fn is_skipped(&self, packet: &Packet<'_>, test: &Test) -> bool {
        is_skipped(packet.file.language.as_deref(), &self.lines[self.extent(self.position(test))])
    }

    fn counts(&self) -> BTreeMap<&str, usize> {
        let mut counts = BTreeMap::new();
        for test in &self.tests {
            *counts.entry(test.name.as_str()).or_insert(0) += 1;
        }
        counts
    }

    /// The words of the lines that no hunk changes.
    fn staying(&self, packet: &Packet<'_>) -> BTreeSet<String> {
        let changed: BTreeSet<u64> = packet.removed().map(|line| line.number).collect();
        let lines = self.lines.iter().zip(&self.numbers);
        words(lines.filter(|(_, number)| !changed.contains(number)).map(|(line, _)| *line))
    }

    /// The words that most tests of a file have in common, and those that stand outside of them.
    fn shared(&self) -> BTreeSet<String> {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for test in &self.tests {
            words(self.body(test).iter().copied())
                .into_iter()
                .for_each(|word| *counts.entry(word).or_insert(0) += 1);
        }
        let above = self.tests.first().map_or(0, |first| first.at);
        let most = self.tests.len().max(4) / 2;
        let common = counts.into_iter().filter(|(_, count)| *count > most).map(|(word, _)| word);
        words(self.lines[..above].iter().copied()).into_iter().chain(common).collect()
    }

    fn shape(&self, packet: &Packet<'_>, test: &Test, staying: &BTreeSet<String>) -> Shape {
        let words = words(self.body(test).iter().copied());
        Shape {
            path: packet.path().to_text().into_owned(),
            name: test.name.clone(),
            asserts: self.asserts(test),
            table: TABLE.is_match(&self.lines[self.extent(self.position(test))].join("\n")),
            skipped: self.is_skipped(packet, test),
            file_gone: packet.file.kind == ChangeKind::Deleted,
            hollow: self.is_hollow(test),
            paired: false,
            own: words
                .iter()
                .filter(|word| !staying.contains(*word) && !COMMON.contains(&word.as_str()))
                .cloned()
                .collect(),
            words,
        }
    }
}

fn fact(kind: &'static str, name: String, draft: Option<Draft>) -> Fact {
    Fact { kind: kind.into(), name, draft }
}

/// Whether an added line belongs to a test that only the new version has, by name. What marks a test stands above it.
pub(super) fn is_of_new_test(base: &Side<'_>, head: &Side<'_>, line: &Line<'_>) -> bool {
    let Some(at) = head.numbers.iter().position(|number| *number == line.number) else { return false };
    let is_mark = line.text.trim_start().starts_with(['@', '#', '[']);
    let owner = if is_mark {
        head.tests.iter().find(|test| test.at >= at)
    } else {
        head.tests.iter().rev().find(|test| test.at <= at && at < test.end)
    };
    owner.is_some_and(|test| head.numbers[test.at] > 0 && base.tests.iter().all(|old| old.name != test.name))
}

/// Hunks so close together that a reader sees them as one place.
fn places<'a>(packet: &Packet<'a>) -> Vec<Vec<HunkView<'a>>> {
    /// The lines between them that a unified diff would show anyway.
    const APART: u64 = 6;
    let mut places: Vec<Vec<HunkView<'a>>> = Vec::new();
    let mut end = 0;
    for hunk in packet.hunks() {
        let start = hunk.hunk.old_start;
        match places.last_mut().filter(|_| start <= end + APART) {
            Some(place) => place.push(hunk),
            None => places.push(vec![hunk]),
        }
        end = start + hunk.hunk.old_lines;
    }
    places
}

/// Tests that only one version has. In one place, a test that goes and one that comes are a renamed test, unless the
/// one that comes checks nothing.
pub(super) fn compare(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>, seen: &mut Inspection) {
    let (base_names, head_names) = (base.counts(), head.counts());
    let mut staying: Option<BTreeSet<String>> = None;
    for place in places(packet) {
        let removed: BTreeMap<u64, Line<'_>> =
            place.iter().flat_map(HunkView::removed).map(|line| (line.number, line)).collect();
        let added: BTreeMap<u64, Line<'_>> =
            place.iter().flat_map(HunkView::added).map(|line| (line.number, line)).collect();
        let changed_line = |test: &Test| {
            let line = |at: usize| removed.get(&base.numbers[at]);
            line(test.at).or_else(|| line(test.mark))
        };
        let is_fewer = |name: &str, here: &BTreeMap<&str, usize>, there: &BTreeMap<&str, usize>| {
            there.get(name).copied().unwrap_or(0) < here[name]
        };
        let mut come: Vec<(&Test, bool)> = head
            .tests
            .iter()
            .filter(|test| added.contains_key(&head.numbers[test.at]))
            .filter(|test| is_fewer(&test.name, &head_names, &base_names))
            .map(|test| (test, false))
            .collect();
        for test in &base.tests {
            let Some(line) = changed_line(test).filter(|_| is_fewer(&test.name, &base_names, &head_names))
            else {
                continue;
            };
            if let Some(nearest) = nearest(packet, (base, test), (head, &come)) {
                come[nearest].1 = true;
                continue;
            }
            let shape = base.shape(packet, test, staying.get_or_insert_with(|| base.staying(packet)));
            if !is_taken_in(packet, head, &shape) {
                let draft = removed_test(packet, line, &test.name);
                seen.facts.push(fact(REMOVED, shape.write(), Some(draft)));
            }
        }
        seen.facts.extend(grown_tables(packet, head, &base_names, &added));
        seen.facts.extend(come.into_iter().map(|(test, paired)| {
            let mut shape = Shape { paired, ..head.shape(packet, test, &BTreeSet::new()) };
            // What its name says, a test with a less telling name may say in its body.
            shape.words.extend(words(std::iter::once(test.name.as_str())));
            fact(ADDED, shape.write(), None)
        }));
    }
}

/// The new test most like an old one by name, of those that no other is taken for, that have something in common with
/// it, and that check something and run.
fn nearest(
    packet: &Packet<'_>,
    (base, test): (&Side<'_>, &Test),
    (head, come): (&Side<'_>, &[(&Test, bool)]),
) -> Option<usize> {
    let (is_strict, ran) = (base.asserts(test), !base.is_skipped(packet, test));
    let (parts, says) = (names::parts(&test.name), words(base.body(test).iter().copied()));
    let own: BTreeSet<&str> = says.iter().map(String::as_str).filter(|word| !COMMON.contains(word)).collect();
    let is_related = |new: &Test| {
        !parts.is_disjoint(&names::parts(&new.name))
            || own.len() < TELLING
            || share(&own, &words(head.body(new).iter().copied())) * 3 >= ENOUGH
    };
    let is_free = |at: &usize| {
        let (new, is_paired) = come[*at];
        let is_off = is_strict && head.is_hollow(new) || ran && head.is_skipped(packet, new);
        !is_paired && !is_off && is_related(new)
    };
    (0..come.len()).filter(is_free).max_by_key(|&at| alike(&test.name, &come[at].0.name))
}

/// Tests that stay and that added lines make a table of cases.
fn grown_tables(
    packet: &Packet<'_>,
    head: &Side<'_>,
    base_names: &BTreeMap<&str, usize>,
    added: &BTreeMap<u64, Line<'_>>,
) -> Vec<Fact> {
    let makes_a_table = |line: &&Line<'_>| TABLE.is_match(line.text);
    let numbers: Vec<u64> = added.values().filter(makes_a_table).map(|line| line.number).collect();
    let positions = if numbers.is_empty() { 0..0 } else { 0..head.tests.len() };
    positions
        .filter(|&position| {
            let in_place = |at: usize| numbers.contains(&head.numbers[at]);
            base_names.contains_key(head.tests[position].name.as_str()) && head.extent(position).any(in_place)
        })
        .map(|position| {
            let shape = head.shape(packet, &head.tests[position], &BTreeSet::new());
            fact(GROWN, shape.write(), None)
        })
        .collect()
}

/// Whether lines added to a test that stays in the file say what only the removed test said: a case of a table.
fn is_taken_in(packet: &Packet<'_>, head: &Side<'_>, removed: &Shape) -> bool {
    let own: BTreeSet<&str> = removed.own.iter().map(String::as_str).collect();
    own.len() >= TELLING
        && packet.hunks().any(|hunk| {
            let numbers: BTreeSet<u64> = hunk.added().map(|line| line.number).collect();
            let in_a_test = |line: &Line<'_>| {
                let at = head.numbers.iter().position(|number| *number == line.number);
                at.is_some_and(|at| (0..head.tests.len()).any(|test| head.extent(test).contains(&at)))
            };
            !numbers.is_empty() && hunk.added().any(|line| in_a_test(&line)) && {
                let says = words(hunk.added().map(|line| line.text));
                share(&own, &says) >= ENOUGH
            }
        })
}

fn removed_test(packet: &Packet<'_>, line: &Line<'_>, name: &str) -> Draft {
    let text = line.text;
    let span = text.len() - text.trim_start().len()..text.trim_end().len();
    Draft::on_base_line(TEST_REMOVED, packet, line, span, "a test is removed and not moved elsewhere")
        .with("test", name)
}

/// A file of tests that goes as a whole.
pub(super) fn deleted(packet: &Packet<'_>, seen: &mut Inspection) {
    let side = Side::shown(packet.file.language.as_deref(), packet, |hunk| hunk.removed().collect());
    let lines: Vec<Line<'_>> = packet.removed().collect();
    let (Some(first), false) = (lines.first(), side.tests.is_empty()) else { return };
    let path = packet.path().to_text().into_owned();
    let span = 0..first.text.trim_end().len();
    let draft = Draft::on_base_line(
        TEST_DELETED,
        packet,
        first,
        span,
        "a file of tests is deleted and not moved elsewhere",
    )
    .with("tests", side.tests.len());
    seen.facts.push(fact(DELETED, path, Some(draft)));
    let shared = side.shared();
    seen.facts.extend(side.tests.iter().map(|test| {
        let draft = removed_test(packet, &lines[test.at], &test.name);
        fact(IN_DELETED, side.shape(packet, test, &shared).write(), Some(draft))
    }));
}
