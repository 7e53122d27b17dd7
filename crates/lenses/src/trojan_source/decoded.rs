//! Text that shows as a comment and is code once a compiler has decoded the file.

use std::ops::Range;

use crate::scan::{Kind, Part, Parts};

/// Encodings of Python in which ASCII stands for other text, without signs between letters and digits.
const ENCODINGS: &[&str] = &["punycode", "rawunicodeescape", "u7", "unicode11utf7", "unicodeescape", "utf7"];
/// Lines in which Python looks for the encoding of a file.
const LINES_WITH_ENCODING: u64 = 2;

/// Returns whether lines of a language with this text are looked at.
pub(super) fn is_suspect(language: Option<&str>, text: &str) -> bool {
    match language {
        Some("python") => text.contains("coding"),
        Some("java") => text.contains("\\u"),
        _ => false,
    }
}

/// Returns the declaration or escape by which a line is read as something else than it shows.
pub(super) fn find(
    language: Option<&str>,
    number: u64,
    text: &str,
    parts: &Parts,
) -> Option<(Range<usize>, &'static str)> {
    match language {
        Some("python") if number <= LINES_WITH_ENCODING => {
            let summary = "declared encoding turns comments and strings into code";
            Some((declared_encoding(text)?, summary))
        }
        Some("java") => {
            Some((escape_from_comment(text, parts)?, "escape sequence ends the comment, and code follows"))
        }
        _ => None,
    }
}

/// Returns the place of a declared encoding in which ASCII stands for other text.
fn declared_encoding(text: &str) -> Option<Range<usize>> {
    if !text.trim_start().starts_with('#') {
        return None;
    }
    let start = text.find("coding")? + "coding".len();
    let value = text[start..].strip_prefix([':', '='])?.trim_start_matches([' ', '\t']);
    let end = value
        .find(|character: char| !character.is_ascii_alphanumeric() && !"-_.".contains(character))
        .unwrap_or(value.len());
    let name: String = value[..end].chars().filter(char::is_ascii_alphanumeric).collect();
    let begin = text.len() - value.len();
    ENCODINGS.contains(&name.to_ascii_lowercase().as_str()).then_some(begin..begin + end)
}

/// Returns the first Unicode escape that ends the comment it stands in. Java decodes escapes before it reads comments.
fn escape_from_comment(text: &str, parts: &Parts) -> Option<Range<usize>> {
    let mut previous = Decoded { length: 0, character: '\0', is_escape: false };
    let mut at = 0;
    while at < text.len() {
        let next = Decoded::first_of(&text[at..]);
        let is_spelled = next.is_escape || previous.is_escape;
        let ends_block = is_spelled && previous.character == '*' && next.character == '/';
        let ends_line = next.is_escape && matches!(next.character, '\n' | '\r');
        if ends_block || ends_line {
            let Part { start: begin, kind } = parts.part_at(at);
            let is_line = text[begin..].starts_with("//");
            if kind == Kind::Comment && (ends_block && !is_line || ends_line && is_line) {
                return Some(at..at + next.length);
            }
        }
        at += next.length;
        previous = next;
    }
    None
}

/// A character as Java reads it.
struct Decoded {
    /// Length as it is written, in bytes.
    length: usize,
    character: char,
    is_escape: bool,
}

impl Decoded {
    fn first_of(text: &str) -> Self {
        // A backslash that is escaped begins no escape.
        if text.starts_with("\\\\") {
            return Self { length: 2, character: '\\', is_escape: false };
        }
        Self::escape(text).unwrap_or_else(|| {
            let character = text.chars().next().unwrap_or('\0');
            Self { length: character.len_utf8(), character, is_escape: false }
        })
    }

    fn escape(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("\\u")?.trim_start_matches('u');
        let length = text.len() - digits.len() + 4;
        let number = u32::from_str_radix(digits.get(..4)?, 16).ok()?;
        Some(Self { length, character: char::from_u32(number)?, is_escape: true })
    }
}
