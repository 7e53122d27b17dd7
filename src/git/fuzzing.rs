//! Promises of the readers of git's own bytes; see `crate::fuzzing`.

use std::io::Write;

use super::pack_protocol::{FetchAnswer, read_tip, serves_filters};
use super::tree::{Entry, parse};

/// Checks that the entries of a tree have plain names, no two alike, and that a tree written from them has them again.
pub fn tree(bytes: &[u8]) -> bool {
    let id = git2::Oid::ZERO_SHA1;
    let Ok(entries) = parse(id, bytes) else { return false };
    let mut written = Vec::new();
    for Entry { name, mode, id } in &entries {
        assert!(!name.is_empty() && !name.contains(&b'/') && !name.contains(&0), "{name:?}");
        written.extend_from_slice(mode.text().as_bytes());
        written.push(b' ');
        written.extend_from_slice(name);
        written.push(0);
        written.extend_from_slice(id.as_bytes());
    }
    assert_eq!(parse(id, &written).expect("it was read before"), entries);
    let mut names: Vec<&[u8]> = entries.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), entries.len());
    true
}

/// Checks that the answer to a fetch does not depend on the pieces in which it arrives.
pub fn pack_protocol(bytes: &[u8]) -> bool {
    let tip = read_tip(bytes, "refs/heads/main").unwrap_or_default();
    assert!(!tip.unwrap_or_default().contains(' '));
    let _is_any = serves_filters(bytes);
    let whole = Answer::in_pieces(bytes, bytes.len().max(1));
    for size in [1, 7] {
        let pieces = Answer::in_pieces(bytes, size);
        assert_eq!(pieces, whole, "pieces of {size}");
    }
    whole.is_some()
}

/// Content of a response to a fetch.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    shallow: Vec<String>,
    unshallow: Vec<String>,
    pack: Vec<u8>,
}

impl Answer {
    fn in_pieces(bytes: &[u8], size: usize) -> Option<Self> {
        let mut answer = FetchAnswer::new(Vec::new());
        for piece in bytes.chunks(size) {
            answer.write_all(piece).ok()?;
        }
        let (shallow, unshallow) = (answer.shallow.clone(), answer.unshallow.clone());
        Some(Self { shallow, unshallow, pack: answer.finish().ok()? })
    }
}
