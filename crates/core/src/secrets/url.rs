//! Finds passwords inside URLs: `scheme://user:password@host`.

use super::detector::{self, Found};
use super::plausible::{self, Shape};
use super::words;

pub(super) const KEYWORDS: &[&str] = &["://"];

/// Number of bytes behind `://` that are searched.
const LONGEST: usize = 320;

/// Hosts that only the same machine can reach.
const LOCAL: &[&str] = &["localhost", "127.0.0.1", "0.0.0.0", "[::1]", "host.docker.internal"];

/// Returns the password of the URL whose `://` is at `at`.
pub(super) fn find(bytes: &[u8], at: usize) -> Option<Found> {
    let scheme = bytes[at.saturating_sub(24)..at]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        .count();
    if scheme < 2 {
        return None;
    }
    let from = at + 3;
    let window = &bytes[from..bytes.len().min(from + LONGEST)];
    let length = window
        .iter()
        .position(|byte| {
            !byte.is_ascii_graphic()
                || matches!(byte, b'/' | b'?' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|')
        })
        .unwrap_or(window.len());
    let authority = &window[..length];
    let sign = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..sign].iter().position(|byte| *byte == b':')?;
    let (user, password, host) = (&authority[..colon], &authority[colon + 1..sign], &authority[sign + 1..]);
    let span = from + colon + 1..from + sign;
    (!host.is_empty() && is_password(user, password, host))
        .then(|| Found::new(span, &detector::CREDENTIAL_URL))
}

/// Returns whether a password is a secret: chosen or random, and neither a variable nor a default.
pub(super) fn is_password(user: &[u8], password: &[u8], host: &[u8]) -> bool {
    let hidden = words::is_filled_in(password)
        || password.iter().any(|byte| matches!(byte, b'{' | b'}' | b'<' | b'>' | b'(' | b')' | b'['))
        || password.starts_with(b"$")
        || words::is_weak(password)
        || plausible::is_sequence(password)
        || password.eq_ignore_ascii_case(user);
    if hidden || password.len() < 6 {
        return false;
    }
    let shape = Shape::new(password);
    let words = plausible::reads_as_words(password) || words::is_name(password);
    let drawn = password.len() >= 8
        && shape.kinds() >= 2
        && shape.switches >= 3
        && plausible::entropy(password) >= 2500;
    let local = LOCAL
        .iter()
        .any(|local| host.len() >= local.len() && host[..local.len()].eq_ignore_ascii_case(local.as_bytes()));
    let named = host.contains(&b'.') && !plausible::contains(host, b"example");
    if local {
        return drawn && !words && shape.kinds() >= 3 && password.len() >= 12;
    }
    !words && (drawn || (named && shape.kinds() >= 2 && shape.switches >= 2))
}
