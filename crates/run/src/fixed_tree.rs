//! A tree of files that are made up, for tests of what asks about a tree.

use super::ports::{BlobRead, ObjectCounters, ObjectReader, Objects, PortError, TreeChange};
use qa_contracts::ids::{BlobId, CommitId, RepoPath};

/// Files by path, each with the number that its blob is called by, and what there is to read by number and most bytes.
pub(crate) struct FixedTree<R> {
    pub(crate) files: Vec<(String, usize)>,
    pub(crate) read: R,
}

/// The blob of a number.
pub(crate) fn numbered(number: usize) -> BlobId {
    BlobId::parse(&format!("{number:040x}")).expect("forty digits")
}

impl<R: Fn(usize, u64) -> Result<BlobRead, PortError> + Sync> Objects for FixedTree<R> {
    fn compare(&self, _: &CommitId, _: &CommitId, _: u64) -> Result<Vec<TreeChange>, PortError> {
        Ok(Vec::new())
    }

    fn file_at(&self, _: &CommitId, _: &str) -> Result<Option<BlobId>, PortError> {
        Ok(None)
    }

    fn is_tracked_at(&self, _: &CommitId, _: &str) -> Result<bool, PortError> {
        Ok(false)
    }

    fn files_in(&self, _: &CommitId, _: &str) -> Result<Vec<(String, BlobId)>, PortError> {
        Ok(self.files.iter().map(|(path, number)| (path.clone(), numbered(*number))).collect())
    }

    fn files_at(&self, _: &CommitId, each: &mut dyn FnMut(RepoPath, BlobId)) -> Result<(), PortError> {
        for (path, number) in &self.files {
            each(RepoPath::from_bytes(path.as_bytes()).expect("a path"), numbered(*number));
        }
        Ok(())
    }

    fn reader(&self) -> Result<Box<dyn ObjectReader + '_>, PortError> {
        Ok(Box::new(Reading(&self.read)))
    }

    fn counters(&self) -> ObjectCounters {
        ObjectCounters::default()
    }
}

struct Reading<'a, R>(&'a R);

impl<R: Fn(usize, u64) -> Result<BlobRead, PortError>> ObjectReader for Reading<'_, R> {
    fn blob(&self, id: &BlobId, most: u64) -> Result<BlobRead, PortError> {
        self.0(usize::from_str_radix(id.as_str(), 16).expect("the number of a blob"), most)
    }
}
