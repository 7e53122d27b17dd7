//! Tests that are deleted, removed, skipped or emptied.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::names::{self, Test};
use super::{TEST_DELETED, TEST_EMPTIED, TEST_REMOVED, TEST_SKIPPED};
use crate::contracts::v1::{ChangeKind, ChangedFile, FileClass, FileText, Scope};
use crate::core::packet::{HunkView, Line, Packet};
use crate::lenses::contract::{Draft, Fact, Inspection};
use crate::lenses::idioms::{Idiom, Place, Table};
use crate::lenses::pattern::Pattern;
use crate::lenses::scan;

const REMOVED: &str = "test removed";
const ADDED: &str = "test added";
const DELETED: &str = "test file deleted";
const DELETED_SOURCE: &str = "source file deleted";
const IN_DELETED: &str = "test in deleted file";

const fn code(languages: &'static [&'static str], literal: &'static str, pattern: &'static str) -> Idiom {
    Idiom { languages, literal, pattern, place: Place::Code }
}

const JS: &[&str] = &["javascript", "typescript"];
const JVM: &[&str] = &["java", "kotlin", "scala", "groovy"];

static SKIP_IDIOMS: &[Idiom] = &[
    code(JS, "x", r"^\s*((?:xit|xdescribe|xtest|xcontext|xspecify))(?:\.each)?\s*[(`]"),
    code(
        JS,
        ".",
        r#"(?:^|[^.\w])((?:describe|it|test|context|suite|specify|bench|Deno\.test)(?:\.\w+)*\.(?:skip|todo|fixme|ignore|failing|fails))(?:\.\w+)*(?:\.each\s*[(`]|\s*(?:[<`]|\(\s*(?:["'`)]|$)))"#,
    ),
    code(JS, ": true", r"[{,]\s*((?:skip|ignore|todo)\s*:\s*true)\b"),
    code(JS, "skip(", r"(?:^|[\s;{])((?:this|t|ctx|test\.info\(\))\.skip\s*\()"),
    code(JS, "pending(", r"^\s*(pending\s*\()"),
    code(&["python"], "pytest.mark", r"(pytest\.mark\.(?:skip|xfail)(?:\s*\(|\s*\]|\s*$|\s*,))"),
    code(&["python"], "skipif", r"(pytest\.mark\.skipif\s*\(\s*True\b)"),
    code(&["python"], "pytest.", r"^\s*(pytest\.(?:skip|xfail)\s*\()"),
    code(
        &["python"],
        "unittest",
        r"^\s*(@(?:unittest\.)(?:skip\s*\(|expectedFailure\b|skipIf\s*\(\s*True\b|skipUnless\s*\(\s*False\b))",
    ),
    code(
        &["python"],
        "kip",
        r"^\s*((?:self\.skipTest\s*\(|raise\s+(?:unittest\.)?SkipTest\b|@skip\s*\(|@skip\s*$))",
    ),
    code(&["python"], "__test__", r"^\s*(__test__\s*=\s*False\b)"),
    code(&["rust"], "ignore", r"^\s*(#\[ignore\b)"),
    code(JVM, "@", r"^\s*(@(?:Disabled|Ignore)(?:\s*\(|\s*$|\s+[@\w]))"),
    code(&["c#"], "Ignore", r"^\s*(\[Ignore\b)|\[(?:[\w, ]*,\s*)(Ignore)\b"),
    code(&["c#"], "Skip", r"\b(Skip\s*=\s*\S)"),
    code(&["go"], ".Skip", r"(?:^|[\s;{])([tb]\.Skip(?:Now|f)?\()"),
    code(
        &["go"],
        "(",
        r"(?:^|[^\w.])((?:[PX](?:Describe|Context|It|When|Specify|Entry|DescribeTable)))\s*\(",
    ),
    code(&["ruby"], "x", r#"^\s*((?:xit|xdescribe|xcontext|xspecify|xexample|xscenario))\b"#),
    code(&["ruby"], "skip", r#"^\s*(skip)(?:\s*$|\s+["']|\(|\s+#)"#),
    code(&["ruby"], "pending", r#"^\s*(pending)(?:\s*$|\s+["']|\()"#),
    code(
        &["ruby"],
        "it",
        r"^\s*(?:it|describe|context|specify|scenario|feature)\b.*[,(\s](:skip\b|skip:\s*\S|:pending\b|pending:\s*\S)",
    ),
    code(&["php"], "markTest", r"(markTest(?:Skipped|Incomplete)\s*\()"),
    code(&["php"], "->skip", r"(->skip\()"),
    code(&["elixir"], "skip", r"^\s*(@(?:tag|moduletag|describetag)\s+(?::skip\b|skip:))"),
    code(&["swift"], "XCTSkip", r"\b(XCTSkip\s*\()"),
    code(&["swift"], ".disabled", r"@(?:Test|Suite)\b.*(\.disabled\()"),
    code(&["scala"], "ignore(", r#"^\s*(ignore\(\s*")"#),
    code(&["dart"], "skip", r#"\b(skip\s*:\s*(?:true|["']))"#),
    code(&["c++", "c"], "GTEST_SKIP", r"\b(GTEST_SKIP\s*\()"),
    code(&["c++", "c"], "DISABLED_", r"^\s*TEST\w*\s*\(\s*\w+\s*,\s*(DISABLED_\w+)"),
    code(&["lua"], "pending(", r"^\s*(pending\()"),
];
static SKIPS: LazyLock<Table> = LazyLock::new(|| Table::new(SKIP_IDIOMS));

/// A skip behind a condition is for a platform or a tool that is missing, not for the test.
static CONDITION: Pattern =
    Pattern::new(r"^\s*(?:\}\s*)?(?:if|elif|else|except|rescue|catch|case|unless|switch|default|when)\b");

static TRAILING: Pattern = Pattern::new(r"\s(?:if|unless)\s");

static ASSERTION: Pattern = Pattern::new(
    r"(?i)(?:(?:assert|snapshot|\b(?:expect|verify|require|refute|must_\w|check|fail|t\.(?:error|fatal|is|equal|true|deepequal)|tomatch|throws|ensure|validate|compare))\w*|\braises)!?\s*[.(]|^\s*(?:assert|refute|must_\w+|expect)\s|\b(?:should|must)\b",
);

/// An assertion that holds whatever the code does.
static TRIVIAL: Pattern = Pattern::new(concat!(
    r"\bassert\s+(?:True|1|not\s+False|1\s*==\s*1|True\s*(?:==|is)\s*True)\s*(?:$|#|,)",
    r"|\b(?:assert|debug_assert)!\s*\(\s*true\b|\bassert(?:_eq)?!\s*\(\s*(?:1\s*,\s*1|true\s*,\s*true)\s*[,)]",
    r"|\bexpect\s*\(\s*(?:true|1|!false)\s*\)\s*\.(?:to\.|not\.)?(?:be|toBe|toEqual|toBeTruthy|equal|eq|toStrictEqual|to)\b",
    r"|\b[aA]ssert\w*(?:\.\w+)?\s*\(\s*(?:t,\s*)?(?:true|True|TRUE|1\s*,\s*1|true\s*,\s*true|True\s*,\s*True)\s*[,)]",
    r"|\b(?:ASSERT|EXPECT)_(?:TRUE\s*\(\s*true|EQ\s*\(\s*1\s*,\s*1)\s*\)",
));

/// Whether a file may have to be compared as a whole: one that both versions have, since the hunks of the others are all
/// of it.
pub(super) fn needs_whole_file(file: &ChangedFile) -> bool {
    let both = !matches!(file.kind, ChangeKind::Added | ChangeKind::Deleted);
    both && file.class == FileClass::Test && names::knows(file.language.as_deref())
}

/// Whether any changed line may name or mark a test, or take part in emptying one: where none does, both versions have
/// the same tests as far as [`inspect`] can tell.
pub(super) fn wants_whole_file(file: &ChangedFile, hunks: &FileText) -> bool {
    let language = file.language.as_deref();
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text: hunks, included: &included };
    let named = |line: &Line<'_>| names::may_name(language, line.text);
    packet.removed().any(|line| named(&line) || is_assertion(line.text))
        || packet.added().any(|line| named(&line) || is_bare_return(line.text) || TRIVIAL.is_match(line.text))
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let language = packet.file.language.as_deref();
    let mut seen = Inspection::default();
    if packet.file.kind == ChangeKind::Deleted && packet.file.class == FileClass::Source {
        seen.facts.push(fact(DELETED_SOURCE, stem(&packet.path().to_text()), None));
    }
    let is_test = packet.file.scope == Scope::Test;
    if !names::knows(language) || !(is_test || language == Some("rust")) {
        return seen;
    }
    seen.drafts.extend(skipped(packet, is_test));
    match (packet.file.kind, &packet.text.full_base, &packet.text.full_head) {
        (ChangeKind::Deleted, ..) => deleted(packet, &mut seen),
        (_, Some(base), Some(head)) => {
            let sides = (Side::new(language, base), Side::new(language, head));
            seen.drafts.extend(emptied(packet, &sides.0, &sides.1));
            compare_by_hunk(packet, &sides.0.placed(), &sides.1.placed(), &mut seen);
        }
        _ => {
            let (mut base, mut head) = (Vec::new(), Vec::new());
            for hunk in packet.hunks() {
                base.extend(around(language, &hunk, |hunk| hunk.removed().collect()));
                head.extend(around(language, &hunk, |hunk| hunk.added().collect()));
            }
            compare_by_hunk(packet, &base, &head, &mut seen);
        }
    }
    seen
}

fn fact(kind: &'static str, name: String, draft: Option<Draft>) -> Fact {
    Fact { kind: kind.into(), name, draft }
}

/// A test's name, the line of its name and the line of its mark; 0 for a line that did not change.
type Placed = (String, u64, u64);

/// One version of a file.
struct Side<'a> {
    lines: Vec<&'a str>,
    tests: Vec<Test>,
}

impl<'a> Side<'a> {
    fn new(language: Option<&str>, text: &'a str) -> Self {
        let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches('\r')).collect();
        let tests = names::tests(language, true, lines.iter().copied());
        Self { lines, tests }
    }

    fn placed(&self) -> Vec<Placed> {
        let place = |test: &Test| (test.name.clone(), test.at as u64 + 1, test.mark as u64 + 1);
        self.tests.iter().map(place).collect()
    }
}

/// The tests of one version as far as a hunk shows it, by line; tests of unchanged lines get no line.
fn around<'a>(
    language: Option<&str>,
    hunk: &HunkView<'a>,
    own: impl Fn(&HunkView<'a>) -> Vec<Line<'a>>,
) -> Vec<Placed> {
    let before: Vec<Line<'a>> = hunk.before().collect();
    let changed = own(hunk);
    let lines: Vec<Line<'a>> =
        before.iter().copied().chain(changed.iter().copied()).chain(hunk.after()).collect();
    let inside = before.len()..before.len() + changed.len();
    names::tests(language, false, lines.iter().map(|line| line.text))
        .into_iter()
        .map(|test| {
            let number = |at: usize| if inside.contains(&at) { lines[at].number } else { 0 };
            let (at, mark) = (number(test.at), number(test.mark));
            (test.name, at, mark)
        })
        .collect()
}

/// Tests that only one version has. In one hunk, a test that goes and one that comes are a renamed test.
fn compare_by_hunk(packet: &Packet<'_>, base: &[Placed], head: &[Placed], seen: &mut Inspection) {
    let names = |tests: &[Placed]| -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for (name, ..) in tests {
            *counts.entry(name.clone()).or_insert(0) += 1;
        }
        counts
    };
    let (base_names, head_names) = (names(base), names(head));
    for hunk in packet.hunks() {
        let numbers = &hunk.hunk;
        let within = |line: u64, start: u64, count: u64| count > 0 && line >= start && line < start + count;
        let removed_line = |line: u64| within(line, numbers.old_start, numbers.old_lines);
        let gone = base.iter().filter(|(name, line, mark)| {
            (removed_line(*line) || removed_line(*mark))
                && head_names.get(name).copied().unwrap_or(0) < base_names[name]
        });
        let mut come: Vec<&String> = head
            .iter()
            .filter(|(name, line, _)| {
                within(*line, numbers.new_start, numbers.new_lines)
                    && base_names.get(name).copied().unwrap_or(0) < head_names[name]
            })
            .map(|(name, ..)| name)
            .collect();
        seen.facts.extend(come.iter().map(|name| fact(ADDED, (*name).clone(), None)));
        let removed: Vec<Line<'_>> = hunk.removed().collect();
        for (name, line, mark) in gone {
            let number = if removed_line(*line) { line } else { mark };
            if let Some(nearest) = (0..come.len()).max_by_key(|&other| alike(name, come[other])) {
                come.remove(nearest);
                continue;
            }
            let Some(line) = removed.iter().find(|line| line.number == *number) else { continue };
            seen.facts.push(fact(REMOVED, name.clone(), Some(removed_test(packet, line, name))));
        }
    }
}

fn removed_test(packet: &Packet<'_>, line: &Line<'_>, name: &str) -> Draft {
    let text = line.text;
    let span = text.len() - text.trim_start().len()..text.trim_end().len();
    Draft::on_base_line(TEST_REMOVED, packet, line, span, "a test is removed and not moved elsewhere")
        .with("test", name)
}

/// How many characters two names share at both ends.
fn alike(left: &str, right: &str) -> usize {
    let same = |(left, right): &(char, char)| left == right;
    left.chars().zip(right.chars()).take_while(same).count()
        + left.chars().rev().zip(right.chars().rev()).take_while(same).count()
}

fn deleted(packet: &Packet<'_>, seen: &mut Inspection) {
    let language = packet.file.language.as_deref();
    let lines: Vec<Line<'_>> = packet.removed().collect();
    let tests = names::tests(language, true, lines.iter().map(|line| line.text));
    let (Some(first), false) = (lines.first(), tests.is_empty()) else { return };
    let path = packet.path().to_text().into_owned();
    let span = 0..first.text.trim_end().len();
    let draft = Draft::on_base_line(
        TEST_DELETED,
        packet,
        first,
        span,
        "a file of tests is deleted and not moved elsewhere",
    )
    .with("tests", tests.len());
    seen.facts.push(fact(DELETED, path.clone(), Some(draft)));
    seen.facts.extend(tests.iter().map(|test| {
        let draft = removed_test(packet, &lines[test.at], &test.name);
        fact(IN_DELETED, format!("{path}\n{}", test.name), Some(draft))
    }));
}

/// `test_foo.py`, `foo_test.go`, `foo.spec.ts` and `FooTest.java` are about `foo`.
fn stem(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let stem = name.split('.').next().unwrap_or("");
    let stem = stem.strip_prefix("test_").unwrap_or(stem);
    let ends = ["_tests", "_test", "_spec", "-test", "-spec", "tests", "test", "spec"];
    ends.iter().find_map(|end| stem.strip_suffix(end)).unwrap_or(stem).to_owned()
}

/// Tests that come back elsewhere in the change are moved; tests of a source file that goes too have nothing to test.
pub(super) fn conclude(facts: &[Fact]) -> Vec<Draft> {
    let of = |kind: &'static str| facts.iter().filter(move |fact| fact.kind == kind);
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    for fact in of(ADDED) {
        *added.entry(fact.name.as_str()).or_insert(0) += 1;
    }
    let mut is_moved =
        |name: &str| added.get_mut(name).filter(|count| **count > 0).map(|count| *count -= 1).is_some();
    let gone_sources: BTreeSet<&str> = of(DELETED_SOURCE).map(|fact| fact.name.as_str()).collect();
    let mut drafts: Vec<Draft> =
        of(REMOVED).filter(|fact| !is_moved(&fact.name)).filter_map(|fact| fact.draft.clone()).collect();
    for file in of(DELETED) {
        let own: Vec<&Fact> = of(IN_DELETED)
            .filter(|test| test.name.split_once('\n').is_some_and(|(path, _)| path == file.name))
            .collect();
        let missing: Vec<&Fact> = own
            .iter()
            .copied()
            .filter(|test| !test.name.split_once('\n').is_some_and(|(_, name)| is_moved(name)))
            .collect();
        if missing.is_empty() || gone_sources.contains(stem(&file.name).as_str()) {
            continue;
        }
        if missing.len() * 2 >= own.len() {
            drafts.extend(file.draft.clone());
        } else {
            drafts.extend(missing.iter().filter_map(|test| test.draft.clone()));
        }
    }
    drafts
}

/// Skips that come without another going from the same hunk.
fn skipped(packet: &Packet<'_>, is_test: bool) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        if !SKIPS.may_match(language, &packet.text.text[hunk.added_span()])
            || !is_test && language != Some("rust")
        {
            continue;
        }
        let old = scan::removed(language, hunk)
            .filter(|(line, parts)| SKIPS.find(language, line.text, parts).is_some())
            .count();
        let mut previous = hunk.before().last().map_or("", |line| line.text);
        let mut found = Vec::new();
        for (line, parts) in scan::added(language, hunk) {
            if let Some(span) = SKIPS.find(language, line.text, &parts)
                && !CONDITION.is_match(previous)
                && !CONDITION.is_match(&line.text[..span.start])
                && !(language == Some("ruby") && TRAILING.is_match(&line.text[span.end..]))
                && !(line.text.contains("todo") && hunk.hunk.old_lines == 0)
            {
                let summary = "a test is switched off";
                found.push(Draft::on_line(TEST_SKIPPED, packet, &line, span, summary));
            }
            if !line.text.trim().is_empty() {
                previous = line.text;
            }
        }
        drafts.extend(found.into_iter().skip(old));
    }
    drafts
}

/// Tests that both versions have and whose assertions are gone or never reached.
fn emptied(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let added: BTreeMap<u64, Line<'_>> = packet.added().map(|line| (line.number, line)).collect();
    let removed: BTreeMap<u64, Line<'_>> = packet.removed().map(|line| (line.number, line)).collect();
    let mut drafts = Vec::new();
    for test in &head.tests {
        let Some(old) = base.tests.iter().find(|old| old.name == test.name) else { continue };
        let own: Vec<&Line<'_>> =
            (test.at + 1..=test.end).filter_map(|number| added.get(&(number as u64))).collect();
        let gone: Vec<&Line<'_>> =
            (old.at + 1..=old.end).filter_map(|number| removed.get(&(number as u64))).collect();
        if own.is_empty() && gone.is_empty() {
            continue;
        }
        let whole = |text: &str| {
            let lead = text.len() - text.trim_start().len();
            lead..text.trim_end().len().max(lead)
        };
        if let Some(line) = own.iter().find(|line| is_early_return(head, test, line)) {
            let summary = "a test returns before it checks anything";
            drafts.push(Draft::on_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
            continue;
        }
        let checks = |side: &Side<'_>, test: &Test| {
            side.lines[test.at + 1..test.end].iter().any(|line| is_assertion(line))
        };
        if checks(head, test) || !checks(base, old) {
            continue;
        }
        if let Some(line) = own.iter().find(|line| TRIVIAL.is_match(line.text)) {
            let summary = "the assertions of a test are replaced by one that always holds";
            drafts.push(Draft::on_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
        } else if own.iter().all(|line| !line.text.contains('('))
            && let Some(line) = gone.iter().find(|line| is_assertion(line.text))
        {
            let summary = "the assertions of a test are removed";
            drafts.push(Draft::on_base_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
        }
    }
    drafts
}

fn is_assertion(line: &str) -> bool {
    let code = line.trim_start();
    let comment = code.starts_with("//") || code.starts_with('#') || code.starts_with('*');
    !comment && ASSERTION.is_match(line) && !TRIVIAL.is_match(line)
}

fn is_bare_return(line: &str) -> bool {
    matches!(line.trim().trim_end_matches(';'), "return" | "return true" | "return True" | "return nil")
}

fn is_early_return(head: &Side<'_>, test: &Test, line: &Line<'_>) -> bool {
    let at = line.number as usize - 1;
    is_bare_return(line.text)
        && head.lines[test.at + 1..at].iter().all(|line| line.trim().is_empty())
        && head.lines[at..test.end].iter().any(|line| is_assertion(line))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        super::SKIPS.check();
        assert!(super::TRIVIAL.is_match("    assert True"));
        assert!(super::TRIVIAL.is_match("expect(true).toBe(true);"));
        assert!(!super::TRIVIAL.is_match("assert True == f()"));
        assert!(super::CONDITION.is_match("    if x:"));
        assert!(super::ASSERTION.is_match("    assert x"));
    }
}
