//! `rdjson`: the Diagnostic Format of reviewdog, whose columns count bytes.

use serde_json::{Value, json};

use crate::contract::{Format, FormatSpec, Report};
use crate::diagnostics::{Diagnostic, Suggestion, diagnostics, to_json};
use qa_contracts::v1::Severity;

/// Diagnostics for reviewdog, and for editors that read them.
pub(crate) struct Rdjson;

impl Format for Rdjson {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec { id: "rdjson", title: "Diagnostics for reviewdog", file: None }
    }

    fn render(&self, report: &Report<'_>) -> Vec<u8> {
        let all: Vec<Value> = diagnostics(report).iter().map(diagnostic).collect();
        to_json(&json!({"source": {"name": "qa-skill"}, "diagnostics": all}))
    }
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let (first, last) = diagnostic.lines;
    let range = match diagnostic.columns {
        Some((start, end)) => {
            json!({"start": {"line": first, "column": start}, "end": {"line": last, "column": end}})
        }
        None => json!({"start": {"line": first}, "end": {"line": last}}),
    };
    let mut entry = json!({
        "code": {"value": diagnostic.rule},
        "location": {"path": diagnostic.path, "range": range},
        "message": diagnostic.message,
        "severity": severity(diagnostic),
    });
    if !diagnostic.suggestions.is_empty() {
        entry["suggestions"] = diagnostic.suggestions.iter().map(suggestion).collect();
    }
    entry
}

fn suggestion(suggestion: &Suggestion) -> Value {
    let [start, end] =
        [suggestion.start, suggestion.end].map(|(line, column)| json!({"line": line, "column": column}));
    json!({"range": {"start": start, "end": end}, "text": suggestion.text})
}

fn severity(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.severity {
        _ if diagnostic.blocks => "ERROR",
        Severity::Critical | Severity::High | Severity::Medium => "WARNING",
        Severity::Low | Severity::Info => "INFO",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn document(sample: &sample::Sample) -> Value {
        serde_json::from_slice(&Rdjson.render(&sample.report(false))).unwrap()
    }

    #[test]
    fn columns_of_a_blocking_finding_count_bytes() {
        let document = document(&sample::fail());
        let all = document["diagnostics"].as_array().unwrap();
        let found = all.iter().find(|each| each["code"]["value"] == "secret-token/github-token").unwrap();
        assert_eq!(found["severity"], "ERROR");
        assert_eq!(
            found["location"],
            json!({
                "path": "src/config.rs",
                "range": {"start": {"line": 13, "column": 22}, "end": {"line": 13, "column": 62}},
            })
        );
    }

    #[test]
    fn a_change_that_was_not_judged_is_an_error() {
        for (name, sample) in sample::all() {
            let report = sample.report(false);
            let passes = report.result.final_verdict.conclusion == qa_contracts::v1::Conclusion::Pass;
            let document = document(&sample);
            let mut all = document["diagnostics"].as_array().unwrap().iter();
            assert_eq!(all.any(|each| each["severity"] == "ERROR"), !passes, "{name}");
        }
    }
}
