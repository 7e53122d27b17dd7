//! Deleted files that a command still has open, found by looking into its processes: no directory shows their room.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{Gid, Uid, getegid, geteuid, setfsgid, setfsuid};

use super::usage::descendants;

/// Beginnings of the names that processes show for files in memory.
const MEMORY: &[&str] = &["/memfd:", "/dev/shm/", "/dev/zero", "/anon_hugepage", "/SYSV"];
/// Beginning of the name of a ring of the kernel, which has a limit of its own.
const RING: &str = "/[aio]";
const DELETED: &str = " (deleted)";
/// A process that begins or ends cannot be looked into for a moment, which a busy machine draws out.
const HIDDEN_FOR: Duration = Duration::from_millis(500);

/// Suspicion that a command hides more than its limit, which only a series of looks proves.
#[derive(Default)]
pub(super) struct Hiding {
    /// Time of the first look of the series.
    since: Option<Instant>,
}

impl Hiding {
    /// Returns whether the last look found that the command may hide too much.
    pub(super) fn is_suspected(&self) -> bool {
        self.since.is_some()
    }

    /// Adds a look, and returns whether every look for long enough found the same.
    pub(super) fn note(&mut self, may_hide: bool) -> bool {
        self.since = may_hide.then(|| self.since.unwrap_or_else(Instant::now));
        self.since.is_some_and(|since| since.elapsed() >= HIDDEN_FOR)
    }
}

/// Deleted files that were found open, by where their content is.
#[derive(Default)]
pub(super) struct Held {
    pub(super) disk: Files,
    pub(super) memory: Files,
}

/// Deleted files of one kind.
#[derive(Default)]
pub(super) struct Files {
    /// Bytes by device and inode.
    bytes: BTreeMap<(u64, u64), u64>,
    /// True if there may be others: in a process that cannot be looked into, in a mapping without a descriptor, or on
    /// their way through a socket.
    pub(super) hidden: bool,
}

impl Files {
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.values().sum()
    }

    fn count(&mut self, metadata: &Metadata) {
        // With another name it is in the tree that is measured.
        if metadata.nlink() == 0 {
            self.bytes.insert((metadata.dev(), metadata.ino()), metadata.blocks() * 512);
        }
    }
}

impl Held {
    /// Looks into every process below a supervisor, as ourselves and where that is refused as the command's user.
    pub(super) fn by(supervisor: u32, user: Option<u32>) -> Self {
        let held = Self::found(supervisor);
        match user {
            Some(user) if held.disk.hidden || held.memory.hidden => {
                let _until_the_end = FilesAs::user(user);
                Self::found(supervisor)
            }
            _ => held,
        }
    }

    fn found(supervisor: u32) -> Self {
        let mut held = Self::default();
        let processes = descendants(supervisor);
        let processes: Vec<PathBuf> =
            processes.iter().map(|process| Path::new("/proc").join(process.to_string())).collect();
        for process in &processes {
            let looked = held.look_at_threads(process);
            held.hides(looked.is_err_and(|error| !is_gone(&error)));
        }
        // After all descriptors, since most mapped files have one.
        for process in &processes {
            let looked = held.look_at_mappings(process);
            held.hides(looked.is_err_and(|error| !is_gone(&error)));
        }
        held
    }

    /// Notes that files of either kind may be hidden.
    fn hides(&mut self, hidden: bool) {
        self.disk.hidden |= hidden;
        self.memory.hidden |= hidden;
    }

    /// Returns the files that one with a name that the kernel shows belongs to, if it is deleted.
    fn files(&mut self, name: &str) -> Option<&mut Files> {
        if !name.ends_with(DELETED) || name.starts_with(RING) {
            return None;
        }
        let in_memory = MEMORY.iter().any(|memory| name.starts_with(memory));
        Some(if in_memory { &mut self.memory } else { &mut self.disk })
    }

    /// Counts mapped files, or marks them where only their descriptors could be followed and are closed.
    fn look_at_mappings(&mut self, process: &Path) -> io::Result<()> {
        // Names of files may be any bytes.
        let maps = fs::read(process.join("maps"))?;
        let maps = String::from_utf8_lossy(&maps);
        for line in maps.lines() {
            let Some(name) = line.find('/') else { continue };
            let Some(files) = self.files(&line[name..]) else { continue };
            let mapping = Mapping::parse(line);
            if mapping.as_ref().is_some_and(|mapping| files.bytes.contains_key(&mapping.file)) {
                continue;
            }
            // Root in most containers may not follow these links.
            let link = mapping.map(|mapping| process.join("map_files").join(mapping.range));
            match link.and_then(|link| fs::metadata(link).ok()) {
                Some(metadata) => files.count(&metadata),
                None => files.hidden = true,
            }
        }
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
            self.hides(waiting.is_some_and(|count| count.trim() != "0"));
        } else if let Some(files) = self.files(&name) {
            files.count(&fs::metadata(descriptor)?);
        }
        Ok(())
    }
}

/// A mapped file, from a line of `/proc/PID/maps`.
struct Mapping {
    /// The name of its link in `map_files`.
    range: String,
    /// Device and inode.
    file: (u64, u64),
}

impl Mapping {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let (from, to) = words.next()?.split_once('-')?;
        // The links have no leading zeros.
        let range = format!("{}-{}", from.trim_start_matches('0'), to.trim_start_matches('0'));
        let (major, minor) = words.nth(2)?.split_once(':')?;
        let device =
            libc::makedev(u32::from_str_radix(major, 16).ok()?, u32::from_str_radix(minor, 16).ok()?);
        Some(Self { range, file: (device, words.next()?.parse().ok()?) })
    }
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
