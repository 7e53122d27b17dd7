//! The observer's table of the policy: its effective settings, and the names that it may defer.

use std::collections::BTreeSet;

use serde::Serialize;

use super::file::{PolicyTextError, check_known};
use super::reviews::is_review;
use super::settings;
use crate::classify::PathSet;
use crate::gates;
use qa_contracts::ids::RepoPath;
use qa_contracts::v1::{GateName, LedgerNeed, ObserverMode, PolicyFile, Registry};

/// Globs of the plans that wait where the table names none.
const DEFAULT_DEFER: [&str; 2] = ["gate:browser_tests", "review-*"];

/// The effective settings of an enabled observer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ObserverPolicy {
    pub(crate) cadence: u64,
    pub(crate) cooldown: u64,
    /// Globs of deferred plans, sorted.
    pub(crate) defer: Vec<String>,
    /// Modes in which gates run commands: the limit of what a run may do.
    pub(crate) execute: BTreeSet<ObserverMode>,
    /// Modes in which a run may pass: the condition under which its result is accepted.
    pub pass: BTreeSet<ObserverMode>,
    /// Need of a run of a pull request for the turns before it.
    #[serde(skip_serializing_if = "is_optional")]
    pub ledger: LedgerNeed,
}

fn is_optional(need: &LedgerNeed) -> bool {
    *need == LedgerNeed::Optional
}

impl ObserverPolicy {
    /// Returns the settings of a file, or `None` where it enables no observer.
    pub(super) fn from_file(file: &PolicyFile) -> Option<Self> {
        let stated = file.observer.as_ref().filter(|observer| observer.enabled)?;
        let mut defer = match &stated.defer {
            Some(globs) => globs.clone(),
            None => DEFAULT_DEFER.map(str::to_owned).to_vec(),
        };
        defer.sort();
        defer.dedup();
        let default_execute = vec![ObserverMode::CrossCheck];
        let execute = stated.execute.as_ref().unwrap_or(&default_execute);
        let pass = stated.pass.as_deref().unwrap_or(ObserverMode::ALL);
        Some(Self {
            cadence: settings::OBSERVER_CADENCE.value(file),
            cooldown: settings::OBSERVER_COOLDOWN.value(file),
            defer,
            execute: execute.iter().copied().collect(),
            pass: pass.iter().copied().collect(),
            ledger: stated.ledger.unwrap_or(LedgerNeed::Optional),
        })
    }

    /// Returns whether the table defers a plan, by the plan's name.
    pub(crate) fn defers(&self, name: &str) -> bool {
        let globs = PathSet::new(self.defer.iter().map(String::as_str));
        globs_match(&globs.expect("globs were compiled with the policy"), name)
    }
}

fn globs_match(globs: &PathSet, name: &str) -> bool {
    RepoPath::from_bytes(name.as_bytes()).is_ok_and(|name| globs.matches(&name))
}

/// Returns the name by which a policy and a report defer a plan: `gate:unit_tests` for a gate, else the lens's id.
pub fn deferred_name(lens_id: &str) -> String {
    match gates::find(lens_id) {
        Some(gate) => gate_name(gate),
        None => lens_id.to_owned(),
    }
}

pub(crate) fn gate_name(gate: GateName) -> String {
    format!("gate:{gate}")
}

/// Refuses names that no plan has, and modes without which nothing would ever run or pass.
pub(super) fn check(text: &str, file: &PolicyFile, registry: &Registry) -> Result<(), PolicyTextError> {
    let Some(observer) = &file.observer else { return Ok(()) };
    let lenses = registry.lenses.iter().map(|lens| lens.lens_id.as_str());
    let (deferrable, rules): (BTreeSet<&str>, BTreeSet<&str>) =
        lenses.partition(|id| is_review(id) || gates::find(id).is_some());
    let names: BTreeSet<String> = deferrable.iter().map(|id| deferred_name(id)).collect();
    for glob in observer.defer.iter().flatten() {
        // The resolver reports a glob that does not compile.
        let Ok(globs) = PathSet::new([glob.as_str()]) else { continue };
        if names.iter().any(|name| globs_match(&globs, name)) {
            continue;
        }
        if rules.contains(glob.as_str()) {
            let message = format!(
                "`{glob}` has rules, which look at every turn; only reviews and gates can be deferred"
            );
            return Err(PolicyTextError::at_line_of(text, glob, message));
        }
        let known = names.iter().map(String::as_str).chain(["gate:*", "review-*"]).collect();
        check_known(text, "review or gate", glob, &known)?;
    }
    for (key, modes) in [("execute", &observer.execute), ("pass", &observer.pass)] {
        if matches!(modes, Some(modes) if !modes.contains(&ObserverMode::CrossCheck)) {
            let message = format!("observer.{key} lacks `cross-check`, so no pull request could ever pass");
            return Err(PolicyTextError::at_line_of(text, key, message));
        }
    }
    Ok(())
}
