//! Merges head into the base, in the run's own store, since the landing tree depends on both.

use std::collections::BTreeSet;

use git2::{Commit, ErrorCode, MergeOptions, Odb, Oid, Signature, Time};

use super::base::{Resolved, commit_id};
use super::bounded;
use super::error::{GitError, reason};
use super::objects::port;
use super::open::OpenRepository;
use super::store::shallow_commits;
use super::walk::{self, Budget, EntryCounts};
use qa_contracts::ids::{BlobId, CommitId, TreeId};
use qa_run::landing::Merge;
use qa_run::ports::PortError;

/// Largest number of merge bases that are merged with each other.
const MAX_MERGE_BASES: usize = 8;
/// Number of tree entries that are read to compare which paths each side touches.
const MAX_COMPARED_ENTRIES: u64 = 200_000;
/// Largest number of entries of a tree that is merged.
const MAX_MERGED_ENTRIES: u64 = 2_000_000;

impl OpenRepository {
    /// Returns the merge bases of two commits, newest first. Fails if a shallow clone cuts off history that may hold better
    /// ones.
    pub(super) fn merge_bases(&self, tips: [Oid; 2]) -> Result<Vec<Oid>, GitError> {
        let merge_bases = self.present_merge_bases(tips)?;
        if !self.are_certain_merge_bases(&merge_bases, tips)? {
            let reason = "history is cut off between the merge base and base or head".to_owned();
            return Err(GitError::NoMergeBase { reason, is_shallow: true });
        }
        Ok(merge_bases)
    }

    /// Returns the merge bases by the present history, newest first. Fails if there is none.
    pub(super) fn present_merge_bases(&self, tips: [Oid; 2]) -> Result<Vec<Oid>, GitError> {
        let present = self.objects().merge_bases(tips[0], tips[1]).map_err(|error| {
            if error.code() == ErrorCode::HashsumMismatch {
                return GitError::HashMismatch(reason(&error));
            }
            let none = error.code() == ErrorCode::NotFound;
            let reason = if none { "base and head have no common commit".to_owned() } else { reason(&error) };
            GitError::NoMergeBase { reason, is_shallow: self.is_shallow() }
        })?;
        let mut dated = Vec::new();
        for id in present.iter() {
            let time = bounded::find_commit(self.objects(), *id)?.committer().when().seconds();
            dated.push((std::cmp::Reverse(time), *id));
        }
        dated.sort();
        Ok(dated.into_iter().map(|(_, id)| id).collect())
    }

    /// Returns whether missing history cannot hold a better merge base, since none is cut off between two commits and their
    /// merge base. With several merge bases, no history at all may be cut off: one may be an ancestor of another.
    pub(super) fn are_certain_merge_bases(
        &self,
        merge_bases: &[Oid],
        tips: [Oid; 2],
    ) -> Result<bool, GitError> {
        let cut = shallow_commits(self.objects())?;
        if cut.is_empty() {
            return Ok(true);
        }
        let [merge_base] = merge_bases else { return Ok(false) };
        let is_cut = self.has_commit_of(&cut, tips, *merge_base);
        is_cut.map(|is_cut| !is_cut).map_err(|error| GitError::NoBase(reason(&error)))
    }

    /// Returns whether one of the commits is between two tips and their merge base.
    fn has_commit_of(
        &self,
        commits: &[String],
        tips: [Oid; 2],
        merge_base: Oid,
    ) -> Result<bool, git2::Error> {
        let mut walk = self.objects().revwalk()?;
        tips.iter().try_for_each(|tip| walk.push(*tip))?;
        walk.hide(merge_base)?;
        for id in walk {
            if commits.contains(&id?.to_string()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the result of merging head into the base. Uses a pull request's test merge if it is present and merges these
    /// two commits, since the server lands that one.
    pub(super) fn merge(
        &self,
        [base, head]: [&Commit<'_>; 2],
        merge_bases: &[Oid],
        test_merge: Option<&CommitId>,
    ) -> Result<Merge, GitError> {
        if merge_bases == [base.id()] || merge_bases == [head.id()] {
            return Ok(Merge::Change);
        }
        if let Some(merged) = self.test_merge([base, head], test_merge)? {
            return Ok(merged);
        }
        if let [merge_base] = merge_bases
            && self.touch_no_common_path(*merge_base, [base, head])
        {
            return Ok(Merge::Change);
        }
        match self.compute_checked_merge([base, head], merge_bases)? {
            Some(commit) => merged(commit.id(), commit.tree_id()),
            None => Ok(Merge::Conflict),
        }
    }

    /// Returns the tree of the merge of head into the base, as a pull request's step has it checked out; `None` if they
    /// conflict.
    pub(crate) fn merged_tree(&self, resolved: &Resolved) -> Result<Option<TreeId>, PortError> {
        self.tree_of_merge(resolved).map_err(|error| port(&error))
    }

    fn tree_of_merge(&self, resolved: &Resolved) -> Result<Option<TreeId>, GitError> {
        let Resolved { base, head, merge_base, other_merge_bases, merge, .. } = resolved;
        match merge {
            Merge::Tree { tree, .. } => return Ok(Some(tree.clone())),
            Merge::Conflict => return Ok(None),
            Merge::Change => {}
        }
        let [base, head] = [base, head].map(|id| self.commit(id));
        let [base, head] = [base?, head?];
        if *merge_base == resolved.base {
            return tree_id(head.tree_id()).map(Some);
        }
        let ids: Result<Vec<Oid>, git2::Error> =
            [merge_base].into_iter().chain(other_merge_bases).map(|id| Oid::from_str(id.as_str())).collect();
        let merge_bases = ids.map_err(|error| GitError::object(merge_base, &error))?;
        match self.compute_checked_merge([&base, &head], &merge_bases)? {
            Some(commit) => tree_id(commit.tree_id()).map(Some),
            None => Ok(None),
        }
    }

    fn commit(&self, id: &CommitId) -> Result<Commit<'_>, GitError> {
        let oid = Oid::from_str(id.as_str()).map_err(|error| GitError::object(id, &error))?;
        bounded::find_commit(self.objects(), oid)
    }

    /// Merges head into the base within bounds and returns the commit, or `None` if they conflict.
    fn compute_checked_merge(
        &self,
        [base, head]: [&Commit<'_>; 2],
        merge_bases: &[Oid],
    ) -> Result<Option<Commit<'_>>, GitError> {
        self.check_mergeable([&[base.id(), head.id()], merge_bases].concat())?;
        self.compute_merge([base, head], merge_bases).map_err(|error| GitError::object(head.id(), &error))
    }

    /// Merges head into the base and returns the commit, or `None` if they conflict.
    fn compute_merge(
        &self,
        [base, head]: [&Commit<'_>; 2],
        merge_bases: &[Oid],
    ) -> Result<Option<Commit<'_>>, git2::Error> {
        if self.have_conflicts(merge_bases)? {
            return Ok(None);
        }
        let mut index = self.objects().merge_commits(base, head, Some(&MergeOptions::new()))?;
        if index.has_conflicts() {
            return Ok(None);
        }
        let tree = index.write_tree_to(self.objects())?;
        let id = self.commit_of_merge(tree, [base, head])?;
        self.objects().find_commit(id).map(Some)
    }

    /// Returns a pull request's test merge, or `None` if it is missing or does not merge these two commits.
    fn test_merge(
        &self,
        [base, head]: [&Commit<'_>; 2],
        test_merge: Option<&CommitId>,
    ) -> Result<Option<Merge>, GitError> {
        let Some(id) = test_merge.and_then(|commit| Oid::from_str(commit.as_str()).ok()) else {
            return Ok(None);
        };
        let Ok(commit) = bounded::find_commit(self.objects(), id) else { return Ok(None) };
        let is_merge = commit.parent_ids().eq([base.id(), head.id()]);
        // A checkout of head alone lacks its tree.
        let is_here = bounded::find_tree(self.objects(), commit.tree_id()).is_ok();
        if is_merge && is_here { merged(id, commit.tree_id()).map(Some) } else { Ok(None) }
    }

    /// Returns whether base and head changed no common path since their merge base, nor one below a path of the other's.
    fn touch_no_common_path(&self, merge_base: Oid, tips: [&Commit<'_>; 2]) -> bool {
        let paths = tips.map(|tip| self.changed_paths(merge_base, tip));
        let [Some(base), Some(head)] = paths else { return false };
        head.iter().all(|path| !touches(&base, path))
    }

    /// Returns the paths that change between a commit and a tip, or `None` if a tree is missing or too large.
    fn changed_paths(&self, from: Oid, tip: &Commit<'_>) -> Option<BTreeSet<Vec<u8>>> {
        let odb = self.objects().odb().ok()?;
        let old = bounded::find_commit(self.objects(), from).ok()?.tree_id();
        let mut budget = Budget { entries_left: MAX_COMPARED_ENTRIES, trees_walked: 0, bytes: 0 };
        let changes = walk::compare(&odb, old, tip.tree_id(), &mut budget).ok()?;
        Some(changes.into_iter().map(|change| change.path.as_bytes().to_vec()).collect())
    }

    /// Checks the objects that a merge of commits reads, which libgit2 does without bounds: all their trees, and the
    /// blobs in which they differ.
    fn check_mergeable(&self, commits: Vec<Oid>) -> Result<(), GitError> {
        let odb = bounded::objects_of(self.objects())?;
        let mut counts = EntryCounts::default();
        let mut trees = Vec::with_capacity(commits.len());
        for commit in commits {
            let tree = bounded::find_commit(self.objects(), commit)?.tree_id();
            if counts.count(self.objects(), tree, 0)? > MAX_MERGED_ENTRIES {
                let reason = format!("it has more than {MAX_MERGED_ENTRIES} entries, and no more are merged");
                return Err(GitError::TreeMalformed { id: tree.to_string(), reason });
            }
            trees.push(tree);
        }
        for tree in &trees[1..] {
            let mut budget = Budget { entries_left: 2 * MAX_MERGED_ENTRIES, trees_walked: 0, bytes: 0 };
            // Names that are refused are left to whatever reads the change.
            let changes = walk::compare(&odb, trees[0], *tree, &mut budget).unwrap_or_default();
            for entry in changes.iter().flat_map(|change| [&change.old, &change.new]).flatten() {
                check_blob(&odb, &entry.id)?;
            }
        }
        Ok(())
    }

    /// Returns whether any two of the commits conflict; true as well if there are too many to merge.
    fn have_conflicts(&self, commits: &[Oid]) -> Result<bool, git2::Error> {
        if commits.len() > MAX_MERGE_BASES {
            return Ok(true);
        }
        for (position, one) in commits.iter().enumerate() {
            for other in &commits[position + 1..] {
                let (one, other) = (self.objects().find_commit(*one)?, self.objects().find_commit(*other)?);
                let index = self.objects().merge_commits(&one, &other, Some(&MergeOptions::new()))?;
                if index.has_conflicts() {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Writes a commit for a merged tree. Its id follows from the tree and both parents.
    fn commit_of_merge(&self, tree: Oid, parents: [&Commit<'_>; 2]) -> Result<Oid, git2::Error> {
        let nobody = Signature::new("qa-skill", "qa-skill", &Time::new(0, 0))?;
        let tree = self.objects().find_tree(tree)?;
        self.objects().commit(None, &nobody, &nobody, "merge of head into the base", &tree, &parents)
    }
}

/// Checks the size of a blob, where it is here: a merge needs few of those that differ.
fn check_blob(odb: &Odb<'_>, id: &BlobId) -> Result<(), GitError> {
    let id = Oid::from_str(id.as_str()).map_err(|error| GitError::object(id, &error))?;
    match bounded::read_header(odb, id) {
        Err(error @ GitError::ObjectTooLarge { .. }) => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn merged(commit: Oid, tree: Oid) -> Result<Merge, GitError> {
    Ok(Merge::Tree { commit: commit_id(commit)?, tree: tree_id(tree)? })
}

fn tree_id(tree: Oid) -> Result<TreeId, GitError> {
    TreeId::parse(&tree.to_string()).map_err(|error| GitError::Other(error.to_string()))
}

/// Returns whether the paths contain this one, one above it or one below it.
fn touches(paths: &BTreeSet<Vec<u8>>, path: &[u8]) -> bool {
    let mut above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
    let inside = [path, b"/"].concat();
    let is_below = matches!(paths.range(inside.clone()..).next(), Some(next) if next.starts_with(&inside));
    is_below || paths.contains(path) || above.any(|directory| paths.contains(directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_touched_by_itself_and_by_what_is_above_or_below_it() {
        let paths: BTreeSet<Vec<u8>> = ["a/b", "c", "d-e", "d0"].map(|path| path.as_bytes().to_vec()).into();
        for (path, expected) in [
            ("a/b", true),
            ("a", true),
            ("a/b/c", true),
            ("c/d/e", true),
            ("a/bc", false),
            ("a/a", false),
            ("d", false),
            ("cc", false),
        ] {
            assert_eq!(touches(&paths, path.as_bytes()), expected, "{path}");
        }
    }
}
