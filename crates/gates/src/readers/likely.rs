//! Recognizes the format that a report seems to have, for the message about one that cannot be read.

use serde_json::Value;

use crate::report::ReportFormat;
use qa_contracts::strict_json;

/// Beginning of a report that is searched, in bytes.
const MAX_SEARCHED: usize = 64 << 10;

/// Returns the format that a report seems to have; `None` for one that has no sign of any.
pub(crate) fn likely_format(report: &[u8]) -> Option<ReportFormat> {
    let report = report.trim_ascii();
    if report.starts_with(b"<") {
        let head = String::from_utf8_lossy(&report[..report.len().min(MAX_SEARCHED)]);
        let roots = [("<checkstyle", ReportFormat::Checkstyle), ("<testsuite", ReportFormat::Junit)];
        return roots.into_iter().find(|(root, _)| head.contains(root)).map(|(_, format)| format);
    }
    if let Ok(document) = strict_json::parse(report) {
        return document_format(&document);
    }
    let first = report.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if let Ok(line) = strict_json::parse(first) {
        return line_format(&line);
    }
    let is_tap =
        [&b"TAP version "[..], b"1..", b"ok ", b"not ok "].iter().any(|sign| first.starts_with(sign));
    is_tap.then_some(ReportFormat::Tap)
}

fn has_all(document: &Value, members: &[&str]) -> bool {
    members.iter().all(|member| document.get(*member).is_some())
}

fn document_format(document: &Value) -> Option<ReportFormat> {
    if has_all(document, &["version", "runs"]) {
        return Some(ReportFormat::Sarif);
    }
    if has_all(document, &["numTotalTests", "testResults"]) {
        return Some(ReportFormat::JestJson);
    }
    if has_all(document, &["config", "suites", "stats"]) {
        return Some(ReportFormat::PlaywrightJson);
    }
    let first = document.as_array().and_then(|entries| entries.first());
    match first {
        Some(entry) if entry.get("filePath").is_some() => Some(ReportFormat::EslintJson),
        Some(entry) if entry.get("noqa_row").is_some() => Some(ReportFormat::RuffJson),
        Some(_) => None,
        None => line_format(document),
    }
}

/// Returns the format of a report that has one message per line.
fn line_format(line: &Value) -> Option<ReportFormat> {
    if line.get("reason").is_some() {
        return Some(ReportFormat::CargoJson);
    }
    if line.get("Action").is_some() {
        return Some(ReportFormat::GoTestJson);
    }
    let is_libtest = line.get("type").is_some() && line.get("event").is_some();
    is_libtest.then_some(ReportFormat::LibtestJson)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_sign() {
        for (report, format) in [
            ("<?xml version='1.0'?>\n<testsuites/>", Some(ReportFormat::Junit)),
            ("<checkstyle version='4.3'>", Some(ReportFormat::Checkstyle)),
            ("<html/>", None),
            (r#"{"version": "2.1.0", "runs": []}"#, Some(ReportFormat::Sarif)),
            (r#"{"numTotalTests": 1, "testResults": []}"#, Some(ReportFormat::JestJson)),
            (r#"{"config": {}, "suites": [], "stats": {}}"#, Some(ReportFormat::PlaywrightJson)),
            (r#"[{"filePath": "a", "messages": []}]"#, Some(ReportFormat::EslintJson)),
            (r#"[{"noqa_row": 1}]"#, Some(ReportFormat::RuffJson)),
            ("[]", None),
            ("{\"Action\": \"run\"}\n{\"Action\": \"pass\"}\n", Some(ReportFormat::GoTestJson)),
            ("{\"reason\": \"compiler-message\"}\n{}", Some(ReportFormat::CargoJson)),
            ("{\"type\": \"suite\", \"event\": \"started\"}", Some(ReportFormat::LibtestJson)),
            ("TAP version 13\n1..1\n", Some(ReportFormat::Tap)),
            ("1..2\nok 1\n", Some(ReportFormat::Tap)),
            ("Success: no issues found", None),
            ("", None),
        ] {
            assert_eq!(likely_format(report.as_bytes()), format, "{report}");
        }
    }
}
