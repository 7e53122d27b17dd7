//! Bundles, which carry a commit on top of one that the receiver has, and what such a commit changes.

use std::io::Write;

use git2::{Oid, Signature};

use super::base::{commit_id, oid};
use super::bounded;
use super::error::{GitError, reason};
use super::open::OpenRepository;
use super::uncommitted::unwritten;
use super::walk::{self, Budget};
use qa_contracts::ids::{CommitId, RepoPath};

/// Maximum number of entries of two trees that are compared.
const MAX_COMPARED_ENTRIES: u64 = 2_000_000;
/// First line of a bundle.
const SIGNATURE: &str = "# v2 git bundle\n";
/// Name and address of the author of a drive's commits.
const AUTHOR: &str = "qa-skill";
/// Name of the commit in a bundle.
const REF: &str = "refs/heads/qa-skill-drive";

impl OpenRepository {
    /// Returns whether a commit is the one that a drive makes of its tree on top of `parent`: nobody else's author, message or time.
    pub(crate) fn is_commit_of_drive(&self, commit: &CommitId, parent: &CommitId) -> Result<bool, GitError> {
        let tree = bounded::find_commit(self.objects(), oid(commit)?)?.tree_id();
        Ok(self.commit_on(tree, parent)? == *commit)
    }

    /// Returns whether a commit is one that a drive made.
    pub(crate) fn is_of_drive(&self, commit: &CommitId) -> Result<bool, GitError> {
        let commit = bounded::find_commit(self.objects(), oid(commit)?)?;
        Ok(commit.committer().email_bytes() == AUTHOR.as_bytes())
    }

    /// Writes a tree as the commit of a drive, whose only parent is `parent`. Its id follows from both.
    pub(super) fn commit_on(&self, tree: Oid, parent: &CommitId) -> Result<CommitId, GitError> {
        let handle = self.objects();
        let parent = bounded::find_commit(handle, oid(parent)?)?;
        let time = git2::Time::new(parent.committer().when().seconds(), 0);
        let written = Signature::new(AUTHOR, AUTHOR, &time).and_then(|nobody| {
            let tree = handle.find_tree(tree)?;
            handle.commit(None, &nobody, &nobody, "Changes of a drive", &tree, &[&parent])
        });
        commit_id(written.map_err(|error| unwritten(&error))?)
    }

    /// Returns the paths in which the trees of two commits differ, sorted. Trees of a bundle may be hostile, so the walk is bounded.
    pub(crate) fn differing_paths(&self, old: &CommitId, new: &CommitId) -> Result<Vec<RepoPath>, GitError> {
        let handle = self.objects();
        let old = bounded::find_commit(handle, oid(old)?)?.tree_id();
        let new = bounded::find_commit(handle, oid(new)?)?.tree_id();
        let mut budget = Budget { entries_left: MAX_COMPARED_ENTRIES, trees_walked: 0, bytes: 0 };
        let changes = walk::compare(&bounded::objects_of(handle)?, old, new, &mut budget)?;
        Ok(changes.into_iter().map(|change| change.path).collect())
    }

    /// Returns the difference of two commits as a patch that `git apply` takes.
    pub(crate) fn patch(&self, old: &CommitId, new: &CommitId) -> Result<Vec<u8>, GitError> {
        let handle = self.objects();
        let [old, new] = [oid(old)?, oid(new)?]
            .map(|id| bounded::find_commit(handle, id)?.tree().map_err(|error| GitError::object(id, &error)));
        let mut options = git2::DiffOptions::new();
        options.show_binary(true).id_abbrev(40);
        let diff = handle.diff_tree_to_tree(Some(&old?), Some(&new?), Some(&mut options));
        let mut text = Vec::new();
        let printed = diff.and_then(|diff| {
            diff.print(git2::DiffFormat::Patch, |_, _, line| {
                if matches!(line.origin(), '+' | '-' | ' ') {
                    text.push(line.origin() as u8);
                }
                text.extend_from_slice(line.content());
                true
            })
        });
        printed.map_err(|error| GitError::Other(reason(&error)))?;
        Ok(text)
    }

    /// Returns a bundle with a commit whose parent the receiver has: `git fetch FILE` takes it.
    pub(crate) fn bundle(&self, commit: &CommitId, parent: &CommitId) -> Result<Vec<u8>, GitError> {
        let mut bundle = format!("{SIGNATURE}-{parent} \n{commit} {REF}\n\n").into_bytes();
        bundle.extend_from_slice(&self.pack(commit, parent)?);
        Ok(bundle)
    }

    /// Returns a pack with the objects of a commit that its parent's history does not have.
    pub(crate) fn pack(&self, commit: &CommitId, parent: &CommitId) -> Result<Vec<u8>, GitError> {
        let handle = self.objects();
        let mut pack = git2::Buf::new();
        let packed = handle.revwalk().and_then(|mut walk| {
            walk.push(Oid::from_str(commit.as_str())?)?;
            walk.hide(Oid::from_str(parent.as_str())?)?;
            let mut builder = handle.packbuilder()?;
            builder.insert_walk(&mut walk)?;
            builder.write_buf(&mut pack)
        });
        packed.map_err(|error| unwritten(&error))?;
        Ok(pack.to_vec())
    }

    /// Takes the commit of a bundle into the store. Fails unless it is the expected one.
    pub(crate) fn take_bundle(&self, bundle: &[u8], expected: &CommitId) -> Result<(), GitError> {
        let end = bundle.windows(2).position(|two| two == b"\n\n").map(|end| end + 2);
        let pack = end.filter(|_| bundle.starts_with(SIGNATURE.as_bytes())).map(|end| &bundle[end..]);
        let pack = pack.ok_or_else(|| GitError::Other("the bundle has no header".to_owned()))?;
        let odb = self.objects().odb().map_err(|error| unwritten(&error))?;
        let written = odb.packwriter().and_then(|mut writer| {
            writer.write_all(pack).map_err(|error| git2::Error::from_str(&error.to_string()))?;
            writer.commit()
        });
        written.map_err(|error| unwritten(&error))?;
        bounded::find_commit(self.objects(), oid(expected)?).map(drop)
    }
}
