//! Readers of a git repository; the one owner of libgit2. None of them writes to the repository or runs a program that its
//! configuration names.

mod account_configuration;
mod base;
mod bounded;
mod bundle;
mod complete;
#[cfg(target_os = "linux")]
mod driven;
mod edited;
mod error;
mod find;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod guard;
mod history;
mod includes;
mod landing;
mod lfs;
mod missing;
mod objects;
mod open;
mod pack_protocol;
mod provenance;
mod push;
mod refs;
mod store;
mod tree;
mod uncommitted;
mod walk;
#[cfg(unix)]
mod worktree;
mod worktree_files;

pub(crate) use base::{CheckedOut, Resolved, Sides, resolve};
pub(crate) use complete::Remote;
pub(crate) use driven::CommittedDirectory;
pub(crate) use error::GitError;
pub(crate) use history::Merged;
pub(crate) use objects::GitObjects;
pub(crate) use open::{OpenRepository, isolate};
pub(crate) use push::{Push, PushError};
pub(crate) use uncommitted::{Surroundings, Uncommitted, to_path};
#[cfg(unix)]
pub(crate) use worktree::{OmittedPath, TreeLimits};
