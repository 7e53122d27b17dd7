//! Decides what is text, whatever the repository's attributes claim, and brings it into one encoding.

use std::borrow::Cow;

use crate::classify::RunsAs;

/// A blob's content as the line diff takes it.
#[derive(Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Lines separated by `\n`, UTF-8 but for stray bytes.
    Text(Cow<'a, [u8]>),
    /// Not lines of text.
    Binary,
}

/// Leading bytes of a file over the size limit that tell text from what is not, as many as in git.
pub const SNIFFED_BYTES: usize = 8000;
/// A file without a known use counts as binary if it has a NUL and more than one control byte per this many bytes.
const CONTROL_SHARE: usize = 20;
/// Bytes of ASCII in a row that UTF-16 does not have but by chance: four Chinese characters in a row.
const ASCII_RUN: usize = 8;

/// Decides whether a blob is text.
///
/// Neither `.gitattributes`, an asset's extension nor stray bytes hide lines. Files that a program runs or loads are text
/// whatever bytes they have, because a comment full of control bytes runs as well as any other; of files that are
/// executable by their mode alone only a compiled program is binary. Other files are binary when they have a NUL and
/// more than one control byte in [`CONTROL_SHARE`], over all of their bytes. UTF-16 with a byte order mark is text and is
/// transcoded, but for runs of ASCII in it: a shell runs a file by its bytes, whatever stands before them.
pub fn content(bytes: &[u8], runs_as: RunsAs) -> Content<'_> {
    match bytes {
        [0xff, 0xfe, rest @ ..] => return Content::Text(Cow::Owned(mixed_text(rest, u16::from_le_bytes))),
        [0xfe, 0xff, rest @ ..] => return Content::Text(Cow::Owned(mixed_text(rest, u16::from_be_bytes))),
        _ => {}
    }
    let is_text = match runs_as {
        RunsAs::Script | RunsAs::Configuration => true,
        RunsAs::Executable => !(is_compiled(bytes) && is_dense(bytes)),
        RunsAs::Compiled | RunsAs::Nothing => bytes.starts_with(b"#!") || !is_dense(bytes),
    };
    if is_text { Content::Text(Cow::Borrowed(bytes)) } else { Content::Binary }
}

/// Returns whether a blob begins as a compiled program or library does: ELF, PE, Mach-O, WebAssembly, Java, `ar`.
pub fn is_compiled(bytes: &[u8]) -> bool {
    const BEGINNINGS: &[&[u8]] = &[
        b"\x7fELF",
        b"MZ",
        b"\xfe\xed\xfa\xce",
        b"\xfe\xed\xfa\xcf",
        b"\xce\xfa\xed\xfe",
        b"\xcf\xfa\xed\xfe",
        b"\xca\xfe\xba\xbe",
        b"\0asm",
        b"!<arch>",
    ];
    BEGINNINGS.iter().any(|beginning| bytes.starts_with(beginning))
}

/// Returns whether a blob has a NUL and more control bytes than text has.
fn is_dense(bytes: &[u8]) -> bool {
    bytes.contains(&0) && bytes.iter().filter(|&&byte| is_control(byte)).count() * CONTROL_SHARE > bytes.len()
}

/// Returns whether a byte is a control byte that text rarely has; ESC starts terminal colours in logs.
fn is_control(byte: u8) -> bool {
    byte < 0x09 || (0x0e..0x20).contains(&byte) && byte != 0x1b
}

/// Returns the bytes as text, with one replacement character for each stray sequence.
pub fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly all files are UTF-8, and the strict check is the faster one.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

/// Decodes UTF-16 and leaves runs of ASCII as they are.
fn mixed_text(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut decoded_to = 0;
    let mut at = 0;
    while at < bytes.len() {
        let run = bytes[at..].iter().take_while(|&&byte| is_ascii_text(byte)).count();
        if run >= ASCII_RUN {
            // The first byte of a run may be half of a unit that says the same character.
            let is_half = at % 2 == 1 && unit([bytes[at - 1], bytes[at]]) == u16::from(bytes[at]);
            let start = at + usize::from(is_half);
            text.extend(from_utf16(&bytes[decoded_to..start], unit));
            text.extend_from_slice(&bytes[start..at + run]);
            // Units begin at even places, wherever a run ends.
            decoded_to = (at + run).next_multiple_of(2).min(bytes.len());
        }
        at += run.max(1);
    }
    if decoded_to < bytes.len() {
        text.extend(from_utf16(&bytes[decoded_to..], unit));
    }
    text
}

fn is_ascii_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~')
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
        use RunsAs::{Compiled, Configuration, Executable, Nothing, Script};
        let controls = &[0, 1, 2, 3, 4, 5, 6, 7, 8, 1];
        let script = |head: &[u8]| [head, b"\n", controls, b"\necho hidden\n"].concat();
        let late = [b"\0\0\0\0 ".repeat(2000), b"echo run by another script\n".repeat(9000)].concat();
        let cases: &[(&str, &[u8], RunsAs, bool)] = &[
            ("a trailing NUL in source", b"let a = 1;\n\0", Script, true),
            ("a NUL first in source", b"\0let a = 1;\nlet b = 2;\n", Script, true),
            ("UTF-16 with a mark", b"\xff\xfea\0\n\0", Nothing, true),
            ("UTF-16 big endian", b"\xfe\xff\0a\0\n", Nothing, true),
            ("a script behind a mark of UTF-16", b"\xfe\xff\necho hidden\n", Nothing, true),
            ("Latin-1", b"caf\xe9\n", Nothing, true),
            ("ANSI art", b"\x1b[31mred\x1b[0m\n", Nothing, true),
            ("an empty file", b"", Nothing, true),
            ("a script with a NUL and no ending", b"#!/bin/sh\nset -e\necho hidden\n\0\n", Nothing, true),
            ("a script with a comment of control bytes", &script(b"#!/bin/sh"), Nothing, true),
            ("a script behind the first bytes of a picture", &script(b"\x89PNG"), Executable, true),
            ("text behind many leading NULs", &late, Nothing, true),
            ("text with one NUL", b"echo run by another script\n\0\n", Nothing, true),
            ("control bytes in source", controls, Script, true),
            ("control bytes in a configuration", controls, Configuration, true),
            ("control bytes in data", controls, Nothing, false),
            ("a PNG", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", Nothing, false),
            ("an object", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01", Nothing, false),
            ("a program", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0\x01", Executable, false),
            ("a script behind the first bytes of a program", b"\x7fELF\necho hidden\n", Executable, true),
            ("an archive of classes", b"PK\x03\x04\x14\0\x08\x08\0\0", Compiled, false),
            ("text with the name of a library", b"echo hidden\n", Compiled, true),
        ];
        for (name, bytes, runs_as, text) in cases {
            assert_eq!(matches!(content(bytes, *runs_as), Content::Text(_)), *text, "{name}");
        }
    }

    #[test]
    fn utf_16_is_decoded_and_ascii_within_it_stays() {
        let utf_16 = |text: &str| -> Vec<u8> { text.encode_utf16().flat_map(u16::to_be_bytes).collect() };
        for (bytes, expected) in [
            (utf_16("a = 1\r\nécole 上海\n"), "a = 1\r\nécole 上海\n"),
            (b"\nexport T=hidden\n".to_vec(), "\nexport T=hidden\n"),
            ([utf_16("é\n"), b"run hidden \n".to_vec(), utf_16("\nè\n")].concat(), "é\nrun hidden \n\nè\n"),
            (
                [utf_16("é"), b"run hidden\n".to_vec(), b"\xff".to_vec(), utf_16("è")].concat(),
                "érun hidden\nè",
            ),
        ] {
            let marked = [b"\xfe\xff".to_vec(), bytes].concat();
            let Content::Text(text) = content(&marked, RunsAs::Nothing) else { panic!("{expected} is text") };
            assert_eq!(lossy(&text), expected);
        }
    }
}
