//! Finds private keys in PEM and OpenPGP armour, also inside string literals and without their end.

use std::ops::Range;

use super::plausible;

pub(super) const KEYWORDS: &[&str] = &["-----begin "];

/// Maximum length of a key with its armour, in bytes.
const LONGEST: usize = 32 << 10;
/// Minimum length of a run of base64 in a line of a key, except in the last.
const SHORTEST_RUN: usize = 16;
/// Minimum length of a key's longest run.
const LONGEST_RUN: usize = 40;
/// Headers that may precede a key's base64.
const HEADERS: [&[u8]; 3] = [b"Proc-Type:", b"DEK-Info:", b"Version:"];

/// Returns the private key whose first line begins at `start`, and the offset at which the search continues. The key is the
/// base64 of each line and nothing between, so that marker lines cannot mask other text.
pub(super) fn find(bytes: &[u8], start: usize) -> Option<(Vec<Range<usize>>, usize)> {
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
    // Any next marker ends the key, so that many markers cost no more than one.
    let marker = position(window, b"-----").unwrap_or(window.len());
    let ended = window[marker..].starts_with(b"-----END");
    let runs = runs(&window[..marker], ended);
    let body: Vec<u8> = runs.iter().flat_map(|run| &window[run.clone()]).copied().collect();
    let is_key = is_body(&body, &runs) && !plausible::contains(&window[..marker], b"...");
    if !is_key {
        return None;
    }
    let runs = runs.into_iter().map(|run| from + run.start..from + run.end).collect();
    Some((runs, from + marker))
}

fn position(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part.eq_ignore_ascii_case(needle))
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Returns the runs of base64 in the lines of a key. Without an end marker they stop at the first other line.
fn runs(window: &[u8], ended: bool) -> Vec<Range<usize>> {
    let lines = lines(window);
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let text = &window[line.clone()];
        let shape = runs_of_line(text, ended && at + 2 >= lines.len() && !found.is_empty());
        let is_key = !shape.is_empty();
        found.extend(shape.into_iter().map(|run| line.start + run.start..line.start + run.end));
        let bare = text.trim_ascii();
        let goes_on = bare.len() < 4 || HEADERS.iter().any(|header| bare.starts_with(header)) || at == 0;
        if !ended && !is_key && !goes_on {
            break;
        }
    }
    found
}

/// Splits text into lines, also at line ends that a literal escapes.
fn lines(window: &[u8]) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < window.len() {
        let spelled = window[at] == b'\\' && matches!(window.get(at + 1), Some(b'n' | b'r'));
        if spelled || window[at] == b'\n' {
            lines.push(begin..at);
            begin = at + 1 + usize::from(spelled);
        }
        at += 1 + usize::from(spelled);
    }
    lines.push(begin..window.len());
    lines
}

/// Returns the base64 of a line that consists of nothing else but the signs that quote, comment and join literals.
fn runs_of_line(line: &[u8], is_last: bool) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut begin = 0;
    for word in line.split(|byte| byte.is_ascii_whitespace() || b"\"'`,#*>();-\\".contains(byte)) {
        let run = begin..begin + word.len();
        begin = run.end + 1;
        if matches!(word, b"" | b"+" | b"/" | b"//") {
            continue;
        }
        let padding = word.iter().rev().take_while(|byte| **byte == b'=').count();
        let body = &word[..word.len() - padding];
        let is_long = body.len() >= LONGEST_RUN || body.len() >= SHORTEST_RUN && is_mixed(body) || is_last;
        if padding > 2 || body.is_empty() || body.contains(&b'=') || !body.iter().all(is_base64) || !is_long {
            return Vec::new();
        }
        runs.push(run);
    }
    runs
}

/// Returns whether a run has digits and both cases, as random letters have and a long name has not.
fn is_mixed(run: &[u8]) -> bool {
    run.iter().any(u8::is_ascii_digit)
        && run.iter().any(u8::is_ascii_uppercase)
        && run.iter().any(u8::is_ascii_lowercase)
}

/// Returns whether runs are key material: long, random, and no sample.
fn is_body(text: &[u8], runs: &[Range<usize>]) -> bool {
    runs.iter().any(|run| run.len() >= LONGEST_RUN)
        && text.len() >= 48
        && plausible::entropy(text) >= 4000
        && !plausible::is_sequence(&text[..text.len().min(256)])
}
