//! The merge-join walk over two trees: equal ids are skipped, so the cost follows the change and not the repository.

use std::collections::BTreeMap;

use git2::{ObjectType, Odb, Oid, Repository};

use super::bounded;
use super::error::GitError;
use super::tree::{Entry, Mode, parse};
use qa_contracts::ids::{BlobId, RepoPath};
use qa_contracts::limits::MAX_TREE_DEPTH;
use qa_core::masking::masked_name;
use qa_run::ports::{TreeChange, TreeEntry};

/// Budget of a walk, and its use so far.
pub(super) struct Budget {
    pub(super) entries_left: u64,
    pub(super) trees_walked: u64,
    pub(super) bytes: u64,
}

/// A pair of trees still to be compared, with the path they are at.
struct Pending {
    path: Vec<u8>,
    depth: usize,
    old: Option<Oid>,
    new: Option<Oid>,
}

/// Compares two trees. Changes come out sorted by path bytes.
pub(super) fn compare(
    odb: &Odb<'_>,
    old: Oid,
    new: Oid,
    budget: &mut Budget,
) -> Result<Vec<TreeChange>, GitError> {
    let mut changes = Vec::new();
    let mut pending = vec![Pending { path: Vec::new(), depth: 0, old: Some(old), new: Some(new) }];
    while let Some(pair) = pending.pop() {
        if pair.old == pair.new {
            continue;
        }
        if let Some(id) = pair.new.or(pair.old) {
            check_depth(id, pair.depth)?;
        }
        let old_data = read_tree(odb, pair.old, budget)?;
        let new_data = read_tree(odb, pair.new, budget)?;
        let old_entries = entries(pair.old, old_data.as_ref(), budget)?;
        let new_entries = entries(pair.new, new_data.as_ref(), budget)?;
        for (old, new) in join(&old_entries, &new_entries) {
            step(&pair, old, new, &mut changes, &mut pending)?;
        }
    }
    changes.sort_by(|left: &TreeChange, right| left.path.cmp(&right.path));
    if let Some(twice) = changes.windows(2).find(|pair| pair[0].path == pair[1].path) {
        let path = &twice[0].path;
        return Err(GitError::PathRefused(format!(
            "{path} stands for two names that differ in a secret alone"
        )));
    }
    Ok(changes)
}

/// Names the files of a tree, at most `most` of them, in a fixed order.
pub(super) fn list(
    odb: &Odb<'_>,
    root: Oid,
    budget: &mut Budget,
    most: usize,
    each: &mut dyn FnMut(RepoPath, BlobId),
) -> Result<(), GitError> {
    let mut named = 0;
    let mut pending = vec![(Vec::new(), 0, root)];
    while let Some((path, depth, tree)) = pending.pop() {
        if depth > MAX_TREE_DEPTH {
            continue;
        }
        let data = read_tree(odb, Some(tree), budget)?;
        for entry in entries(Some(tree), data.as_ref(), budget)? {
            let full = child(&path, entry.name);
            match entry.mode {
                Mode::Tree => pending.push((full, depth + 1, entry.id)),
                Mode::File | Mode::Executable => {
                    if let (Ok(path), Ok(id)) =
                        (RepoPath::from_bytes(&full), BlobId::parse(&entry.id.to_string()))
                    {
                        each(masked_name(&path).unwrap_or(path), id);
                        named += 1;
                    }
                }
                Mode::Link | Mode::Submodule => {}
            }
            if named >= most {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Counts the entries of trees with all that is below them. A tree that stands at many paths counts each time and is
/// read once.
#[derive(Default)]
pub(super) struct EntryCounts(BTreeMap<Oid, u64>);

impl EntryCounts {
    /// Returns the number of entries below a tree at this depth.
    pub(super) fn count(
        &mut self,
        repository: &Repository,
        tree: Oid,
        depth: usize,
    ) -> Result<u64, GitError> {
        check_depth(tree, depth)?;
        if let Some(known) = self.0.get(&tree) {
            return Ok(*known);
        }
        let found = bounded::find_tree(repository, tree)?;
        let mut count = found.len() as u64;
        for entry in found.iter().filter(|entry| entry.kind() == Some(ObjectType::Tree)) {
            count = count.saturating_add(self.count(repository, entry.id(), depth + 1)?);
        }
        self.0.insert(tree, count);
        Ok(count)
    }
}

/// Checks how deep a tree is nested.
pub(super) fn check_depth(tree: Oid, depth: usize) -> Result<(), GitError> {
    if depth <= MAX_TREE_DEPTH {
        return Ok(());
    }
    let reason = format!("directories are nested deeper than {MAX_TREE_DEPTH}");
    Err(GitError::TreeMalformed { id: tree.to_string(), reason })
}

fn read_tree<'a>(
    odb: &'a Odb<'_>,
    id: Option<Oid>,
    budget: &mut Budget,
) -> Result<Option<git2::OdbObject<'a>>, GitError> {
    let Some(id) = id else { return Ok(None) };
    let object = bounded::read_tree(odb, id)?;
    budget.trees_walked += 1;
    budget.bytes += object.len() as u64;
    Ok(Some(object))
}

fn entries<'a>(
    id: Option<Oid>,
    data: Option<&'a git2::OdbObject<'_>>,
    budget: &mut Budget,
) -> Result<Vec<Entry<'a>>, GitError> {
    let (Some(id), Some(data)) = (id, data) else { return Ok(Vec::new()) };
    let mut entries = parse(id, data.data())?;
    let count = entries.len() as u64;
    budget.entries_left = budget.entries_left.checked_sub(count).ok_or_else(|| GitError::TreeMalformed {
        id: id.to_string(),
        reason: "the change touches more tree entries than limits.max-tree-entries".to_owned(),
    })?;
    // By plain name, so that a file and a directory of one name meet.
    entries.sort_unstable_by_key(|entry| entry.name);
    Ok(entries)
}

type Pair<'a, 'b> = (Option<&'b Entry<'a>>, Option<&'b Entry<'a>>);

fn join<'a, 'b>(old: &'b [Entry<'a>], new: &'b [Entry<'a>]) -> Vec<Pair<'a, 'b>> {
    let mut pairs = Vec::new();
    let (mut left, mut right) = (old.iter().peekable(), new.iter().peekable());
    loop {
        let order = match (left.peek(), right.peek()) {
            (None, None) => return pairs,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.name.cmp(new.name),
        };
        let pair = match order {
            std::cmp::Ordering::Less => (left.next(), None),
            std::cmp::Ordering::Greater => (None, right.next()),
            std::cmp::Ordering::Equal => (left.next(), right.next()),
        };
        if !matches!(pair, (Some(old), Some(new)) if old.id == new.id && old.mode == new.mode) {
            pairs.push(pair);
        }
    }
}

fn child(path: &[u8], name: &[u8]) -> Vec<u8> {
    let mut full = Vec::with_capacity(path.len() + 1 + name.len());
    if !path.is_empty() {
        full.extend_from_slice(path);
        full.push(b'/');
    }
    full.extend_from_slice(name);
    full
}

fn step(
    pair: &Pending,
    old: Option<&Entry<'_>>,
    new: Option<&Entry<'_>>,
    changes: &mut Vec<TreeChange>,
    pending: &mut Vec<Pending>,
) -> Result<(), GitError> {
    let name = old.or(new).map_or(&b""[..], |entry| entry.name);
    let path = child(&pair.path, name);
    let (old_tree, new_tree) = (subtree(old), subtree(new));
    let (old_leaf, new_leaf) = (leaf(old)?, leaf(new)?);
    if old_leaf.is_some() || new_leaf.is_some() {
        let path = RepoPath::from_bytes(&path).map_err(|error| GitError::PathRefused(error.to_string()))?;
        let masked = masked_name(&path);
        let secret = masked.is_some();
        changes.push(TreeChange { path: masked.unwrap_or(path), secret, old: old_leaf, new: new_leaf });
    }
    if old_tree.is_some() || new_tree.is_some() {
        pending.push(Pending { path, depth: pair.depth + 1, old: old_tree, new: new_tree });
    }
    Ok(())
}

fn subtree(entry: Option<&Entry<'_>>) -> Option<Oid> {
    entry.filter(|entry| entry.mode == Mode::Tree).map(|entry| entry.id)
}

fn leaf(entry: Option<&Entry<'_>>) -> Result<Option<TreeEntry>, GitError> {
    entry.filter(|entry| entry.mode != Mode::Tree).map(tree_entry).transpose()
}

fn tree_entry(entry: &Entry<'_>) -> Result<TreeEntry, GitError> {
    let id = BlobId::parse(&entry.id.to_string()).map_err(|error| GitError::Other(error.to_string()))?;
    Ok(TreeEntry { mode: entry.mode.text(), id })
}
