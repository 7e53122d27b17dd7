//! Shows the progress of long steps on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use qa_run::ports::Progress;

/// Time before the first progress line.
const PATIENCE: Duration = Duration::from_millis(400);
/// Update interval of the progress line.
const INTERVAL: Duration = Duration::from_millis(80);

/// A line on standard error that is rewritten in place.
pub(crate) struct TerminalProgress {
    started: Instant,
    drawn: Mutex<Option<Instant>>,
    enabled: bool,
}

impl TerminalProgress {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            started: Instant::now(),
            drawn: Mutex::new(None),
            enabled: !quiet && std::io::stderr().is_terminal(),
        }
    }

    /// Erases the line before other output.
    pub(crate) fn clear(&self) {
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if drawn.take().is_some() {
            let _a_terminal_that_is_gone_shows_nothing = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Progress for TerminalProgress {
    fn step(&self, step: &'static str, done: usize, total: usize) {
        if !self.enabled || self.started.elapsed() < PATIENCE {
            return;
        }
        let Ok(mut drawn) = self.drawn.try_lock() else { return };
        if matches!(*drawn, Some(last) if last.elapsed() < INTERVAL) {
            return;
        }
        *drawn = Some(Instant::now());
        let _a_terminal_that_is_gone_shows_nothing =
            write!(std::io::stderr(), "\r\x1b[2K{step}: {done} of {total}");
    }
}
