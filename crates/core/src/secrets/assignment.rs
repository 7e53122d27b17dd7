//! Finds values assigned to names of secrets, in any notation: code, JSON, YAML, TOML, XML, env, flags.

use std::ops::Range;

use super::detector::{self, Found};
use super::plausible::{self, Shape};
use super::vendor;
use super::words::{self, Naming};

/// Parts of names that may be those of secrets.
pub(super) const KEYWORDS: &[&str] =
    &["pass", "pwd", "pswd", "secret", "token", "key", "auth", "cred", "bearer", "_pat", "psk", "_pw", "jwt"];

/// Maximum length of a name, in bytes.
const LONGEST_NAME: usize = 80;
/// Maximum length of a value, in bytes.
const LONGEST_VALUE: usize = 1024;

/// Maximum length of what may stand between an operator and a quoted value, in bytes.
const LONGEST_LAYOUT: usize = 160;

/// Minimum entropy of a random value, in thousandths of a bit for each byte; checked first because it is cheap.
const LEAST_ENTROPY: u32 = 2200;

/// A name with its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Assigned {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    /// True if quotes or tags bound the value.
    pub(super) bounded: bool,
}

/// A position in the text that moves forward.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.at.min(self.bytes.len())..self.bytes.len().min(self.at + 64)]
    }

    fn skip(&mut self, most: usize, accept: impl Fn(u8) -> bool) -> usize {
        let from = self.at;
        while self.at - from < most
            && let Some(byte) = self.peek()
            && accept(byte)
        {
            self.at += 1;
        }
        self.at - from
    }

    fn blanks(&mut self) -> usize {
        self.skip(24, |byte| matches!(byte, b' ' | b'\t'))
    }
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

/// Parses the assignment whose name has a keyword at `start..end`: with the value right behind the operator, and with a
/// quoted one behind line breaks, parentheses and comments. Which of them the language means only it knows.
pub(super) fn parse(bytes: &[u8], start: usize, end: usize) -> Vec<Assigned> {
    let near = parse_at(bytes, start, end, layout_of_a_line);
    let far = parse_at(bytes, start, end, layout).filter(|far| Some(far) != near.as_ref());
    near.into_iter().chain(far).collect()
}

/// Moves to a quoted value behind an operator, over what may stand before it; returns whether there is one.
type Layout = fn(&mut Cursor<'_>) -> bool;

/// Finds no value but the one right behind the operator.
fn layout_of_a_line(_cursor: &mut Cursor<'_>) -> bool {
    false
}

fn parse_at(bytes: &[u8], start: usize, end: usize, layout: Layout) -> Option<Assigned> {
    let floor = start.saturating_sub(LONGEST_NAME);
    let left = bytes[floor..start].iter().rev().take_while(|byte| in_name(**byte)).count();
    let right = bytes[end..].iter().take(LONGEST_NAME).take_while(|byte| in_name(**byte)).count();
    let mut name = start - left..end + right;
    while matches!(bytes[name.end - 1], b'-' | b'.') {
        name.end -= 1;
    }
    let flag = bytes[name.clone()].starts_with(b"--");
    if name.len() > LONGEST_NAME {
        return None;
    }
    name = spaced(bytes, name);
    let mut cursor = Cursor { bytes, at: name.end };
    let value_from = cursor.at;
    // In a query the value ends where the next parameter begins.
    let in_query = matches!(bytes[..name.start].last(), Some(b'?' | b'&'));
    let bare = operator(&mut cursor, flag || follows_login(bytes, name.start), layout)?;
    if cursor.at == value_from {
        return None;
    }
    let Value { place, bounded } = value(&mut cursor, bare, in_query, layout)?;
    Some(Assigned { name, value: place, bounded })
}

/// Extends a name by a first word before a blank, as in `api key`.
fn spaced(bytes: &[u8], name: Range<usize>) -> Range<usize> {
    const FIRST: &[&[u8]] = &[b"api", b"access", b"secret", b"private", b"auth"];
    let start = FIRST.iter().find_map(|first| {
        let start = name.start.checked_sub(first.len() + 1)?;
        (bytes[start..].get(..first.len())?.eq_ignore_ascii_case(first) && bytes[name.start - 1] == b' ')
            .then_some(start)
    });
    start.unwrap_or(name.start)..name.end
}

/// Returns whether a `machine` and a `login` of a `.netrc` precede an offset.
fn follows_login(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(160)..at];
    plausible::contains(before, b"login ") && plausible::contains(before, b"machine ")
}

/// Moves over the operator between a name and its value. Returns whether the value may be unquoted, or `None` when
/// nothing is assigned.
fn operator(cursor: &mut Cursor<'_>, blank_assigns: bool, layout: Layout) -> Option<bool> {
    cursor.skip(3, |byte| byte == b'\\');
    let quoted = cursor.skip(1, is_quote) > 0;
    cursor.skip(2, |byte| matches!(byte, b']' | b')'));
    let blanks = cursor.blanks();
    value_of_name(cursor, quoted);
    annotation(cursor);
    match cursor.peek()? {
        b'=' | b':' | b'?' | b'+' | b'|' | b'!' | b'.' | b'>' | b'<' => {
            let from = cursor.at;
            cursor.skip(4, |byte| {
                matches!(byte, b'=' | b':' | b'>' | b'?' | b'+' | b'|' | b'!' | b'.' | b'~' | b'<' | b'-')
            });
            let sign = &cursor.bytes[from..cursor.at];
            let assigns =
                sign.iter().any(|byte| matches!(byte, b'=' | b':')) || sign == b">" || sign == b"<-";
            let line_end = sign == b">" || sign.ends_with(b":");
            // The home directory in `KEY=~/.ssh/id`.
            if sign.ends_with(b"=~") && cursor.peek() == Some(b'/') {
                cursor.at -= 1;
            }
            let is_compared = matches!(sign, b"==" | b"!=");
            cursor.blanks();
            if sign == b">" {
                cursor.skip(24, |byte| byte.is_ascii_whitespace());
            }
            if !assigns {
                return None;
            }
            if layout(cursor) {
                return Some(false);
            }
            let is_scalar = sign == b":" && block_scalar(cursor);
            (is_scalar || !(line_end && cursor.peek() == Some(b'\n'))).then_some(!is_compared)
        }
        b',' | b'(' => {
            cursor.at += 1;
            cursor.skip(24, |byte| byte.is_ascii_whitespace());
            layout(cursor);
            Some(false)
        }
        _ if blank_assigns && blanks > 0 => Some(true),
        _ => None,
    }
}

/// Moves to a quoted value over whatever may stand before it: line breaks, parentheses and comments, as formatters put
/// them. Returns whether there is one; the cursor stays where it is if not.
fn layout(cursor: &mut Cursor<'_>) -> bool {
    let from = cursor.at;
    let limit = from + LONGEST_LAYOUT;
    while cursor.at < limit {
        let rest = cursor.rest();
        let ends: &[u8] = if rest.starts_with(b"/*") {
            b"*/"
        } else if rest.starts_with(b"//") || rest.starts_with(b"#") {
            b"\n"
        } else if cursor
            .skip(LONGEST_LAYOUT, |byte| byte.is_ascii_whitespace() || matches!(byte, b'(' | b'\\'))
            > 0
        {
            continue;
        } else {
            break;
        };
        let comment = &cursor.bytes[cursor.at..cursor.bytes.len().min(limit)];
        let Some(length) = comment.windows(ends.len()).position(|window| window == ends) else { break };
        cursor.at += length + ends.len();
    }
    let moved = cursor.at > from;
    let opened = cursor.at;
    cursor.skip(2, |byte| byte.is_ascii_alphabetic());
    let is_quoted = cursor.peek().is_some_and(is_quote) && !is_key(cursor);
    cursor.at = if moved && is_quoted { opened } else { from };
    moved && is_quoted
}

/// Returns whether the quoted text at the cursor is a key of a pair.
fn is_key(cursor: &Cursor<'_>) -> bool {
    let quote = cursor.peek();
    let mut after = Cursor { bytes: cursor.bytes, at: cursor.at + 1 };
    after.skip(LONGEST_VALUE, |byte| Some(byte) != quote && byte != b'\n');
    after.at += 1;
    after.blanks();
    after.peek() == Some(b':')
}

/// Moves to the first line of a block scalar of YAML, and returns whether there is one.
fn block_scalar(cursor: &mut Cursor<'_>) -> bool {
    let from = cursor.at;
    let is_header = cursor.skip(1, |byte| matches!(byte, b'|' | b'>')) > 0;
    cursor.skip(2, |byte| matches!(byte, b'+' | b'-') || byte.is_ascii_digit());
    let is_header = is_header && cursor.skip(2, |byte| matches!(byte, b'\r' | b'\n')) > 0;
    let is_indented = is_header && cursor.blanks() > 0;
    if !is_indented {
        cursor.at = from;
    }
    is_indented
}

/// Moves over `value` in `name: X, value: Y` and `name="X" value="Y"`.
fn value_of_name(cursor: &mut Cursor<'_>, quoted: bool) {
    let from = cursor.at;
    let gap = cursor.skip(40, |byte| byte.is_ascii_whitespace() || (quoted && byte == b','));
    cursor.skip(1, is_quote);
    let word = cursor.rest().get(..5).unwrap_or_default();
    if gap > 0 && word.eq_ignore_ascii_case(b"value") {
        cursor.at += 5;
        cursor.skip(1, is_quote);
        cursor.blanks();
    } else {
        cursor.at = from;
    }
}

/// Moves over the type in `name: Type = …` and `name Type = …`.
fn annotation(cursor: &mut Cursor<'_>) {
    let rest = cursor.rest();
    let from = usize::from(rest.first() == Some(&b':'));
    let Some(sign) = rest.iter().position(|byte| *byte == b'=') else { return };
    let between = &rest[from..sign.max(from)];
    let is_type = between.iter().any(u8::is_ascii_alphabetic)
        && between.iter().all(|byte| {
            byte.is_ascii_alphanumeric()
                || matches!(
                    byte,
                    b' ' | b'_' | b'&' | b'\'' | b'<' | b'>' | b'[' | b']' | b'?' | b'*' | b':' | b'|' | b'.'
                )
        });
    if is_type && sign < 40 {
        cursor.at += sign;
    }
}

/// Value of an assignment, before it is judged.
struct Value {
    place: Range<usize>,
    /// True if quotes or tags bound it.
    bounded: bool,
}

/// Parses the value at the cursor.
fn value(cursor: &mut Cursor<'_>, bare: bool, in_query: bool, layout: Layout) -> Option<Value> {
    wrapper(cursor, layout);
    let before_prefix = cursor.at;
    cursor.skip(2, |byte| {
        matches!(byte, b'b' | b'r' | b'u' | b'f' | b'L' | b'@' | b'$' | b'B' | b'R' | b'F' | b'N')
    });
    cursor.skip(3, |byte| byte == b'\\');
    let Some(quote) = cursor.peek().filter(|byte| is_quote(*byte)) else {
        cursor.at = before_prefix;
        return if bare { bare_value(cursor, in_query) } else { None };
    };
    let start = cursor.at + cursor.skip(3, |byte| byte == quote);
    let length = cursor.skip(LONGEST_VALUE, |byte| !matches!(byte, b'\n' | b'\r' | b'\\') && byte != quote);
    let closed = matches!(cursor.peek(), Some(byte) if byte == quote || byte == b'\\');
    (closed && length > 0).then_some(Value { place: start..start + length, bounded: true })
}

/// Moves over a call that only wraps a literal, such as `String::from(`.
fn wrapper(cursor: &mut Cursor<'_>, layout: Layout) {
    const READS: &[&str] =
        &["env", "get", "read", "load", "fetch", "file", "path", "hash", "sha", "find", "lookup", "sprintf"];
    let from = cursor.at;
    let length = cursor.skip(40, |byte| in_name(byte) || matches!(byte, b':' | b'!'));
    let call = &cursor.bytes[from..from + length];
    let wraps = length > 0
        && cursor.peek() == Some(b'(')
        && !READS.iter().any(|word| plausible::contains(call, word.as_bytes()));
    cursor.at += 1;
    let is_quoted = cursor.peek().is_some_and(is_quote) || wraps && layout(cursor);
    if !wraps || !is_quoted {
        cursor.at = from;
    }
}

/// Parses a value without quotes, which has to reach to the end of the line or of the pair.
fn bare_value(cursor: &mut Cursor<'_>, in_query: bool) -> Option<Value> {
    let start = cursor.at;
    if matches!(cursor.peek(), Some(b'!' | b'&' | b'*' | b'|' | b'>')) {
        return None;
    }
    let length = cursor.skip(LONGEST_VALUE, |byte| {
        (byte != b'&' || !in_query)
            && byte.is_ascii_graphic()
            && !is_quote(byte)
            && !matches!(byte, b',' | b';' | b'<' | b'\\' | b')' | b'}' | b']')
    });
    let tagged = cursor.peek() == Some(b'<');
    if length == 0 {
        return None;
    }
    cursor.skip(1, |byte| matches!(byte, b',' | b';' | b'&' | b'\\' | b'"' | b'\'' | b'`' | b'<'));
    let ended = !matches!(cursor.bytes.get(start + length), Some(b' ' | b'\t' | b')' | b'}' | b']'));
    let blanks = cursor.blanks();
    let comment = blanks > 0
        && (cursor.rest().starts_with(b"#")
            || cursor.rest().starts_with(b"//")
            || cursor.rest().starts_with(b"\\")
            || cursor.rest().starts_with(b"-"));
    let line_end = matches!(cursor.peek(), None | Some(b'\n' | b'\r'));
    let closed = matches!(cursor.peek(), Some(b')' | b'}' | b']'));
    (ended || comment || line_end || closed)
        .then_some(Value { place: start..start + length, bounded: tagged })
}

/// Returns the secret of an assignment, with the detector of its vendor where the vendor is known.
pub(super) fn judge(bytes: &[u8], assigned: &Assigned) -> Option<Found> {
    let name = &bytes[assigned.name.clone()];
    let value = &bytes[assigned.value.clone()];
    let inner = value.iter().rev().skip_while(|byte| **byte == b'=').any(|byte| *byte == b'=');
    // A bare value with `=` inside is a chain of assignments, and each of them is parsed by itself.
    if value.len() < 8 || (inner && !assigned.bounded) || !value.iter().all(u8::is_ascii_graphic) {
        return None;
    }
    let naming = words::naming(name)?;
    if plausible::entropy(value) < LEAST_ENTROPY {
        return None;
    }
    if words::is_filled_in(value)
        || words::is_path(value)
        || is_another_format(value)
        || plausible::is_placeholder(value)
    {
        return None;
    }
    let vendor = vendor::find_vendor_by_name(name, value).or_else(|| vendor::find_vendor_by_format(value));
    let detector = match vendor {
        Some(vendor) => vendor,
        None if looks_random(value, naming, assigned.bounded) => &detector::GENERIC,
        None => return None,
    };
    Some(Found::new(assigned.value.clone(), detector))
}

/// Returns whether a value is a web token or a key block, which have detectors of their own.
fn is_another_format(value: &[u8]) -> bool {
    (value.starts_with(b"eyJ") && value.contains(&b'.'))
        || value.starts_with(b"-----")
        || value.starts_with(b"data:")
}

/// Returns whether a value is a UUID, perhaps as a URN, or without dashes one whose digits say its version and variant.
fn is_uuid(value: &[u8]) -> bool {
    let digits = value.strip_prefix(b"urn:uuid:").unwrap_or(value);
    if let (32, [version, _, _, _, variant]) = (digits.len(), digits.get(12..17).unwrap_or_default()) {
        let is_versioned = matches!(version, b'4' | b'7') && b"89abAB".contains(variant);
        return is_versioned && digits.iter().all(u8::is_ascii_hexdigit);
    }
    digits.len() == 36
        && digits.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns whether a value has the form of a commit's id.
fn is_commit(value: &[u8]) -> bool {
    value.len() == 40 && value.iter().all(u8::is_ascii_hexdigit)
}

/// Returns whether a value looks random or like a strong password.
pub(super) fn looks_random(value: &[u8], naming: Naming, bounded: bool) -> bool {
    let shape = Shape::new(value);
    let hexadecimal = value.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    if shape.digits == value.len() || plausible::is_sequence(value) || words::is_weak(value) {
        return false;
    }
    let entropy = plausible::entropy(value);
    // A key of an unknown kind may be that of a row or of an upstream version.
    if naming == Naming::Key && (is_uuid(value) || is_commit(value)) {
        return false;
    }
    if hexadecimal {
        let one_case = shape.lower == 0 || shape.upper == 0;
        let least = if naming == Naming::Key { 32 } else { 16 };
        return one_case
            && shape.digits > 0
            && shape.lower + shape.upper > 1
            && value.len() >= least
            && entropy >= 2700;
    }
    if words::is_name(value) || plausible::reads_as_words(value) {
        return false;
    }
    let bonus = match naming {
        Naming::Password => 6,
        Naming::Token => 2,
        Naming::Key => 0,
    };
    // Without quotes it may be code, so it has to be longer.
    let length = (value.len() + bonus).saturating_sub(if bounded { 0 } else { 2 });
    let (kinds, least) = (shape.kinds(), if naming == Naming::Key { 3300 } else { 2900 });
    if shape.switches < 4 || entropy < least {
        return false;
    }
    match (kinds, shape.digits) {
        (1, _) => false,
        (2, 0) => length >= 24 && shape.symbols == 0 && shape.switches >= 6 && entropy >= 3800,
        (_, 0) => length >= 18 && kinds == 3 && shape.switches >= 6 && entropy >= 3300,
        (4, _) => length >= 13,
        (3, _) => length >= 14,
        (_, _) => length >= 15,
    }
}
