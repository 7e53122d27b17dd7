//! TAP, the Test Anything Protocol, in its versions 12 to 14, with subtests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::matched_position;
use super::tap_point::{Point, is_about_subtests, is_file_without_tests, is_suite, member};
use crate::report::{Outcome, Places, Report, ReportError, TestCase};
use crate::tags::stories;
use crate::text;
use qa_contracts::ids::RepoPath;

/// Maximum nesting of subtests.
const MAX_DEPTH: usize = 16;
/// Part of the diagnostics of a failure that is searched for its place, in bytes.
const MAX_SEARCHED: usize = 64 << 10;
/// Indentation of a subtest.
const INDENT: &str = "    ";

static VERSION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^TAP [Vv]ersion (\d+)$").expect("a constant pattern"));
static PLAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^1\.\.(?<count>\d+)(?:\s+#\s*(?<reason>.*))?$").expect("a constant pattern")
});
static POINT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?<not>not )?ok(?:\s+(?<number>\d+))?(?:\s+(?:-\s+)?(?<rest>.*))?$")
        .expect("a constant pattern")
});
static PRAGMA: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^pragma\s+(?<switches>[-+].*)$").expect("a constant pattern"));
/// A failure of bats, which knows no tests that may fail and prints `#` of their names as it is.
static BATS_FAILURE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"in test file [^\n]+, line \d+").expect("a constant pattern"));
/// Number of failures behind the tests, as Node, tape, AVA and Mocha state it.
static FAILURES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^fail\s+(\d+)$").expect("a constant pattern"));
/// Places of failures, as bats, Perl and most others write them.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) in\ (?:test\ )?file\ (?<bats>[^,\n]+),\ line\ (?<bats_line>\d+)
        | \bat\ (?<perl>[^\s'"()]+)\ line\ (?<perl_line>\d+)
        | (?<path>(?:file://)?[^\s'"():]+\.\w+):(?<line>\d+)"#,
    )
    .expect("a constant pattern")
});

/// Sign between the name of a test and those around it.
const NESTED: &str = " > ";

/// Reads a report.
pub(crate) fn read_report(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let report = std::str::from_utf8(report).map_err(|_| ReportError::unreadable("it is not UTF-8"))?;
    if !report.ends_with('\n') {
        return Err(ReportError::Unfinished("its last line has no end".to_owned()));
    }
    let lines: Vec<Line<'_>> =
        (1..).zip(report.lines()).map(|(number, text)| Line { number, text }).collect();
    let mut level = Level::default();
    level.read_lines(&lines, &Context { places, names: &[] })?;
    let stated = level.stated_failures.saturating_sub(level.bare_todos);
    let mut tests = level.finish()?;
    if tests.is_empty() {
        return Err(ReportError::Nothing("it has no test".to_owned()));
    }
    let shown = tests.iter().filter(|test| test.outcome.fails()).count() as u64;
    // Writers that nest count the tests around a failure in other ways.
    let is_flat = !tests.iter().any(|test| test.id.contains(NESTED));
    let mut partial = None;
    if stated > shown && (shown == 0 || is_flat) {
        tests.push(hidden_failure(stated - shown));
        // The base may have as many others.
        partial = Some(format!("it states {stated} failures and shows {shown}"));
    }
    Ok(Report { tests, partial, ..Report::default() })
}

/// A line of the report; that of a subtest without its indentation.
#[derive(Clone, Copy)]
struct Line<'a> {
    number: usize,
    text: &'a str,
}

#[derive(Clone, Copy)]
struct Context<'a> {
    places: &'a Places<'a>,
    /// Names of the tests around this level, outer ones first.
    names: &'a [&'a str],
}

/// The tests of a report or of a subtest.
#[derive(Default)]
struct Level<'a> {
    /// Number of tests that the plan states.
    planned: Option<u64>,
    /// True once the plan was found behind a test, where nothing may follow it.
    is_closed: bool,
    /// True once its version was found.
    has_version: bool,
    /// True if lines that are not TAP are errors.
    is_strict: bool,
    numbers: BTreeSet<u64>,
    tests: Vec<TestCase>,
    /// Lines of a subtest whose own result has not come yet.
    subtest: Vec<Line<'a>>,
    /// Number of failures that the comments behind the tests state.
    stated_failures: u64,
    /// Number of tests that may fail and say nothing about a failure: AVA counts those that are not written yet.
    bare_todos: u64,
    /// The last test, if it is not ok, with what the report says about it.
    failure: Option<Failure<'a>>,
}

/// Diagnostics of a test that is not ok.
struct Failure<'a> {
    index: usize,
    /// Its id if what looks like a directive is part of its name.
    whole_id: String,
    comments: Vec<&'a str>,
}

impl<'a> Level<'a> {
    fn read_lines(&mut self, lines: &[Line<'a>], context: &Context<'_>) -> Result<(), ReportError> {
        let mut rest = lines.iter().copied().peekable();
        while let Some(line) = rest.next() {
            let shown = line.text.trim_end();
            if shown.is_empty() {
                continue;
            }
            if let Some(reason) = bail_out(shown) {
                let reason = text::name(reason, context.places);
                return Err(ReportError::Unfinished(format!("the tests bailed out: {reason}")));
            }
            if let Some(inner) = line.text.strip_prefix(INDENT) {
                self.subtest.push(Line { text: inner, ..line });
            } else if let Some(version) = VERSION.captures(shown) {
                self.read_version(&version[1], line.number)?;
            } else if let Some(plan) = PLAN.captures(shown) {
                self.read_plan(&plan, line.number)?;
                self.describe_failure(context);
            } else if let Some(point) = POINT.captures(shown) {
                self.describe_failure(context);
                let block = match rest.peek() {
                    Some(next) if next.text.trim_end() == "  ---" => yaml_block(&mut rest, line.number)?,
                    Some(_) | None => String::new(),
                };
                self.read_point(&point, &block, line.number, context)?;
                if !block.is_empty() {
                    self.describe_by_block(&block, context);
                }
            } else if let Some(comment) = shown.strip_prefix('#') {
                self.read_comment(comment.strip_prefix(' ').unwrap_or(comment), context);
            } else if let Some(pragma) = PRAGMA.captures(shown) {
                self.read_pragma(&pragma["switches"]);
            } else if self.is_strict {
                return Err(ReportError::unreadable(format!("line {}: it is no TAP", line.number)));
            }
        }
        self.describe_failure(context);
        if self.subtest.iter().any(|line| is_tap(line.text)) {
            return Err(ReportError::Unfinished("a subtest has no result".to_owned()));
        }
        Ok(())
    }

    /// Reads the version, before which there may be lines that are no TAP: those of the tool that ran the tests.
    fn read_version(&mut self, version: &str, number: usize) -> Result<(), ReportError> {
        if self.has_version || self.planned.is_some() || !self.numbers.is_empty() {
            return Err(ReportError::unreadable(format!(
                "line {number}: the version stands behind the beginning"
            )));
        }
        self.has_version = true;
        match version {
            "12" | "13" | "14" => Ok(()),
            other => Err(ReportError::unreadable(format!("it is TAP {other:?}, and 12 to 14 are read"))),
        }
    }

    fn read_pragma(&mut self, switches: &str) {
        for switch in switches.split(|character: char| character == ',' || character.is_whitespace()) {
            match switch {
                "+strict" => self.is_strict = true,
                "-strict" => self.is_strict = false,
                _ => {}
            }
        }
    }

    fn read_plan(&mut self, plan: &regex::Captures<'_>, number: usize) -> Result<(), ReportError> {
        if self.planned.is_some() {
            return Err(ReportError::Inconsistent(format!("line {number}: it has a second plan")));
        }
        let count = plan["count"].parse().map_err(|_| too_large(number))?;
        self.planned = Some(count);
        self.is_closed = !self.numbers.is_empty();
        Ok(())
    }

    fn read_point(
        &mut self,
        point: &regex::Captures<'_>,
        block: &str,
        number: usize,
        context: &Context<'_>,
    ) -> Result<(), ReportError> {
        if self.is_closed {
            return Err(ReportError::Inconsistent(format!("line {number}: a test follows the plan")));
        }
        let stated = match point.name("number") {
            Some(stated) => stated.as_str().parse().map_err(|_| too_large(number))?,
            None => self.numbers.len() as u64 + 1,
        };
        if !self.numbers.insert(stated) {
            return Err(ReportError::Inconsistent(format!(
                "line {number}: a second test has number {stated}"
            )));
        }
        let described = Point::new(point, stated);
        let inner = self.read_subtest(&described.name, context)?;
        let is_container =
            inner.is_some() || is_suite(block) || is_file_without_tests(&described.name, block);
        let inner = inner.unwrap_or_default();
        let inner_fails = inner.iter().any(|test| test.outcome.fails());
        if inner_fails && described.is_ok {
            let name = text::name(&described.name, context.places);
            return Err(ReportError::Inconsistent(format!("{name:?} is ok and has a subtest that is not")));
        }
        let stands_alone = inner.is_empty() || described.outcome == Outcome::Failed && !inner_fails;
        let excuses = described.outcome == Outcome::Skipped && !is_about_subtests(block);
        for mut test in inner {
            if excuses || described.outcome == Outcome::Skipped && !test.outcome.fails() {
                test.outcome = Outcome::Skipped;
            }
            self.tests.push(test);
        }
        if stands_alone {
            self.add_point(described, block, is_container, context);
        }
        Ok(())
    }

    /// Adds a test without subtests, or a suite that failed itself. A suite in which there is no test shows nothing.
    fn add_point(&mut self, point: Point, block: &str, is_container: bool, context: &Context<'_>) {
        if !point.is_ok {
            let whole_id = id(&point.whole_name, context);
            self.failure = Some(Failure { index: self.tests.len(), whole_id, comments: Vec::new() });
        }
        self.bare_todos += u64::from(!point.is_ok && point.outcome == Outcome::Skipped && block.is_empty());
        let mut test = test_case(point, context);
        if is_container && test.outcome == Outcome::Passed {
            test.outcome = Outcome::Skipped;
        }
        self.tests.push(test);
    }

    /// Reads the subtest that the test summarizes; `None` if the indented lines are something that a test printed.
    fn read_subtest(
        &mut self,
        name: &str,
        context: &Context<'_>,
    ) -> Result<Option<Vec<TestCase>>, ReportError> {
        let lines = std::mem::take(&mut self.subtest);
        if !lines.iter().any(|line| is_tap(line.text)) {
            return Ok(None);
        }
        let names: Vec<&str> = context.names.iter().copied().chain([name]).collect();
        if names.len() > MAX_DEPTH {
            return Err(ReportError::TooLarge(format!("subtests are nested deeper than {MAX_DEPTH}")));
        }
        let mut level = Level { is_strict: self.is_strict, ..Level::default() };
        level.read_lines(&lines, &Context { names: &names, ..*context })?;
        level.finish().map(Some)
    }

    fn read_comment(&mut self, comment: &'a str, context: &Context<'_>) {
        if let Some(stated) = FAILURES.captures(comment) {
            self.stated_failures = stated[1].parse().unwrap_or(u64::MAX);
        } else if comment.starts_with("Subtest: ") {
            self.describe_failure(context);
        } else if let Some(failure) = &mut self.failure {
            failure.comments.push(comment);
        }
    }

    /// Adds the comments behind a test that is not ok to it.
    fn describe_failure(&mut self, context: &Context<'_>) {
        let Some(failure) = self.failure.take() else { return };
        let text = failure.comments.join("\n");
        self.describe(failure, &text, &text, context);
    }

    /// Adds the block of YAML behind a test that is not ok to it.
    fn describe_by_block(&mut self, block: &str, context: &Context<'_>) {
        let Some(failure) = self.failure.take() else { return };
        let stated = member(block, "message").or_else(|| member(block, "error"));
        self.describe(failure, stated.as_deref().unwrap_or(block), block, context);
    }

    /// Adds a message to a test that failed, and the first place of the repository that its diagnostics name.
    fn describe(&mut self, failure: Failure<'_>, message: &str, diagnostics: &str, context: &Context<'_>) {
        let diagnostics = text::head(diagnostics, MAX_SEARCHED);
        let case = &mut self.tests[failure.index];
        if BATS_FAILURE.is_match(diagnostics) {
            (case.id, case.outcome) = (failure.whole_id, Outcome::Failed);
        }
        if !case.outcome.fails() {
            return;
        }
        case.message = Some(text::message(message, context.places)).filter(|message| !message.is_empty());
        if let Some((path, line)) = place_in(diagnostics, context.places) {
            (case.path, case.line) = (Some(path.into()), line);
        }
    }

    /// Returns the tests, if they are those of the plan.
    fn finish(self) -> Result<Vec<TestCase>, ReportError> {
        let found = self.numbers.len() as u64;
        let Some(planned) = self.planned else {
            return Err(ReportError::Unfinished(
                "it has no plan, which would say how many tests there are".to_owned(),
            ));
        };
        if found != planned {
            let problem = format!("its plan states {planned} tests and it has {found}");
            return Err(ReportError::Inconsistent(problem));
        }
        // Numbers are unique, so that these two bounds leave none out.
        if self.numbers.first() == Some(&0) || self.numbers.last().is_some_and(|&last| last > planned) {
            return Err(ReportError::Inconsistent(format!(
                "a test has a number beyond its plan of {planned}"
            )));
        }
        Ok(self.tests)
    }
}

fn test_case(point: Point, context: &Context<'_>) -> TestCase {
    let names = context.names.iter().copied().chain([point.name.as_str()]);
    TestCase {
        id: id(&point.name, context),
        outcome: point.outcome,
        path: None,
        line: None,
        message: point
            .reason
            .filter(|reason| !reason.is_empty())
            .map(|reason| text::message(&reason, context.places)),
        attempts: 1,
        stories: stories(names),
        attachments: Vec::new(),
    }
}

/// Stands for failures that directives excuse and the writer counts: tape and AVA print `#` of names as it is.
fn hidden_failure(count: u64) -> TestCase {
    TestCase {
        id: "(report)".to_owned(),
        outcome: Outcome::Errored,
        path: None,
        line: None,
        message: Some(format!(
            "it states {count} more failures than it shows; a name may look like a directive"
        )),
        attempts: 1,
        stories: Vec::new(),
        attachments: Vec::new(),
    }
}

fn id(name: &str, context: &Context<'_>) -> String {
    let names: Vec<&str> = context.names.iter().copied().chain([name]).collect();
    text::name(&names.join(NESTED), context.places)
}

fn place_in(said: &str, places: &Places<'_>) -> Option<(RepoPath, Option<u32>)> {
    PLACE.captures_iter(said).find_map(|found| {
        let kinds = [("bats", "bats_line"), ("perl", "perl_line"), ("path", "line")];
        let (path, line) = kinds.into_iter().find_map(|(path, line)| Some((found.name(path)?, line)))?;
        Some((text::uri_path(path.as_str(), places)?, matched_position(&found, line)))
    })
}

/// Returns the block of YAML that begins with the next line.
fn yaml_block<'a>(lines: &mut impl Iterator<Item = Line<'a>>, number: usize) -> Result<String, ReportError> {
    let mut block = String::new();
    for line in lines.skip(1) {
        if line.text.trim_end() == "  ..." {
            return Ok(block);
        }
        if PLAN.is_match(line.text) || POINT.is_match(line.text) {
            break;
        }
        block.push_str(line.text.strip_prefix("  ").unwrap_or(line.text));
        block.push('\n');
    }
    Err(ReportError::Unfinished(format!("the block behind line {number} has no end")))
}

/// Returns the reason if the line, of any subtest, ends all tests.
fn bail_out(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let word = line.get(.."Bail out!".len())?;
    word.eq_ignore_ascii_case("Bail out!").then(|| line[word.len()..].trim())
}

fn is_tap(line: &str) -> bool {
    let line = line.trim_end();
    PLAN.is_match(line) || POINT.is_match(line) || line.strip_prefix(INDENT).is_some_and(is_tap)
}

fn too_large(line: usize) -> ReportError {
    ReportError::unreadable(format!("line {line}: a number is too large"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(report: &str) -> Result<Vec<String>, &'static str> {
        let places = Places { roots: &[], directory: "", module: "" };
        let read = read_report(report.as_bytes(), &places).map_err(|error| error.kind())?;
        let one = |test: &TestCase| {
            let path = test.path.as_ref().map(|path| format!(" at {path}:{}", test.line.unwrap_or(0)));
            let said = test.message.as_deref().map(|said| format!(" | {said}"));
            format!(
                "{} {}{}{}",
                test.outcome.as_str(),
                test.id,
                path.unwrap_or_default(),
                said.unwrap_or_default()
            )
        };
        Ok(read.tests.iter().map(one).collect())
    }

    #[test]
    fn tests_end_as_their_lines_say() {
        let cases: &[(&str, &[&str])] = &[
            ("1..2\nok 1 - one\nok\n", &["passed one", "passed test 2"]),
            ("TAP version 13\nok one\nnot ok two\n1..2\n", &["passed one", "failed two"]),
            ("TAP version 14\n1..2\nok 2 - two\nok 1 - one\n", &["passed two", "passed one"]),
            ("1..1\nok 1 - one # SKIP no net\n", &["skipped one | no net"]),
            ("1..1\nok 1 # skip\n", &["skipped test 1"]),
            ("1..1\nnot ok 1 - one # TODO later\n", &["skipped one | later"]),
            // An unexpected success of a test that may fail shows nothing: many of them have no body.
            ("1..1\nok 1 - one # TODO\n", &["skipped one"]),
            ("1..1\nnot ok 1 - counts \\# todo items\n", &["failed counts # todo items"]),
            ("1..1\nnot ok 1 - one # skipping lines\n", &["failed one # skipping lines"]),
            ("1..1\nnot ok 1 - one#todo later\n", &["failed one#todo later"]),
            ("1..1\nnot ok 1 - one \\\\# todo\n", &["failed one \\# todo"]),
            ("1..1\nnot ok 1 # SKIP\n", &["skipped test 1"]),
            // The stem is enough for a test that passes.
            (
                "1..3\nok 1 - one # skipped no net\nok 2 two#TODO\nok 3 - \\# skip\n",
                &["skipped one | no net", "skipped two", "passed # skip"],
            ),
            // Of bats, which prints names as they are.
            (
                "1..2\nnot ok 1 counts # todo items\n# (in test file a.bats, line 1)\n#   `false' failed\nnot ok 2 skips # skip it\n  ---\n  message: |\n    (in test file a.bats, line 2)\n      `false' failed\n  ...\n",
                &[
                    "failed counts # todo items at a.bats:1 | (in test file a.bats, line 1)\n  `false' failed",
                    "failed skips # skip it at a.bats:2 | (in test file a.bats, line 2)\n  `false' failed",
                ],
            ),
            (
                "1..1\nnot ok 1 - one # TODO later\n#   Failed (TODO) test 'one'\n#   at t.pl line 5.\n",
                &["skipped one | later"],
            ),
            // Of tape and AVA, which print names as they are and count failures.
            (
                "TAP version 13\n# a\nnot ok 1 eq # todo x\n  ---\n  operator: equal\n  ...\nok 2 b\n1..2\n# tests 2\n# pass  1\n# fail  1\n",
                &[
                    "skipped eq | x",
                    "passed b",
                    "errored (report) | it states 1 more failures than it shows; a name may look like a directive",
                ],
            ),
            (
                "TAP version 13\nnot ok 1 - later # TODO\nok 2 - one\n1..2\n# tests 1\n# pass 1\n# fail 1\n",
                &["skipped later", "passed one"],
            ),
            (
                "1..2\nnot ok 1 may fail # TODO\n  ---\n  operator: fail\n  ...\nok 2 b\n# fail 0\n",
                &["skipped may fail", "passed b"],
            ),
            // The runner of the tests prints a banner first.
            ("\n> demo@1.0.0 test\n> node --test\n\nTAP version 13\nok 1 - one\n1..1\n", &["passed one"]),
            ("pragma +strict, -bail\npragma -strict\n1..1\nprinted\nok 1 - one\n", &["passed one"]),
            (
                "1..1\nnot ok 1 - one\n# (in test file a/sum.bats, line 7)\n#   `[ 3 = 4 ]' failed\n",
                &["failed one at a/sum.bats:7 | (in test file a/sum.bats, line 7)\n  `[ 3 = 4 ]' failed"],
            ),
            (
                "1..2\nnot ok 1 - one\n  ---\n  error: '1 == 2'\n  stack: |-\n    run (node:internal/x:1:2)\n    at file:///github/workspace/a.mjs:2:75\n  ...\nok 2\n",
                &["failed one at a.mjs:2 | 1 == 2", "passed test 2"],
            ),
            // Output of a test is no subtest, unless it looks like one.
            ("1..1\nprinted\n    printed\nok 1 - one\n", &["passed one"]),
        ];
        for (report, expected) in cases {
            assert_eq!(shown(report).as_deref(), Ok(&expected.map_to_owned()[..]), "{report}");
        }
    }

    #[test]
    fn a_subtest_counts_by_its_own_tests() {
        let cases: &[(&str, &[&str])] = &[
            (
                "# Subtest: cart\n    ok 1 - adds\n    not ok 2 - takes\n    1..2\nnot ok 1 - cart\n1..1\n",
                &["passed cart > adds", "failed cart > takes"],
            ),
            // The hook of a suite failed and none of its tests.
            ("    1..1\n    ok 1 - adds\nnot ok 1 - cart\n1..1\n", &["passed cart > adds", "failed cart"]),
            (
                "        1..1\n        ok 1 - c\n    ok 1 - b\n    1..1\nok 1 - a\n1..1\n",
                &["passed a > b > c"],
            ),
            ("    1..0 # SKIP no net\nok 1 - cart # SKIP no net\n1..1\n", &["skipped cart | no net"]),
            ("    1..1\n    not ok 1 - adds\nnot ok 1 - cart # TODO\n1..1\n", &["skipped cart > adds"]),
            // Of Node 20, which fails then; later versions mark both.
            (
                "    1..2\n    not ok 1 - adds\n    ok 2 - takes\nnot ok 1 - cart # TODO\n  ---\n  failureType: 'subtestsFailed'\n  ...\n1..1\n",
                &["failed cart > adds", "skipped cart > takes"],
            ),
            // There is no test in any of these.
            ("    1..0\nok 1 - cart\n1..1\n", &["skipped cart"]),
            ("    1..0 # SKIP no net\nok 1 - cart\n1..1\n", &["skipped cart"]),
            ("ok 1 - cart\n  ---\n  type: 'suite'\n  ...\n1..1\n", &["skipped cart"]),
            ("ok 1 - a.test.mjs\n  ---\n  duration_ms: 9\n  ...\n1..1\n", &["skipped a.test.mjs"]),
            // A linter reports files, and a suite may fail without a test.
            ("ok 1 - a.js\n1..1\n", &["passed a.js"]),
            ("not ok 1 - cart\n  ---\n  type: 'suite'\n  ...\n1..1\n", &["failed cart | type: 'suite'"]),
        ];
        for (report, expected) in cases {
            assert_eq!(shown(report).as_deref(), Ok(&expected.map_to_owned()[..]), "{report}");
        }
    }

    trait Owned {
        fn map_to_owned(&self) -> Vec<String>;
    }

    impl Owned for &[&str] {
        fn map_to_owned(&self) -> Vec<String> {
            self.iter().map(|&text| text.to_owned()).collect()
        }
    }

    #[test]
    fn a_report_that_is_not_whole_or_contradicts_itself_is_none() {
        let cases = [
            ("ok 1\n", "unfinished"),
            ("1..2\nok 1\n", "inconsistent"),
            ("1..1\nok 1\nok 2\n", "inconsistent"),
            ("1..2\nok 1\nok 1\n", "inconsistent"),
            ("1..2\nok 0\nok 1\n", "inconsistent"),
            ("1..2\nok 1\nok 3\n", "inconsistent"),
            ("1..1\nok 1\n1..1\n", "inconsistent"),
            ("ok 1\n1..2\nok 2\n", "inconsistent"),
            ("1..1\nok 1", "unfinished"),
            ("1..2\nok 1\nBail out! no database\n", "unfinished"),
            ("1..1\n    1..1\n    bail out!\nok 1\n", "unfinished"),
            ("1..0 # SKIP no perl\n", "nothing"),
            ("1..0\nok 1\n", "inconsistent"),
            ("1..1\nnot ok 1\n  ---\n  error: x\n", "unfinished"),
            ("TAP version 15\n1..1\nok 1\n", "unreadable"),
            ("TAP version 13\n1..1\nok 1\nTAP version 13\n", "unreadable"),
            ("TAP version 13\nTAP version 13\n1..1\nok 1\n", "unreadable"),
            ("ok 1\nTAP version 13\n1..1\n", "unreadable"),
            ("pragma +bail +strict\n    garbage\n    1..1\n    ok 1\nok 1\n1..1\n", "unreadable"),
            // The end of a block is missing, and that of the next one is not its own.
            ("1..1\nok 1\n  ---\n  a: 1\nnot ok 2\n  ---\n  b: 1\n  ...\n", "unfinished"),
            ("pragma +strict\n1..1\nok 1\ngarbage\n", "unreadable"),
            ("1..99999999999999999999\n", "unreadable"),
            // A subtest without a plan, one that contradicts its result, and one without a result.
            ("    ok 1\nok 1\n1..1\n", "unfinished"),
            ("    1..1\n    not ok 1\nok 1\n1..1\n", "inconsistent"),
            ("    1..1\n    not ok 1\nok 1 # SKIP\n1..1\n", "inconsistent"),
            ("1..1\nok 1\n    1..1\n    not ok 1\n", "unfinished"),
            ("garbage\n", "unfinished"),
        ];
        for (report, expected) in cases {
            assert_eq!(shown(report), Err(expected), "{report}");
        }
        let deep: String = (0..40).rev().map(|depth| format!("{}ok 1\n", "    ".repeat(depth))).collect();
        assert_eq!(shown(&deep), Err("too-large"));
    }
}
