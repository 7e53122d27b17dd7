//! Tells whether the change since the merge base shows everything that a merge of head into the base brings.

use super::gather::Gathering;
use super::ports::{ObjectReader, PortError};
use qa_contracts::ids::{CommitId, TreeId};
use qa_contracts::v1::{ChangedFile, Side};
use qa_core::classify;
use qa_core::diff::{Content, FileDiff, diff_file};

/// Result of merging head into the base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merge {
    /// The change since the merge base, path by path: the base has no commit of its own, or touches no common path.
    Change,
    /// A tree, and a commit that holds it. The commit may exist in the run's own store alone.
    Tree { commit: CommitId, tree: TreeId },
    /// Conflicts, between base and head or between their merge bases.
    Conflict,
}

impl Gathering<'_> {
    /// Returns whether a change shows everything that lands. Each file that lands has to be one of its files, between the
    /// same objects or with no line added or removed that the change does not add or remove there as well.
    pub(super) fn shows(&self, change: &[ChangedFile], lands: &[ChangedFile]) -> Result<bool, PortError> {
        let reader = self.objects.reader()?;
        for file in lands {
            let Ok(position) = change.binary_search_by(|shown| shown.path.cmp(&file.path)) else {
                return Ok(false);
            };
            let shown = &change[position];
            if shown != file && !self.shows_lines(reader.as_ref(), shown, file)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn shows_lines(
        &self,
        reader: &dyn ObjectReader,
        shown: &ChangedFile,
        lands: &ChangedFile,
    ) -> Result<bool, PortError> {
        let has_same_frame = shown.old_path == lands.old_path
            && shown.old_mode == lands.old_mode
            && shown.new_mode == lands.new_mode;
        if !has_same_frame || !has_lines(lands) {
            return Ok(false);
        }
        let (Some(shown), Some(lands)) = (self.line_diff(reader, shown)?, self.line_diff(reader, lands)?)
        else {
            return Ok(false);
        };
        Ok(lands.is_within(&shown))
    }

    /// Returns the line diff of a file; `None` where a version is not text or too large.
    fn line_diff(
        &self,
        reader: &dyn ObjectReader,
        file: &ChangedFile,
    ) -> Result<Option<FileDiff>, PortError> {
        let old = self.version(reader, file.old_mode.as_deref(), file.old_blob.as_ref())?;
        let new = self.version(reader, file.new_mode.as_deref(), file.new_blob.as_ref())?;
        if old.is_too_large() || new.is_too_large() {
            return Ok(None);
        }
        let old = old.content(classify::runs_as_at(file, Side::Base));
        let new = new.content(classify::runs_as_at(file, Side::Head));
        let (Content::Text(old), Content::Text(new)) = (old, new) else { return Ok(None) };
        Ok(Some(diff_file(&old, &new, self.policy.limits.max_line_diff_bytes)))
    }
}

/// Returns whether both versions are absent or regular files: links and submodules are compared by their objects alone.
fn has_lines(file: &ChangedFile) -> bool {
    [&file.old_mode, &file.new_mode].into_iter().flatten().all(|mode| mode == "100644" || mode == "100755")
}
