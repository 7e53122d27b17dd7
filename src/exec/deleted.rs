//! Deleted files that a command still has open, found by looking into its processes: no directory shows their room.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::{Gid, Uid, getegid, geteuid, setfsgid, setfsuid};

use super::usage::descendants;

/// Beginnings of the names that processes show for files in memory, which count as memory.
const MEMORY: &[&str] = &["/memfd:", "/dev/shm/", "/dev/zero", "/SYSV", "/[aio]"];
const DELETED: &str = " (deleted)";

/// Deleted files that were found open.
#[derive(Default)]
pub(super) struct Held {
    /// Bytes on disk by device and inode.
    files: BTreeMap<(u64, u64), u64>,
    /// True if there may be others: in a process that cannot be looked into, in a mapping without a descriptor, or on
    /// their way through a socket.
    pub(super) hidden: bool,
}

impl Held {
    /// Looks into every process below a keeper, as ourselves and where that is refused as the command's user.
    pub(super) fn by(keeper: u32, user: Option<u32>) -> Self {
        let found = Self::found(keeper);
        match user {
            Some(user) if found.hidden => {
                let _until_the_end = FilesAs::user(user);
                Self::found(keeper)
            }
            _ => found,
        }
    }

    fn found(keeper: u32) -> Self {
        let mut held = Self::default();
        for process in descendants(keeper) {
            let process = Path::new("/proc").join(process.to_string());
            let looked = held.look_at_mappings(&process).and_then(|()| held.look_at_threads(&process));
            held.hidden |= looked.is_err_and(|error| !is_gone(&error));
        }
        held
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.values().sum()
    }

    /// Marks mapped files that are deleted: their descriptors may be closed, and a mapping does not show their size.
    fn look_at_mappings(&mut self, process: &Path) -> io::Result<()> {
        // Names of files may be any bytes.
        let maps = fs::read(process.join("maps"))?;
        let maps = String::from_utf8_lossy(&maps);
        self.hidden |=
            maps.lines().filter_map(|line| line.find('/').map(|name| &line[name..])).any(is_deleted);
        Ok(())
    }

    /// Counts descriptors thread by thread, since a thread may have a table of its own.
    fn look_at_threads(&mut self, process: &Path) -> io::Result<()> {
        for thread in fs::read_dir(process.join("task"))? {
            let thread = thread?.path();
            for descriptor in fs::read_dir(thread.join("fd"))? {
                let descriptor = descriptor?;
                let info = thread.join("fdinfo").join(descriptor.file_name());
                match self.look_at_descriptor(&descriptor.path(), &info) {
                    Err(error) if !is_gone(&error) => return Err(error),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn look_at_descriptor(&mut self, descriptor: &Path, info: &Path) -> io::Result<()> {
        let name = fs::read_link(descriptor)?;
        let name = name.to_string_lossy();
        if name.starts_with("socket:") {
            let info = fs::read_to_string(info)?;
            let waiting = info.lines().find_map(|line| line.strip_prefix("scm_fds:"));
            self.hidden |= waiting.is_some_and(|count| count.trim() != "0");
        } else if is_deleted(&name) {
            let metadata = fs::metadata(descriptor)?;
            // With another name it is in the tree that is measured.
            if metadata.nlink() == 0 {
                self.files.insert((metadata.dev(), metadata.ino()), metadata.blocks() * 512);
            }
        }
        Ok(())
    }
}

/// Returns whether a name that the kernel shows is that of a deleted file on a disk.
fn is_deleted(name: &str) -> bool {
    name.ends_with(DELETED) && !MEMORY.iter().any(|memory| name.starts_with(memory))
}

/// Returns whether a process or descriptor ended while it was looked at.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// This thread as another user where the kernel asks whose files may be read, and nowhere else: nobody may signal it
/// for that. Over when dropped.
struct FilesAs;

impl FilesAs {
    fn user(user: u32) -> Self {
        setfsgid(Gid::from_raw(user));
        setfsuid(Uid::from_raw(user));
        Self
    }
}

impl Drop for FilesAs {
    fn drop(&mut self) {
        setfsuid(geteuid());
        setfsgid(getegid());
    }
}
