//! Tries the fence from inside, by doing what must not work. A layer counts when its probe fails to get through.

use std::fs::{self, File, OpenOptions};
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};

use nix::sched::CloneFlags;
use nix::sys::signal::kill;
use nix::unistd::{Pid, Uid};

use super::job::Probed;
use crate::run::commands::Identity;

/// What must not work, and what must.
struct Expectation {
    name: &'static str,
    succeeds: bool,
    /// Whether a command that is our own user may break it; then it is a residual.
    only_private: bool,
}

const fn refused(name: &'static str) -> Expectation {
    Expectation { name, succeeds: false, only_private: false }
}

const fn works(name: &'static str) -> Expectation {
    Expectation { name, succeeds: true, only_private: false }
}

const EXPECTATIONS: &[Expectation] = &[
    works("write a file inside"),
    works("make a pair of sockets"),
    works("no new privileges"),
    refused("read a file outside"),
    refused("list a directory outside"),
    refused("append to a file outside"),
    refused("empty a file outside"),
    refused("make a file outside"),
    Expectation { only_private: true, ..refused("change the mode of a file outside") },
    refused("make an internet socket"),
    refused("make a socket of the machine"),
    Expectation { only_private: true, ..refused("signal the program") },
    refused("trace the program"),
    refused("read the program's environment"),
    refused("become the superuser"),
    refused("make a user namespace"),
];

/// Every probe, from inside the fence.
pub(super) fn all(outside: &Path, inside: &[&PathBuf], program: i32) -> Vec<Probed> {
    let bait = outside.join("bait");
    let program = Pid::from_raw(program);
    let succeeds = |name: &str| match name {
        "write a file inside" => inside.iter().all(|path| fs::write(path.join("probe"), "x").is_ok()),
        "make a pair of sockets" => UnixStream::pair().is_ok(),
        "no new privileges" => nix::sys::prctl::get_no_new_privs().unwrap_or(false),
        "read a file outside" => File::open(&bait).is_ok(),
        "list a directory outside" => fs::read_dir(outside).is_ok(),
        "append to a file outside" => OpenOptions::new().append(true).open(&bait).is_ok(),
        "empty a file outside" => nix::unistd::truncate(&bait, 0).is_ok(),
        "make a file outside" => File::create_new(outside.join("made")).is_ok(),
        "change the mode of a file outside" => {
            fs::set_permissions(&bait, fs::Permissions::from_mode(0o666)).is_ok()
        }
        "make an internet socket" => UdpSocket::bind("127.0.0.1:0").is_ok(),
        "make a socket of the machine" => UnixDatagram::unbound().is_ok(),
        "signal the program" => kill(program, None).is_ok(),
        "trace the program" => nix::sys::ptrace::seize(program, nix::sys::ptrace::Options::empty()).is_ok(),
        "read the program's environment" => fs::read(format!("/proc/{program}/environ")).is_ok(),
        "become the superuser" => nix::unistd::setuid(Uid::from_raw(0)).is_ok(),
        "make a user namespace" => nix::sched::unshare(CloneFlags::CLONE_NEWUSER).is_ok(),
        _ => true,
    };
    EXPECTATIONS
        .iter()
        .map(|expected| Probed { name: expected.name.to_owned(), succeeded: succeeds(expected.name) })
        .collect()
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
