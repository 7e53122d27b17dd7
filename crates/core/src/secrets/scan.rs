//! One pass over a text: keywords first, then each detector where its keyword stands.

use std::sync::{LazyLock, OnceLock};

use regex::bytes::{Regex, RegexBuilder};

use super::rules::{Back, Detector, Kind, Named, TABLES, Token};
use super::spelled::Spelled;
use super::{SecretSpan, assignment, header, plausible, private_key, rules, service, url};
use crate::keywords::Keywords;

/// How far a token may reach from where it begins.
const LONGEST_TOKEN: usize = 2300;
/// How far around an AWS access key id its secret is looked for.
const PAIR_WINDOW: usize = 320;

/// What a keyword calls for.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// The token at that position of [`Scanner::tokens`].
    Token(usize),
    PrivateKey,
    Url,
    Assignment,
    Header,
    Jwt,
    Curl,
}

struct Scanner {
    keywords: Keywords,
    /// What each keyword calls for.
    calls: Vec<Call>,
    tokens: Vec<Compiled>,
}

struct Compiled {
    token: &'static Token,
    regex: OnceLock<Option<Regex>>,
}

static SCANNER: LazyLock<Scanner> = LazyLock::new(|| {
    let mut keywords = Vec::new();
    let mut calls = Vec::new();
    let tokens: Vec<Compiled> = TABLES.iter().copied().flatten().map(Compiled::new).collect();
    for (at, compiled) in tokens.iter().enumerate() {
        for keyword in compiled.token.keywords {
            keywords.push(*keyword);
            calls.push(Call::Token(at));
        }
    }
    let coded: [(&[&str], Call); 6] = [
        (private_key::KEYWORDS, Call::PrivateKey),
        (url::KEYWORDS, Call::Url),
        (assignment::KEYWORDS, Call::Assignment),
        (header::KEYWORDS, Call::Header),
        (header::JWT_KEYWORDS, Call::Jwt),
        (header::CURL_KEYWORDS, Call::Curl),
    ];
    for (words, call) in coded {
        for word in words {
            keywords.push(word);
            calls.push(call);
        }
    }
    Scanner { keywords: Keywords::new(&keywords), calls, tokens }
});

static SHAPES: LazyLock<Vec<Compiled>> =
    LazyLock::new(|| service::SHAPES.iter().map(Compiled::new).collect());

impl Compiled {
    fn new(token: &'static Token) -> Self {
        Self { token, regex: OnceLock::new() }
    }

    /// The pattern, anchored at the begin of what it is given; compiled when its keyword is first seen.
    fn regex(&self) -> Option<&Regex> {
        self.regex
            .get_or_init(|| {
                RegexBuilder::new(&format!("^(?:{})", self.token.pattern)).unicode(false).build().ok()
            })
            .as_ref()
    }
}

/// See [`super::find`].
pub(super) fn find(text: &str) -> Vec<SecretSpan> {
    let mut found = scan(text.as_bytes(), &Spelled::default());
    let spelled = Spelled::new(text.as_bytes());
    for one in scan(&spelled.bytes, &spelled) {
        found.extend(spelled.origin(one.span).map(|span| Found { span, ..one }));
    }
    settle(text, found)
}

/// Scans bytes; `spelled` says what was taken out of them.
fn scan(bytes: &[u8], spelled: &Spelled) -> Vec<Found> {
    let scanner = &*SCANNER;
    let mut found: Vec<Found> = Vec::new();
    // No assignment, key or token is looked at twice because several of its words are keywords.
    let mut assignments_done = 0;
    let mut keys_done = 0;
    let mut tokens_done = vec![0; scanner.tokens.len()];
    scanner.keywords.each(bytes, |hit| {
        let (start, end) = (hit.start, hit.end);
        match scanner.calls[hit.keyword] {
            Call::Token(at) => {
                let compiled = &scanner.tokens[at];
                found.extend(token(bytes, spelled, compiled, start..end, &mut tokens_done[at]));
            }
            Call::PrivateKey if start >= keys_done => {
                if let Some((runs, end)) = private_key::find(bytes, start) {
                    keys_done = end;
                    found.extend(runs.into_iter().map(|run| Found::new(run, &rules::PRIVATE_KEY)));
                }
            }
            Call::Assignment if start >= assignments_done => {
                if let Some(assigned) = assignment::parse(bytes, start, end) {
                    // Values may hold further assignments, as connection strings do; names are done with.
                    assignments_done = assigned.name.end;
                    found.extend(assignment::judge(bytes, &assigned));
                }
            }
            Call::Url => found.extend(url::find(bytes, start)),
            Call::Header => found.extend(header::find(bytes, start, end)),
            Call::Jwt => found.extend(header::jwt(bytes, start)),
            Call::Curl => found.extend(header::curl(bytes, start)),
            Call::PrivateKey | Call::Assignment => {}
        }
    });
    found
}

/// A secret found, before overlaps are settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) span: std::ops::Range<usize>,
    pub(super) detector: &'static Detector,
}

impl Found {
    pub(super) fn new(span: std::ops::Range<usize>, detector: &'static Detector) -> Self {
        Self { span, detector }
    }
}

/// A token at its keyword, and with an AWS access key id the secret that belongs to it.
fn token(
    bytes: &[u8],
    spelled: &Spelled,
    compiled: &Compiled,
    keyword: std::ops::Range<usize>,
    done: &mut usize,
) -> Vec<Found> {
    let (token, start) = (compiled.token, keyword.start);
    let begin = match token.back {
        Back::None => start,
        Back::Exactly(count) => match start.checked_sub(count) {
            Some(begin) => begin,
            None => return Vec::new(),
        },
        Back::Run(most) => {
            let floor = start.saturating_sub(most);
            let run = bytes[floor..start].iter().rev().take_while(|byte| is_token_byte(**byte)).count();
            start - run
        }
    };
    if begin < *done || !begins_token(bytes, begin, spelled) {
        return Vec::new();
    }
    let shown = if begin == start { keyword.len() } else { 0 };
    let Some(span) = match_at(bytes, compiled, begin, shown, done) else { return Vec::new() };
    let mut found = vec![Found::new(span.clone(), &token.detector)];
    if token.detector.id == "aws-access-key-id" {
        if is_presigned(bytes, begin) {
            return Vec::new();
        }
        found.extend(paired_secrets(bytes, span));
    }
    found
}

/// Whether an access key id stands in a presigned URL, where it is public and says nothing without its secret.
fn is_presigned(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(24)..at];
    ["amz-credential=", "awsaccesskeyid="]
        .iter()
        .any(|parameter| plausible::contains(before, parameter.as_bytes()))
}

/// What is to be masked when a token begins at `begin`: the group, or all but `shown` bytes.
fn match_at(
    bytes: &[u8],
    compiled: &Compiled,
    begin: usize,
    shown: usize,
    done: &mut usize,
) -> Option<std::ops::Range<usize>> {
    let limit = bytes.len().min(begin + LONGEST_TOKEN);
    let captures = compiled.regex()?.captures(&bytes[begin..limit])?;
    let whole = captures.get(0)?;
    *done = begin + whole.end();
    let span = match captures.get(1) {
        Some(group) => begin + group.start()..begin + group.end(),
        None => begin + shown.min(whole.len())..begin + whole.end(),
    };
    let ends =
        bytes.get(begin + whole.end()).is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'_');
    (ends && plausible::is_token(&bytes[span.clone()], compiled.token.entropy)).then_some(span)
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

/// Returns whether a token may begin here: not after a letter or digit, unless a colour stood between.
fn begins_token(bytes: &[u8], at: usize, spelled: &Spelled) -> bool {
    let before = bytes[..at].last();
    !bytes[at].is_ascii_alphanumeric()
        || !before.is_some_and(u8::is_ascii_alphanumeric)
        || spelled.is_seam(at)
}

/// Runs of 40 base64 characters near an AWS access key id.
fn paired_secrets(bytes: &[u8], key: std::ops::Range<usize>) -> Vec<Found> {
    let from = key.start.saturating_sub(PAIR_WINDOW);
    let to = bytes.len().min(key.end + PAIR_WINDOW);
    let is_base64 =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.');
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        let length = bytes[at..to].iter().take_while(|byte| is_base64(byte)).count();
        // `KEY=value` is one run: the value is what follows the sign.
        let run = &bytes[at..at + length];
        let skip = run
            .iter()
            .position(|&byte| byte == b'=')
            .filter(|&sign| sign + 1 < length)
            .map_or(0, |sign| sign + 1);
        let value = at + skip..at + length;
        if value.len() == 40 && is_aws_secret(&bytes[value.clone()]) {
            found.push(Found::new(value, &rules::AWS_SECRET));
        }
        at += length + 1;
    }
    found
}

fn is_aws_secret(value: &[u8]) -> bool {
    let shape = plausible::Shape::of(value);
    shape.lower > 0
        && shape.upper > 0
        && shape.digits > 0
        && plausible::is_token(value, 4000)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// The vendor whose format a whole assigned value has.
pub(super) fn shape_of(value: &[u8]) -> Option<&'static Detector> {
    SHAPES
        .iter()
        .find(|compiled| {
            compiled
                .regex()
                .and_then(|regex| regex.find(value))
                .is_some_and(|found| found.end() == value.len())
                && plausible::is_token(value, 3000)
        })
        .map(|compiled| &compiled.token.detector)
}

/// The vendor whose name stands in an identifier and whose values look like this one.
pub(super) fn named(name: &[u8], value: &[u8]) -> Option<&'static Detector> {
    let plain: Vec<u8> =
        name.iter().filter(|byte| byte.is_ascii_alphanumeric()).map(u8::to_ascii_lowercase).collect();
    rules::NAMED
        .iter()
        .find(|rule| {
            (rule.length.0..=rule.length.1).contains(&value.len())
                && rule.names.iter().any(|vendor| plausible::contains(&plain, vendor.as_bytes()))
                && fits(rule, value)
        })
        .map(|rule| &rule.detector)
}

fn fits(rule: &Named, value: &[u8]) -> bool {
    use super::rules::Alphabet;
    let shape = plausible::Shape::of(value);
    let alphabet = match rule.alphabet {
        Alphabet::Hex => value.iter().all(u8::is_ascii_hexdigit),
        Alphabet::Alnum => value.iter().all(u8::is_ascii_alphanumeric),
        Alphabet::Url => value.iter().all(|byte| is_token_byte(*byte)),
        Alphabet::Base64 => {
            value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
        }
        Alphabet::Uuid => value.iter().enumerate().all(|(at, byte)| {
            if matches!(at, 8 | 13 | 18 | 23) { *byte == b'-' } else { byte.is_ascii_hexdigit() }
        }),
    };
    alphabet && shape.digits > 0 && shape.lower + shape.upper > 0 && plausible::is_token(value, 0)
}

/// Leaves the better of two that overlap: the more specific kind, then the earlier, then the longer.
fn settle(text: &str, mut found: Vec<Found>) -> Vec<SecretSpan> {
    found.sort_by_key(|one| (one.detector.kind, one.span.start, std::cmp::Reverse(one.span.end)));
    let mut kept: Vec<SecretSpan> = Vec::new();
    let mut last_kind = Kind::Provider;
    let mut taken: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
    for one in found {
        debug_assert!(last_kind <= one.detector.kind);
        last_kind = one.detector.kind;
        let start = text.floor_char_boundary(one.span.start);
        let end = text.ceil_char_boundary(one.span.end);
        let free = taken.range(..end).next_back().is_none_or(|(_, &taken_end)| taken_end <= start);
        if start < end && free {
            taken.insert(start, end);
            kept.push(SecretSpan { start, end, detector: one.detector.id });
        }
    }
    kept.sort_by_key(|span| span.start);
    kept
}
