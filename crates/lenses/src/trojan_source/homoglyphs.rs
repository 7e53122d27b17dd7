//! Names that look like other names: letters of several scripts in one word, and whole words of look-alikes.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use unicode_security::skeleton;

use crate::scan::{Kind, Parts};
use qa_core::packet::Line;

/// The names of one file's hunks.
#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    /// The plain names.
    plain: BTreeSet<&'a str>,
    /// Each name with other letters, where it stands first.
    others: BTreeMap<&'a str, Suspect<'a>>,
}

/// A name that may imitate another.
#[derive(Debug, Clone)]
pub(super) struct Suspect<'a> {
    pub(super) line: Line<'a>,
    pub(super) span: Range<usize>,
    pub(super) reads_as: String,
    certain: bool,
}

impl<'a> Names<'a> {
    /// Remembers plain names, so that a copy in other letters stands out.
    pub(super) fn learn(&mut self, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            for span in words(line) {
                let word = &line[span];
                if word.is_ascii() && word.len() > 1 {
                    self.plain.insert(word);
                }
            }
        }
    }

    /// Takes the names of one line with other letters. In strings and in the text of markup a word must be long and
    /// made to imitate: people write several scripts there.
    pub(super) fn look_at(&mut self, line: &Line<'a>, parts: &Parts, markup: bool, test: bool) {
        for span in words(line.text) {
            let word = &line.text[span.clone()];
            if word.is_ascii() || self.others.contains_key(word) || is_range(line.text, &span) {
                continue;
            }
            let is_text = markup || parts.kind_at(span.start) == Kind::Text;
            let certain = match parts.kind_at(span.start) {
                Kind::Comment => continue,
                Kind::Text if test => continue,
                Kind::Text | Kind::Code if is_text => imitates_in_text(word),
                Kind::Text | Kind::Code => imitates(word),
            };
            if certain || !is_text {
                let suspect = Suspect { line: *line, span, reads_as: appearance(word), certain };
                self.others.insert(word, suspect);
            }
        }
    }

    /// Returns the names that imitate, in the order they stand.
    pub(super) fn suspects(self) -> Vec<Suspect<'a>> {
        let plain =
            LazyCell::new(|| self.plain.iter().map(|name| appearance(name)).collect::<BTreeSet<String>>());
        let mut found: Vec<Suspect<'a>> = self
            .others
            .into_values()
            .filter(|suspect| {
                suspect.certain || suspect.reads_as.len() > 2 && plain.contains(&suspect.reads_as)
            })
            .collect();
        found.sort_by_key(|suspect| (suspect.line.number, suspect.span.start));
        found
    }
}

/// Returns the appearance of a word: equal for words that no one can tell apart.
fn appearance(word: &str) -> String {
    skeleton(word).collect()
}

fn words(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = None;
    let ends = line.char_indices().chain(std::iter::once((line.len(), ' ')));
    ends.filter_map(move |(offset, character)| {
        let inside = character.is_alphanumeric() || character == '_' || is_hidden_in_name(character);
        match (start, inside) {
            (None, true) => {
                start = Some(offset);
                None
            }
            (Some(begin), false) => {
                start = None;
                Some(begin..offset)
            }
            _ => None,
        }
    })
}

fn is_hidden_in_name(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// `[A-Zа-я]` is a range of letters and no name.
fn is_range(line: &str, span: &Range<usize>) -> bool {
    line[..span.start].ends_with('-') && line[span.end..].starts_with('-')
}

/// Scripts with letters that look like Latin ones.
fn is_foreign(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{52f}' | '\u{530}'..='\u{58f}' | '\u{10a0}'..='\u{10ff}' | '\u{13a0}'..='\u{13ff}'
        | '\u{1400}'..='\u{167f}' | '\u{1c80}'..='\u{1c8f}' | '\u{1f00}'..='\u{1fff}' | '\u{2c80}'..='\u{2cff}'
        | '\u{a4d0}'..='\u{a4ff}' | '\u{a640}'..='\u{a69f}' | '\u{ab70}'..='\u{abbf}' | '\u{ff21}'..='\u{ff5a}'
        | '\u{10400}'..='\u{1044f}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Returns whether a letter of another script looks like one plain letter.
fn is_look_alike(letter: char) -> bool {
    let mut buffer = [0; 4];
    is_foreign(letter) && skeleton(letter.encode_utf8(&mut buffer)).all(|plain| plain.is_ascii_alphanumeric())
}

/// Returns whether a name mixes Latin letters with look-alikes of another script.
pub(super) fn imitates(name: &str) -> bool {
    let letters: Vec<char> = name.chars().collect();
    if !letters.iter().any(char::is_ascii_alphabetic) {
        let foreign = letters.iter().filter(|letter| letter.is_alphabetic()).count();
        return foreign >= 4
            && letters.iter().filter(|letter| letter.is_alphabetic()).all(|&letter| is_look_alike(letter));
    }
    name.split(['_', '-', '.', ' ']).any(|piece| {
        let letters: Vec<char> = piece.chars().collect();
        let latin = letters.iter().any(char::is_ascii_alphabetic);
        let all = letters.iter().filter(|letter| letter.is_alphabetic()).all(|&letter| is_look_alike(letter));
        letters.iter().enumerate().any(|(position, &letter)| {
            is_look_alike(letter) && !is_quantity(&letters, position) && (latin || all && !is_greek(letter))
        })
    })
}

/// Returns a word of a string: long, Latin, and every other letter a look-alike.
fn imitates_in_text(word: &str) -> bool {
    let latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let foreign = word.chars().filter(|letter| letter.is_alphabetic() && !letter.is_ascii());
    let alike = foreign.clone().filter(|&letter| is_look_alike(letter) && !is_greek(letter)).count();
    latin + alike >= 4 && latin > 0 && alike > 0 && alike == foreign.count()
}

fn is_greek(letter: char) -> bool {
    matches!(letter, '\u{370}'..='\u{3ff}')
}

/// A single small Greek letter names a quantity where it stands alone in a name or beside a short index: `dρ`, `αmax`,
/// `ν0`. The omicron and capitals that equal Latin ones name none.
fn is_quantity(letters: &[char], position: usize) -> bool {
    if !matches!(letters[position], 'α' | 'γ' | 'ι' | 'κ' | 'ν' | 'ρ' | 'σ' | 'τ' | 'υ' | 'η') {
        return false;
    }
    let before = &letters[..position];
    let after = &letters[position + 1..];
    let begins_word = after.first().is_none_or(|next| !next.is_ascii_lowercase());
    let is_suffix = after.len() <= 3 && after.iter().all(char::is_ascii_lowercase);
    match (before.is_empty(), after.is_empty()) {
        (true, true) => true,
        (true, false) => begins_word || is_suffix,
        (false, true) => before.len() <= 3,
        (false, false) => !before[position - 1].is_ascii_alphabetic() && begins_word,
    }
}
