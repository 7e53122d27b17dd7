//! Escapes characters that do not show: by the language's own escape in a string, not at all elsewhere.

use super::{RawLine, added_line, edit, replace_part};
use crate::contract::Draft;
use crate::scan::{self, Kind};
use qa_contracts::v1::{Edit, EditSafety, Replacement};
use qa_core::packet::Packet;

/// Escape syntax for a code point in a language's strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escape {
    /// `\u202e`, in pairs for characters beyond four digits.
    Units,
    /// `\u202e`, `\U000e0001`.
    Long,
    /// `\u{202e}`.
    Braces,
}

/// Returns the escapes of strings between some quotes, or `None` where a string of that kind takes the text as it is.
fn escape_of(language: Option<&str>, quote: char, before: &str) -> Option<Escape> {
    let prefix: String =
        before.chars().rev().take_while(|sign| sign.is_ascii_alphanumeric() || *sign == '#').collect();
    let is_bare = prefix.is_empty();
    match language? {
        "javascript" | "typescript" => (quote != '`' && is_bare).then_some(Escape::Units),
        "json" | "java" => (quote == '"').then_some(Escape::Units),
        "c#" => (quote == '"' && is_bare && !before.ends_with(['@', '$'])).then_some(Escape::Long),
        "kotlin" => (quote == '"' && is_bare).then_some(Escape::Units),
        "go" => (quote == '"').then_some(Escape::Long),
        "python" => {
            prefix.to_ascii_lowercase().chars().all(|sign| matches!(sign, 'f' | 'u')).then_some(Escape::Long)
        }
        "rust" => (quote == '"' && is_bare).then_some(Escape::Braces),
        "swift" => (quote == '"' && is_bare).then_some(Escape::Braces),
        "ruby" | "php" => (quote == '"').then_some(Escape::Braces),
        _ => None,
    }
}

impl Escape {
    fn of(self, character: char) -> String {
        let number = character as u32;
        match self {
            Self::Braces => format!("\\u{{{number:x}}}"),
            Self::Long if number > 0xffff => format!("\\U{number:08x}"),
            Self::Units if number > 0xffff => {
                let mut units = [0; 2];
                character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
            }
            Self::Long | Self::Units => format!("\\u{number:04x}"),
        }
    }
}

/// Escapes the characters that a draft lists as `characters`, where all of them stand in strings that have escapes. In a
/// comment, which no program reads, they are deleted.
pub(crate) fn escape_characters(draft: &Draft, packet: &Packet<'_>) -> Option<Edit> {
    let names = draft.detail.get("characters")?.as_array()?;
    let is_wanted = |sign: char| names.contains(&format!("U+{:04X}", sign as u32).into());
    let line = added_line(draft, packet)?;
    let columns = super::columns_of(draft, line.text)?;
    let is_json = packet.path().as_bytes().ends_with(b".json");
    let language = if is_json { Some("json") } else { packet.file.language.as_deref() };
    let parts = packet.hunks().flat_map(|hunk| scan::added(language, hunk));
    let parts = parts.filter(|(added, _)| added.number == line.number).map(|(_, parts)| parts).next()?;
    let mut replacements: Vec<Replacement> = Vec::new();
    let mut is_in_string = false;
    for (at, character) in line.text[columns.clone()].char_indices().filter(|(_, sign)| is_wanted(*sign)) {
        let at = columns.start + at;
        let text = match parts.kind_at(at) {
            Kind::Comment => String::new(),
            Kind::Text => {
                is_in_string = true;
                // Java reads an escaped line end as one, before it knows of strings.
                (character != '\r').then_some(())?;
                in_string(language, &line, parts.part_at(at).start, at)?.of(character)
            }
            Kind::Code => return None,
        };
        replacements.push(replace_part(packet, &line, at..at + character.len_utf8(), &text));
    }
    let title = match is_in_string {
        true => "Write the character as an escape sequence",
        false => "Delete the character from the comment",
    };
    edit(EditSafety::Safe, title, replacements)
}

/// Returns how a string that begins at an offset spells a character inside of it.
fn in_string(language: Option<&str>, line: &RawLine<'_>, start: usize, at: usize) -> Option<Escape> {
    let quote = line.text[..start].chars().next_back()?;
    let before = &line.text[..start - quote.len_utf8()];
    // A backslash before the character would escape ours, and three quotes begin a text that goes on elsewhere.
    let is_plain =
        !line.text[..at].ends_with('\\') && !before.ends_with(quote) && matches!(quote, '"' | '\'');
    if is_plain { escape_of(language, quote, before) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_that_take_text_as_it_is_have_no_escape() {
        let cases = [
            ("python", '"', "x = ", Some(Escape::Long)),
            ("python", '"', "x = f", Some(Escape::Long)),
            ("python", '"', "x = r", None),
            ("python", '\'', "x = Rb", None),
            ("rust", '"', "let x = ", Some(Escape::Braces)),
            ("rust", '"', "let x = r#", None),
            ("rust", '"', "let x = b", None),
            ("javascript", '\'', "x = ", Some(Escape::Units)),
            ("javascript", '`', "x = ", None),
            ("ruby", '\'', "x = ", None),
            ("php", '\'', "$x = ", None),
            ("c#", '"', "x = @", None),
            ("shell", '"', "x=", None),
        ];
        for (language, quote, before, expected) in cases {
            assert_eq!(escape_of(Some(language), quote, before), expected, "{language} {before}{quote}");
        }
        assert_eq!(Escape::Units.of('\u{e0001}'), "\\udb40\\udc01");
        assert_eq!(Escape::Long.of('\u{e0001}'), "\\U000e0001");
        assert_eq!(Escape::Braces.of('\u{202e}'), "\\u{202e}");
        assert_eq!(Escape::Long.of('\u{1b}'), "\\u001b");
    }
}
