//! The effective policy: the committed file, the run's inputs and the defaults made into one validated value.

mod check;
pub mod drive;
mod effective;
pub mod file;
pub(crate) mod observer;
mod resolve;
pub mod reviews;
pub(crate) mod settings;
pub(crate) mod strengths;
#[cfg(test)]
mod tests;
pub mod weakening;

pub use effective::{
    GatePolicy, LensPolicy, Limits, NamedRubric, Overrides, POLICY_PATH, Policy, PolicyError, WAIVERS_PATH,
};
pub use observer::{ObserverPolicy, deferred_name};
pub use strengths::{everywhere, in_scope, presets};
