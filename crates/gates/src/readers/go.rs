//! `go test -json` and `go vet -json`: events of packages and tests, and diagnostics of packages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::json::{document, line, lines, optional_string, string};
use super::matched_position;
use crate::report::{Diagnostic, DiagnosticSeverity, Outcome, Places, Report, ReportError, TestCase};
use crate::tags::StoryReader;
use crate::text as clean;
use qa_contracts::ids::RepoPath;

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:vet: )?(?<path>(?:[A-Za-z]:)?[^:\s][^:]*\.\w+):(?<line>\d+)(?::(?<column>\d+))?: (?<message>.*)$")
        .expect("a constant pattern")
});
static AT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\s*(?<file>[^\s:/\\]+\.go):(?<line>\d+): ").expect("a constant pattern"));
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:=== (?:RUN|PAUSE|CONT|NAME|ATTR)\b|--- (?:PASS|FAIL|SKIP|BENCH): |(?:PASS|FAIL|ok  )\b|exit status )")
        .expect("a constant pattern")
});

/// Parses the errors that compilers and vet print on lines of their own.
pub(crate) fn compiler_errors(text: &str, places: &Places<'_>) -> Vec<Diagnostic> {
    text.lines().filter_map(|line| compiler_error(line, places)).collect()
}

fn compiler_error(line: &str, places: &Places<'_>) -> Option<Diagnostic> {
    let found = PLACE.captures(line.trim_end())?;
    Some(diagnostic(&found, None, &found["message"], places))
}

fn diagnostic(
    found: &regex::Captures<'_>,
    rule: Option<&str>,
    message: &str,
    places: &Places<'_>,
) -> Diagnostic {
    Diagnostic {
        path: clean::reported_path(&found["path"], places),
        line: matched_position(found, "line"),
        column: matched_position(found, "column"),
        rule: rule.map(|rule| clean::name(rule, places)),
        message: clean::message(message, places),
        severity: DiagnosticSeverity::Error,
        end_line: None,
        end_column: None,
    }
}

/// Reads diagnostics of vet: a document for each package, with comments and errors of the compiler between.
pub(crate) fn read_vet(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let doubt = "vet's JSON has no end that would show it to be whole; let the gate run the command";
    let mut read = Report { doubt: Some(doubt.to_owned()), ..Report::default() };
    let mut packages = 0;
    let mut open: Option<String> = None;
    let mut announced = false;
    for (number, shown) in lines(report)? {
        announced = shown.starts_with("# ");
        if let Some(document) = open.as_mut() {
            document.push_str(shown);
            document.push('\n');
        } else if shown == "{" || shown == "{}" {
            open = Some(format!("{shown}\n"));
        } else if let Some(error) = compiler_error(shown, places) {
            read.diagnostics.push(error);
            continue;
        } else if announced || shown.starts_with("go: ") {
            continue;
        } else {
            return Err(ReportError::unreadable(format!("line {number} is nothing that vet prints")));
        }
        if shown == "}" || shown == "{}" {
            packages += 1;
            read_package(&open.take().unwrap_or_default(), places, &mut read)?;
        }
    }
    if open.is_some() || announced {
        return Err(ReportError::unreadable("it ends before the document of a package does"));
    }
    if packages == 0 && read.diagnostics.is_empty() {
        return Err(ReportError::unreadable("it has no document of a package"));
    }
    Ok(read)
}

fn no_analyzers() -> ReportError {
    ReportError::unreadable("the document of a package is no list of analyzers")
}

fn read_package(shown: &str, places: &Places<'_>, read: &mut Report) -> Result<(), ReportError> {
    let value = document(shown.as_bytes())?;
    for (_, analyzers) in value.as_object().ok_or_else(no_analyzers)? {
        for (analyzer, found) in analyzers.as_object().ok_or_else(no_analyzers)? {
            if let Some(error) = found.get("error").and_then(Value::as_str) {
                return Err(ReportError::Unfinished(format!(
                    "{analyzer}: {}",
                    clean::message(error, places)
                )));
            }
            for entry in found.as_array().ok_or_else(no_analyzers)? {
                let place = format!("{}: ", string(entry, "posn")?);
                let message = string(entry, "message")?;
                let captures = PLACE.captures(&place).ok_or_else(no_analyzers)?;
                read.diagnostics.push(diagnostic(&captures, Some(analyzer), message, places));
            }
        }
    }
    Ok(())
}

/// State of a package or a test.
#[derive(Default)]
struct State {
    outcome: Option<Outcome>,
    output: String,
    stories: StoryReader,
}

/// Why a report of tests may not have looked at everything.
const PACKAGE_FAILED: &str = "a package failed beside its tests, which may have kept them from running";

/// Reads events of tests: every package that begins has to end.
pub(crate) fn read_test(report: &[u8], places: &Places<'_>) -> Result<Report, ReportError> {
    let mut read = Report::default();
    let mut packages: BTreeMap<String, State> = BTreeMap::new();
    let mut tests: BTreeMap<(String, String), State> = BTreeMap::new();
    let mut build_failed = false;
    for (number, shown) in lines(report)? {
        if let Some(package) = shown.strip_prefix("FAIL\t").filter(|_| shown.ends_with(" failed]")) {
            // Before Go 1.24 a package that does not compile has no event.
            let package = package.split_once(" [").map_or(package, |(package, _)| package);
            read.tests.push(package_fault(package, "", places));
            read.partial = Some(PACKAGE_FAILED.to_owned());
            continue;
        }
        let event = line(number, shown)?;
        let action = string(&event, "Action")?;
        let output = optional_string(&event, "Output")?.unwrap_or("");
        if action == "build-output" {
            read.diagnostics.extend(compiler_errors(output, places));
            continue;
        }
        if action == "build-fail" {
            build_failed = true;
            continue;
        }
        let package = string(&event, "Package")?.to_owned();
        let of_package = packages.entry(package.clone()).or_default();
        let state = match optional_string(&event, "Test")? {
            Some(test) => tests.entry((package, test.to_owned())).or_default(),
            None => of_package,
        };
        match action {
            "pass" | "bench" => state.outcome = Some(Outcome::Passed),
            "fail" => state.outcome = Some(Outcome::Failed),
            "skip" => state.outcome = Some(Outcome::Skipped),
            "output" if state.output.len() < 16 * clean::MAX_MESSAGE => state.output.push_str(output),
            "attr" => state.stories.add(
                optional_string(&event, "Key")?.unwrap_or(""),
                optional_string(&event, "Value")?.unwrap_or(""),
            ),
            // `start`, `run`, `pause`, `cont`, and what newer versions add beside the ends of tests.
            _ => {}
        }
    }
    let failed = tests.iter().filter(|(_, test)| test.outcome == Some(Outcome::Failed));
    let failed: BTreeSet<&str> = failed.map(|((package, _), _)| package.as_str()).collect();
    for (package, state) in &packages {
        match state.outcome {
            None => {
                return Err(ReportError::unreadable(format!("it ends before the package {package:?} does")));
            }
            // A package may fail beside its tests: it does not compile, it ends itself, its TestMain says so.
            Some(Outcome::Failed) if !failed.contains(package.as_str()) => {
                read.tests.push(package_fault(package, &state.output, places));
                read.partial = Some(PACKAGE_FAILED.to_owned());
            }
            Some(_) => {}
        }
    }
    if build_failed && read.diagnostics.is_empty() && read.tests.is_empty() {
        return Err(ReportError::Inconsistent("a build fails and no package does".to_owned()));
    }
    if tests.values().any(|test| test.outcome.is_none()) {
        read.partial = Some("a test ended with its package, and others may not have run".to_owned());
    }
    for ((package, test), state) in tests {
        read.tests.push(test_case(&package, &test, state, places));
    }
    Ok(read)
}

fn package_fault(package: &str, output: &str, places: &Places<'_>) -> TestCase {
    let said = clean::message(&without_frames(output), places);
    TestCase {
        id: clean::name(package, places),
        outcome: Outcome::Errored,
        path: None,
        line: None,
        message: Some(if said.is_empty() { "the package failed".to_owned() } else { said }),
        attempts: 1,
        stories: Vec::new(),
        attachments: Vec::new(),
    }
}

fn test_case(package: &str, test: &str, mut state: State, places: &Places<'_>) -> TestCase {
    state.stories.read_tags(test);
    let said = without_frames(&state.output);
    let at = said.lines().find_map(|line| AT.captures(line));
    let path = at.as_ref().and_then(|found| file_of(package, &found["file"], places));
    let fails = state.outcome != Some(Outcome::Passed);
    TestCase {
        id: clean::name(&format!("{package}.{test}"), places),
        // A test without an end was cut off by the end of its package.
        outcome: state.outcome.unwrap_or(Outcome::Errored),
        line: at.filter(|_| path.is_some() && fails).and_then(|found| found["line"].parse().ok()),
        path: path.filter(|_| fails).map(Into::into),
        message: Some(clean::message(&said, places)).filter(|said| fails && !said.is_empty()),
        attempts: 1,
        stories: state.stories.finish(),
        attachments: Vec::new(),
    }
}

/// The file of a package; Go names it without its directory.
fn file_of(package: &str, file: &str, places: &Places<'_>) -> Option<RepoPath> {
    let below = package.strip_prefix(places.module).filter(|_| !places.module.is_empty())?;
    if below.is_empty() {
        return clean::path(file, places);
    }
    clean::path(&format!("{}/{file}", below.strip_prefix('/')?), places)
}

/// Returns the output of a test, without the harness's own lines and the frames of a panic.
fn without_frames(output: &str) -> String {
    let end = output.find("\ngoroutine ").unwrap_or(output.len());
    let kept: Vec<&str> = output[..end].lines().filter(|line| !FRAME.is_match(line)).map(str::trim).collect();
    kept.join("\n")
}
