//! The directory where C libraries keep semaphores and shared memory: one for each command, where that can be had.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::CloneFlags;
use nix::sys::statvfs::statvfs;

use super::job::Job;

pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Files and directories in it. Each takes memory of the kernel that its size does not count.
const MOST_ENTRIES: u32 = 1 << 16;

/// The shared memory of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provided {
    /// A file system of its own.
    Own,
    /// The directory of the machine or container.
    Machine,
    /// No shared memory: what there is belongs to others, or is larger than the memory that the command may use.
    Nothing,
}

/// Provides this process, which needs rights to mount for a directory of its own, with shared memory.
pub(super) fn provide(job: &Job) -> Provided {
    if job.user.is_none() {
        // Without a user of its own, that of all the user's programs would be in reach.
        return Provided::Nothing;
    }
    if mount_own(job.memory_bytes).is_ok() {
        return Provided::Own;
    }
    if job.memory_bytes.is_none_or(machines_fits) { Provided::Machine } else { Provided::Nothing }
}

/// Returns whether the shared memory of the machine or container is no larger than a limit.
fn machines_fits(limit: u64) -> bool {
    let Ok(system) = statvfs(SHARED_MEMORY) else { return false };
    // A size of 0 is that of a file system without bounds.
    system.blocks() > 0 && system.blocks() * system.fragment_size() <= limit
}

/// Mounts an empty file system over the directory, for this process and what it starts.
fn mount_own(limit: Option<u64>) -> nix::Result<()> {
    let namespace = identity("/proc/self/ns/mnt")?;
    let machines = identity(SHARED_MEMORY)?;
    nix::sched::unshare(CloneFlags::CLONE_NEWNS)?;
    if identity("/proc/self/ns/mnt")? == namespace {
        // A kernel that pretends: the mounts would be those of the machine.
        return Err(Errno::ENOSYS);
    }
    // Mounts of the machine still arrive here, and none goes back.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
    let size = limit.map_or_else(String::new, |limit| format!(",size={limit}"));
    let options = format!("mode=1777,nr_inodes={MOST_ENTRIES}{size}");
    let flags = MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_NOSUID;
    mount(Some("tmpfs"), SHARED_MEMORY, Some("tmpfs"), flags, Some(options.as_str()))?;
    if identity(SHARED_MEMORY)? == machines { Err(Errno::ENOSYS) } else { Ok(()) }
}

/// Returns device and inode, which tell files of the kernel from one another.
fn identity(path: &str) -> nix::Result<(u64, u64)> {
    let metadata = fs::metadata(path).map_err(|_unreadable| Errno::ENOENT)?;
    Ok((metadata.dev(), metadata.ino()))
}
