//! Skipped tests in each language.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::LazyLock;

use super::TEST_SKIPPED;
use super::names::Test;
use super::tests_by_hunk::{self, Side};
use super::version::Version;
use crate::contract::{Draft, DraftExt};
use crate::idioms::{Idiom, Place, Table, code};
use crate::pattern::Pattern;
use crate::scan;
use qa_core::packet::{Line, Packet};
use qa_reading::syntax::{Mark, MarkKind, Span};

const JS: &[&str] = &["javascript", "typescript"];
const JVM: &[&str] = &["java", "kotlin", "scala", "groovy"];

static SKIP_IDIOMS: &[Idiom] = &[
    code(JS, "x", r"^\s*((?:xit|xdescribe|xtest|xcontext|xspecify))(?:\.each)?\s*[(`]"),
    code(
        JS,
        ".",
        r#"(?:^|[^.\w])((?:describe|it|test|context|suite|specify|bench|Deno\.test)(?:\.\w+)*\.(?:skip|todo|fixme|ignore|failing|fails))(?:\.\w+)*(?:\.each\s*[(`]|\s*(?:[<`]|\(\s*(?:["'`)]|$)))"#,
    ),
    code(JS, ":", r#"[{,]\s*((?:skip|ignore|todo)\s*:\s*(?:true\b|1\b|!0|["'`]))"#),
    code(JS, "skip(", r"^\s*(skip\(\s*\))"),
    code(JS, "If(", r"\b((?:skipIf\(\s*(?:true|1|!0)|runIf\(\s*(?:false|0|!1))\s*\))"),
    code(JS, "(", r"^\s*((?:describe|it|test)\.(?:skip|fixme)\s*\(\s*(?:true\b|!0|\)))"),
    code(JS, "skip(", r"(?:^|[\s;{])((?:this|t|ctx|test\.info\(\))\.skip\s*\()"),
    code(JS, "exit(", r"^\s*(process\.exit\(0?\))"),
    code(JS, "pending(", r"^\s*(pending\s*\()"),
    code(&["python"], "mark.", r"(\b(?:\w+\.)?mark\.(?:skip|xfail)(?:\s*[()\],]|\s*$))"),
    code(
        &["python"],
        "skipif",
        r#"(\b(?:\w+\.)?mark\.skipif\s*\(\s*(?:(?:condition\s*=\s*)?(?:True\b|not\s+False\b|1\s*(?:==\s*1\s*)?[,)]|["']True["'])))"#,
    ),
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
    code(&["python"], "exit(", r"^\s*((?:os\._exit|sys\.exit)\(0?\))"),
    code(
        &["python"],
        "collect_ignore",
        r"^\s*((?:\w+\s*,\s*)*collect_ignore(?:_glob)?\s*(?:[:,][^=]+)?(?:\+?=|\.(?:append|extend|insert)\())",
    ),
    code(&["python"], "collect_ignore", r#"^\s*(globals\(\)\[["']collect_ignore(?:_glob)?["']\])\s*\+?="#),
    code(&["rust"], "ignore", r"^\s*(#\[ignore\b)"),
    code(&["rust"], "ignore", r"^\s*(#\[cfg_attr\(\s*(?:all\(\s*\)|true)\s*,\s*ignore\b)"),
    code(&["rust"], "cfg(", r"^\s*(#!?\[cfg\(\s*(?:any\(\s*\)|FALSE|false|not\(\s*test\s*\))\s*\)\])"),
    code(JVM, "@", r"^\s*(@(?:Disabled|Ignore)(?:\s*\(|\s*$|\s+[@\w]))"),
    code(JVM, "nabled", r"@Test\([^)]*\b(enabled\s*=\s*false)\b"),
    code(JVM, "assume", r"^\s*((?:\w+\.)*(?:assumeTrue\(\s*false|assumeFalse\(\s*true))\b"),
    code(JVM, "abledIf(", r#"^\s*(@(?:EnabledIf\(\s*"false"|DisabledIf\(\s*"true"))"#),
    code(JVM, "abort(", r"^\s*(Assumptions\.abort\()"),
    code(&["c#"], "Ignore", r"^\s*(\[Ignore\b)|\[(?:[\w, ]*,\s*)(Ignore)\b"),
    code(&["c#"], "Skip", r"\b(Skip\s*=\s*\S)"),
    code(&["go"], "os.Exit(0)", r"^\s*(os\.Exit\(0\))"),
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
    code(
        &["ruby"],
        ":",
        r#"^\s*(:(?:skip|pending)\b\s*(?:,|$|do\b|\{)|(?:skip|pending):\s*(?:true\b|["']))"#,
    ),
    code(
        &["php"],
        "markTest",
        r"((?:\$this->|(?:self|static|parent|Assert)::)?markTest(?:Skipped|Incomplete)\s*\()",
    ),
    code(&["php"], "->", r#"(->(?:skip|todo)\(\s*(?:\)|["']|true\b|$))"#),
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
        place: Place::Anywhere,
    },
    code(&["lua"], "pending(", r"^\s*(pending\()"),
];
pub(super) static SKIPS: LazyLock<Table> = LazyLock::new(|| Table::new(SKIP_IDIOMS));

/// A skip behind a condition is for a platform or a tool that is missing, not for the test.
static CONDITION: Pattern =
    Pattern::new(r"^\s*(?:\}\s*)?(?:if|elif|else|except|rescue|catch|case|unless|switch|default|when)\b");

/// The text behind `xfail(` where a platform or a version decides. Any other condition may always hold.
static PLATFORM: Pattern = Pattern::new(
    r"^\s*(?:condition\s*=\s*)?(?:not\s+)?(?:sys\.(?:platform|version_info|maxsize|implementation|byteorder)|os\.name|platform\.\w+\s*\(|(?:is_|IS_|on_|ON_)?(?:windows|WINDOWS|win32|WIN32?|linux|LINUX|macos|MACOS|darwin|DARWIN|pypy|PYPY|cpython|CPYTHON|PY\d+)\w*\b)[^,]*(?:[,)]|$)",
);

static TRAILING: Pattern = Pattern::new(r"\s(?:if|unless)\s");

/// Returns whether a mark switches off what it belongs to, on every platform.
pub(super) fn switches_off(language: Option<&str>, mark: &Mark, text: &str) -> bool {
    if mark.kind == MarkKind::Uncollected {
        return true;
    }
    let joined = joined(mark, text);
    if language == Some("go") && mark.kind == MarkKind::Attribute && joined.starts_with("//") {
        return excludes(&joined);
    }
    let Some(found) = find_skip(language, &joined) else { return false };
    let before = joined[..found.start].trim();
    // Inside of a statement it may belong to a function that runs for something else.
    let is_own = mark.kind == MarkKind::Attribute
        || matches!(before, "" | "await" | "return")
        || before.starts_with("pytestmark")
        || before.starts_with('@');
    is_own && !(language == Some("python") && is_for_a_platform(&joined[found.end..], ""))
}

/// Returns the text of a mark on one line, without comments of Python and Ruby.
fn joined(mark: &Mark, text: &str) -> String {
    mark.span.of(text).lines().map(|line| without_comment(line).trim()).collect()
}

/// Cuts a line at a number sign behind a blank and outside of quotes.
fn without_comment(line: &str) -> &str {
    let begins = |at: usize| {
        let before = &line[..at];
        let is_quoted = ['"', '\'', '`'].iter().any(|quote| before.matches(*quote).count() % 2 == 1);
        before.ends_with([' ', '\t', '(']) && !is_quoted
    };
    let comment = line.match_indices('#').map(|(at, _)| at).find(|at| begins(*at));
    &line[..comment.unwrap_or(line.len())]
}

/// Returns whether a build constraint of Go excludes a file unless its word is given; those of platforms do not.
fn excludes(constraint: &str) -> bool {
    const PLATFORMS: &[&str] = &[
        "aix", "amd64", "android", "arm", "arm64", "cgo", "darwin", "freebsd", "gc", "gccgo", "illumos",
        "ios", "js", "linux", "mips", "msan", "netbsd", "openbsd", "plan9", "ppc64", "race", "riscv64",
        "s390x", "solaris", "unix", "wasip1", "wasm", "windows",
    ];
    let Some((_, words)) = constraint.trim_start_matches('/').trim().split_once(char::is_whitespace) else {
        return false;
    };
    let word = words.trim();
    let is_one_word = word.chars().all(|character| character.is_alphanumeric() || "._".contains(character));
    is_one_word && !PLATFORMS.contains(&word) && !word.starts_with("go1.")
}

/// Finds tests that ran at the base and are switched off at head. A test that is new as a whole never ran, so its skip
/// takes nothing away; it replaces no other test either.
pub(super) fn by_tree(packet: &Packet<'_>, base: &Version<'_>, head: &Version<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let (before, now) = (running(base), running(head));
    let mut fewer: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in before {
        fewer.insert(name, count.saturating_sub(now.get(name).copied().unwrap_or(0)));
    }
    let added = Added { lines: packet.added().map(|line| (line.number, line)).collect() };
    let mut off: Vec<(&Test, Span)> = head.tests.iter().filter_map(|test| Some((test, test.off?))).collect();
    // A mark that is written anew comes before one that a change elsewhere brings into force.
    off.sort_by_key(|(_, mark)| added.first_on(head.text, *mark).is_none());
    let mut places: BTreeMap<Span, Span> = BTreeMap::new();
    for (test, mark) in off {
        if let Some(left) = fewer.get_mut(test.name.as_str()).filter(|left| **left > 0) {
            *left -= 1;
            places.entry(mark).or_insert(span_of_lines(head.text, test.mark, test.end));
        }
    }
    for test in &head.tests {
        let old = base.tests.iter().find(|old| old.name == test.name && old.off.is_none());
        if old.is_some_and(|old| old.nested.len() < test.nested.len()) {
            let added = test.nested.iter().filter(|mark| added.first_on(head.text, **mark).is_some());
            places.extend(added.map(|mark| (*mark, *mark)));
        }
    }
    if packet.path().file_name() == b"conftest.py" {
        let old: BTreeSet<String> = base.marks.iter().map(|mark| joined(mark, base.text)).collect();
        let new = head.marks.iter().filter(|mark| {
            !old.contains(&joined(mark, head.text)) && switches_off(language, mark, head.text)
        });
        places.extend(new.map(|mark| (mark.span, mark.span)));
        if !base.text.contains(IGNORE_HOOK) {
            places.extend(ignoring_hook(head.text).map(|hook| (hook, hook)));
        }
        let emptied = packet.added().find(|line| DESELECTS.is_match(line.text));
        if let Some(line) = emptied.filter(|_| !DESELECTS.is_match(base.text)) {
            let at = head.text.match_indices(line.text.trim()).next().map(|(at, _)| at).unwrap_or_default();
            let place = Span { start: at, end: at + line.text.trim().len() };
            places.insert(place, place);
        }
    }
    let mut drafts = Vec::new();
    for (mark, whole) in places {
        let summary = match find_skip(language, mark.of(head.text)) {
            Some(_) => "test is skipped",
            None => "test is no longer collected",
        };
        let line = added
            .lines_on(head.text, mark)
            .find(|line| find_skip(language, line.text).is_some())
            .or_else(|| added.first_on(head.text, mark))
            .or_else(|| added.first_on(head.text, whole))
            .or_else(|| added.lines.values().next());
        if let Some(line) = line {
            let span = find_skip(language, line.text).unwrap_or_else(|| super::whole(line.text));
            drafts.push(Draft::on_line(TEST_SKIPPED, packet, line, span, summary));
        } else if let Some(line) = packet.removed().next() {
            drafts.push(Draft::on_base_line(TEST_SKIPPED, packet, &line, super::whole(line.text), summary));
        }
    }
    drafts.dedup_by_key(|draft| (draft.side, draft.start_line));
    drafts
}

/// Statement of a conftest that drops every test or makes every run a success.
static DESELECTS: Pattern = Pattern::new(
    r"(?m)^\s*(?:items\[:\]\s*=\s*\[\s*\]|items\.clear\(\)|del\s+items\[:\]|session\.exitstatus\s*=\s*0\b)",
);

/// Function of a conftest by which pytest asks which files it leaves out.
const IGNORE_HOOK: &str = "def pytest_ignore_collect";

/// Returns the first line of such a function that leaves files out for another reason than the platform.
fn ignoring_hook(text: &str) -> Option<Span> {
    static LEAVES_OUT: Pattern = Pattern::new(r"\breturn\s+(?:[^\sFN]|F[^a]|N[^o])");
    let start = text
        .match_indices(IGNORE_HOOK)
        .map(|(at, _)| at)
        .find(|at| *at == 0 || text[..*at].ends_with('\n'))?;
    let mut lines = text[start..].lines();
    let first = lines.next().unwrap_or_default();
    let body: Vec<&str> =
        lines.take_while(|line| line.is_empty() || line.starts_with([' ', '\t', ')'])).collect();
    let conditions: Vec<String> = (0..body.len()).filter_map(|at| condition_at(&body[at..])).collect();
    let is_for_platforms =
        !conditions.is_empty() && conditions.iter().all(|condition| PLATFORM.is_match(condition));
    let leaves_out = LEAVES_OUT.is_match(first) || body.iter().any(|line| LEAVES_OUT.is_match(line));
    (leaves_out && !is_for_platforms).then_some(Span { start, end: start + first.len() })
}

/// Returns the condition of an `if` on the first of some lines, up to its colon and without an opening parenthesis.
fn condition_at(lines: &[&str]) -> Option<String> {
    let first = lines.first()?.trim_start().strip_prefix("if ")?;
    let mut condition = first.trim_start_matches('(').to_owned();
    for line in &lines[1..] {
        if condition.contains(':') {
            break;
        }
        condition.push_str(line.trim());
    }
    Some(condition)
}

/// Counts the tests of each name that are not switched off.
fn running<'v>(version: &'v Version<'_>) -> BTreeMap<&'v str, usize> {
    let mut counts = BTreeMap::new();
    for test in version.tests.iter().filter(|test| test.off.is_none()) {
        *counts.entry(test.name.as_str()).or_insert(0) += 1;
    }
    counts
}

/// Added lines by number.
struct Added<'a> {
    lines: BTreeMap<u64, Line<'a>>,
}

impl<'a> Added<'a> {
    /// Returns the added lines that a place touches.
    fn lines_on(&self, text: &str, span: Span) -> impl Iterator<Item = &Line<'a>> {
        lines_of(text, span).filter_map(|number| self.lines.get(&number))
    }

    fn first_on(&self, text: &str, span: Span) -> Option<&Line<'a>> {
        self.lines_on(text, span).next()
    }
}

/// Finds a skip in a text, wherever it is part of.
fn find_skip(language: Option<&str>, text: &str) -> Option<Range<usize>> {
    SKIPS.find(language, text, &scan::Parts::default())
}

/// Returns the numbers of the lines that a place touches.
fn lines_of(text: &str, span: Span) -> impl Iterator<Item = u64> + use<> {
    let first = text[..span.start].matches('\n').count() as u64 + 1;
    let last = text[..span.end].trim_end().matches('\n').count() as u64 + 1;
    first..=last.max(first)
}

fn span_of_lines(text: &str, first: usize, end: usize) -> Span {
    let [start, end] = [first, end].map(|line| {
        let mut starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
        starts.nth(line).unwrap_or(text.len())
    });
    Span { start, end }
}

/// Skips that come without another going from the same hunk. A test that is new as a whole never ran, so its skip
/// takes nothing away; it replaces no other test either.
pub(super) fn by_line(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        if !SKIPS.may_match(language, &packet.text.text[hunk.added_span()]) {
            continue;
        }
        let old = scan::removed(language, hunk)
            .filter(|(line, parts)| SKIPS.find(language, line.text, parts).is_some())
            .count();
        let mut previous = hunk.before().last().map(|line| line.text).unwrap_or_default();
        let mut found = Vec::new();
        let added: Vec<_> = scan::added(language, hunk).collect();
        for (at, (line, parts)) in added.iter().enumerate() {
            let next = added.get(at + 1).map(|(next, _)| next.text).unwrap_or_default();
            if let Some(span) = SKIPS.find(language, line.text, parts)
                && !CONDITION.is_match(previous)
                && !CONDITION.is_match(&line.text[..span.start])
                && !(language == Some("ruby") && TRAILING.is_match(&line.text[span.end..]))
                && !(language == Some("python") && is_for_a_platform(&line.text[span.end..], next))
                && !(line.text.contains("todo") && hunk.hunk.old_lines == 0)
                && !tests_by_hunk::is_of_new_test(base, head, line)
            {
                let summary = "test is skipped";
                found.push(Draft::on_line(TEST_SKIPPED, packet, line, span, summary));
            }
            if !line.text.trim().is_empty() {
                previous = line.text;
            }
        }
        drafts.extend(found.into_iter().skip(old));
    }
    drafts
}

/// Returns whether a mark holds on some platforms or versions only; its condition may stand on the line below.
fn is_for_a_platform(rest: &str, next: &str) -> bool {
    let rest = without_comment(rest);
    let condition = if rest.trim().is_empty() { next } else { rest };
    PLATFORM.is_match(condition) && !condition.split("reason").next().unwrap_or("").contains("True")
}

/// Returns whether a test is switched off by one of its own lines.
pub(super) fn is_skipped(language: Option<&str>, lines: &[&str]) -> bool {
    (0..lines.len()).any(|at| {
        // Hardly any line skips, so that is tested first.
        find_skip(language, lines[at]).is_some()
            && !lines[at.saturating_sub(1)..=at].iter().any(|line| CONDITION.is_match(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        SKIPS.check();
        assert!(CONDITION.is_match("    if x:"));
    }

    #[test]
    fn a_build_constraint_of_a_platform_excludes_nothing() {
        for (text, expected) in [
            ("//go:build ignore", true),
            ("// +build never", true),
            ("//go:build integration", true),
            ("//go:build linux", false),
            ("//go:build !race", false),
            ("//go:build go1.20", false),
        ] {
            assert_eq!(excludes(text), expected, "{text}");
        }
    }

    #[test]
    fn only_a_platform_makes_a_mark_conditional() {
        let cases: &[(&str, &str, bool)] = &[
            ("platform.python_implementation() == \"PyPy\", reason=\"x\")", "", true),
            ("", "    sys.version_info < (3, 9),", true),
            ("IS_WINDOWS)", "", true),
            ("reason=\"x\")", "", false),
            ("1 == 1, reason=\"sys.platform\")", "", false),
            ("os.name or True)", "", false),
            ("raises=KeyError)", "", false),
        ];
        for (rest, next, expected) in cases {
            assert_eq!(is_for_a_platform(rest, next), *expected, "{rest}{next}");
        }
    }
}
