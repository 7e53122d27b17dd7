//! The observer of a run: what a request says about it, its decision, and the settings that were used.

use super::exit::Failure;
use qa_contracts::v1::{LedgerState, ObserverMode, RecordedObserver, SettingOrigin};
use qa_core::observer::{Decision, EarlierTurns, Occasion, Pace, Settings, decide};
use qa_core::policy::Policy;

/// Part of a request that the observer's decision depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObserverRequest {
    pub(crate) occasion: Occasion,
    /// Turns of the pull request before this one, where they are known.
    pub(crate) earlier: Option<EarlierTurns>,
    /// State of the pull request's ledger; `None` where none is judged.
    pub(crate) ledger: Option<LedgerState>,
    pub(crate) pace: Pace,
}

impl ObserverRequest {
    /// Returns the request of a command, which judges in full unless it is told otherwise.
    pub(crate) fn of_command(mode: Option<ObserverMode>) -> Self {
        let occasion = match mode {
            Some(mode) => Occasion::Requested(mode),
            None => Occasion::Final("a person started the run"),
        };
        Self { occasion, earlier: None, ledger: None, pace: crate::config::pace() }
    }

    /// Returns the decision under a policy, or `None` where it enables no observer.
    pub(crate) fn decide(&self, policy: &Policy) -> Result<Option<RecordedObserver>, Failure> {
        let Some(settings) = Settings::new(policy, self.pace) else {
            return match self.occasion {
                Occasion::Requested(mode) if mode != ObserverMode::CrossCheck => {
                    let message =
                        format!("the policy of the base enables no observer, so there is no mode `{mode}`");
                    let hint = "set `enabled = true` under [observer] on the base branch, or leave out --observer-mode";
                    Err(Failure::usage(message, hint))
                }
                Occasion::Requested(_) | Occasion::Draft { .. } | Occasion::Final(_) => Ok(None),
            };
        };
        let decision = decide(self.occasion, self.earlier, &settings);
        log_decision(&decision);
        Ok(Some(decision.recorded(policy, self.ledger)))
    }

    /// Returns the settings of a policy, with cadence and cooldown as they were used.
    pub(crate) fn settings(&self, policy: &Policy) -> Vec<SettingOrigin> {
        self.pace.in_settings(policy.settings.clone())
    }
}

fn log_decision(decision: &Decision) {
    let Decision { mode, due, deferred, why } = decision;
    let due = if *due { ", and deferred plans are due" } else { "" };
    let deferred = if deferred.is_empty() { "nothing".to_owned() } else { deferred.join(", ") };
    tracing::info!("observer: {mode}, because {why}{due}; deferred: {deferred}");
}
