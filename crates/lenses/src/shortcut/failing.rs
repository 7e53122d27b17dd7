//! Tests that pass where their assertions fail.

use super::WEAKENED;
use super::assertions::{has, shares};
use super::compared::{Compared, Pair};
use crate::contract::Draft;
use crate::pattern::Pattern;
use qa_core::packet::line_start;
use qa_reading::syntax::{Function, Language, Span};

/// Marks of a test that passes by any failure, that of an assertion too.
static FAILURE_EXPECTED: Pattern = Pattern::new(
    r"#\[should_panic(?:\(\s*\))?\s*\]|\bexpected\s*=\s*(?:\w+\.)*(?:AssertionError|Error|Exception|RuntimeException|Throwable)(?:\.|::)class\b|\bExpectedException\(typeof\((?:System\.)?Exception\)",
);

/// Calls that succeed only where an assertion in them fails.
static FAILING_CALL: Pattern = Pattern::new(concat!(
    r"\bassertThrows(?:Exactly)?\(\s*(?:\w+\.)*(?:AssertionError|AssertionFailedError|Error|Throwable)\.class",
    r"|\bassertFails(?:With<\s*(?:\w+\.)*(?:AssertionError|Throwable)>)?\s*[({]",
    r"|\bAssert\.Throws(?:Any)?(?:Async)?<\s*(?:\w+\.)*(?:\w*AssertionException|\w*EqualException|Exception|XunitException)\s*>",
    r"|\bRecord\.Exception(?:Async)?\(",
    r"|\bEXPECT_(?:NON)?FATAL_FAILURE\(",
    r"|\bassert_raises\(?\s*(?:Minitest::Assertion|Exception)\b",
));

/// Reports tests that pass where their assertions fail.
pub(super) fn inspect(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let mut drafts = turned_round(compared, pairs);
    drafts.extend(pairs.iter().filter_map(|pair| expected_to_fail(compared, pair)));
    drafts.extend(pairs.iter().filter_map(|pair| called_to_fail(compared, pair)));
    drafts
}

/// Reports marks by which a test passes where its assertions fail, which are those of the base.
fn turned_round(compared: &Compared<'_>, pairs: &[Pair<'_>]) -> Vec<Draft> {
    let summary = "failure of an assertion makes the test pass";
    let mut added = compared.packet.added().filter(|line| FAILURE_EXPECTED.is_match(line.text)).peekable();
    if added.peek().is_none() {
        return Vec::new();
    }
    // An attribute of Rust stands above its function.
    let all = if compared.language == Language::Rust { compared.all_pairs() } else { Vec::new() };
    let mut drafts = Vec::new();
    for Pair { base, head } in pairs.iter().chain(&all) {
        let (before, marks) = (marks_of(compared.base.text, base), marks_of(compared.head.text, head));
        let was_there = FAILURE_EXPECTED.is_match(before.of(compared.base.text));
        let is_kept = head.checks().iter().any(|check| has(base, check));
        let Some(mark) = FAILURE_EXPECTED.find(marks.of(compared.head.text)) else { continue };
        let place = Span { start: marks.start + mark.start(), end: marks.start + mark.end() };
        if !was_there && is_kept {
            drafts.extend(compared.at_head(WEAKENED, place, summary));
        }
    }
    drafts.dedup_by_key(|draft| draft.start_line);
    drafts
}

/// A block of Python that passes only where something in it fails, be it an assertion.
static FAILING_BLOCK: Pattern = Pattern::new(
    r"(?m)^([ \t]*)with[ \t]+(?:pytest\.raises|raises|self\.assertRaises)\(\s*(?:#[^\n]*\s*)?(?:AssertionError|BaseException|Exception)\s*(?:#[^\n]*\s*)?\)[^\n]*:",
);

/// Reports a block that expects an assertion of the base to fail.
fn expected_to_fail(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let (before, text) = (base.span.of(compared.base.text), head.span.of(compared.head.text));
    if compared.language != Language::Python || FAILING_BLOCK.is_match(before) {
        return None;
    }
    let block = FAILING_BLOCK.captures(text)?;
    let (whole, indent) = (block.get(0)?, block.get(1)?.as_str());
    let inside = text[whole.end()..].split_inclusive('\n').skip(1).take_while(|line| {
        let rest = line.strip_prefix(indent);
        line.trim().is_empty() || rest.is_some_and(|rest| rest.starts_with([' ', '\t']))
    });
    let start = head.span.start + whole.end();
    let end = start + inside.map(str::len).sum::<usize>() + 1;
    let mut kept = head.checks().iter().filter(|check| start <= check.span.start && check.span.start < end);
    if !kept.any(|check| base.checks().iter().any(|old| old.text == check.text || shares(old, check))) {
        return None;
    }
    let call = whole.as_str().find('(').unwrap_or_default();
    let place = Span { start: head.span.start + whole.start(), end: head.span.start + whole.start() + call };
    compared.at_head(WEAKENED, place, "failure of an assertion makes the test pass")
}

/// Reports a call that expects an assertion to fail, about what the base asserted.
fn called_to_fail(compared: &Compared<'_>, pair: &Pair<'_>) -> Option<Draft> {
    let Pair { base, head } = pair;
    let text = head.span.of(compared.head.text);
    if FAILING_CALL.is_match(base.span.of(compared.base.text)) {
        return None;
    }
    let call = FAILING_CALL.find(text)?;
    let (start, end) = (head.span.start + call.start(), head.span.start + call.end());
    let mut inside = head.checks().iter().filter(|check| {
        end <= check.span.start && !compared.head.text[end..check.span.start].contains([';', '}'])
    });
    let is_about = inside.any(|check| base.checks().iter().any(|old| shares(old, check)));
    let place = Span { start, end };
    compared.at_head(WEAKENED, place, "failure of an assertion makes the test pass").filter(|_| is_about)
}

/// Returns the head of a function with the attributes above it.
fn marks_of(text: &str, function: &Function<'_>) -> Span {
    let mut start = function.span.start;
    loop {
        let line = line_start(text, start);
        let above = text[..line].trim_end();
        let begin = above.rfind('\n').map_or(0, |end| end + 1);
        if line == 0 || !above[begin..].trim_start().starts_with("#[") {
            return Span { start, end: function.head.end.max(start) };
        }
        start = begin;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_pattern_compiles() {
        for pattern in [&super::FAILURE_EXPECTED, &super::FAILING_BLOCK, &super::FAILING_CALL] {
            pattern.check();
        }
    }
}
