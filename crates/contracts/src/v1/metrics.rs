//! Counts of the run (S001-53…57); what depends on the machine is volatile (artifact `metrics.json`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Conclusion, UsageMetrics};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;

schema_tag! {
    /// Names the schema of [`Metrics`].
    MetricsTag = "metrics.v1";
}

/// Requests of one operation that failed and were sent again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OperationRetries {
    /// Number of retries.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub retries: u64,
    /// Milliseconds of the waits before them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub waited_ms: u64,
    /// Retries by the code of the failure before.
    pub codes: BTreeMap<Code, u64>,
}

/// Counters of the machine's work; they differ from run to run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MachineCounters {
    /// Milliseconds from start to the writing of this file.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub elapsed_ms: u64,
    /// Git objects read.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub objects_read: u64,
    /// Their size once inflated, in bytes.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub bytes_inflated: u64,
    /// Tree objects among them.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub trees_walked: u64,
    /// Worker threads.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub workers: u64,
    /// The highest resident memory, in kibibytes; null where the system does not say.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub peak_rss_kib: Option<u64>,
    /// Milliseconds by phase.
    pub phase_ms: BTreeMap<String, u64>,
    /// Retries by operation, without those that follow the verdict.
    pub retries: BTreeMap<String, OperationRetries>,
}

/// Counters of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Metrics {
    /// The schema's name.
    pub schema_version: MetricsTag,
    /// Conclusion of the run.
    pub conclusion: Conclusion,
    /// Findings by severity.
    pub findings_by_severity: BTreeMap<String, u64>,
    /// Plans by status.
    pub plans_by_status: BTreeMap<String, u64>,
    /// Usage over all plans.
    pub aggregate_usage: UsageMetrics,
    /// Usage of each plan that asked a model, by its id.
    pub usage_by_plan: BTreeMap<String, UsageMetrics>,
    /// Number of answers of models.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub turns: u64,
    /// Counters of the machine's work. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub machine: MachineCounters,
}

impl Artifact for Metrics {
    const SCHEMA: &'static str = "metrics.v1";
    const FILE: &'static str = "metrics.json";
    const VOLATILE: &'static [&'static str] = &["machine"];
}
