//! Tests that are deleted, removed, skipped or emptied.

use std::collections::{BTreeMap, BTreeSet};

use super::gone::{Found, stem};
use super::names::{self, Test};
use super::skips::Compared;
use super::tests_by_hunk::{self, Certainty, Side};
use super::version::{Version, only_side, reveal};
use super::{TEST_EMPTIED, failures, needs, skips, symbols, visibility, whole};
use crate::checking::{is_idle, may_check};
use crate::contract::{Draft, DraftExt, Fact, Inspection};
use crate::pattern::Pattern;
use qa_contracts::v1::{ChangeKind, ChangedFile, FileClass, FileText, Scope};
use qa_core::classify;
use qa_core::packet::{Line, Packet};
use qa_reading::names::joins;
use qa_reading::syntax::{OtherVersion, Span};

static ASSERTION: Pattern = Pattern::new(
    r"(?i)(?:(?:assert|snapshot|\b(?:expect|verify|require|refute|must_\w|check|fail|t\.(?:error|fatal|is|not|like|regex|equal|true|truthy|false|falsy|deepequal|same|match|ok)|tomatch|throws|ensure|validate|compare))\w*|\.should(?:be|contain|end|equal|have|match|not|start|throw)\w*|\braises)!?(?:(?:(?:::)?<[^()]*>)?\s*[.(]|\[(?:[^\[\]()\d]|\[[^\[\]()]*\])(?:[^\[\]()]|\[[^\[\]()]*\])*\]\()|\sshould(?:not)?(?:be|contain|end|equal|have|match|start|throw)\w*\s|(?:^|[{|])\s*(?:(?:assert|refute)(?:_\w+)?|must_\w+|expect)\s+[^=\s]|\.(?:must|wont)_\w+|\b(?:should|must)\b|\b(?:assertThat|expect)\s*$",
);

/// A function or method that a line calls, with type arguments where it has some.
static CALLED: Pattern = Pattern::new(
    r"([A-Za-z_]\w+)!?(?:(?:::)?<[^()]*>|\[(?:[^\[\]()\d]|\[[^\[\]()]*\])(?:[^\[\]()]|\[[^\[\]()]*\])*\])?\s*\(",
);

/// An assertion that holds whatever the code does.
static TRIVIAL: Pattern = Pattern::new(concat!(
    r"\bassert\s+(?:True|1|not\s+False|1\s*==\s*1|True\s*(?:==|is)\s*True)\s*(?:$|#|,)",
    r"|\b(?:assert|debug_assert)!\s*\(\s*true\b|\bassert(?:_eq)?!\s*\(\s*(?:1\s*,\s*1|true\s*,\s*true)\s*[,)]",
    r"|\bexpect\s*\(\s*(?:true|1|!false)\s*\)\s*\.(?:to\.|not\.)?(?:be|toBe|toEqual|toBeTruthy|equal|eq|toStrictEqual|to)\b\s*(?:\(\s*(?:true|1|!false)?\s*\)|\.true|[^(\s.]|$)",
    r"|\b[aA]ssert(?:ions)?(?:_?(?:[tT]rue|[eE]q|[eE]quals?|[sS]ame|[tT]hat|[iI]s(?:_?[tT]rue)?))?(?:\.(?:ok|[tT]rue|[iI]s_?[tT]rue|assertTrue|assertEquals|[eE]quals?|[sS]ame|strictEqual|deepEqual|AreEqual|AreSame|That))?\s*\(\s*(?:t,\s*)?(?:true|True|TRUE|1\s*,\s*1|true\s*,\s*true|True\s*,\s*True)\s*[,)]",
    r"|\b(?:ASSERT|EXPECT)_(?:TRUE\s*\(\s*true|EQ\s*\(\s*1\s*,\s*1)\s*\)",
    r#"|\bassert\s+(?:\d+|"[^"]+"|'[^']+')(?:\s*==\s*(?:\d+|"[^"]*"|'[^']*'))?\s*(?:$|#|,)"#,
    r#"|\bexpect\s*\(\s*(?:\d+|"[^"]*"|'[^']*')\s*\)\s*\.(?:(?:be|deep|not|to)\.)*(?:toBe|toEqual|toStrictEqual|eq|equals?)\s*\(\s*(?:\d+|"[^"]*"|'[^']*')?\s*\)"#,
    r"|\bexpect\.(?:assertions|hasAssertions|extend)\b",
    r"|\btrue\.(?:ShouldBeTrue\(\s*\)|Should\(\s*\)\.BeTrue\(\s*\)|ShouldBe\(\s*true\s*\))|\bfalse\.(?:ShouldBeFalse\(\s*\)|Should\(\s*\)\.BeFalse\(\s*\)|ShouldBe\(\s*false\s*\))",
    r"|\bassert\b.*\bor\s+(?:True|1)\s*(?:$|#|,)|\bassert!\s*\(.*\|\|\s*true\s*[,)]",
));

/// A mark of a test by which it expects a failure.
static FAILURE_EXPECTED: Pattern =
    Pattern::new(r"#\[should_panic|@Test\([^)]*\bexpected\b|\[ExpectedException\b|@expectedException\b");

/// Two values written out that an assertion compares.
static COMPARED: Pattern = Pattern::new(
    r#"\b(?i:are_?equal|assert_?(?:equals?|same|eq)|deep_?(?:strict_?)?equal|equals?|expect_?equal|is|same|strict_?equal)\s*\(\s*(?:t,\s*)?(\d+|"[^"]*"|'[^']*')\s*,\s*(\d+|"[^"]*"|'[^']*')\s*[,)]"#,
);

/// A tuple that is not empty, for Python.
static TUPLE: Pattern =
    Pattern::new(r#"\bassert\s*\([^()]*(?:\([^()]*\)[^()]*)*,\s*f?["'][^"']*["']\s*,?\s*\)\s*$"#);

/// Returns whether a file may have to be compared as a whole: one that both versions have, since the hunks of the
/// others are all of it. Rust has tests in any file.
pub(super) fn needs_whole_file(file: &ChangedFile) -> bool {
    let both = !matches!(file.kind, ChangeKind::Added | ChangeKind::Deleted);
    let language = file.language.as_deref();
    both && names::knows(language) && (is_of_tests(file) || language == Some("rust"))
}

fn is_of_tests(file: &ChangedFile) -> bool {
    file.class == FileClass::Test || file.scope == Scope::Test
}

/// Returns whether a change may be about tests: any may in a file of tests, and in other files one of a line that names
/// or marks a test, or checks something in one.
pub(super) fn wants_whole_file(file: &ChangedFile, hunks: &FileText) -> bool {
    const WORDS: &[&str] =
        &["test", "ignore", "assert", "cfg(", "exit(", "false", "return Ok(())", "return;"];
    let included = vec![true; file.hunks.len()];
    let packet = Packet { file, text: hunks, included: &included };
    let mut changed = packet.removed().chain(packet.added());
    is_of_tests(file) || changed.any(|line| WORDS.iter().any(|word| line.text.contains(word)))
}

/// Looks at one file.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let language = packet.file.language.as_deref();
    let path = packet.path().to_text();
    let mut seen = Inspection::default();
    if packet.file.kind == ChangeKind::Deleted {
        let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
        if classify::is_manifest(&file.to_lowercase()) {
            seen.facts.push(Fact::new(&Found::PackageGone { folder: folder.to_owned() }, None));
        }
        if packet.file.class == FileClass::Source {
            seen.facts.push(Fact::new(&Found::SourceDeleted { stem: stem(&path) }, None));
        }
    }
    let is_test = packet.file.scope == Scope::Test;
    if !is_test && packet.file.scope == Scope::Product {
        symbols::inspect(packet, &mut seen);
    }
    if !names::knows(language) || !(is_test || language == Some("rust")) {
        return seen;
    }
    let read_as = packet.path_by_language();
    let old_read_as = packet.file.old_path.as_ref().map(|old| old.to_text()).unwrap_or(read_as.clone());
    match (packet.file.kind, &packet.text.full_base, &packet.text.full_head) {
        (ChangeKind::Deleted, ..) => tests_by_hunk::deleted(packet, &mut seen),
        (ChangeKind::Added, ..) => {
            let text = only_side(packet);
            if may_tell(packet, &[&text]) {
                compare(
                    packet,
                    &Version::default(),
                    &Version::parse(&read_as, language, &text, None),
                    &mut seen,
                );
            }
        }
        (_, Some(base), Some(head)) if may_tell(packet, &[base, head]) => {
            let hunks = &packet.file.hunks;
            let [older, newer] =
                [(base, false), (head, true)].map(|(text, is_newer)| OtherVersion { text, hunks, is_newer });
            let mut base = Version::parse(&old_read_as, language, base, Some(&newer));
            let mut head = Version::parse(&read_as, language, head, Some(&older));
            reveal(&mut base, &mut head);
            compare(packet, &base, &head, &mut seen);
        }
        // No changed line is about a test, or no version has one.
        _ => {}
    }
    seen
}

/// Returns whether versions of a file have to be parsed, since one may have a test. Rust marks every test by a word,
/// which has one spelling.
fn may_tell(packet: &Packet<'_>, versions: &[&str]) -> bool {
    packet.file.language.as_deref() != Some("rust")
        || versions.iter().any(|text| text.contains("test") || text.contains("quickcheck"))
}

fn compare(packet: &Packet<'_>, old: &Version<'_>, new: &Version<'_>, seen: &mut Inspection) {
    let language = packet.file.language.as_deref();
    let (base, head) = (Side::whole(language, old), Side::whole(language, new));
    let is_parsed = new.is_parsed && (old.is_parsed || old.tests.is_empty());
    seen.drafts.extend(match is_parsed {
        true => skips::by_tree(packet, old, new),
        false => skips::by_line(packet, &Compared { old, new, base: &base, head: &head }),
    });
    if is_parsed {
        seen.facts.extend(needs::inspect(packet, old, new));
    }
    // A line that skips a test is reported as that alone.
    let mut weaker = failures::inspect(packet, &base, &head);
    weaker.extend(emptied(packet, &base, &head));
    let known: BTreeSet<u64> = seen.drafts.iter().map(|draft| draft.start_line).collect();
    seen.drafts.extend(weaker.into_iter().filter(|draft| !known.contains(&draft.start_line)));
    seen.drafts.extend(visibility::hidden(packet, new.text));
    seen.facts.extend(new.is_unread.then(Fact::unread));
    tests_by_hunk::compare(packet, &base, &head, seen);
}

/// Tests that both versions have and whose assertions are gone or never reached.
fn emptied(packet: &Packet<'_>, base: &Side<'_>, head: &Side<'_>) -> Vec<Draft> {
    let language = packet.file.language.as_deref();
    let added: BTreeMap<u64, Line<'_>> = packet.added().map(|line| (line.number, line)).collect();
    let removed: BTreeMap<u64, Line<'_>> = packet.removed().map(|line| (line.number, line)).collect();
    let mut drafts = Vec::new();
    let mut first_of_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (position, test) in base.tests.iter().enumerate() {
        first_of_name.entry(&test.name).or_insert(position);
    }
    for (position, test) in head.tests.iter().enumerate() {
        let Some(&old_position) = first_of_name.get(test.name.as_str()) else { continue };
        let old = &base.tests[old_position];
        let own: Vec<&Line<'_>> =
            (test.at + 1..=test.end).filter_map(|number| added.get(&(number as u64))).collect();
        let gone: Vec<&Line<'_>> =
            (old.at + 1..=old.end).filter_map(|number| removed.get(&(number as u64))).collect();
        if own.is_empty() && gone.is_empty() || test.off.is_some() {
            continue;
        }
        let early_return = own.iter().find(|line| match test.cut {
            Some(at) => line.number as usize - 1 == at,
            None => is_early_return(head, test, line),
        });
        if let Some(line) = early_return.filter(|_| test.cut.is_none()) {
            let summary = "test returns before its first assertion";
            drafts.push(Draft::on_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
            continue;
        }
        let (new_body, old_body) = (head.body(position), base.body(old_position));
        let is_checking = new_body.iter().any(|line| is_assertion(language, line))
            || head.lines[test.mark..=test.at].iter().any(|line| FAILURE_EXPECTED.is_match(line));
        let was_checking = old_body.iter().any(|line| is_assertion(language, line));
        // A function that the test did not call before may check in words that are not known.
        let called = old_body.iter().flat_map(|line| CALLED.captures_all(line));
        let called = called.filter_map(|called| called.get(1).map(|name| name.as_str().to_owned()));
        let before: BTreeSet<String> = called.collect();
        let mut others =
            new_body.iter().filter(|line| !is_trivial(language, line) && !is_assertion(language, line));
        let is_rewritten = is_rewritten(language, &old_body, &new_body);
        let may_check = others.any(|line| calls_another(line, &before, is_rewritten));
        if is_checking && !may_check && base.certainty(old_position).is_certain {
            drafts.extend(guarded(packet, &head.certainty(position), head, &own, &gone));
        }
        if is_checking || !was_checking {
            continue;
        }
        let is_unreachable = old_body.iter().any(|old| {
            let assertion = old.trim().trim_end_matches(';');
            let code = own.iter().filter(|line| is_assertion(language, line.text));
            let mut same = code.filter(|line| line.text.contains(assertion));
            is_assertion(language, old)
                && same.any(|line| !head.lines[line.number as usize - 1].contains(assertion))
        });
        let trivial =
            own.iter().find(|line| head.trivial.contains(&line.number) || is_trivial(language, line.text));
        let removed = gone.iter().find(|line| is_assertion(language, line.text));
        let (line, summary) = if let Some(line) = early_return {
            (*line, "test returns before its first assertion")
        } else if let Some(line) = trivial {
            (*line, "assertions are replaced by one that is always true")
        } else if let Some(line) = own.iter().find(|line| is_unreachable && !line.text.trim().is_empty()) {
            (*line, "assertions of a test are unreachable")
        } else if may_check {
            continue;
        } else if let Some(line) = removed {
            let summary = "assertions of a test are removed";
            drafts.push(Draft::on_base_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
            continue;
        } else if let Some(line) = own.first() {
            (*line, "assertions of a test are unreachable")
        } else {
            continue;
        };
        drafts.push(Draft::on_line(TEST_EMPTIED, packet, line, whole(line.text), summary));
    }
    drafts
}

/// Returns whether a test has none of the names any more that its assertions were about.
fn is_rewritten(language: Option<&str>, old: &[&str], new: &[&str]) -> bool {
    let asserting = old.iter().filter(|line| is_assertion(language, line)).flat_map(|line| names_of(line));
    let mut about = asserting.filter(|name| !matches!(*name, "self" | "this" | "t"));
    let others = new.iter().filter(|line| !is_assertion(language, line)).flat_map(|line| names_of(line));
    let now: BTreeSet<&str> = others.collect();
    !about.any(|name| now.contains(name) && !ASSERTION.is_match(&format!("{name}(")))
}

/// Returns the names in a line.
fn names_of(line: &str) -> impl Iterator<Item = &str> {
    line.split(|sign| !joins(sign)).filter(|word| word.starts_with(|first: char| first.is_alphabetic()))
}

/// Returns whether a line calls a function that is not among those known, and that may check something. In a test that was
/// rewritten any function may.
fn calls_another(line: &str, known: &BTreeSet<String>, is_rewritten: bool) -> bool {
    let called = CALLED.captures_all(line);
    called.iter().filter_map(|called| called.get(1)).any(|name| {
        let is_defined =
            ["def ", "fn ", "func ", "function "].iter().any(|word| line[..name.start()].ends_with(word));
        let place = Span { start: name.start(), end: name.end() };
        let may_check = if is_rewritten { !is_idle(name.as_str()) } else { may_check(line, place) };
        !is_defined && may_check && !known.contains(name.as_str())
    })
}

/// Returns the draft of a test whose assertions all stand behind a condition.
fn guarded(
    packet: &Packet<'_>,
    certainty: &Certainty,
    head: &Side<'_>,
    own: &[&Line<'_>],
    gone: &[&Line<'_>],
) -> Option<Draft> {
    let guard = certainty.guard.filter(|_| !certainty.is_certain)?;
    let summary = "assertions of a test run only under a condition, or their failure is caught";
    let number = head.number_at(guard.start);
    let line = own.iter().find(|line| line.number == number).or(own.first());
    match (line, gone.first()) {
        (Some(line), _) => Some(Draft::on_line(TEST_EMPTIED, packet, line, whole(line.text), summary)),
        (None, Some(line)) => {
            Some(Draft::on_base_line(TEST_EMPTIED, packet, line, whole(line.text), summary))
        }
        (None, None) => None,
    }
}

/// Returns whether a line asserts what holds whatever the code does, or what a console prints.
pub(super) fn is_trivial(language: Option<&str>, line: &str) -> bool {
    line.trim_start().starts_with("console.assert(")
        || TRIVIAL.is_match(line)
        || language == Some("python") && TUPLE.is_match(line)
        || compares_same(line)
}

/// Returns whether a line compares a value with itself.
fn compares_same(line: &str) -> bool {
    COMPARED.captures(line).is_some_and(|compared| compared[1] == compared[2])
}

pub(super) fn is_assertion(language: Option<&str>, line: &str) -> bool {
    let code = line.trim_start();
    let comment = code.starts_with("//") || code.starts_with('#') || code.starts_with('*');
    !comment && ASSERTION.is_match(line) && !is_trivial(language, line)
}

fn is_bare_return(line: &str) -> bool {
    matches!(
        line.trim().trim_end_matches(';'),
        "next" | "return" | "return true" | "return True" | "return nil"
    )
}

fn is_early_return(head: &Side<'_>, test: &Test, line: &Line<'_>) -> bool {
    let at = line.number as usize - 1;
    is_bare_return(line.text)
        && head.lines[test.at + 1..at].iter().all(|line| line.trim().is_empty())
        && head.lines[at..test.end].iter().any(|line| is_assertion(head.language, line))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        assert!(super::TRIVIAL.is_match("    assert True"));
        assert!(super::TRIVIAL.is_match("expect(true).toBe(true);"));
        assert!(!super::TRIVIAL.is_match("assert True == f()"));
        assert!(super::ASSERTION.is_match("    assert x"));
        assert!(super::ASSERTION.is_match("result.total shouldBe 3"));
        assert!(super::ASSERTION.is_match("response.body.must_equal 'a'"));
        assert!(super::ASSERTION.is_match("_(total).wont_be_nil"));
        assert!(super::ASSERTION.is_match("    assert_equal 9, total"));
        assert!(!super::ASSERTION.is_match("    assert_equal = compare"));
        assert!(!super::ASSERTION.is_match("    expect = [1, 2]"));
        assert!(super::ASSERTION.is_match("    await expect"));
        assert!(super::ASSERTION.is_match("outcome.ShouldBeOfType<Task<int>>();"));
        for (line, expected) in [
            ("checkTick[string](t, 1)", true),
            ("checkTick[map[string]int](t, 1)", true),
            ("check_tick::<u8>(1);", true),
            ("this.<String>checkTick(1);", true),
            ("checkTick<string>(1)", true),
            ("checks[0](t)", false),
            ("tick[string](t, 1)", false),
        ] {
            assert_eq!(super::ASSERTION.is_match(line), expected, "{line}");
        }
        for line in ["tick[string](t)", "tick[[]byte](t)", "tick::<u8>(1)", "tick<string>(1)", "tick(1)"] {
            assert_eq!(
                super::CALLED.captures(line).map(|found| found[1].to_owned()),
                Some("tick".to_owned())
            );
        }
        for pattern in [&super::COMPARED, &super::FAILURE_EXPECTED, &super::TRIVIAL, &super::TUPLE] {
            pattern.check();
        }
    }

    #[test]
    fn an_assertion_is_trivial_where_it_compares_a_value_with_itself() {
        for (language, line, expected) in [
            ("python", "self.assertEqual(1, 1)", true),
            ("python", "self.assertEqual('a', 'a')", true),
            ("python", "m.assert_called_once_with(\"GET\", \"/x\")", false),
            ("python", "m.assert_called_once_with('a', 'a')", false),
            ("python", "m.assert_called_once_with(True)", false),
            ("python", "m.assert_called_once_with(1, 1)", false),
            ("python", "self.assertTrue(True)", true),
            ("python", "assert (a() == 1, 'no')", true),
            ("ruby", "assert (a == 1, 'no')", false),
            ("go", "assert.Equal(t, 2, 2)", true),
            ("go", "assert.Equal(t, 2, 3)", false),
            ("javascript", "expect(2).toBe(2)", true),
            ("javascript", "expect('a').to.equal('a')", true),
            ("javascript", "expect('a').toBeOneOf('b')", false),
        ] {
            assert_eq!(super::is_trivial(Some(language), line), expected, "{line}");
        }
    }
}
