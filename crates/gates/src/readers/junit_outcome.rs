//! Outcomes of JUnit's test cases: by their elements, and by the words that some writers have in attributes.

use super::xml::Element;
use crate::report::Outcome;
use crate::text::is_script;

/// Attempts that failed before the test passed.
const FLAKY: &[&str] = &["flakyFailure", "flakyError"];
/// Further attempts of a test that failed.
const RERUN: &[&str] = &["rerunFailure", "rerunError"];
/// Messages of failures whose writer has none.
const NO_MESSAGE: &[&str] =
    &["", "Failed", "failed", "test failure", "collection failure", "mypy produced messages"];

/// Returns the outcome of a test case, and the element that has its reason.
pub(super) fn outcome(element: &Element) -> (Outcome, Option<&Element>) {
    if let Some(error) = element.child("error") {
        return (Outcome::Errored, Some(error));
    }
    if let Some(failure) = element.child("failure") {
        return (Outcome::Failed, Some(failure));
    }
    let stated = stated_outcome(element);
    if let Some(fault) = stated.filter(|stated| stated.fails()) {
        return (fault, None);
    }
    if let Some(skipped) = element.child("skipped") {
        return (Outcome::Skipped, Some(skipped).filter(|skipped| !reason(skipped).is_empty()));
    }
    if let Some(rerun) = element.children.iter().find(|child| RERUN.contains(&child.name.as_str())) {
        return (Outcome::Failed, Some(rerun));
    }
    if stated == Some(Outcome::Skipped) || is_file_without_tests(element) {
        return (Outcome::Skipped, None);
    }
    match element.children.iter().find(|child| FLAKY.contains(&child.name.as_str())) {
        Some(attempt) => (Outcome::Flaky, Some(attempt)),
        None => (Outcome::Passed, None),
    }
}

/// Returns the outcome that attributes state, of which a fault counts most and a skipped test more than one that ran.
pub(super) fn stated_outcome(element: &Element) -> Option<Outcome> {
    let words = ["status", "result"].into_iter().filter_map(|name| element.attribute(name));
    let stated: Vec<Outcome> = words.filter_map(outcome_of).collect();
    let fault = stated.iter().find(|stated| stated.fails());
    fault.or(stated.iter().find(|&&stated| stated == Outcome::Skipped)).or(stated.first()).copied()
}

/// Returns what attributes say about an outcome.
pub(super) fn words(element: &Element) -> Option<String> {
    let stated = ["status", "result"].into_iter().filter_map(|name| {
        let word = element.attribute(name)?;
        Some(format!("`{name}` is {word:?}"))
    });
    Some(stated.collect::<Vec<_>>().join(", ")).filter(|words| !words.is_empty())
}

/// Returns the outcome that a word stands for; one that is not known is no way to pass.
fn outcome_of(word: &str) -> Option<Outcome> {
    Some(match word.trim().to_ascii_lowercase().as_str() {
        "" => return None,
        "run" | "ran" | "executed" | "completed" | "complete" | "finished" | "pass" | "passed" | "ok"
        | "success" | "successful" | "succeeded" => Outcome::Passed,
        "notrun" | "skip" | "skipped" | "disabled" | "suppressed" | "ignored" | "pending" | "todo"
        | "untested" => Outcome::Skipped,
        "fail" | "failed" | "failure" => Outcome::Failed,
        _ => Outcome::Errored,
    })
}

/// Returns whether a case is one that Node writes for a file in which it finds no test.
fn is_file_without_tests(element: &Element) -> bool {
    element.attribute("classname") == Some("test") && element.attribute("name").is_some_and(is_script)
}

/// Returns whether an element is an attempt at its test that did not decide.
pub(super) fn is_attempt(element: &Element) -> bool {
    FLAKY.iter().chain(RERUN).any(|name| *name == element.name)
}

/// Returns the message of a failure, or its text where that is all there is. Of pytest's listings only the lines that
/// state the error are kept, as the others show code of pytest.
pub(super) fn reason(element: &Element) -> String {
    let message = element.attribute("message").unwrap_or("").trim();
    let text = element.text.trim();
    if !NO_MESSAGE.contains(&message) || text.is_empty() {
        return message.to_owned();
    }
    let stated: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("E  ")).map(str::trim).collect();
    if stated.is_empty() { text.to_owned() } else { stated.join("\n") }
}
