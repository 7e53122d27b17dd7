//! Reads which shards of a test runner the jobs of a matrix run.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::commands::{MAX_VARIANTS, spelled_out};

/// The shards that the jobs of a matrix run.
struct Shards {
    numbers: BTreeSet<u32>,
    total: u32,
}

impl Shards {
    /// Reads a value such as `${{ matrix.shard }}/4`; none where the matrix does not say what it comes to.
    fn new(value: &str, matrix: &BTreeMap<String, Vec<String>>) -> Option<Self> {
        let texts = spelled_out(value, matrix);
        if !value.contains("matrix.") || texts.len() >= MAX_VARIANTS {
            return None;
        }
        let mut shards: Option<Self> = None;
        for text in texts {
            let (number, total) = text.trim_matches(['"', '\'']).split_once('/')?;
            let (number, total): (u32, u32) = (number.trim().parse().ok()?, total.trim().parse().ok()?);
            let known = shards.get_or_insert_with(|| Self { numbers: BTreeSet::new(), total });
            if known.total != total {
                return None;
            }
            known.numbers.insert(number);
        }
        shards
    }

    fn are_all(&self) -> bool {
        (1..=self.total).all(|number| self.numbers.contains(&number))
    }

    /// Returns the option for the shards as one word.
    fn to_option(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        format!("--shard={}/{}", numbers.join(","), self.total)
    }
}

/// Returns the words of a command with the shards that its jobs run together: without any where those are all.
pub(super) fn with_known_shards<'w>(
    words: &[&'w str],
    matrix: &BTreeMap<String, Vec<String>>,
) -> Vec<Cow<'w, str>> {
    let mut known: Vec<Cow<'w, str>> = Vec::with_capacity(words.len());
    let mut words = words.iter().copied().peekable();
    while let Some(word) = words.next() {
        let value = match word {
            "--shard" => words.peek().copied(),
            _ => word.strip_prefix("--shard="),
        };
        let Some(shards) = value.and_then(|value| Shards::new(value, matrix)) else {
            known.push(Cow::Borrowed(word));
            continue;
        };
        if word == "--shard" {
            words.next();
        }
        if !shards.are_all() {
            known.push(Cow::Owned(shards.to_option()));
        }
    }
    known
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_that_are_not_all_are_named() {
        for (command, values, expected) in [
            ("jest --shard=${{matrix.shard}}/4 --ci", "1 2 3 4", "jest --ci"),
            ("jest --shard=${{matrix.shard}}/4 --ci", "1 2", "jest --shard=1,2/4 --ci"),
            ("jest --shard ${{matrix.shard}}/3", "1 2", "jest --shard=1,2/3"),
            ("jest --shard=${{matrix.shard}}", "1/2 2/2", "jest"),
            ("jest --shard=${{matrix.shard}}", "1/2 2/3", "jest --shard=${{matrix.shard}}"),
            ("jest --shard=${{matrix.other}}/2", "1", "jest --shard=${{matrix.other}}/2"),
            ("jest --shard=1/2", "1", "jest --shard=1/2"),
        ] {
            let values = values.split(' ').map(str::to_owned).collect();
            let matrix = BTreeMap::from([("shard".to_owned(), values)]);
            let words: Vec<&str> = command.split(' ').collect();
            assert_eq!(with_known_shards(&words, &matrix).join(" "), expected, "{command}");
        }
    }
}
