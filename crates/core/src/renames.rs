//! Pairs renamed files: equal content always, similar content only while the comparison stays small.
//!
//! 1. An added and a deleted file with the same object pair, whatever their number; a pair with the same file name is
//!    preferred, then the first in path order. Empty files never pair.
//! 2. The other files are compared for similar content when added times deleted is within `limits.max-rename-pairs`: at
//!    least half of the bytes must be in common lines. The most similar pair goes first, then the same file name, then
//!    path order.
//! 3. Above that limit nothing is compared; the files stay added and deleted, and the change set has their number.

use std::collections::BTreeMap;

use qa_contracts::ids::{BlobId, RepoPath};

/// A file that only one side has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lone {
    pub path: RepoPath,
    pub id: BlobId,
}

/// Old and new path of a renamed file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Renamed {
    pub new: RepoPath,
    pub old: RepoPath,
}

const EMPTY_BLOB: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
/// Minimum share of bytes in common lines, in percent.
const SIMILAR: u64 = 50;

/// Pairs equal content.
pub fn exact(deleted: &[Lone], added: &[Lone]) -> Vec<Renamed> {
    let mut by_id: BTreeMap<&BlobId, Vec<&RepoPath>> = BTreeMap::new();
    for file in deleted.iter().filter(|file| file.id.as_str() != EMPTY_BLOB) {
        by_id.entry(&file.id).or_default().push(&file.path);
    }
    let (mut pairs, mut unpaired) = (Vec::new(), Vec::new());
    // Two passes, so that a file that moved and kept its name is paired with its own old path.
    for file in added {
        let Some(candidates) = by_id.get_mut(&file.id) else { continue };
        match candidates.iter().position(|old| old.file_name() == file.path.file_name()) {
            Some(same_name) => {
                pairs.push(Renamed { new: file.path.clone(), old: candidates.remove(same_name).clone() });
            }
            None => unpaired.push(file),
        }
    }
    for file in unpaired {
        if let Some(candidates) = by_id.get_mut(&file.id)
            && !candidates.is_empty()
        {
            pairs.push(Renamed { new: file.path.clone(), old: candidates.remove(0).clone() });
        }
    }
    pairs.sort();
    pairs
}

/// Hashed lines of a blob, to compare it with many others.
pub struct Fingerprint {
    /// Bytes in lines with each hash.
    lines: BTreeMap<u64, u64>,
    bytes: u64,
}

impl Fingerprint {
    /// Hashes the lines of a blob with 64-bit FNV-1a. A collision can at worst pair two files, whose difference is then
    /// judged.
    pub fn new(content: &[u8]) -> Self {
        let mut lines = BTreeMap::new();
        for line in content.split_inclusive(|&byte| byte == b'\n') {
            let hash = line.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
            });
            *lines.entry(hash).or_insert(0) += line.len() as u64;
        }
        Self { lines, bytes: content.len() as u64 }
    }

    fn similarity(&self, other: &Self) -> u64 {
        let larger = self.bytes.max(other.bytes);
        if larger == 0 || self.bytes.min(other.bytes) * 100 < larger * SIMILAR {
            return 0;
        }
        let common: u64 =
            self.lines.iter().filter_map(|(hash, bytes)| Some(*bytes.min(other.lines.get(hash)?))).sum();
        common * 100 / larger
    }
}

/// Pairs similar content; the lists are in path order.
pub fn inexact(deleted: &[(RepoPath, Fingerprint)], added: &[(RepoPath, Fingerprint)]) -> Vec<Renamed> {
    let mut scored = Vec::new();
    for (old_index, (old_path, old)) in deleted.iter().enumerate() {
        for (new_index, (new_path, new)) in added.iter().enumerate() {
            let score = old.similarity(new);
            if score >= SIMILAR {
                let renamed_apart = old_path.file_name() != new_path.file_name();
                scored.push((std::cmp::Reverse(score), renamed_apart, new_index, old_index));
            }
        }
    }
    scored.sort();
    let (mut old_taken, mut new_taken) = (vec![false; deleted.len()], vec![false; added.len()]);
    let mut pairs = Vec::new();
    for (_, _, new_index, old_index) in scored {
        if !old_taken[old_index] && !new_taken[new_index] {
            (old_taken[old_index], new_taken[new_index]) = (true, true);
            pairs.push(Renamed { new: added[new_index].0.clone(), old: deleted[old_index].0.clone() });
        }
    }
    pairs.sort();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lone(path: &str, id: char) -> Lone {
        Lone {
            path: RepoPath::from_bytes(path.as_bytes()).unwrap(),
            id: BlobId::parse(&id.to_string().repeat(40)).unwrap(),
        }
    }

    fn shown(pairs: &[Renamed]) -> Vec<String> {
        pairs.iter().map(|pair| format!("{} -> {}", pair.old, pair.new)).collect()
    }

    #[test]
    fn equal_content_pairs_by_name_first_and_each_file_once() {
        let deleted = [lone("a/one", '1'), lone("a/two", '1'), lone("a/x", '2')];
        let added = [lone("b/another", '1'), lone("b/two", '1'), lone("b/third", '1'), lone("b/y", '3')];
        assert_eq!(shown(&exact(&deleted, &added)), ["a/one -> b/another", "a/two -> b/two"]);
    }

    #[test]
    fn empty_files_do_not_pair() {
        let empty = |path: &str| Lone { id: BlobId::parse(EMPTY_BLOB).unwrap(), ..lone(path, '1') };
        assert!(exact(&[empty("a")], &[empty("b")]).is_empty());
    }

    #[test]
    fn half_of_the_lines_make_two_files_similar() {
        let file = |path: &str, content: &str| {
            (RepoPath::from_bytes(path.as_bytes()).unwrap(), Fingerprint::new(content.as_bytes()))
        };
        let deleted = [file("old", "a1\nb2\nc3\nd4\n"), file("other", "q\n")];
        let added =
            [file("new", "a1\nb2\nx9\ny9\n"), file("best", "a1\nb2\nc3\ny9\n"), file("none", "z8\nz9\n")];
        assert_eq!(shown(&inexact(&deleted, &added)), ["old -> best"]);
        assert_eq!(shown(&inexact(&deleted, &added[..1])), ["old -> new"]);
    }
}
