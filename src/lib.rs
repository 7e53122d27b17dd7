//! A deterministic pull-request gate whose verdict can be replayed byte for byte.

mod app;
pub(crate) mod config;
#[cfg(target_os = "linux")]
pub(crate) mod exec;
#[cfg(feature = "dev-faults")]
pub(crate) mod faults;
#[cfg(not(feature = "dev-faults"))]
#[path = "faults/none.rs"]
pub(crate) mod faults;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub(crate) mod git;
pub(crate) mod net;
pub(crate) mod paths;
pub(crate) mod publish;
pub(crate) mod scratch;
pub(crate) mod store;

pub use app::{Exit, main_with};
#[cfg(target_os = "linux")]
pub use exec::run_supervisor;
