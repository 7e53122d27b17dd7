//! Limits of a search for words, with files that are counted and not stored.

use super::*;
use crate::fixed_tree::{FixedTree, numbered};
use crate::ports::{BlobRead, Cancellation};
use crate::trees::{MAX_FILE_BYTES, MAX_SEARCHED_BYTES, MAX_SEARCHED_FILES, SEARCH_BATCH_BYTES};
use qa_contracts::ids::CommitId;

/// Asks about a tree of modules of these lengths, each with a word at its end; one that is empty cannot be read.
fn asking<T>(lengths: Vec<usize>, workers: u64, ask: impl FnOnce(&TreeLookups<'_>) -> T) -> T {
    let commit = CommitId::parse(&"0".repeat(40)).unwrap();
    let read = |number: usize, most| {
        let length = lengths[number];
        if length as u64 > most {
            return Ok(BlobRead::TooLarge { size: length as u64, start: Vec::new() });
        }
        if length == 0 {
            return Err(not_recorded(&format!("what {} has", numbered(number))));
        }
        let mut content = vec![b' '; length];
        content[length - 4..].copy_from_slice(b"word");
        Ok(BlobRead::Content(content))
    };
    let files = (0..lengths.len()).map(|number| (format!("m{number:05}.py"), number)).collect();
    let objects = FixedTree { files, read };
    let (base, head) = (&commit, &commit);
    let cancellation = Cancellation::default();
    let trees = Trees { objects: &objects, base, head, workers, cancellation: &cancellation };
    ask(&TreeLookups::from_trees(trees))
}

fn searched(lengths: Vec<usize>, workers: u64) -> (usize, bool) {
    let found = asking(lengths, workers, |asked| {
        asked.mentions(Side::Head, MentionKind::Python, &["word".to_owned()])
    });
    (found.paths.len(), found.complete)
}

#[test]
fn the_fault_that_is_told_does_not_hang_on_what_was_asked_first() {
    let names = ["m00000.py", "m00001.py", "m00002.py"];
    for workers in [1, 3] {
        for order in [[0, 1, 2], [2, 1, 0]] {
            asking(vec![4, 0, 0], workers, |asked| {
                asked.expect_outlines(Side::Head, &names);
                let found = order.map(|position| asked.outline(Side::Head, names[position]).is_some());
                assert_eq!(found, order.map(|position| position == 0));
                let fault = asked.recorded().unwrap_err();
                assert_eq!(fault.message, not_recorded(&format!("what {} has", numbered(1))).message);
            });
        }
    }
    let asked = asking(vec![4, 4], 3, |asked| {
        asked.expect_outlines(Side::Head, &names);
        asked.outline(Side::Head, names[1]);
        asked.recorded()
    });
    assert_eq!(asked.unwrap().modules.len(), 1);
}

#[test]
fn a_search_that_does_not_see_every_file_says_so() {
    const LARGE: usize = MAX_FILE_BYTES as usize;
    const MOST: usize = MAX_SEARCHED_BYTES / LARGE;
    let large = |count: usize, before: usize, after: usize| {
        [vec![4; before], vec![LARGE; count], vec![4; after]].concat()
    };
    for workers in [1, 3] {
        assert_eq!(searched(vec![4; MAX_SEARCHED_FILES], workers), (MAX_SEARCHED_FILES, true));
        assert_eq!(searched(vec![4; MAX_SEARCHED_FILES + 1], workers), (MAX_SEARCHED_FILES, false));
        assert_eq!(searched(vec![4, LARGE + 1, 4], workers), (2, false));
        // The last file may go beyond the bound, and then nothing comes after it, wherever a part of the search ends.
        assert_eq!(searched(large(MOST + 1, 0, 0), workers), (MOST + 1, true));
        assert_eq!(searched(large(MOST + 1, 0, 1), workers), (MOST + 1, false));
        let before = SEARCH_BATCH_BYTES as usize / LARGE;
        assert_eq!(searched(large(MOST, before, 1), workers), (before + MOST, false));
    }
}
