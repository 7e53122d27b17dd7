//! Notices about licences at the beginning of files: their words, and the words that the notices of many files share.

use std::collections::BTreeMap;

use super::case::Fit;
use super::sighting::{Sighting, Source};
use qa_contracts::v1::ConventionFamily;
use qa_core::secrets;
use qa_reading::syntax::Span;

/// Form of files that begin with any notice.
pub(crate) const PRESENT: &str = "present";
/// Value of a file without a notice.
pub(crate) const ABSENT: &str = "absent";
/// Stands for the years of a notice.
const YEAR: &str = "‹year›";
/// Stands in a form for a line about the holder, and for any mark of comments.
const ANY: &str = "‹any›";
/// Number of lines of a notice that are compared.
const MOST_LINES: usize = 40;
/// Share of the files that have to have the same line, in thousandths.
const SHARED_PERMILLE: usize = 990;
const MARKS: &[&str] = &["/*", "//", "\"\"\"", "'''", "#", "--"];

pub(super) fn sightings(source: &Source<'_>, all: &mut Vec<Sighting>) {
    // A file with nothing in it has nothing to license, and these two hold nothing but words about a package.
    let of_package = ["package-info.java", "module-info.java"].iter().any(|name| source.path.ends_with(name));
    if source.text.trim().is_empty() || of_package {
        return;
    }
    let value = notice(source).unwrap_or_else(|| ABSENT.to_owned());
    all.push(source.sighting(ConventionFamily::LicenceHeader, "", &value, "", None));
}

/// Returns the mark of the comment that a file's notice stands in, and the lines of the notice without marks.
fn notice(source: &Source<'_>) -> Option<String> {
    let comments = leading_comments(source);
    let mut lines: Vec<String> = Vec::new();
    let mut mark = None;
    for line in comments.iter().flat_map(|comment| comment.of(source.text).lines()) {
        if lines.len() > MOST_LINES {
            break;
        }
        let line = line.trim();
        // The lines between the first and the last of a block need no mark.
        let own_mark = MARKS.iter().find(|mark| line.starts_with(**mark));
        mark = if lines.is_empty() { own_mark.or(mark) } else { mark };
        let words = without_marks(line);
        if words.contains(char::is_alphanumeric) && (!lines.is_empty() || begins_notice(words)) {
            lines
                .push(masked_years(&secrets::masked(words.split_whitespace().collect::<Vec<_>>().join(" "))));
        }
    }
    let mark = mark.copied().unwrap_or(ANY);
    (!lines.is_empty()).then(|| format!("{mark}\n{}", lines.join("\n")))
}

/// Returns the comments before everything that is run, and in Python the text that documents the module.
fn leading_comments(source: &Source<'_>) -> Vec<Span> {
    let mut at = 0;
    let mut leading = Vec::new();
    let mut comments = source.outline.comments.iter().peekable();
    loop {
        let rest = &source.text[at..];
        let blank = rest.len()
            - rest.trim_start_matches(|next: char| next.is_whitespace() || next == '\u{feff}').len();
        at += blank;
        let rest = &source.text[at..];
        while comments.next_if(|comment| comment.start < at).is_some() {}
        if let Some(comment) = comments.next_if(|comment| comment.start == at) {
            leading.push(*comment);
            at = comment.end;
        } else if let Some(lead) = lead(rest) {
            at += lead;
        } else if let Some(text) = source.outline.strings.iter().find(|text| text.start == at) {
            leading.push(*text);
            return leading;
        } else {
            return leading;
        }
    }
}

/// Returns the length of what stands before any comment: what runs the file, or what begins its language.
fn lead(rest: &str) -> Option<usize> {
    let is_interpreter = rest.starts_with("#!") && !rest.starts_with("#![");
    let line = rest.lines().next().map_or(0, str::len);
    if is_interpreter {
        return Some(line);
    }
    ["<?php", "'use strict'", "\"use strict\"", ";"]
        .iter()
        .find(|lead| rest.starts_with(**lead))
        .map(|lead| lead.len())
}

fn without_marks(line: &str) -> &str {
    let line = line.trim_end_matches("*/").trim_end_matches("\"\"\"").trim_end_matches("'''");
    line.trim_start_matches(['/', '*', '#', '-', '!', '"', '\'']).trim()
}

/// Returns whether a text has words of a notice.
pub(super) fn begins_notice(text: &str) -> bool {
    let lower = text.to_lowercase();
    const WORDS: &[&str] = &[
        "copyright",
        "spdx-license-identifier",
        "licensed to",
        "licensed under",
        "licenced under",
        "(c) ",
        "©",
    ];
    WORDS.iter().any(|word| lower.contains(word))
}

fn names_holder(line: &str) -> bool {
    let lower = line.to_lowercase();
    ["copyright", "(c) ", "©"].iter().any(|word| lower.contains(word))
}

/// Replaces years, lists and ranges of years by one word.
fn masked_years(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(|next: char| next.is_ascii_digit()) {
        let end =
            rest[start..].find(|next: char| !next.is_ascii_digit()).map_or(rest.len(), |end| start + end);
        let (before, number) = (&rest[..start], &rest[start..end]);
        let touches = before.ends_with(is_of_word) || rest[end..].starts_with(is_of_word);
        masked.push_str(before);
        let is_year = number.len() == 4 && (number.starts_with("19") || number.starts_with("20")) && !touches;
        masked.push_str(if is_year { YEAR } else { number });
        rest = &rest[end..];
    }
    masked.push_str(rest);
    for joint in ["-", " - ", "–", " – ", ", ", ","] {
        let (range, now) = (format!("{YEAR}{joint}{YEAR}"), format!("{YEAR}{joint}present"));
        while masked.contains(&range) {
            masked = masked.replace(&range, YEAR);
        }
        masked = masked.replace(&now, YEAR);
    }
    masked
}

fn is_of_word(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '.' | '_')
}

/// Returns whether a file's notice begins with the words of a form.
pub(crate) fn fit(form: &str, value: &str) -> Fit {
    let keeps = value != ABSENT
        && (form == PRESENT || {
            let mut given = value.lines();
            form.lines().all(|wanted| given.next().is_some_and(|given| is_line(wanted, given)))
                || says_the_same(form, value)
        });
    if keeps { Fit::Keeps } else { Fit::Breaks }
}

/// Returns whether a notice differs from a form only in its line breaks, a further holder, or the form of its years.
fn says_the_same(form: &str, value: &str) -> bool {
    let ((Some(mark), wanted), (Some(own), given)) = (cut(form), cut(value)) else { return false };
    let is_named = wanted.holders.iter().all(|holder| given.holders.contains(holder));
    let has_holder = !wanted.has_any || !given.holders.is_empty();
    is_line(mark, own)
        && is_named
        && has_holder
        && !wanted.words.is_empty()
        && given.words.starts_with(&wanted.words)
}

/// A notice apart from its mark: the lines about holders without years, and the words of all others.
#[derive(Default)]
struct Parts<'t> {
    holders: Vec<String>,
    has_any: bool,
    words: Vec<&'t str>,
}

fn cut(notice: &str) -> (Option<&str>, Parts<'_>) {
    let mut lines = notice.lines();
    let mark = lines.next();
    let mut parts = Parts::default();
    for line in lines {
        if line == ANY {
            parts.has_any = true;
        } else if names_holder(line) {
            let words = line.split_whitespace().filter(|word| !word.contains(YEAR) && !is_of_year(word));
            parts.holders.push(words.collect::<Vec<_>>().join(" ").trim_end_matches([',', '.']).to_owned());
        } else {
            parts.words.extend(line.split_whitespace());
        }
    }
    (mark, parts)
}

/// Returns whether a word is part of a form of years, or of a mark before them, and not of a holder.
fn is_of_year(word: &str) -> bool {
    let lower = word.to_lowercase();
    let rest = lower.trim_matches(|sign: char| !sign.is_alphanumeric());
    rest.is_empty()
        || matches!(rest, "c" | "now" | "present" | "since")
        || rest.chars().all(|sign| sign.is_ascii_digit())
}

fn is_line(wanted: &str, given: &str) -> bool {
    wanted == given || wanted == ANY && (MARKS.contains(&given) || names_holder(given))
}

/// Returns the forms that may be a convention of some files, those that say more first.
pub(crate) fn forms(values: &[&str]) -> Vec<String> {
    let mut forms = Vec::new();
    for any_holder in [false, true] {
        for any_mark in [false, true] {
            forms.extend(shared(values, any_mark, any_holder));
        }
    }
    forms.push(PRESENT.to_owned());
    forms
}

/// Returns the lines that nearly all values begin with, if there is one beside the mark.
fn shared(values: &[&str], any_mark: bool, any_holder: bool) -> Option<String> {
    let mut alike: Vec<std::str::Lines<'_>> = values.iter().map(|value| value.lines()).collect();
    let mut form: Vec<&str> = Vec::new();
    loop {
        let is_mark = form.is_empty();
        let mut by_line: BTreeMap<&str, Vec<std::str::Lines<'_>>> = BTreeMap::new();
        for mut lines in alike {
            let Some(line) = lines.next().filter(|line| *line != ABSENT) else { continue };
            let is_any = if is_mark { any_mark } else { any_holder && names_holder(line) };
            by_line.entry(if is_any { ANY } else { line }).or_default().push(lines);
        }
        let most = by_line.into_iter().max_by_key(|(line, lines)| (lines.len(), std::cmp::Reverse(*line)));
        match most {
            Some((line, lines)) if lines.len() * 1000 >= values.len() * SHARED_PERMILLE => {
                form.push(line);
                alike = lines;
            }
            _ => break,
        }
    }
    (form.len() > 1).then(|| form.join("\n"))
}

/// Returns the first words of a form, to be shown; `None` if it takes any notice.
pub(super) fn first_words(form: &str) -> Option<String> {
    const MOST: usize = 80;
    let words = form.lines().skip(1).find(|line| *line != ANY)?;
    Some(words.chars().take(MOST).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_says_the_same_in_other_lines() {
        let form = "#\nCopyright ‹year› The Shop Authors\nLicensed under the MIT\nlicense.";
        for (value, expected) in [
            (
                "#\nCopyright ‹year› The Shop Authors\nLicensed under the\nMIT license. See LICENSE.",
                Fit::Keeps,
            ),
            ("#\nCopyright ‹year›-24 The Shop Authors\nLicensed under the MIT license.", Fit::Keeps),
            ("#\nCopyright The Shop Authors.\nLicensed under the MIT license.", Fit::Keeps),
            (
                "#\nCopyright ‹year› The Shop Authors\nCopyright ‹year› A. Smith\nLicensed under the MIT license.",
                Fit::Keeps,
            ),
            ("#\nCopyright ‹year› A. Smith\nLicensed under the MIT license.", Fit::Breaks),
            ("#\nCopyright ‹year› The Shop Authors\nLicensed under the GPL license.", Fit::Breaks),
            ("//\nCopyright ‹year› The Shop Authors\nLicensed under the\nMIT license.", Fit::Breaks),
            ("#\nLicensed under the MIT license.", Fit::Breaks),
        ] {
            assert_eq!(fit(form, value), expected, "{value}");
        }
    }
}
