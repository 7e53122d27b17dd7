//! Modes of the observer: which plans of a pull request wait for a later turn (S000-4…11, S001-62…65).
//!
//! A turn is a judged head of a pull request. Rules and imported reports look at every turn; what waits is what costs
//! money or runs code. A run that left anything to a later turn never passes: GitHub lets a success, a neutral and a
//! skipped check run pass, and a draft keeps its check runs when it becomes ready.

use std::collections::BTreeSet;

use crate::policy::observer::{ObserverPolicy, gate_name};
use crate::policy::reviews::is_review;
use crate::policy::settings::{OBSERVER_CADENCE, OBSERVER_COOLDOWN};
use crate::policy::{Policy, deferred_name};
use qa_contracts::codes::Code;
use qa_contracts::v1::{
    LedgerNeed, LedgerState, LensPlan, ObserverMode, PolicyFile, RecordedObserver, SettingOrigin,
};

/// Reason why a head is judged, as far as the mode depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A head of a draft. `begins` is true if the draft was opened or reopened, or got another base.
    Draft { begins: bool },
    /// A head that may be merged, or a run that a person asked for, with the reason.
    Final(&'static str),
    /// A mode that the command line names.
    Requested(ObserverMode),
}

/// Turns of a pull request before this one, as far as the cadence depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierTurns {
    /// Number of turns.
    pub turns: u64,
    /// Number, from 1, of the last turn in which deferred plans were due; `None` if they never were.
    pub last_due: Option<u64>,
    /// True if the change differs from that of the turn before.
    pub has_diff: bool,
    /// True if the turn before was a cross-check that did not pass.
    pub failed_cross_check: bool,
}

/// Number of turns after which deferred plans are due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cadence {
    Every(u64),
    /// Deferred plans run in a cross-check alone.
    Off,
}

/// Values of the environment that replace those of the policy (S000-19, 20).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pace {
    pub cadence: Option<Cadence>,
    pub cooldown: Option<u64>,
}

impl Pace {
    /// Returns settings with the values of the environment. Without an observer they are listed too, and do nothing.
    pub fn in_settings(self, mut settings: Vec<SettingOrigin>) -> Vec<SettingOrigin> {
        let cadence = self.cadence.map(|cadence| match cadence {
            Cadence::Every(turns) => turns.to_string(),
            Cadence::Off => "off".to_owned(),
        });
        let cooldown = self.cooldown.map(|turns| turns.to_string());
        for (number, stated) in [(&OBSERVER_CADENCE, cadence), (&OBSERVER_COOLDOWN, cooldown)] {
            let (value, origin) = match stated {
                Some(value) => (value, "environment"),
                None => (number.value(&PolicyFile::default()).to_string(), "default"),
            };
            let setting = SettingOrigin { name: number.name.to_owned(), value, origin: origin.to_owned() };
            match settings.iter_mut().find(|row| row.name == setting.name) {
                Some(row) if setting.origin == "environment" => *row = setting,
                Some(_) => {}
                None => settings.push(setting),
            }
        }
        settings
    }
}

/// A plan that a policy may defer.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Deferrable {
    name: String,
    /// True if the policy's `defer` names it.
    waits: bool,
    runs_commands: bool,
    /// Names of the gates whose tests it reads.
    reads: Vec<String>,
}

/// Settings of an enabled observer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    cadence: Cadence,
    cooldown: u64,
    execute: BTreeSet<ObserverMode>,
    plans: Vec<Deferrable>,
}

impl Settings {
    /// Returns the settings of a policy, or `None` where it enables no observer.
    pub fn new(policy: &Policy, pace: Pace) -> Option<Self> {
        let observer = policy.observer.as_ref()?;
        Some(Self {
            cadence: pace.cadence.unwrap_or(Cadence::Every(observer.cadence)),
            cooldown: pace.cooldown.unwrap_or(observer.cooldown),
            execute: observer.execute.clone(),
            plans: deferrable_plans(policy, observer),
        })
    }

    /// Returns the cadence; `None` if it is off.
    pub fn cadence(&self) -> Option<u64> {
        match self.cadence {
            Cadence::Every(turns) => Some(turns),
            Cadence::Off => None,
        }
    }

    /// Returns the minimum number of turns between two review requests.
    pub fn cooldown(&self) -> u64 {
        self.cooldown
    }

    /// Returns whether deferred plans are due in a turn. The counter of the cooldown starts full, counts every turn, and
    /// only a turn with a diff uses it (C-9).
    fn is_due(&self, earlier: EarlierTurns) -> bool {
        let EarlierTurns { turns, last_due, has_diff, .. } = earlier;
        let Cadence::Every(cadence) = self.cadence else { return false };
        let turn = turns.saturating_add(1);
        let since = turn.saturating_sub(last_due.unwrap_or(0));
        let is_cool = last_due.is_none() || since >= self.cooldown;
        has_diff && is_cool && since >= cadence
    }

    /// Returns whether a turn that left these plans for later did all that waits for the cadence. What no turn in its mode
    /// may execute does not count.
    pub fn was_due(&self, mode: ObserverMode, deferred: &[String]) -> bool {
        self.deferred(mode, true) == deferred
    }

    fn waits(&self, plan: &Deferrable, mode: ObserverMode, is_due: bool) -> bool {
        plan.waits && !is_due || plan.runs_commands && !self.execute.contains(&mode)
    }

    fn deferred(&self, mode: ObserverMode, is_due: bool) -> Vec<String> {
        if mode == ObserverMode::CrossCheck {
            return Vec::new();
        }
        let waiting = self.plans.iter().filter(|plan| self.waits(plan, mode, is_due));
        let names: BTreeSet<&String> = waiting.map(|plan| &plan.name).collect();
        // Without the tests of a deferred gate, steps would look as if no test were bound to them.
        let readers = self.plans.iter().filter(|plan| plan.reads.iter().any(|gate| names.contains(gate)));
        let all: BTreeSet<&String> = names.iter().copied().chain(readers.map(|plan| &plan.name)).collect();
        all.into_iter().cloned().collect()
    }
}

/// Returns the reviews that ask a model and the gates that run commands, by name. Rules and imported reports are not
/// among them.
fn deferrable_plans(policy: &Policy, observer: &ObserverPolicy) -> Vec<Deferrable> {
    let reviews = policy.lenses.iter().filter(|(id, lens)| is_review(id) && lens.enabled);
    let reviews = reviews.map(|(id, _)| Deferrable {
        name: id.clone(),
        waits: observer.defers(id),
        runs_commands: false,
        reads: Vec::new(),
    });
    let gates = policy.gates.iter().map(|(gate, settings)| {
        let name = gate_name(*gate);
        Deferrable {
            waits: observer.defers(&name) && settings.has_commands(),
            name,
            runs_commands: settings.has_commands(),
            reads: settings.tests_of.iter().copied().map(gate_name).collect(),
        }
    });
    reviews.chain(gates).collect()
}

/// The observer's decision for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    pub mode: ObserverMode,
    /// True if this turn of a draft does what earlier ones deferred.
    pub due: bool,
    /// Names of the plans that wait, sorted.
    pub deferred: Vec<String>,
    /// Reason for the mode.
    pub why: &'static str,
}

impl Decision {
    /// Returns the recorded part, which is part of the execution key. `ledger` is `None` where no pull request is judged.
    pub fn recorded(&self, policy: &Policy, ledger: Option<LedgerState>) -> RecordedObserver {
        let ledger = ledger.filter(|_| needs_ledger(policy));
        RecordedObserver { mode: self.mode, deferred: self.deferred.clone(), ledger }
    }
}

/// Returns the mode of a run and the plans that it defers. `earlier` is `None` where the turn before is not known.
pub fn decide(occasion: Occasion, earlier: Option<EarlierTurns>, settings: &Settings) -> Decision {
    let (mode, why) = match (occasion, earlier) {
        (Occasion::Final(why), _) => (ObserverMode::CrossCheck, why),
        (Occasion::Requested(mode), _) => (mode, "the command line names the mode"),
        (Occasion::Draft { begins: true }, _) => {
            (ObserverMode::Bootstrap, "it is the first head of a draft, or the first against its base")
        }
        (Occasion::Draft { begins: false }, None) => {
            (ObserverMode::Bootstrap, "the run of the draft's head before is not known")
        }
        (Occasion::Draft { begins: false }, Some(earlier)) if earlier.failed_cross_check => {
            (ObserverMode::Bootstrap, "the cross-check before it did not pass")
        }
        (Occasion::Draft { begins: false }, Some(_)) => {
            (ObserverMode::Cadence, "it is a later head of a draft")
        }
    };
    let due = match (mode, occasion) {
        (ObserverMode::Cadence, Occasion::Draft { .. }) => {
            earlier.is_some_and(|turns| settings.is_due(turns))
        }
        _ => false,
    };
    Decision { mode, due, deferred: settings.deferred(mode, due), why }
}

fn needs_ledger(policy: &Policy) -> bool {
    matches!(&policy.observer, Some(observer) if observer.ledger == LedgerNeed::Required)
}

/// Returns whether a recorded decision is one that a policy asks for.
pub fn is_decision_under(decision: Option<&RecordedObserver>, policy: &Policy) -> bool {
    decision.is_some() == policy.observer.is_some()
        && decision.is_none_or(|decision| decision.ledger.is_none() || needs_ledger(policy))
}

/// Marks the plans with the given names as deferred. A review without a file has nothing to wait for.
pub fn defer_plans(plans: &mut [LensPlan], names: &BTreeSet<String>) {
    for plan in plans {
        let is_idle = plan.review.is_some() && plan.changed_files.is_empty();
        if names.contains(&deferred_name(&plan.lens_id)) && !is_idle {
            plan.planning_codes.push(Code::CadenceDeferred);
            plan.planning_codes.sort();
        }
    }
}

/// Returns the names of the plans that wait for a later turn. What the observer may defer and this change has no use for is
/// not among them.
pub fn deferred_plans(plans: &[LensPlan]) -> BTreeSet<String> {
    plans.iter().filter(|plan| is_deferred(plan)).map(|plan| deferred_name(&plan.lens_id)).collect()
}

/// Returns whether a plan waits for a later turn.
pub fn is_deferred(plan: &LensPlan) -> bool {
    plan.planning_codes.contains(&Code::CadenceDeferred)
}

#[cfg(test)]
#[path = "observer_tests.rs"]
mod tests;
