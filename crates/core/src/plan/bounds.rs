//! Keeps plans within the limits, in an order that does not depend on anything but the change (S003-40, 134).

use std::cmp::Reverse;

use crate::policy::Limits;
use qa_contracts::v1::{ChangedFile, OmissionReason, OmittedHunk};

/// Part of the change that is within the limits of the whole run.
pub(crate) struct HardBounds {
    /// All files, most changed first.
    ranked: Vec<usize>,
    /// Number of ranked files within the file limit.
    files: usize,
    /// Number of hunks within the hunk limit, for each file.
    hunks: Vec<usize>,
}

fn changed_lines(file: &ChangedFile) -> u64 {
    file.hunks.iter().map(|hunk| hunk.old_lines + hunk.new_lines).sum()
}

impl HardBounds {
    pub(crate) fn new(files: &[ChangedFile], limits: &Limits) -> Self {
        let mut ranked: Vec<usize> = (0..files.len()).collect();
        ranked.sort_by_cached_key(|&index| {
            let file = &files[index];
            (Reverse(changed_lines(file)), Reverse(file.hunks.len()), file.path.clone())
        });
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
    /// Positions of files within the limits, at least in part, ascending.
    pub(super) files: Vec<usize>,
    pub(super) omitted: Vec<OmittedHunk>,
}

/// Takes whole files in rank order while they fit; of a file that does not fit, the hunks that do. A file may be both
/// included and listed as omitted; after a hunk that is too large, smaller ones are still tried.
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
        let omission = if rank >= hard.files {
            Some(OmissionReason::HardFileLimit)
        } else if file_count >= limits.context_max_files {
            Some(OmissionReason::FileLimit)
        } else {
            None
        };
        if let Some(reason) = omission {
            bounded.omitted.push(OmittedHunk { file: file.path.clone(), hunk_ordinal: None, reason });
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
