//! Commits behind versions: a pin that moves while the comment beside it names the same version as before.

use qa_reading::workflow::Value;

use super::uses::{Use, uses};
use super::{Found, MOVED};
use crate::workflows::model::Model;

const SUMMARY: &str = "action is pinned to another commit under the same version";

/// Parts of a version that nobody moves: `7.0.1`, but not `7` or `7.0`.
const LEAST_NUMBERS: usize = 3;
/// Digits of a date, which is a version by itself.
const DATE: usize = 8;

/// A version of a file that the platform executes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Version<'m, 'd> {
    pub(super) model: &'m Model<'d>,
    pub(super) text: &'m str,
}

/// An action with its commit and the version that a comment names for it.
struct Pin<'d> {
    value: Value<'d>,
    name: String,
    commit: String,
    version: String,
}

/// Finds actions whose commit changes while the comment keeps a full version. A version that moves on purpose, such as
/// `v4`, says nothing about the commit.
pub(super) fn audit(base: Version<'_, '_>, head: Version<'_, '_>) -> Vec<Found> {
    let before = pins(base);
    let mut found = Vec::new();
    for pin in pins(head) {
        let mut same =
            before.iter().filter(|old| old.name == pin.name && old.version == pin.version).peekable();
        if same.peek().is_some() && same.all(|old| old.commit != pin.commit) {
            found.push(Found::new(MOVED, pin.value, format!("{}@{}", pin.name, pin.version), SUMMARY));
        }
    }
    found
}

fn pins<'d>(version: Version<'_, 'd>) -> Vec<Pin<'d>> {
    let mut found = Vec::new();
    for Use { value, used, .. } in uses(version.model) {
        // Registries build an image anew under its version, for the packages in it.
        if !used.pinned || used.name.starts_with("docker://") {
            continue;
        }
        let Some(named) = comments(version.text, value).find_map(full_version) else { continue };
        found.push(Pin { value, name: used.name, commit: used.reference, version: named });
    }
    found
}

/// Returns the comments on the lines on which a value begins and ends, and those behind brackets that close right below it.
fn comments<'t>(text: &'t str, value: Value<'_>) -> impl Iterator<Item = &'t str> {
    let place = value.definition();
    // A value of several lines ends behind the blanks, or the comment, on its last one.
    let last = place.start + place.of(text).trim_end().rfind('\n').map_or(0, |end| end + 1);
    let [from, behind] = [place.start, last].map(|at| text.get(at..).unwrap_or_default());
    let closed = behind.lines().skip(1).take_while(|line| line.trim_start().starts_with(['}', ']']));
    let lines = from.lines().take(1).chain(behind.lines().take(1)).chain(closed);
    lines.filter_map(|line| line.split_once('#')).map(|(_, comment)| comment)
}

/// Returns the full version that a comment names, without the letter before it; `None` where it names a version that moves,
/// or none.
fn full_version(comment: &str) -> Option<String> {
    let words = comment.split(|sign: char| sign.is_whitespace() || "()[]{},;\"'`".contains(sign));
    let mut names = words.filter_map(|word| word.rsplit(['@', '=']).next());
    let name = names.find(|word| is_full_version(word))?;
    let name = name.trim_end_matches(['.', ':']).to_lowercase();
    Some(name.strip_prefix('v').unwrap_or(&name).to_owned())
}

fn is_full_version(word: &str) -> bool {
    let is_commit = word.len() >= 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let numbers: Vec<&str> =
        word.split(|sign: char| !sign.is_ascii_digit()).filter(|number| !number.is_empty()).collect();
    !is_commit && (numbers.len() >= LEAST_NUMBERS || numbers.iter().any(|number| number.len() == DATE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_three_numbers_is_full() {
        for (comment, expected) in [
            (" v7.0.1", Some("7.0.1")),
            ("7.0.1", Some("7.0.1")),
            (" tag=V7.0.1 of May", Some("7.0.1")),
            (" actions/checkout@v7.0.1.", Some("7.0.1")),
            (" pinned to v7.0.1-rc.2 (2024)", Some("7.0.1-rc.2")),
            (" codeql-bundle-20240101", Some("codeql-bundle-20240101")),
            (" v4", None),
            (" v4.1", None),
            (" v4.x", None),
            (" main", None),
            (" node20", None),
            (" 8f4b7f84864484a7bf31766abe9204da3cbe65b3", None),
            ("", None),
        ] {
            assert_eq!(full_version(comment).as_deref(), expected, "{comment}");
        }
    }
}
