//! Reads one tree object strictly: entries git could not have written are an error, not a surprise later.

use super::error::GitError;

/// Entry of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) name: &'a [u8],
    pub(super) mode: Mode,
    pub(super) id: git2::Oid,
}

/// The modes git writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Tree,
    File,
    Executable,
    Link,
    Submodule,
}

impl Mode {
    fn parse(text: &[u8]) -> Option<Self> {
        match text {
            b"40000" | b"040000" => Some(Self::Tree),
            // Old versions of git wrote group-writable files.
            b"100644" | b"100664" => Some(Self::File),
            b"100755" => Some(Self::Executable),
            b"120000" => Some(Self::Link),
            b"160000" => Some(Self::Submodule),
            _ => None,
        }
    }

    /// The octal text for artifacts.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Tree => "040000",
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
        }
    }
}

/// Parses a tree's entries. They must be in git's order without a name twice: both ways of breaking that have been used
/// to show different content to different tools.
pub(super) fn parse(id: git2::Oid, data: &[u8]) -> Result<Vec<Entry<'_>>, GitError> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut rest = data;
    while !rest.is_empty() {
        let space = memchr::memchr(b' ', rest).ok_or_else(|| malformed(id, "an entry has no mode"))?;
        let mode =
            Mode::parse(&rest[..space]).ok_or_else(|| malformed(id, "an entry has an unknown mode"))?;
        rest = &rest[space + 1..];
        let end = memchr::memchr(0, rest).ok_or_else(|| malformed(id, "an entry has no end"))?;
        let name = &rest[..end];
        if name.is_empty() || name.contains(&b'/') {
            return Err(malformed(id, "an entry has an empty name or one with a slash"));
        }
        let raw_id = rest.get(end + 1..end + 21).ok_or_else(|| malformed(id, "an entry is cut short"))?;
        rest = &rest[end + 21..];
        let entry = Entry {
            name,
            mode,
            id: git2::Oid::from_bytes(raw_id).map_err(|_| malformed(id, "an entry has no id"))?,
        };
        if let Some(last) = entries.last()
            && !in_order(last, &entry)
        {
            return Err(malformed(id, "entries are out of order or a name is duplicated"));
        }
        entries.push(entry);
    }
    // A file `a` and a directory `a` are apart in git's order; side by side names tell.
    let mut names: Vec<&[u8]> = entries.iter().map(|entry| entry.name).collect();
    names.sort_unstable();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(malformed(id, "a name is duplicated"));
    }
    Ok(entries)
}

fn malformed(id: git2::Oid, reason: &str) -> GitError {
    GitError::TreeMalformed { id: id.to_string(), reason: reason.to_owned() }
}

/// git compares directories as if their names ended with a slash.
fn in_order(left: &Entry<'_>, right: &Entry<'_>) -> bool {
    let shared = left.name.len().min(right.name.len());
    match left.name[..shared].cmp(&right.name[..shared]) {
        std::cmp::Ordering::Less => true,
        std::cmp::Ordering::Greater => false,
        std::cmp::Ordering::Equal => sort_key(left) < sort_key(right),
    }
}

fn sort_key(entry: &Entry<'_>) -> Vec<u8> {
    entry.name.iter().copied().chain((entry.mode == Mode::Tree).then_some(b'/')).collect()
}
