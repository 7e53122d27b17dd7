//! TAP, the Test Anything Protocol, in its versions 12 to 14, with subtests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::matched_position;
use crate::report::{Outcome, Places, Report, ReportError, TestCase};
use crate::tags::stories;
use crate::text;
use qa_contracts::ids::RepoPath;
use qa_reading::documents::{Document, Format};

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
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[^\\])#\s*(?<word>skip|todo)(?:[\s:]\s*(?<reason>.*))?$")
        .expect("a constant pattern")
});
/// Places of failures, as bats, Perl and most others write them.
static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?x) in\ (?:test\ )?file\ (?<bats>[^,\n]+),\ line\ (?<bats_line>\d+)
        | \bat\ (?<perl>[^\s'"()]+)\ line\ (?<perl_line>\d+)
        | (?<path>(?:file://)?[^\s'"():]+\.\w+):(?<line>\d+)"#,
    )
    .expect("a constant pattern")
});

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
    let tests = level.finish()?;
    if tests.is_empty() {
        return Err(ReportError::Nothing("it has no test".to_owned()));
    }
    Ok(Report { tests, ..Report::default() })
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
    /// True if lines that are not TAP are errors.
    is_strict: bool,
    numbers: BTreeSet<u64>,
    tests: Vec<TestCase>,
    /// Lines of a subtest whose own result has not come yet.
    subtest: Vec<Line<'a>>,
    /// The last test, if it failed, with what the report says about it.
    failure: Option<Failure<'a>>,
}

/// Diagnostics of a test that failed.
struct Failure<'a> {
    index: usize,
    comments: Vec<&'a str>,
}

impl<'a> Level<'a> {
    fn read_lines(&mut self, lines: &[Line<'a>], context: &Context<'_>) -> Result<(), ReportError> {
        let mut rest = lines.iter().copied().peekable();
        let mut is_first = true;
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
                check_version(&version[1], is_first, line.number)?;
            } else if let Some(plan) = PLAN.captures(shown) {
                self.read_plan(&plan, line.number)?;
                self.describe_failure(context);
            } else if let Some(point) = POINT.captures(shown) {
                self.describe_failure(context);
                self.read_point(&point, line.number, context)?;
                if rest.peek().is_some_and(|next| next.text.trim_end() == "  ---") {
                    let block = yaml_block(&mut rest, line.number)?;
                    self.describe_by_block(&block, context);
                }
            } else if let Some(comment) = shown.strip_prefix('#') {
                self.read_comment(comment.strip_prefix(' ').unwrap_or(comment), context);
            } else if shown == "pragma +strict" {
                self.is_strict = true;
            } else if self.is_strict && !shown.starts_with("pragma ") {
                return Err(ReportError::unreadable(format!("line {}: it is no TAP", line.number)));
            }
            is_first = false;
        }
        self.describe_failure(context);
        if self.subtest.iter().any(|line| is_tap(line.text)) {
            return Err(ReportError::Unfinished("a subtest has no result".to_owned()));
        }
        Ok(())
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
        let inner_fails = inner.iter().any(|test| test.outcome.fails());
        if inner_fails && described.outcome == Outcome::Passed {
            let name = text::name(&described.name, context.places);
            return Err(ReportError::Inconsistent(format!("{name:?} is ok and has a subtest that is not")));
        }
        let stands_alone = inner.is_empty() || described.outcome == Outcome::Failed && !inner_fails;
        for mut test in inner {
            if described.outcome == Outcome::Skipped {
                test.outcome = Outcome::Skipped;
            }
            self.tests.push(test);
        }
        if stands_alone {
            if described.outcome.fails() {
                self.failure = Some(Failure { index: self.tests.len(), comments: Vec::new() });
            }
            self.tests.push(described.test_case(context));
        }
        Ok(())
    }

    /// Reads the subtest that the test summarizes; it has none if the indented lines are something that a test printed.
    fn read_subtest(&mut self, name: &str, context: &Context<'_>) -> Result<Vec<TestCase>, ReportError> {
        let lines = std::mem::take(&mut self.subtest);
        if !lines.iter().any(|line| is_tap(line.text)) {
            return Ok(Vec::new());
        }
        let names: Vec<&str> = context.names.iter().copied().chain([name]).collect();
        if names.len() > MAX_DEPTH {
            return Err(ReportError::TooLarge(format!("subtests are nested deeper than {MAX_DEPTH}")));
        }
        let mut level = Level::default();
        level.read_lines(&lines, &Context { names: &names, ..*context })?;
        level.finish()
    }

    fn read_comment(&mut self, comment: &'a str, context: &Context<'_>) {
        if comment.starts_with("Subtest: ") {
            self.describe_failure(context);
        } else if let Some(failure) = &mut self.failure {
            failure.comments.push(comment);
        }
    }

    /// Adds the comments behind a failed test to it.
    fn describe_failure(&mut self, context: &Context<'_>) {
        let Some(Failure { index, comments }) = self.failure.take() else { return };
        let text = comments.join("\n");
        describe(&mut self.tests[index], &text, &text, context);
    }

    /// Adds the block of YAML behind a failed test to it.
    fn describe_by_block(&mut self, block: &str, context: &Context<'_>) {
        let Some(Failure { index, .. }) = self.failure.take() else { return };
        let document = Document::parse(Format::Yaml, block).ok();
        let stated = document.as_ref().and_then(|document| {
            let keys = ["message", "error"].into_iter();
            keys.filter_map(|key| document.root().get(key)?.text().map(str::to_owned)).next()
        });
        describe(&mut self.tests[index], stated.as_deref().unwrap_or(block), block, context);
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

/// A test's line.
struct Point {
    name: String,
    outcome: Outcome,
    /// Reason of a test that was skipped or may fail.
    reason: Option<String>,
}

impl Point {
    fn new(point: &regex::Captures<'_>, number: u64) -> Self {
        let rest = point.name("rest").map_or("", |rest| rest.as_str());
        let directive = DIRECTIVE.captures(rest);
        let end = directive
            .as_ref()
            .and_then(|found| found.get(0))
            .map_or(rest.len(), |found| found.start() + rest[found.start()..].find('#').unwrap_or(0));
        let name = rest[..end].trim().replace("\\#", "#");
        let outcome = match (&directive, point.name("not")) {
            (Some(_), _) => Outcome::Skipped,
            (None, Some(_)) => Outcome::Failed,
            (None, None) => Outcome::Passed,
        };
        Self {
            name: if name.is_empty() { format!("test {number}") } else { name },
            outcome,
            reason: directive.and_then(|found| Some(found.name("reason")?.as_str().trim().to_owned())),
        }
    }

    fn test_case(self, context: &Context<'_>) -> TestCase {
        let names: Vec<&str> = context.names.iter().copied().chain([self.name.as_str()]).collect();
        TestCase {
            id: text::name(&names.join(" > "), context.places),
            outcome: self.outcome,
            path: None,
            line: None,
            message: self
                .reason
                .filter(|reason| !reason.is_empty())
                .map(|reason| text::message(&reason, context.places)),
            attempts: 1,
            stories: stories(names),
            attachments: Vec::new(),
        }
    }
}

/// Adds a message to a failed test, and the first place of the repository that its diagnostics name.
fn describe(case: &mut TestCase, message: &str, diagnostics: &str, context: &Context<'_>) {
    case.message = Some(text::message(message, context.places)).filter(|message| !message.is_empty());
    if let Some((path, line)) = place_in(text::head(diagnostics, MAX_SEARCHED), context.places) {
        (case.path, case.line) = (Some(path), line);
    }
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
        block.push_str(line.text.strip_prefix("  ").unwrap_or(line.text));
        block.push('\n');
    }
    Err(ReportError::Unfinished(format!("the block behind line {number} has no end")))
}

fn check_version(version: &str, is_first: bool, number: usize) -> Result<(), ReportError> {
    if !is_first {
        return Err(ReportError::unreadable(format!("line {number}: the version is not in the first line")));
    }
    match version {
        "12" | "13" | "14" => Ok(()),
        other => Err(ReportError::unreadable(format!("it is TAP {other:?}, and 12 to 14 are read"))),
    }
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
            (
                "1..1\nnot ok 1 - one\n# (in test file a/sum.bats, line 7)\n#   `[ 3 = 4 ]' failed\n",
                &["failed one at a/sum.bats:7 | (in test file a/sum.bats, line 7)\n  `[ 3 = 4 ]' failed"],
            ),
            (
                "1..2\nnot ok 1 - one\n  ---\n  error: '1 == 2'\n  stack: |-\n    run (node:internal/x:1:2)\n    at file:///github/workspace/a.mjs:2:75\n  ...\nok 2\n",
                &["failed one at a.mjs:2 | 1 == 2", "passed test 2"],
            ),
            // What a test prints is no subtest, unless it looks like one.
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
            ("pragma +strict\n1..1\nok 1\ngarbage\n", "unreadable"),
            ("1..99999999999999999999\n", "unreadable"),
            // A subtest without a plan, one that contradicts its result, and one without a result.
            ("    ok 1\nok 1\n1..1\n", "unfinished"),
            ("    1..1\n    not ok 1\nok 1\n1..1\n", "inconsistent"),
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
