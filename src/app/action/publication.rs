//! Where a result goes: to a check run where the token allows one, else to workflow commands and the job summary.

use std::sync::Arc;

use super::surfaces::{Runner, annotate};
use crate::app::check::Finished;
use crate::app::exit::{Exit, Failure};
use crate::app::face;
use crate::config::{ActionEnvironment, Surfaces};
use crate::contracts::ids::{CommitId, ExecutionKey};
use crate::core::event::Change;
use crate::formats::contract::Report;
use crate::run::ports::Cancellation;

/// What became of publishing.
pub(crate) struct Published {
    /// The verdict's exit code, unless its proof could not be kept.
    pub(crate) exit: Exit,
    /// `commands` or `files`.
    pub(crate) surface: &'static str,
}

/// The publication of one run.
pub(crate) struct Publication {
    surfaces: Surfaces,
}

impl Publication {
    pub(crate) fn begin(
        environment: &ActionEnvironment,
        _change: &Change,
        _head: &CommitId,
        _cancellation: &Arc<Cancellation>,
    ) -> Self {
        Self { surfaces: environment.inputs.surfaces }
    }

    /// Plans are about to run under this key.
    pub(crate) fn started(&self, _key: &ExecutionKey) {}

    /// There is no verdict to publish.
    pub(crate) fn failed(&self, _failure: &Failure) {}

    /// Publishes a verdict.
    pub(crate) fn publish(&self, report: &Report<'_>, finished: &Finished, runner: &Runner) -> Published {
        let exit = Exit::from(finished.derived.verdict.conclusion);
        let surface = if self.surfaces == Surfaces::Files { "files" } else { "commands" };
        if self.surfaces != Surfaces::Files {
            let _nobody_listens = face::write_stdout(&face::rendered("github", report));
            if let Err(failure) = runner.summary(&face::rendered("markdown", report)) {
                annotate("warning", "qa-skill", &failure.message);
            }
        }
        Published { exit, surface }
    }
}
