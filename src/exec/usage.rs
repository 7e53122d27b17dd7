//! Measures the disk space and memory of a running command from outside.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Overhead of a file or directory, in bytes.
const ENTRY_BYTES: u64 = 4096;
/// Time limit of measuring a tree, so that the command's own time limit is checked often enough.
const MOST_TIME: Duration = Duration::from_secs(5);

/// Disk space of the files below some directories.
#[derive(Default)]
pub(super) struct Used {
    pub(super) bytes: u64,
    /// True if directories that cannot be listed may hold more.
    pub(super) hidden: bool,
}

/// Measures the files below directories; `None` if that fails or takes too long, which callers treat as full.
pub(super) fn room_used(directories: &[&Path]) -> Option<Used> {
    let begin = Instant::now();
    let mut used = Used::default();
    let mut pending: Vec<PathBuf> = directories.iter().map(|path| (*path).to_owned()).collect();
    while let Some(directory) = pending.pop() {
        let Some(entries) = used.unless_gone(fs::read_dir(&directory)).ok()? else { continue };
        for entry in entries {
            let entry = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)));
            let Some((path, metadata)) = used.unless_gone(entry).ok()? else { continue };
            used.bytes = used.bytes.saturating_add(ENTRY_BYTES + metadata.blocks() * 512);
            if metadata.is_dir() {
                pending.push(path);
            }
        }
        if begin.elapsed() > MOST_TIME {
            return None;
        }
    }
    Some(used)
}

impl Used {
    /// Returns `None` for an entry that is gone or cannot be read, which a command can cause. Other errors stay errors.
    fn unless_gone<T>(&mut self, result: io::Result<T>) -> io::Result<Option<T>> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.hidden = true;
                Ok(None)
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns the free bytes of the file systems that hold the directories, each counted once.
pub(super) fn room_left(directories: &[&Path]) -> u64 {
    let mut devices = BTreeMap::new();
    for directory in directories {
        if let (Ok(metadata), Ok(system)) = (fs::metadata(directory), nix::sys::statvfs::statvfs(*directory))
        {
            devices.insert(metadata.dev(), system.blocks_free() * system.fragment_size());
        }
    }
    devices.values().sum()
}

/// Resident memory of processes, in bytes.
#[derive(Default)]
pub(super) struct Resident {
    /// Private memory, and mapped files of disks.
    pub(super) own: u64,
    /// Shared memory, counted once for each process that maps it.
    pub(super) shared: u64,
}

/// Returns the resident memory of a process's descendants.
pub(super) fn resident(ancestor: u32) -> Resident {
    let mut all = Resident::default();
    for process in descendants(ancestor) {
        let Ok(text) = fs::read_to_string(format!("/proc/{process}/status")) else { continue };
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let part = match name {
                "RssAnon" | "RssFile" => &mut all.own,
                "RssShmem" | "HugetlbPages" => &mut all.shared,
                _ => continue,
            };
            let kibi: u64 = value.trim().trim_end_matches(" kB").parse().unwrap_or(0);
            *part = part.saturating_add(kibi.saturating_mul(1024));
        }
    }
    all
}

/// Lists the running descendants of a process, adopted orphans included.
pub(super) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children = families();
    let mut descendants = Vec::new();
    let mut pending = vec![ancestor];
    while let Some(parent) = pending.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            descendants.push(child);
            pending.push(child);
        }
    }
    descendants
}

/// Lists the children of a process that run or were not waited for, adopted ones included.
pub(super) fn children(parent: u32) -> Vec<u32> {
    families().remove(&parent).unwrap_or_default()
}

/// Lists the children of every process.
fn families() -> BTreeMap<u32, Vec<u32>> {
    let mut families: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let Ok(entries) = fs::read_dir("/proc") else { return families };
    for entry in entries.flatten() {
        let process = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some((process, parent)) = process.and_then(|process| Some((process, parent_of(process)?))) {
            families.entry(parent).or_default().push(process);
        }
    }
    families
}

fn parent_of(process: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may contain parentheses.
    text.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Counts the threads of a user.
pub(super) fn threads_of(user: u32) -> u64 {
    let Ok(entries) = fs::read_dir("/proc") else { return 0 };
    let threads = entries.flatten().filter_map(|entry| {
        entry.metadata().ok().filter(|metadata| metadata.uid() == user)?;
        Some(fs::read_dir(entry.path().join("task")).ok()?.count() as u64)
    });
    threads.sum()
}
