//! Divides the files of a change among shards: contiguous ranges of nearly equal weight, the same on every machine.

use std::ops::Range;

/// Maximum number of shards, which is GitHub's limit of jobs in a matrix.
pub const MAX_SHARDS: u64 = 256;

/// Shard, given as number and count: `2/4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub number: u64,
    pub of: u64,
}

impl Shard {
    /// Parses `k/N`.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, of) = text.split_once('/')?;
        let shard = Self { number: number.parse().ok()?, of: of.parse().ok()? };
        ((1..=shard.of).contains(&shard.number) && shard.of <= MAX_SHARDS).then_some(shard)
    }

    /// Returns the positions of this shard's files among files with these weights.
    pub fn range(self, weights: &[u64]) -> Range<usize> {
        boundary(weights, self.number - 1, self.of)..boundary(weights, self.number, self.of)
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.number, self.of)
    }
}

/// Returns the number of files before the `part`th of `of` equal shares of the weight; a file belongs to the share that
/// its middle is in.
fn boundary(weights: &[u64], part: u64, of: u64) -> usize {
    // Each file weighs one more, so that empty files are divided too.
    let total = weights.iter().map(|&weight| u128::from(weight)).sum::<u128>() + weights.len() as u128;
    let share = total * u128::from(part) * 2;
    let mut before = 0u128;
    for (position, &weight) in weights.iter().enumerate() {
        let weight = u128::from(weight) + 1;
        if (before * 2 + weight) * u128::from(of) > share {
            return position;
        }
        before += weight;
    }
    weights.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_shard_is_one_of_so_many() {
        assert_eq!(Shard::parse("2/4"), Some(Shard { number: 2, of: 4 }));
        for wrong in ["0/4", "5/4", "1/0", "1/257", "1", "1/4/2", "a/b", "-1/4", ""] {
            assert_eq!(Shard::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn shares_are_nearly_equal_by_weight() {
        let ranges = |weights: &[u64], of| {
            (1..=of).map(|number| Shard { number, of }.range(weights)).collect::<Vec<_>>()
        };
        assert_eq!(ranges(&[9, 9, 9, 9], 2), [0..2, 2..4]);
        assert_eq!(ranges(&[99, 9, 9, 9], 2), [0..1, 1..4]);
        assert_eq!(ranges(&[], 3), [0..0, 0..0, 0..0]);
        assert_eq!(ranges(&[5], 3), [0..0, 0..1, 1..1]);
    }

    proptest! {
        #[test]
        fn shards_cover_every_file_once(weights in prop::collection::vec(0u64..1_000_000, 0..60), of in 1u64..20) {
            let mut next = 0;
            for number in 1..=of {
                let range = Shard { number, of }.range(&weights);
                prop_assert_eq!(range.start, next);
                next = range.end;
            }
            prop_assert_eq!(next, weights.len());
        }
    }
}
