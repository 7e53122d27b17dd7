//! Decides what is text, whatever the repository's attributes claim, and brings it into one encoding.

use std::borrow::Cow;

use qa_contracts::v1::FileClass;

/// A blob's content as the line diff takes it.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Lines separated by `\n`, UTF-8 but for stray bytes.
    Text(Cow<'a, [u8]>),
    /// Not lines of text.
    Binary,
}

/// Leading bytes that tell text from what is not, as many as in git.
pub const SNIFFED_BYTES: usize = 8000;

/// Decides whether a blob is text.
///
/// Neither `.gitattributes` nor stray bytes hide lines: what is named as program text or configuration always is text;
/// elsewhere control bytes must be common, and only what is named as an asset needs no more than a NUL. UTF-16 with a byte order mark is text and is transcoded.
pub fn content(bytes: &[u8], class: FileClass) -> Content<'_> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => return Content::Text(Cow::Owned(from_utf16(rest, u16::from_le_bytes))),
        [0xfe, 0xff, rest @ ..] => return Content::Text(Cow::Owned(from_utf16(rest, u16::from_be_bytes))),
        _ => {}
    }
    let head = &bytes[..bytes.len().min(SNIFFED_BYTES)];
    let is_control = |byte: &&u8| **byte < 0x09 || (0x0e..0x20).contains(*byte) && **byte != 0x1b;
    let controls = || head.iter().filter(is_control).count();
    let binary = match class {
        // A comment full of control bytes runs as well as any other, so program text is never taken for anything else.
        FileClass::Source | FileClass::Config | FileClass::Infra => false,
        FileClass::Test | FileClass::Docs => controls() * 10 > head.len(),
        FileClass::Unknown => head.contains(&0) && controls() * 20 > head.len(),
        FileClass::Asset => head.contains(&0),
    };
    if binary { Content::Binary } else { Content::Text(Cow::Borrowed(bytes)) }
}

/// The bytes as text, one replacement character for each stray sequence. Nearly all are UTF-8, and to see that is fast.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text: String = char::decode_utf16(pairs.iter().map(|&pair| unit(pair)))
        .map(|decoded| decoded.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tricks_that_hide_lines_from_git_do_not_hide_them_here() {
        let cases: &[(&str, &[u8], FileClass, bool)] = &[
            ("a trailing NUL in source", b"let a = 1;\n\0", FileClass::Source, true),
            ("a NUL first in source", b"\0let a = 1;\nlet b = 2;\n", FileClass::Source, true),
            ("UTF-16 with a mark", b"\xff\xfea\0\n\0", FileClass::Unknown, true),
            ("UTF-16 big endian", b"\xfe\xff\0a\0\n", FileClass::Unknown, true),
            ("Latin-1", b"caf\xe9\n", FileClass::Unknown, true),
            ("ANSI art", b"\x1b[31mred\x1b[0m\n", FileClass::Unknown, true),
            ("an empty file", b"", FileClass::Unknown, true),
            (
                "a script with a NUL and no ending",
                b"#!/bin/sh\nset -e\necho hidden from git\n\0\n",
                FileClass::Unknown,
                true,
            ),
            (
                "an object without an ending",
                b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01",
                FileClass::Unknown,
                false,
            ),
            ("a PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", FileClass::Asset, false),
            ("control bytes in source", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 1], FileClass::Source, true),
            ("control bytes in test data", &[0, 1, 2, 3, 4, 5, 6, 7, 8, 1], FileClass::Test, false),
        ];
        for (name, bytes, class, text) in cases {
            assert_eq!(matches!(content(bytes, *class), Content::Text(_)), *text, "{name}");
        }
    }
}
