//! Decodes escapes and joins literals, so that secrets are found in any notation of a file or a report.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::joined;

/// Escapes of languages, JSON, URLs, XML and JUnit, also when they are escaped twice. Terminal colours come first and have
/// no group.
static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    let names: Vec<&str> = ENTITIES.iter().map(|(name, _)| *name).collect();
    let names = names.join("|");
    let pattern = r#"(?x)
        (?: \x1b | \^\[ | \\+ (?: e | E | 0?33 | (?i: x1b | u001b | u\{0*1b\} | U0000001b )) | (?i: \#x1b | %(?:25)*1b )
          | &(?:amp;)*\#(?: 0*27 | (?i: x0*1b )); )
        (?: \[ [0-?]* [\x20-/]* [@-~] | [\x20-/]+ [0-~] | \] [^\x07\x1b\r\n]{0,400} (?: \x07 | \x1b\\ ) )
      | (?: \\+x | %(?:25)* | \#x ) (?<byte> [[:xdigit:]]{2} )
      | \\+u (?<short> [[:xdigit:]]{4} )
      | \\+U (?<long> [[:xdigit:]]{8} )
      | \\+[ux]\{ 0* (?<braced> [[:xdigit:]]{1,6} ) \}
      | &(?:amp;)*\#[xX] 0* (?<reference> [[:xdigit:]]{1,6} ) ;?
      | %u (?<wide> [[:xdigit:]]{4} )
      | \\+ (?<octal> [0-7]{3} )
      | &(?:amp;)*\# 0* (?<decimal> [0-9]{1,7} ) ;?
      | &(?:amp;)* (?: (?<entity> NAMES ) ; | (?<open> AMP | GT | LT | QUOT | amp | gt | lt | quot ) )
      | \\+ (?<letter> [!-~] )"#
        .replace("NAMES", &names);
    RegexBuilder::new(&pattern).unicode(false).build().expect("the pattern is a constant")
});

/// Groups of [`ESCAPE`] with a number, and the number's base.
const NUMBERS: [(&str, u32); 8] = [
    ("byte", 16),
    ("short", 16),
    ("wide", 16),
    ("long", 16),
    ("braced", 16),
    ("reference", 16),
    ("octal", 8),
    ("decimal", 10),
];

/// Characters of ASCII that HTML has names for.
const ENTITIES: [(&str, char); 45] = [
    ("AMP", '&'),
    ("DiacriticalGrave", '`'),
    ("GT", '>'),
    ("Hat", '^'),
    ("LT", '<'),
    ("NewLine", '\n'),
    ("QUOT", '"'),
    ("Tab", '\t'),
    ("UnderBar", '_'),
    ("VerticalLine", '|'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("dollar", '$'),
    ("equals", '='),
    ("excl", '!'),
    ("grave", '`'),
    ("gt", '>'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lt", '<'),
    ("midast", '*'),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("semi", ';'),
    ("sol", '/'),
    ("verbar", '|'),
    ("vert", '|'),
];

/// Lines of a text that have escapes or seams of literals, with the escapes decoded and the pieces joined.
#[derive(Default)]
pub(super) struct Spelled {
    pub(super) bytes: Vec<u8>,
    replaced: Vec<Replaced>,
}

/// A part of the text that differs in [`Spelled::bytes`]: an escape, a seam, or omitted lines.
struct Replaced {
    /// Place in [`Spelled::bytes`].
    here: Range<usize>,
    /// Place in the text.
    there: Range<usize>,
    /// True for omitted lines.
    is_lines: bool,
}

/// A place in a text that stands for a character, or for nothing.
struct Meaning {
    place: Range<usize>,
    character: Option<char>,
}

impl Spelled {
    /// Decodes the escapes of a text.
    pub(super) fn new(text: &[u8]) -> Self {
        let escapes = ESCAPE
            .captures_iter(text)
            .filter_map(|escape| Some(Meaning { place: escape.get(0)?.range(), character: decode(&escape) }));
        Self::with(text, escapes)
    }

    /// Joins the pieces of literals in a text.
    pub(super) fn joined(text: &[u8]) -> Self {
        let seams = joined::seams(text).into_iter();
        Self::with(text, seams.map(|place| Meaning { place, character: None }))
    }

    fn with(text: &[u8], meanings: impl Iterator<Item = Meaning>) -> Self {
        let mut spelled = Self::default();
        // The end of the copied text, and the end of the line with the last place.
        let (mut taken, mut line_end) = (0, 0);
        for Meaning { place, character } in meanings {
            if place.start >= line_end {
                spelled.bytes.extend_from_slice(&text[taken..line_end]);
                let before = text[..place.start].iter().rev().take_while(|byte| **byte != b'\n').count();
                let line = place.start - before;
                spelled.replace(line_end..line, "", true);
                taken = line;
            }
            if place.end > line_end {
                line_end = match text[place.end..].iter().position(|byte| *byte == b'\n') {
                    Some(after) => place.end + after + 1,
                    None => text.len(),
                };
            }
            spelled.bytes.extend_from_slice(&text[taken..place.start]);
            taken = place.end;
            match character {
                Some(character) => spelled.replace(place, character.encode_utf8(&mut [0; 4]), false),
                None => spelled.replace(place, "", false),
            }
        }
        spelled.bytes.extend_from_slice(&text[taken..line_end]);
        spelled
    }

    fn replace(&mut self, there: Range<usize>, by: &str, is_lines: bool) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(by.as_bytes());
        self.replaced.push(Replaced { here: start..self.bytes.len(), there, is_lines });
    }

    /// Returns the place in the text of a part of these bytes, including its first and last escape as a whole; `None` when
    /// lines are omitted in between, which a secret must not cover.
    pub(super) fn origin(&self, part: Range<usize>) -> Option<Range<usize>> {
        let last = part.end.saturating_sub(1);
        let after = self.replaced.partition_point(|replaced| replaced.here.start <= part.start);
        let inside = self.replaced[after..].iter().take_while(|replaced| replaced.here.start <= last);
        let is_whole = inside.into_iter().all(|replaced| !replaced.is_lines);
        is_whole.then(|| self.byte_origin(part.start).start..self.byte_origin(last).end)
    }

    /// Returns a part of these bytes as the pieces between the places that were left out of it.
    pub(super) fn pieces(&self, part: Range<usize>) -> Vec<Range<usize>> {
        let mut pieces = Vec::new();
        let mut start = part.start;
        let after = self.replaced.partition_point(|replaced| replaced.here.start <= part.start);
        let seams = self.replaced[after..].iter().map(|replaced| replaced.here.start);
        for seam in seams.take_while(|seam| *seam < part.end).filter(|seam| *seam > part.start) {
            if seam > start {
                pieces.push(start..seam);
            }
            start = seam;
        }
        pieces.push(start..part.end);
        pieces
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

    /// Returns whether text without a meaning, such as a colour, was removed just before a byte.
    pub(super) fn is_seam(&self, at: usize) -> bool {
        match self.replaced.binary_search_by(|replaced| replaced.here.end.cmp(&at)) {
            Ok(found) => self.replaced[found].here.is_empty(),
            Err(_) => false,
        }
    }
}

/// Returns the character that an escape stands for; `None` for a colour.
fn decode(escape: &Captures<'_>) -> Option<char> {
    for (name, base) in NUMBERS {
        if let Some(digits) = group(escape, name) {
            let number = u32::from_str_radix(digits, base).ok().and_then(char::from_u32);
            return Some(number.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
    }
    if let Some(name) = group(escape, "entity").or_else(|| group(escape, "open")) {
        return ENTITIES.iter().find(|(known, _)| *known == name).map(|(_, character)| *character);
    }
    Some(match group(escape, "letter")? {
        "n" => '\n',
        "r" => '\r',
        "t" => '\t',
        // Controls: nothing that a secret consists of.
        "0" | "a" | "b" | "e" | "f" | "v" => '\0',
        // In most languages, and in Markdown, other signs and letters stand for themselves.
        other => other.chars().next()?,
    })
}

fn group<'t>(escape: &Captures<'t>, name: &str) -> Option<&'t str> {
    std::str::from_utf8(escape.name(name)?.as_bytes()).ok()
}
