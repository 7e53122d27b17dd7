//! Fault injection at the ports, from `QA_FAULTS`: which call of which operation fails, and in which way.
//!
//! In builds with the feature `dev-faults` alone; `none.rs` stands here in all others. The same list gives the same run: calls
//! are counted by operation, and nothing is drawn at random.

mod kind;
mod requests;

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use qa_core::canonical;
use qa_run::commands::{Captured, CommandOutcome};
use qa_run::ports::{Cancellation, Ending};

use kind::{Fault, StorageFault, parse};
pub(crate) use kind::{KINDS, Kind, Port, matches};
pub(crate) use requests::{Around, around};

/// Variable with the faults of a run, separated by commas.
pub(crate) const VARIABLE: &str = "QA_FAULTS";
/// Variable with the file that gets a line for each call of a port.
pub(crate) const LOG_VARIABLE: &str = "QA_FAULTS_LOG";
/// Variable with the only server that requests reach, whatever host they name. Waits and timeouts are short then.
pub(crate) const LOOPBACK_VARIABLE: &str = "QA_FAULTS_LOOPBACK";
/// Jump of the clock.
const JUMP: Duration = Duration::from_secs(20 * 365 * 86_400);

/// Faults of the process; unset without [`VARIABLE`].
static FAULTS: OnceLock<Faults> = OnceLock::new();

struct Faults {
    cancellation: Arc<Cancellation>,
    log: Option<Mutex<File>>,
    loopback: Option<String>,
    counts: Mutex<Counts>,
}

struct Counts {
    planned: Vec<Planned>,
    /// Number of calls of each operation.
    calls: BTreeMap<String, u64>,
}

struct Planned {
    fault: Fault,
    /// Number of calls that it matched.
    matched: u64,
    struck: bool,
}

/// Reads the faults of this process. Returns why they cannot be used, and what to write instead.
pub(crate) fn begin(cancellation: &Arc<Cancellation>) -> Result<(), String> {
    let Some(list) = std::env::var_os(VARIABLE) else { return Ok(()) };
    let faults = parse(&list.to_string_lossy())?;
    let log = match std::env::var_os(LOG_VARIABLE) {
        Some(path) => {
            let file = OpenOptions::new().append(true).create(true).open(&path);
            Some(Mutex::new(file.map_err(|error| format!("{LOG_VARIABLE} cannot be written: {error}"))?))
        }
        None => None,
    };
    let _nobody_listens =
        writeln!(io::stderr(), "warning: {VARIABLE} is set, so faults are injected into this run");
    let planned = faults.into_iter().map(|fault| Planned { fault, matched: 0, struck: false });
    let counts = Counts { planned: planned.collect(), calls: BTreeMap::new() };
    let loopback = std::env::var(LOOPBACK_VARIABLE).ok();
    let faults = Faults { cancellation: Arc::clone(cancellation), log, loopback, counts: Mutex::new(counts) };
    let _only_once = FAULTS.set(faults);
    Ok(())
}

/// Returns why a run does not count: a fault that no call met would show nothing.
pub(crate) fn unmet() -> Option<String> {
    let counts = FAULTS.get()?.counts();
    let planned = counts.planned.iter().find(|planned| !planned.struck)?;
    let calls: Vec<String> = counts.calls.iter().map(|(name, count)| format!("{name} ({count})")).collect();
    Some(format!(
        "no call met the fault `{}`; the calls of this run were {}",
        planned.fault,
        calls.join(", ")
    ))
}

impl Faults {
    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a call and returns the fault that strikes it. Ends the process where that is the fault.
    fn strike(&self, port: Port, operation: &str) -> Option<Kind> {
        let mut counts = self.counts();
        *counts.calls.entry(operation.to_owned()).or_default() += 1;
        let mut struck = None;
        for planned in &mut counts.planned {
            if planned.fault.kind.strikes_at(port) && matches(&planned.fault.place, operation) {
                planned.matched += 1;
                if struck.is_none() && planned.fault.calls.contains(planned.matched) {
                    planned.struck = true;
                    struck = Some(planned.fault.kind);
                }
            }
        }
        drop(counts);
        self.log_call(port, operation, struck);
        if struck == Some(Kind::Kill) {
            // As a kill ends it: nothing is cleaned up.
            std::process::abort();
        }
        if struck == Some(Kind::Cancel) {
            self.cancellation.end(Ending::Cancelled);
            return None;
        }
        struck
    }

    fn log_call(&self, port: Port, operation: &str, struck: Option<Kind>) {
        let Some(log) = &self.log else { return };
        let struck = struck.map_or("-", Kind::name);
        let line = format!("{} {operation} {} {struck}\n", port.name(), self.cancellation.journal.phase());
        let mut file = log.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes()).expect("the log of faults can be written");
    }
}

fn strike(port: Port, operation: &str) -> Option<Kind> {
    FAULTS.get()?.strike(port, operation)
}

fn storage_fault(operation: &str) -> Option<StorageFault> {
    match strike(Port::Storage, operation) {
        Some(Kind::Storage(fault)) => Some(fault),
        _ => None,
    }
}

/// Fails as a call of the file system may.
pub(crate) fn storage(operation: &str) -> io::Result<()> {
    match storage_fault(operation) {
        Some(fault) => Err(fault.error()),
        None => Ok(()),
    }
}

/// Writes to a file, or fails on the way.
pub(crate) fn write_all(file: &mut File, operation: &str, bytes: &[u8]) -> io::Result<()> {
    let Some(fault) = storage_fault(operation) else { return file.write_all(bytes) };
    if fault == StorageFault::ShortWrite {
        file.write_all(&bytes[..bytes.len() / 2])?;
    }
    Err(fault.error())
}

/// Returns why an object cannot be read.
pub(crate) fn object() -> Option<&'static str> {
    match strike(Port::Objects, "git") {
        Some(Kind::Object(reason)) => Some(reason),
        _ => None,
    }
}

/// Returns the outcome of a command that was not run.
#[cfg(target_os = "linux")]
pub(crate) fn command() -> Option<CommandOutcome> {
    let Some(Kind::Command(exit)) = strike(Port::Command, "command") else { return None };
    let nothing = Captured { kept: Vec::new(), bytes: 0, sha256: canonical::sha256(b"") };
    Some(CommandOutcome { exit, stopped: None, stdout: nothing.clone(), stderr: nothing, left_behind: false })
}

/// Returns the time that the clock shows.
pub(crate) fn clock(now: SystemTime) -> SystemTime {
    match strike(Port::Clock, "clock") {
        Some(Kind::Clock { ahead: true }) => now + JUMP,
        Some(Kind::Clock { ahead: false }) => now - JUMP,
        _ => now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(list: &str) -> Faults {
        let planned = parse(list).unwrap().into_iter();
        let planned = planned.map(|fault| Planned { fault, matched: 0, struck: false }).collect();
        let counts = Mutex::new(Counts { planned, calls: BTreeMap::new() });
        Faults { cancellation: Arc::default(), log: None, loopback: None, counts }
    }

    #[test]
    fn a_fault_strikes_its_calls_of_its_operation_at_its_port() {
        let faults = faults("503:upload:2,enospc,refused:fetch:2+");
        let struck = |port, operation: &str| faults.strike(port, operation).map(Kind::name);
        assert_eq!(struck(Port::Http, "upload-the-archive"), None);
        assert_eq!(struck(Port::Storage, "upload"), Some("enospc"));
        assert_eq!(struck(Port::Http, "uploads"), None);
        assert_eq!(struck(Port::Http, "upload"), Some("503"));
        assert_eq!(struck(Port::Http, "upload"), None);
        let fetched: Vec<_> = (0..3).map(|_| struck(Port::Http, "fetch")).collect();
        assert_eq!(fetched, [None, Some("refused"), Some("refused")]);
        assert!(faults.counts().planned.iter().all(|planned| planned.struck));
    }

    #[test]
    fn a_cancelled_run_is_cancelled_and_the_call_is_made() {
        let faults = faults("cancel:git:2");
        assert_eq!((faults.strike(Port::Objects, "git"), faults.cancellation.ending()), (None, None));
        assert_eq!(faults.strike(Port::Objects, "git"), None);
        assert_eq!(faults.cancellation.ending(), Some(Ending::Cancelled));
    }
}
