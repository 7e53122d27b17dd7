//! Tells by words alone whether a pattern can match, so that most texts need not be parsed.

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::BTreeSet;

use super::definition::Definition;
use super::shape::decoded_name;
use crate::names::{joins, places};

/// Words of the definitions of one language, ready to be searched for.
#[derive(Debug)]
pub struct Words {
    /// Sorted, for the binary search.
    words: Vec<&'static str>,
    /// For each first byte the lengths of the words that begin with it, as bits; the last bit stands for longer ones.
    lengths: [u64; 256],
    /// The definitions, by position.
    definitions: Vec<Needs<usize>>,
}

/// Words that a definition needs: texts, or positions in [`Words::words`].
#[derive(Debug)]
pub(super) struct Needs<W> {
    pub(super) spellings: Vec<Spelling<W>>,
}

/// Words that one spelling needs, one of each choice.
#[derive(Debug)]
pub(super) struct Spelling<W> {
    pub(super) choices: Vec<Choice<W>>,
}

/// Words of which a text has at least one.
#[derive(Debug)]
pub(super) struct Choice<W> {
    pub(super) words: Vec<W>,
}

impl<W: Copy> Spelling<W> {
    fn words(&self) -> impl Iterator<Item = W> {
        self.choices.iter().flat_map(|choice| &choice.words).copied()
    }
}

impl Spelling<&'static str> {
    /// Returns the same words as positions in a sorted list.
    fn positions_in(&self, sorted: &[&'static str]) -> Spelling<usize> {
        let choices = self.choices.iter().map(|choice| {
            let words = choice.words.iter().map(|word| sorted.binary_search(&core_of(word)).unwrap_or(0));
            Choice { words: words.collect() }
        });
        Spelling { choices: choices.collect() }
    }
}

impl Spelling<usize> {
    /// Returns whether a text has one word of each choice.
    fn is_in(&self, present: &[bool]) -> bool {
        self.choices.iter().all(|choice| choice.words.iter().any(|word| present[*word]))
    }
}

impl Words {
    /// Collects the words of definitions, none of which is compiled.
    pub fn new<'d>(definitions: impl IntoIterator<Item = &'d Definition>) -> Self {
        let needs: Vec<Needs<&'static str>> = definitions.into_iter().map(Definition::words).collect();
        let spellings = needs.iter().flat_map(|needs| &needs.spellings);
        let words: BTreeSet<&'static str> = spellings.flat_map(Spelling::words).map(core_of).collect();
        let words: Vec<&'static str> = words.into_iter().collect();
        let definitions = needs.iter().map(|needs| Needs {
            spellings: needs.spellings.iter().map(|spelling| spelling.positions_in(&words)).collect(),
        });
        let definitions = definitions.collect();
        let mut lengths = [0; 256];
        for word in &words {
            lengths[usize::from(word.as_bytes().first().copied().unwrap_or(0))] |= length_bit(word.len());
        }
        Self { words, lengths, definitions }
    }

    /// Returns which words a text has, none of them as a part of a longer one. An escape in a name counts as its letter.
    fn present(&self, text: &str) -> Vec<bool> {
        let mut present = self.present_in(text);
        if let Cow::Owned(decoded) = decoded_name(text) {
            let in_decoded = self.present_in(&decoded);
            present.iter_mut().zip(in_decoded).for_each(|(word, decoded)| *word |= decoded);
        }
        present
    }

    fn present_in(&self, text: &str) -> Vec<bool> {
        let mut present = vec![false; self.words.len()];
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            if !is_word(bytes[at]) {
                at += 1;
                continue;
            }
            let start = at;
            while at < bytes.len() && is_word(bytes[at]) {
                at += 1;
            }
            if self.lengths[usize::from(bytes[start])] & length_bit(at - start) != 0
                && let Ok(word) = self.words.binary_search_by(|known| known.as_bytes().cmp(&bytes[start..at]))
            {
                present[word] = true;
            }
        }
        present
    }

    /// Returns whether a definition can match where only the lines of a change are known: one of its words is in them.
    pub fn may_match(&self, lines: &str) -> bool {
        self.present(lines).contains(&true)
    }

    /// Returns the positions of the definitions that can match in a file where the change shows some lines: every word
    /// that a spelling needs is in the file, and one of them, or another name for it, is in the lines. The lines are only
    /// asked for where the file has the words.
    pub fn possible<L: AsRef<str>>(&self, lines: impl FnOnce() -> L, file: &str) -> Vec<usize> {
        let in_file = self.present(file);
        let mut possible: Vec<(usize, &Spelling<usize>)> = Vec::new();
        for (position, needs) in self.definitions.iter().enumerate() {
            let spellings = needs.spellings.iter().filter(|spelling| spelling.is_in(&in_file));
            possible.extend(spellings.map(|spelling| (position, spelling)));
        }
        if possible.is_empty() {
            return Vec::new();
        }
        let lines = lines();
        let lines = lines.as_ref();
        let in_lines = self.present(lines);
        let words: BTreeSet<usize> = possible.iter().flat_map(|(_, spelling)| spelling.words()).collect();
        let is_renamed = LazyCell::new(|| self.renamed(&words, file).any(|name| has_word(lines, name)));
        let mut positions: Vec<usize> = possible
            .into_iter()
            .filter(|(_, spelling)| {
                spelling.choices.is_empty() || spelling.words().any(|word| in_lines[word]) || *is_renamed
            })
            .map(|(position, _)| position)
            .collect();
        positions.dedup();
        positions
    }

    /// Returns other names that a file gives to words: `import a as b`, `{ a: b }`, `b = a`.
    fn renamed<'f>(&'f self, words: &'f BTreeSet<usize>, file: &'f str) -> impl Iterator<Item = &'f str> {
        let lines = file.lines().filter(|line| {
            ["import", " as ", "require", "=", ":", "use "].iter().any(|mark| line.contains(mark))
        });
        let lines = lines.filter(|line| {
            line.len() < LONGEST_LINE && !line.contains('(')
                || line.contains("require")
                || line.contains("promisify")
        });
        lines
            .filter(|line| words.iter().any(|word| has_word(line, self.words[*word])))
            .flat_map(|line| {
                line.split(|character: char| !(character.is_alphanumeric() || "_$".contains(character)))
            })
            .filter(|name| {
                !name.is_empty()
                    && !matches!(
                        *name,
                        "as" | "const" | "from" | "import" | "let" | "require" | "use" | "var"
                    )
            })
    }
}

/// Longest line in bytes that may give another name.
const LONGEST_LINE: usize = 400;

/// For each byte whether it is part of a word: a table, since every byte of most files is asked about.
static WORD_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < table.len() {
        table[byte] = byte >= 0x80 || byte == b'_' as usize || (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    table
};

pub(super) fn is_word(byte: u8) -> bool {
    WORD_BYTES[usize::from(byte)]
}

fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

/// Returns the longest part of a name that is one word.
fn core_of(name: &'static str) -> &'static str {
    let parts = name.split(|character| !joins(character));
    parts.max_by_key(|part| part.len()).unwrap_or(name)
}

fn has_word(text: &str, word: &str) -> bool {
    places(text, word).next().is_some()
}
