//! Normalizes a tool's output for comparing two runs: replaces times, durations, process ids and addresses.

use std::sync::LazyLock;

use regex::Regex;

use super::text::without_escapes;

/// Pattern of a varying part of the output, and its replacement.
struct VaryingPart {
    pattern: Regex,
    replacement: &'static str,
}

impl VaryingPart {
    fn new(pattern: &str, replacement: &'static str) -> Self {
        Self { pattern: Regex::new(pattern).expect("a test compiles it"), replacement }
    }
}

/// Varying parts, in the order of replacement.
static PARTS: LazyLock<Vec<VaryingPart>> = LazyLock::new(|| {
    vec![
        // Members and attributes of reports with times, durations, processes and machines.
        VaryingPart::new(
            r#"(?i)("?\b(?:time|duration|duration_ms|starttime|endtime|start|end|elapsed|timestamp|runtime|exec_time|pid|hostname|slow)"?\s*[:=]\s*)("[^"]*"|[-\d.eE+]+)"#,
            "$1<varies>",
        ),
        VaryingPart::new(
            r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?",
            "<time>",
        ),
        VaryingPart::new(r"\b1[5-9]\d{8}(?:\d{3}|\.\d+)?\b", "<time>"),
        VaryingPart::new(
            r"(?i)\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?)\b",
            "<duration>",
        ),
        VaryingPart::new(r"\b(?i:pid|process)[ =:#]+\d+", "<process>"),
        VaryingPart::new(r"0x[0-9a-fA-F]{6,}", "<address>"),
    ]
});

/// Returns the text without colours, times, durations, process ids and addresses.
pub fn normalize_output(text: &str) -> String {
    let mut text = without_escapes(text);
    for part in PARTS.iter() {
        if let std::borrow::Cow::Owned(changed) = part.pattern.replace_all(&text, part.replacement) {
            text = changed;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_of_one_command_read_the_same() {
        let pairs = [
            ("Finished in 0.01s", "Finished in 12.5s"),
            ("\u{1b}[32mok\u{1b}[0m 3 passed in 1.20 seconds", "ok 3 passed in 1.3 seconds"),
            (
                r#"{"startTime":1699999999123,"duration": 3.5}"#,
                r#"{"startTime":1700000000456,"duration": 4}"#,
            ),
            (
                r#"<testsuite time="0.020" timestamp="2026-01-01T00:00:00.1" hostname="a">"#,
                r#"<testsuite time="1.5" timestamp="2027-02-03T10:11:12.9" hostname="b">"#,
            ),
            (
                r#"{"Time":"2026-01-01T00:00:00Z","Elapsed":0.1}"#,
                r#"{"Time":"2026-01-02T00:00:00Z","Elapsed":9}"#,
            ),
            ("pid 12 at 0x7ffe1234", "pid 4711 at 0x7ffeabcd"),
        ];
        for (one, other) in pairs {
            assert_eq!(normalize_output(one), normalize_output(other));
        }
    }

    #[test]
    fn what_a_tool_says_stays() {
        let said = "src/a.py:10:5: F401 `os` imported but unused; 2 passed, 1 failed, line 1200";
        assert_eq!(normalize_output(said), said);
    }
}
