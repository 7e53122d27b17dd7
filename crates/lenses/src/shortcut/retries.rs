//! Tests that run again until they pass.

use super::RETRIED;
use super::compared::{Compared, Pair};
use super::rows::RETRIES;
use crate::contract::{Draft, DraftExt, Inspection};
use crate::pattern::Pattern;
use qa_core::packet::Packet;
use qa_reading::syntax::{Check, Function, Span};

/// Attributes and metadata of tests, in languages whose patterns have none.
static MARKS: Pattern = Pattern::new(
    r"^\s*@(?:Flaky\w*|RepeatedIfExceptionsTest|Retry\w*Test)\b|^\s*\[(?:Auto)?(?:Flaky(?:Test)?|Retry(?:Fact|Theory)?)\s*[(\],]|^\s*(?:it|specify|describe|context|test)\b.*\bretry:\s*[1-9]|^\s*(?:\*\s*@|#\[)(?:retry|Retry)\w*\b",
);
/// Words of a loop that counts attempts, or of one that ends with the first success.
static ATTEMPTS: Pattern = Pattern::new(r"(?i)attempt|retr(?:y|ies)|\btries\b|\bbreak\b|\bFailed\(\)");

/// Returns the marks and calls by which a test is run again.
pub(super) fn inspect(packet: &Packet<'_>) -> Inspection {
    let mut found = RETRIES.inspect(packet);
    if !matches!(packet.file.language.as_deref(), Some("c#" | "java" | "kotlin" | "php" | "ruby")) {
        return found;
    }
    for line in packet.added() {
        let is_known = found.drafts.iter().any(|draft| draft.start_line == line.number);
        let Some(mark) = MARKS.find(line.text).filter(|_| !is_known) else { continue };
        let start = mark.start() + (mark.as_str().len() - mark.as_str().trim_start().len());
        let columns = start..line.text.trim_end().len();
        found.drafts.push(Draft::on_line(
            RETRIED,
            packet,
            &line,
            columns,
            "test is run again until it passes",
        ));
    }
    found
}

/// Reports loops of attempts that are put around the assertions of a test.
pub(super) fn looped(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let kept: Vec<&Check> =
        head.checks().iter().filter(|check| base.checks().iter().any(|old| old.text == check.text)).collect();
    if kept.is_empty() || kept.iter().any(|check| is_looped(base, check)) {
        return None;
    }
    let around = head.facts().loops.iter().find(|place| kept.iter().all(|check| holds(place, check.span)))?;
    let is_of_attempts = ATTEMPTS.is_match(around.of(compared.head.text));
    let summary = "test is run again until it passes";
    is_of_attempts.then(|| compared.at_head(RETRIED, *around, summary)).flatten()
}

/// Returns whether an assertion of the same text stands in a loop.
fn is_looped(function: &Function<'_>, check: &Check) -> bool {
    let mut same = function.checks().iter().filter(|old| old.text == check.text);
    same.any(|same| function.facts().loops.iter().any(|place| holds(place, same.span)))
}

fn holds(outer: &Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    #[test]
    fn marks_of_retries_are_told_from_others() {
        super::ATTEMPTS.check();
        super::MARKS.check();
        for (line, expected) in [
            ("    [Retry(5)]", true),
            ("    [RetryFact]", true),
            ("    it 'loads', retry: 3 do", true),
            ("    [Fact]", false),
            ("    [InlineData(3)]", false),
        ] {
            assert_eq!(super::MARKS.is_match(line), expected, "{line}");
        }
    }
}
