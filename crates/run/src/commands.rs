//! Port through which commands run: orders, outcomes, and the sandbox between them and everything else.

use std::path::{Path, PathBuf};
use std::time::Duration;

use qa_contracts::codes::Code;
use qa_contracts::ids::{CommitId, Sha256Hex};

/// Command as data.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// Program, absolute or to be found in `PATH`, and its arguments. Every process of the machine can read them, so
    /// they never hold a secret.
    pub argv: &'a [String],
    /// Working directory, relative to the worktree; empty for the worktree itself.
    pub cwd: &'a str,
    /// The only directory of the repository that the command sees. It may write there.
    pub worktree: &'a Path,
    /// Directory of the plan, outside the worktree: the home and temporary directories of each command are created in
    /// it.
    pub private: &'a Path,
    /// True if the command may open internet sockets. Otherwise it may not reach even this machine's own.
    pub network: bool,
    /// Files and directories that the command may read and execute, beside those of the system: toolchains.
    pub readable: &'a [PathBuf],
    /// File that the command gets as its standard input; nothing where there is none.
    pub input: Option<&'a Path>,
    /// Environment variables beside the fixed ones. Never a secret, but for the key of an agent that the policy names.
    pub environment: &'a [(String, String)],
    pub limits: CommandLimits,
}

/// Resource limits of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandLimits {
    pub wall: Duration,
    /// Limit of the standard output that is kept, in bytes; the command is stopped at [`OUTPUT_FACTOR`] times this.
    pub stdout_bytes: u64,
    /// Limit of standard error, in bytes, as `stdout_bytes`.
    pub stderr_bytes: u64,
    /// Limit of additional disk space in the worktree and the private directory, in bytes, open deleted files included.
    /// It is polled, so a little more may be written.
    pub disk_bytes: u64,
    /// Limit of the resident memory of all its processes together, unnamed memory files included, in bytes. It is
    /// polled.
    pub memory_bytes: Option<u64>,
    pub processes: u64,
    pub open_files: u64,
    /// Size limit of a file that it writes, in bytes.
    pub file_bytes: u64,
}

/// Factor of the output limit at which a command is stopped; up to it, output is counted and hashed.
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

/// Outcome of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutcome {
    pub exit: Exit,
    /// Reason why it was stopped, or `None` if it ended by itself. If it was stopped, `exit` says nothing about the
    /// command.
    pub stopped: Option<Stop>,
    pub stdout: Captured,
    pub stderr: Captured,
    /// True if processes of the command were left when it ended; they were killed.
    pub left_behind: bool,
}

/// Exit of the command's first process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
}

/// Reason why a command was stopped.
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
    /// Returns the name in records.
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

/// Captured output of a command. Its author is the command's, so it is never printed unescaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Beginning of the output, up to the limit.
    pub kept: Vec<u8>,
    /// Number of bytes, kept or not.
    pub bytes: u64,
    /// Digest of all bytes, kept or not.
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

/// Layers of the sandbox that its self-test confirmed. For audits; never in a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// Version of the kernel's Landlock interface in use.
    pub landlock_abi: u32,
    pub identity: Identity,
    /// Kind of `/dev/shm` that commands have.
    pub shared_memory: SharedMemory,
    /// Weaknesses of this machine's sandbox that a better one would not have.
    pub residuals: Vec<&'static str>,
}

/// Shared memory of commands in `/dev/shm`.
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
    /// Returns the name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Machine => "machine",
            Self::Nothing => "none",
        }
    }
}

/// User id of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// A user id that nobody else has, for each worktree.
    Private,
    /// Our own, since only the superuser can take another: the weaker sandbox.
    Own,
}

impl Identity {
    /// Returns the name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private-uid",
            Self::Own => "own-uid",
        }
    }
}

/// Error of a machine that cannot sandbox commands. Completes "failed to …".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("fence commands in, layer {layer}: {reason}")]
pub struct Refusal {
    pub layer: String,
    pub reason: String,
}

impl Refusal {
    /// Returns the stable code.
    pub(crate) fn code(&self) -> Code {
        Code::ExecutionDenied
    }

    /// Returns the hint.
    pub(crate) fn hint(&self) -> &'static str {
        "commands run only where Linux has Landlock (6.2 or newer) and seccomp, and root may change its user id; use such a machine, or import the reports of an earlier step"
    }
}

/// Error of a command without a result. Completes "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The sandbox is incomplete, so nothing was started.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The order is invalid; nothing was started.
    #[error("order a command: {0}")]
    Order(String),
    /// The program is not there or cannot be started.
    #[error("start {program}: {reason}")]
    NotStarted { program: String, reason: String },
    /// A resource of the machine is missing or failed.
    #[error("run a command: {0}")]
    Broken(String),
    /// Processes could not be ended, so no later command can be trusted.
    #[error("end a command: {0}")]
    Survivors(String),
}

impl SandboxError {
    /// Returns the stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Order(_) | Self::NotStarted { .. } | Self::Broken(_) | Self::Survivors(_) => {
                Code::ExecutionDenied
            }
        }
    }

    /// Returns the hint.
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

/// Runs commands in a sandbox, or not at all. The scheduler calls it; an implementer must never start a command with a
/// layer missing, must return only when no process of the command is left, and must print nothing of its output.
pub trait Sandbox: Sync {
    /// Tests the sandbox from inside, once; later calls return the same result.
    fn self_test(&self) -> Result<Layers, Refusal>;

    /// Runs one command to its end.
    fn run(&self, order: &Order<'_>) -> Result<CommandOutcome, SandboxError>;
}

/// Creates workspaces for commands: the tree of a commit with the policy's toolchains, inside the sandbox.
pub trait CommandSandbox {
    /// Returns the layers of the sandbox. No command is started if one is missing.
    fn layers(&self) -> Result<Layers, Refusal>;

    /// Creates a workspace with a commit's tree. It is removed when the returned value is dropped.
    fn open(&self, commit: &CommitId) -> Result<Box<dyn CommandWorkspace + '_>, SandboxError>;
}

/// Workspace of commands.
pub trait CommandWorkspace {
    /// Returns the path of the tree.
    fn tree(&self) -> &Path;

    /// Returns the path of the directory that holds everything created for the workspace.
    fn root(&self) -> &Path;

    /// Finds a program by its plain name, outside the commit's files. Fails if commands may not execute it.
    fn find_program(&self, program: &str) -> Result<PathBuf, SandboxError>;

    /// Runs a command to its end.
    fn run(
        &self,
        argv: &[String],
        directory: &str,
        limits: &CommandLimits,
    ) -> Result<CommandOutcome, SandboxError>;

    /// Returns the paths of the regular files in a directory of the tree and below it, links left alone.
    fn list_files(&self, directory: &str) -> Result<Vec<String>, SandboxError>;

    /// Reads a file that a command left in the tree, without following links; `None` if there is none.
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
