//! Interfaces of the outside world for the scheduler, as traits; adapters implement them, replays substitute
//! recordings.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use super::control::Journal;
use qa_contracts::codes::Code;
use qa_contracts::ids::{BlobId, CommitId, RepoPath};

/// Error of a port.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PortError {
    pub code: Code,
    pub message: String,
    pub hint: &'static str,
}

/// Side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeEntry {
    /// Octal, six digits.
    pub mode: &'static str,
    pub id: BlobId,
}

/// A path that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Path with secrets masked.
    pub path: RepoPath,
    /// True if the path has secrets.
    pub secret: bool,
    pub old: Option<TreeEntry>,
    pub new: Option<TreeEntry>,
}

/// Result of reading a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobRead {
    Content(Vec<u8>),
    /// Not read: it has this many bytes.
    /// Its size and its first bytes, which tell text from what is opaque.
    TooLarge {
        size: u64,
        start: Vec<u8>,
    },
}

/// Statistics of object reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ObjectCounters {
    pub objects_read: u64,
    pub bytes_inflated: u64,
    pub trees_walked: u64,
}

/// Number of files that [`Objects::files_at`] lists at most; a tree that has as many may have more.
pub const MAX_LISTED_FILES: usize = 50_000;

/// Git objects. `compare` sorts by path bytes and refuses paths that could leave the tree. Secrets in names are masked in
/// all answers, and names are understood in masked form.
pub trait Objects: Sync {
    /// Returns the paths that differ between two commits.
    fn compare(&self, old: &CommitId, new: &CommitId, max_entries: u64)
    -> Result<Vec<TreeChange>, PortError>;
    /// Returns the blob of a regular file in a commit.
    fn file_at(&self, commit: &CommitId, path: &str) -> Result<Option<BlobId>, PortError>;
    /// Returns whether a commit determines the content of a path: it has the path, or something that is no directory on
    /// the way there, such as a link or a submodule.
    fn is_tracked_at(&self, commit: &CommitId, path: &str) -> Result<bool, PortError>;
    /// Returns the regular files of one directory of a commit by name; the root is the empty path.
    fn files_in(&self, commit: &CommitId, directory: &str) -> Result<Vec<(String, BlobId)>, PortError>;
    /// Names the regular files of a commit, bounded, in a fixed order.
    fn files_at(&self, commit: &CommitId, each: &mut dyn FnMut(RepoPath, BlobId)) -> Result<(), PortError>;
    /// Returns a reader for one thread.
    fn reader(&self) -> Result<Box<dyn ObjectReader + '_>, PortError>;
    /// Returns the statistics of reads so far.
    fn counters(&self) -> ObjectCounters;
}

/// Reads blobs for one thread.
pub trait ObjectReader {
    /// Reads the content, unless it is larger than `max_bytes`.
    fn blob(&self, id: &BlobId, max_bytes: u64) -> Result<BlobRead, PortError>;
}

/// Receives the progress of a long step; called from any thread.
pub trait Progress: Sync {
    /// `done` of `total` files are through `step`.
    fn step(&self, step: &'static str, done: usize, total: usize);
}

/// Reason to end a run early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// A signal asked for it.
    Cancelled,
    /// Its deadline passed.
    DeadlinePassed,
    /// A run that began later judges the same head.
    Superseded,
}

impl Ending {
    fn code(self) -> Code {
        match self {
            Self::Cancelled => Code::Cancelled,
            Self::DeadlinePassed => Code::RunDeadlineExceeded,
            Self::Superseded => Code::RunSuperseded,
        }
    }

    /// The failure of whatever was going on.
    pub fn error(self) -> PortError {
        let message = match self {
            Self::Cancelled => "the run was cancelled",
            Self::DeadlinePassed => "the run did not end within its deadline",
            Self::Superseded => "a run that began later judges the same commit",
        };
        PortError { code: self.code(), message: message.to_owned(), hint: self.code().hint() }
    }
}

/// End of a run's time that is reserved: a part of its deadline, up to a limit.
#[derive(Clone, Copy)]
struct Reserve {
    /// Divisor of the deadline.
    part: u32,
    limit: Duration,
}

/// Reserved for required plans, and for what follows them.
const FOR_REQUIRED: Reserve = Reserve { part: 5, limit: Duration::from_secs(120) };
/// Reserved for the verdict and its publication.
const FOR_VERDICT: Reserve = Reserve { part: 10, limit: Duration::from_secs(30) };

/// Set when the run should end; workers look between files. Whoever ends the process of a run that does not answer
/// (the watchdog of the process) finds here how long the run may take and how its check run is closed.
pub struct Cancellation {
    /// The first reason wins.
    ending: OnceLock<Ending>,
    started: Instant,
    /// Milliseconds from there to the start of the run that goes on, where a process has several.
    run_ms: AtomicU64,
    /// Milliseconds from the start of the run; 0 for no deadline.
    deadline_ms: AtomicU64,
    close_step: Mutex<CloseStep>,
    /// Phase of the run, and the waits of its requests.
    pub journal: Journal,
}

/// Reason why a run has no verdict, for its check run.
#[derive(Debug, Clone, Copy)]
pub struct NoVerdict<'a> {
    pub code: Code,
    pub message: &'a str,
    pub hint: &'a str,
}

/// Closes a check run that will get no verdict.
pub type Close = Box<dyn FnOnce(NoVerdict<'_>) + Send>;

/// Step that closes a check run when the run ends early; runs at most once.
#[derive(Default)]
pub enum CloseStep {
    /// Nothing waits for a verdict.
    #[default]
    None,
    Pending(Close),
    /// Under way or done.
    Taken,
}

impl Default for Cancellation {
    fn default() -> Self {
        Self {
            ending: OnceLock::new(),
            started: Instant::now(),
            run_ms: AtomicU64::default(),
            deadline_ms: AtomicU64::default(),
            close_step: Mutex::default(),
            journal: Journal::default(),
        }
    }
}

impl Cancellation {
    /// Ends the run; returns false if it was ending already.
    pub fn end(&self, ending: Ending) -> bool {
        self.ending.set(ending).is_ok()
    }

    pub fn check(&self) -> Result<(), PortError> {
        match self.ending() {
            Some(ending) => Err(ending.error()),
            None => Ok(()),
        }
    }

    /// Returns the reason why the run is ending, or `None` while it goes on.
    pub fn ending(&self) -> Option<Ending> {
        self.ending.get().copied()
    }

    /// Sets how long the run may take from its start, or that nothing bounds it any more.
    pub fn set_deadline(&self, deadline: Option<Duration>) {
        let milliseconds = deadline.map_or(0, |deadline| deadline.as_millis().max(1));
        self.deadline_ms.store(u64::try_from(milliseconds).unwrap_or(u64::MAX), Ordering::SeqCst);
    }

    /// Returns the time limit of the run, from its start.
    pub fn deadline(&self) -> Option<Duration> {
        let milliseconds = self.deadline_ms.load(Ordering::SeqCst);
        (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
    }

    /// Returns the time since the start of the run.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(Duration::from_millis(self.run_ms.load(Ordering::SeqCst)))
    }

    /// Begins another run in the same process: its time is counted from now, and no deadline is set.
    pub fn begin_run(&self) {
        self.set_deadline(None);
        let passed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.run_ms.store(passed, Ordering::SeqCst);
    }

    /// Returns the time in which commands and model requests have to end, so that what is known can still be judged and
    /// published. `None` without a deadline.
    pub fn time_for_plans(&self) -> Option<Duration> {
        self.time_before(FOR_VERDICT)
    }

    /// Returns whether a command or a model request may begin. Near the deadline only that of a required plan may.
    pub fn has_time_for(&self, required: bool) -> bool {
        let reserve = if required { FOR_VERDICT } else { FOR_REQUIRED };
        self.time_before(reserve).is_none_or(|left| !left.is_zero())
    }

    /// Returns the time until a reserve begins. `None` without a deadline.
    fn time_before(&self, reserve: Reserve) -> Option<Duration> {
        let deadline = self.deadline()?;
        let reserved = (deadline / reserve.part).min(reserve.limit);
        Some((deadline - reserved).saturating_sub(self.elapsed()))
    }

    /// Sets the step that runs when there will be no verdict; `None` when nothing waits for one any more.
    pub fn set_close_step(&self, close: Option<Close>) {
        let close_step = match close {
            Some(close) => CloseStep::Pending(close),
            None => CloseStep::None,
        };
        *self.close_step.lock().unwrap_or_else(PoisonError::into_inner) = close_step;
    }

    /// Takes the step; whoever gets it pending has to run it.
    pub fn take_close_step(&self) -> CloseStep {
        let mut close_step = self.close_step.lock().unwrap_or_else(PoisonError::into_inner);
        match &*close_step {
            CloseStep::None => CloseStep::None,
            CloseStep::Pending(_) | CloseStep::Taken => std::mem::replace(&mut close_step, CloseStep::Taken),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_reserved_for_required_plans_and_for_the_verdict() {
        let cancellation = Cancellation::default();
        assert_eq!((cancellation.time_for_plans(), cancellation.has_time_for(false)), (None, true));
        for (deadline, for_plans) in [(100, 90), (100_000, 99_970)] {
            cancellation.set_deadline(Some(Duration::from_secs(deadline)));
            let left = cancellation.time_for_plans().unwrap();
            assert!((left + cancellation.elapsed()).as_secs() >= for_plans && left.as_secs() <= for_plans);
        }
        cancellation.set_deadline(Some(Duration::from_millis(1)));
        while cancellation.elapsed() < Duration::from_millis(1) {}
        assert_eq!(cancellation.time_for_plans(), Some(Duration::ZERO));
        assert_eq!((cancellation.has_time_for(true), cancellation.has_time_for(false)), (false, false));
    }
}
