//! Tells by words alone whether a pattern can match, so that most texts need not be parsed.

use std::collections::BTreeSet;

use super::search::Patterns;

/// Words of the patterns of one language, ready to be searched for.
#[derive(Debug)]
pub struct Words {
    /// Sorted.
    words: Vec<String>,
    /// For each first byte the lengths of the words that begin with it, as bits; the last bit stands for longer ones.
    lengths: [u64; 256],
    /// For each pattern the words it needs: of each list one, by position in `words`.
    patterns: Vec<Vec<Vec<usize>>>,
}

impl Words {
    /// Collects the words of patterns.
    pub fn new(patterns: &Patterns) -> Self {
        let lists = patterns.all().iter().map(|pattern| &pattern.words);
        let lists: Vec<Vec<Vec<&str>>> = lists
            .map(|lists| lists.iter().map(|list| list.iter().map(|word| core_of(word)).collect()).collect())
            .collect();
        let words: BTreeSet<&str> = lists.iter().flatten().flatten().copied().collect();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        let position = |word: &&str| words.binary_search_by(|known| known.as_str().cmp(word)).unwrap_or(0);
        let positions = |list: &Vec<&str>| list.iter().map(position).collect();
        let patterns = lists.iter().map(|lists| lists.iter().map(positions).collect()).collect();
        let mut lengths = [0; 256];
        for word in &words {
            lengths[usize::from(word.as_bytes().first().copied().unwrap_or(0))] |= length_bit(word.len());
        }
        Self { words, lengths, patterns }
    }

    /// Returns which words a text has, none of them as a part of a longer one.
    fn present(&self, text: &str) -> Vec<bool> {
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

    /// Returns whether a pattern can match in a file where the change shows some lines: every word that the pattern
    /// needs is in the file, and one of them, or another name for it, is in the lines.
    pub fn may_match(&self, lines: &str, file: &str) -> bool {
        let in_file = self.present(file);
        let possible: Vec<&Vec<Vec<usize>>> = self
            .patterns
            .iter()
            .filter(|lists| lists.iter().all(|list| list.iter().any(|word| in_file[*word])))
            .collect();
        if possible.is_empty() {
            return false;
        }
        let in_lines = self.present(lines);
        let shows = |lists: &&&Vec<Vec<usize>>| lists.iter().flatten().any(|word| in_lines[*word]);
        if possible.iter().any(|lists| lists.is_empty() || shows(&lists)) {
            return true;
        }
        let words: BTreeSet<usize> = possible.into_iter().flatten().flatten().copied().collect();
        self.renamed(&words, file).any(|name| has_word(lines, name))
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
            .filter(|line| words.iter().any(|word| has_word(line, &self.words[*word])))
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

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn length_bit(length: usize) -> u64 {
    1 << length.min(63)
}

/// Returns the longest part of a name that is one word.
fn core_of(name: &str) -> &str {
    let parts = name.split(|character: char| !(character.is_alphanumeric() || character == '_'));
    parts.max_by_key(|part| part.len()).unwrap_or(name)
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}
