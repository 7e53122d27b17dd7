//! Loops of tests that are left by the number of the case, before its assertions.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::CASES;
use super::compared::{Compared, Pair};
use super::unexplained::Seen;
use crate::contract::Fact;
use crate::pattern::Pattern;
use qa_contracts::v1::Scope;
use qa_reading::syntax::Span;

/// A statement that leaves a loop, or goes on with its next turn, under a condition on a number.
static LEAVES: Pattern = Pattern::new(concat!(
    r"\b(?:if|unless)\b\s*\(?\s*\$?(\w+)\s*(?:[=!]={1,2}|[<>]=?)\s*\d+\s*\)?\s*(?:[:{]|then\b)?\s*(?:break|continue|next|return)\b",
    r"|\b(?:break|continue|next|return)\s+(?:if|unless)\s+\(?\s*(\w+)\s*(?:[=!]=|[<>]=?)\s*\d+",
));
/// Begin of a loop that counts its turns.
static LOOP: Pattern = Pattern::new(
    r"\bfor\s+(\w+)\s*(?:,\s*\w+\s*)?:=\s*range\b|\bfor\s*\(?\s*(\w+)\s*,[^\n:]{1,60}?\bin\s+enumerate\(|\.forEach\(\s*(?:async\s*)?(?:function\s*\w*\s*)?\(\s*[^()]{1,120}?,\s*(\w+)\s*(?::\s*number\s*)?\)|\bfor\s*\(\s*(?:const|let|var)\s*\[\s*(\w+)\s*,|\.each_with_index\s*(?:\{|do)\s*\|[^|]{1,80}?,\s*(\w+)\s*\||\bfor\s*\(\s*(\w+)\s*,\s*[^)]{1,60}\)\s*in\b|\.forEachIndexed\s*\{\s*(\w+)\s*,|\bforeach\s*\([^()]{1,80}?\bas\s+\$(\w+)\s*=>",
);
/// Bytes between the begin of a loop and what leaves it.
const LONGEST_WAY: usize = 2_000;

/// Returns facts about loops that the first turns, or all but the first, leave before assertions of the base.
pub(super) fn left_early(compared: &Compared<'_>) -> Vec<Fact> {
    if compared.packet.file.scope != Scope::Test {
        return Vec::new();
    }
    let text = compared.head.text;
    let older: BTreeSet<String> =
        LEAVES.captures_all(compared.base.text).iter().map(|found| squashed(&found[0])).collect();
    let pairs = LazyCell::new(|| compared.pairs());
    let mut facts = Vec::new();
    for found in LEAVES.captures_all(text) {
        let (Some(whole), Some(name)) = (found.get(0), found.first_group()) else { continue };
        let place = Span { start: whole.start(), end: whole.end() };
        if older.contains(&squashed(whole.as_str()))
            || !compared.head.touches(place)
            || !counts_turns(&text[..place.start], name.as_str())
            || !is_before_checks(&pairs, place)
        {
            continue;
        }
        let summary = "test goes through a part of its cases";
        let draft = compared.at_head(CASES, place, summary);
        let seen = Seen::CaseGone { text: whole.as_str().to_owned(), words: BTreeSet::new(), is_all: true };
        facts.extend(draft.map(|draft| Fact::new(&seen, Some(draft))));
    }
    facts
}

fn squashed(text: &str) -> String {
    text.split_whitespace().collect()
}

/// Returns whether the innermost loop that counts its turns before a place calls the number so.
fn counts_turns(before: &str, name: &str) -> bool {
    let mut start = before.len().saturating_sub(LONGEST_WAY);
    while !before.is_char_boundary(start) {
        start += 1;
    }
    let loops = LOOP.captures_all(&before[start..]);
    let last = loops.last().and_then(|last| last.first_group());
    last.is_some_and(|counter| counter.as_str() == name)
}

/// Returns whether a place stands in a function of both sides before an assertion of the base.
fn is_before_checks(pairs: &[Pair<'_>], place: Span) -> bool {
    pairs.iter().any(|pair| {
        let (start, end) = (pair.head.span.start, pair.head.span.end);
        let is_inside = start <= place.start && place.end <= end;
        let mut behind = pair.head.checks().iter().filter(|check| place.end <= check.span.start);
        is_inside && behind.any(|check| super::assertions::has(pair.base, check))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_that_are_left_by_the_number_of_the_turn_are_told_from_others() {
        for pattern in [&LEAVES, &LOOP] {
            pattern.check();
        }
        for (text, expected) in [
            ("for i, test := range tests {\n\tif i > 0 {\n\t\tbreak\n\t}\n", true),
            ("for n, test := range tests {\n\tif i > 0 {\n\t\tbreak\n\t}\n", false),
            ("for i := 0; i < 9; i++ {\n\tif i > 3 {\n\t\tbreak\n\t}\n", false),
            ("for i, case in enumerate(cases):\n    if i >= 1:\n        continue\n", true),
            (
                "for (i, case) in cases.iter().enumerate() {\n    if i != 0 {\n        continue;\n    }\n",
                true,
            ),
            ("cases.forEach((one, index) => {\n  if (index > 1) return;\n", true),
            ("for (const [at, one] of cases.entries()) {\n  if (at === 2) {\n    continue\n  }\n", true),
            ("cases.each_with_index do |one, at|\n  next if at > 0\n", true),
            ("cases.forEachIndexed { at, one ->\n    if (at > 0) return@forEachIndexed\n", true),
            ("foreach ($cases as $at => $one) {\n    if ($at > 0) {\n        break;\n    }\n", true),
            ("cases.forEach((one) => {\n  if (index > 1) return;\n", false),
        ] {
            let found = LEAVES.captures_all(text);
            let is_left = found.iter().any(|found| {
                let (whole, name) = (found.get(0).unwrap(), found.first_group().unwrap());
                counts_turns(&text[..whole.start()], name.as_str())
            });
            assert_eq!(is_left, expected, "{text}");
        }
    }
}
