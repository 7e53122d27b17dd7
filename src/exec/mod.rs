//! Runs commands that nobody trusts: the one owner of Landlock, seccomp and user ids.
//!
//! Three processes take part. The *program* enforces time and space limits and captures the output. Its child, the
//! *supervisor*, is this binary with a hidden first argument and one thread; it starts the command, adopts its orphans and
//! kills what is left, also if the program is killed. The *command* is a fork of the supervisor that applies the layers of
//! the sandbox to itself before it executes the command.

mod deleted;
mod fence;
mod group;
mod inside;
mod job;
mod memory;
mod order;
mod orphans;
mod output;
mod probe;
mod remove;
mod room;
mod shared_memory;
mod supervisor;
mod syscalls;
mod toolchains;
mod usage;
mod users;
mod virtual_environment;
mod watch;

pub(crate) use fence::Fence;
pub(crate) use group::kill_group;
pub(crate) use room::Room;
pub use supervisor::run_supervisor;
pub(crate) use toolchains::{Provided, Toolchains};
