//! Meaning of scalars: their types, and where a byte of the decoded text stands in the source.

use crate::shell::Decoded;

/// Notation of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Without quotes; its type follows from its text.
    Plain,
    /// In single quotes that are doubled inside, as in YAML.
    Single,
    /// In quotes with backslash escapes.
    Double,
    /// A block of lines, joined as YAML folds them or kept.
    Block,
    /// Expression of a program, whose value is not known.
    Code,
    /// Text as it stands between its marks: a literal string of TOML, an INI value, XML text.
    Verbatim,
}

/// Type of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Plain<'d> {
    Null,
    Flag(bool),
    /// A number, as it is written: TOML and YAML 1.1 part its digits with `_`, where YAML 1.2 has a text.
    Number(&'d str),
    Text(&'d str),
    /// An expression of a program, as it is written.
    Code(&'d str),
}

impl<'d> Plain<'d> {
    /// Returns the type by the core schema of YAML 1.2, which agrees with JSON and TOML on what they have.
    pub(super) fn new(text: &'d str, style: Style) -> Self {
        match style {
            Style::Plain => {}
            Style::Code => return Self::Code(text),
            Style::Single | Style::Double | Style::Block | Style::Verbatim => return Self::Text(text),
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Self::Null,
            "true" | "True" | "TRUE" => Self::Flag(true),
            "false" | "False" | "FALSE" => Self::Flag(false),
            _ if is_number(text) => Self::Number(text),
            _ => Self::Text(text),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.trim_start_matches(['+', '-']);
    if matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = digits.strip_prefix(prefix) {
            let mut characters = rest.chars();
            return !rest.is_empty()
                && characters.all(|character| character.is_digit(radix) || character == '_');
        }
    }
    let starts = digits.starts_with(|character: char| character.is_ascii_digit() || character == '.');
    starts && digits.replace('_', "").parse::<f64>().is_ok()
}

/// Reads a word as true or false in the spellings of YAML 1.1, configparser and GitHub's expressions of constants.
pub(super) fn flag(text: &str) -> Option<bool> {
    let text = text.trim();
    let inner = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}"));
    let word = inner.unwrap_or(text).trim().trim_matches(['\'', '"', '(', ')']).trim();
    match word.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" | "!false" => Some(true),
        "false" | "no" | "off" | "0" | "!true" => Some(false),
        _ => None,
    }
}

/// Offset in the source of a scalar of a byte of its decoded text.
///
/// The two texts are walked side by side; what the source has more of is marks, indentation, folded line ends and
/// escapes. Where the texts cannot be followed to the end, the offset of the last common character is returned.
pub(super) fn source_offset(source: &str, decoded: &str, style: Style, offset: usize) -> usize {
    let mut walk = Walk::new(source, decoded, style);
    for (position, wanted) in decoded.char_indices() {
        let Some(length) = walk.find(wanted) else { break };
        if position >= offset {
            break;
        }
        walk.at += length;
    }
    walk.at.min(source.len())
}

/// Decoded text with the place of each of its parts, given the place of the source.
pub(super) fn placed(source: &str, decoded: &str, style: Style, begin: usize) -> Decoded {
    let mut walk = Walk::new(source, decoded, style);
    let mut placed = Decoded::default();
    for (position, wanted) in decoded.char_indices() {
        let length = walk.find(wanted);
        placed.push(&decoded[position..position + wanted.len_utf8()], begin + walk.at.min(source.len()));
        walk.at += length.unwrap_or(0);
    }
    placed
}

/// Offset of the first byte of content: behind the opening quote, or on the line below the header of a block.
fn content_start(source: &str, style: Style) -> usize {
    match style {
        Style::Plain | Style::Code => 0,
        Style::Single | Style::Double | Style::Verbatim => {
            // TOML drops the line end behind the opening quotes of a long string.
            let quotes = ["\"\"\"\n", "'''\n", "\"\"\"", "'''", "\"", "'"];
            let open = quotes.iter().find(|quote| source.starts_with(**quote)).copied();
            open.unwrap_or_default().len()
        }
        Style::Block => match source.split_once('\n') {
            Some((header, _)) if header.starts_with(['|', '>']) => header.len() + 1,
            _ => 0,
        },
    }
}

/// Columns of indentation of a block: those of its first line with content, but for blanks that are content because
/// the header names the indentation.
fn block_indent(source: &str, decoded: &str) -> usize {
    fn blanks<'l>(mut lines: impl Iterator<Item = &'l str>) -> usize {
        let content = lines.find(|line| !line.trim().is_empty()).unwrap_or("");
        content.len() - content.trim_start_matches(' ').len()
    }
    blanks(source.lines().skip(1)).saturating_sub(blanks(decoded.lines()))
}

/// A place in the source of a scalar.
struct Walk<'s> {
    source: &'s str,
    at: usize,
    style: Style,
    /// Columns at the begin of each line that are no content.
    indent: usize,
}

impl<'s> Walk<'s> {
    fn new(source: &'s str, decoded: &str, style: Style) -> Self {
        let indent = if style == Style::Block { block_indent(source, decoded) } else { 0 };
        Self { source, at: content_start(source, style), style, indent }
    }

    /// Moves to what stands for a decoded character and returns its length in the source; none where nothing does.
    fn find(&mut self, wanted: char) -> Option<usize> {
        loop {
            self.skip_indent();
            let rest = self.source.get(self.at..)?;
            let next = rest.chars().next()?;
            if next == '\\' && self.style == Style::Double {
                if !rest.starts_with("\\\n") {
                    return Some(escape_length(rest));
                }
                self.at += 2;
            } else if next == '\'' && self.style == Style::Single {
                return Some(2);
            } else if next == wanted {
                return Some(next.len_utf8());
            } else if matches!(next, '\n' | '\r') && matches!(wanted, ' ' | '\n') {
                return Some(1);
            } else if next.is_ascii_whitespace() {
                self.at += 1;
            } else if wanted == '\n' && self.at == 0 {
                // An INI value that begins below its name.
                return Some(0);
            } else {
                return None;
            }
        }
    }

    fn skip_indent(&mut self) {
        let line_start = self.at == 0 || self.source.as_bytes().get(self.at - 1) == Some(&b'\n');
        if line_start {
            let rest = self.source.get(self.at..).unwrap_or("");
            let spaces = rest.len() - rest.trim_start_matches(' ').len();
            self.at += spaces.min(self.indent);
        }
    }
}

/// Length in bytes of the escape that a text begins with.
fn escape_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = match bytes.get(1) {
        Some(b'x') => 2,
        Some(b'u') if bytes.get(2) == Some(&b'{') => text.find('}').unwrap_or(1) - 1,
        Some(b'u') => 4,
        Some(b'U') => 8,
        Some(_) | None => 0,
    };
    let marked: usize = text.chars().take(2).map(char::len_utf8).sum();
    (marked + digits).min(text.len())
}
