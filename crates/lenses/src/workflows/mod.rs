//! Workflows and actions as lenses read them: the steps that can run, what strangers choose in them, and where a change
//! shows a fault.

pub(crate) mod chosen;
pub(crate) mod model;
pub(crate) mod place;
