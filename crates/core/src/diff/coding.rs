//! Tells scripts whose bytes may be another program to their interpreter than they are as text.

/// Encodings in which every byte below 0x80 is the ASCII character and never part of another one.
const TRANSPARENT: &[&str] = &[
    "ascii",
    "us-ascii",
    "646",
    "utf-8",
    "utf8",
    "u8",
    "utf",
    "utf-8-sig",
    "utf8-ucs2",
    "utf8-ucs4",
    "utf-8-emacs",
    "utf-8-unix",
    "utf-8-dos",
    "utf-8-mac",
    "latin-1",
    "latin1",
    "latin",
    "l1",
    "iso-latin-1",
    "iso-latin-1-unix",
    "euc-jp",
    "eucjp",
    "euc-kr",
    "euckr",
    "euc-cn",
    "gb2312",
    "binary",
    "raw-text",
    "undecided",
];
/// Beginnings of names of such encodings.
const TRANSPARENT_FAMILIES: &[&str] =
    &["iso-8859-", "iso8859-", "windows-125", "cp125", "koi8-", "mac-", "latin-", "cp437", "cp85", "cp86"];
/// Encodings in which a byte below 0x80 may be the second half of a character.
const DOUBLE_BYTE: &[&str] = &[
    "big5",
    "big5-hkscs",
    "big5hkscs",
    "cp932",
    "cp936",
    "cp949",
    "cp950",
    "gb18030",
    "gbk",
    "johab",
    "ms932",
    "shift-jis",
    "shift-jisx0213",
    "shiftjis",
    "sjis",
    "uhc",
    "windows-31j",
];
/// Longest line that is searched for a declaration, in bytes.
const MAX_LINE: usize = 512;

/// Returns whether a script's bytes are not its text: behind a mark of UTF-32, or where one of its first two lines
/// declares an encoding that gives ASCII bytes another meaning, as `coding: utf-7` does for Python.
///
/// An encoding that is not known here counts as one: interpreters take codecs that a program brings along.
pub fn is_recoded(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff") {
        return true;
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let lines = text.split(|byte| matches!(byte, b'\n' | b'\r')).filter(|line| !line.is_empty());
    let declared = lines.take(2).find_map(declared_encoding);
    let Some(name) = declared else { return false };
    if TRANSPARENT.contains(&name.as_str())
        || TRANSPARENT_FAMILIES.iter().any(|family| name.starts_with(family))
    {
        return false;
    }
    !DOUBLE_BYTE.contains(&name.as_str()) || !bytes.is_ascii()
}

/// Returns the encoding that a comment declares, in lower case with `-` for `_` (PEP 263, and the same in Ruby).
fn declared_encoding(line: &[u8]) -> Option<String> {
    let line = &line[..line.len().min(MAX_LINE)];
    let line = String::from_utf8_lossy(line).to_lowercase();
    let comment = line.trim_start_matches([' ', '\t', '\x0c']).strip_prefix('#')?;
    let rest = comment.match_indices("coding").find_map(|(start, word)| {
        let rest = &comment[start + word.len()..];
        rest.strip_prefix([':', '='])
    })?;
    let name: String = rest
        .trim_start_matches([' ', '\t'])
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.'))
        .map(|character| if character == '_' { '-' } else { character })
        .collect();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_encoding_that_makes_another_program_is_told() {
        let cases: &[(&[u8], bool)] = &[
            (b"# -*- coding: utf-7 -*-\n#+AAo-import os\n", true),
            (b"#!/usr/bin/python\n# vim: set fileencoding=UTF_7 :\n", true),
            (b"\xef\xbb\xbf# coding: unicode_escape\n", true),
            (b"\x0c # coding=rot13\n", true),
            (b"\r\n# coding: raw_unicode_escape\r\n", true),
            (b"# coding: mine\n", true),
            (b"# coding: cp037\n", true),
            (b"# coding: gbk\nx = '\x83\\'\n", true),
            (b"\xff\xfe\0\0a\0\0\0", true),
            (b"# coding: gbk\nx = 1\n", false),
            (b"# -*- coding: utf-8 -*-\n", false),
            (b"# -*- coding: Latin-1 -*-\n", false),
            (b"# coding: iso8859-15\n", false),
            (b"# -*- mode: ruby; coding: utf-8-unix -*-\n", false),
            (b"a = 1\nb = 2\n# coding: utf-7\n", false),
            (b"text = 'coding: utf-7'\n", false),
            (b"# coding standards\n", false),
            (b"", false),
        ];
        for (bytes, expected) in cases {
            assert_eq!(is_recoded(bytes), *expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
