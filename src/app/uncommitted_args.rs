//! Options that name content without a commit as the head.

use clap::Args;

use crate::git::Uncommitted;

/// Options that name another head, or need a stored run or a model.
const CONFLICTS: [&str; 10] = [
    "head",
    "input",
    "out",
    "verify_drift",
    "refresh",
    "since",
    "replies",
    "pull_request",
    "no_model",
    "shard",
];

/// Options of a run.
#[derive(Args)]
pub(super) struct JudgedContentArgs {
    /// Judge what is staged, as if it were committed
    ///
    /// The base is HEAD unless --base names another. Nothing is stored, and no model is asked.
    #[arg(long, conflicts_with_all = CONFLICTS)]
    staged: bool,
    /// Judge the files of the working tree, untracked ones too
    ///
    /// They are judged as if they were committed; the base is HEAD unless --base names another. Nothing is stored, no model
    /// is asked, and no filter of git that is a program is run.
    #[arg(long, conflicts_with_all = CONFLICTS, conflicts_with = "staged")]
    worktree: bool,
}

impl JudgedContentArgs {
    pub(super) fn uncommitted(&self) -> Option<Uncommitted> {
        content(self.staged, self.worktree)
    }
}

/// Options of a list of plans.
#[derive(Args)]
pub(super) struct PlannedContentArgs {
    /// List the plans of `run --staged`
    #[arg(long, conflicts_with_all = ["head", "shards"])]
    staged: bool,
    /// List the plans of `run --worktree`
    #[arg(long, conflicts_with_all = ["head", "shards", "staged"])]
    worktree: bool,
}

impl PlannedContentArgs {
    pub(super) fn uncommitted(&self) -> Option<Uncommitted> {
        content(self.staged, self.worktree)
    }
}

fn content(staged: bool, worktree: bool) -> Option<Uncommitted> {
    match (staged, worktree) {
        (true, _) => Some(Uncommitted::Staged),
        (false, true) => Some(Uncommitted::Worktree),
        (false, false) => None,
    }
}
