//! What a tool prints without what differs from run to run, for comparing two runs of a command.

use std::sync::LazyLock;

use regex::Regex;

use super::text::without_escapes;

/// Patterns and what stands in for them, in the order in which they are looked for.
static PARTS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let part = |pattern: &str, instead| (Regex::new(pattern).expect("a test compiles it"), instead);
    vec![
        // As members and attributes of reports name times, durations, processes and machines.
        part(
            r#"(?i)("?\b(?:time|duration|duration_ms|starttime|endtime|start|end|elapsed|timestamp|runtime|exec_time|pid|hostname|slow)"?\s*[:=]\s*)("[^"]*"|[-\d.eE+]+)"#,
            "$1<varies>",
        ),
        part(r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?", "<time>"),
        part(r"\b1[5-9]\d{8}(?:\d{3}|\.\d+)?\b", "<time>"),
        part(r"(?i)\b\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|sec|secs|seconds?|m|min|minutes?)\b", "<duration>"),
        part(r"\b(?i:pid|process)[ =:#]+\d+", "<process>"),
        part(r"0x[0-9a-fA-F]{6,}", "<address>"),
    ]
});

/// The text without colours, times, durations, process ids and addresses.
pub fn steady(text: &str) -> String {
    let mut text = without_escapes(text);
    for (pattern, instead) in PARTS.iter() {
        if let std::borrow::Cow::Owned(changed) = pattern.replace_all(&text, *instead) {
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
            assert_eq!(steady(one), steady(other));
        }
    }

    #[test]
    fn what_a_tool_says_stays() {
        let said = "src/a.py:10:5: F401 `os` imported but unused; 2 passed, 1 failed, line 1200";
        assert_eq!(steady(said), said);
    }
}
