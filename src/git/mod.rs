//! Everything that reads a git repository; the one owner of libgit2. Nothing here writes to it, and nothing a
//! repository's configuration names is ever run.

mod base;
mod bounded;
mod complete;
mod error;
mod find;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guard;
mod history;
mod includes;
mod landing;
mod objects;
mod open;
mod pack_protocol;
mod provenance;
mod refs;
mod store;
mod tree;
mod walk;
#[cfg(unix)]
mod worktree;

pub(crate) use base::{Resolved, resolve};
pub(crate) use complete::Remote;
pub(crate) use error::GitError;
pub(crate) use history::Merged;
pub(crate) use objects::GitObjects;
pub(crate) use open::{OpenRepository, isolate};
#[cfg(unix)]
pub(crate) use worktree::{Omitted, TreeLimits};
