//! Probes the sandbox from inside, with operations that must fail. A layer is effective if its probe fails.

use std::fs::{self, File, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use nix::sys::{ptrace, signal::kill};
use nix::unistd::{Pid, Uid};

use super::job::Probed;
use super::shared_memory::SHARED_MEMORY;
use qa_run::commands::{Identity, SharedMemory};

/// Environment of an attempt.
struct Place<'a> {
    outside: &'a Path,
    bait: PathBuf,
    inside: &'a [PathBuf],
    program: Pid,
    /// The device of the program's shared memory.
    shared_memory: Option<u64>,
}

/// Attempt that must fail, or must succeed.
struct Expectation {
    name: &'static str,
    attempt: fn(&Place<'_>) -> bool,
    succeeds: bool,
    required: Required,
}

/// Machines on which a probe must have the expected result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Required {
    Everywhere,
    /// Machines where commands have their own users; elsewhere it is a residual.
    ForPrivateUsers,
    /// None: the result describes the machine.
    Nowhere,
}

const fn refused(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: false, required: Required::Everywhere }
}

const fn refused_to_others(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: false, required: Required::ForPrivateUsers }
}

const fn works(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: true, required: Required::Everywhere }
}

const fn informs(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: false, required: Required::Nowhere }
}

const USES_SHARED_MEMORY: &str = "use shared memory";
const REACHES_SHARED_MEMORY: &str = "reach the shared memory of the machine";

const EXPECTATIONS: &[Expectation] = &[
    works("write a file inside", |place| {
        place.inside.iter().all(|path| fs::write(path.join("probe"), "x").is_ok())
    }),
    works("make a pair of sockets", |_| UnixStream::pair().is_ok()),
    works("be kept from new privileges", |_| nix::sys::prctl::get_no_new_privs().unwrap_or(false)),
    refused("read a file outside", |place| File::open(&place.bait).is_ok()),
    refused("list a directory outside", |place| fs::read_dir(place.outside).is_ok()),
    refused("append to a file outside", |place| OpenOptions::new().append(true).open(&place.bait).is_ok()),
    refused("empty a file outside", |place| nix::unistd::truncate(&place.bait, 0).is_ok()),
    refused("make a file outside", |place| File::create_new(place.outside.join("made")).is_ok()),
    refused_to_others("change the mode of a file outside", |place| {
        fs::set_permissions(&place.bait, fs::Permissions::from_mode(0o666)).is_ok()
    }),
    refused("make an internet socket", |_| UdpSocket::bind("127.0.0.1:0").is_ok()),
    refused("make a socket of the machine", |_| UnixDatagram::unbound().is_ok()),
    refused_to_others("signal the program", |place| kill(place.program, None).is_ok()),
    refused("trace the program", |place| ptrace::seize(place.program, ptrace::Options::empty()).is_ok()),
    refused("read the program's environment", |place| {
        fs::read(format!("/proc/{}/environ", place.program)).is_ok()
    }),
    informs(USES_SHARED_MEMORY, |_| {
        let path = Path::new(SHARED_MEMORY).join(format!("qa-skill-probe-{}", std::process::id()));
        fs::write(&path, "x").is_ok() && fs::remove_file(&path).is_ok()
    }),
    informs(REACHES_SHARED_MEMORY, |place| {
        let device = fs::metadata(SHARED_MEMORY).map(|metadata| metadata.dev());
        device.ok() == place.shared_memory && fs::read_dir(SHARED_MEMORY).is_ok()
    }),
    refused("become the superuser", |_| nix::unistd::setuid(Uid::from_raw(0)).is_ok()),
    refused("make a user namespace", |_| nix::sched::unshare(CloneFlags::CLONE_NEWUSER).is_ok()),
];

/// Runs every probe, from inside the sandbox.
pub(super) fn run(
    outside: &Path,
    inside: &[PathBuf],
    program: i32,
    shared_memory: Option<u64>,
) -> Vec<Probed> {
    let bait = outside.join("bait");
    let place = Place { outside, bait, inside, program: Pid::from_raw(program), shared_memory };
    EXPECTATIONS
        .iter()
        .map(|expected| Probed { name: expected.name.to_owned(), succeeded: (expected.attempt)(&place) })
        .collect()
}

/// Returns the kind of shared memory, by the results of the probes.
pub(super) fn shared_memory(probed: &[Probed]) -> SharedMemory {
    match (succeeded(probed, USES_SHARED_MEMORY), succeeded(probed, REACHES_SHARED_MEMORY)) {
        (_, true) => SharedMemory::Machine,
        (true, false) => SharedMemory::Own,
        (false, false) => SharedMemory::Nothing,
    }
}

fn succeeded(probed: &[Probed], name: &str) -> bool {
    probed.iter().any(|probed| probed.name == name && probed.succeeded)
}

/// Returns the residual of shared memory that commands have in common.
pub(super) fn shared_memory_residual(shared_memory: SharedMemory) -> Option<&'static str> {
    match shared_memory {
        SharedMemory::Machine => Some("see what others open to everybody in /dev/shm"),
        SharedMemory::Own | SharedMemory::Nothing => None,
    }
}

/// Returns the residuals, or the first probe with a wrong result.
pub(super) fn judge(results: &[Probed], identity: Identity) -> Result<Vec<&'static str>, String> {
    let mut residuals = Vec::new();
    for expected in EXPECTATIONS {
        let probed = results.iter().find(|probed| probed.name == expected.name);
        let probed = probed.ok_or_else(|| format!("no result of the probe: {}", expected.name))?;
        if probed.succeeded == expected.succeeds || expected.required == Required::Nowhere {
            continue;
        }
        if expected.required == Required::Everywhere || identity == Identity::Private {
            let verb = if probed.succeeded { "can" } else { "cannot" };
            return Err(format!("a command {verb}: {}", expected.name));
        }
        residuals.push(expected.name);
    }
    Ok(residuals)
}
