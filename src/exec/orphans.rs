//! Cleans up after a supervisor that was killed before its command: this process adopts the command's processes and kills
//! them.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::poll::{PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;

use super::usage::{children, descendants};

/// Time limit for processes to disappear after they were killed.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Running supervisors: every other child of this process is an orphan of one that ended.
static KEEPERS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

fn supervisors() -> MutexGuard<'static, BTreeSet<u32>> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a supervisor. If it is killed, this process adopts its orphans.
pub(super) fn start_keeper(command: &mut Command) -> io::Result<Child> {
    nix::sys::prctl::set_child_subreaper(true)?;
    // Locked, so that no search for orphans runs between the start and the entry.
    let mut supervisors = supervisors();
    let supervisor = command.spawn()?;
    supervisors.insert(supervisor.id());
    Ok(supervisor)
}

/// Removes a supervisor that ended and was waited for.
pub(super) fn forget_keeper(supervisor: u32) {
    supervisors().remove(&supervisor);
}

/// Kills all processes that ended supervisors left. Returns whether all of them are gone.
pub(super) fn end_orphans() -> bool {
    let begin = Instant::now();
    loop {
        let supervisors = supervisors();
        let mut orphans = children(std::process::id());
        orphans.retain(|child| !supervisors.contains(child));
        if orphans.is_empty() {
            return true;
        }
        for orphan in &orphans {
            for process in descendants(*orphan).into_iter().chain([*orphan]) {
                if let Ok(process) = i32::try_from(process) {
                    let _already_gone = kill(Pid::from_raw(process), Signal::SIGKILL);
                }
            }
            if let Ok(orphan) = i32::try_from(*orphan) {
                let _not_yet = waitpid(Pid::from_raw(orphan), Some(WaitPidFlag::WNOHANG));
            }
        }
        drop(supervisors);
        if begin.elapsed() > GONE_WITHIN {
            return false;
        }
        let _a_moment = poll(&mut [], PollTimeout::from(5u8));
    }
}
