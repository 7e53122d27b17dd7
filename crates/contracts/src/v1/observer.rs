//! The observer: its table in the policy, and what it decides for one run.

use serde::{Deserialize, Serialize};

use super::{LedgerNeed, LedgerState, ObserverMode};

/// The observer of a pull request. Without it every run does everything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PolicyObserver {
    /// True if reviews and gates of drafts may be deferred.
    pub enabled: bool,
    /// Number of turns after which deferred plans run although the pull request is a draft; 3 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub cadence: Option<u64>,
    /// Minimum number of turns between two such runs; 1 when absent.
    #[cfg_attr(test, schemars(range(min = 1, max = 1000)))]
    pub cooldown: Option<u64>,
    /// Globs of deferred plans: `review-security`, `gate:unit_tests`; `review-*` and `gate:browser_tests` when absent.
    pub defer: Option<Vec<String>>,
    /// Modes in which gates run commands; `cross-check` alone when absent.
    pub execute: Option<Vec<ObserverMode>>,
    /// Modes in which a run that deferred nothing may pass; all of them when absent.
    pub pass: Option<Vec<ObserverMode>>,
    /// Need of a run of a pull request for the turns before it; `optional` when absent.
    pub ledger: Option<LedgerNeed>,
}

/// The observer's decision for one run. Turn numbers are no part of it, so equal work has an equal key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RecordedObserver {
    /// Mode of the run.
    pub mode: ObserverMode,
    /// Names of the plans that wait for a later turn, sorted: `gate:unit_tests`, `review-security`.
    pub deferred: Vec<String>,
    /// State of the ledger, in a run of a pull request whose policy requires one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(extend("x-optional" = true)))]
    pub ledger: Option<LedgerState>,
}
