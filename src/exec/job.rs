//! Messages between the program and the supervisor, as JSON over one socket.

use std::io::{self, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Hidden first argument that makes this binary a supervisor. It grants no rights.
pub(super) const KEEPER: &str = "keep-a-command";
/// Size limit of a job.
const MAX_JOB_BYTES: u32 = 4 << 20;

/// Job of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Job {
    pub(super) purpose: Purpose,
    /// User to become; `None` keeps the current one.
    pub(super) user: Option<u32>,
    pub(super) network: bool,
    /// Directories to read and write below.
    pub(super) writable: Vec<PathBuf>,
    /// Files and directories to read and run.
    pub(super) readable: Vec<PathBuf>,
    /// Requires shared memory of its own, as the self-test found it.
    pub(super) own_shared_memory: bool,
    /// Size limit of its own shared memory in bytes; `None` for the kernel's default.
    pub(super) memory_bytes: Option<u64>,
    pub(super) processes: u64,
    pub(super) open_files: u64,
    pub(super) file_bytes: u64,
    pub(super) cpu_seconds: u64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Purpose {
    Command {
        argv: Vec<String>,
        directory: PathBuf,
        /// File that is its standard input.
        input: Option<PathBuf>,
        /// The whole environment.
        environment: Vec<(String, String)>,
    },
    /// Probe the sandbox instead of running a command.
    Probe {
        /// Directory outside the sandbox, readable and writable for everybody, with the file `bait`.
        outside: PathBuf,
        /// Process id of the program.
        program: i32,
        /// The device of the program's shared memory.
        shared_memory: Option<u64>,
    },
}

/// Reports of the supervisor, in order.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// A layer is missing; no command was started.
    Refused { layer: String, reason: String },
    /// The order is invalid; no command was started.
    Unusable { reason: String },
    /// All layers are applied; the command is executed next.
    Fenced { landlock_abi: u32 },
    /// The command could not be executed.
    NotStarted { reason: String },
    /// Results of the probes.
    Probed(Vec<Probed>),
    /// The command ended, and all of its processes unless there are survivors.
    Ended { code: Option<i32>, signal: Option<i32>, left_behind: bool, survivors: bool },
}

/// Result of one probe: true if its attempt succeeded.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Probed {
    pub(super) name: String,
    pub(super) succeeded: bool,
}

pub(super) fn send_job(to: &mut impl Write, job: &Job) -> io::Result<()> {
    let bytes = serde_json::to_vec(job)?;
    let length = u32::try_from(bytes.len()).ok().filter(|length| *length <= MAX_JOB_BYTES);
    let length = length.ok_or_else(|| io::Error::other("the order is too long"))?;
    to.write_all(&length.to_be_bytes())?;
    to.write_all(&bytes)
}

pub(super) fn receive_job(from: &mut impl Read) -> io::Result<Job> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length);
    if length > MAX_JOB_BYTES {
        return Err(io::Error::other("the order is too long"));
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// Writes a report as one line, in one write, so that lines of two processes do not mix.
pub(super) fn send_report(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    to.write_all(&line)
}

pub(super) fn read_reports(text: &[u8]) -> io::Result<Vec<Report>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| Ok(serde_json::from_slice(line)?)).collect()
}
