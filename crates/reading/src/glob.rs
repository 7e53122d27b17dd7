//! Matches paths as .gitignore and CODEOWNERS do.

use std::ops::RangeInclusive;

/// Most steps of one match; a pattern that needs more matches nothing.
const MAX_STEPS: usize = 100_000;

/// Returns whether a pattern without a leading or a trailing slash matches a whole path: `*` and `?` stop at slashes,
/// `**` between slashes stands for any folders.
pub fn matches(pattern: &str, path: &str) -> bool {
    let pattern: Vec<&str> = pattern.split('/').collect();
    let path: Vec<&str> = path.split('/').collect();
    let mut steps = 0;
    match_wild(
        pattern.len(),
        path.len(),
        |at| pattern[at] == "**",
        |left, right| match_segment(pattern[left], path[right], &mut steps),
    )
}

fn match_segment(pattern: &str, name: &str, steps: &mut usize) -> bool {
    let Some(pattern) = pieces(pattern) else { return false };
    let name: Vec<char> = name.chars().collect();
    *steps += pattern.len() * name.len();
    *steps <= MAX_STEPS
        && match_wild(
            pattern.len(),
            name.len(),
            |at| matches!(pattern[at], Piece::Any),
            |left, right| pattern[left].is_match(name[right]),
        )
}

/// Matches a sequence with wildcards against another, going back to the last wildcard alone.
fn match_wild(
    pattern: usize,
    text: usize,
    is_wild: impl Fn(usize) -> bool,
    mut is_match: impl FnMut(usize, usize) -> bool,
) -> bool {
    let (mut at, mut from) = (0, 0);
    // The last wildcard, and the first place behind what it takes.
    let mut wild: Option<Wild> = None;
    while from < text {
        if at < pattern && is_wild(at) {
            wild = Some(Wild { at, end: from });
            at += 1;
        } else if at < pattern && is_match(at, from) {
            at += 1;
            from += 1;
        } else if let Some(last) = &mut wild {
            last.end += 1;
            at = last.at + 1;
            from = last.end;
        } else {
            return false;
        }
    }
    (at..pattern).all(is_wild)
}

struct Wild {
    at: usize,
    end: usize,
}

enum Piece {
    /// `*`
    Any,
    /// `?`
    One,
    Character(char),
    Class {
        ranges: Vec<RangeInclusive<char>>,
        negated: bool,
    },
}

impl Piece {
    fn is_match(&self, character: char) -> bool {
        match self {
            Self::Any => false,
            Self::One => true,
            Self::Character(own) => *own == character,
            Self::Class { ranges, negated } => {
                let inside = ranges.iter().any(|range| range.contains(&character));
                inside != *negated
            }
        }
    }
}

/// Splits a segment; none where a class has no end.
fn pieces(segment: &str) -> Option<Vec<Piece>> {
    let mut found = Vec::new();
    let mut characters = segment.chars().peekable();
    while let Some(character) = characters.next() {
        found.push(match character {
            '*' => Piece::Any,
            '?' => Piece::One,
            '\\' => Piece::Character(characters.next()?),
            '[' => {
                let negated = characters.next_if(|next| matches!(next, '!' | '^')).is_some();
                let mut ranges: Vec<RangeInclusive<char>> = Vec::new();
                loop {
                    let mut first = characters.next()?;
                    if first == ']' && !ranges.is_empty() {
                        break;
                    }
                    if first == '\\' {
                        first = characters.next()?;
                    }
                    let mut last = first;
                    if characters.peek() == Some(&'-') {
                        characters.next();
                        match characters.peek() {
                            Some(']') => ranges.push('-'..='-'),
                            _ => last = characters.next()?,
                        }
                    }
                    ranges.push(first..=last);
                }
                Piece::Class { ranges, negated }
            }
            _ => Piece::Character(character),
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_those_of_git() {
        for (pattern, path, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a/b.rs", false),
            ("**/*.rs", "a/b/c.rs", true),
            ("**/*.rs", "c.rs", true),
            ("a/**", "a/b/c", true),
            ("a/**/z", "a/z", true),
            ("a/**/z", "a/b/c/z", true),
            ("a?c", "abc", true),
            ("a[b-d]c", "acc", true),
            ("a[!b-d]c", "acc", false),
            ("a[]-]c", "a]c", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("a[", "a[", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        assert!(!matches(&"*a".repeat(5_000), &"a".repeat(5_000)));
    }
}
