//! Ports without fault injection, in the place of `src/faults/mod.rs` in builds without the feature `dev-faults`.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::SystemTime;

use qa_run::commands::CommandOutcome;
use qa_run::http::Http;
use qa_run::ports::Cancellation;

pub(crate) fn begin(_: &Arc<Cancellation>) -> Result<(), String> {
    Ok(())
}

pub(crate) fn unmet() -> Option<String> {
    None
}

/// A client without faults.
pub(crate) type Around<H> = H;

pub(crate) fn around<H: Http>(http: H) -> H {
    http
}

pub(crate) fn storage(_: &str) -> io::Result<()> {
    Ok(())
}

pub(crate) fn write_all(file: &mut File, _: &str, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

pub(crate) fn object() -> Option<&'static str> {
    None
}

#[cfg(target_os = "linux")]
pub(crate) fn command() -> Option<CommandOutcome> {
    None
}

pub(crate) fn clock(now: SystemTime) -> SystemTime {
    now
}
