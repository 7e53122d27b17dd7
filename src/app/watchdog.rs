//! Ends a run at a signal or at its deadline, and exits the process if the run does not end: a thread may block in the
//! kernel forever.

use std::process;
use std::sync::Arc;
use std::time::Duration;

use super::console;
use super::exit::Failure;
use qa_contracts::v1::RunPhase;
use qa_run::ports::{Cancellation, CloseStep, Ending, NoVerdict, PortError};

/// Time limit of a command. For a run it is the default of `limits.deadline-seconds` and applies until the policy is read.
pub(crate) const DEFAULT_DEADLINE: Duration = Duration::from_secs(20 * 60);
/// Time limit of a command that derives many runs, or one whose policy may have allowed it more than the default.
pub(crate) const LONG_DEADLINE: Duration = Duration::from_secs(4 * 60 * 60);
/// Polling interval for signals and the deadline.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time for a cancelled run to end before the process exits.
const GRACE: Duration = Duration::from_millis(800);
/// Time for a cancelled run to end while its check run is completed. The runner kills a step ten seconds after SIGINT.
const CLOSING: Duration = Duration::from_millis(4500);

/// Starts the watchdog thread.
pub(crate) fn watch(cancellation: &Arc<Cancellation>) {
    let cancellation = Arc::clone(cancellation);
    // Without the thread, signals still end the run where it checks for cancellation.
    let _no_thread = std::thread::Builder::new().name("watchdog".to_owned()).spawn(move || {
        let ending = wait(&cancellation);
        abort(&cancellation, &ending.error());
    });
}

#[expect(clippy::disallowed_methods, reason = "the watchdog is the clock of the process")]
fn wait(cancellation: &Cancellation) -> Ending {
    let (mut half_logged, mut end_logged) = (false, false);
    loop {
        if let Some(ending) = cancellation.ending() {
            return ending;
        }
        if let Some(deadline) = cancellation.deadline() {
            let elapsed = cancellation.elapsed();
            let (seconds, phase) = (deadline.as_secs(), cancellation.journal.phase());
            if elapsed >= deadline {
                cancellation.end(Ending::DeadlinePassed);
            } else if !end_logged && is_at_plans(phase) && !cancellation.has_time_for(false) {
                (half_logged, end_logged) = (true, true);
                console::write_stderr(&format!(
                    "the end of the {seconds} s of this run is near, in phase {phase}; only required plans still begin\n"
                ));
            } else if !half_logged && elapsed >= deadline / 2 {
                half_logged = true;
                console::write_stderr(&format!(
                    "half of the {seconds} s of this run have passed, in phase {phase}\n"
                ));
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Returns whether commands and model requests of a run begin in a phase.
fn is_at_plans(phase: RunPhase) -> bool {
    matches!(phase, RunPhase::AwaitingDiagnostics | RunPhase::TransientRecovery)
}

/// Waits until the run had time to end, then exits the process.
#[expect(clippy::disallowed_methods, reason = "the watchdog is the clock of the process")]
fn abort(cancellation: &Cancellation, error: &PortError) {
    std::thread::sleep(GRACE);
    let PortError { code, message, hint } = error;
    match cancellation.take_close_step() {
        CloseStep::Pending(close) => close(NoVerdict { code: *code, message, hint }),
        // The run completes it itself.
        CloseStep::Taken => std::thread::sleep(CLOSING),
        CloseStep::None => {}
    }
    let failure = Failure::from(error.clone());
    console::print_failure(&failure);
    process::exit(failure.exit as i32);
}

#[cfg(test)]
mod tests {
    use super::*;
    use qa_core::policy::{Overrides, Policy};

    #[test]
    fn a_run_without_a_policy_has_twenty_minutes() {
        let policy = Policy::parse(None, &Overrides::default(), &qa_lenses::registry()).unwrap();
        assert_eq!((policy.limits.deadline_seconds, DEFAULT_DEADLINE.as_secs()), (1200, 1200));
    }

    #[test]
    fn a_deadline_that_passed_ends_the_run() {
        let cancellation = Cancellation::default();
        cancellation.set_deadline(Some(Duration::from_millis(1)));
        assert_eq!(wait(&cancellation), Ending::DeadlinePassed);
        assert_eq!(cancellation.ending(), Some(Ending::DeadlinePassed));
    }
}
