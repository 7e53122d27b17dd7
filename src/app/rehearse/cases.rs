//! Cases of a rehearsal, from the calls of the undisturbed run: so a new operation is in it without another list.

use std::collections::BTreeSet;

use crate::faults::{KINDS, Kind, Port, matches};

/// A call of a port, as the log has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) port: Port,
    pub(super) operation: String,
    pub(super) phase: String,
    /// Kind of the fault that struck it, or a hyphen.
    pub(super) struck: String,
}

impl Call {
    pub(super) fn parse(line: &str) -> Option<Self> {
        let [port, operation, phase, struck] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        Some(Self {
            port: Port::parse(port)?,
            operation: operation.to_owned(),
            phase: phase.to_owned(),
            struck: struck.to_owned(),
        })
    }
}

/// A fault to play in one change.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// Position of the change.
    pub(super) change: usize,
    kind: Kind,
    /// Entry of `QA_FAULTS`.
    pub(super) fault: String,
    pub(super) phase: String,
}

impl Case {
    /// Returns whether a call of its run met the fault.
    pub(super) fn struck_by(&self, call: &Call) -> bool {
        call.struck == self.kind.name()
    }
}

/// Returns each fault at the first call of each operation in each phase: once, and from there on.
pub(super) fn cases(change: usize, calls: &[Call], only: &[String]) -> Vec<Case> {
    let mut seen = BTreeSet::new();
    let mut cases = Vec::new();
    for (position, call) in calls.iter().enumerate() {
        let Call { port, operation, phase, .. } = call;
        if !seen.insert((*port, operation, phase)) {
            continue;
        }
        for (name, kind) in KINDS.iter().filter(|(_, kind)| kind.strikes_at(*port)) {
            if !only.is_empty() && !only.iter().any(|known| known == name) {
                continue;
            }
            let before = &calls[..=position];
            let matched = before
                .iter()
                .filter(|call| kind.strikes_at(call.port) && matches(operation, &call.operation));
            let number = matched.count();
            let ways: &[&str] = if kind.is_an_end() { &[""] } else { &["", "+"] };
            cases.extend(ways.iter().map(|way| Case {
                change,
                kind: *kind,
                fault: format!("{name}:{operation}:{number}{way}"),
                phase: phase.clone(),
            }));
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_is_struck_at_its_first_call_in_each_phase() {
        let log = ["fetch active", "fetch active", "ls-refs active", "fetch launching"];
        let calls: Vec<Call> =
            log.iter().map(|line| Call::parse(&format!("http {line} -")).unwrap()).collect();
        let faults = |kind: &str| -> Vec<String> {
            cases(0, &calls, &[kind.to_owned()]).into_iter().map(|case| case.fault).collect()
        };
        assert_eq!(faults("kill"), ["kill:fetch:1", "kill:ls-refs:1", "kill:fetch:3"]);
        assert_eq!(faults("503")[4..], ["503:fetch:3", "503:fetch:3+"]);
        assert_eq!(faults("enospc").len(), 0);
    }
}
