//! The pure half: no file system, environment, clock, network or thread below this line.

pub(crate) mod canonical;
pub(crate) mod escape;
pub(crate) mod packet;
pub(crate) mod secrets;
