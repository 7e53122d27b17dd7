//! Results of functions: their shapes, and what callers do with them.

mod received;
mod returned;

pub use received::Use;
pub(crate) use received::received;
pub use returned::Shape;
pub(crate) use returned::returned;
