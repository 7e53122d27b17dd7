//! Timeouts of tests that grow many times over.

use std::ops::Range;

use super::TIMEOUT;
use crate::contract::{Draft, DraftExt};
use crate::pattern::{Groups, Pattern};
use qa_core::packet::{HunkView, Line, Packet};

/// A limit of time with its number.
static LIMIT: Pattern = Pattern::new(
    r"(?i)\b(\w*(?:timeout|deadline|max_?wait|wait_?for|eventually|within|patience)\w*)\b[^0-9;]{0,60}?\b(\d[\d_]*(?:\.\d+)?)",
);
/// Words of which a limit has one in its name.
static WORD: Pattern = Pattern::new(r"(?i)timeout|deadline|max_?wait|wait_?for|eventually|within|patience");
/// Number of characters between a name and its number.
const BETWEEN: usize = 60;
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

/// Returns the limits of a text. Of a long text only the parts behind their names are searched, since the pattern is slow
/// where it has to know all of Unicode.
fn limits(text: &str) -> Vec<Limit> {
    let Some(parts) = parts(text) else {
        return LIMIT.captures_all(text).iter().filter_map(|found| limit(found, 0)).collect();
    };
    let (mut limits, mut end) = (Vec::new(), 0);
    for part in parts {
        let Some(found) = LIMIT.captures(&text[part.clone()]).filter(|_| part.start >= end) else { continue };
        // A match behind the name at the start is that of another part.
        let Some(whole) = found.get(0).filter(|whole| whole.start() == 0) else { continue };
        end = part.start + whole.end();
        limits.extend(limit(&found, part.start));
    }
    limits
}

fn limit(found: &Groups<'_>, start: usize) -> Option<Limit> {
    let (name, number) = (found.get(1)?, found.get(2)?);
    let value = number.as_str().replace('_', "").parse().ok()?;
    let columns = start + number.start()..start + number.end();
    Some(Limit { name: name.as_str().to_owned(), number: value, columns })
}

/// Returns the parts of a text that begin with the name of a limit and have all that may belong to it; `None` where one has
/// a character beyond ASCII beside it, which may belong to a name.
fn parts(text: &str) -> Option<Vec<Range<usize>>> {
    let bytes = text.as_bytes();
    let (mut parts, mut behind): (Vec<Range<usize>>, usize) = (Vec::new(), 0);
    for word in WORD.captures_all(text).iter().filter_map(|found| found.get(0)) {
        if word.start() < behind {
            continue;
        }
        let before = bytes[..word.start()].iter().rposition(|byte| !is_of_word(*byte));
        let start = before.map_or(0, |at| at + 1);
        behind = first_from(bytes, word.end(), |byte| !is_of_word(byte));
        let last = (behind + BETWEEN + 1).min(bytes.len());
        let end = first_from(bytes, last, |byte| !is_of_word(byte) && byte != b'.');
        let end = (end + 1).min(bytes.len());
        let around = start.saturating_sub(1);
        if !bytes[around..end].is_ascii() {
            return None;
        }
        parts.push(start..end);
    }
    Some(parts)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Returns the offset of the first byte from an offset on that is like this, or the length.
fn first_from(bytes: &[u8], from: usize, is_so: impl Fn(u8) -> bool) -> usize {
    bytes[from..].iter().position(|byte| is_so(*byte)).map_or(bytes.len(), |at| from + at)
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, WORD, limit, limits};

    #[test]
    fn parts_of_a_text_have_the_limits_of_the_whole() {
        WORD.check();
        const PIECES: &[&str] = &[
            "timeout", "Within", "_", "5", "1_0", "2.5", ".", " ", "\n", ";", "x", "é", "\u{a0}", "(",
            "9.9.9",
        ];
        let long = " ".repeat(59);
        let count = PIECES.len();
        for number in 0..count.pow(3) {
            let piece = |place: u32| PIECES[number / count.pow(place) % count];
            let text = [piece(0), "timeout", piece(1), &long, piece(2), "7 within 8"].concat();
            let short = [piece(0), "x DEADLINE", piece(1), piece(2), "4"].concat();
            for text in [text, short] {
                let found = LIMIT.captures_all(&text);
                let whole: Vec<_> = found.iter().filter_map(|found| limit(found, 0)).collect();
                assert_eq!(limits(&text), whole, "{text:?}");
            }
        }
    }

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
