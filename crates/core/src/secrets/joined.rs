//! Finds the seams of literals that a program joins, such as `"a" + "b"`, so that a token in pieces is one again.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::{Regex, RegexBuilder};

/// Text between two pieces, with the quotes that end the one and begin the other: signs that join, calls, the items of a list,
/// appended lines, values in a template, and a line that goes on in the next one.
static SEAM: LazyLock<Regex> = LazyLock::new(|| {
    let space = r"(?: \s | //[^\n]*\n | \#[^\n]*\n | \\\r?\n )";
    let pattern = r#"(?x)
        ["'`] (?:
            (?: SPACE | \) )* (?: \+\+? | \.\.? | & | ~ | \|\| | <> | \^ | , ) (?: SPACE | \( )* [A-Za-z]{0,2}
          | SPACE* \)? SPACE* ;? SPACE* [\w$]* \. (?: append | concat | plus | push_str | write ) \( SPACE*
          | [\ \t]* ;? [\ \t]*\r?\n[\ \t]* [\w$.]+ [\ \t]* (?: \+= | \.= | <<? | =[\ \t]*[\w$.]+[\ \t]*[+.] ) [\ \t]* [A-Za-z]{0,2}
          | SPACE+ [A-Za-z]{0,2}
        )? ["'`]
      | (?: %s | \{\} ) ["'`] SPACE* (?: % | \. format \( ) (?: SPACE | \( )* ["'`]
      | [\#$]? \{ \s* ["'`]
      | ["'`] \s* \}
      | \\ \r? \n [\ \t]*"#
        .replace("SPACE", space);
    RegexBuilder::new(&pattern).unicode(false).build().expect("the pattern is a constant")
});

/// Parts of the names of functions that join the items of a list.
static JOINS: LazyLock<Regex> = LazyLock::new(|| {
    RegexBuilder::new("join|concat|implode").unicode(false).build().expect("the pattern is a constant")
});
/// Distance within which a function joins the items of a list, in bytes.
const JOINS_WITHIN: usize = 320;

/// Returns the places to leave out of a text so that pieces become one, sorted and disjoint.
pub(super) fn seams(text: &[u8]) -> Vec<Range<usize>> {
    let mut joins: Option<Vec<usize>> = None;
    let mut found = Vec::new();
    for seam in SEAM.find_iter(text) {
        let place = seam.range();
        let [before, behind] = [place.start.checked_sub(1), Some(place.end)].map(|at| text.get(at?));
        if ![before, behind].into_iter().all(|byte| byte.is_some_and(is_of_piece)) {
            continue;
        }
        if seam.as_bytes().contains(&b',') {
            let joins = joins.get_or_insert_with(|| JOINS.find_iter(text).map(|call| call.start()).collect());
            let first = joins.partition_point(|at| at + JOINS_WITHIN < place.start);
            if joins.get(first).is_none_or(|at| *at > place.end + JOINS_WITHIN) {
                continue;
            }
        }
        found.push(place);
    }
    found
}

/// Returns whether a text is the seam of two pieces and nothing else.
pub(super) fn is_seam(text: &[u8]) -> bool {
    SEAM.find(text).is_some_and(|seam| seam.range() == (0..text.len()))
}

/// Returns whether a byte may be part of a token, or the quote of an empty piece.
fn is_of_piece(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'+' | b'=' | b'"' | b'\'' | b'`')
}
