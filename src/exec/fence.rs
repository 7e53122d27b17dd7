//! The sandbox port: a self-test before the first command, then one command at a time.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::job::{Purpose, Report};
use super::order::Prepared;
use super::shared_memory::SHARED_MEMORY;
use super::watch::{self, Watched};
use super::{order, probe};
use qa_run::commands::{
    CommandLimits, CommandOutcome, Exit, Layers, Order, Refusal, Sandbox, SandboxError, SharedMemory,
};
use qa_run::ports::Cancellation;

/// Runs commands if the self-test succeeds.
pub(crate) struct Fence {
    /// Directory in which the self-test creates files. Every user must be able to enter it.
    scratch: PathBuf,
    cancellation: Arc<Cancellation>,
    tested: OnceLock<Result<Layers, Refusal>>,
}

impl Fence {
    pub(crate) fn new(scratch: PathBuf, cancellation: Arc<Cancellation>) -> Self {
        Self { scratch, cancellation, tested: OnceLock::new() }
    }

    fn test(&self) -> Result<Layers, Refusal> {
        let bait = order::Bait::lay(&self.scratch).map_err(test_failed)?;
        let identity = order::identity();
        let user = order::take_user(&bait.tree).map_err(test_failed)?;
        order::own(&bait.tree, user.as_ref()).map_err(test_failed)?;
        let purpose = Purpose::Probe {
            outside: bait.outside.clone(),
            program: i32::try_from(std::process::id()).map_err(test_failed)?,
            shared_memory: std::fs::metadata(SHARED_MEMORY).ok().map(|metadata| metadata.dev()),
        };
        let limits = CommandLimits { wall: std::time::Duration::from_secs(60), ..CommandLimits::default() };
        let job = order::job(purpose, user.as_ref(), false, vec![bait.tree.clone()], Vec::new(), &limits);
        let watched = Watched { limits, directories: vec![&bait.tree] };
        let outcome = watch::carry_out(&job, &watched, &self.cancellation).map_err(test_failed)?;
        let mut layers = None;
        for report in outcome.reports {
            match report {
                Report::Refused { layer, reason } => return Err(Refusal { layer, reason }),
                Report::Unusable { reason } | Report::NotStarted { reason } => {
                    return Err(test_failed(reason));
                }
                Report::Fenced { landlock_abi } => layers = Some(landlock_abi),
                Report::Probed(probed) => {
                    let mut residuals = probe::judge(&probed, identity).map_err(test_failed)?;
                    let shared_memory = probe::shared_memory(&probed);
                    residuals.extend(probe::shared_memory_residual(shared_memory));
                    let landlock_abi = layers.ok_or_else(|| test_failed("no layer was reported"))?;
                    return Ok(Layers { landlock_abi, identity, shared_memory, residuals });
                }
                Report::Ended { .. } => {}
            }
        }
        Err(test_failed("the probes reported nothing"))
    }
}

fn test_failed(reason: impl std::fmt::Display) -> Refusal {
    Refusal { layer: "self-test".to_owned(), reason: reason.to_string() }
}

impl Sandbox for Fence {
    fn self_test(&self) -> Result<Layers, Refusal> {
        self.tested.get_or_init(|| self.test()).clone()
    }

    fn run(&self, order: &Order<'_>) -> Result<CommandOutcome, SandboxError> {
        let layers = self.self_test()?;
        let mut prepared = Prepared::new(order)?;
        prepared.job.own_shared_memory = layers.shared_memory == SharedMemory::Own;
        let outcome = watch::carry_out(&prepared.job, &prepared.watched(order), &self.cancellation)
            .map_err(|error| SandboxError::Broken(error.to_string()))?;
        let mut fenced = false;
        for report in outcome.reports {
            match report {
                Report::Refused { layer, reason } => return Err(Refusal { layer, reason }.into()),
                Report::Unusable { reason } => return Err(SandboxError::Order(reason)),
                Report::NotStarted { reason } => {
                    let program = order.argv.first().cloned().unwrap_or_default();
                    return Err(SandboxError::NotStarted { program, reason });
                }
                Report::Fenced { .. } => fenced = true,
                Report::Probed(_) => {}
                Report::Ended { survivors: true, .. } => {
                    return Err(SandboxError::Survivors("its processes cannot be killed".to_owned()));
                }
                Report::Ended { code, signal, left_behind, survivors: false } => {
                    let exit = match (code, signal) {
                        (Some(code), _) => Exit::Code(code),
                        (None, Some(signal)) => Exit::Signal(signal),
                        (None, None) => Exit::Signal(9),
                    };
                    if !fenced {
                        return Err(SandboxError::Broken(
                            "it ended before the sandbox was complete".to_owned(),
                        ));
                    }
                    prepared.check_gone()?;
                    let [stdout, stderr] = outcome.outputs;
                    return Ok(CommandOutcome {
                        exit,
                        stopped: outcome.stopped,
                        stdout,
                        stderr,
                        left_behind,
                    });
                }
            }
        }
        if outcome.survivors {
            return Err(SandboxError::Survivors(
                "its supervisor was killed, and its processes cannot be killed".to_owned(),
            ));
        }
        prepared.check_gone()?;
        Err(SandboxError::Broken("its supervisor was killed, so its processes were killed".to_owned()))
    }
}
