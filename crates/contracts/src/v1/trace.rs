//! The trace of a run: preimages of its keys, the rule that found its base, events in order (artifact `trace.json`).

use serde::{Deserialize, Serialize};

use super::{ConfigPreimage, ExecutionKeyPreimage, RunPhase};
use crate::artifact::{Artifact, schema_tag};
use crate::codes::Code;
use crate::ids::ExecutionKey;

schema_tag! {
    /// Names the schema of [`Trace`].
    TraceTag = "trace.v1";
}

/// Event of a run, in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceEvent {
    /// Its place, from 0.
    #[cfg_attr(test, schemars(range(max = 9007199254740991u64)))]
    pub sequence: u64,
    /// Phase that it happens in.
    pub phase: RunPhase,
    /// The step of the flow.
    pub step: String,
    /// Description of the event, in one sentence.
    pub detail: String,
    /// The code, where it has one.
    pub code: Option<Code>,
}

/// The machine a run happened on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceMachine {
    /// Name of the operating system.
    pub os: String,
    /// Name of the processor architecture.
    pub arch: String,
}

/// Explanation of a run and its key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Trace {
    /// The schema's name.
    pub schema_version: TraceTag,
    /// The name of the run.
    pub execution_key: ExecutionKey,
    /// Preimage of the execution key (C-42).
    pub execution_key_preimage: ExecutionKeyPreimage,
    /// Preimage of the configuration hash.
    pub config_preimage: ConfigPreimage,
    /// Name of the canonical form of JSON.
    #[cfg_attr(test, schemars(extend("const" = "rfc8785")))]
    pub canonicalization: String,
    /// Events in order.
    pub events: Vec<TraceEvent>,
    /// Rule that found the base: a code of the chain, `configured`, or the event's rule. Volatile: only the commit
    /// counts.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub base_rule: String,
    /// The codes of the base chain. Volatile, as they depend on the refs of the checkout.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub base_codes: Vec<Code>,
    /// Machine of the run. Volatile.
    #[cfg_attr(test, schemars(extend("x-volatile" = true)))]
    pub machine: TraceMachine,
}

impl Artifact for Trace {
    const SCHEMA: &'static str = "trace.v1";
    const FILE: &'static str = "trace.json";
    const VOLATILE: &'static [&'static str] = &["baseRule", "baseCodes", "machine"];
}
