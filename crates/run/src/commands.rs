//! The port through which commands run: what is ordered, what came of it, and what has to stand between them and
//! everything else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, Sha256Hex};

/// One command, as data.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The program, absolute or to be found in `PATH`, and its arguments. They are visible to every process of the
    /// machine, so never a secret.
    pub argv: &'a [String],
    /// Where it starts, relative to the worktree; empty for the worktree itself.
    pub cwd: &'a str,
    /// The only directory of the repository it sees. It may write there.
    pub worktree: &'a Path,
    /// A directory of the plan, outside the worktree: its home and temporary files are made in it, new for each
    /// order.
    pub private: &'a Path,
    /// Whether it may open internet sockets. Without, not even those of the machine itself.
    pub network: bool,
    /// Files and directories it may read and run, beside those of the system: toolchains.
    pub readable: &'a [PathBuf],
    /// Variables beside the fixed ones. Never a secret.
    pub environment: &'a [(String, String)],
    pub limits: CommandLimits,
}

/// What a command may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    pub wall: Duration,
    /// How much of standard output is kept; the command is stopped at [`OUTPUT_FACTOR`] times this.
    pub stdout_bytes: u64,
    /// As `stdout_bytes`, of standard error.
    pub stderr_bytes: u64,
    /// How much more than before may stand in the worktree and the private directory, deleted files that are open
    /// among it. Looked at every now and then, so a little more may be written.
    pub disk_bytes: u64,
    /// How much memory all its processes may have resident together, with files in memory that have no name, looked at
    /// every now and then.
    pub memory_bytes: Option<u64>,
    pub processes: u64,
    pub open_files: u64,
    /// The largest file it may write.
    pub file_bytes: u64,
}

/// Output beyond the part that is kept is counted and hashed until it is so many times as much.
pub const OUTPUT_FACTOR: u64 = 16;

impl Default for CommandLimits {
    fn default() -> Self {
        const MEBI: u64 = 1 << 20;
        Self {
            wall: Duration::from_secs(600),
            stdout_bytes: 16 * MEBI,
            stderr_bytes: 4 * MEBI,
            disk_bytes: 2048 * MEBI,
            memory_bytes: None,
            processes: 512,
            open_files: 4096,
            file_bytes: 1024 * MEBI,
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub exit: Exit,
    /// Why it was ended from outside; none when it ended by itself. Then `exit` says nothing about the command.
    pub stopped: Option<Stop>,
    pub stdout: Captured,
    pub stderr: Captured,
    /// Whether processes of the command were still there when it ended; they were killed.
    pub left_behind: bool,
}

/// How the command's first process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// What ended a command before it ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    TimedOut,
    Output,
    Disk,
    Memory,
    /// The run was cancelled.
    Cancelled,
}

impl Stop {
    /// The word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TimedOut => "timed-out",
            Self::Output => "output",
            Self::Disk => "disk",
            Self::Memory => "memory",
            Self::Cancelled => "cancelled",
        }
    }
}

/// One of a command's outputs. It is data of whoever wrote the command, and never printed as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// The beginning, as much as the limit lets be kept.
    pub kept: Vec<u8>,
    /// How many bytes there were, kept or not.
    pub bytes: u64,
    /// Of all bytes, kept or not.
    pub sha256: Sha256Hex,
}

impl Captured {
    /// Returns what was kept as text. Where it was cut, the last word is left out: no detector knows half of a secret.
    pub fn text(&self) -> String {
        let text = String::from_utf8_lossy(&self.kept);
        if self.kept.len() as u64 == self.bytes {
            return text.into_owned();
        }
        let end = text.rfind(|end: char| end.is_whitespace() || matches!(end, '"' | '\'' | '`'));
        text[..end.map_or(0, |end| end + 1)].to_owned()
    }
}

/// What stands between commands and the rest of the machine, as it was found to hold. For audits; never in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// The version of the kernel's Landlock interface that is used.
    pub landlock_abi: u32,
    pub identity: Identity,
    /// The `/dev/shm` of commands.
    pub shared_memory: SharedMemory,
    /// What this machine lets through that a better one would not.
    pub residuals: Vec<&'static str>,
}

/// The shared memory that commands have in `/dev/shm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedMemory {
    /// A file system of each command's own, as large as its memory.
    Own,
    /// That of the machine or container, unless it is larger than the memory a command may use.
    Machine,
    /// None.
    Nothing,
}

impl SharedMemory {
    /// The word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Machine => "machine",
            Self::Nothing => "none",
        }
    }
}

/// As whom commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A user id that nobody else has, for each worktree.
    Private,
    /// Our own, because only the superuser can take another: the weaker fence.
    Own,
}

impl Identity {
    /// The word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private-uid",
            Self::Own => "own-uid",
        }
    }
}

/// Why no command runs on this machine. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fence commands in, layer {layer}: {reason}")]
pub struct Refusal {
    pub layer: String,
    pub reason: String,
}

impl Refusal {
    /// The stable code.
    pub(crate) fn code(&self) -> Code {
        Code::ExecutionDenied
    }

    /// The way out.
    pub(crate) fn hint(&self) -> &'static str {
        "commands run only where Linux has Landlock (6.2 or newer) and seccomp, and root may change its user id; use such a machine, or import the reports of an earlier step"
    }
}

/// Why a command has no result. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// There is no fence, so nothing was started.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The order itself cannot be carried out; nothing was started.
    #[error("order a command: {0}")]
    Order(String),
    /// The program is not there or cannot be started.
    #[error("start {program}: {reason}")]
    NotStarted { program: String, reason: String },
    /// Something of the machine was missing or broke.
    #[error("run a command: {0}")]
    Broken(String),
    /// Processes outlived every attempt to end them, so nothing after them can be trusted.
    #[error("end a command: {0}")]
    Survivors(String),
}

impl SandboxError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Order(_) | Self::NotStarted { .. } | Self::Broken(_) | Self::Survivors(_) => {
                Code::ExecutionDenied
            }
        }
    }

    /// The way out.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::Order(_) => "correct the command in the policy on the base branch",
            Self::NotStarted { .. } => {
                "install the program where commands may read it: below /usr, or in a directory the policy declares readable"
            }
            Self::Broken(_) => "check that there is room for processes and files, then run again",
            Self::Survivors(_) => {
                "end the processes by hand, or take a fresh machine, and look at what the change runs"
            }
        }
    }
}

/// Runs commands inside a fence, or not at all. The scheduler calls it; an implementer must never start a command with
/// a layer missing, must return only when no process of the command is left, and must print nothing of its output.
pub trait Sandbox: Sync {
    /// Tries the fence from inside, once; later calls repeat the answer.
    fn self_test(&self) -> Result<Layers, Refusal>;

    /// Runs one command to its end.
    fn run(&self, order: &Order<'_>) -> Result<CommandOutcome, SandboxError>;
}

/// Makes places for commands: a tree of a commit with the policy's toolchains beside it, inside the fence.
pub trait CommandSandbox {
    /// What stands between commands and the machine; nothing is started where something of it is missing.
    fn layers(&self) -> Result<Layers, Refusal>;

    /// A new place with a commit's tree. It goes away with what is returned.
    fn open(&self, commit: &CommitId) -> Result<Box<dyn CommandWorkspace + '_>, SandboxError>;
}

/// A place for commands.
pub trait CommandWorkspace {
    /// Where the tree is.
    fn tree(&self) -> &Path;

    /// Where everything is that was made for the place, the tree among it.
    fn root(&self) -> &Path;

    /// A program outside of what the commit brings, by its plain name.
    fn find_program(&self, program: &str) -> Option<PathBuf>;

    /// Runs a command to its end.
    fn run(
        &self,
        argv: &[String],
        directory: &str,
        limits: &CommandLimits,
    ) -> Result<CommandOutcome, SandboxError>;

    /// A file that a command left in the tree, read without following links; `None` when there is none.
    fn read_output_file(&self, path: &str, max_bytes: u64) -> Result<Option<Captured>, SandboxError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::canonical::sha256;

    #[test]
    fn text_that_was_cut_ends_with_a_whole_word() {
        let text = |kept: &str, bytes: u64| {
            Captured { kept: kept.as_bytes().to_vec(), bytes, sha256: sha256(b"") }.text()
        };
        assert_eq!(text("one two", 7), "one two");
        assert_eq!(text("one two", 8), "one ");
        assert_eq!(text("one\ntwo\n", 9), "one\ntwo\n");
        assert_eq!(text("{\"key\":\"tok", 20), "{\"key\":\"");
        assert_eq!(text("half", 5), "");
        assert_eq!(text("", 5), "");
    }
}
