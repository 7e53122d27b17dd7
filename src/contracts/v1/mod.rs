//! Version 1 of every contract; frozen once released, new meaning goes into a v2 beside it.

mod change_set;
mod coverage;
mod cross_check;
mod drift;
mod execution;
mod hashes;
mod input;
mod metrics;
mod part;
mod plan;
mod policy;
mod recording;
mod registry;
mod result;
mod sensitivity;
mod symbols;
mod trace;
mod vocabulary;

pub use change_set::*;
pub use coverage::*;
pub use cross_check::*;
pub use drift::*;
pub use execution::*;
pub use hashes::*;
pub use input::*;
pub use metrics::*;
pub use part::*;
pub use plan::*;
pub use policy::*;
pub use recording::*;
pub use registry::*;
pub use result::*;
pub use sensitivity::*;
pub use symbols::*;
pub use trace::*;
pub use vocabulary::*;
