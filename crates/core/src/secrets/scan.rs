//! Scans a text in one pass: finds keywords, and runs each detector at its keywords.

use std::sync::LazyLock;

use super::detector::{self, Back, Compiled, Found, Kind};
use super::plausible::is_token_byte;
use super::rules::TABLES;
use super::spelled::Spelled;
use super::{SecretSpan, assignment, header, plausible, private_key, url};
use crate::keywords::Keywords;

/// Maximum length of a token, in bytes.
const LONGEST_TOKEN: usize = 2300;
/// Distance within which the secret of an AWS access key id is searched, in bytes.
const PAIR_WINDOW: usize = 320;

/// Detector that a keyword starts.
#[derive(Debug, Clone, Copy)]
enum Call {
    /// Position in [`Scanner::tokens`].
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
    /// Detector of each keyword.
    calls: Vec<Call>,
    tokens: Vec<Compiled>,
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

/// Implements [`super::find_with`].
pub(super) fn find(text: &str, known: &[SecretSpan]) -> Vec<SecretSpan> {
    let mut found = candidates(text);
    let known = known.iter().filter_map(|span| Some((span, super::detector(span.detector)?)));
    found.extend(known.map(|(span, detector)| Found::new(span.start..span.end, detector)));
    resolve_overlaps(text, found)
}

/// Returns all candidates, as they are written, as escapes spell them, and as literals are joined.
pub(super) fn candidates(text: &str) -> Vec<Found> {
    let mut found = scan(text.as_bytes(), &Spelled::default());
    found.extend(in_pieces(text.as_bytes()));
    let spelled = Spelled::new(text.as_bytes());
    let decoded = scan(&spelled.bytes, &spelled).into_iter().chain(in_pieces(&spelled.bytes));
    for one in decoded {
        if let (Some(span), Some(whole)) = (spelled.origin(one.span), spelled.origin(one.whole)) {
            found.push(Found { span, whole, ..one });
        }
    }
    found
}

/// Returns the pieces of tokens that literals have between them. Values that are only random are found in one piece alone:
/// words that are joined look random too.
fn in_pieces(bytes: &[u8]) -> Vec<Found> {
    let joined = Spelled::joined(bytes);
    let mut found = Vec::new();
    for one in scan(&joined.bytes, &joined) {
        if one.detector.kind != Kind::Provider || joined.pieces(one.whole.clone()).len() < 2 {
            continue;
        }
        let Some(whole) = joined.origin(one.whole) else { continue };
        let mut begin = whole.start;
        for piece in joined.pieces(one.span) {
            let Some(span) = joined.origin(piece) else { continue };
            // The text that a format has before its secret stays visible with the first piece.
            let around = begin.min(span.start)..span.end;
            begin = span.end;
            found.push(Found::new(span, one.detector).within(around));
        }
    }
    found
}

/// Scans bytes; `spelled` knows the text that was removed from them.
fn scan(bytes: &[u8], spelled: &Spelled) -> Vec<Found> {
    let scanner = &*SCANNER;
    let mut found: Vec<Found> = Vec::new();
    // An assignment, key or token with several keywords is read once.
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
                    found.extend(runs.into_iter().map(|run| Found::new(run, &detector::PRIVATE_KEY)));
                }
            }
            Call::Assignment if start >= assignments_done => {
                for assigned in assignment::parse(bytes, start, end) {
                    // Values may hold further assignments, as connection strings do; names may not.
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

/// Returns the token at a keyword, and for an AWS access key id also the secrets near it.
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
    let Some(one) = match_at(bytes, compiled, begin, shown, done) else { return Vec::new() };
    let span = one.span.clone();
    let mut found = vec![one];
    if token.detector.id == "aws-access-key-id" {
        if is_presigned(bytes, begin) {
            return Vec::new();
        }
        found.extend(paired_secrets(bytes, span));
    }
    found
}

/// Returns whether an access key id is part of a presigned URL, where it is public and useless without its secret.
fn is_presigned(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[at.saturating_sub(24)..at];
    ["amz-credential=", "awsaccesskeyid="]
        .iter()
        .any(|parameter| plausible::contains(before, parameter.as_bytes()))
}

/// Returns the token that begins at `begin`. Masked is the group of its pattern, or all but the first `shown` bytes.
fn match_at(
    bytes: &[u8],
    compiled: &Compiled,
    begin: usize,
    shown: usize,
    done: &mut usize,
) -> Option<Found> {
    let limit = bytes.len().min(begin + LONGEST_TOKEN);
    let captures = compiled.regex()?.captures(&bytes[begin..limit])?;
    let whole = captures.get(0)?;
    *done = begin + whole.end();
    let span = match captures.get(1) {
        Some(group) => begin + group.start()..begin + group.end(),
        None => begin + shown.min(whole.len())..begin + whole.end(),
    };
    // A token that cannot have an underscore ends before one: in the name of a variable, in the emphasis of Markdown.
    let ends = match bytes.get(begin + whole.end()) {
        Some(b'_') => !takes_underscores(compiled.token.pattern),
        Some(next) => !next.is_ascii_alphanumeric(),
        None => true,
    };
    let is_token = ends && plausible::is_token(&bytes[span.clone()], compiled.token.entropy);
    is_token.then(|| Found::new(span, &compiled.token.detector).within(begin..begin + whole.end()))
}

/// Returns whether a class of a pattern has the underscore.
fn takes_underscores(pattern: &str) -> bool {
    let classes = pattern.split('[').skip(1).filter_map(|rest| rest.split(']').next());
    pattern.contains(r"\w") || classes.into_iter().any(|class| class.contains('_'))
}

/// Returns whether a token may begin at an offset: not after a letter or digit, unless a colour was removed between.
fn begins_token(bytes: &[u8], at: usize, spelled: &Spelled) -> bool {
    let after_word = matches!(bytes[..at].last(), Some(before) if before.is_ascii_alphanumeric());
    !bytes[at].is_ascii_alphanumeric() || !after_word || spelled.is_seam(at)
}

/// Returns the secrets near an AWS access key id, which are runs of 40 base64 characters.
fn paired_secrets(bytes: &[u8], key: std::ops::Range<usize>) -> Vec<Found> {
    let from = key.start.saturating_sub(PAIR_WINDOW);
    let to = bytes.len().min(key.end + PAIR_WINDOW);
    let mut found = Vec::new();
    let mut at = from;
    while at < to {
        let length = bytes[at..to]
            .iter()
            .take_while(|byte| {
                byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'_' | b'-' | b'.')
            })
            .count();
        // `KEY=value` is one run with the value behind the sign.
        let skip = match bytes[at..at + length].iter().position(|&byte| byte == b'=') {
            Some(sign) if sign + 1 < length => sign + 1,
            _ => 0,
        };
        let value = at + skip..at + length;
        if value.len() == 40 && is_aws_secret(&bytes[value.clone()]) {
            found.push(Found::new(value, &detector::AWS_SECRET));
        }
        at += length + 1;
    }
    found
}

fn is_aws_secret(value: &[u8]) -> bool {
    let shape = plausible::Shape::new(value);
    shape.lower > 0
        && shape.upper > 0
        && shape.digits > 0
        && plausible::is_token(value, 4000)
        && value.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/'))
}

/// Keeps the better of two overlapping candidates: the more specific kind, then the earlier, then the longer. What the
/// other one has beside it is masked with it.
fn resolve_overlaps(text: &str, mut found: Vec<Found>) -> Vec<SecretSpan> {
    for one in &mut found {
        one.span = text.floor_char_boundary(one.span.start)..text.ceil_char_boundary(one.span.end);
    }
    found.retain(|one| !one.span.is_empty());
    found.sort_by_key(|one| (one.detector.kind, one.span.start, std::cmp::Reverse(one.span.end)));
    let mut taken: std::collections::BTreeMap<usize, usize> = std::collections::BTreeMap::new();
    let (mut kept, weaker): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|one| {
        let before = taken.range(..one.span.end).next_back();
        let is_free = before.is_none_or(|(_, end)| *end <= one.span.start);
        if is_free {
            taken.insert(one.span.start, one.span.end);
        }
        is_free
    });
    kept.sort_by_key(|one| one.span.start);
    for one in &weaker {
        cover(&mut kept, &one.span);
    }
    let spans = kept.iter();
    spans
        .map(|one| SecretSpan { start: one.span.start, end: one.span.end, detector: one.detector.id })
        .collect()
}

/// Extends the spans that overlap a weaker candidate until they cover it. What a format has around its secret stays
/// visible where the candidate has nothing else there.
fn cover(kept: &mut [Found], candidate: &std::ops::Range<usize>) {
    let first = kept.partition_point(|one| one.span.end <= candidate.start);
    let after = kept.partition_point(|one| one.span.start < candidate.end);
    let mut covered = candidate.start;
    for one in &mut kept[first..after] {
        if covered < one.whole.start.min(one.span.start) {
            one.span.start = covered;
        }
        covered = one.span.end;
    }
    if let Some(last) = kept[first..after].last_mut()
        && last.whole.end.max(last.span.end) < candidate.end
    {
        last.span.end = candidate.end;
    }
}
