//! Tries the fence from inside, by doing what must not work. A layer counts when its probe fails to get through.

use std::fs::{self, File, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use nix::sys::{ptrace, signal::kill};
use nix::unistd::{Pid, Uid};

use super::job::Probed;
use crate::run::commands::Identity;

/// Where an attempt is made.
struct Place<'a> {
    outside: &'a Path,
    bait: PathBuf,
    inside: &'a [PathBuf],
    program: Pid,
}

/// What must not work, or must.
struct Expectation {
    name: &'static str,
    attempt: fn(&Place<'_>) -> bool,
    succeeds: bool,
    /// Whether a command that is our own user may break it; then it is a residual.
    only_private: bool,
}

const fn refused(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: false, only_private: false }
}

const fn refused_to_others(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: false, only_private: true }
}

const fn works(name: &'static str, attempt: fn(&Place<'_>) -> bool) -> Expectation {
    Expectation { name, attempt, succeeds: true, only_private: false }
}

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
    refused("become the superuser", |_| nix::unistd::setuid(Uid::from_raw(0)).is_ok()),
    refused("make a user namespace", |_| nix::sched::unshare(CloneFlags::CLONE_NEWUSER).is_ok()),
];

/// Every probe, from inside the fence.
pub(super) fn all(outside: &Path, inside: &[PathBuf], program: i32) -> Vec<Probed> {
    let place = Place { outside, bait: outside.join("bait"), inside, program: Pid::from_raw(program) };
    let probed = |expected: &Expectation| Probed {
        name: expected.name.to_owned(),
        succeeded: (expected.attempt)(&place),
    };
    EXPECTATIONS.iter().map(probed).collect()
}

/// What is let through although it need not hold here, or the first probe that came out as it must not.
pub(super) fn judge(found: &[Probed], identity: Identity) -> Result<Vec<&'static str>, String> {
    let mut residuals = Vec::new();
    for expected in EXPECTATIONS {
        let probed = found.iter().find(|probed| probed.name == expected.name);
        let probed = probed.ok_or_else(|| format!("nothing is known of: {}", expected.name))?;
        if probed.succeeded == expected.succeeds {
            continue;
        }
        if !expected.only_private || identity == Identity::Private {
            let verb = if probed.succeeded { "can" } else { "cannot" };
            return Err(format!("inside, one {verb}: {}", expected.name));
        }
        residuals.push(expected.name);
    }
    Ok(residuals)
}
