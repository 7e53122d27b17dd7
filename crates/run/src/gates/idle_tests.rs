//! Finds the tests of steps that check nothing, by their source at head.

use std::collections::BTreeMap;

use super::features::bound_tests;
use super::record::CommittedFile;
use super::{Evidence, GateOutcome, GateReport};
use crate::ports::PortError;
use qa_contracts::v1::{GateName, RecordedTest};
use qa_gates::contract::{Outcome, ReportedPath, TestCase};
use qa_gates::stories::ProjectTest;
use qa_reading::names::places;
use qa_reading::syntax::{self, Language, Span};

/// Returns the tests of all reports, and whether each was recorded as one that checks nothing.
pub(super) fn project_tests(reports: Vec<GateReport>, idle: &[RecordedTest]) -> Vec<ProjectTest> {
    let mut tests = Vec::new();
    for GateReport { scope, judged } in reports {
        let directory = scope.directory;
        tests.extend(judged.report.tests.into_iter().map(|test| {
            let is_idle = idle.iter().any(|idle| idle.directory == directory && idle.id == test.id);
            ProjectTest { directory: directory.clone(), test, is_idle }
        }));
    }
    tests
}

/// Returns the tests bound to steps that pass and whose bodies at head do nothing. A test whose source cannot be found or
/// parsed is not among them.
pub fn record_idle_tests(
    evidence: &Evidence<'_>,
    read: &dyn Fn(&str) -> Result<CommittedFile, PortError>,
) -> Result<Vec<RecordedTest>, PortError> {
    if !evidence.policy.gates.contains_key(&GateName::StoryValidation) {
        return Ok(Vec::new());
    }
    let reports = GateOutcome::default().judge_all(GateName::StoryValidation, 0, evidence);
    let tests = project_tests(reports, &[]);
    let mut sources = Sources { read, parsed: BTreeMap::new() };
    let mut idle = Vec::new();
    for ProjectTest { directory, test, .. } in bound_tests(evidence.features(), &tests) {
        if matches!(test.outcome, Outcome::Passed | Outcome::Flaky) && sources.is_idle(directory, test)? {
            idle.push(RecordedTest { directory: directory.clone(), id: test.id.clone() });
        }
    }
    idle.sort();
    idle.dedup();
    Ok(idle)
}

/// Files of tests at head, each read once.
struct Sources<'a> {
    read: &'a dyn Fn(&str) -> Result<CommittedFile, PortError>,
    parsed: BTreeMap<String, Vec<IdleTest>>,
}

/// A test of a file that does nothing.
struct IdleTest {
    first_line: u32,
    last_line: u32,
    text: String,
}

impl Sources<'_> {
    fn is_idle(&mut self, directory: &str, test: &TestCase) -> Result<bool, PortError> {
        for path in paths(directory, test) {
            let idle = match self.parsed.get(&path) {
                Some(idle) => idle,
                None => {
                    let found = match (self.read)(&path)? {
                        CommittedFile::Text(text) => idle_tests(&path, &text),
                        CommittedFile::Missing | CommittedFile::Unreadable => Vec::new(),
                    };
                    self.parsed.entry(path).or_insert(found)
                }
            };
            if idle.iter().any(|idle| idle.is(test)) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl IdleTest {
    /// Returns whether a test of a report is this one: by its line, or by its name where the report has no line.
    fn is(&self, test: &TestCase) -> bool {
        if let Some(line) = test.line {
            return (self.first_line..=self.last_line).contains(&line);
        }
        let name = title(&test.id);
        !name.is_empty() && places(&self.text, name).next().is_some()
    }
}

/// Returns the name of a test without its file, classes, suites and parameters.
fn title(id: &str) -> &str {
    let id = id.rsplit_once(" > ").map_or(id, |(_, title)| title);
    let id = id.rsplit_once("::").map_or(id, |(_, name)| name);
    id.split_once('[').map_or(id, |(name, _)| name).trim()
}

/// Returns the files that may hold a test: that of the report, else the modules in a dotted id.
fn paths(directory: &str, test: &TestCase) -> Vec<String> {
    if let Some(path) = test.path.as_ref().and_then(ReportedPath::in_repository) {
        return vec![path.to_text().into_owned()];
    }
    let Some((mut module, _)) = test.id.split_once("::") else { return Vec::new() };
    let prefix = if directory.is_empty() { String::new() } else { format!("{directory}/") };
    let mut paths = Vec::new();
    while !module.is_empty() {
        paths.push(format!("{prefix}{}.py", module.replace('.', "/")));
        module = module.rsplit_once('.').map_or("", |(module, _)| module);
    }
    paths
}

/// Returns the tests of a file whose bodies do nothing. Comments count as nothing: here one is no reason.
fn idle_tests(path: &str, text: &str) -> Vec<IdleTest> {
    let Some(language) = Language::from_path(path) else { return Vec::new() };
    let comments = syntax::parse_once(language, text, None).comments.clone();
    let mut bytes = text.as_bytes().to_vec();
    for Span { start, end } in comments {
        for byte in bytes.get_mut(start..end).into_iter().flatten().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    }
    let Ok(code) = String::from_utf8(bytes) else { return Vec::new() };
    let line = |offset: usize| {
        let breaks = code.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(breaks).unwrap_or(u32::MAX).saturating_add(1)
    };
    let idle = &syntax::parse_once(language, &code, None).idle_tests;
    idle.iter()
        .map(|span| IdleTest {
            first_line: line(span.start),
            last_line: line(span.end.saturating_sub(1).max(span.start)),
            text: span.of(&code).to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_without_effect_is_found_whatever_its_comments_say() {
        let text = "def test_a():\n    pass  # shown by hand\n\n\ndef test_b():\n    assert total() == 3\n\n\ndef test_c():\n    # later\n    assert True\n";
        let lines: Vec<(u32, u32)> =
            idle_tests("test_a.py", text).iter().map(|idle| (idle.first_line, idle.last_line)).collect();
        assert_eq!(lines, [(1, 2), (9, 11)]);
        let text = "test('adds', () => { /* see the issue */ });\ntest('takes', () => { expect(take()).toBe(1); });\n";
        assert_eq!(idle_tests("sum.test.js", text).len(), 1);
    }

    #[test]
    fn a_name_loses_its_file_suites_and_parameters() {
        for (id, expected) in [
            ("tests.test_sum.TestSum::test_adds[one-two]", "test_adds"),
            ("web/login.test.ts > login > greets", "greets"),
            ("shop::login::greets", "greets"),
        ] {
            assert_eq!(title(id), expected, "{id}");
        }
    }
}
