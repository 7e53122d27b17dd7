//! `gitlab`: the Code Quality report of GitLab, which merge requests show beside the changed lines.

use serde_json::{Value, json};

use crate::contract::{Format, FormatSpec, Report};
use crate::diagnostics::{Diagnostic, diagnostics, to_json};
use qa_contracts::v1::Severity;

/// A Code Quality report.
pub(crate) struct Gitlab;

impl Format for Gitlab {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "gitlab", title: "Code Quality report of GitLab", file: None }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let all: Vec<Value> = diagnostics(report).iter().map(issue).collect();
        to_json(&Value::Array(all))
    }
}

fn issue(diagnostic: &Diagnostic) -> Value {
    let (first, last) = diagnostic.lines;
    json!({
        "check_name": diagnostic.rule,
        "description": diagnostic.message,
        "fingerprint": diagnostic.fingerprint,
        "location": {"lines": {"begin": first, "end": last}, "path": diagnostic.path},
        "severity": severity(diagnostic),
    })
}

/// GitLab's severities, whose highest says that a finding blocks.
fn severity(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        _ if diagnostic.blocks => "blocker",
        Severity::Critical => "critical",
        Severity::High => "major",
        Severity::Medium => "minor",
        Severity::Low | Severity::Info => "info",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sample;

    fn issues(sample: &sample::Sample) -> Vec<Value> {
        serde_json::from_slice(&Gitlab.render(&sample.report(false))).unwrap()
    }

    #[test]
    fn no_two_issues_have_one_fingerprint() {
        for (name, sample) in sample::all() {
            let all = issues(&sample);
            let prints: BTreeSet<&str> =
                all.iter().map(|issue| issue["fingerprint"].as_str().unwrap()).collect();
            assert_eq!(prints.len(), all.len(), "{name}");
        }
    }

    #[test]
    fn a_waived_finding_is_no_issue_and_one_that_blocks_is_a_blocker() {
        let all = issues(&sample::fail());
        assert!(all.iter().all(|issue| issue["check_name"] != "secret-token/private-key"));
        let found = all.iter().find(|issue| issue["check_name"] == "secret-token/github-token").unwrap();
        assert_eq!(
            (&found["severity"], &found["location"]["path"]),
            (&json!("blocker"), &json!("src/config.rs"))
        );
    }
}
