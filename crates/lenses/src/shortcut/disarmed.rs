//! Statements of tests that take the teeth out of an assertion: without a matcher, against itself, under a variable of the
//! environment, or with the library of assertions replaced.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::ops::Range;

use super::WEAKENED;
use super::statements::{Changed, Statements};
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_contracts::v1::Side;
use qa_core::packet::Packet;
use qa_reading::names::joins;
use qa_reading::work;

/// An expectation that is compared like a value, or that nothing follows.
static BARE: Pattern =
    Pattern::new(r"^\s*expect\s*(?:\(.*\)|\{.*\})\s*(?:(?:={2,3}|!=|=~|<=?|>=?)\s*\S.*|;?\s*)$");
/// Words behind which an expectation has a matcher.
static MATCHED: Pattern = Pattern::new(r"[)}]\s*\??(?:\.|->)\w|\.(?:to|not_to|to_not|should|not)\b");
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
/// The code that such a statement runs.
static RUN: Pattern = Pattern::new(
    r"(?:\bexpect|\bassert_nothing_raised)\s*(?:\{|do\b)\s*(.+?)\s*(?:\}|\bend\b)|[=-]>\s*\{?\s*(?:return\s+|await\s+)*(.+?)\s*\}?\s*\)\s*(?:\.not\b|;|$)",
);
/// Signs behind a condition.
const ENDS: &[char] = &['{', ':', ';', ')', ' '];
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
static LOOSE_CALL: Pattern =
    Pattern::new(r"(?:\bassert\.|(?:^|[^\w.]))(?:deepEqual|equal|notDeepEqual|notEqual)\(");

/// Number of statements behind an assignment in which its two sides are compared.
const STATEMENTS_BEHIND: usize = 6;
/// Number of lines before an assignment that may say that it writes down what is expected.
const LINES_BEFORE: usize = 4;
/// Values of one hunk that are looked for in its other assertions; those beyond count as no longer compared.
const MOST_VALUES: usize = 64;

/// Returns whether the whole of a file may show more than its lines: a statement may stand on several.
pub(super) fn may_disarm(packet: &Packet<'_>) -> bool {
    packet.added().any(|line| !line.text.trim().is_empty())
}

/// Adds the statements of a file of tests that take the teeth out of an assertion, unless something is known of them.
pub(super) fn add(packet: &Packet<'_>, drafts: &mut Vec<Draft>) {
    let known = drafts.iter().filter(|known| known.rule == WEAKENED && known.side == Side::Head);
    let mut known: BTreeSet<u64> = known.map(|known| known.start_line).collect();
    let new = inspect(packet).into_iter().filter(|draft| known.insert(draft.start_line));
    drafts.extend(new);
}

/// Returns the statements of a file of tests that take the teeth out of an assertion.
fn inspect(packet: &Packet<'_>) -> Vec<Draft> {
    let base = Statements::at_base(packet);
    let head = Statements::at_head(packet);
    let is_loose = LazyCell::new(|| head.text().lines().any(|line| LOOSE_CALL.is_match(line)));
    let mut drafts = Vec::new();
    for hunk in packet.hunks() {
        let removed: Vec<String> = match &base {
            Some(base) => {
                base.on(hunk.removed()).into_iter().map(|found| base.written(found.position)).collect()
            }
            None => hunk.removed().map(|line| line.text.trim().to_owned()).collect(),
        };
        let added: Vec<Changed<'_>> = head.on(hunk.added());
        let texts: Vec<String> = added.iter().map(|found| head.written(found.position)).collect();
        let mut gone = Gone::new(&removed, &texts);
        for (found, text) in added.iter().zip(&texts).filter(|(_, text)| !is_comment(text)) {
            if gone.texts.contains(text.as_str()) {
                continue;
            }
            let summary = of_statement(&head, found.position, text)
                .or_else(|| gone.beside(text))
                .or_else(|| gone.loosens(text).filter(|_| *is_loose));
            let columns = columns(found.line.text);
            drafts.extend(
                summary.map(|summary| Draft::on_line(WEAKENED, packet, &found.line, columns, summary)),
            );
        }
    }
    drafts
}

fn columns(line: &str) -> Range<usize> {
    let start = line.len() - line.trim_start().len();
    start..line.trim_end().len().max(start)
}

fn is_comment(line: &str) -> bool {
    ["//", "#", "*", "/*"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// Returns what a statement does to assertions, whatever stood there before.
fn of_statement(head: &Statements, position: usize, text: &str) -> Option<&'static str> {
    if head.is_whole() && BARE.is_match(text) && !MATCHED.is_match(text) && !compares_arguments(text) {
        return Some("expectation has no matcher, so it holds whatever the code does");
    }
    if REPLACED.is_match(text) {
        return Some("a function that asserts is replaced");
    }
    if HANDLE.is_match(text) {
        return Some("assertions are told to a test that nobody runs");
    }
    if STUB.is_match(text) {
        return (!FAILS.is_match(text))
            .then_some("the library of assertions is replaced by one that fails nothing");
    }
    compares_with_itself(head, position, text).then_some("the expected value is made from the actual one")
}

/// Returns whether the first call of a statement may compare its arguments by itself, as that of unexpected does:
/// `expect(a, "to be", b)`. A second argument that is any other text is the message of a failure.
fn compares_arguments(text: &str) -> bool {
    const ASSERTIONS: &[&str] = &["not to ", "to ", "was ", "when "];
    match arguments(text).as_slice() {
        [] | [_] => false,
        [_, second] => match second.strip_prefix(['"', '\'', '`']) {
            Some(message) => ASSERTIONS.iter().any(|begin| message.starts_with(begin)),
            None => !second.is_empty(),
        },
        [_, _, _, ..] => true,
    }
}

/// Returns the arguments of the first call of a text.
fn arguments(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut is_escaped, mut begin) = (0_usize, None, false, 0);
    let mut arguments = Vec::new();
    for (at, sign) in text.char_indices() {
        match (quote, sign) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if open == sign => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(sign),
            (None, '(' | '[' | '{') => {
                depth += 1;
                begin = if depth == 1 { at + 1 } else { begin };
            }
            (None, ')' | ']' | '}') if depth == 1 => {
                arguments.push(text[begin..at].trim());
                return arguments;
            }
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 1 => {
                arguments.push(text[begin..at].trim());
                begin = at + 1;
            }
            (None, _) => {}
        }
    }
    arguments
}

/// Returns whether a statement gives the expected value to the actual one, or the other way round, and the two are
/// compared right behind it.
fn compares_with_itself(head: &Statements, position: usize, text: &str) -> bool {
    let Some(groups) = ASSIGNED.captures(text) else { return false };
    let (left, right) = (&groups[1], &groups[2]);
    // A name that a test keeps a value in before it acts, such as `want := cfg.Name`, is no expectation of the author.
    let is_given = EXPECTED.is_match(left) && left.contains('.') && !EXPECTED.is_match(right);
    let is_expected = is_given || EXPECTED.is_match(right) && !EXPECTED.is_match(left);
    if !is_expected || head.lines_before(position, LINES_BEFORE).any(|line| RECORDS.is_match(line)) {
        return false;
    }
    let behind = (position + 1..head.len()).take(STATEMENTS_BEHIND).map(|behind| head.written(behind));
    let mut until_changed = behind.take_while(|next| !assigns(next, left) && !assigns(next, right));
    until_changed.any(|next| CHECKS.is_match(&next) && holds(&next, left) && holds(&next, right))
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

/// The removed statements of a hunk, indexed by what added ones are held to.
struct Gone<'s> {
    texts: BTreeSet<&'s str>,
    /// Set where one has a matcher that takes not every value.
    has_matcher: bool,
    /// Set where one loads the strict library.
    is_strict: bool,
    /// Values that one compares.
    values: BTreeSet<String>,
    /// Conditions and assertions without a look at the environment, without their last signs.
    conditions: BTreeSet<&'s str>,
    /// Added statements that compare something.
    checks: Vec<&'s str>,
    /// Values that were looked for among those so far.
    looked_for: usize,
}

impl<'s> Gone<'s> {
    fn new(removed: &'s [String], added: &'s [String]) -> Self {
        let conditions = removed.iter().filter(|old| CHECKS.is_match(old) && !ENVIRONMENT.is_match(old));
        let checks = added.iter().filter(|new| CHECKS.is_match(new) && !RAISES_NOTHING.is_match(new));
        Self {
            texts: removed.iter().map(String::as_str).collect(),
            has_matcher: removed.iter().any(|old| MATCHER.is_match(old) && !ANYTHING.is_match(old)),
            is_strict: removed.iter().any(|old| STRICT.is_match(old)),
            values: removed.iter().filter_map(|old| Some(SUBJECT.captures(old)?[1].to_owned())).collect(),
            conditions: conditions.map(|old| old.trim().trim_end_matches(ENDS)).collect(),
            checks: checks.map(String::as_str).collect(),
            looked_for: 0,
        }
    }

    /// Returns what an added statement does to an assertion that a removed one had.
    fn beside(&mut self, text: &str) -> Option<&'static str> {
        work::count();
        if ANYTHING.is_match(text) && self.has_matcher {
            return Some("assertion holds whatever the code does");
        }
        if RAISES_NOTHING.is_match(text) {
            return self.is_lost(text).then_some("value is no longer compared, only that nothing is raised");
        }
        let is_conditional = ENVIRONMENT.is_match(text) && self.is_made_conditional(text);
        is_conditional.then_some("assertion holds only where a variable of the environment says so")
    }

    /// Returns whether a statement that asks for no failure runs an expression that a removed one compared, and that no
    /// other added one does.
    fn is_lost(&mut self, text: &str) -> bool {
        let Some(run) = RUN.captures(text) else { return false };
        let whole = run.first_group().map_or("", |run| run.as_str().trim().trim_end_matches(';'));
        let parts = [Some(whole), whole.rsplit_once(" = ").map(|(_, value)| value)];
        let mut parts = parts.into_iter().flatten();
        let Some(value) = parts.find(|part| self.values.contains(*part)) else { return false };
        self.looked_for += 1;
        self.looked_for > MOST_VALUES
            || !self.checks.iter().any(|other| {
                work::count();
                other.contains(value)
            })
    }

    /// Returns whether a statement is a removed one with a condition behind it.
    fn is_made_conditional(&self, text: &str) -> bool {
        let words = ["&&", "and ", "if ", "unless "].iter().flat_map(|word| text.match_indices(word));
        let mut before = words.map(|(at, _)| text[..at].trim_end_matches(ENDS));
        before.any(|before| {
            work::count();
            self.conditions.contains(before)
        })
    }

    /// Returns what a statement does that loads the loose library in the place of the strict one.
    fn loosens(&self, text: &str) -> Option<&'static str> {
        (self.is_strict && LOOSE.is_match(text)).then_some("assertions compare less strictly than before")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_reading::syntax::{Language, ParsedSource};

    #[test]
    fn only_a_call_that_compares_its_arguments_needs_no_matcher() {
        for (text, expected) in [
            ("expect(a, \"to be\", b)", true),
            ("expect(run(), 'when fulfilled', 'to equal', [1, 2])", true),
            ("expect(a(), b)", true),
            ("expect(spy, 'was called once')", true),
            ("expect(a(), 'items')", false),
            ("expect(a(),)", false),
            ("expect(a.items) == [1, 2]", false),
            ("expect(a.items) == b.items(1, 2)", false),
            ("expect([1, 2])", false),
            ("expect(", false),
        ] {
            assert_eq!(compares_arguments(text), expected, "{text}");
        }
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [
            &BARE,
            &MATCHED,
            &ANYTHING,
            &MATCHER,
            &SUBJECT,
            &RAISES_NOTHING,
            &RUN,
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

    /// Returns whether a statement of a text is one that disarms, of which it tells by itself.
    fn disarms(language: Language, text: &str) -> bool {
        let source = ParsedSource::parse(language, text, None).unwrap();
        let head = Statements::new(&source);
        (0..head.len()).any(|position| of_statement(&head, position, &head.written(position)).is_some())
    }

    #[test]
    fn statements_that_disarm_are_told_from_honest_ones() {
        use Language::{Go, JavaScript, Python, Ruby};
        for (language, text, expected) in [
            (Ruby, "expect(x) == y", true),
            (Ruby, "expect { f }; y", true),
            (JavaScript, "expect(f(a, b))", true),
            (JavaScript, "expect(f(a), b)", false),
            (JavaScript, "expect(f(\"[\"), 'to be', b);", false),
            (Ruby, "expect(f(x)).to eq(y)", false),
            (JavaScript, "expect(x).to.be.true;", false),
            (JavaScript, "expect(x);", true),
            (JavaScript, "expect(x)\n  .toBe(1);", false),
            (JavaScript, "expect(\n  x,\n);", true),
            (JavaScript, "expect(a == b).toBe(true);", false),
            (Go, "test.expect = actual\nif actual != test.expect {\n}", true),
            (Go, "actual := test.expect\n_ = f()\nif actual != test.expect {\n}", true),
            (Go, "want := tc.want\ngot := f()\nif got != want {\n}", false),
            (Go, "got = want\ngot = f()\nif got != want {\n}", false),
            (Go, "prev := cur\nif prev != cur {\n}", false),
            (Go, "want := cfg.Name\ncfg.Normalize()\nif cfg.Name != want {\n}", false),
            (Go, "if *update {\n\twant = got\n}\nif want != got {\n}", false),
            (Python, "expected = obj.value\nobj.noop()\nassert obj.value == expected", false),
            (JavaScript, "actual =\n  expected;\nassert.equal(\n  actual,\n  expected,\n);", true),
            (JavaScript, "const should = (x) => x > 1;", false),
            (Python, "with patch.object(TestCase, \"setUp\"):\n    f()", false),
            (JavaScript, "const assert = { strictEqual () {} }", true),
            (JavaScript, "const assert = {\n  strictEqual() {},\n};", true),
            (JavaScript, "const assert = new Proxy({}, { get: () => () => {} })", true),
            (JavaScript, "const assert = (ok) => { if (!ok) throw new Error() }", false),
            (JavaScript, "const assert = {\n  ok(x) { if (!x) throw x }\n}", false),
            (JavaScript, "const expect = chai.expect", false),
            (JavaScript, "mock.method(assert, 'strictEqual', () => {})", true),
            (JavaScript, "mock.method(\n  assert,\n  'strictEqual',\n  () => {},\n)", true),
            (JavaScript, "mock.method(api, 'assert', () => {})", false),
            (Go, "t := new(testing.T)", true),
            (Go, "mockT := new(testing.T)", false),
            (JavaScript, "assert.ok = assertOk", true),
        ] {
            let inside = format!("package a\n\nfunc f() {{\n{text}\n}}\n");
            let text = if language == Go { inside } else { text.to_owned() };
            assert_eq!(disarms(language, &text), expected, "{text}");
        }
    }

    /// Returns the statement of a number.
    #[cfg(debug_assertions)]
    type Written = fn(usize) -> String;

    /// Returns the number of looks that a hunk takes whose statements are all rewritten.
    #[cfg(debug_assertions)]
    fn work_of(size: usize, old: Written, new: Written) -> usize {
        let [removed, added] = [old, new].map(|text| (0..size).map(text).collect::<Vec<String>>());
        let begin = work::counted();
        let mut gone = Gone::new(&removed, &added);
        for text in &added {
            gone.beside(text);
        }
        work::counted() - begin
    }

    #[test]
    #[cfg(debug_assertions)]
    fn work_grows_with_a_rewritten_hunk_and_not_with_its_square() {
        let hunks: [(Written, Written); 2] = [
            (
                |at| format!("expect(f({at})).to eq(1)"),
                |at| match at % 2 {
                    0 => format!("expect {{ f({at}) }}.not_to raise_error"),
                    _ => format!("assert_equal 1, g({at})"),
                },
            ),
            (|at| format!("assert f({at})"), |at| format!("assert f({at}) if ENV['A']")),
        ];
        for (old, new) in hunks {
            let [once, twice] = [500, 1_000].map(|size| work_of(size, old, new));
            assert!(once >= 500, "looks are not counted: {once}");
            assert!(twice <= once * 9 / 4 + 500, "{once} {twice}");
        }
    }

    #[test]
    fn a_value_beyond_the_bound_counts_as_no_longer_compared() {
        let removed: Vec<String> = (0..=MOST_VALUES).map(|at| format!("expect(f({at})).to eq(1)")).collect();
        let mut added: Vec<String> =
            (0..=MOST_VALUES).map(|at| format!("expect {{ f({at}) }}.not_to raise_error")).collect();
        added.extend((0..=MOST_VALUES).map(|at| format!("assert_equal 1, f({at})")));
        let mut gone = Gone::new(&removed, &added);
        let found: Vec<bool> = added[..=MOST_VALUES].iter().map(|text| gone.beside(text).is_some()).collect();
        assert_eq!(found.iter().filter(|found| **found).count(), 1);
        assert!(found[MOST_VALUES]);
    }
}
