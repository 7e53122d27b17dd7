//! The directory of semaphores and shared memory of C libraries: a private one for each command, if it can be mounted.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::CloneFlags;
use nix::sys::statvfs::statvfs;

use super::job::Job;

pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Limit of files and directories in it, since each takes kernel memory that its size does not include.
const MOST_ENTRIES: u32 = 1 << 16;

/// The shared memory of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Provided {
    /// A file system of its own.
    Own,
    /// The directory of the machine or container.
    Machine,
    /// No shared memory: the machine's is that of other programs, or larger than the command's memory limit.
    Nothing,
}

/// Provides this process with shared memory: a private one if it has the right to mount.
pub(super) fn provide(job: &Job) -> Provided {
    if job.user.is_none() {
        // Without a private user, the shared memory of all the user's programs would be accessible.
        return Provided::Nothing;
    }
    if mount_own(job.memory_bytes).is_ok() {
        return Provided::Own;
    }
    match job.memory_bytes {
        Some(limit) if !is_within(limit) => Provided::Nothing,
        Some(_) | None => Provided::Machine,
    }
}

/// Returns whether the shared memory of the machine or container is no larger than a limit.
fn is_within(limit: u64) -> bool {
    let Ok(system) = statvfs(SHARED_MEMORY) else { return false };
    // A file system without a limit has the size 0.
    system.blocks() > 0 && system.blocks() * system.fragment_size() <= limit
}

/// Mounts an empty file system over the directory, for this process and what it starts.
fn mount_own(limit: Option<u64>) -> nix::Result<()> {
    let namespace = identity("/proc/self/ns/mnt")?;
    let machines = identity(SHARED_MEMORY)?;
    nix::sched::unshare(CloneFlags::CLONE_NEWNS)?;
    if identity("/proc/self/ns/mnt")? == namespace {
        // The kernel reports success without a new namespace: the mounts would be those of the machine.
        return Err(Errno::ENOSYS);
    }
    // Mounts of the machine still arrive here, and none goes back.
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_SLAVE, None::<&str>)?;
    let size = match limit {
        Some(limit) => format!(",size={limit}"),
        None => String::new(),
    };
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
