//! Private users: user ids that no account has, claimed by one worktree at a time.

use std::fs;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;

/// User ids that neither distributions nor systemd assign.
const USERS: std::ops::RangeInclusive<u32> = 60_579..=61_183;
/// User id that kills processes of private users; no command has it.
pub(super) const KILLER: u32 = 60_578;

/// A claimed user, released when this is dropped or the process ends.
pub(super) struct PrivateUser {
    pub(super) id: u32,
    /// Abstract socket name that only one process can bind, released with the process.
    _claim: UnixDatagram,
}

impl PrivateUser {
    /// Claims a user without processes, preferably the owner of the worktree.
    pub(super) fn claim(worktree: &Path) -> io::Result<Self> {
        let owner = fs::symlink_metadata(worktree)?.uid();
        let preferred = USERS.contains(&owner).then_some(owner);
        // Each process starts at another id, so that parallel ones do not search long.
        let shift = std::process::id() % (USERS.end() - USERS.start());
        let others =
            USERS.map(|id| USERS.start() + (id - USERS.start() + shift) % (USERS.end() - USERS.start() + 1));
        for id in preferred.into_iter().chain(others) {
            let name = SocketAddr::from_abstract_name(format!("qa-skill-user-{id}"))?;
            match UnixDatagram::bind_addr(&name) {
                Ok(claim) if !has_processes(id)? => return Ok(Self { id, _claim: claim }),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("every private user is claimed"))
    }
}

/// Returns whether a user has processes, dead or alive.
pub(super) fn has_processes(user: u32) -> io::Result<bool> {
    for entry in fs::read_dir("/proc")? {
        let entry = entry?;
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        if is_process && matches!(fs::metadata(entry.path()), Ok(process) if process.uid() == user) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Changes the owner of a directory and of everything below it. No process may change it meanwhile.
///
/// Fails on a file of another user, or with another hard link, that is not an earlier private user's.
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
            let message = format!("{} belongs to another user, or has another hard link", path.display());
            return Err(io::Error::other(message));
        }
        std::os::unix::fs::lchown(&path, Some(user), Some(user))?;
    }
    Ok(())
}

/// Removes the files of a user in the shared memory of C libraries.
pub(super) fn remove_shared_memory(user: u32) {
    let Ok(entries) = fs::read_dir("/dev/shm") else { return };
    for entry in entries.flatten() {
        if matches!(entry.metadata(), Ok(metadata) if metadata.uid() == user) {
            let _only_the_user_sees_it = super::remove::remove_tree(&entry.path());
        }
    }
}
