//! Line hashes as GitHub's upload action computes them, so that both kinds of upload create the same alerts.
//!
//! Source: the documentation in `src/fingerprints.ts` of github/codeql-action. Each line is hashed over the 100 UTF-16
//! units that follow its start, without spaces and tabs, with line ends as `\n` and the end of the file as one unit.

use std::collections::{BTreeMap, BTreeSet};

/// Number of UTF-16 units that a hash covers.
const WINDOW: usize = 100;
const BASE: u64 = 37;
/// Unit that marks the end of the file.
const END: u16 = u16::MAX;

/// Returns the hashes of the requested lines, by number from 1: hexadecimal digits, a colon, and the number of lines up
/// to this one with the same hash.
pub fn line_hashes(text: &str, requested: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let (units, starts) = unspaced(text);
    // The factor of a unit that is about to leave the window.
    let oldest = (0..WINDOW - 1).fold(1u64, |power, _| power.wrapping_mul(BASE));
    let mut hash = (0..WINDOW).fold(0u64, |hash, at| hash.wrapping_mul(BASE).wrapping_add(unit(&units, at)));
    let (mut at, mut seen, mut found) = (0, BTreeMap::<u64, u64>::new(), BTreeMap::new());
    for (number, start) in (1..).zip(starts) {
        while at < start {
            let shorter = hash.wrapping_sub(unit(&units, at).wrapping_mul(oldest));
            hash = shorter.wrapping_mul(BASE).wrapping_add(unit(&units, at + WINDOW));
            at += 1;
        }
        let count = seen.entry(hash).or_insert(0);
        *count += 1;
        if requested.contains(&number) {
            found.insert(number, format!("{hash:x}:{count}"));
        }
    }
    found
}

/// Returns a unit; behind the end of the file they are 0.
fn unit(units: &[u16], at: usize) -> u64 {
    u64::from(units.get(at).copied().unwrap_or(0))
}

/// Returns the hashed units, and the position among them at which each line starts.
fn unspaced(text: &str) -> (Vec<u16>, Vec<usize>) {
    let (mut units, mut starts) = (Vec::with_capacity(text.len() + 1), Vec::new());
    let mut at_start = true;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let character = match character {
            ' ' | '\t' => continue,
            '\r' => {
                characters.next_if_eq(&'\n');
                '\n'
            }
            other => other,
        };
        if at_start {
            starts.push(units.len());
        }
        at_start = character == '\n';
        units.extend_from_slice(character.encode_utf16(&mut [0; 2]));
    }
    if at_start {
        starts.push(units.len());
    }
    units.push(END);
    (units, starts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        line_hashes(text, &(1..100).collect()).into_values().collect()
    }

    /// The numbers are those that the tests of GitHub's action expect.
    #[test]
    fn lines_have_the_hashes_that_github_gives_them() {
        let ended = [
            "e9496ae3ebfced30:1",
            "fb7c023a8b9ccb3f:1",
            "ce8ba1a563dcdaca:1",
            "e20e36e16fcb0cc8:1",
            "b3edc88f2938467e:1",
            "c8e28b0b4002a3a0:1",
            "c129715d7a2bc9a3:1",
        ];
        let cases: &[(&str, &[&str])] = &[
            ("", &["c129715d7a2bc9a3:1"]),
            (
                " a\nb\n  \t\tc\n d",
                &["271789c17abda88f:1", "54703d4cd895b18:1", "180aee12dab6264:1", "a23a3dc5e078b07b:1"],
            ),
            (" hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n", &ended),
            (" hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r", &ended),
            (" hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n", &ended),
            (" hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n", &ended),
        ];
        for (text, expected) in cases {
            assert_eq!(all(text), *expected, "{text:?}");
        }
        let same = "a7f2ff13bc495cf2";
        let mut repeated: Vec<String> = (1..=6).map(|count| format!("{same}:{count}")).collect();
        let rest = ["a7f2ff1481e87703", "a9cf91f7bbf1862b", "55ec222b86bcae53", "cc97dc7b1d7d8f7b"];
        repeated.extend(rest.iter().chain(&["c129715d7a2bc9a3"]).map(|hash| format!("{hash}:1")));
        assert_eq!(all(&"Lorem ipsum dolor sit amet.\n".repeat(10)), repeated);
    }

    #[test]
    fn moved_and_indented_lines_keep_their_hash() {
        let tail = "let b = a + 1;\n".repeat(20);
        let (plain, moved) = (format!("x();\n{tail}"), format!("one\ntwo\n\t x();  \n{tail}"));
        let of = |text: &str, line| line_hashes(text, &BTreeSet::from([line])).remove(&line).unwrap();
        assert_eq!(of(&plain, 1), of(&moved, 3));
        assert_eq!(line_hashes("one line", &BTreeSet::from([2])), BTreeMap::new());
    }
}
