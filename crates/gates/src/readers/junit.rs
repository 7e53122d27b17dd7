//! JUnit XML in the dialects of its writers: pytest, Vitest, jest-junit, Playwright, gotestsum, nextest, Surefire.

use std::collections::BTreeMap;

use super::junit_outcome::{is_attempt, outcome, reason, stated_outcome, words};
use super::libtest::panic;
use super::xml::{Element, parse};
use crate::report::{Attachment, Outcome, Places, Report, ReportError, ReportedPath, Story, TestCase};
use crate::tags::{StoryReader, stories};
use crate::text::{self, is_script};
use qa_contracts::ids::{CommitId, RepoPath};

/// Elements that say nothing about the outcome of their test or suite.
const NEUTRAL: &[&str] = &["properties", "system-out", "system-err"];
/// Elements that say how tests ended.
const RESULTS: &[&str] = &["testsuites", "testsuite", "testcase", "failure", "error"];
/// Maximum length of a failure's text that is searched for its place, in bytes.
const MAX_SEARCHED: usize = 64 << 10;
/// Maximum number of places in it that are examined.
const MAX_PLACES: usize = 64;
/// Names under which writers state the commit.
const COMMIT: &[&str] = &["commit", "git.commit", "git.commit.id", "GITHUB_SHA", "github.sha"];
/// Writer of a report, where writers differ in meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Counts lines from zero, and writes each attempt of pytest-rerunfailures as a test case, the failed ones without
    /// their failure.
    Pytest,
    Other,
}

/// Reads a report of a dialect.
pub(crate) fn read_report(
    report: &[u8],
    places: &Places<'_>,
    dialect: Dialect,
) -> Result<Report, ReportError> {
    let root = parse(report)?;
    let mut read = Report::default();
    match root.name.as_str() {
        "testsuites" | "testsuite" => {
            suite(&root, &Context { places, dialect, name: "", file: None }, &mut read)?;
        }
        other => return Err(ReportError::unreadable(format!("its root is `{other}` and no test suite"))),
    }
    if read.tests.is_empty() {
        return Err(ReportError::Nothing("it has no test case".to_owned()));
    }
    Ok(read)
}

struct Context<'a> {
    places: &'a Places<'a>,
    dialect: Dialect,
    name: &'a str,
    file: Option<&'a str>,
}

/// Number of tests in a part of the document, and of those that fail.
#[derive(Default)]
struct Seen {
    tests: u64,
    faults: u64,
}

fn suite(element: &Element, outer: &Context<'_>, read: &mut Report) -> Result<Seen, ReportError> {
    let inner = Context {
        places: outer.places,
        dialect: outer.dialect,
        name: element.attribute("name").filter(|name| !name.is_empty()).unwrap_or(outer.name),
        file: element.attribute("file").or(element.attribute("filepath")).or(outer.file),
    };
    let mut seen = Seen::default();
    let first = read.tests.len();
    for child in &element.children {
        let part = match child.name.as_str() {
            "testsuite" => suite(child, &inner, read)?,
            "testcase" if inner.dialect == Dialect::Pytest && child.attribute("name").is_none() => {
                let problem = "a test case has no name: pytest was ended in the middle of a test";
                return Err(ReportError::Unfinished(problem.to_owned()));
            }
            "testcase" => {
                check_children(child, read)?;
                let case = test_case(child, &inner);
                let faults = match inner.dialect {
                    // Each subtest that fails is a failure of its test's case.
                    Dialect::Pytest => children(child, "failure") + children(child, "error"),
                    Dialect::Other => u64::from(case.outcome.fails()),
                };
                read.tests.push(case);
                Seen { tests: 1, faults }
            }
            "failure" | "error" => {
                read.tests.push(suite_fault(&inner, &reason(child)));
                Seen { tests: 0, faults: 1 }
            }
            _ => {
                check_other(child, read)?;
                for commit in commits(child) {
                    read.add_commit(commit)?;
                }
                Seen::default()
            }
        };
        seen.tests += part.tests;
        seen.faults += part.faults;
    }
    if outer.dialect == Dialect::Pytest && element.child("testcase").is_some() {
        let cases = read.tests.split_off(first);
        read.tests.extend(merge_reruns(cases));
    }
    // pytest counts subtests that pass, and lists none of them.
    let may_count_others = inner.dialect == Dialect::Pytest;
    if let Some(stated) =
        declared(element, "tests")?.filter(|&stated| stated > seen.tests && !may_count_others)
    {
        let name = text::name(inner.name, inner.places);
        let found = seen.tests;
        return Err(ReportError::Inconsistent(format!(
            "suite {name:?} states {stated} tests and has {found}"
        )));
    }
    let stated =
        declared(element, "failures")?.unwrap_or(0).saturating_add(declared(element, "errors")?.unwrap_or(0));
    if stated > seen.faults {
        let hidden = stated - seen.faults;
        let problem = format!("the suite states {hidden} more faults than it shows");
        read.tests.push(suite_fault(&inner, &problem));
        // The base may have as many others.
        read.partial.get_or_insert_with(|| {
            let name = text::name(inner.name, inner.places);
            if name.is_empty() { problem } else { format!("{name}: {problem}") }
        });
        seen.faults = stated;
    }
    if seen.faults == 0 && stated_outcome(element).is_some_and(Outcome::fails) {
        read.tests.push(suite_fault(&inner, &words(element).unwrap_or_default()));
        seen.faults = 1;
    }
    Ok(seen)
}

/// Checks that everything in a test case is known to its reader.
fn check_children(case: &Element, read: &mut Report) -> Result<(), ReportError> {
    for child in &case.children {
        let name = child.name.as_str();
        if !(["failure", "error", "skipped"].contains(&name) || is_attempt(child)) {
            check_other(child, read)?;
        }
    }
    Ok(())
}

/// Refuses an element that hides results. Any other that JUnit XML does not have may say that something failed.
fn check_other(element: &Element, read: &mut Report) -> Result<(), ReportError> {
    let name = text::head(&element.name, text::MAX_NAME);
    if let Some(hidden) = element.find(RESULTS) {
        let hidden = &hidden.name;
        return Err(ReportError::unreadable(format!(
            "`{hidden}` stands in or as `{name}`, which has no results"
        )));
    }
    if !NEUTRAL.contains(&name) {
        read.doubt.get_or_insert_with(|| format!("it has an element `{name}`, whose meaning is not known"));
    }
    Ok(())
}

/// Returns the number of children of a name.
fn children(element: &Element, name: &str) -> u64 {
    element.children.iter().filter(|child| child.name == name).count() as u64
}

/// Joins the attempts at one test. An attempt that another follows failed, although its case does not show it: pytest
/// gives every test of a run another id, also for parameters. The failure of a test and that of its teardown are two cases
/// that show theirs, and stay two.
fn merge_reruns(cases: Vec<TestCase>) -> Vec<TestCase> {
    let mut tests: Vec<TestCase> = Vec::new();
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    for mut case in cases {
        let position = positions.entry(case.id.clone()).or_insert(tests.len());
        match tests.get_mut(*position) {
            Some(earlier) if !earlier.outcome.fails() => {
                case.attempts = case.attempts.saturating_add(earlier.attempts);
                case.outcome = match case.outcome {
                    Outcome::Passed => Outcome::Flaky,
                    // Skipping a test that failed is no way to pass.
                    Outcome::Skipped => Outcome::Failed,
                    outcome @ (Outcome::Failed | Outcome::Errored | Outcome::Flaky) => outcome,
                };
                *earlier = case;
            }
            Some(_) | None => tests.push(case),
        }
    }
    tests
}

fn declared(element: &Element, name: &str) -> Result<Option<u64>, ReportError> {
    let Some(stated) = element.attribute(name) else { return Ok(None) };
    match stated.trim().parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(ReportError::unreadable(format!("`{name}` of a suite is {stated:?}"))),
    }
}

/// Returns the test case for a failure outside every test, such as a file that does not load.
fn suite_fault(context: &Context<'_>, reason: &str) -> TestCase {
    TestCase {
        id: text::name(if context.name.is_empty() { "(suite)" } else { context.name }, context.places),
        outcome: Outcome::Errored,
        path: place_of(context.file, "", context),
        line: None,
        message: Some(text::message(reason, context.places)),
        attempts: 1,
        stories: Vec::new(),
        attachments: Vec::new(),
    }
}

fn test_case(element: &Element, context: &Context<'_>) -> TestCase {
    let places = context.places;
    let class = element.attribute("classname").filter(|class| !class.is_empty()).unwrap_or(context.name);
    let name = element.attribute("name").unwrap_or("");
    let retried = element.children.iter().filter(|child| is_attempt(child)).count();
    let (outcome, fault) = outcome(element);
    let file = place_of(element.attribute("file").or(context.file), class, context);
    let path = file.as_ref().and_then(ReportedPath::in_repository);
    let stated: Option<u32> = element.attribute("line").and_then(|line| line.parse().ok());
    let line = stated
        .and_then(|line| match context.dialect {
            Dialect::Pytest => line.checked_add(1),
            Dialect::Other => Some(line),
        })
        .filter(|&line| line > 0);
    let panic = fault.and_then(|fault| panic(text::head(&fault.text, MAX_SEARCHED), places));
    let failed_at = match &panic {
        Some((path, line, _)) => Some((path.clone(), *line)),
        None => fault.and_then(|fault| {
            let named = match path {
                Some(path) => place_in(&path.to_text(), &fault.text, places),
                None => modules(class).find_map(|module| place_in(&module, &fault.text, places)),
            };
            named.or_else(|| place_in_words(&fault.text, places))
        }),
    };
    let (path, line) = match failed_at {
        Some((path, line)) => (path.map(Into::into), line),
        None => (file, line),
    };
    let message = match (panic, fault) {
        (Some((_, _, said)), _) => Some(said.to_owned()),
        (None, Some(fault)) => Some(reason(fault)),
        (None, None) => {
            Some(outcome).filter(|&outcome| outcome == Outcome::Errored).and_then(|_| words(element))
        }
    };
    TestCase {
        id: text::name(&joined(class, name), places),
        outcome,
        path,
        line,
        message: message.map(|message| text::message(&message, places)),
        attempts: u32::try_from(retried).unwrap_or(u32::MAX).saturating_add(1),
        stories: shown(element, context.name, class, name),
        attachments: attachments(element, places),
    }
}

/// `class::name`, or the name alone where the writer repeats one in the other.
fn joined(class: &str, name: &str) -> String {
    let is_repeated = match name.strip_prefix(class) {
        // Of the test `test_adds` in the module `test_add` nothing is repeated.
        Some(rest) => !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'),
        None => false,
    };
    if class.is_empty() || is_repeated { name.to_owned() } else { format!("{class}::{name}") }
}

/// Returns the files that a dotted class name of Python may stand for, without its last names one after the other:
/// pytest's own JUnit has no other place of a test.
fn modules(class: &str) -> impl Iterator<Item = String> + '_ {
    let ends = class.match_indices('.').map(|(at, _)| at).chain([class.len()]);
    let mut ends: Vec<usize> = ends.filter(|_| !class.is_empty() && !class.contains(['/', ' '])).collect();
    ends.reverse();
    ends.into_iter().map(|end| format!("{}.py", class[..end].replace('.', "/")))
}

/// Returns the first place of a file in the text of a failure. A full path takes precedence, because the path of a test
/// may be relative to a directory that the report does not state.
fn place_in(path: &str, said: &str, places: &Places<'_>) -> Option<(Option<RepoPath>, Option<u32>)> {
    let said = text::head(said, MAX_SEARCHED);
    let needle = format!("{path}:");
    let named = said.match_indices(&needle).take(MAX_PLACES).filter_map(|(at, found)| {
        let start = said[..at].rfind([' ', '\n', '\t', '(', '"', '\'']).map_or(0, |before| before + 1);
        let after = &said[at + found.len()..];
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let line = after[..digits].parse().ok().filter(|&line: &u32| line > 0)?;
        let full = &said[start..at + path.len()];
        Some((full, text::uri_path(full, places)?, line))
    });
    let named: Vec<_> = named.collect();
    let full = named
        .iter()
        .find(|(full, _, _)| full.starts_with('/') || full.contains(":/") || full.contains(":\\"));
    let (_, path, line) = full.or(named.first())?;
    Some((Some(path.clone()), Some(*line)))
}

/// Returns the place that a failure of Bats states: `(in test file test/sum.bats, line 7)`, also behind the functions that
/// were called.
fn place_in_words(said: &str, places: &Places<'_>) -> Option<(Option<RepoPath>, Option<u32>)> {
    let (_, named) = text::head(said, MAX_SEARCHED).split_once("in test file ")?;
    let (path, rest) = named.split_once(", line ")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let line = rest[..digits].parse().ok().filter(|&line: &u32| line > 0)?;
    Some((Some(text::path(path, places)?), Some(line)))
}

/// The file of a test: stated, or the class where writers put it there.
fn place_of(stated: Option<&str>, class: &str, context: &Context<'_>) -> Option<ReportedPath> {
    let candidates = [stated, Some(class), Some(context.name)];
    let stated = candidates.into_iter().flatten().find(|candidate| is_like_file(candidate))?;
    text::reported_path(stated, context.places)
}

fn is_like_file(text: &str) -> bool {
    let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
    let known = ["py", "rs", "go", "java", "rb", "php", "bats", "cs", "dart", "exs", "kt", "scala", "swift"];
    is_script(text) || known.contains(&extension) && !text.contains(' ')
}

fn properties(element: &Element) -> impl Iterator<Item = (&str, &str)> {
    let all =
        element.children.iter().filter(|child| child.name == "properties").flat_map(|list| &list.children);
    all.filter_map(|property| {
        Some((property.attribute("name")?, property.attribute("value").unwrap_or(&property.text)))
    })
}

/// From names of suites and test, then from properties `feature`, `step` and `tag`.
fn shown(element: &Element, suite: &str, class: &str, name: &str) -> Vec<Story> {
    let mut found = stories([suite, class, name]);
    let mut reader = StoryReader::default();
    for (key, value) in properties(element) {
        match key {
            "feature" | "step" => reader.add(key, value.trim()),
            _ => found.extend(stories([value])),
        }
    }
    found.extend(reader.finish());
    found
}

/// Returns the commits that the properties of a suite name.
fn commits(properties: &Element) -> impl Iterator<Item = CommitId> + '_ {
    let named = properties.children.iter().filter(|property| {
        properties.name == "properties"
            && property.attribute("name").is_some_and(|name| COMMIT.contains(&name))
    });
    named.filter_map(|property| CommitId::parse(property.attribute("value").unwrap_or("").trim()).ok())
}

/// `[[ATTACHMENT|path]]` in what a test printed.
fn attachments(element: &Element, places: &Places<'_>) -> Vec<Attachment> {
    let printed = element.children.iter().filter(|child| child.name == "system-out");
    let all = printed.flat_map(|output| output.text.split("[[ATTACHMENT|").skip(1));
    let names = all.filter_map(|rest| rest.split_once("]]")).map(|(path, _)| path);
    names.map(|path| attachment(path, places)).collect()
}

fn attachment(path: &str, places: &Places<'_>) -> Attachment {
    Attachment {
        path: text::path(path, places),
        name: text::name(path.rsplit(['/', '\\']).next().unwrap_or(path), places),
        media_type: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(report: &str) -> Result<Vec<String>, &'static str> {
        let places = Places { roots: &[], directory: "", module: "" };
        let read =
            read_report(report.as_bytes(), &places, Dialect::Other).map_err(|error| error.kind())?.finish();
        let one = |test: &TestCase| {
            let stories: Vec<String> =
                test.stories.iter().map(|it| format!("{}.{:?}", it.feature, it.step)).collect();
            let words = [test.outcome.as_str(), &test.id, test.message.as_deref().unwrap_or("-")];
            format!("{} x{} {}", words.join(" | "), test.attempts, stories.join(" ")).trim().to_owned()
        };
        Ok(read.tests.iter().map(one).collect())
    }

    #[test]
    fn each_dialect_says_how_its_tests_ended() {
        let cases: &[(&str, &[&str])] = &[
            // Surefire: attempts that did not decide stand in the case.
            (
                r#"<testsuite name="a.B" tests="2" failures="0" errors="1"><testcase classname="a.B" name="one"><flakyError message="first"/></testcase><testcase classname="a.B" name="two"><error message="npe" type="x"/><rerunFailure message="again"/><rerunError/></testcase></testsuite>"#,
                &["errored | a.B::two | npe x3", "flaky | a.B::one | first x2"],
            ),
            // gotestsum: the message is empty of meaning and the text has it.
            (
                r#"<testsuites tests="1" failures="1"><testsuite name="demo/calc" tests="1" failures="1"><testcase classname="demo/calc" name="TestAdd"><failure message="Failed" type="">    calc_test.go:8: sum is 2</failure></testcase></testsuite></testsuites>"#,
                &["failed | demo/calc::TestAdd | calc_test.go:8: sum is 2 x1"],
            ),
            // Suites in suites, as PHPUnit and Mocha write them; a title of a suite names the feature.
            (
                r#"<testsuites><testsuite name="all" tests="2" failures="1"><testsuite name="cart @feature:7" tests="2" failures="1"><testcase name="adds @step:2"/><testcase name="takes"><failure>no</failure></testcase></testsuite></testsuite></testsuites>"#,
                &[
                    "failed | cart @feature:7::takes | no x1 7.None",
                    "passed | cart @feature:7::adds @step:2 | - x1 7.Some(2)",
                ],
            ),
            // GoogleTest and CTest: words in attributes.
            (
                r#"<testsuite name="g"><testcase name="a" status="run" result="completed"/><testcase name="b" status="notrun"/><testcase name="c" status="fail"/><testcase name="d" status="run" result="suppressed"/></testsuite>"#,
                &[
                    "failed | g::c | - x1",
                    "passed | g::a | - x1",
                    "skipped | g::b | - x1",
                    "skipped | g::d | - x1",
                ],
            ),
            // A word that nobody knows, and one that contradicts an element.
            (
                r#"<testsuite name="g"><testcase name="a" status="Crashed"/><testcase name="b" result="ko" status="run"/><testcase name="c" status="failed"><skipped/></testcase><testcase name="d" status=""/></testsuite>"#,
                &[
                    "errored | g::a | `status` is \"Crashed\" x1",
                    "errored | g::b | `status` is \"run\", `result` is \"ko\" x1",
                    "failed | g::c | - x1",
                    "passed | g::d | - x1",
                ],
            ),
            // A suite that says it of itself, and one whose case shows it.
            (
                r#"<testsuites result="passed"><testsuite name="g" status="aborted"><testcase name="a"/></testsuite><testsuite name="h" status="failed"><testcase name="a"><failure/></testcase></testsuite></testsuites>"#,
                &["errored | g | `status` is \"aborted\" x1", "failed | h::a |  x1", "passed | g::a | - x1"],
            ),
            // Attributes of other namespaces.
            (
                r#"<testsuite xmlns:n="n" name="g" n:failures="0" failures="1"><testcase name="a" n:status="passed" status="failed"/></testsuite>"#,
                &["failed | g::a | - x1"],
            ),
            // Further attempts without a first one.
            (
                r#"<testsuite name="g"><testcase name="a"><rerunFailure message="again"/></testcase></testsuite>"#,
                &["failed | g::a | again x2"],
            ),
            // Node: a file in which there is no test.
            (
                r#"<testsuites><testcase name="/github/workspace/a.test.mjs" classname="test"/><testcase name="b" classname="test"/></testsuites>"#,
                &["passed | test::b | - x1", "skipped | test::a.test.mjs | - x1"],
            ),
            // A name that begins like its class, and one that repeats it.
            (
                r#"<testsuite><testcase classname="test_add" name="test_adds"/><testcase classname="cart" name="cart adds"/></testsuite>"#,
                &["passed | cart adds | - x1", "passed | test_add::test_adds | - x1"],
            ),
            // A fault of the suite itself.
            (
                r#"<testsuite name="s" errors="1"><error message="does not load"/><testcase name="a"/></testsuite>"#,
                &["errored | s | does not load x1", "passed | s::a | - x1"],
            ),
        ];
        for (report, expected) in cases {
            let mut found = shown(report).unwrap();
            found.sort();
            assert_eq!(found, *expected, "{report}");
        }
    }

    #[test]
    fn a_report_that_states_more_than_it_shows_is_no_pass() {
        assert_eq!(shown(r#"<testsuite tests="2"><testcase name="a"/></testsuite>"#), Err("inconsistent"));
        assert_eq!(shown(r#"<testsuite tests="many"><testcase name="a"/></testsuite>"#), Err("unreadable"));
        assert_eq!(shown(r#"<testsuites tests="0"/>"#), Err("nothing"));
        assert_eq!(shown(r#"<results><testcase name="a"/></results>"#), Err("unreadable"));
        let hidden =
            shown(r#"<testsuites failures="1"><testsuite><testcase name="a"/></testsuite></testsuites>"#);
        assert_eq!(hidden.unwrap()[0], "errored | (suite) | the suite states 1 more faults than it shows x1");
    }

    #[test]
    fn an_element_that_junit_does_not_have_hides_no_failure() {
        let places = Places { roots: &[], directory: "", module: "" };
        let case = "<testcase name=\"a\"/>";
        for (inside, expected) in [
            (format!("{case}<system-out>a</system-out><system-err/><properties/>"), Ok(false)),
            (format!("{case}<crashed/>"), Ok(true)),
            ("<testcase name=\"a\"><aborted/></testcase>".to_owned(), Ok(true)),
            (format!("{case}<xi:include xmlns:xi=\"x\" href=\"b.xml\"/>"), Ok(true)),
            (format!("{case}<group>{case}</group>"), Err("unreadable")),
            (format!("{case}<group><testsuite/></group>"), Err("unreadable")),
            (format!("{case}<system-out>{case}</system-out>"), Err("unreadable")),
            (format!("{case}<TestCase name=\"b\"/>"), Err("unreadable")),
            ("<testcase name=\"a\"><Failure/></testcase>".to_owned(), Err("unreadable")),
            ("<testcase name=\"a\"><results><error/></results></testcase>".to_owned(), Err("unreadable")),
            (format!("<testcase name=\"a\">{case}</testcase>"), Err("unreadable")),
        ] {
            let report = format!("<testsuite name=\"s\">{inside}</testsuite>");
            let read = read_report(report.as_bytes(), &places, Dialect::Other);
            let found = read.map(|read| read.doubt.is_some()).map_err(|error| error.kind());
            assert_eq!(found, expected, "{inside}");
        }
    }

    #[test]
    fn subtests_of_pytest_are_counted_and_not_listed() {
        let places = Places { roots: &[], directory: "", module: "" };
        for (report, expected) in [
            (
                r#"<testsuite name="pytest" tests="9" failures="0"><testcase classname="test_a" name="one"/></testsuite>"#,
                (1, 0),
            ),
            // Two of them fail, and their test with them.
            (
                r#"<testsuite name="pytest" tests="9" failures="3"><testcase classname="test_a" name="one"><failure message="a"/><failure message="b"/><failure message="contains 2 failed subtests"/></testcase></testsuite>"#,
                (0, 1),
            ),
            (
                r#"<testsuite name="pytest" tests="9" failures="1"><testcase classname="test_a" name="one"/></testsuite>"#,
                (1, 1),
            ),
        ] {
            let read = read_report(report.as_bytes(), &places, Dialect::Pytest).unwrap().finish();
            assert_eq!((read.totals.passed, read.totals.failed + read.totals.errored), expected, "{report}");
        }
    }

    #[test]
    fn a_failure_of_bats_names_its_place_in_words() {
        let report = "<testsuite name=\"sum.bats\"><testcase classname=\"sum.bats\" name=\"fails\"><failure type=\"failure\">(from function `check&#39; in file test/helper.bash, line 2,\n in test file test/sum.bats, line 7)\n  `check&#39; failed</failure></testcase></testsuite>";
        let places = Places { roots: &[], directory: "", module: "" };
        let read = read_report(report.as_bytes(), &places, Dialect::Other).unwrap();
        let place = (read.tests[0].path.as_ref().map(|path| path.to_string()), read.tests[0].line);
        assert_eq!(place, (Some("test/sum.bats".to_owned()), Some(7)));
        for said in
            ["in test file ", "in test file a, line x", "in test file ../a, line 1", "in test file a, line 0"]
        {
            assert_eq!(place_in_words(said, &places), None, "{said}");
        }
    }

    #[test]
    fn the_commit_and_steps_stand_in_properties() {
        let report = r#"<testsuite name="s"><properties><property name="git.commit" value="0123456789abcdef0123456789abcdef01234567"/></properties><testcase name="a"><properties><property name="feature" value="3"/><property name="step" value="1"/></properties></testcase></testsuite>"#;
        let places = Places { roots: &[], directory: "", module: "" };
        let read = read_report(report.as_bytes(), &places, Dialect::Other).unwrap();
        assert_eq!(read.commit.unwrap().as_str(), "0123456789abcdef0123456789abcdef01234567");
        assert_eq!(read.tests[0].stories, [Story { feature: 3, step: Some(1) }]);
        let other = r#"<properties><property name="commit" value="89abcdef0123456789abcdef0123456789abcdef"/></properties></testsuite>"#;
        let report = report.replace("</testsuite>", other);
        let read = read_report(report.as_bytes(), &places, Dialect::Other);
        assert_eq!(read.unwrap_err().kind(), "inconsistent");
    }
}
