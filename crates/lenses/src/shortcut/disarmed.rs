//! Lines of tests that take the teeth out of an assertion: without a matcher, against itself, under a variable of the
//! environment, or with the library of assertions replaced.

use super::WEAKENED;
use crate::contract::{Draft, DraftExt};
use crate::mentions::joins;
use crate::pattern::Pattern;
use qa_core::packet::{HunkView, Line, Packet};
use qa_reading::syntax::without_comment;

/// An expectation that is compared like a value, or that nothing follows.
static BARE: Pattern =
    Pattern::new(r"^\s*expect\s*(?:\(.*\)|\{.*\})\s*(?:(?:={2,3}|!=|=~|<=?|>=?)\s*\S.*|;\s*)$");
/// Words behind which an expectation has a matcher.
static MATCHED: Pattern = Pattern::new(r"\)\s*\.\w|\}\s*\.\w|\.(?:to|not_to|to_not|should|not)\b");
/// A matcher that takes every value.
static ANYTHING: Pattern = Pattern::new(
    r"\.to[\s(]+(?:be_)?(?:anything|(?:be_an?|be_kind_of|be_an?_instance_of|a_kind_of)\(?\s*(?:Basic)?Object)\b|\.to(?:Equal|StrictEqual|MatchObject)?\(?\s*expect\.anything\(\)|\.to[\s(]+(?:eq|match)\(\s*anything\s*\)|\.to\s+satisfy\s*\{\s*true\s*\}",
);
/// A matcher that compares or describes a value.
static MATCHER: Pattern =
    Pattern::new(r"\.(?:to|should|toBe|toEqual|toStrictEqual|toMatch\w*|toHave\w*|toContain\w*)\b");
/// An expectation of a value.
static SUBJECT: Pattern = Pattern::new(
    r"\b(?:expect|assertThat|assert_that)\s*\(\s*(.+?)\s*\)\s*\.(?:to|toBe|toEqual|toStrictEqual|isEqualTo|toMatch\w*)\b",
);
/// A statement that asks only that nothing is raised.
static RAISES_NOTHING: Pattern = Pattern::new(
    r"(?:\.(?:not_to|to_not)\s+raise_error|\.not\.(?:toThrow|to\.throw)\w*\(|\bassert(?:ion)?_?(?:\.\s*)?(?:nothing_raised|DoesNotThrow|doesNotThrow)\b|\bassert\.doesNotThrow\()",
);
/// A look at the environment.
static ENVIRONMENT: Pattern = Pattern::new(
    r"\b(?:os\.(?:Getenv|LookupEnv|getenv|environ)|process\.env|ENV(?:\[|\.fetch|\.key)|env::var|System\.getenv|Environment\.GetEnvironmentVariable|getenv)",
);
/// A comparison or an assertion.
static CHECKS: Pattern = Pattern::new(r"[!=]=|\b(?:assert|expect|require|should)\w*\b");
/// A name that gets the value of another one.
static ASSIGNED: Pattern = Pattern::new(
    r"^\s*(?:(?:auto|const|final|let|val|var)\s+)?([A-Za-z_][\w.]*(?:\[[\w.]+\])?)\s*:?=\s*([A-Za-z_][\w.]*(?:\[[\w.]+\])?)\s*;?\s*$",
);
/// A last name for what a test expects.
static EXPECTED: Pattern =
    Pattern::new(r"(?i)(?:^|[._])(?:expect|want|golden|desired|wanted)\w*$|[a-z]Expected$");
/// Words of code that writes down what a test expects.
static RECORDS: Pattern = Pattern::new(r"(?i)update|regen|record|rewrit|bless|golden|snapshot");
/// A library of assertions that a file makes itself.
static STUB: Pattern = Pattern::new(
    r"^\s*(?:const|let|var)\s+(?:assert|expect|should)\s*=\s*(?:\{|new\s+Proxy\b|\(?[\w\s,.]*\)?\s*=>\s*\{)",
);
/// Words of a stand-in that fails or hands the call on.
static FAILS: Pattern = Pattern::new(r"\b(?:throw|require|import|fail|raise|reject)\b|\.\.\.");
/// A library of assertions, part of which is replaced.
static REPLACED: Pattern = Pattern::new(
    r#"\b(?:mock\.method|sinon\.(?:stub|replace)|(?:jest|vi)\.spyOn|patch\.object|monkeypatch\.setattr)\(\s*(?:unittest\.)?(?:assert|expect|chai|should|TestCase\s*,\s*["'](?:assert|fail)\w*)\b|^\s*(?:assert|expect)(?:\.\w+)+\s*=\s*[^=\s]|^\s*(?:unittest\.)?TestCase\.assert\w+\s*=[^=]"#,
);
/// A handle of the test that reports to nobody.
static HANDLE: Pattern =
    Pattern::new(r"^\s*(?:var\s+)?t\s*(?:\*testing\.T\s*)?:?=\s*(?:new\(testing\.T\)|&testing\.T\{\s*\})");
/// The strict library of Node, and the loose one.
static STRICT: Pattern = Pattern::new(r#"["'](?:node:)?assert/strict["']|assert["']\)\.strict\b"#);
static LOOSE: Pattern = Pattern::new(r#"(?:require\(|from\s+)["'](?:node:)?assert["']\)?\s*;?\s*$"#);
/// Functions that compare less strictly in the loose library.
static LOOSE_CALL: Pattern = Pattern::new(r"\bassert\.(?:deepEqual|equal|notDeepEqual|notEqual)\(");

/// Number of lines behind an assignment in which its two sides are compared.
const LINES_BEHIND: usize = 6;
/// Number of lines before an assignment that may say that it writes down what is expected.
const LINES_BEFORE: usize = 4;
/// Number of lines of a stand-in that are read.
const LINES_OF_STUB: usize = 12;

/// Returns whether a line may be one of these, by a quick look.
pub(super) fn may_disarm(packet: &Packet<'_>) -> bool {
    packet.added().any(|line| {
        let text = line.text;
        BARE.is_match(text) || REPLACED.is_match(text) || STUB.is_match(text) || ASSIGNED.is_match(text)
    })
}

/// Adds the lines of a file of tests that take the teeth out of an assertion, unless something is known of them.
pub(super) fn add(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    let new = inspect(packet);
    for draft in new {
        let mut known = drafts.iter().filter(|known| known.rule == WEAKENED && known.side == draft.side);
        if known.all(|known| known.start_line != draft.start_line) {
            drafts.push(draft);
        }
    }
}

/// Returns the lines of a file of tests that take the teeth out of an assertion.
fn inspect(packet: &Packet<'_>) -> Vec<Draft> {
    let head: Vec<&str> = packet.text.full_head.as_deref().unwrap_or_default().lines().collect();
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        let removed: Vec<&str> = hunk.removed().map(|line| line.text).collect();
        for line in hunk.added().filter(|line| !is_comment(line.text)) {
            let summary = of_line(&line, &head)
                .or_else(|| beside(&line, &removed, &hunk))
                .or_else(|| loosened(&line, &removed, &head));
            let start = line.text.len() - line.text.trim_start().len();
            let columns = start..line.text.trim_end().len();
            let draft = summary.filter(|_| removed.iter().all(|old| old.trim() != line.text.trim()));
            drafts.extend(draft.map(|text| Draft::on_line(WEAKENED, packet, &line, columns, text)));
        }
    }
    drafts
}

fn is_comment(line: &str) -> bool {
    ["//", "#", "*", "/*"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// Returns what a line does to assertions, whatever stood there before.
fn of_line(line: &Line<'_>, head: &[&str]) -> Option<&'static str> {
    let text = line.text;
    let at = usize::try_from(line.number).ok()?;
    let behind = head.get(at..).unwrap_or_default();
    let goes_on = behind.first().is_some_and(|next| next.trim_start().starts_with('.'));
    if !head.is_empty() && BARE.is_match(text) && !MATCHED.is_match(text) && !goes_on {
        return Some("expectation has no matcher, so it holds whatever the code does");
    }
    if REPLACED.is_match(text) {
        return Some("a function that asserts is replaced");
    }
    if HANDLE.is_match(text) {
        return Some("assertions are told to a test that nobody runs");
    }
    if STUB.is_match(text) {
        let own = behind.iter().take(LINES_OF_STUB).take_while(|next| next.starts_with([' ', '\t', '}']));
        let fails = FAILS.is_match(text) || own.clone().any(|next| FAILS.is_match(next));
        return (!fails).then_some("the library of assertions is replaced by one that fails nothing");
    }
    compares_with_itself(line, head).then_some("the expected value is made from the actual one")
}

/// Returns whether a line gives the expected value to the actual one, or the other way round, and the two are compared
/// right behind it.
fn compares_with_itself(line: &Line<'_>, head: &[&str]) -> bool {
    let Some(groups) = ASSIGNED.captures(without_comment(line.text)) else { return false };
    let (left, right) = (&groups[1], &groups[2]);
    // A name that a test keeps a value in before it acts, such as `want := cfg.Name`, is no expectation of the author.
    let is_given = EXPECTED.is_match(left) && left.contains('.') && !EXPECTED.is_match(right);
    let is_expected = is_given || EXPECTED.is_match(right) && !EXPECTED.is_match(left);
    let Ok(at) = usize::try_from(line.number) else { return false };
    let before = &head[at.saturating_sub(LINES_BEFORE + 1).min(head.len())..at.min(head.len())];
    if !is_expected || before.iter().any(|line| RECORDS.is_match(line)) {
        return false;
    }
    let behind = head.get(at..).unwrap_or_default().iter().take(LINES_BEHIND);
    let mut until_changed = behind.take_while(|next| !assigns(next, left) && !assigns(next, right));
    until_changed.any(|next| CHECKS.is_match(next) && holds(next, left) && holds(next, right))
}

fn assigns(line: &str, name: &str) -> bool {
    let rest = line.trim_start().strip_prefix(name).map(str::trim_start);
    rest.is_some_and(|rest| {
        rest.starts_with(":=") || rest.starts_with('=') && !rest.starts_with("==") || rest.starts_with("+=")
    })
}

/// Returns whether a line has a name as a word of its own.
fn holds(line: &str, name: &str) -> bool {
    let mut found = line.match_indices(name);
    found.any(|(at, _)| {
        let behind = &line[at + name.len()..];
        !line[..at].ends_with(|sign| joins(sign) || sign == '.') && !behind.starts_with(joins)
    })
}

/// Returns what a line does to an assertion that a removed line had.
fn beside(line: &Line<'_>, removed: &[&str], hunk: &HunkView<'_>) -> Option<&'static str> {
    let text = line.text.trim();
    if ANYTHING.is_match(text) && removed.iter().any(|old| MATCHER.is_match(old) && !ANYTHING.is_match(old)) {
        return Some("assertion holds whatever the code does");
    }
    if RAISES_NOTHING.is_match(text) {
        let subjects = removed.iter().filter_map(|old| SUBJECT.captures(old));
        let mut lost = subjects.filter(|subject| {
            let is_here = text.contains(&subject[1]);
            let mut others = hunk.added().filter(|other| other.number != line.number);
            is_here && !others.any(|other| other.text.contains(&subject[1]) && CHECKS.is_match(other.text))
        });
        return lost.next().map(|_| "value is no longer compared, only that nothing is raised");
    }
    if ENVIRONMENT.is_match(text) {
        let mut before = removed.iter().filter(|old| CHECKS.is_match(old) && !ENVIRONMENT.is_match(old));
        let is_conditional = before.any(|old| {
            let old = old.trim().trim_end_matches(['{', ':', ';', ')', ' ']);
            let rest = text.strip_prefix(old).map(|rest| rest.trim_start_matches([')', ' ', ';']));
            rest.is_some_and(|rest| {
                ["&&", "and ", "if ", "unless "].iter().any(|word| rest.starts_with(word))
            })
        });
        return is_conditional.then_some("assertion holds only where a variable of the environment says so");
    }
    None
}

/// Returns whether a file that compares loosely goes from the strict library to the loose one.
fn loosened(line: &Line<'_>, removed: &[&str], head: &[&str]) -> Option<&'static str> {
    let is_loose = LOOSE.is_match(line.text) && removed.iter().any(|old| STRICT.is_match(old));
    let is_used = is_loose && head.iter().any(|line| LOOSE_CALL.is_match(line));
    is_used.then_some("assertions compare less strictly than before")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        for pattern in [
            &BARE,
            &MATCHED,
            &ANYTHING,
            &MATCHER,
            &SUBJECT,
            &RAISES_NOTHING,
            &ENVIRONMENT,
            &CHECKS,
            &ASSIGNED,
            &EXPECTED,
            &RECORDS,
            &STUB,
            &FAILS,
            &REPLACED,
            &HANDLE,
            &STRICT,
            &LOOSE,
            &LOOSE_CALL,
        ] {
            pattern.check();
        }
    }

    /// Returns whether a line of a text is one that disarms, of which it tells by itself.
    fn disarms(text: &str, number: u64) -> bool {
        let head: Vec<&str> = text.lines().collect();
        let own = head[usize::try_from(number - 1).unwrap()];
        of_line(&Line { number, text: own, offset: 0 }, &head).is_some()
    }

    #[test]
    fn lines_that_disarm_are_told_from_honest_ones() {
        for (text, expected) in [
            ("expect(x) == y", true),
            ("expect { f }; y", false),
            ("expect(f(x)).to eq(y)", false),
            ("expect(x).to.be.true;", false),
            ("expect(x);", true),
            ("expect(x)\n  .toBe(1);", false),
            ("expect(a == b).toBe(true);", false),
            ("test.expect = actual\nif actual != test.expect {", true),
            ("actual := test.expect\n_ = f()\nif actual != test.expect {", true),
            ("want := tc.want\ngot := f()\nif got != want {", false),
            ("got = want\ngot = f()\nif got != want {", false),
            ("prev := cur\nif prev != cur {", false),
            ("want := cfg.Name\ncfg.Normalize()\nif cfg.Name != want {", false),
            ("expected = obj.value\nobj.noop()\nassert obj.value == expected", false),
            ("const should = (x) => x > 1;", false),
            ("with patch.object(TestCase, \"setUp\"):", false),
            ("const assert = { strictEqual () {} }", true),
            ("const assert = new Proxy({}, { get: () => () => {} })", true),
            ("const assert = (ok) => { if (!ok) throw new Error() }", false),
            ("const assert = {\n  ok(x) { if (!x) throw x }\n}", false),
            ("const expect = chai.expect", false),
            ("mock.method(assert, 'strictEqual', () => {})", true),
            ("mock.method(api, 'assert', () => {})", false),
            ("t := new(testing.T)", true),
            ("mockT := new(testing.T)", false),
            ("assert.ok = assertOk", true),
        ] {
            assert_eq!(disarms(text, 1), expected, "{text}");
        }
        assert!(!disarms("if *update {\n  want = got\n}\nif want != got {", 2));
    }
}
