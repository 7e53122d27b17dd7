//! Timeouts of tests that grow many times over.

use std::ops::Range;

use super::TIMEOUT;
use crate::contract::{Draft, DraftExt};
use crate::pattern::Pattern;
use qa_core::packet::{HunkView, Line, Packet};

/// A limit of time with its number.
static LIMIT: Pattern = Pattern::new(
    r"(?i)\b(\w*(?:timeout|deadline|max_?wait|wait_?for|eventually|within|patience)\w*)\b[^0-9;]{0,60}?\b(\d[\d_]*(?:\.\d+)?)",
);
/// A limit that grows by less is set with some care.
const FACTOR: f64 = 10.0;

/// A limit in a text.
#[derive(Debug, Clone, PartialEq)]
struct Limit {
    name: String,
    number: f64,
    /// Place of the number.
    columns: Range<usize>,
}

/// Returns the limits that grow.
pub(super) fn inspect(packet: &Packet<'_>) -> Vec<Draft> {
    if let (Some(base), Some(head)) = (packet.text.full_base.as_deref(), packet.text.full_head.as_deref()) {
        let (before, after) = (limits(base), limits(head));
        if are_alike(&before, &after) {
            let added: Vec<Line<'_>> = packet.added().collect();
            let grown = grown(&before, &after);
            return grown
                .filter_map(|limit| {
                    let place = line_of(head, limit);
                    let line = added.iter().find(|line| line.number == place.number)?;
                    draft(packet, line, place.start, limit)
                })
                .collect();
        }
    }
    packet.hunks().flat_map(|hunk| longer(packet, &hunk)).collect()
}

/// Returns whether a changed line of a test may be the number of a limit.
pub(super) fn may_grow(packet: &Packet<'_>) -> bool {
    packet.hunks().any(|hunk| hunk.removed().any(has_digit) && hunk.added().any(has_digit))
}

fn has_digit(line: Line<'_>) -> bool {
    line.text.contains(|sign: char| sign.is_ascii_digit())
}

/// Compares the limits of the changed lines of a hunk.
fn longer(packet: &Packet<'_>, hunk: &HunkView<'_>) -> Vec<Draft> {
    let (before, after) = (joined(hunk.removed()), joined(hunk.added()));
    let (old, new) = (limits(&before), limits(&after));
    if !are_alike(&old, &new) {
        return Vec::new();
    }
    let lines: Vec<Line<'_>> = hunk.added().collect();
    let grown = grown(&old, &new);
    grown
        .filter_map(|limit| {
            let place = line_of(&after, limit);
            draft(packet, lines.get(usize::try_from(place.number).ok()? - 1)?, place.start, limit)
        })
        .collect()
}

fn joined<'p>(lines: impl Iterator<Item = Line<'p>>) -> String {
    let lines: Vec<&str> = lines.map(|line| line.text).collect();
    lines.join("\n")
}

fn are_alike(before: &[Limit], after: &[Limit]) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|(old, new)| old.name == new.name)
}

fn grown<'l>(before: &'l [Limit], after: &'l [Limit]) -> impl Iterator<Item = &'l Limit> {
    let both = before.iter().zip(after);
    both.filter(|(old, new)| old.number > 0.0 && new.number >= old.number * FACTOR).map(|(_, new)| new)
}

/// The line of a limit, from 1, and its start in the text.
struct Placed {
    number: u64,
    start: usize,
}

fn line_of(text: &str, limit: &Limit) -> Placed {
    let before = &text[..limit.columns.start];
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    Placed { number: before.matches('\n').count() as u64 + 1, start }
}

/// Makes a draft on the number of a limit, by the line that it stands on and the start of that in the text.
fn draft(packet: &Packet<'_>, line: &Line<'_>, start: usize, limit: &Limit) -> Option<Draft> {
    let columns = limit.columns.start - start..limit.columns.end - start;
    line.text.get(columns.clone())?;
    let summary = "timeout of a test is raised many times over";
    Some(Draft::on_line(TIMEOUT, packet, line, columns, summary))
}

fn limits(text: &str) -> Vec<Limit> {
    let found = LIMIT.captures_all(text);
    let limits = found.iter().filter_map(|found| {
        let (name, number) = (found.get(1)?, found.get(2)?);
        let value = number.as_str().replace('_', "").parse().ok()?;
        Some(Limit { name: name.as_str().to_owned(), number: value, columns: number.range() })
    });
    limits.collect()
}

#[cfg(test)]
mod tests {
    use super::LIMIT;

    #[test]
    fn limits_are_found_with_their_numbers() {
        LIMIT.check();
        for (line, expected) in [
            ("@pytest.mark.timeout(5)", Some("5")),
            ("@Timeout(value = 600, unit = SECONDS)", Some("600")),
            ("jest.setTimeout(120_000);", Some("120_000")),
            ("ctx, cancel := context.WithTimeout(ctx, 5*time.Second)", Some("5")),
            ("assert total == 12", None),
        ] {
            let found = LIMIT.captures_all(line);
            let number = found.first().and_then(|found| found.get(2)).map(|number| number.as_str());
            assert_eq!(number, expected, "{line}");
        }
    }
}
