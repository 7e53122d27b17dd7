//! Private users: numbers nobody else has, taken for one command at a time.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// Numbers that neither distributions nor systemd give to anybody.
const USERS: std::ops::RangeInclusive<u32> = 60_579..=61_183;
/// User id that kills processes of private users; no command has it.
pub(super) const KILLER: u32 = 60_578;

/// A user that is ours until this is dropped, or the process ends in any way.
pub(super) struct PrivateUser {
    pub(super) id: u32,
    /// A name in the kernel that only one process can have, and that goes away with it.
    _taken: UnixDatagram,
}

impl PrivateUser {
    /// Takes a user that has no processes; the one who owns a worktree already, where that is possible.
    pub(super) fn take(worktree: &Path) -> io::Result<Self> {
        let owner = fs::symlink_metadata(worktree)?.uid();
        let preferred = USERS.contains(&owner).then_some(owner);
        // Beginning somewhere else in each process spares parallel ones a long search.
        let shift = std::process::id() % (USERS.end() - USERS.start());
        let others =
            USERS.map(|id| USERS.start() + (id - USERS.start() + shift) % (USERS.end() - USERS.start() + 1));
        for id in preferred.into_iter().chain(others) {
            let name = SocketAddr::from_abstract_name(format!("qa-skill-user-{id}"))?;
            match UnixDatagram::bind_addr(&name) {
                Ok(taken) if !has_processes(id)? => return Ok(Self { id, _taken: taken }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("every private user is taken"))
    }
}

/// Returns whether a user has processes, dead or alive.
pub(super) fn has_processes(user: u32) -> io::Result<bool> {
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let number =
            entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
        if number && fs::metadata(entry.path()).is_ok_and(|process| process.uid() == user) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Gives everything below a directory, and itself, to a user. Nothing may be running that could change it meanwhile.
///
/// What belongs to others than us and earlier private users stays what it is: that would be somebody else's file.
pub(super) fn give(directory: &Path, user: u32) -> io::Result<()> {
    let us = nix::unistd::geteuid().as_raw();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let metadata = fs::symlink_metadata(&path)?;
        let owner = metadata.uid();
        if metadata.is_dir() {
            for entry in fs::read_dir(&path)? {
                pending.push(entry?.path());
            }
        }
        if owner == user {
            continue;
        }
        let one_name = metadata.is_dir() || metadata.nlink() == 1;
        let may_be_given = USERS.contains(&owner) || (owner == us && one_name);
        if !may_be_given {
            let message =
                format!("{} belongs to somebody else, or has another name elsewhere", path.display());
            return Err(io::Error::other(message));
        }
        std::os::unix::fs::lchown(&path, Some(user), Some(user))?;
    }
    Ok(())
}

/// Removes what a user left where C libraries keep shared memory.
pub(super) fn remove_shared_memory(user: u32) {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return };
    for entry in entries.flatten() {
        if entry.metadata().is_ok_and(|metadata| metadata.uid() == user) {
            let _only_the_user_sees_it = super::remove::remove_tree(&entry.path());
        }
    }
}
