//! Output of Rust's test harness: text between cargo's JSON, or lines of JSON, which cargo-nextest writes too.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::cargo_json::CargoReader;
use super::json::{line, lines, number, optional_string, string};
use crate::report::{Outcome, Places, Report, ReportError, TestCase};
use crate::tags::stories;
use crate::text as clean;
use qa_contracts::ids::RepoPath;

static RUNNING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^running (\d+) tests?$").expect("a constant pattern"));
static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^test result: (?:ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored; (\d+) measured; \d+ filtered out")
        .expect("a constant pattern")
});
static PROGRAM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ +(?:Running (?:unittests )?(?<file>\S+) \((?:.*[/\\])?(?<name>[^/\\]+?)(?:-[0-9a-f]{16})?(?:\.exe)?\)|Doc-tests (?<doc>\S+))$")
        .expect("a constant pattern")
});
static PANICKED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^thread '[^']*'(?: \(\d+\))? panicked at (?<path>[^\n]+?):(?<line>\d+):\d+:?$")
        .expect("a constant pattern")
});
static DOCTEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?<path>\S+\.(?:rs|md)) - .*\(line (?<line>\d+)\)").expect("a constant pattern")
});

/// The programs that cargo says it runs, in order.
pub(crate) fn programs(stderr: &str) -> Vec<String> {
    stderr.lines().filter_map(program).collect()
}

fn program(line: &str) -> Option<String> {
    let found = PROGRAM.captures(line)?;
    Some(match found.name("doc") {
        Some(name) => format!("{} (doc)", name.as_str()),
        None => format!("{} ({})", &found["name"], &found["file"]),
    })
}

/// Reads cargo's lines and the text between them.
pub(crate) fn read_cargo_test(
    report: &[u8],
    places: &Places<'_>,
    programs: &[String],
) -> Result<Report, ReportError> {
    let mut cargo = CargoReader::default();
    let mut suites: Vec<Suite> = Vec::new();
    let mut inline = None;
    for (number, shown) in lines(report)? {
        if cargo.line(number, shown, places)? {
            continue;
        }
        if let Some(name) = program(shown) {
            inline = Some(name);
        } else if let Some(found) = RUNNING.captures(shown) {
            let stated = found[1].parse().unwrap_or(usize::MAX);
            suites.push(Suite { program: inline.take(), stated, ..Suite::default() });
        } else if let Some(suite) = suites.last_mut().filter(|suite| suite.result.is_none()) {
            suite.line(shown);
        }
    }
    let (finished, built) = (cargo.is_finished(), cargo.programs);
    let mut read = cargo.finish()?;
    debug_assert!(finished, "a report without the end of the build is refused");
    if suites.len() < built {
        let shown = suites.len();
        read.doubt = Some(format!("{built} programs with tests were built and {shown} have results"));
    }
    if suites.len() < programs.len() {
        let (run, shown) = (programs.len(), suites.len());
        return Err(ReportError::Inconsistent(format!(
            "{run} programs with tests were run and {shown} have results"
        )));
    }
    let named = programs.len() == suites.len();
    for (index, suite) in suites.into_iter().enumerate() {
        let name = suite.program.clone().or_else(|| programs.get(index).filter(|_| named).cloned());
        suite.finish(name.as_deref().unwrap_or(""), places, &mut read)?;
    }
    Ok(read)
}

/// Tests of one program.
#[derive(Default)]
struct Suite {
    program: Option<String>,
    stated: usize,
    tests: Vec<(String, Outcome, String)>,
    pending: Option<String>,
    /// The test whose output is being read, and the output.
    shown: Vec<(String, String)>,
    in_failures: bool,
    result: Option<[u64; 4]>,
}

impl Suite {
    fn line(&mut self, shown: &str) {
        if let Some(found) = RESULT.captures(shown) {
            self.result = Some([1, 2, 3, 4].map(|at| found[at].parse().unwrap_or(u64::MAX)));
            return;
        }
        let header = shown.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" ----"));
        if let Some(name) = header.and_then(|header| header.rsplit_once(' ')).map(|(name, _)| name) {
            self.in_failures = true;
            self.shown.push((name.to_owned(), String::new()));
        } else if shown == "failures:" {
            self.in_failures = true;
            self.shown.push((String::new(), String::new()));
        } else if self.in_failures {
            if let Some((_, output)) = self.shown.last_mut() {
                output.push_str(shown);
                output.push('\n');
            }
        } else if let Some((name, outcome)) =
            shown.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... "))
        {
            self.test(name.to_owned(), outcome);
        } else if let Some(name) = self.pending.take() {
            // With output that is not captured the word stands below.
            self.test(name, shown);
        }
    }

    fn test(&mut self, name: String, word: &str) {
        let (outcome, reason) = match word.split_once([' ', ',']).map_or(word, |(first, _)| first) {
            "ok" | "bench:" => (Outcome::Passed, ""),
            "FAILED" => (Outcome::Failed, ""),
            "ignored" => (Outcome::Skipped, word.split_once(", ").map_or("", |(_, reason)| reason)),
            _ => {
                self.pending = Some(name);
                return;
            }
        };
        self.tests.push((name, outcome, reason.to_owned()));
    }

    fn count(&self, wanted: Outcome) -> u64 {
        self.tests.iter().filter(|(_, outcome, _)| *outcome == wanted).count() as u64
    }

    fn finish(self, program: &str, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
        let found = [Outcome::Passed, Outcome::Failed, Outcome::Skipped].map(|outcome| self.count(outcome));
        match self.result {
            Some([passed, failed, skipped, measured])
                if [passed.saturating_add(measured), failed, skipped] != found =>
            {
                return Err(ReportError::Inconsistent(format!(
                    "a program states {passed} passed, {failed} failed and {skipped} ignored tests, and {found:?} are there"
                )));
            }
            Some(_) => {}
            None => {
                read.partial = Some("a program with tests ended in the middle".to_owned());
                read.tests.push(unfinished(program, self.stated, self.tests.len()));
            }
        }
        let shown: BTreeMap<String, String> = self.shown.into_iter().collect();
        for (name, outcome, reason) in self.tests {
            let output = shown.get(&name).map_or("", String::as_str);
            let output = if outcome == Outcome::Skipped { &reason } else { output };
            read.tests.push(test_case(program, &name, outcome, output, places));
        }
        Ok(())
    }
}

/// The program ended before its tests did, whatever status it gave.
fn unfinished(program: &str, stated: usize, found: usize) -> TestCase {
    TestCase {
        id: if program.is_empty() { "(program)".to_owned() } else { program.to_owned() },
        outcome: Outcome::Errored,
        path: None,
        line: None,
        message: Some(format!("it ended in the middle: {found} of {stated} tests have a result")),
        attempts: 1,
        stories: Vec::new(),
        attachments: Vec::new(),
    }
}

/// Returns the place and the message of a Rust panic.
pub(crate) fn panic<'a>(
    output: &'a str,
    places: &Places<'_>,
) -> Option<(Option<RepoPath>, Option<u32>, &'a str)> {
    let found = PANICKED.captures(output)?;
    let said = without_trace(&output[found.get(0).map_or(0, |whole| whole.end())..]);
    Some((clean::path(&found["path"], places), found["line"].parse().ok(), said))
}

fn test_case(program: &str, name: &str, outcome: Outcome, output: &str, places: &Places<'_>) -> TestCase {
    let id = if program.is_empty() { name.to_owned() } else { format!("{program}::{name}") };
    let panic = panic(output, places);
    let place = panic.as_ref().and_then(|(path, line, _)| Some((path.clone()?, *line)));
    let place = place.or_else(|| {
        let found = DOCTEST.captures(name)?;
        Some((clean::path(&found["path"], places)?, found["line"].parse().ok()))
    });
    let said = panic.map_or_else(|| without_trace(output), |(_, _, said)| said);
    TestCase {
        id: clean::name(&id, places),
        outcome,
        line: place.as_ref().and_then(|(_, line)| *line),
        path: place.map(|(path, _)| path.into()),
        message: Some(clean::message(said, places)).filter(|said| !said.is_empty()),
        attempts: 1,
        stories: stories([name]),
        attachments: Vec::new(),
    }
}

/// cargo-nextest writes the attempt that decided behind the name: `crate::program$test#2`.
fn attempt(name: &str) -> (&str, u32) {
    let numbered = name.rsplit_once('#').filter(|(test, _)| test.contains('$'));
    let parsed = numbered.and_then(|(test, number)| Some((test, number.parse().ok()?)));
    parsed.unwrap_or((name, 1))
}

/// Returns the message of a panic, without its backtrace.
fn without_trace(output: &str) -> &str {
    let ends = ["\nstack backtrace:", "\nnote: run with `RUST_BACKTRACE", "\nnote: Some details are omitted"];
    let end = ends.iter().filter_map(|end| output.find(end)).min();
    output[..end.unwrap_or(output.len())].trim()
}

/// Reads lines of JSON: every suite and every test that starts has to end.
pub(crate) fn read_json(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let mut read = Report::default();
    let mut open: Option<u64> = None;
    let mut seen = 0;
    for (at, shown) in lines(report)? {
        let event = line(at, shown)?;
        let word = string(&event, "event")?;
        match (string(&event, "type")?, word) {
            ("suite", "started") if open.is_none() => {
                open = Some(number(&event, "test_count")?);
                seen = 0;
            }
            ("suite", "ok" | "failed") if open.is_some() => {
                let stated =
                    number(&event, "passed")? + number(&event, "failed")? + number(&event, "ignored")?;
                if stated != seen {
                    return Err(ReportError::Inconsistent(format!(
                        "a suite states {stated} tests and has {seen}"
                    )));
                }
                open = None;
            }
            ("suite", _) => {
                return Err(ReportError::unreadable(format!("line {at}: a suite is not in its place")));
            }
            ("test", "started" | "timeout") => {}
            ("test", _) if open.is_none() => {
                return Err(ReportError::unreadable(format!("line {at}: a test stands outside a suite")));
            }
            ("test", word) => {
                let outcome = match word {
                    "ok" => Outcome::Passed,
                    "failed" => Outcome::Failed,
                    "ignored" => Outcome::Skipped,
                    other => return Err(ReportError::unreadable(format!("line {at}: `event` is {other:?}"))),
                };
                seen += 1;
                let output =
                    optional_string(&event, "stdout")?.or(optional_string(&event, "message")?).unwrap_or("");
                let (name, attempts) = attempt(string(&event, "name")?);
                let flaky = outcome == Outcome::Passed && attempts > 1;
                let outcome = if flaky { Outcome::Flaky } else { outcome };
                read.tests.push(TestCase { attempts, ..test_case("", name, outcome, output, places) });
            }
            _ => {}
        }
    }
    if open.is_some() {
        return Err(ReportError::unreadable("it ends before a suite does"));
    }
    Ok(read)
}
