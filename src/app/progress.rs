//! Shows the progress of long steps on a terminal.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use qa_run::ports::Progress;

/// Time before the first progress line.
const PATIENCE: Duration = Duration::from_millis(400);
/// Update interval of the progress line.
const INTERVAL: Duration = Duration::from_millis(80);
/// Time between two lines of a log.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A line on standard error that is rewritten in place.
pub(crate) struct TerminalProgress {
    started: Instant,
    drawn: Mutex<Option<Instant>>,
    output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Output {
    Nothing,
    Terminal,
    /// A line now and then, for a file or the log of a job.
    Log,
}

impl TerminalProgress {
    pub(crate) fn new(quiet: bool) -> Self {
        let is_shown = !quiet && std::io::stderr().is_terminal();
        Self::with_output(if is_shown { Output::Terminal } else { Output::Nothing })
    }

    /// Also shows the first step and later ones now and then where standard error is no terminal: for commands that take minutes
    /// and print nothing before.
    pub(crate) fn with_log(quiet: bool) -> Self {
        match (quiet, std::io::stderr().is_terminal()) {
            (true, _) => Self::with_output(Output::Nothing),
            (false, true) => Self::with_output(Output::Terminal),
            (false, false) => Self::with_output(Output::Log),
        }
    }

    fn with_output(output: Output) -> Self {
        Self { started: Instant::now(), drawn: Mutex::new(None), output }
    }

    /// Erases the line before other output.
    pub(crate) fn clear(&self) {
        if self.output != Output::Terminal {
            return;
        }
        let Ok(mut drawn) = self.drawn.lock() else { return };
        if drawn.take().is_some() {
            let _a_terminal_that_is_gone_shows_nothing = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

impl Progress for TerminalProgress {
    fn step(&self, step: &'static str, done: usize, total: usize) {
        let interval = match self.output {
            Output::Nothing => return,
            Output::Terminal if self.started.elapsed() < PATIENCE => return,
            Output::Terminal => INTERVAL,
            Output::Log => LOG_INTERVAL,
        };
        let Ok(mut drawn) = self.drawn.try_lock() else { return };
        if matches!(*drawn, Some(last) if last.elapsed() < interval) {
            return;
        }
        *drawn = Some(Instant::now());
        let line = format!("{step}: {done} of {total}");
        let _a_reader_that_is_gone_shows_nothing = match self.output {
            Output::Log => writeln!(std::io::stderr(), "{line}"),
            Output::Nothing | Output::Terminal => write!(std::io::stderr(), "\r\x1b[2K{line}"),
        };
    }
}
