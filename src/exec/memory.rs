//! The memory that a command uses: of its processes, and of files in memory that no directory shows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::deleted::{Held, Hiding};
use super::usage::resident;

/// Polling interval of memory, which reads data of every process of the machine.
const TICK: Duration = Duration::from_millis(100);
/// Minimum interval of reading the processes' details, as a multiple of the time it takes, unless shared memory grows.
const MEASURE_PAUSE: u32 = 20;
/// Bytes that count for a command without a limit, which others cannot tell from their own.
const UNLIMITED: u64 = 1 << 50;

/// Limits of the commands that run now, together.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The limit of a command, among those that run until this is dropped.
struct Limit(u64);

impl Limit {
    fn begin(bytes: Option<u64>) -> Self {
        let bytes = bytes.unwrap_or(UNLIMITED).min(UNLIMITED);
        RUNNING.fetch_add(bytes, Ordering::Relaxed);
        Self(bytes)
    }

    fn of_others(&self) -> u64 {
        RUNNING.load(Ordering::Relaxed).saturating_sub(self.0)
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        RUNNING.fetch_sub(self.0, Ordering::Relaxed);
    }
}

/// Memory that a command may still use.
pub(super) struct Memory {
    user: Option<u32>,
    most: Option<u64>,
    limit: Limit,
    /// The file that says how much shared memory there is.
    total: Option<PathBuf>,
    total_before: u64,
    total_at_measure: u64,
    /// Bytes of nameless files when processes were last looked into.
    held: u64,
    hiding: Hiding,
    looked: Instant,
    measured: Instant,
    took: Duration,
}

impl Memory {
    pub(super) fn new(most: Option<u64>, user: Option<u32>) -> Self {
        let total = totals().into_iter().find(|path| shared_memory(path).is_some());
        let before = total.as_deref().and_then(shared_memory).unwrap_or(0);
        let now = Instant::now();
        Self {
            user,
            most,
            limit: Limit::begin(most),
            total,
            total_before: before,
            total_at_measure: before,
            held: 0,
            hiding: Hiding::default(),
            looked: now,
            measured: now,
            took: Duration::ZERO,
        }
    }

    /// Looks into processes when shared memory has grown a lot, and otherwise seldom.
    pub(super) fn is_full(&mut self, supervisor: u32) -> bool {
        let Some(most) = self.most else { return false };
        if self.looked.elapsed() < TICK {
            return false;
        }
        self.looked = Instant::now();
        let resident = resident(supervisor);
        if resident.own.saturating_add(resident.shared) > most {
            return true;
        }
        let total = self.total.as_deref().and_then(shared_memory).unwrap_or(u64::MAX);
        let left = most.saturating_sub(resident.own.saturating_add(resident.shared.max(self.held)));
        let suspicious = total.saturating_sub(self.total_at_measure) > left / 2;
        let pause = (self.took * MEASURE_PAUSE).max(Duration::from_secs(1));
        if !suspicious && !self.hiding.is_suspected() && self.measured.elapsed() < pause {
            return false;
        }
        let begin = Instant::now();
        let held = Held::by(supervisor, self.user).memory;
        self.held = held.bytes();
        self.total_at_measure = total;
        self.took = begin.elapsed();
        self.measured = Instant::now();
        // Growth of memory elsewhere counts only if the command may hide as much, and only beyond the limits of other
        // commands.
        let grown = total.saturating_sub(self.total_before).saturating_sub(self.limit.of_others());
        let may_hide = held.hidden && resident.own.saturating_add(grown) > most;
        self.hiding.note(may_hide) || resident.own.saturating_add(resident.shared.max(self.held)) > most
    }
}

/// Files that may say how much shared memory there is: that of our own control group, of either version, as a container
/// or the machine shows it, and last that of the machine.
fn totals() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let mount = match controllers {
            "" => "/sys/fs/cgroup",
            _ if controllers.split(',').any(|controller| controller == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let mount = Path::new(mount);
        found.push(mount.join(group.trim_start_matches('/')).join("memory.stat"));
        found.push(mount.join("memory.stat"));
    }
    found.push(PathBuf::from("/proc/meminfo"));
    found
}

/// Returns the bytes of shared memory that a file says, of a control group with all below it or of the machine.
fn shared_memory(path: &Path) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    // Version 1 says how much a group has without those below it as well.
    for (name, unit) in [("total_shmem ", 1), ("shmem ", 1), ("Shmem:", 1024)] {
        if let Some(value) = text.lines().find_map(|line| line.strip_prefix(name)) {
            return value.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(unit);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_that_of_a_group_with_all_below_it_or_of_the_machine() {
        let directory = tempfile::tempdir().unwrap();
        let cases = [
            ("anon 1\nfile 2\nshmem 4096\nshmem_thp 0\n", Some(4096)),
            ("cache 1\nshmem 4096\ntotal_cache 2\ntotal_shmem 8192\n", Some(8192)),
            ("MemTotal:       2 kB\nShmem:             12 kB\nShmemHugePages:        0 kB\n", Some(12288)),
            ("cache 1\n", None),
        ];
        let file = directory.path().join("memory.stat");
        for (text, expected) in cases {
            fs::write(&file, text).unwrap();
            assert_eq!(shared_memory(&file), expected, "{text}");
        }
        assert_eq!(shared_memory(&directory.path().join("missing")), None);
    }

    #[test]
    fn limits_of_others_are_those_of_commands_that_run() {
        let (one, other) = (Limit::begin(Some(3)), Limit::begin(Some(5)));
        assert_eq!((one.of_others(), other.of_others()), (5, 3));
        drop(other);
        let _without = Limit::begin(None);
        assert_eq!(one.of_others(), UNLIMITED);
    }
}
