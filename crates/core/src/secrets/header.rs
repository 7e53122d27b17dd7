//! Finds credentials of HTTP headers and `curl` commands, and JSON web tokens anywhere.

use super::assignment;
use super::detector::{self, Found};
use super::plausible;
use super::url;
use super::words::{self, Naming};

pub(super) const KEYWORDS: &[&str] = &["basic ", "bearer ", "token "];
pub(super) const JWT_KEYWORDS: &[&str] = &["eyj"];

pub(super) const CURL_KEYWORDS: &[&str] = &["curl "];

/// Number of bytes of a command line that are searched.
const CURL_WINDOW: usize = 400;
/// Maximum length of a header value and of a web token, in bytes.
const LONGEST: usize = 4096;

/// Returns the credential after an authorization scheme.
pub(super) fn find(bytes: &[u8], start: usize, end: usize) -> Option<Found> {
    let length = bytes[end..bytes.len().min(end + LONGEST)]
        .iter()
        .take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'~' | b'+' | b'/' | b'=' | b'-')
        })
        .count();
    let value = &bytes[end..end + length];
    let before = &bytes[start.saturating_sub(48)..start];
    let in_header = plausible::contains(before, b"authorization");
    if !in_header && !matches!(before.last(), Some(b'"' | b'\'' | b'`')) {
        return None;
    }
    match bytes[start].to_ascii_lowercase() {
        b'b' if bytes[start + 1].eq_ignore_ascii_case(&b'a') => {
            let plain = decode(value)?;
            let colon = plain.iter().position(|byte| *byte == b':')?;
            let (user, password) = (&plain[..colon], &plain[colon + 1..]);
            let text = plain.iter().all(u8::is_ascii_graphic);
            (text && url::is_password(user, password, b"a.b"))
                .then(|| Found::new(end..end + length, &detector::BASIC_AUTH))
        }
        _ => {
            let is_literal = length >= 20 && !value.starts_with(b"eyJ") && !words::is_filled_in(value);
            (is_literal && assignment::looks_random(value, Naming::Token, true))
                .then(|| Found::new(end..end + length, &detector::BEARER))
        }
    }
}

/// Returns the web token that begins at `at`: three parts, a header with an algorithm, claims that are no sample.
pub(super) fn jwt(bytes: &[u8], at: usize) -> Option<Found> {
    let window = &bytes[at..bytes.len().min(at + LONGEST)];
    let is_inside_word = matches!(bytes[..at].last(), Some(before) if before.is_ascii_alphanumeric());
    if !window.starts_with(b"eyJ") || is_inside_word {
        return None;
    }
    let header = base64_url_length(window);
    if window.get(header) != Some(&b'.') {
        return None;
    }
    let claims = base64_url_length(&window[header + 1..]);
    let second = header + 1 + claims;
    if window.get(second) != Some(&b'.') {
        return None;
    }
    let length = second + 1 + base64_url_length(&window[second + 1..]);
    let (header, claims) = (decode(&window[..header])?, decode(&window[header + 1..second])?);
    let signed = length - second > 20
        && plausible::contains(&header, b"\"alg\"")
        && !plausible::contains(&header, b"\"none\"")
        && claims.starts_with(b"{");
    const SAMPLES: &[&str] = &[
        "1234567890",
        "john doe",
        "raw.githubusercontent.com",
        "example",
        "joe",
        "\"anon\"",
        "\"test",
        "test\"",
        "foo",
        "\"bar\"",
        "alice",
        "jane doe",
    ];
    let sample = SAMPLES.iter().any(|sample| plausible::contains(&claims, sample.as_bytes()));
    (signed && !sample).then(|| Found::new(at + 3..at + length, &detector::JWT).within(at..at + length))
}

/// Returns the length of the base64url text at the start of bytes.
fn base64_url_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')).count()
}

/// Returns the password of `curl -u user:password` when `curl` begins at `at`.
pub(super) fn curl(bytes: &[u8], at: usize) -> Option<Found> {
    let window = &bytes[at..bytes.len().min(at + CURL_WINDOW)];
    let line = window.iter().enumerate().position(|(at, byte)| *byte == b'\n' && window[at - 1] != b'\\');
    let window = &window[..line.unwrap_or(window.len())];
    let option = [&b" -u "[..], b" --user ", b" --user=", b" -u=", b" --proxy-user "].into_iter().find_map(
        |option| {
            window.windows(option.len()).position(|part| part == option).map(|found| found + option.len())
        },
    )?;
    let quote = window.get(option).copied().filter(|byte| matches!(byte, b'"' | b'\''));
    let from = option + usize::from(quote.is_some());
    let length =
        window[from..].iter().take_while(|byte| byte.is_ascii_graphic() && Some(**byte) != quote).count();
    let pair = &window[from..from + length];
    let colon = pair.iter().position(|byte| *byte == b':')?;
    let span = at + from + colon + 1..at + from + length;
    url::is_password(&pair[..colon], &pair[colon + 1..], b"a.b")
        .then(|| Found::new(span, &detector::BASIC_AUTH))
}

/// Decodes base64 in either alphabet, with or without padding.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::with_capacity(text.len() * 3 / 4);
    let (mut held, mut bits) = (0u32, 0);
    for &byte in text.strip_suffix(b"==").or(text.strip_suffix(b"=")).unwrap_or(text) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        held = ((held << 6) | u32::from(six)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            plain.push((held >> bits) as u8);
        }
    }
    Some(plain)
}
