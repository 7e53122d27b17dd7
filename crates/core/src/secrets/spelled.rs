//! Reads escapes, so that a secret is found in whatever notation a file or a report has it.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

/// Escapes of languages, JSON, URLs, XML and JUnit, also where they were escaped once more. Colours of terminals come
/// first and have no group.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r#"(?x)
        (?: \x1b | \^\[ | \\+ (?: e | E | 0?33 | (?i: x1b | u001b | u\{0*1b\} | U0000001b )) | (?i: \#x1b | %(?:25)*1b )
          | &(?:amp;)*\#(?: 0*27 | (?i: x0*1b )); )
        (?: \[ [0-?]* [\x20-/]* [@-~] | [\x20-/]+ [0-~] | \] [^\x07\x1b\r\n]{0,400} (?: \x07 | \x1b\\ ) )
      | (?: \\+x | %(?:25)* | \#x ) (?<byte> [[:xdigit:]]{2} )
      | \\+u (?<short> [[:xdigit:]]{4} )
      | \\+U (?<long> [[:xdigit:]]{8} )
      | (?: \\+[ux]\{ | &(?:amp;)*\#[xX] ) 0* (?<braced> [[:xdigit:]]{1,6} ) [};]
      | %u (?<wide> [[:xdigit:]]{4} )
      | \\+ (?<octal> [0-7]{3} )
      | &(?:amp;)*\# 0* (?<decimal> [0-9]{1,7} ) ;
      | &(?:amp;)* (?<entity> amp | apos | gt | lt | quot ) ;
      | \\+ (?<letter> [!-~] )"#;
    RegexBuilder::new(pattern).unicode(false).build().expect("the pattern is a constant")
});

/// The groups of [`ESCAPE`] that hold a number, and its base.
const NUMBERS: [(&str, u32); 7] =
    [("byte", 16), ("short", 16), ("wide", 16), ("long", 16), ("braced", 16), ("octal", 8), ("decimal", 10)];

/// Those lines of a text that have escapes, with the escapes read.
#[derive(Default)]
pub(super) struct Spelled {
    pub(super) bytes: Vec<u8>,
    replaced: Vec<Replaced>,
}

/// A part of the text that [`Spelled::bytes`] has in another form: an escape, or lines that were left out.
struct Replaced {
    /// Place of the other form.
    here: Range<usize>,
    /// Place in the text.
    there: Range<usize>,
    /// Whether lines were left out.
    is_lines: bool,
}

impl Spelled {
    pub(super) fn new(text: &[u8]) -> Self {
        let mut spelled = Self::default();
        // Up to where the text was taken over, and where the line of the last escape ends.
        let (mut taken, mut line_end) = (0, 0);
        for escape in ESCAPE.captures_iter(text) {
            let Some(place) = escape.get(0).map(|whole| whole.range()) else { continue };
            if place.start >= line_end {
                spelled.bytes.extend_from_slice(&text[taken..line_end]);
                let before = text[..place.start].iter().rev().take_while(|byte| **byte != b'\n').count();
                let line = place.start - before;
                spelled.replace(line_end..line, "", true);
                let after = text[place.end..].iter().position(|byte| *byte == b'\n');
                line_end = after.map_or(text.len(), |after| place.end + after + 1);
                taken = line;
            }
            spelled.bytes.extend_from_slice(&text[taken..place.start]);
            taken = place.end;
            let mut buffer = [0; 4];
            let meant = meaning(&escape).map_or("", |meant| meant.encode_utf8(&mut buffer));
            spelled.replace(place, meant, false);
        }
        spelled.bytes.extend_from_slice(&text[taken..line_end]);
        spelled
    }

    fn replace(&mut self, there: Range<usize>, by: &str, is_lines: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(by.as_bytes());
        self.replaced.push(Replaced { here: start..self.bytes.len(), there, is_lines });
    }

    /// Returns where in the text a part of these bytes stands, its first and last escape as a whole; `None` when lines were
    /// left out in between, which a secret must not cover.
    pub(super) fn origin(&self, part: Range<usize>) -> Option<Range<usize>> {
        let last = part.end.saturating_sub(1);
        let after = self.replaced.partition_point(|replaced| replaced.here.start <= part.start);
        let inside = self.replaced[after..].iter().take_while(|replaced| replaced.here.start <= last);
        let is_whole = inside.into_iter().all(|replaced| !replaced.is_lines);
        is_whole.then(|| self.byte_origin(part.start).start..self.byte_origin(last).end)
    }

    fn byte_origin(&self, at: usize) -> Range<usize> {
        let before = self.replaced.partition_point(|replaced| replaced.here.start <= at);
        let Some(replaced) = before.checked_sub(1).map(|last| &self.replaced[last]) else {
            return at..at + 1;
        };
        if replaced.here.contains(&at) {
            return replaced.there.clone();
        }
        let start = replaced.there.end + at - replaced.here.end;
        start..start + 1
    }

    /// Returns whether something that stands for nothing was taken out just before a byte.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        self.replaced
            .binary_search_by(|replaced| replaced.here.end.cmp(&at))
            .is_ok_and(|found| self.replaced[found].here.is_empty())
    }
}

/// Returns the character that an escape stands for; `None` for a colour.
fn meaning(escape: &Captures<'_>) -> Option<char> {
    let text = |group| escape.name(group).and_then(|group| std::str::from_utf8(group.as_bytes()).ok());
    for (group, base) in NUMBERS {
        if let Some(digits) = text(group) {
            let number = u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
            return Some(number.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
    let named = text("entity").or_else(|| text("letter"))?;
    Some(match named {
        "amp" => '&',
        "apos" => '\'',
        "gt" => '>',
        "lt" => '<',
        "quot" => '"',
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        // Controls: nothing that a secret consists of.
        "0" | "a" | "b" | "e" | "f" | "v" => '\0',
        // In most languages, and in Markdown, other signs and letters stand for themselves.
        other => other.chars().next()?,
    })
}
