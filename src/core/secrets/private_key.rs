//! Finds private keys in PEM and OpenPGP armour, also inside string literals and without their end.

use std::ops::Range;

use super::plausible;

pub(super) const KEYWORDS: &[&str] = &["-----begin "];

/// The longest key looked for, with its armour.
const LONGEST: usize = 32 << 10;
/// The shortest run of base64 that a key body has.
const SHORTEST_RUN: usize = 40;

/// The body of the private key whose first line begins at `start`, without the marker lines.
pub(super) fn find(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let limit = bytes.len().min(start + LONGEST);
    let label = &bytes[start + "-----BEGIN ".len()..limit.min(start + 80)];
    let label_end = position(label, b"-----")?;
    if !plausible::contains(&label[..label_end], b"private key") || label[..label_end].contains(&b'\n') {
        return None;
    }
    let line =
        bytes[start.saturating_sub(80)..start].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    if ["fake", "dummy", "example", "sample", "mock"]
        .iter()
        .any(|word| plausible::contains(line, word.as_bytes()))
    {
        return None;
    }
    let from = start + "-----BEGIN ".len() + label_end + 5;
    let window = bytes.get(from..limit)?;
    // The next marker ends the key, whatever it says, so many markers cost no more than one.
    let marker = position(window, b"-----").unwrap_or(window.len());
    let ended = window[marker..].starts_with(b"-----END") && is_body(&window[..marker]);
    let length = if ended { marker } else { unended(&window[..marker]) };
    let body = trimmed(bytes, from..from + length);
    is_body(&bytes[body.clone()]).then_some(body)
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part.eq_ignore_ascii_case(needle))
}

/// Without line ends and blanks around, written or escaped.
fn trimmed(bytes: &[u8], mut body: Range<usize>) -> Range<usize> {
    loop {
        let text = &bytes[body.clone()];
        if text.first().is_some_and(|byte| byte.is_ascii_whitespace() || is_armour(*byte)) {
            body.start += 1;
        } else if text.starts_with(b"\\n") || text.starts_with(b"\\r") {
            body.start += 2;
        } else if text.last().is_some_and(|byte| byte.is_ascii_whitespace() || is_armour(*byte)) {
            body.end -= 1;
        } else if text.ends_with(b"\\n") || text.ends_with(b"\\r") {
            body.end -= 2;
        } else {
            return body;
        }
    }
}

fn is_armour(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`' | b',' | b'#' | b'*' | b'>' | b'(' | b')' | b'-' | b';')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// How much of a window continues a key that has no end in sight: base64 lines and armour headers.
fn unended(window: &[u8]) -> usize {
    let mut length = 0;
    for (at, line) in window.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let bare = line.trim_ascii();
        let base64 = bare.iter().filter(|byte| is_base64(**byte)).count();
        let header = bare.starts_with(b"Proc-Type:")
            || bare.starts_with(b"DEK-Info:")
            || bare.starts_with(b"Version:");
        let continues = header || bare.len() < 4 || (base64 >= 16 && base64 + 8 >= bare.len()) || at == 0;
        if !continues {
            break;
        }
        length += line.len();
    }
    length
}

/// Whether text between the markers is key material: long random base64, not an ellipsis and not code.
fn is_body(body: &[u8]) -> bool {
    let mut text: Vec<u8> = Vec::new();
    let (mut run, mut longest) = (0, 0);
    let mut before = 0;
    for &byte in body {
        let escape = before == b'\\' && matches!(byte, b'n' | b'r');
        if is_base64(byte) && !escape {
            text.push(byte);
            run += 1;
            longest = longest.max(run);
        } else {
            run = 0;
        }
        before = byte;
    }
    longest >= SHORTEST_RUN
        && text.len() >= 48
        && plausible::entropy(&text) >= 4000
        && !plausible::is_sequence(&text[..text.len().min(256)])
        && !plausible::contains(body, b"...")
}
