//! A deterministic pull-request gate whose verdict can be replayed byte for byte.

pub mod contracts;
pub(crate) mod core;
pub(crate) mod formats;
#[allow(dead_code, reason = "a tool says more about itself than a run asks for")]
pub(crate) mod gates;
pub(crate) mod lenses;
pub(crate) mod providers;
pub(crate) mod run;
#[allow(dead_code, reason = "an outline says more than the lenses ask for yet")]
pub(crate) mod syntax;

#[cfg(feature = "io")]
mod app;
#[cfg(feature = "io")]
pub(crate) mod config;
#[cfg(all(feature = "io", target_os = "linux"))]
pub(crate) mod exec;
#[cfg(feature = "io")]
pub(crate) mod git;
#[cfg(feature = "io")]
pub(crate) mod net;
#[cfg(feature = "io")]
pub(crate) mod publish;
#[cfg(feature = "io")]
pub(crate) mod store;

#[cfg(feature = "io")]
pub use app::{Exit, main_with};
#[cfg(all(feature = "io", target_os = "linux"))]
pub use exec::keep;
