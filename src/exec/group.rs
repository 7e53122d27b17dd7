//! Kills the process group of a program that a person named.

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Kills all processes of a group. `leader` is the id of a child that began the group and was not waited for yet, so that the
/// id is still its own.
pub(crate) fn kill_group(leader: u32) {
    if let Ok(leader) = i32::try_from(leader) {
        let _already_ended = killpg(Pid::from_raw(leader), Signal::SIGKILL);
    }
}
