//! Keeps plans within the limits, in an order that does not depend on anything but the change (S003-40, 134).

use crate::policy::Limits;
use qa_contracts::v1::{ChangedFile, OmissionReason, OmittedHunk};

/// What the run as a whole cannot take.
pub(crate) struct HardBounds {
    /// All files, most changed first.
    ranked: Vec<usize>,
    /// How many of them are within the file limit.
    files: usize,
    /// For each file, how many of its hunks are within the hunk limit.
    hunks: Vec<usize>,
}

fn changed_lines(file: &ChangedFile) -> u64 {
    file.hunks.iter().map(|hunk| hunk.old_lines + hunk.new_lines).sum()
}

impl HardBounds {
    pub(crate) fn new(files: &[ChangedFile], limits: &Limits) -> Self {
        let mut keyed: Vec<(u64, usize, usize)> = files
            .iter()
            .enumerate()
            .map(|(index, file)| (changed_lines(file), file.hunks.len(), index))
            .collect();
        keyed.sort_by(|left, right| {
            right
                .0
                .cmp(&left.0)
                .then(right.1.cmp(&left.1))
                .then_with(|| files[left.2].path.cmp(&files[right.2].path))
        });
        let ranked: Vec<usize> = keyed.into_iter().map(|(_, _, index)| index).collect();
        let limit = usize::try_from(limits.max_files).unwrap_or(usize::MAX);
        let mut left = limits.max_hunks;
        let mut hunks = vec![0; files.len()];
        for &index in ranked.iter().take(limit) {
            let taken = left.min(files[index].hunks.len() as u64);
            left -= taken;
            hunks[index] = usize::try_from(taken).unwrap_or(usize::MAX);
        }
        Self { files: limit.min(ranked.len()), ranked, hunks }
    }
}

pub(super) struct Bounded {
    /// Positions of files with something left to look at, ascending.
    pub(super) files: Vec<usize>,
    pub(super) omitted: Vec<OmittedHunk>,
}

/// Takes whole files in rank order while they fit; of a file that does not fit, the hunks that do. A file may be both
/// taken and listed as omitted; after a hunk that is too large, smaller ones are still tried.
pub(super) fn apply(
    files: &[ChangedFile],
    selected: &[usize],
    hard: &HardBounds,
    limits: &Limits,
) -> Bounded {
    let mut is_selected = vec![false; files.len()];
    selected.iter().for_each(|&index| is_selected[index] = true);
    let mut bounded = Bounded { files: Vec::new(), omitted: Vec::new() };
    let (mut file_count, mut hunk_count, mut line_count) = (0, 0, 0);
    for (rank, &index) in hard.ranked.iter().enumerate().filter(|(_, index)| is_selected[**index]) {
        let file = &files[index];
        let whole_file = |reason| OmittedHunk { file: file.path.clone(), hunk_ordinal: None, reason };
        if rank >= hard.files {
            bounded.omitted.push(whole_file(OmissionReason::HardFileLimit));
            continue;
        }
        if file_count >= limits.context_max_files {
            bounded.omitted.push(whole_file(OmissionReason::FileLimit));
            continue;
        }
        let mut taken = 0;
        for (position, hunk) in file.hunks.iter().enumerate() {
            let lines = hunk.old_lines + hunk.new_lines;
            let reason = if position >= hard.hunks[index] {
                Some(OmissionReason::HardHunkLimit)
            } else if hunk_count >= limits.context_max_hunks {
                Some(OmissionReason::HunkLimit)
            } else if line_count + lines > limits.context_max_changed_lines {
                Some(OmissionReason::LineLimit)
            } else {
                None
            };
            match reason {
                Some(reason) => bounded.omitted.push(OmittedHunk {
                    file: file.path.clone(),
                    hunk_ordinal: Some(hunk.ordinal),
                    reason,
                }),
                None => {
                    taken += 1;
                    hunk_count += 1;
                    line_count += lines;
                }
            }
        }
        if taken > 0 || file.hunks.is_empty() {
            file_count += 1;
            bounded.files.push(index);
        }
    }
    bounded.files.sort_unstable();
    bounded
}
