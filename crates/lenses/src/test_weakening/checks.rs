//! Tests that are deleted, removed, skipped or emptied.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::gone_tests::{DELETED_SOURCE, PACKAGE_GONE, stem};
use super::names::{self, Test};
use super::tests_by_hunk::{self, Side};
use super::{TEST_EMPTIED, TEST_SKIPPED, symbols};
use crate::contract::{Draft, Fact, Inspection};
use crate::idioms::{Idiom, Table, code};
use crate::pattern::Pattern;
use crate::scan;
use qa_contracts::v1::{ChangeKind, ChangedFile, FileClass, FileText, Scope};
use qa_core::classify;
use qa_core::packet::{Line, Packet};

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
    code(
        &["python"],
        "skipif",
        r#"(pytest\.mark\.skipif\s*\(\s*(?:(?:condition\s*=\s*)?(?:True\b|not\s+False\b|1\s*(?:==\s*1\s*)?[,)]|["']True["'])))"#,
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

/// What comes behind `xfail(` when a platform or a version decides. Any other condition may always hold.
static PLATFORM: Pattern = Pattern::new(
    r"^\s*(?:condition\s*=\s*)?(?:not\s+)?(?:sys\.(?:platform|version_info|maxsize|implementation|byteorder)|os\.name|platform\.\w+\s*\(|(?:is_|IS_|on_|ON_)?(?:windows|WINDOWS|win32|WIN32?|linux|LINUX|macos|MACOS|darwin|DARWIN|pypy|PYPY|cpython|CPYTHON|PY\d+)\w*\b)[^,]*(?:[,)]|$)",
);

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

/// Whether any changed line may name, mark or skip a test, or check or leave something in one: where none does, both
/// versions have the same tests as far as [`inspect`] can tell.
pub(super) fn wants_whole_file(file: &ChangedFile, hunks: &FileText) -> bool {
    let language = file.language.as_deref();
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text: hunks, included: &included };
    let tells = |line: &Line<'_>| {
        names::may_name(language, line.text)
            || is_assertion(line.text)
            || SKIPS.may_match(language, line.text)
    };
    packet.removed().any(|line| tells(&line))
        || packet.added().any(|line| tells(&line) || is_bare_return(line.text) || is_trivial(line.text))
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let language = packet.file.language.as_deref();
    let mut seen = Inspection::default();
    if packet.file.kind == ChangeKind::Deleted && packet.file.class == FileClass::Source {
        let name = stem(&packet.path().to_text());
        seen.facts.push(Fact { kind: DELETED_SOURCE.into(), name, draft: None, ..Fact::default() });
    }
    if packet.file.kind == ChangeKind::Deleted {
        let path = packet.path().to_text();
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
        if classify::is_manifest(&file.to_lowercase()) {
            seen.facts.push(Fact { kind: PACKAGE_GONE.into(), name: folder.to_owned(), ..Fact::default() });
        }
    }
    let is_test = packet.file.scope == Scope::Test;
    if !is_test && packet.file.scope == Scope::Product {
        symbols::inspect(packet, &mut seen);
    }
    if !names::knows(language) || !(is_test || language == Some("rust")) {
        return seen;
    }
    // Tests in a file that no runner collects take the place of none.
    let is_by_name = matches!(language, Some("go" | "python"));
    if packet.file.kind == ChangeKind::Added && is_by_name && !classify::is_collected(packet.path()) {
        return seen;
    }
    match (packet.file.kind, &packet.text.full_base, &packet.text.full_head) {
        (ChangeKind::Deleted, ..) => tests_by_hunk::deleted(packet, &mut seen),
        (_, Some(base), Some(head)) => {
            let (base, head) = (Side::whole(language, base), Side::whole(language, head));
            seen.drafts.extend(skipped(packet, &base, &head));
            seen.drafts.extend(emptied(packet, &base, &head));
            tests_by_hunk::compare(packet, &base, &head, &mut seen);
        }
        _ => {
            let base = Side::shown(language, packet, |hunk| hunk.removed().collect());
            let head = Side::shown(language, packet, |hunk| hunk.added().collect());
            seen.drafts.extend(skipped(packet, &base, &head));
            tests_by_hunk::compare(packet, &base, &head, &mut seen);
        }
    }
    seen
}

/// Skips that come without another going from the same hunk. A test that is new as a whole never ran, so its skip
/// takes nothing away; it replaces no other test either.
fn skipped(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        if !SKIPS.may_match(language, &packet.text.text[hunk.added_span()]) {
            continue;
        }
        let old = scan::removed(language, hunk)
            .filter(|(line, parts)| SKIPS.find(language, line.text, parts).is_some())
            .count();
        let mut previous = hunk.before().last().map_or("", |line| line.text);
        let mut found = Vec::new();
        let added: Vec<_> = scan::added(language, hunk).collect();
        for (at, (line, parts)) in added.iter().enumerate() {
            let next = added.get(at + 1).map_or("", |(next, _)| next.text);
            if let Some(span) = SKIPS.find(language, line.text, parts)
                && !CONDITION.is_match(previous)
                && !CONDITION.is_match(&line.text[..span.start])
                && !(language == Some("ruby") && TRAILING.is_match(&line.text[span.end..]))
                && !(language == Some("python") && is_for_a_platform(&line.text[span.end..], next))
                && !(line.text.contains("todo") && hunk.hunk.old_lines == 0)
                && !tests_by_hunk::is_of_new_test(base, head, line)
            {
                let summary = "a test is switched off";
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

/// Whether a mark holds on some platforms or versions only; its condition may stand on the line below.
fn is_for_a_platform(rest: &str, next: &str) -> bool {
    let condition = if rest.trim().is_empty() { next } else { rest };
    PLATFORM.is_match(condition) && !condition.split("reason").next().unwrap_or("").contains("True")
}

/// Whether a test is switched off by one of its own lines.
pub(super) fn is_skipped(language: Option<&str>, lines: &[&str]) -> bool {
    let skips = |line: &str| SKIPS.find(language, line, &scan::Parts::default()).is_some();
    (0..lines.len()).any(|at| {
        // Hardly any line skips, so that is asked first.
        let is_conditional = || lines[at.saturating_sub(1)..=at].iter().any(|line| CONDITION.is_match(line));
        skips(lines[at]) && !is_conditional()
    })
}

/// Tests that both versions have and whose assertions are gone or never reached.
fn emptied(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let added: BTreeMap<u64, Line<'_>> = packet.added().map(|line| (line.number, line)).collect();
    let removed: BTreeMap<u64, Line<'_>> = packet.removed().map(|line| (line.number, line)).collect();
    let mut drafts = Vec::new();
    let mut first_of_name: BTreeMap<&str, &Test> = BTreeMap::new();
    for test in &base.tests {
        first_of_name.entry(&test.name).or_insert(test);
    }
    for test in &head.tests {
        let Some(old) = first_of_name.get(test.name.as_str()) else { continue };
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

/// Whether a line asserts what holds whatever the code does.
pub(super) fn is_trivial(line: &str) -> bool {
    TRIVIAL.is_match(line)
}

pub(super) fn is_assertion(line: &str) -> bool {
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
            assert_eq!(super::is_for_a_platform(rest, next), *expected, "{rest}{next}");
        }
    }

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
